//! Tests of rows as the conditions that another device than the CPU evaluates: the same rows pass, to the last one.

#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]

use graphlume_types::number::exact_f64_of_u64;
use std::sync::Arc;

use graphlume_expr::{Cmp, Constant, JobTest, Scalar};
use graphlume_graph::canon::{Canon, Column};

use super::{ColumnTest, Predicate, Range, RowFilter};

/// Gives the place of a column among those of a job; `None` where a device cannot keep it.
pub type PlaceColumn<'p> = dyn FnMut(&Arc<Column>) -> Option<usize> + 'p;

impl RowFilter {
    /// The filter as a condition on columns whose places `place` gives; `None` where a test has no such form: one that was
    /// answered row by row, and those of columns that no device keeps.
    pub fn condition(&self, place: &mut PlaceColumn<'_>) -> Option<JobTest> {
        if self.never {
            return Some(JobTest::Always(false));
        }
        let tests = self.tests.iter().map(|test| test.condition(place));
        Some(JobTest::And(tests.collect::<Option<_>>()?))
    }
}

impl ColumnTest {
    fn condition(&self, place: &mut PlaceColumn<'_>) -> Option<JobTest> {
        Some(match self {
            Self::Cells { column, predicate, truth } => {
                let at = place(column)?;
                of_cells(column, at, predicate, *truth)?
            }
            Self::Members { column, members } => {
                let at = place(column)?;
                let known = match column.as_ref() {
                    Column::Int(_) | Column::Float(_) => JobTest::In(at, members.constants()),
                    _ => return None,
                };
                with_nulls(at, known, members.holds(None))
            }
            Self::Range { column, range, .. } => of_range(place(column)?, *range),
            Self::Codes { column, answers, null, .. } => {
                let at = place(column)?;
                with_nulls(at, JobTest::Passes(at, answers.clone()), *null)
            }
            Self::Rows(_) => return None,
        })
    }
}

/// A condition that no null meets, and the nulls as well where they pass.
fn with_nulls(index: usize, known: JobTest, nulls: bool) -> JobTest {
    if nulls { JobTest::Or(vec![known, JobTest::IsNull(index, true)]) } else { known }
}

fn of_range(index: usize, range: Range) -> JobTest {
    let (low, high, inside) = match range {
        Range::Ints { low, high, inside } => (Constant::Int(low), Constant::Int(high), inside),
        Range::Floats { low, high, inside } => {
            (Constant::Float(low), Constant::Float(high), inside)
        }
    };
    let between = JobTest::And(vec![
        JobTest::Compare(index, Cmp::Ge, low),
        JobTest::Compare(index, Cmp::Le, high),
    ]);
    if inside { between } else { JobTest::Not(Box::new(between)) }
}

fn of_cells(column: &Column, index: usize, predicate: &Predicate, truth: bool) -> Option<JobTest> {
    if let Predicate::All(tests) = predicate {
        let tests = tests.iter().map(|test| of_cells(column, index, test, truth));
        return Some(JobTest::And(tests.collect::<Option<_>>()?));
    }
    let known = match column {
        Column::Bool(_) => {
            let holds = |cell| predicate.holds(Some(&Canon::Bool(cell)), truth);
            match (holds(true), holds(false)) {
                (true, true) => JobTest::IsNull(index, false),
                (true, false) => JobTest::IsTrue(index),
                (false, true) => JobTest::Not(Box::new(JobTest::IsTrue(index))),
                (false, false) => JobTest::Always(false),
            }
        }
        Column::Text(text) => {
            let (_, values) = text.dictionary()?;
            let holds = |text: Option<&str>| predicate.holds(text.map(Canon::Text).as_ref(), truth);
            JobTest::Passes(index, values.iter().map(holds).collect())
        }
        Column::Int(_) | Column::Float(_) => of_numbers(index, predicate)?,
        _ => return None,
    };
    Some(with_nulls(index, known, predicate.holds(None, truth)))
}

/// The numbers that pass, without the nulls.
fn of_numbers(index: usize, predicate: &Predicate) -> Option<JobTest> {
    Some(match predicate {
        Predicate::Same(value) => compared(index, Cmp::Eq, value)?,
        Predicate::Compare(cmp, value) => compared(index, *cmp, value)?,
        Predicate::Between(low, high, inclusive) => {
            let (from, to) = if *inclusive { (Cmp::Ge, Cmp::Le) } else { (Cmp::Gt, Cmp::Lt) };
            JobTest::And(vec![compared(index, from, low)?, compared(index, to, high)?])
        }
        Predicate::IsIn(values) | Predicate::Member(values) => {
            JobTest::In(index, values.iter().filter_map(constant).collect())
        }
        Predicate::NotNull => JobTest::IsNull(index, false),
        // Nothing of this is true of a number.
        Predicate::IsNull
        | Predicate::Never
        | Predicate::Text { .. }
        | Predicate::Class(_)
        | Predicate::Calendar(_) => JobTest::Always(false),
        Predicate::Duplicated(_) | Predicate::All(_) => return None,
    })
}

/// A comparison with a value; `None` with a number that is no constant of such a program.
fn compared(index: usize, cmp: Cmp, value: &Scalar) -> Option<JobTest> {
    let constant = constant(value);
    if constant.is_none() && matches!(value, Scalar::UInt(_)) {
        return None;
    }
    Some(match (constant, cmp) {
        (Some(constant), _) => JobTest::Compare(index, cmp, constant),
        // What is no number is unequal to every number; to null nothing is.
        (None, Cmp::Ne) if *value != Scalar::Null => JobTest::IsNull(index, false),
        (None, _) => JobTest::Always(false),
    })
}

/// The number that a value is.
fn constant(value: &Scalar) -> Option<Constant> {
    match value {
        Scalar::Bool(v) => Some(Constant::Int(i64::from(*v))),
        Scalar::Int(v) => Some(Constant::Int(*v)),
        // One that is no float equals no cell, neither of integers nor of floats.
        Scalar::UInt(v) => exact_f64_of_u64(*v).map(Constant::Float),
        Scalar::Float(v) if !v.is_nan() => Some(Constant::Float(*v)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic)]
    #![allow(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "numbers of tests are small"
    )]
    use arrow_array::{BooleanArray, Float64Array, Int64Array};
    use graphlume_types::hash::h64;

    use super::*;
    use crate::filter::Members;

    /// Whether a row meets a condition; `None` where that is not known.
    fn meets(test: &JobTest, column: &Column, row: usize) -> Option<bool> {
        let cell = column.get(row);
        let compare = |cmp: Cmp, with: &Constant| {
            let with = match with {
                Constant::Int(v) => Scalar::Int(*v),
                Constant::Float(v) => Scalar::Float(*v),
            };
            cell.as_ref().map(|cell| Predicate::Compare(cmp, with).holds(Some(cell), false))
        };
        match test {
            JobTest::Always(v) => Some(*v),
            JobTest::Compare(_, cmp, with) => compare(*cmp, with),
            JobTest::In(_, list) => {
                cell.as_ref()?;
                Some(list.iter().any(|with| compare(Cmp::Eq, with) == Some(true)))
            }
            JobTest::IsTrue(_) => cell.as_ref().map(|cell| *cell == Canon::Bool(true)),
            JobTest::Passes(..) => None,
            JobTest::IsNull(_, wanted) => Some(cell.is_none() == *wanted),
            JobTest::Not(test) => meets(test, column, row).map(|v| !v),
            JobTest::And(tests) => {
                let all: Vec<_> = tests.iter().map(|t| meets(t, column, row)).collect();
                if all.contains(&Some(false)) {
                    Some(false)
                } else if all.contains(&None) {
                    None
                } else {
                    Some(true)
                }
            }
            JobTest::Or(tests) => {
                let all: Vec<_> = tests.iter().map(|t| meets(t, column, row)).collect();
                if all.contains(&Some(true)) {
                    Some(true)
                } else if all.contains(&None) {
                    None
                } else {
                    Some(false)
                }
            }
        }
    }

    fn predicates() -> Vec<Predicate> {
        let values = [
            Scalar::Null,
            Scalar::Bool(true),
            Scalar::Int(-1),
            Scalar::Int(3),
            Scalar::Int(i64::MAX),
            Scalar::UInt(1 << 63),
            Scalar::UInt((1 << 63) + 5),
            Scalar::UInt(u64::MAX),
            Scalar::Float(2.5),
            Scalar::Float(-0.0),
            Scalar::Float(f64::NAN),
            Scalar::Float(1e30),
            Scalar::text("x"),
        ];
        let mut all = vec![Predicate::IsNull, Predicate::NotNull, Predicate::Never];
        for value in &values {
            all.push(Predicate::Same(value.clone()));
            for cmp in [Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le, Cmp::Gt, Cmp::Ge] {
                all.push(Predicate::Compare(cmp, value.clone()));
            }
            for inclusive in [false, true] {
                all.push(Predicate::Between(Scalar::Float(-1.5), value.clone(), inclusive));
                all.push(Predicate::Between(Scalar::Int(0), value.clone(), inclusive));
            }
        }
        let mut long: Vec<Scalar> = (0..40).map(Scalar::Int).collect();
        long.extend([Scalar::Float(2.5), Scalar::Float(1.8e19), Scalar::text("y")]);
        for list in
            [values[1..4].to_vec(), values.to_vec(), long.clone(), [long, values.to_vec()].concat()]
        {
            all.extend([Predicate::IsIn(list.clone()), Predicate::Member(list)]);
        }
        let both = all.iter().step_by(5).zip(all.iter().skip(2).step_by(7));
        let both: Vec<_> = both.map(|(a, b)| Predicate::All(vec![a.clone(), b.clone()])).collect();
        all.extend(both);
        all
    }

    #[test]
    fn conditions_are_met_by_the_rows_that_pass() {
        let known = |i: u64| !h64(1, 0, i).is_multiple_of(5);
        let ints = (0..300).map(|i| known(i).then(|| (h64(2, 0, i) % 9) as i64 - 3));
        let floats = (0..300).map(|i| match h64(3, 0, i) % 9 {
            0 => Some(f64::NAN),
            1 => Some(-0.0),
            2 => Some(f64::INFINITY),
            v => known(i).then_some(v as f64 / 2.0),
        });
        let truths = (0..300).map(|i| known(i).then(|| h64(4, 0, i).is_multiple_of(2)));
        let ends = [i64::MIN, i64::MAX, 0].map(Some);
        let columns = [
            Column::Int(ints.chain(ends).collect::<Int64Array>()),
            Column::Float(floats.collect::<Float64Array>()),
            Column::Bool(truths.collect::<BooleanArray>()),
        ];
        for column in columns.map(Arc::new) {
            let truth = matches!(*column, Column::Bool(_));
            for predicate in predicates() {
                let members = || Members::new(&predicate).filter(|_| !truth);
                let test = match (Range::new(&column, &predicate), members()) {
                    (Some(range), _) => {
                        ColumnTest::Range { column: column.clone(), range, buckets: None }
                    }
                    (None, Some(members)) => {
                        ColumnTest::Members { column: column.clone(), members }
                    }
                    (None, None) => ColumnTest::Cells {
                        column: column.clone(),
                        predicate: predicate.clone(),
                        truth,
                    },
                };
                let Some(condition) = test.condition(&mut |_| Some(0)) else {
                    // No constant of a program is a whole number above those with a sign that no float equals.
                    assert!(format!("{predicate:?}").contains("UInt"), "{predicate:?}");
                    continue;
                };
                for row in 0..column.len() {
                    let wanted = predicate.holds(column.get(row).as_ref(), truth);
                    let met = meets(&condition, &column, row) == Some(true);
                    assert_eq!(met, wanted, "{predicate:?} of {:?}", column.get(row));
                }
            }
        }
    }

    #[test]
    fn what_was_answered_row_by_row_has_no_condition() {
        let mut filter = RowFilter::over(2);
        assert_eq!(filter.condition(&mut |_| Some(0)), Some(JobTest::And(vec![])));
        filter.and_rows(vec![true, false]);
        assert_eq!(filter.condition(&mut |_| Some(0)), None);
    }
}
