//! Aggregates over a whole table in the form that another device than the CPU runs: columns have names instead of
//! arrays, under which the device keeps its copies.
//!
//! Only what is the same to the last bit everywhere has this form: counts, sums of integers, least and greatest values,
//! different texts, and the values at places of an order.

use arrow_array::{Array, BooleanArray, Float64Array, Int64Array, UInt32Array};
use graphlume_graph::canon::Column;
use graphlume_types::CancelToken;

use crate::cmp::Cmp;
use crate::fold::{Fold, Folded, Folds};
use crate::group::Keys;
use crate::near::{Near, float_of};
use crate::number::Number;
use crate::table_answer::{Groups, Reduction, TableAnswer, reduced};
use crate::test::Test;
use crate::vector::truth;

/// Which table a column is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The table of nodes.
    Nodes,
    /// The table of edges.
    Edges,
}

/// The array behind a column.
#[derive(Clone, Copy, Debug)]
pub enum TableArray<'c> {
    /// Integers.
    Ints(&'c Int64Array),
    /// Floats, in which NaN is null.
    Floats(&'c Float64Array),
    /// Truths.
    Truths(&'c BooleanArray),
    /// Keys of a dictionary of texts.
    Codes(&'c UInt32Array),
}

/// The values of a column as a device takes them.
#[derive(Debug)]
pub enum RawCells<'c> {
    /// Integers.
    Ints(&'c [i64]),
    /// Floats.
    Floats(&'c [f64]),
    /// Keys of a dictionary.
    Codes(&'c [u32]),
    /// Truths, a byte each.
    Truths(Vec<u8>),
}

impl<'c> TableArray<'c> {
    /// The array behind a column that a device can keep a copy of; `None` for columns of other types.
    #[must_use]
    pub fn of(column: &'c Column) -> Option<Self> {
        Some(match column {
            Column::Int(a) => Self::Ints(a),
            Column::Float(a) => Self::Floats(a),
            Column::Bool(a) => Self::Truths(a),
            Column::Text(text) => Self::Codes(text.dictionary()?.0),
            _ => return None,
        })
    }

    const fn array(self) -> &'c dyn Array {
        match self {
            Self::Ints(a) => a,
            Self::Floats(a) => a,
            Self::Truths(a) => a,
            Self::Codes(a) => a,
        }
    }

    /// Whether both are the same array, not only equal ones.
    fn is(self, other: Self) -> bool {
        match (self, other) {
            (Self::Ints(a), Self::Ints(b)) => std::ptr::eq(a, b),
            (Self::Floats(a), Self::Floats(b)) => std::ptr::eq(a, b),
            (Self::Truths(a), Self::Truths(b)) => std::ptr::eq(a, b),
            (Self::Codes(a), Self::Codes(b)) => std::ptr::eq(a, b),
            _ => false,
        }
    }

    /// Whether a row has no value, NaN apart.
    #[must_use]
    pub fn has_nulls(self) -> bool {
        self.array().null_count() > 0
    }

    /// Whether its values are integers.
    #[must_use]
    pub const fn is_int(self) -> bool {
        matches!(self, Self::Ints(_))
    }

    /// Bytes of a cell on the device.
    #[must_use]
    pub const fn width(self) -> usize {
        match self {
            Self::Ints(_) | Self::Floats(_) => 8,
            Self::Codes(_) => 4,
            Self::Truths(_) => 1,
        }
    }

    /// The values; those of null rows may be anything.
    #[must_use]
    pub fn values(self) -> RawCells<'c> {
        match self {
            Self::Ints(a) => RawCells::Ints(a.values()),
            Self::Floats(a) => RawCells::Floats(a.values()),
            Self::Codes(a) => RawCells::Codes(a.values()),
            Self::Truths(a) => RawCells::Truths(a.values().iter().map(u8::from).collect()),
        }
    }

    /// A bit for each row, set where there is a value; `None` where all rows have one.
    #[must_use]
    pub fn valid(self) -> Option<Vec<u32>> {
        let nulls = self.array().nulls().filter(|nulls| nulls.null_count() > 0)?;
        let mut words = Vec::with_capacity(nulls.len() / 32 + 2);
        let chunks = nulls.inner().bit_chunks();
        for word in chunks.iter_padded() {
            words.extend([word as u32, (word >> 32) as u32]);
        }
        words.truncate(nulls.len().div_ceil(32));
        Some(words)
    }
}

/// A column with the name under which a device keeps its copy.
#[derive(Clone, Copy, Debug)]
pub struct NamedColumn<'c> {
    /// The table it is of.
    pub side: Side,
    /// Its name in the table.
    pub name: &'c str,
    /// Its cells.
    pub cells: TableArray<'c>,
}

/// A number that cells are compared with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Constant {
    /// An integer.
    Int(i64),
    /// A float, which is no NaN.
    Float(f64),
}

/// A condition on the columns of a [`TableJob`], by their places. A null meets none.
#[derive(Clone, Debug, PartialEq)]
pub enum JobTest {
    /// True of each row, or of none.
    Always(bool),
    /// A comparison.
    Compare(usize, Cmp, Constant),
    /// Whether it is one of these.
    In(usize, Vec<Constant>),
    /// Whether it is true.
    IsTrue(usize),
    /// Whether the text of its key passes, by key.
    Passes(usize, Vec<bool>),
    /// Whether it is null, or is not.
    IsNull(usize, bool),
    /// Not; of a null it is not known either.
    Not(Box<Self>),
    /// All of them.
    And(Vec<Self>),
    /// One of them.
    Or(Vec<Self>),
}

impl JobTest {
    /// Conditions on one column in it.
    #[must_use]
    pub fn leaves(&self) -> usize {
        match self {
            Self::Always(_) => 0,
            Self::Not(test) => test.leaves(),
            Self::And(tests) | Self::Or(tests) => tests.iter().map(Self::leaves).sum(),
            _ => 1,
        }
    }
}

/// Rows that pass a test, counted and aggregated.
#[derive(Debug, Default)]
pub struct TableJob<'c> {
    /// Rows of the table.
    pub rows: usize,
    /// The columns that are read.
    pub columns: Vec<NamedColumn<'c>>,
    /// Which rows count.
    pub test: Option<JobTest>,
    /// Whether they are wanted themselves.
    pub marks: bool,
    /// Columns of numbers whose values are aggregated.
    pub reduced: Vec<usize>,
    /// The column of keys by which rows are grouped, and how many keys there are.
    pub grouped_by: Option<(usize, usize)>,
    /// Columns of keys of which those that occur are wanted, and how many keys there are; without groups.
    pub distinct: Vec<(usize, usize)>,
    /// Columns of numbers of which the values near a share of their order are wanted; without groups.
    pub placed: Vec<(usize, f64)>,
}

/// Another device than the CPU, which keeps copies of columns.
pub trait TableDevice: Send + Sync + std::fmt::Debug {
    /// Why the CPU is to do it; none where the device is faster.
    fn declines(&self, job: &TableJob<'_>) -> Option<String>;

    /// The kernels that the job launches and the bytes that it brings back, as a text for `explain` and `profile`.
    fn effort(&self, job: &TableJob<'_>) -> String;

    /// Does it; `None` where the CPU has to, because the device failed (which it logs) or the token was cancelled.
    fn run(&self, job: &TableJob<'_>, cancel: &CancelToken) -> Option<TableAnswer>;
}

/// Makes a job of expressions over arrays.
struct Maker<'c, 'n> {
    named: &'n [NamedColumn<'c>],
    columns: Vec<NamedColumn<'c>>,
}

impl<'c> Maker<'c, '_> {
    /// The place of a column in the job.
    fn place(&mut self, cells: TableArray<'c>) -> Option<usize> {
        if let Some(known) = self.columns.iter().position(|c| c.cells.is(cells)) {
            return Some(known);
        }
        self.columns.push(*self.named.iter().find(|c| c.cells.is(cells))?);
        Some(self.columns.len() - 1)
    }

    fn number(&mut self, number: &Number<'c>) -> Option<usize> {
        match number {
            Number::Ints(a) => self.place(TableArray::Ints(a)),
            Number::Floats(a) => self.place(TableArray::Floats(a)),
            _ => None,
        }
    }

    fn test(&mut self, test: &Test<'c>) -> Option<JobTest> {
        let all = |maker: &mut Self, tests: &[Test<'c>]| {
            tests.iter().map(|test| maker.test(test)).collect::<Option<Vec<_>>>()
        };
        Some(match test {
            Test::Always(truth::TRUE) => JobTest::Always(true),
            Test::Always(truth::FALSE) => JobTest::Always(false),
            Test::Compare(op, a, b) => match (constant(a), constant(b)) {
                (None, Some(value)) => JobTest::Compare(self.number(a)?, *op, value),
                (Some(value), None) => JobTest::Compare(self.number(b)?, op.turned(), value),
                _ => return None,
            },
            Test::In(number, ints, floats, truth::FALSE) => {
                let ints = ints.iter().map(|v| Constant::Int(*v));
                let all = ints.chain(floats.iter().map(|v| Constant::Float(*v)));
                JobTest::In(self.number(number)?, all.collect())
            }
            Test::Text(test) => {
                let (keys, answers) = test.by_key()?;
                // A key of null would be unknown, which has no place among the answers.
                let passes = |answer: &u8| match *answer {
                    truth::TRUE => Some(true),
                    truth::FALSE => Some(false),
                    _ => None,
                };
                let answers = answers.iter().map(passes).collect::<Option<_>>()?;
                JobTest::Passes(self.place(TableArray::Codes(keys))?, answers)
            }
            Test::Truths(column) => JobTest::IsTrue(self.place(TableArray::Truths(column))?),
            Test::IsNull(number, is_null) => JobTest::IsNull(self.number(number)?, *is_null),
            Test::NoText(text, is_null) => {
                let (keys, values) = text.dictionary()?;
                // A key of null is no null among the keys.
                if values.iter().any(|value| value.is_none()) {
                    return None;
                }
                JobTest::IsNull(self.place(TableArray::Codes(keys))?, *is_null)
            }
            Test::Not(test) => JobTest::Not(Box::new(self.test(test)?)),
            Test::And(tests) => JobTest::And(all(self, tests)?),
            Test::Or(tests) => JobTest::Or(all(self, tests)?),
            Test::Always(_) | Test::In(..) | Test::Flags(_) => return None,
        })
    }
}

const fn constant(number: &Number<'_>) -> Option<Constant> {
    match number {
        Number::Int(v) => Some(Constant::Int(*v)),
        Number::Float(v) => Some(Constant::Float(*v)),
        _ => None,
    }
}

impl<'c> TableJob<'c> {
    /// What [`fold`](crate::fold) does with the same arguments, over columns whose names are known; `None` where it has no
    /// such form. A list is wanted for the value at a share of its order, which `shares` gives for it.
    #[must_use]
    pub fn of(
        named: &[NamedColumn<'c>],
        test: Option<&Test<'c>>,
        keys: &Keys<'c>,
        folds: (&[Folds<'c>], &[Option<f64>]),
        rows: usize,
    ) -> Option<Self> {
        let mut maker = Maker { named, columns: Vec::new() };
        let test = match test {
            None => None,
            Some(test) => Some(maker.test(test)?),
        };
        let grouped_by = match keys.only_dictionary() {
            None if keys.groups() == 1 => None,
            None => return None,
            Some((codes, numbers)) => Some((maker.place(TableArray::Codes(codes))?, numbers.len())),
        };
        let (mut reduced, mut distinct, mut placed) = (Vec::new(), Vec::new(), Vec::new());
        for (fold, share) in folds.0.iter().zip(folds.1) {
            let Some(number) = &fold.of else { continue };
            match (fold.fold, number, share) {
                (Fold::Count | Fold::Min | Fold::Max, ..) => {
                    push(&mut reduced, maker.number(number)?);
                }
                (Fold::Sum, ..) if number.is_int() => push(&mut reduced, maker.number(number)?),
                (Fold::Distinct { .. }, Number::Codes(keys, numbers), _)
                    if grouped_by.is_none() =>
                {
                    push(&mut distinct, (maker.place(TableArray::Codes(keys))?, numbers.len()));
                }
                (Fold::List, _, Some(share)) if grouped_by.is_none() => {
                    push(&mut placed, (maker.number(number)?, *share));
                }
                _ => return None,
            }
        }
        let columns = maker.columns;
        Some(Self { rows, columns, test, marks: false, reduced, grouped_by, distinct, placed })
    }

    /// What [`marks`](crate::marks) does with the same arguments, likewise.
    #[must_use]
    pub fn marking(named: &[NamedColumn<'c>], test: &Test<'c>, rows: usize) -> Option<Self> {
        let mut maker = Maker { named, columns: Vec::new() };
        let test = Some(maker.test(test)?);
        let columns = maker.columns;
        Some(Self { rows, columns, test, marks: true, ..Self::default() })
    }

    /// The answer in the form of [`fold`](crate::fold); `None` where it is not the same to the last bit.
    #[must_use]
    pub fn folded(
        &self,
        answer: &TableAnswer,
        keys: &Keys<'_>,
        folds: (&[Folds<'_>], &[Option<f64>]),
    ) -> Option<(Vec<i64>, Vec<Folded>)> {
        let groups = Groups::of(keys);
        let mut rows = vec![0; groups.count];
        let mut left = answer.rows as i64;
        for (key, count) in answer.by_key.iter().enumerate() {
            *rows.get_mut(groups.of_key(key))? += i64::from(*count);
            left -= i64::from(*count);
        }
        // Without keys these are all rows, with keys those whose key is null.
        *rows.last_mut()? += left;
        let folded = folds.0.iter().zip(folds.1).map(|fold| self.of_column(answer, fold, &groups));
        let folded = folded.collect::<Option<_>>()?;
        Some((rows, folded))
    }

    fn of_column(
        &self,
        answer: &TableAnswer,
        (fold, share): (&Folds<'_>, &Option<f64>),
        groups: &Groups<'_>,
    ) -> Option<Folded> {
        let cells = match &fold.of {
            // Rows are counted for all groups at once.
            None => return Some(Folded::Counts(vec![0; groups.count])),
            Some(Number::Ints(a)) => TableArray::Ints(a),
            Some(Number::Floats(a)) => TableArray::Floats(a),
            Some(Number::Codes(a, _)) => TableArray::Codes(a),
            Some(_) => return None,
        };
        let is_of = |place: usize| self.columns.get(place).is_some_and(|c| c.cells.is(cells));
        match (fold.fold, &fold.of) {
            (Fold::Distinct { words, .. }, Some(Number::Codes(_, numbers))) => {
                let at = self.distinct.iter().position(|(place, _)| is_of(*place))?;
                let mut bits = vec![0; words];
                for (number, count) in numbers.iter().zip(answer.distinct.get(at)?) {
                    if *count > 0 && *number < u32::MAX {
                        *bits.get_mut(*number as usize / 64)? |= 1 << (number % 64);
                    }
                }
                Some(Folded::Distinct(bits))
            }
            (Fold::List, _) => {
                let is_it = |(place, at): &(usize, f64)| is_of(*place) && Some(*at) == *share;
                let found = answer.placed.get(self.placed.iter().position(is_it)?)?;
                let is_zero = |v: &i64| float_of(*v) == 0.0;
                if matches!(cells, TableArray::Floats(_)) && found.values.iter().any(is_zero) {
                    return None;
                }
                let (count, first) = (found.count, found.first);
                Some(Folded::Near(vec![Near::known(count, first, found.values.clone())]))
            }
            (of, _) => {
                let found = answer.reduced.get(self.reduced.iter().position(|p| is_of(*p))?)?;
                let mut all = vec![Reduction::default(); groups.count];
                for (key, more) in found.iter().enumerate() {
                    let group = all.get_mut(groups.of_key(key))?;
                    *group = group.and(*more);
                }
                reduced(of, &all, matches!(cells, TableArray::Ints(_)))
            }
        }
    }
}

fn push<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if !list.contains(&item) {
        list.push(item);
    }
}
