//! Centralities.

pub mod pagerank;
