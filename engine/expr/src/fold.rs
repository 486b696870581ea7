//! Aggregates by groups over all rows that pass a test.
//!
//! The rows are cut into parts whose bounds depend on their number alone; each part has its own accumulators, which are
//! merged in the order of the parts.

use graphlume_types::CancelToken;
use rayon::prelude::*;

use crate::group::Keys;
use crate::near::Near;
use crate::number::Number;
use crate::test::Test;
use crate::vector::{Rows, Unfit, VECTOR_ROWS, Values, Vector, truth};

/// Parts at most, and rows of a part at least.
const PARTS_MAX: usize = 32;
const PART_ROWS_MIN: usize = 1 << 15;
/// Bytes of all accumulators, above which there are fewer parts.
const BYTES_MAX: usize = 32 << 20;

/// An aggregate of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// How many values are known.
    Count,
    /// Their sum.
    Sum,
    /// Their least.
    Min,
    /// Their greatest.
    Max,
    /// Their mean, and the sum of the squares of their distances from it (Chan, Golub and LeVeque 1979).
    Moments,
    /// Which of the integers from one on are among them, so many, a bit each.
    Distinct {
        /// The least.
        low: i64,
        /// How many, 64 times.
        words: usize,
    },
    /// All of them.
    List,
    /// How many, how many of them lie below two bounds, and those between, without groups: see [`crate::near`]. The bounds
    /// of floats are [`crate::ordered_bits`].
    Near {
        /// The lower bound.
        low: i64,
        /// The upper bound.
        high: i64,
    },
}

/// What an aggregate is of.
#[derive(Debug)]
pub struct Folds<'c> {
    /// Which aggregate.
    pub fold: Fold,
    /// Of which number; rows are counted without one.
    pub of: Option<Number<'c>>,
}

/// The result of an aggregate for each group.
#[derive(Clone, Debug)]
pub enum Folded {
    /// Known values.
    Counts(Vec<i64>),
    /// Known values, and their sum, least or greatest; the second means nothing where there is none.
    Ints(Vec<(i64, i128)>),
    /// The same of floats.
    Floats(Vec<(i64, f64)>),
    /// Known values, their mean and their spread.
    Moments(Vec<(i64, f64, f64)>),
    /// The bits of those that were met, group by group.
    Distinct(Vec<u64>),
    /// The values, as floats.
    Lists(Vec<Vec<f64>>),
    /// The values, as integers.
    IntLists(Vec<Vec<i64>>),
    /// The values between two bounds.
    Near(Vec<Near>),
}

impl Folded {
    fn new(folds: &Folds<'_>, groups: usize) -> Self {
        let is_int = folds.of.as_ref().is_some_and(Number::is_int);
        match (folds.fold, is_int) {
            (Fold::Count, _) => Self::Counts(vec![0; groups]),
            (Fold::Distinct { words, .. }, _) => Self::Distinct(vec![0; groups * words]),
            (Fold::Moments, _) => Self::Moments(vec![(0, 0.0, 0.0); groups]),
            (Fold::Near { .. }, _) => Self::Near(vec![Near::default(); groups]),
            (Fold::List, true) => Self::IntLists(vec![Vec::new(); groups]),
            (Fold::List, false) => Self::Lists(vec![Vec::new(); groups]),
            (_, true) => Self::Ints(vec![(0, 0); groups]),
            (_, false) => Self::Floats(vec![(0, 0.0); groups]),
        }
    }

    /// Bytes of the accumulators of a group.
    const GROUP_BYTES: usize = 32;

    /// Makes room for the lists of those that are going to be merged into it, which otherwise would move as they grow.
    fn make_room<'f>(&mut self, more: impl Iterator<Item = &'f Self> + Clone) {
        let len = |part: &Self, group: usize| match part {
            Self::Lists(lists) => lists[group].len(),
            Self::IntLists(lists) => lists[group].len(),
            _ => 0,
        };
        let sum = |group| more.clone().map(|part| len(part, group)).sum();
        match self {
            Self::Lists(lists) => {
                lists.iter_mut().enumerate().for_each(|(g, list)| list.reserve_exact(sum(g)));
            }
            Self::IntLists(lists) => {
                lists.iter_mut().enumerate().for_each(|(g, list)| list.reserve_exact(sum(g)));
            }
            _ => {}
        }
    }

    fn merge(&mut self, fold: Fold, more: Self) {
        match (self, more) {
            (Self::Counts(a), Self::Counts(b)) => {
                a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
            }
            (Self::Ints(a), Self::Ints(b)) => {
                for (a, (n, v)) in a.iter_mut().zip(b) {
                    if n > 0 {
                        a.1 = if a.0 == 0 { v } else { folded(fold, a.1, v, |a, b| a + b) };
                        a.0 += n;
                    }
                }
            }
            (Self::Floats(a), Self::Floats(b)) => {
                for (a, (n, v)) in a.iter_mut().zip(b) {
                    if n > 0 {
                        a.1 = if a.0 == 0 { v } else { folded(fold, a.1, v, |a, b| a + b) };
                        a.0 += n;
                    }
                }
            }
            (Self::Moments(a), Self::Moments(b)) => {
                for (a, (m, mean, spread)) in a.iter_mut().zip(b) {
                    if m > 0 {
                        let (n, all) = (a.0 as f64, (a.0 + m) as f64);
                        let off = mean - a.1;
                        let more = off * off * n * m as f64 / all;
                        *a = (a.0 + m, a.1 + off * m as f64 / all, a.2 + spread + more);
                    }
                }
            }
            (Self::Distinct(a), Self::Distinct(b)) => {
                a.iter_mut().zip(b).for_each(|(a, b)| *a |= b);
            }
            (Self::Lists(a), Self::Lists(b)) => {
                a.iter_mut().zip(b).for_each(|(a, b)| a.extend(b));
            }
            (Self::IntLists(a), Self::IntLists(b)) => {
                a.iter_mut().zip(b).for_each(|(a, b)| a.extend(b));
            }
            (Self::Near(a), Self::Near(b)) => {
                a.iter_mut().zip(b).for_each(|(a, b)| a.merge(b));
            }
            _ => {}
        }
    }
}

/// The least, the greatest or the sum of two; of equal ones the first.
fn folded<T: PartialOrd + Copy>(fold: Fold, a: T, b: T, sum: impl Fn(T, T) -> T) -> T {
    match fold {
        Fold::Min => {
            if b < a {
                b
            } else {
                a
            }
        }
        Fold::Max => {
            if b > a {
                b
            } else {
                a
            }
        }
        _ => sum(a, b),
    }
}

/// Takes the numbers of a vector up. Without keys the group is the first for all.
fn take(into: &mut Folded, fold: Fold, vector: &Vector<'_>, groups: Option<&[u32]>) {
    let known = vector.known.as_deref();
    match (&mut *into, &vector.values) {
        (Folded::Counts(counts), values) => {
            let len = match values {
                Values::Int(v) => v.len(),
                Values::Float(v) => v.len(),
            };
            each(len, known, groups, |g, _| counts[g] += 1);
        }
        (Folded::Ints(cells), Values::Int(v)) if groups.is_none() && fold == Fold::Sum => {
            let (n, sum) = match known {
                None => (v.len(), v.iter().map(|v| i128::from(*v)).sum::<i128>()),
                Some(known) => {
                    let some = v.iter().zip(known).filter(|(_, known)| **known);
                    some.fold((0, 0), |(n, sum), (v, _)| (n + 1, sum + i128::from(*v)))
                }
            };
            cells[0] = (cells[0].0 + n as i64, cells[0].1 + sum);
        }
        (Folded::Ints(cells), Values::Int(v)) => each(v.len(), known, groups, |g, i| {
            let (value, cell) = (i128::from(v[i]), &mut cells[g]);
            cell.1 = if cell.0 == 0 { value } else { folded(fold, cell.1, value, |a, b| a + b) };
            cell.0 += 1;
        }),
        (Folded::Floats(cells), Values::Float(v)) if groups.is_none() && fold == Fold::Sum => {
            let (n, sum) = sum_of(v, known);
            cells[0] = (cells[0].0 + n, cells[0].1 + sum);
        }
        (Folded::Floats(cells), Values::Float(v)) => each(v.len(), known, groups, |g, i| {
            let cell = &mut cells[g];
            cell.1 = if cell.0 == 0 { v[i] } else { folded(fold, cell.1, v[i], |a, b| a + b) };
            cell.0 += 1;
        }),
        (Folded::Moments(cells), values) => {
            let mut add = |g: usize, v: f64| {
                let (n, mean, spread) = &mut cells[g];
                *n += 1;
                let off = v - *mean;
                *mean += off / *n as f64;
                *spread += off * (v - *mean);
            };
            match values {
                Values::Int(v) => each(v.len(), known, groups, |g, i| add(g, v[i] as f64)),
                Values::Float(v) => each(v.len(), known, groups, |g, i| add(g, v[i])),
            }
        }
        (Folded::Distinct(bits), Values::Int(v)) => {
            let Fold::Distinct { low, words } = fold else { return };
            each(v.len(), known, groups, |g, i| {
                let at = v[i].wrapping_sub(low) as usize;
                if let Some(word) = bits.get_mut(g * words + at / 64) {
                    *word |= 1 << (at % 64);
                }
            });
        }
        (Folded::Near(cells), _) => {
            if let (Fold::Near { low, high }, None) = (fold, groups) {
                cells[0].take(vector, (low, high));
            }
        }
        (Folded::Lists(lists), Values::Float(v)) => listed(lists, v, known, groups),
        (Folded::IntLists(lists), Values::Int(v)) => listed(lists, v, known, groups),
        _ => {}
    }
}

/// Adds the known values to the lists of their groups.
fn listed<T: Copy>(
    lists: &mut [Vec<T>],
    values: &[T],
    known: Option<&[bool]>,
    groups: Option<&[u32]>,
) {
    match (known, groups, lists) {
        (None, None, [all, ..]) => all.extend_from_slice(values),
        (known, groups, lists) => {
            each(values.len(), known, groups, |g, i| lists[g].push(values[i]));
        }
    }
}

/// Calls `f` with the group and the place of each known value.
fn each(
    len: usize,
    known: Option<&[bool]>,
    groups: Option<&[u32]>,
    mut f: impl FnMut(usize, usize),
) {
    match (known, groups) {
        (None, None) => (0..len).for_each(|i| f(0, i)),
        (None, Some(groups)) => groups.iter().enumerate().for_each(|(i, g)| f(*g as usize, i)),
        (Some(known), groups) => {
            for i in (0..len).filter(|i| known[*i]) {
                f(groups.map_or(0, |g| g[i] as usize), i);
            }
        }
    }
}

/// Whether a known value is no number, or beyond all.
fn has_odd(values: &[f64], known: Option<&[bool]>) -> bool {
    match known {
        None => values.iter().any(|v| !v.is_finite()),
        Some(known) => values.iter().zip(known).any(|(v, known)| *known && !v.is_finite()),
    }
}

/// The known values and their sum, in a fixed order: eight sums side by side, then these.
fn sum_of(values: &[f64], known: Option<&[bool]>) -> (i64, f64) {
    const LANES: usize = 8;
    let mut lanes = [0.0; LANES];
    let count = match known {
        None => {
            let (whole, rest) = values.as_chunks::<LANES>();
            for chunk in whole {
                lanes.iter_mut().zip(chunk).for_each(|(lane, v)| *lane += v);
            }
            lanes.iter_mut().zip(rest).for_each(|(lane, v)| *lane += v);
            values.len()
        }
        Some(known) => {
            for (i, (v, known)) in values.iter().zip(known).enumerate() {
                lanes[i % LANES] += if *known { *v } else { 0.0 };
            }
            known.iter().filter(|k| **k).count()
        }
    };
    (count as i64, lanes.iter().sum())
}

/// The rows of a part, the groups that were met in it, and its aggregates.
struct FoldedRows {
    rows: Vec<i64>,
    folded: Vec<Folded>,
}

/// Aggregates the rows for which the test is true, by the groups of the keys: the rows of each group, and the results
/// in the order of `folds`.
///
/// # Examples
///
/// ```
/// use arrow_array::{BooleanArray, Float64Array};
/// use graphlume_expr::{Cmp, Fold, Folded, Folds, Keys, Number, Test, fold};
/// use graphlume_types::CancelToken;
///
/// let amount = Float64Array::from(vec![Some(5.0), Some(1.0), None, Some(7.5)]);
/// let sent = BooleanArray::from(vec![true, true, true, false]);
/// let test = Test::Compare(Cmp::Gt, Number::Floats(&amount), Number::Int(2));
/// let mut keys = Keys::default();
/// assert!(keys.truths(&sent));
/// let sum = Folds { fold: Fold::Sum, of: Some(Number::Floats(&amount)) };
/// let (rows, folded) = fold(Some(&test), &keys, &[sum], 4, &CancelToken::new()).unwrap();
/// // False, true and null, in this order.
/// assert_eq!(rows, [1, 1, 0]);
/// let Folded::Floats(sums) = &folded[0] else { panic!("sums of floats are floats") };
/// assert_eq!(sums[1], (1, 5.0));
/// ```
///
/// # Errors
/// Those of the expressions, a result that is no number, and a cancelled token, also when there is no memory for the
/// accumulators.
pub fn fold(
    test: Option<&Test<'_>>,
    keys: &Keys<'_>,
    folds: &[Folds<'_>],
    num_rows: usize,
    cancel: &CancelToken,
) -> Result<(Vec<i64>, Vec<Folded>), Unfit> {
    let groups = keys.groups();
    let bits = |f: &Folds<'_>| match f.fold {
        Fold::Distinct { words, .. } => 8 * words,
        _ => Folded::GROUP_BYTES,
    };
    let group_bytes = 8 + folds.iter().map(bits).sum::<usize>();
    let most = (BYTES_MAX / (groups * group_bytes)).clamp(1, PARTS_MAX);
    let part_rows = num_rows.div_ceil(most).max(PART_ROWS_MIN).next_multiple_of(VECTOR_ROWS);
    let parts = num_rows.div_ceil(part_rows).max(1);
    let bytes = parts * groups * group_bytes;
    cancel.take(bytes as u64).map_err(|_| Unfit::Value)?;
    let parts = (0..parts).into_par_iter().map(|part| {
        let end = num_rows.min((part + 1) * part_rows);
        let mut own = FoldedRows {
            rows: vec![0; groups],
            folded: folds.iter().map(|f| Folded::new(f, groups)).collect(),
        };
        for from in (part * part_rows..end).step_by(VECTOR_ROWS) {
            cancel.check()?;
            let rows = Rows::Run { from, len: VECTOR_ROWS.min(end - from) };
            one_vector(test, keys, folds, rows, &mut own, cancel)?;
        }
        Ok::<FoldedRows, Unfit>(own)
    });
    let mut parts = parts.collect::<Result<Vec<FoldedRows>, Unfit>>()?.into_iter();
    let mut all = parts.next().ok_or(Unfit::Value)?;
    for (i, folded) in all.folded.iter_mut().enumerate() {
        folded.make_room(parts.as_slice().iter().map(|part| &part.folded[i]));
    }
    for part in parts {
        all.rows.iter_mut().zip(part.rows).for_each(|(a, b)| *a += b);
        let pairs = all.folded.iter_mut().zip(part.folded).zip(folds);
        pairs.for_each(|((a, b), folds)| a.merge(folds.fold, b));
    }
    Ok((all.rows, all.folded))
}

/// One aggregate over some rows alone, without groups.
pub(crate) fn sampled(
    test: Option<&Test<'_>>,
    folds: Folds<'_>,
    rows: &[u32],
    cancel: &CancelToken,
) -> Result<Folded, Unfit> {
    let mut own = FoldedRows { rows: vec![0], folded: vec![Folded::new(&folds, 1)] };
    one_vector(test, &Keys::default(), &[folds], Rows::List(rows), &mut own, cancel)?;
    own.folded.pop().ok_or(Unfit::Value)
}

fn one_vector(
    test: Option<&Test<'_>>,
    keys: &Keys<'_>,
    folds: &[Folds<'_>],
    rows: Rows<'_>,
    own: &mut FoldedRows,
    cancel: &CancelToken,
) -> Result<(), Unfit> {
    let mut list = Vec::new();
    let rows = match test {
        None => rows,
        Some(test) => {
            let truths = test.eval(rows)?;
            let passed = truths.iter().filter(|t| **t == truth::TRUE).count();
            if passed == 0 {
                return Ok(());
            }
            if keys.groups() == 1 && folds.iter().all(|f| f.of.is_none()) {
                own.rows[0] += passed as i64;
                return Ok(());
            }
            if passed == truths.len() {
                rows
            } else {
                list.resize(rows.len() + 1, 0);
                let mut len = 0;
                for (i, t) in truths.iter().enumerate() {
                    list[len] = rows.at(i) as u32;
                    len += usize::from(*t == truth::TRUE);
                }
                list.truncate(len);
                Rows::List(&list)
            }
        }
    };
    let grouped = keys.groups() > 1;
    let groups = grouped.then(|| keys.of(rows)).transpose()?;
    match &groups {
        None => own.rows[0] += rows.len() as i64,
        Some(groups) => groups.iter().for_each(|g| own.rows[*g as usize] += 1),
    }
    for (folds, folded) in folds.iter().zip(&mut own.folded) {
        let Some(number) = &folds.of else { continue };
        let vector = number.eval(rows)?;
        if number.may_be_nan()
            && let Values::Float(values) = &vector.values
            && has_odd(values, vector.known.as_deref())
        {
            return Err(Unfit::Value);
        }
        let kept = |folded: &Folded| match folded {
            Folded::Near(cells) => cells[0].bytes(),
            _ => 0,
        };
        let before = kept(folded);
        take(folded, folds.fold, &vector, groups.as_deref());
        let more = match folds.fold {
            Fold::List => 8 * rows.len(),
            _ => kept(folded) - before,
        };
        if more > 0 {
            cancel.take(more as u64).map_err(|_| Unfit::Value)?;
        }
    }
    Ok(())
}
