//! How alike nodes are by their neighbours.

pub mod cocitation;
pub mod pairs;
