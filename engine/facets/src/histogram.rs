//! Histograms of columns: how many elements there are in each part, and how many of them pass.

use graphlume_expr::{QueryError, Scalar};

use crate::column::ColumnKind;
use crate::rule::{Axis, FilterSet};
use crate::work::Work;

/// Elements of a part of a histogram.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// All of them.
    pub total: u64,
    /// Those that pass everything but brushes on the same column.
    pub passing: u64,
}

/// A histogram that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Whose column it is.
    pub axis: Axis,
    /// The column.
    pub column: String,
    /// Parts of a range of numbers or dates, at most 254.
    pub bins: u8,
    /// Whether numbers are to be divided by their logarithms.
    pub log: bool,
    /// Of categories only values that contain this, in any case.
    pub search: Option<String>,
}

/// The histogram of a column.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// Whose column it is.
    pub axis: Axis,
    /// The column.
    pub name: String,
    /// What its values are.
    pub kind: ColumnKind,
    /// Its parts.
    pub parts: Parts,
    /// Elements without a value: null, NaN and what is infinite.
    pub nulls: Count,
}

/// The parts of a histogram.
#[derive(Debug, Clone, PartialEq)]
pub enum Parts {
    /// Ranges of numbers or dates.
    Ranges {
        /// Whether their widths grow by a factor.
        log: bool,
        /// Where they begin, and where the last one ends; milliseconds since 1970 for dates.
        edges: Vec<f64>,
        /// What is in each: from its beginning to before the next one, and in the last one its end as well.
        counts: Vec<Count>,
    },
    /// Single values, the most frequent first.
    Values {
        /// Each value with what has it.
        values: Vec<(Scalar, Count)>,
        /// How many values there are, of those that were searched for.
        distinct: u64,
        /// What has another of these values.
        others: Count,
    },
}

impl Work<'_> {
    pub(crate) fn histograms(
        &self,
        _set: &FilterSet,
        _wanted: &[Wanted],
    ) -> Result<Vec<Histogram>, QueryError> {
        let text = "histograms are not evaluated yet";
        Err(QueryError::new(graphlume_expr::ErrorCode::Unsupported, text))
    }
}
