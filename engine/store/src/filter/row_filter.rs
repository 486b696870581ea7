//! Tests of the rows of one table, asked one by one or run over all rows by all threads.

use std::ops;
use std::sync::{Arc, OnceLock};

use arrow_array::Array;
use graphlume_graph::canon::Column;
use graphlume_types::CancelToken;
use rayon::prelude::*;
use regex::Regex;

use crate::cache::made;
use crate::filter::Members;
use crate::filter::Predicate;
use crate::filter::Range;
use crate::filter::{Buckets, Sure};
use crate::ids::ByteSet;
use crate::ids::{bit, packed};

/// With fewer rows left than this part of them, the rest of the tests looks at each of these alone.
const FEW_PART: usize = 32;

/// Clears the bits in `words` of those in `of` for which `goes` holds.
fn clear(words: &mut [u64], of: &[u64], goes: impl Fn(usize) -> bool) {
    for (at, (word, of)) in words.iter_mut().zip(of).enumerate() {
        let mut rest = *of;
        while rest != 0 {
            let bit = rest.trailing_zeros();
            rest &= rest - 1;
            *word &= !(u64::from(goes(at * 64 + bit as usize)) << bit);
        }
    }
}

/// Tests of the rows of one table; a row passes when all tests do.
#[derive(Debug, Default)]
pub struct RowFilter {
    /// What is asked of columns.
    pub tests: Vec<ColumnTest>,
    /// No row passes, whatever the tests say.
    pub never: bool,
    /// Programs of the patterns among the tests.
    pub held: Vec<Arc<Regex>>,
    rows: usize,
    cancel: CancelToken,
    /// A bit for each row.
    all_rows: OnceLock<Vec<u64>>,
}

/// A test of the cells of one column.
#[derive(Debug)]
pub enum ColumnTest {
    /// Cell by cell.
    Cells {
        /// The cells.
        column: Arc<Column>,
        /// What is asked of each.
        predicate: Predicate,
        /// Whether the column has nothing but truth values.
        truth: bool,
    },
    /// Cell by cell, in a long list.
    Members {
        /// The cells.
        column: Arc<Column>,
        /// The list.
        members: Members,
    },
    /// Numbers of an interval; and what the buckets of the column say of it.
    Range {
        /// The cells.
        column: Arc<Column>,
        /// The interval.
        range: Range,
        /// The buckets, and which of them pass.
        buckets: Option<(Arc<Buckets>, Sure)>,
    },
    /// The answers of the distinct values, and of null; and the numbers of the values in a byte each, with
    /// those that pass.
    Codes {
        /// The cells.
        column: Arc<Column>,
        /// Answers by the number of a value.
        answers: Vec<bool>,
        /// The answer of null.
        null: bool,
        /// Numbers of a byte each, and those that pass.
        small: Option<(Arc<Vec<u8>>, ByteSet)>,
    },
    /// The answers of the rows.
    Rows(Vec<bool>),
}

impl ColumnTest {
    #[inline]
    fn passes(&self, row: usize) -> bool {
        match self {
            Self::Cells { column, predicate, truth } => {
                predicate.holds(column.get(row).as_ref(), *truth)
            }
            Self::Members { column, members } => members.holds(column.get(row).as_ref()),
            Self::Range { column, range, .. } => range.passes(column, row),
            Self::Codes { column, answers, null, .. } => match column.as_ref() {
                Column::Text(text) => match text.dictionary() {
                    Some((keys, _)) if keys.is_valid(row) => answers[keys.value(row) as usize],
                    _ => *null,
                },
                _ => false,
            },
            Self::Rows(answers) => answers[row],
        }
    }

    /// A byte for each row, and the bytes of rows that may pass.
    fn by_the_byte(&self) -> Option<(&[u8], &ByteSet)> {
        match self {
            Self::Range { buckets: Some((buckets, sure)), .. } => {
                Some((buckets.codes(), &sure.may))
            }
            Self::Codes { small: Some((codes, set)), .. } => Some((codes, set)),
            _ => None,
        }
    }

    /// The bytes among them whose rows have to be looked at.
    fn unsure(&self) -> Option<&ByteSet> {
        match self {
            Self::Range { buckets: Some((_, sure)), .. } => {
                Some(&sure.unsure).filter(|set| !set.is_empty())
            }
            _ => None,
        }
    }

    /// Clears the marks of the rows from `from` on that do not pass.
    fn narrow(&self, from: usize, marks: &mut [bool]) {
        match self {
            Self::Range { column, range, .. } => return range.narrow(column, from, marks),
            Self::Codes { column, answers, null, .. } => {
                if let Column::Text(text) = column.as_ref()
                    && let Some((keys, _)) = text.dictionary()
                {
                    return crate::dictionary::narrow(keys, answers, *null, from, marks);
                }
            }
            _ => {}
        }
        for (i, mark) in marks.iter_mut().enumerate() {
            *mark = *mark && self.passes(from + i);
        }
    }
}

impl RowFilter {
    /// Every row of so many.
    pub fn over(rows: usize) -> Self {
        Self { rows, ..Self::default() }
    }

    /// Whether every row passes.
    pub fn is_trivial(&self) -> bool {
        self.tests.is_empty() && !self.never
    }

    /// Whether no row can pass.
    pub const fn is_never(&self) -> bool {
        self.never
    }

    /// Whether a row passes.
    #[inline]
    #[must_use]
    pub fn passes(&self, row: u32) -> bool {
        if let Some(answers) = self.all_rows.get() {
            return bit(answers, row);
        }
        !self.never && self.tests.iter().all(|t| t.passes(row as usize))
    }

    /// Tests all rows at once, by all threads, so that later questions are answered from memory: a bit for
    /// each row.
    pub fn run(&self) -> &[u64] {
        made::<Vec<u64>>(&self.all_rows, || {
            // A test at a time over rows that stay in the nearest cache.
            const WORDS: usize = 1 << 7;
            let mut words = vec![0; self.rows.div_ceil(64)];
            words.par_chunks_mut(WORDS).enumerate().for_each(|(chunk, words)| {
                // The caller checks the token before the answers are used.
                if !self.never && !self.cancel.is_cancelled() {
                    let from = chunk * WORDS * 64;
                    self.run_part(from..self.rows.min(from + WORDS * 64), words);
                }
            });
            words
        })
    }

    /// Finds the rows that pass in a part of them, which begins with a word.
    fn run_part(&self, rows: ops::Range<usize>, words: &mut [u64]) {
        words.fill(u64::MAX);
        if let (Some(last), left @ 1..) = (words.last_mut(), rows.len() % 64) {
            *last >>= 64 - left;
        }
        // What costs a byte a row comes first, and leaves little to the others.
        for test in &self.tests {
            if let Some((bytes, set)) = test.by_the_byte() {
                set.narrow(&bytes[rows.clone()], words);
            }
        }
        for test in &self.tests {
            if let (Some((bytes, _)), Some(unsure)) = (test.by_the_byte(), test.unsure())
                && words.iter().any(|word| *word != 0)
            {
                let mut close = words.to_vec();
                unsure.narrow(&bytes[rows.clone()], &mut close);
                clear(words, &close, |row| !test.passes(rows.start + row));
            }
        }
        let mut rest = self.tests.iter().filter(|test| test.by_the_byte().is_none()).peekable();
        if rest.peek().is_none() {
            return;
        }
        let left: usize = words.iter().map(|w| w.count_ones() as usize).sum();
        if left * FEW_PART < rows.len() {
            let own = words.to_vec();
            return clear(words, &own, |row| !rest.clone().all(|t| t.passes(rows.start + row)));
        }
        let mut marks = vec![true; rows.len()];
        rest.for_each(|test| test.narrow(rows.start, &mut marks));
        words.iter_mut().zip(marks.chunks(64)).for_each(|(word, m)| *word &= packed(m));
    }

    /// Makes a test of all rows end early when the work is stopped.
    pub fn until(mut self, cancel: &CancelToken) -> Self {
        self.cancel = cancel.clone();
        self
    }

    /// Adds answers that were found another way.
    pub fn and_rows(&mut self, answers: Vec<bool>) {
        self.tests.push(ColumnTest::Rows(answers));
    }
}
