//! Trees that span a graph.

pub mod gomory_hu;
pub mod spanning;
