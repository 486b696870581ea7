//! Comparisons of numbers as intervals, so that a column is tested without a look at each cell's kind.

#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]

use graphlume_expr::{Cmp, Scalar};
use graphlume_graph::canon::Column;
use graphlume_types::number::exact_f64;

use crate::filter::Predicate;

/// The numbers from one bound to the other, both included; or all others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Range {
    /// Of a column of integers.
    Ints {
        /// The lower bound.
        low: i64,
        /// The upper bound.
        high: i64,
        /// Whether the numbers between them pass; else the others do.
        inside: bool,
    },
    /// Of a column of floats.
    Floats {
        /// The lower bound.
        low: f64,
        /// The upper bound.
        high: f64,
        /// Whether the numbers between them pass; else the others do.
        inside: bool,
    },
}

impl Range {
    /// The interval that a test of a column of numbers means; `None` for every other test.
    pub fn new(column: &Column, predicate: &Predicate) -> Option<Self> {
        let (low, high, inside) = match predicate {
            Predicate::Same(v) | Predicate::Compare(Cmp::Eq, v) => {
                (Some((v, true)), Some((v, true)), true)
            }
            Predicate::Compare(Cmp::Ne, v) => (Some((v, true)), Some((v, true)), false),
            Predicate::Compare(Cmp::Lt, v) => (None, Some((v, false)), true),
            Predicate::Compare(Cmp::Le, v) => (None, Some((v, true)), true),
            Predicate::Compare(Cmp::Gt, v) => (Some((v, false)), None, true),
            Predicate::Compare(Cmp::Ge, v) => (Some((v, true)), None, true),
            Predicate::Between(a, b, ends) => (Some((a, *ends)), Some((b, *ends)), true),
            _ => return None,
        };
        match column {
            Column::Int(_) => {
                let low = low.map_or(Some(i64::MIN), |(v, closed)| at_least(v, closed))?;
                let high = high.map_or(Some(i64::MAX), |(v, closed)| at_most(v, closed))?;
                Some(Self::Ints { low, high, inside })
            }
            Column::Float(_) => {
                let low = match low {
                    None => f64::NEG_INFINITY,
                    Some((v, true)) => exact(v)?,
                    // Nothing lies beyond infinity, and no bound says so.
                    Some((v, false)) => exact(v).filter(|v| *v < f64::INFINITY)?.next_up(),
                };
                let high = match high {
                    None => f64::INFINITY,
                    Some((v, true)) => exact(v)?,
                    Some((v, false)) => exact(v).filter(|v| *v > f64::NEG_INFINITY)?.next_down(),
                };
                Some(Self::Floats { low, high, inside })
            }
            _ => None,
        }
    }

    /// Clears the marks of the rows from `from` on that do not pass. A null does not.
    pub fn narrow(self, column: &Column, from: usize, marks: &mut [bool]) {
        let to = from + marks.len();
        let nulls = match (self, column) {
            (Self::Ints { low, high, inside }, Column::Int(array)) => {
                for (mark, v) in marks.iter_mut().zip(&array.values()[from..to]) {
                    *mark &= ((low <= *v) & (*v <= high)) == inside;
                }
                arrow_array::Array::nulls(array)
            }
            (Self::Floats { low, high, inside }, Column::Float(array)) => {
                for (mark, v) in marks.iter_mut().zip(&array.values()[from..to]) {
                    // What is no number compares with nothing.
                    *mark &= (((low <= *v) & (*v <= high)) == inside) & !v.is_nan();
                }
                arrow_array::Array::nulls(array)
            }
            _ => return,
        };
        if let Some(nulls) = nulls {
            for (i, mark) in marks.iter_mut().enumerate() {
                *mark &= nulls.is_valid(from + i);
            }
        }
    }

    /// Whether a row passes.
    pub fn passes(self, column: &Column, row: usize) -> bool {
        let mut mark = [true];
        self.narrow(column, row, &mut mark);
        mark[0]
    }
}

/// The least integer in the interval that begins at a number.
fn at_least(v: &Scalar, closed: bool) -> Option<i64> {
    match v {
        Scalar::Int(v) if closed => Some(*v),
        Scalar::Int(v) => v.checked_add(1),
        _ => None,
    }
}

fn at_most(v: &Scalar, closed: bool) -> Option<i64> {
    match v {
        Scalar::Int(v) if closed => Some(*v),
        Scalar::Int(v) => v.checked_sub(1),
        _ => None,
    }
}

/// A number as a double, when that loses nothing.
fn exact(v: &Scalar) -> Option<f64> {
    match v {
        Scalar::Int(v) => exact_f64(*v),
        Scalar::Float(v) if !v.is_nan() => Some(*v),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "numbers of tests are small"
    )]
    #![allow(clippy::unwrap_used)]
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Float64Array, Int64Array};
    use proptest::prelude::*;

    use super::*;

    fn predicates(a: &Scalar, b: &Scalar) -> Vec<Predicate> {
        let mut all: Vec<Predicate> = [Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le, Cmp::Gt, Cmp::Ge]
            .into_iter()
            .map(|cmp| Predicate::Compare(cmp, a.clone()))
            .collect();
        all.push(Predicate::Same(a.clone()));
        all.extend([true, false].map(|ends| Predicate::Between(a.clone(), b.clone(), ends)));
        all
    }

    fn agree(array: ArrayRef, a: &Scalar, b: &Scalar) {
        let column = Column::try_new(&array).unwrap();
        for predicate in predicates(a, b) {
            let Some(range) = Range::new(&column, &predicate) else { continue };
            let mut marks = vec![true; column.len()];
            range.narrow(&column, 0, &mut marks);
            for (row, mark) in marks.iter().enumerate() {
                let holds = predicate.holds(column.get(row).as_ref(), false);
                assert_eq!(*mark, holds, "{predicate:?} of row {row} of {array:?}");
                assert_eq!(range.passes(&column, row), holds);
            }
        }
    }

    proptest! {
        #[test]
        fn intervals_say_what_cells_say(
            ints in proptest::collection::vec(proptest::option::of(-3i64..4), 0..12),
            floats in proptest::collection::vec(
                proptest::option::of(prop_oneof![Just(f64::NAN), Just(0.5), Just(-1.5), Just(2.0)]), 0..12),
            a in -3i64..4, b in -3i64..4, half in -3i64..4,
        ) {
            let (ints, floats): (ArrayRef, ArrayRef) =
                (Arc::new(Int64Array::from(ints)), Arc::new(Float64Array::from(floats)));
            for array in [ints, floats] {
                agree(Arc::clone(&array), &Scalar::Int(a), &Scalar::Int(b));
                agree(array, &Scalar::Float(half as f64 / 2.0), &Scalar::Float(1.5));
            }
        }
    }

    #[test]
    fn the_ends_of_the_numbers_are_no_trap() {
        let array: ArrayRef = Arc::new(Int64Array::from(vec![i64::MIN, 0, i64::MAX]));
        for v in [i64::MIN, i64::MAX] {
            agree(Arc::clone(&array), &Scalar::Int(v), &Scalar::Int(v));
        }
        let edges = vec![f64::NEG_INFINITY, -0.0, 0.0, f64::MAX, f64::INFINITY];
        let array: ArrayRef = Arc::new(Float64Array::from(edges.clone()));
        for v in edges {
            agree(Arc::clone(&array), &Scalar::Float(v), &Scalar::Int(0));
        }
    }
}
