//! Similarity of nodes by their neighbours.

pub mod cocitation;
pub mod pairs;
