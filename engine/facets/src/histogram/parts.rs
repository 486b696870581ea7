//! Parts of a histogram: ranges or single values, and how many elements each has.

use graphlume_expr::Scalar;
use serde_json::{Value, json};

/// Values of a category that are listed.
pub const VALUES_MAX: usize = 50;

/// Elements of a part of a histogram.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// All of them.
    pub total: u64,
    /// Those that pass everything but brushes on the same column.
    pub passing: u64,
}

impl Count {
    /// The count as it is sent to a page.
    pub(super) fn json(self) -> Value {
        json!({"total": self.total, "passing": self.passing})
    }
}

/// The parts of a histogram.
#[derive(Debug, Clone, PartialEq)]
pub enum Parts {
    /// Ranges of numbers or dates. Without any number there is none.
    Ranges {
        /// Whether their widths grow by a factor.
        log: bool,
        /// Where they begin, and where the last one ends; milliseconds since 1970 for dates.
        edges: Vec<f64>,
        /// What is in each: from its beginning to before the next one, and in the last one its end as well.
        counts: Vec<Count>,
    },
    /// Single values, the most frequent first, at most [`VALUES_MAX`].
    Values {
        /// Each value with what has it.
        values: Vec<(Scalar, Count)>,
        /// How many values there are, of those that were searched for.
        distinct: u64,
        /// What has another of these values than the listed ones.
        others: Count,
    },
}
