//! Paths.

pub mod bfs;
pub mod expand;
pub mod sssp;
