//! Expressions over columns, evaluated by vectors of about two thousand rows.
//!
//! A [`Number`] or a [`Test`] is a tree over columns of one table. It is evaluated a vector at a time, each operator in
//! a loop without branches, with a mask of the values that are known; [`marks`] tests all rows of a table and
//! [`fold`] aggregates them by groups, both in parallel over parts whose bounds depend on the number of rows alone, so
//! that sums of floats are the same bits at any number of threads.
//!
//! Truth has three values: see [`truth`]. What a vector cannot say (a sum of integers that does not fit 64 bits, a
//! division by zero) is [`Unfit`]: the caller then evaluates row by row, and reports the error of the row that has it.
//!
//! A value of a query that has no parts is a [`Scalar`], in the column filters and in both languages.
//!
//! The design is that of MonetDB/X100 (Boncz, Zukowski and Nes, CIDR 2005).

mod best;
mod blocks;
mod bracket;
pub mod cell;
mod cmp;
mod error;
mod fold;
mod group;
mod mark;
mod near;
mod number;
mod quote;
mod ranked;
mod scalar;
mod table_answer;
mod table_job;
mod temporal;
mod test;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod text;
mod times;
mod vector;

pub use best::best;
pub use blocks::{Blocks, best_of_blocks};
pub use bracket::near;
pub use cmp::Cmp;
pub use error::{ErrorCode, QueryError, listed, nearest};
pub use fold::{Fold, Folded, Folds, fold};
pub use group::{GROUPS_MAX, Keys};
pub use mark::{Marks, marks, wide_words};
pub use near::{Near, float_of, ordered_bits};
pub use number::{Arithmetic, Number};
pub use quote::quote;
pub use ranked::Ranked;
pub use scalar::{Mixed, Scalar};
pub use table_answer::{Placed, Reduction, TableAnswer, places};
pub use table_job::{
    Constant, JobTest, NamedColumn, RawCells, Side, TableArray, TableDevice, TableJob,
};
pub use temporal::{Temporal, Zoned, write_fraction};
pub use test::Test;
pub use text::TextTest;
pub use times::times;
pub use vector::{Rows, Unfit, VECTOR_ROWS, Values, Vector, truth};

/// What an absent column means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
    /// It is an error.
    Strict,
    /// It is null in every row.
    #[default]
    Lenient,
}
