//! Topology: user ids are renumbered to dense 32-bit node indices, and the edges become two
//! compressed adjacency structures (CSR by source, CSC by destination).
//!
//! The node set is: ids of the node table in table order (of equal ids the first wins), then endpoints
//! that the table lacks in order of first appearance, all sources before all destinations. Ids match by
//! [canonical value](canon): integer 1 equals float 1.0, and never the text "1". An edge row with a null
//! endpoint is not an edge; its other endpoint still is a node. Self-loops and parallel edges stay.
//!
//! Everything runs on the current rayon pool and gives the same bits at any number of threads.

pub mod canon;
mod columns;
mod direction;
mod error;
mod frame;
mod ids;
mod ints;
mod notices;
mod renumber;
mod topology;

pub use columns::{Distinct, distinct};
pub use direction::Direction;
pub use error::GraphError;
pub use frame::{Graph, GraphSpec, NO_NODE, build};
pub use notices::{TYPES_NEVER_MATCH, notices};
pub use topology::Topology;

#[cfg(test)]
mod tests;
