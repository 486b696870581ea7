//! Tables made of chosen rows and columns.

mod columns;
mod gather;
mod packed_text;

pub use columns::{columns, table_of, with, with_constant};
pub use gather::Picked;

use packed_text::written;
