//! Centralities.

pub mod pagerank;
mod rows;
