//! Triangles and what is counted by them.

mod core;
pub mod count;
pub mod lcc;
pub mod truss;
