//! Groups by columns of few values: each row's group is a number that its cells give without a search.

use arrow_array::{Array, BooleanArray, UInt32Array};

use crate::number::Number;
use crate::vector::{Rows, Unfit, Values, Vector};

/// Groups at most: every part of the rows has an accumulator for each.
pub const GROUPS_MAX: usize = 1 << 14;

/// What a key takes its codes from; the last code is that of null.
#[derive(Debug)]
enum Codes<'c> {
    /// Keys of a dictionary, whose values may be null or stand there twice.
    Dictionary(&'c UInt32Array, Vec<u32>),
    /// The values of an expression above the least of them.
    Number(Number<'c>, i64),
    /// Truths.
    Truths(&'c BooleanArray),
}

#[derive(Debug)]
struct Key<'c> {
    codes: Codes<'c>,
    /// Codes, that of null included.
    count: usize,
}

/// The keys of a grouping.
#[derive(Debug, Default)]
pub struct Keys<'c> {
    keys: Vec<Key<'c>>,
}

impl<'c> Keys<'c> {
    fn push(&mut self, codes: Codes<'c>, count: usize) -> bool {
        let fits = count.checked_mul(self.groups()).is_some_and(|groups| groups <= GROUPS_MAX);
        if fits {
            self.keys.push(Key { codes, count });
        }
        fits
    }

    /// A key of texts by the keys of their dictionary and the number of each of its values: equal values have equal
    /// numbers below `values`, and null has `values`. False when there would be too many groups.
    #[must_use]
    pub fn dictionary(&mut self, keys: &'c UInt32Array, numbers: Vec<u32>, values: usize) -> bool {
        self.push(Codes::Dictionary(keys, numbers), values + 1)
    }

    /// A key of integers, of a column or computed, within bounds that columns and constants tell and that are close
    /// enough.
    #[must_use]
    pub fn number(&mut self, number: Number<'c>) -> bool {
        let Some((low, high)) = number.bounds().filter(|_| number.is_int()) else { return false };
        let span = high.checked_sub(low).and_then(|s| usize::try_from(s).ok());
        span.is_some_and(|s| s < GROUPS_MAX && self.push(Codes::Number(number, low), s + 2))
    }

    /// A key of truths.
    #[must_use]
    pub fn truths(&mut self, column: &'c BooleanArray) -> bool {
        self.push(Codes::Truths(column), 3)
    }

    /// Groups that there may be; one without keys.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.keys.iter().map(|k| k.count).product()
    }

    /// The keys of a dictionary and the group of each, where these are all that rows are grouped by.
    pub(crate) fn only_dictionary(&self) -> Option<(&'c UInt32Array, &[u32])> {
        match self.keys.as_slice() {
            [Key { codes: Codes::Dictionary(keys, numbers), .. }] => Some((keys, numbers)),
            _ => None,
        }
    }

    /// The groups of some rows.
    ///
    /// # Errors
    /// Those of the expressions among the keys.
    pub fn of(&self, rows: Rows<'_>) -> Result<Vec<u32>, Unfit> {
        let mut groups = vec![0u32; rows.len()];
        for key in &self.keys {
            let count = key.count as u32;
            let mut put = |codes: &mut dyn Iterator<Item = u32>| {
                groups.iter_mut().zip(codes).for_each(|(g, code)| *g = *g * count + code);
            };
            let null = count - 1;
            match &key.codes {
                Codes::Dictionary(keys, numbers) => {
                    let of = |k: &u32| numbers.get(*k as usize).copied().unwrap_or(null);
                    let found = rows.of(keys.values());
                    match crate::number::valid(keys.nulls(), rows) {
                        None => put(&mut found.iter().map(of)),
                        Some(valid) => put(&mut found
                            .iter()
                            .zip(valid)
                            .map(|(k, v)| if v { of(k) } else { null })),
                    }
                }
                Codes::Number(number, low) => {
                    let Vector { values: Values::Int(found), known } = number.eval(rows)? else {
                        return Err(Unfit::Value);
                    };
                    let of = |v: &i64| v.wrapping_sub(*low) as u32;
                    match known {
                        None => put(&mut found.iter().map(of)),
                        Some(known) => put(&mut found
                            .iter()
                            .zip(known)
                            .map(|(v, k)| if k { of(v) } else { null })),
                    }
                }
                Codes::Truths(column) => put(&mut (0..rows.len()).map(|i| match rows.at(i) {
                    row if !column.is_valid(row) => null,
                    row => u32::from(column.value(row)),
                })),
            }
        }
        Ok(groups)
    }
}
