//! The rows that may be among the first by a number.

use std::cmp::Ordering;
use std::ops::Range;

use graphlume_types::CancelToken;
use rayon::prelude::*;

use crate::mark::Marks;
use crate::number::Number;
use crate::test::Test;
use crate::vector::{Rows, Unfit, VECTOR_ROWS, Values, truth};

/// Units of parallel work at most, and rows of one at least: each has to find out for itself which rows come too late.
const UNITS_MAX: usize = 32;
const UNIT_ROWS_MIN: usize = 1 << 16;
/// Candidates beyond twice the wanted ones before those that come later are dropped.
const SLACK: usize = 256;
/// Candidates that are equal to the last one wanted, at most.
const EQUAL_MAX: usize = 4_096;

/// Candidates of one unit: their keys, and the worst one of the wanted, behind which none needs to be looked at.
pub(crate) struct Candidates<K> {
    known: Vec<(K, u32)>,
    unknown: Vec<u32>,
    pub(crate) worst: Option<K>,
    /// Those that stayed beyond the wanted ones when the others were dropped last.
    equal: usize,
}

impl<K: PartialOrd + Copy> Candidates<K> {
    const fn new() -> Self {
        Self::from(None)
    }

    /// None yet, where it is known already which come too late.
    pub(crate) const fn from(worst: Option<K>) -> Self {
        Self { known: Vec::new(), unknown: Vec::new(), worst, equal: 0 }
    }

    /// Drops those that `wanted` others come before; equal ones stay.
    pub(crate) fn prune(&mut self, wanted: usize, down: bool) -> Result<(), Unfit> {
        let Some(last) = wanted.checked_sub(1).filter(|last| *last < self.known.len()) else {
            return Ok(());
        };
        let (_, worst, _) = self.known.select_nth_unstable_by(last, |a, b| order(a.0, b.0, down));
        let worst = worst.0;
        self.worst = Some(worst);
        self.known.retain(|(k, _)| order(*k, worst, down).is_le());
        self.equal = self.known.len() - wanted;
        // Where most are equal, others decide, and all have to be held.
        if self.known.len() > wanted + EQUAL_MAX { Err(Unfit::Value) } else { Ok(()) }
    }

    fn push(&mut self, key: K, row: u32, wanted: usize, down: bool) -> Result<(), Unfit> {
        if self.worst.is_some_and(|worst| order(key, worst, down).is_gt()) {
            return Ok(());
        }
        self.known.push((key, row));
        if self.known.len() >= 2 * wanted + self.equal + SLACK {
            self.prune(wanted, down)
        } else {
            Ok(())
        }
    }

    /// Adds those of another unit.
    pub(crate) fn add(&mut self, other: Self) {
        self.known.extend(other.known);
        self.unknown.extend(other.unknown);
    }

    /// Marks those that may be among the `wanted` first.
    pub(crate) fn marks(
        mut self,
        wanted: usize,
        down: bool,
        num_rows: usize,
    ) -> Result<Marks, Unfit> {
        let enough = self.known.len() >= wanted;
        self.prune(wanted, down)?;
        let unknown = self.unknown.into_iter().filter(|_| down || !enough);
        Ok(Marks::of(num_rows, self.known.into_iter().map(|(_, row)| row).chain(unknown)))
    }
}

pub(crate) fn order<K: PartialOrd>(a: K, b: K, down: bool) -> Ordering {
    let order = a.partial_cmp(&b).unwrap_or(Ordering::Equal);
    if down { order.reverse() } else { order }
}

/// Marks of rows that pass a test, among which are the first `wanted` by a number and all that are equal to the last of
/// these. Null is above every number: it comes last, or first when `down`.
///
/// # Errors
/// Those of the expressions; also when too many rows are equal.
pub fn best(
    test: Option<&Test<'_>>,
    (key, down): (&Number<'_>, bool),
    wanted: usize,
    num_rows: usize,
    cancel: &CancelToken,
) -> Result<Marks, Unfit> {
    let unit_rows = num_rows.div_ceil(UNITS_MAX).max(UNIT_ROWS_MIN);
    let units = (0..num_rows.div_ceil(unit_rows)).into_par_iter();
    let of = |unit: usize| unit * unit_rows..num_rows.min((unit + 1) * unit_rows);
    if key.is_int() {
        let found = units.map(|unit| of_unit::<i64>(of(unit), (test, key), (wanted, down), cancel));
        return joined(found.collect::<Result<Vec<_>, _>>()?, wanted, down, num_rows);
    }
    let found = units.map(|unit| of_unit::<f64>(of(unit), (test, key), (wanted, down), cancel));
    joined(found.collect::<Result<Vec<_>, _>>()?, wanted, down, num_rows)
}

/// A type of keys.
pub(crate) trait Key: PartialOrd + Copy + Send {
    /// The numbers of a vector of this type.
    fn of<'v>(values: &'v Values<'_>) -> Option<&'v [Self]>;
}

impl Key for i64 {
    fn of<'v>(values: &'v Values<'_>) -> Option<&'v [Self]> {
        match values {
            Values::Int(values) => Some(values),
            Values::Float(_) => None,
        }
    }
}

impl Key for f64 {
    fn of<'v>(values: &'v Values<'_>) -> Option<&'v [Self]> {
        match values {
            Values::Float(values) => Some(values),
            Values::Int(_) => None,
        }
    }
}

fn of_unit<K: Key>(
    unit: Range<usize>,
    (test, key): (Option<&Test<'_>>, &Number<'_>),
    (wanted, down): (usize, bool),
    cancel: &CancelToken,
) -> Result<Candidates<K>, Unfit> {
    let mut found = Candidates::new();
    for from in unit.clone().step_by(VECTOR_ROWS) {
        cancel.check()?;
        let rows = Rows::Run { from, len: VECTOR_ROWS.min(unit.end - from) };
        look(&mut found, rows, (test, key), (wanted, down))?;
    }
    Ok(found)
}

/// Adds those of some rows that pass the test and that no `wanted` ones come before.
pub(crate) fn look<K: Key>(
    found: &mut Candidates<K>,
    rows: Rows<'_>,
    (test, key): (Option<&Test<'_>>, &Number<'_>),
    (wanted, down): (usize, bool),
) -> Result<(), Unfit> {
    let truths = test.map(|t| t.eval(rows)).transpose()?;
    let vector = key.eval(rows)?;
    let values = K::of(&vector.values).ok_or(Unfit::Value)?;
    if let (Some(worst), None) = (found.worst, &vector.known) {
        // Most vectors have none that comes before; a NaN, which has no order, is looked at below.
        let behind = |v: &K| if down { *v < worst } else { *v > worst };
        if values.iter().fold(true, |all, v| all & behind(v)) {
            return Ok(());
        }
    }
    for (i, value) in values.iter().enumerate() {
        if truths.as_ref().is_some_and(|t| t[i] != truth::TRUE) {
            continue;
        }
        let at = rows.at(i) as u32;
        if vector.known.as_ref().is_some_and(|k| !k[i]) {
            found.unknown.push(at);
        } else if value.partial_cmp(value).is_none() {
            return Err(Unfit::Value);
        } else {
            found.push(*value, at, wanted, down)?;
        }
    }
    Ok(())
}

fn joined<K: PartialOrd + Copy>(
    units: Vec<Candidates<K>>,
    wanted: usize,
    down: bool,
    num_rows: usize,
) -> Result<Marks, Unfit> {
    let mut all = Candidates::new();
    units.into_iter().for_each(|unit| all.add(unit));
    all.marks(wanted, down, num_rows)
}
