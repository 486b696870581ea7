//! The fast way for ids that are all integers, which is what most edge lists have.

use arrow_array::Array;
use arrow_buffer::NullBuffer;
use graphlume_types::{CancelToken, Cancelled};
use rayon::prelude::*;
use std::borrow::Cow;

use crate::canon::{Canon, Column, Hasher, of_f64};
use crate::renumber::{NONE, Numbering, Space};

/// A column as 64-bit integers.
#[derive(Debug)]
pub(crate) struct Ints<'a> {
    values: Cow<'a, [i64]>,
    nulls: Option<NullBuffer>,
}

impl<'a> Ints<'a> {
    /// `None` when some value of the column is not a 64-bit signed integer.
    pub(crate) fn try_new(column: &'a Column) -> Option<Self> {
        match column {
            Column::Null(n) => Some(Self {
                values: Cow::Owned(vec![0; *n]),
                nulls: Some(NullBuffer::new_null(*n)),
            }),
            Column::Int(a) => {
                Some(Self { values: Cow::Borrowed(a.values()), nulls: a.nulls().cloned() })
            }
            Column::UInt(a) => {
                let values: Option<Vec<i64>> =
                    a.iter().map(|v| i64::try_from(v.unwrap_or(0)).ok()).collect();
                Some(Self { values: Cow::Owned(values?), nulls: a.nulls().cloned() })
            }
            // Integers with nulls often arrive as floats, with NaN or null in the gaps.
            Column::Float(a) => {
                let mut valid = Vec::with_capacity(a.len());
                let mut values = Vec::with_capacity(a.len());
                for v in a {
                    let canon = v.and_then(of_f64);
                    valid.push(canon.is_some());
                    values.push(match canon {
                        None => 0,
                        Some(Canon::Int(v)) => v,
                        Some(_) => return None,
                    });
                }
                let nulls = Some(NullBuffer::from(valid)).filter(|n| n.null_count() > 0);
                Some(Self { values: Cow::Owned(values), nulls })
            }
            _ => None,
        }
    }

    fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|n| n.is_null(row))
    }

    fn range(&self) -> Option<(i64, i64)> {
        let both = |a: (i64, i64), b: (i64, i64)| (a.0.min(b.0), a.1.max(b.1));
        match &self.nulls {
            None => {
                self.values.par_iter().with_min_len(1 << 16).map(|v| (*v, *v)).reduce_with(both)
            }
            Some(nulls) => {
                let rows = self.values.iter().zip(nulls.iter());
                rows.filter(|(_, valid)| *valid).map(|(v, _)| (*v, *v)).reduce(both)
            }
        }
    }
}

/// Numbers the lanes' values by first appearance.
pub(crate) fn number(lanes: &[Ints<'_>], cancel: &CancelToken) -> Result<Numbering, Cancelled> {
    let total: usize = lanes.iter().map(|l| l.values.len()).sum();
    let range = lanes
        .iter()
        .filter_map(Ints::range)
        .reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
        .unwrap_or((0, 0));
    // A table of up to four entries a value costs less than hashing; beyond that it misses the caches.
    let width = i128::from(range.1) - i128::from(range.0) + 1;
    if width <= 4 * total as i128 + 1024 {
        direct(lanes, range.0, width as usize, cancel)
    } else {
        crate::renumber::number(&Sparse { lanes, hasher: Hasher::new() }, cancel)
    }
}

/// One table entry for every value of the range.
fn direct(
    lanes: &[Ints<'_>],
    min: i64,
    width: usize,
    cancel: &CancelToken,
) -> Result<Numbering, Cancelled> {
    let mut table = vec![NONE; width];
    let mut numbering = Numbering::default();
    let mut start = 0u32;
    for lane in lanes {
        let mut ids = Vec::with_capacity(lane.values.len());
        for (block, values) in lane.values.chunks(1 << 16).enumerate() {
            cancel.check()?;
            for (i, v) in values.iter().enumerate() {
                let row = (block << 16) + i;
                if lane.is_null(row) {
                    ids.push(NONE);
                    continue;
                }
                let entry = &mut table[v.wrapping_sub(min) as usize];
                if *entry == NONE {
                    *entry = numbering.firsts.len() as u32;
                    numbering.firsts.push(start + row as u32);
                }
                ids.push(*entry);
            }
        }
        numbering.lanes.push(ids);
        start += lane.values.len() as u32;
    }
    Ok(numbering)
}

struct Sparse<'a> {
    lanes: &'a [Ints<'a>],
    hasher: Hasher,
}

impl Space for Sparse<'_> {
    fn lanes(&self) -> Vec<usize> {
        self.lanes.iter().map(|l| l.values.len()).collect()
    }

    fn hash(&self, lane: usize, item: usize) -> Option<u64> {
        let lane = &self.lanes[lane];
        (!lane.is_null(item)).then(|| self.hasher.int(lane.values[item]))
    }

    fn code(&self, lane: usize, item: usize) -> Option<u128> {
        Some(self.lanes[lane].values[item] as u128)
    }

    fn same(&self, a: (usize, usize), b: (usize, usize)) -> bool {
        self.lanes[a.0].values[a.1] == self.lanes[b.0].values[b.1]
    }
}
