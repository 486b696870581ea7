//! Paths.

pub mod bfs;
