//! Expressions whose values are truths.

use std::sync::Arc;

use arrow_array::{Array, BooleanArray};
use graphlume_table::TextColumn;

use crate::cmp::Cmp;
use crate::number::Number;
use crate::text::TextTest;
use crate::vector::{Rows, Unfit, Values, both, truth};

/// Integers up to this are floats, too.
const EXACT_MAX: i64 = 1 << 53;
/// The part of the rows of a vector that must be undecided for the next test of a conjunction to look at all of them.
const DENSE_PART: usize = 4;
/// Members of a list up to which all are compared, without a branch.
const COMPARED_MAX: usize = 8;

/// An expression whose value is a truth.
#[derive(Debug)]
pub enum Test<'c> {
    /// Always the same.
    Always(u8),
    /// A comparison of numbers, exact also between large integers and floats.
    Compare(Cmp, Number<'c>, Number<'c>),
    /// Whether a number is one of some: integers, and floats that are none, in ascending order; the last is the answer
    /// where it is none of them, unknown when a null is among them.
    In(Number<'c>, Vec<i64>, Vec<f64>, u8),
    /// A test of texts.
    Text(TextTest<'c>),
    /// A column of truths.
    Truths(&'c BooleanArray),
    /// Whether a number is null, or is not.
    IsNull(Number<'c>, bool),
    /// Whether a text is null, or is not.
    NoText(&'c TextColumn, bool),
    /// Truths that are known of all rows.
    Flags(Arc<Vec<bool>>),
    /// Not.
    Not(Box<Self>),
    /// All of them.
    And(Vec<Self>),
    /// One of them.
    Or(Vec<Self>),
}

impl Test<'_> {
    /// Whether a row costs more than to be picked out.
    fn is_costly(&self) -> bool {
        match self {
            Self::Text(test) => test.reads_texts(),
            Self::NoText(..) => true,
            Self::Not(test) => test.is_costly(),
            Self::And(tests) | Self::Or(tests) => tests.iter().any(Self::is_costly),
            _ => false,
        }
    }

    /// Whether every row has an answer or, where a float is too coarse, one that a caller finds by the row alone: rows
    /// that are not wanted may then be left out. An operator of integers has errors that a caller must report.
    #[must_use]
    pub fn is_total(&self) -> bool {
        match self {
            Self::Compare(_, a, b) => a.is_total() && b.is_total(),
            Self::In(number, ..) | Self::IsNull(number, _) => number.is_total(),
            Self::Not(test) => test.is_total(),
            Self::And(tests) | Self::Or(tests) => tests.iter().all(Self::is_total),
            Self::Always(_)
            | Self::Text(_)
            | Self::Truths(_)
            | Self::NoText(..)
            | Self::Flags(_) => true,
        }
    }

    /// The truths of some rows, see [`truth`].
    ///
    /// # Errors
    /// Those of [`Number::eval`]; also for a comparison of an integer with a float that floats are too coarse for.
    pub fn eval(&self, rows: Rows<'_>) -> Result<Vec<u8>, Unfit> {
        Ok(match self {
            Self::Always(answer) => vec![*answer; rows.len()],
            Self::Compare(op, a, b) => compare(*op, a, b, rows)?,
            Self::In(number, ints, floats, otherwise) => {
                member(number, ints, floats, *otherwise, rows)?
            }
            Self::Text(test) => test.eval(rows),
            Self::Truths(column) => {
                let truths = (0..rows.len()).map(|i| match rows.at(i) {
                    row if !column.is_valid(row) => truth::UNKNOWN,
                    row if column.value(row) => truth::TRUE,
                    _ => truth::FALSE,
                });
                truths.collect()
            }
            Self::IsNull(number, is_null) => match number.eval(rows)?.known {
                None => vec![if *is_null { truth::FALSE } else { truth::TRUE }; rows.len()],
                Some(known) => known.iter().map(|k| 2 * u8::from(*k != *is_null)).collect(),
            },
            Self::NoText(text, is_null) => {
                let cells = (0..rows.len()).map(|i| text.get(rows.at(i)).is_none());
                cells.map(|null| 2 * u8::from(null == *is_null)).collect()
            }
            Self::Flags(flags) => {
                rows.of(flags.as_slice()).iter().map(|f| 2 * u8::from(*f)).collect()
            }
            Self::Not(test) => {
                let mut truths = test.eval(rows)?;
                truths.iter_mut().for_each(|t| *t = truth::TRUE - *t);
                truths
            }
            Self::And(tests) => all(tests, rows)?,
            Self::Or(tests) => {
                let mut truths = vec![truth::FALSE; rows.len()];
                for test in tests {
                    let more = test.eval(rows)?;
                    truths.iter_mut().zip(more).for_each(|(t, m)| *t = (*t).max(m));
                }
                truths
            }
        })
    }
}

/// A conjunction: when the first tests leave few rows, the next ones look at these alone.
fn all(tests: &[Test<'_>], rows: Rows<'_>) -> Result<Vec<u8>, Unfit> {
    let Some((first, rest)) = tests.split_first() else {
        return Ok(vec![truth::TRUE; rows.len()]);
    };
    let mut truths = first.eval(rows)?;
    for test in rest {
        let open = truths.iter().filter(|t| **t != truth::FALSE).count();
        if open == 0 {
            break;
        }
        if open * DENSE_PART >= truths.len() || !test.is_costly() {
            let more = test.eval(rows)?;
            truths.iter_mut().zip(more).for_each(|(t, m)| *t = (*t).min(m));
            continue;
        }
        let places: Vec<usize> = (0..truths.len()).filter(|i| truths[*i] != truth::FALSE).collect();
        let left: Vec<u32> = places.iter().map(|i| rows.at(*i) as u32).collect();
        for (i, more) in places.into_iter().zip(test.eval(Rows::List(&left))?) {
            truths[i] = truths[i].min(more);
        }
    }
    Ok(truths)
}

/// Truths from results and a mask of what is known.
fn masked(mut truths: Vec<u8>, known: Option<Vec<bool>>) -> Vec<u8> {
    if let Some(known) = known {
        let cells = truths.iter_mut().zip(known);
        cells.for_each(|(t, known)| *t = if known { *t } else { truth::UNKNOWN });
    }
    truths
}

fn compared<T: PartialOrd + Copy>(op: Cmp, x: &[T], y: &[T]) -> Vec<u8> {
    fn each<T: Copy>(x: &[T], y: &[T], holds: impl Fn(T, T) -> bool) -> Vec<u8> {
        x.iter().zip(y).map(|(x, y)| 2 * u8::from(holds(*x, *y))).collect()
    }
    match op {
        Cmp::Eq => each(x, y, |x, y| x == y),
        Cmp::Ne => each(x, y, |x, y| x != y),
        Cmp::Lt => each(x, y, |x, y| x < y),
        Cmp::Le => each(x, y, |x, y| x <= y),
        Cmp::Gt => each(x, y, |x, y| x > y),
        Cmp::Ge => each(x, y, |x, y| x >= y),
    }
}

/// The same with one number for all rows, which the loop then holds in a register.
fn compared_with<T: PartialOrd + Copy>(op: Cmp, x: &[T], y: T) -> Vec<u8> {
    fn each<T: Copy>(x: &[T], holds: impl Fn(T) -> bool) -> Vec<u8> {
        x.iter().map(|x| 2 * u8::from(holds(*x))).collect()
    }
    match op {
        Cmp::Eq => each(x, |x| x == y),
        Cmp::Ne => each(x, |x| x != y),
        Cmp::Lt => each(x, |x| x < y),
        Cmp::Le => each(x, |x| x <= y),
        Cmp::Gt => each(x, |x| x > y),
        Cmp::Ge => each(x, |x| x >= y),
    }
}

/// Whether integers may be compared as floats.
fn exact(values: &[i64], known: Option<&[bool]>) -> bool {
    let fits = |v: i64| (-EXACT_MAX..=EXACT_MAX).contains(&v);
    match known {
        None => values.iter().all(|v| fits(*v)),
        Some(known) => values.iter().zip(known).all(|(v, known)| !known || fits(*v)),
    }
}

fn compare(op: Cmp, a: &Number<'_>, b: &Number<'_>, rows: Rows<'_>) -> Result<Vec<u8>, Unfit> {
    let left = a.eval(rows)?;
    match (&left.values, b) {
        (Values::Int(x), Number::Int(y)) => {
            return Ok(masked(compared_with(op, x, *y), left.known));
        }
        (Values::Float(x), Number::Float(y)) => {
            return Ok(masked(compared_with(op, x, *y), left.known));
        }
        (Values::Float(x), Number::Int(y)) if exact(&[*y], None) => {
            return Ok(masked(compared_with(op, x, *y as f64), left.known));
        }
        _ => {}
    }
    let right = b.eval(rows)?;
    if let (Values::Int(x), Values::Int(y)) = (&left.values, &right.values) {
        let truths = compared(op, x, y);
        return Ok(masked(truths, both(left.known, right.known)));
    }
    for side in [&left, &right] {
        if let Values::Int(values) = &side.values
            && !exact(values, side.known.as_deref())
        {
            return Err(Unfit::Value);
        }
    }
    let ((x, p), (y, q)) = (left.floats(), right.floats());
    Ok(masked(compared(op, &x, &y), both(p, q)))
}

fn member(
    number: &Number<'_>,
    ints: &[i64],
    floats: &[f64],
    otherwise: u8,
    rows: Rows<'_>,
) -> Result<Vec<u8>, Unfit> {
    let vector = number.eval(rows)?;
    let answer = |found: bool| if found { truth::TRUE } else { otherwise };
    let truths = match &vector.values {
        Values::Int(values) if ints.len() <= COMPARED_MAX => {
            let found = |v: &i64| ints.iter().fold(false, |found, m| found | (m == v));
            values.iter().map(|v| answer(found(v))).collect()
        }
        Values::Int(values) => {
            values.iter().map(|v| answer(ints.binary_search(v).is_ok())).collect()
        }
        Values::Float(values) => {
            if !exact(ints, None) {
                return Err(Unfit::Value);
            }
            let mut all: Vec<f64> = ints.iter().map(|v| *v as f64).chain(floats.to_vec()).collect();
            all.sort_by(f64::total_cmp);
            // 0.0 and -0.0 are one number, which total order takes for two.
            let found = |v: &f64| all.binary_search_by(|m| m.total_cmp(&(*v + 0.0))).is_ok();
            values.iter().map(|v| answer(found(v))).collect()
        }
    };
    Ok(masked(truths, vector.known))
}
