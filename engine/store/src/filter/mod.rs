//! Tests of the cells of columns: what a query asks of one cell, and how all rows of a table are asked at once, by the
//! byte where the values of a column are numbered or put into ranges.

mod codes;
mod column_test;
mod condition;
mod histogram;
mod members;
mod pattern;
mod predicate;
mod range;
mod row_filter;

pub use codes::{SMALL_NULL, kept_small, small, small_set};
pub use column_test::ColumnPlace;
pub use condition::PlaceColumn;
pub use histogram::{Buckets, Sure, buckets};
pub use members::Members;
pub use pattern::{NO_LOOK_AROUND, Pattern, PatternError, within_budget};
pub use predicate::{Calendar, Class, Keep, Predicate, TextTest, order_cells};
pub use range::Range;
pub use row_filter::{ColumnTest, RowFilter};
