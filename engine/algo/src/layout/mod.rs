//! Layouts: coordinates for nodes.

pub mod closed;
pub mod force_atlas2;
pub mod rim;
pub mod start;
