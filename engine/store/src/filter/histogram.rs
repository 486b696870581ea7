//! Columns of numbers by the byte: values are put into ranges of about as many rows each, and a comparison
//! looks at the number of the range; only rows in the range of the constant itself are looked at closely.
//! (A column imprint with one range a row; compare Sidirourgos and Kersten, "Column Imprints", 2013.)

use std::sync::Arc;

use arrow_array::Array;
use graphlume_graph::canon::Column;
use graphlume_types::CancelToken;
use rayon::prelude::*;

use crate::cache::CacheKey;
use crate::filter::Range;
use crate::ids::ByteSet;
use crate::property_graph::PropertyGraph;
use crate::tuning::tuning;

/// Values for each bucket that its bounds are drawn from.
const SAMPLES_PER_BUCKET: usize = 64;
/// The bucket of nulls and of what is no number; it passes no comparison.
const NOTHING: u8 = u8::MAX;
/// Rows that a thread takes at once.
const ROWS_AT_ONCE: usize = 1 << 14;

/// The bucket of every row, and the least and the greatest value in each.
#[derive(Debug)]
pub struct Buckets {
    codes: Vec<u8>,
    ends: Ends,
}

#[derive(Debug)]
enum Ends {
    Ints(Vec<(i64, i64)>),
    Floats(Vec<(f64, f64)>),
}

/// The ranges of a column of the edges or of the nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct HistogramOf {
    edges: bool,
    column: String,
}

impl CacheKey for HistogramOf {
    type Value = Buckets;
}

/// The buckets of a column, kept with the graph; `None` for short columns, others than numbers, and before a
/// column was tested some times.
pub fn buckets(
    graph: &PropertyGraph,
    edges: bool,
    name: &str,
    column: &Column,
    cancel: &CancelToken,
) -> Option<Arc<Buckets>> {
    if column.len() < tuning().histogram_rows_min
        || !matches!(column, Column::Int(_) | Column::Float(_))
    {
        return None;
    }
    let key = HistogramOf { edges, column: name.to_owned() };
    if let Some(found) = graph.kept(&key) {
        return Some(found);
    }
    if !graph.is_due(&key, tuning().histogram_tests_before + 1, cancel) {
        return None;
    }
    let made = Arc::new(Buckets::new(column)?);
    graph.keep(key, &made, made.codes.len() as u64, cancel);
    Some(made)
}

impl Buckets {
    fn new(column: &Column) -> Option<Self> {
        match column {
            Column::Int(array) => {
                let value = |row| array.is_valid(row).then(|| array.value(row));
                let (codes, ends) = of_values(array.len(), value, i64::cmp);
                Some(Self { codes, ends: Ends::Ints(ends) })
            }
            Column::Float(array) => {
                let value = |row| {
                    let v = array.value(row);
                    (array.is_valid(row) && !v.is_nan()).then_some(v)
                };
                let (codes, ends) = of_values(array.len(), value, f64::total_cmp);
                Some(Self { codes, ends: Ends::Floats(ends) })
            }
            _ => None,
        }
    }

    /// The buckets of every row.
    pub fn codes(&self) -> &[u8] {
        &self.codes
    }

    /// What the buckets say of a range; `None` when it is of other numbers.
    pub fn sure(&self, range: Range) -> Option<Sure> {
        match (range, &self.ends) {
            (Range::Ints { low, high, inside }, Ends::Ints(ends)) => {
                Some(Sure::new(ends, &low, &high, inside))
            }
            (Range::Floats { low, high, inside }, Ends::Floats(ends)) => {
                Some(Sure::new(ends, &low, &high, inside))
            }
            _ => None,
        }
    }
}

/// Buckets whose rows may pass, and those among them of which only some do.
#[derive(Clone, Copy, Debug)]
pub struct Sure {
    /// Buckets with rows that may pass.
    pub may: ByteSet,
    /// Those of them whose rows have to be looked at.
    pub unsure: ByteSet,
}

impl Sure {
    fn new<T: PartialOrd>(ends: &[(T, T)], low: &T, high: &T, inside: bool) -> Self {
        let (mut may, mut unsure) = (ByteSet::default(), ByteSet::default());
        for ((least, greatest), bucket) in ends.iter().zip(0..) {
            let within = least >= low && greatest <= high;
            let apart = greatest < low || least > high;
            if !within && !apart {
                unsure.insert(bucket);
                may.insert(bucket);
            } else if within == inside {
                may.insert(bucket);
            }
        }
        Self { may, unsure }
    }
}

type Bucketed<T> = (Vec<u8>, Vec<(T, T)>);

/// The bucket of every row, and the ends of the buckets.
fn of_values<T: Copy + PartialOrd + Send + Sync>(
    rows: usize,
    value: impl Fn(usize) -> Option<T> + Sync,
    order: impl Fn(&T, &T) -> std::cmp::Ordering,
) -> Bucketed<T> {
    let ranges = tuning().histogram_ranges;
    let wanted = ranges * SAMPLES_PER_BUCKET;
    let step = rows.div_ceil(wanted).max(1);
    let mut sample: Vec<T> = (0..rows).step_by(step).filter_map(&value).collect();
    sample.sort_by(order);
    // The greatest value of each bucket but the last.
    let mut bounds: Vec<T> = Vec::new();
    for i in 1..ranges {
        let bound = sample.get(i * sample.len() / ranges).copied();
        bounds.extend(bound.filter(|b| bounds.last().is_none_or(|last| last < b)));
    }
    let mut codes = vec![NOTHING; rows];
    let parts: Vec<Vec<Option<(T, T)>>> = codes
        .par_chunks_mut(ROWS_AT_ONCE)
        .enumerate()
        .map(|(chunk, codes)| {
            let mut ends: Vec<Option<(T, T)>> = vec![None; bounds.len() + 1];
            for (i, code) in codes.iter_mut().enumerate() {
                let Some(v) = value(chunk * ROWS_AT_ONCE + i) else { continue };
                let bucket = bounds.partition_point(|b| *b < v);
                *code = bucket as u8;
                let end = ends[bucket].get_or_insert((v, v));
                end.0 = if v < end.0 { v } else { end.0 };
                end.1 = if v > end.1 { v } else { end.1 };
            }
            ends
        })
        .collect();
    // Empty buckets go, so that the ends of those that are left ascend.
    let mut ends: Vec<(T, T)> = Vec::new();
    let mut renumbered = vec![NOTHING; bounds.len() + 1];
    for (bucket, number) in renumbered.iter_mut().enumerate() {
        let own = parts.iter().filter_map(|part| part[bucket]);
        let end = own
            .reduce(|a, b| (if b.0 < a.0 { b.0 } else { a.0 }, if b.1 > a.1 { b.1 } else { a.1 }));
        if let Some(end) = end {
            *number = ends.len() as u8;
            ends.push(end);
        }
    }
    if ends.len() < renumbered.len() {
        codes.iter_mut().filter(|c| **c != NOTHING).for_each(|c| *c = renumbered[usize::from(*c)]);
    }
    (codes, ends)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow_array::{ArrayRef, Float64Array, Int64Array};
    use proptest::prelude::*;

    use super::*;
    use crate::filter::Predicate;
    use graphlume_expr::Cmp;
    use graphlume_expr::Scalar;

    fn agree(array: &ArrayRef, a: &Scalar, b: &Scalar) {
        let column = Column::try_new(array).unwrap();
        let buckets = Buckets::new(&column).unwrap();
        let mut all: Vec<Predicate> = [Cmp::Eq, Cmp::Ne, Cmp::Lt, Cmp::Le, Cmp::Gt, Cmp::Ge]
            .into_iter()
            .map(|cmp| Predicate::Compare(cmp, a.clone()))
            .collect();
        all.extend([true, false].map(|ends| Predicate::Between(a.clone(), b.clone(), ends)));
        for predicate in all {
            let Some(range) = Range::new(&column, &predicate) else { continue };
            let sure = buckets.sure(range).unwrap();
            for (row, code) in buckets.codes().iter().enumerate() {
                let (may, unsure) = (sure.may.contains(*code), sure.unsure.contains(*code));
                let passes = may && (!unsure || range.passes(&column, row));
                assert_eq!(
                    passes,
                    range.passes(&column, row),
                    "{predicate:?} on row {row} of {array:?} with {buckets:?}"
                );
                assert!(may || !unsure);
            }
        }
    }

    proptest! {
        #[test]
        fn buckets_say_what_the_column_says(
            ints in proptest::collection::vec(proptest::option::of(-9i64..9), 0..40),
            floats in proptest::collection::vec(
                proptest::option::of(prop_oneof![
                    Just(f64::NAN), Just(f64::INFINITY), Just(-0.0), Just(0.0), -4.0..4.0
                ]),
                0..40,
            ),
            a in -10i64..10,
            b in -10i64..10,
        ) {
            let ints: ArrayRef = Arc::new(Int64Array::from(ints));
            let floats: ArrayRef = Arc::new(Float64Array::from(floats));
            for array in [ints, floats] {
                agree(&array, &Scalar::Int(a), &Scalar::Int(b));
                agree(&array, &Scalar::Float(a as f64 / 2.0), &Scalar::Float(b as f64 / 2.0));
                agree(&array, &Scalar::Float(f64::INFINITY), &Scalar::Int(0));
            }
        }
    }

    #[test]
    fn extremes_are_no_trap() {
        let array: ArrayRef = Arc::new(Int64Array::from(vec![i64::MIN, -1, 0, i64::MAX, 3, 3, 3]));
        for v in [i64::MIN, i64::MAX, 3] {
            agree(&array, &Scalar::Int(v), &Scalar::Int(v));
        }
    }
}
