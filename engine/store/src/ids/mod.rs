//! Sets of nodes, edges and rows by their numbers, sets of bytes, and lists of what is in them.

mod byte_set;
mod id_set;
mod listing;

pub use byte_set::ByteSet;
pub use id_set::{Grow, IdMap, IdSet, bit, packed};
pub use listing::{BLOCK_MAX, listed, prefetch};
