//! Answers of another device than the CPU about the columns of a table.

use std::ops::RangeInclusive;

use crate::fold::{Fold, Folded};
use crate::group::Keys;

/// Of the values of a column in the rows that pass.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Reduction {
    /// How many there are.
    pub count: u64,
    /// Their sum, where they are integers and the device can tell it.
    pub sum: Option<i128>,
    /// The least and the greatest of integers.
    pub ints: Option<(i64, i64)>,
    /// The least and the greatest of floats.
    pub floats: Option<(f64, f64)>,
}

impl Reduction {
    /// Of these values and those; no sum where that of either is not known.
    #[must_use]
    pub fn and(self, more: Self) -> Self {
        if self.count == 0 || more.count == 0 {
            return if self.count == 0 { more } else { self };
        }
        let ints = self.ints.zip(more.ints).map(|(a, b)| (a.0.min(b.0), a.1.max(b.1)));
        let floats = self.floats.zip(more.floats).map(|(a, b)| (a.0.min(b.0), a.1.max(b.1)));
        let sum = self.sum.zip(more.sum).and_then(|(a, b)| a.checked_add(b));
        Self { count: self.count + more.count, sum, ints, floats }
    }
}

/// Values of a column in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Placed {
    /// How many there are in all.
    pub count: usize,
    /// The place of the first one here.
    pub first: usize,
    /// Those from there on, floats as [`ordered_bits`](crate::ordered_bits).
    pub values: Vec<i64>,
}

/// The places of the order of so many values that a percentile asks for.
#[must_use]
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a place in a list")]
pub fn places(share: f64, count: usize) -> RangeInclusive<usize> {
    let last = count.saturating_sub(1);
    let place = share * last as f64;
    let (low, high) = (place.floor() as usize, (place.ceil() as usize).min(last));
    // The place of the discrete one.
    let rank = ((share * count as f64).ceil() as usize).saturating_sub(1).min(last);
    low.min(rank)..=high.max(rank)
}

/// What a device found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TableAnswer {
    /// Rows that pass.
    pub rows: u64,
    /// A bit for each row, set where it passes, when these are wanted.
    pub marks: Vec<u32>,
    /// Rows that pass, by key of the groups.
    pub by_key: Vec<u32>,
    /// For each of [`TableJob::reduced`]: of all rows that pass, or by key and then of null.
    pub reduced: Vec<Vec<Reduction>>,
    /// Rows that pass, by key, for each of [`TableJob::distinct`].
    pub distinct: Vec<Vec<u32>>,
    /// For each of [`TableJob::placed`].
    pub placed: Vec<Placed>,
}

/// The groups that the keys of a device belong to.
pub(crate) struct Groups<'k> {
    numbers: &'k [u32],
    pub(crate) count: usize,
}

impl<'k> Groups<'k> {
    pub(crate) fn of(keys: &'k Keys<'_>) -> Self {
        let numbers = keys.only_dictionary().map_or(&[][..], |(_, numbers)| numbers);
        Self { numbers, count: keys.groups() }
    }

    /// The group of a key; that of null is the last.
    pub(crate) fn of_key(&self, key: usize) -> usize {
        self.numbers.get(key).map_or(self.count - 1, |n| *n as usize)
    }
}

/// The reductions of all groups as an aggregate.
pub(crate) fn reduced(fold: Fold, all: &[Reduction], is_int: bool) -> Option<Folded> {
    let counts = all.iter().map(|r| i64::try_from(r.count).ok());
    let counts: Vec<i64> = counts.collect::<Option<_>>()?;
    let cells = counts.iter().copied().zip(all);
    Some(match fold {
        Fold::Count => Folded::Counts(counts),
        Fold::Sum => {
            let sum = |(n, r): (i64, &Reduction)| Some((n, if n == 0 { 0 } else { r.sum? }));
            Folded::Ints(cells.map(sum).collect::<Option<_>>()?)
        }
        _ if is_int => {
            let end = |(n, r): (i64, &Reduction)| {
                let (least, most) = r.ints.unwrap_or_default();
                (n, i128::from(if fold == Fold::Min { least } else { most }))
            };
            Folded::Ints(cells.map(end).collect())
        }
        _ => {
            let end = |(n, r): (i64, &Reduction)| {
                let (least, most) = r.floats.unwrap_or_default();
                let end = if fold == Fold::Min { least } else { most };
                // The zero that comes first counts, and the device does not say which that was.
                (n == 0 || end != 0.0).then_some((n, end))
            };
            Folded::Floats(cells.map(end).collect::<Option<_>>()?)
        }
    })
}
