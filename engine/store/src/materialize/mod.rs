//! Tables made of chosen rows and columns.

mod columns;
mod gather;
mod packed_text;
mod take;

pub use columns::{columns, table_of, with, with_constant};
pub use gather::Picked;
pub use take::{bytes_of, take, taken, taken_bytes};

use packed_text::written;
