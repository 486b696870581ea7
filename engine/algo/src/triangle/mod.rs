//! Triangles and what is counted by them.

pub mod count;
pub mod lcc;
pub mod truss;
