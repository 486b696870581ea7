//! Vectors: the values of an expression for some rows.

use std::borrow::Cow;

use graphlume_types::Cancelled;

/// Rows that are evaluated at a time: their values stay in the first-level cache.
pub const VECTOR_ROWS: usize = 2_048;

/// Truth of three values as bytes: AND is the least of them, OR the greatest, NOT the distance to [`truth::TRUE`].
pub mod truth {
    /// It does not hold.
    pub const FALSE: u8 = 0;
    /// It is unknown, because something is null.
    pub const UNKNOWN: u8 = 1;
    /// It holds.
    pub const TRUE: u8 = 2;
}

/// Why there is no vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// A row has an error, or a value that vectors do not hold.
    Value,
    /// The caller was told to stop.
    Cancelled,
}

impl From<Cancelled> for Unfit {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

/// Rows of a table: a run of them, or some in ascending order.
#[derive(Clone, Copy, Debug)]
pub enum Rows<'r> {
    /// So many rows from one on.
    Run {
        /// The first.
        from: usize,
        /// How many.
        len: usize,
    },
    /// These.
    List(&'r [u32]),
}

impl Rows<'_> {
    /// How many.
    #[must_use]
    pub const fn len(&self) -> usize {
        match self {
            Self::Run { len, .. } => *len,
            Self::List(list) => list.len(),
        }
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The row at a place.
    #[must_use]
    pub fn at(&self, i: usize) -> usize {
        match self {
            Self::Run { from, .. } => from + i,
            Self::List(list) => list[i] as usize,
        }
    }

    /// The values of a column for these rows.
    pub(crate) fn of<'c, T: Copy>(&self, column: &'c [T]) -> Cow<'c, [T]> {
        match self {
            Self::Run { from, len } => Cow::Borrowed(&column[*from..from + len]),
            Self::List(list) => Cow::Owned(list.iter().map(|row| column[*row as usize]).collect()),
        }
    }
}

/// Numbers of one type.
#[derive(Clone, Debug)]
pub enum Values<'c> {
    /// Integers.
    Int(Cow<'c, [i64]>),
    /// Floats.
    Float(Cow<'c, [f64]>),
}

/// Numbers of some rows, and which of them are known.
#[derive(Clone, Debug)]
pub struct Vector<'c> {
    /// The numbers; those that are not known may be anything.
    pub values: Values<'c>,
    /// Which are known; all of them without it.
    pub known: Option<Vec<bool>>,
}

impl<'c> Vector<'c> {
    /// The values as floats.
    pub(crate) fn floats(self) -> (Cow<'c, [f64]>, Option<Vec<bool>>) {
        let values = match self.values {
            Values::Float(values) => values,
            Values::Int(values) => values.iter().map(|v| *v as f64).collect(),
        };
        (values, self.known)
    }
}

/// What both masks know.
pub(crate) fn both(a: Option<Vec<bool>>, b: Option<Vec<bool>>) -> Option<Vec<bool>> {
    match (a, b) {
        (Some(mut a), Some(b)) => {
            a.iter_mut().zip(b).for_each(|(a, b)| *a &= b);
            Some(a)
        }
        (a, b) => a.or(b),
    }
}
