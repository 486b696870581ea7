//! All rows of a table that pass a test.

use graphlume_types::CancelToken;
use rayon::prelude::*;

use crate::test::Test;
use crate::vector::{Rows, Unfit, VECTOR_ROWS, truth};

/// Rows of one unit of parallel work: a whole number of vectors and of words.
const UNIT_ROWS: usize = 1 << 16;

/// A bit for each row of a table.
#[derive(Clone, Debug)]
pub struct Marks {
    words: Vec<u64>,
}

impl Marks {
    /// Marks of these rows of a table of so many.
    #[must_use]
    pub fn of(num_rows: usize, rows: impl Iterator<Item = u32>) -> Self {
        let mut words = vec![0u64; num_rows.div_ceil(64)];
        for row in rows {
            if let Some(word) = words.get_mut(row as usize / 64) {
                *word |= 1 << (row % 64);
            }
        }
        Self { words }
    }

    /// Marks from words of 32 rows, as devices give them.
    #[must_use]
    pub fn of_words(num_rows: usize, words: &[u32]) -> Self {
        let mut words = wide_words(words);
        words.resize(num_rows.div_ceil(64), 0);
        Self { words }
    }

    /// Whether a row is marked.
    #[must_use]
    #[inline]
    pub fn has(&self, row: u32) -> bool {
        self.words.get(row as usize / 64).is_some_and(|w| w >> (row % 64) & 1 == 1)
    }

    /// How many rows are marked.
    #[must_use]
    pub fn count(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// The marked rows of a range, ascending.
    pub fn rows(&self, range: std::ops::Range<u32>) -> impl Iterator<Item = u32> + '_ {
        let words = range.start / 64..range.end.div_ceil(64);
        let ones = words.flat_map(move |at| {
            let mut word = self.words.get(at as usize).copied().unwrap_or(0);
            std::iter::from_fn(move || {
                let bit = (word != 0).then(|| word.trailing_zeros())?;
                word &= word - 1;
                Some(at * 64 + bit)
            })
        });
        ones.filter(move |row| range.contains(row))
    }
}

/// Words of 64 bits from those of 32 that a device gives, the first of two in the lower half.
#[must_use]
pub fn wide_words(words: &[u32]) -> Vec<u64> {
    let pair =
        |pair: &[u32]| u64::from(pair[0]) | pair.get(1).map_or(0, |high| u64::from(*high) << 32);
    words.chunks(2).map(pair).collect()
}

/// Marks the rows for which the test is true; all of them without one.
///
/// # Errors
/// Those of [`Test::eval`], and a cancelled token.
pub fn marks(
    test: Option<&Test<'_>>,
    num_rows: usize,
    cancel: &CancelToken,
) -> Result<Marks, Unfit> {
    let mut words = vec![u64::MAX; num_rows.div_ceil(64)];
    if let (Some(last), false) = (words.last_mut(), num_rows.is_multiple_of(64)) {
        *last = (1 << (num_rows % 64)) - 1;
    }
    let Some(test) = test else { return Ok(Marks { words }) };
    words.par_chunks_mut(UNIT_ROWS / 64).enumerate().try_for_each(|(unit, words)| {
        for (vector, words) in words.chunks_mut(VECTOR_ROWS / 64).enumerate() {
            cancel.check()?;
            let from = unit * UNIT_ROWS + vector * VECTOR_ROWS;
            let len = VECTOR_ROWS.min(num_rows - from);
            let truths = test.eval(Rows::Run { from, len })?;
            for (word, truths) in words.iter_mut().zip(truths.chunks(64)) {
                let bits = truths.iter().enumerate();
                *word = bits.fold(0, |w, (i, t)| w | u64::from(*t == truth::TRUE) << i);
            }
        }
        Ok::<(), Unfit>(())
    })?;
    Ok(Marks { words })
}
