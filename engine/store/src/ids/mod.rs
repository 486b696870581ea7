//! Sets of nodes, edges and rows by their numbers, and lists of what is in them.

mod id_set;
mod listing;

pub use id_set::{Grow, IdMap, IdSet, bit, packed};
pub use listing::{BLOCK_MAX, listed, prefetch};
