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
//! The design is that of MonetDB/X100 (Boncz, Zukowski and Nes, CIDR 2005).

mod best;
mod blocks;
mod fold;
mod group;
mod mark;
mod number;
mod test;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
mod text;
mod vector;

pub use best::best;
pub use blocks::{Blocks, best_of_blocks};
pub use fold::{Fold, Folded, Folds, fold};
pub use group::{GROUPS_MAX, Keys};
pub use mark::{Marks, marks};
pub use number::{Arithmetic, Number};
pub use test::Test;
pub use text::TextTest;
pub use vector::{Rows, Unfit, VECTOR_ROWS, Values, Vector, truth};

use std::cmp::Ordering;

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cmp {
    /// Equal.
    Eq,
    /// Not equal; a null is not.
    Ne,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
}

impl Cmp {
    /// Whether the ordering of left and right satisfies the comparison.
    #[must_use]
    pub fn accepts(self, ordering: Ordering) -> bool {
        match self {
            Self::Eq => ordering.is_eq(),
            Self::Ne => ordering.is_ne(),
            Self::Lt => ordering.is_lt(),
            Self::Le => ordering.is_le(),
            Self::Gt => ordering.is_gt(),
            Self::Ge => ordering.is_ge(),
        }
    }
}
