//! Layouts: coordinates for nodes.

pub mod closed;
pub mod component_packing;
pub mod force_atlas2;
pub mod initial_layout;
