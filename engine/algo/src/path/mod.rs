//! Paths.

pub mod bfs;
pub mod distances;
pub mod ego;
pub mod expand;
pub mod sssp;
pub mod walks;
