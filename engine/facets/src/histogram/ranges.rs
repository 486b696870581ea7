//! Ranges of numbers and dates: between least and greatest, of equal widths or widths that grow by a factor.

use arrow_array::Array;
use graphlume_expr::QueryError;
use graphlume_graph::canon::{Canon, Column};
use graphlume_types::CancelToken;
use rayon::prelude::*;

use crate::column::{Cells, ColumnKind, ROWS_AT_ONCE};

/// Whole numbers that are further apart than this are divided like others: their differences are exact as floats up to here.
const WHOLE_MAX: i128 = 1 << 52;
/// The number of no value.
const NOTHING: u8 = u8::MAX;

/// The ranges of a column.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Ranges {
    /// Whether widths grow by a factor.
    pub(super) log: bool,
    /// Where each begins, and the end of the last; empty without numbers.
    pub(super) edges: Vec<f64>,
    how: How,
}

/// How the range of a number is found.
#[derive(Debug, Clone, Copy, PartialEq)]
enum How {
    /// Whole numbers: the least, and how many each has.
    Whole(i64, u64),
    /// By a product, checked against the edges: the least, and ranges per unit.
    Scaled(f64, f64),
    /// By a search in the edges.
    Searched,
}

/// The least and the greatest of some numbers, whether a negative or a zero is among them, and the least positive.
#[derive(Debug, Clone, Copy)]
struct Extent {
    low: f64,
    high: f64,
    positive: f64,
    has_zero: bool,
}

impl Extent {
    const NONE: Self = Self {
        low: f64::INFINITY,
        high: f64::NEG_INFINITY,
        positive: f64::INFINITY,
        has_zero: false,
    };

    fn with(self, v: f64) -> Self {
        Self {
            low: self.low.min(v),
            high: self.high.max(v),
            positive: if v > 0.0 { self.positive.min(v) } else { self.positive },
            has_zero: self.has_zero | (v == 0.0),
        }
    }

    fn and(self, other: Self) -> Self {
        Self {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            positive: self.positive.min(other.positive),
            has_zero: self.has_zero | other.has_zero,
        }
    }
}

/// A whole number of a column: of dates milliseconds.
fn whole(cells: &Cells, row: usize) -> Option<i64> {
    match cells.column.as_ref() {
        Column::Int(array) if array.is_valid(row) => {
            let v = array.value(row);
            Some(match cells.kind {
                ColumnKind::Date if cells.per_second >= 1_000 => {
                    v.div_euclid(cells.per_second / 1_000)
                }
                // Seconds that are no milliseconds of 64 bits are beyond every calendar.
                ColumnKind::Date => v.saturating_mul(1_000),
                _ => v,
            })
        }
        _ => None,
    }
}

/// A finite number of a column.
fn number(cells: &Cells, row: usize) -> Option<f64> {
    let number = match cells.column.as_ref() {
        Column::Int(_) => whole(cells, row)? as f64,
        Column::Float(array) if array.is_valid(row) => array.value(row),
        column @ Column::UInt(_) => match column.get(row)? {
            Canon::Int(v) => v as f64,
            Canon::UInt(v) => v as f64,
            _ => return None,
        },
        _ => return None,
    };
    number.is_finite().then_some(number)
}

/// What all parts of the rows come to.
fn over_rows<T: Send>(
    rows: usize,
    cancel: &CancelToken,
    of: impl Fn(std::ops::Range<usize>) -> T + Sync,
    join: impl Fn(T, T) -> T + Sync + Send,
    none: impl Fn() -> T + Sync + Send,
) -> Result<T, QueryError> {
    let parts = (0..rows.div_ceil(ROWS_AT_ONCE)).into_par_iter().map(|part| {
        cancel.check()?;
        let from = part * ROWS_AT_ONCE;
        Ok::<T, QueryError>(of(from..rows.min(from + ROWS_AT_ONCE)))
    });
    parts.try_reduce(&none, |a, b| Ok(join(a, b)))
}

impl Ranges {
    /// At most `bins` ranges over the numbers of a column.
    pub(super) fn of(
        cells: &Cells,
        bins: u8,
        log: bool,
        cancel: &CancelToken,
    ) -> Result<Self, QueryError> {
        let rows = cells.column.len();
        let extent = |rows: std::ops::Range<usize>| {
            rows.filter_map(|row| number(cells, row)).fold(Extent::NONE, Extent::with)
        };
        let extent = over_rows(rows, cancel, extent, Extent::and, || Extent::NONE)?;
        if extent.low > extent.high {
            return Ok(Self { log: false, edges: vec![], how: How::Searched });
        }
        // The logarithm of a negative number is none, and of a single number there is nothing to divide.
        let enough = bins > u8::from(extent.has_zero);
        if log && enough && extent.low >= 0.0 && extent.positive < extent.high {
            return Ok(Self::of_log(extent, bins));
        }
        if matches!(cells.column.as_ref(), Column::Int(_)) {
            let ends = |rows: std::ops::Range<usize>| {
                let values = rows.filter_map(|row| whole(cells, row));
                values.fold((i64::MAX, i64::MIN), |(low, high), v| (low.min(v), high.max(v)))
            };
            let join = |a: (i64, i64), b: (i64, i64)| (a.0.min(b.0), a.1.max(b.1));
            let (low, high) = over_rows(rows, cancel, ends, join, || (i64::MAX, i64::MIN))?;
            let span = i128::from(high) - i128::from(low);
            if span < WHOLE_MAX {
                return Ok(Self::of_whole(low, span as u64 + 1, bins, cells.kind));
            }
        }
        Ok(Self::of_floats(extent, bins))
    }

    /// `count` whole numbers from `low` on. Between two ranges of numbers the edge lies in the middle, so that a brush from
    /// edge to edge keeps whole ranges; dates are shown as they are.
    fn of_whole(low: i64, count: u64, bins: u8, kind: ColumnKind) -> Self {
        let width = count.div_ceil(u64::from(bins));
        let ranges = count.div_ceil(width);
        let shift = if kind == ColumnKind::Date { 0.0 } else { 0.5 };
        let edge = |i: u64| (i128::from(low) + i128::from(i * width)) as f64 - shift;
        Self { log: false, edges: (0..=ranges).map(edge).collect(), how: How::Whole(low, width) }
    }

    fn of_floats(extent: Extent, bins: u8) -> Self {
        let (mut low, mut high) = (extent.low, extent.high);
        let mut bins = f64::from(bins);
        if low == high {
            // One range around the only number.
            let around = (low.abs() * 1e-6).max(0.5);
            (low, high, bins) = ((low - around).max(f64::MIN), (high + around).min(f64::MAX), 1.0);
        }
        let edge =
            |i: f64| if i == bins { high } else { low * (1.0 - i / bins) + high * (i / bins) };
        let mut edges: Vec<f64> = (0..=bins as usize).map(|i| edge(i as f64)).collect();
        edges[0] = low;
        // Numbers that are next to each other leave no room between them for edges.
        edges.dedup();
        let scale = bins / (high - low);
        let is_scaled = edges.len() == bins as usize + 1 && scale.is_finite() && scale > 0.0;
        let how = if is_scaled { How::Scaled(low, scale) } else { How::Searched };
        Self { log: false, edges, how }
    }

    /// Ranges from the least positive number to the greatest; what is zero has a range of its own before them.
    fn of_log(extent: Extent, bins: u8) -> Self {
        let (low, high) = (extent.positive, extent.high);
        let ranges = bins - u8::from(extent.has_zero);
        let (from, to) = (low.ln(), high.ln());
        let edge = |i: u8| match i {
            0 => low,
            i if i == ranges => high,
            i => (from + (to - from) * f64::from(i) / f64::from(ranges)).exp().clamp(low, high),
        };
        let mut edges: Vec<f64> = extent.has_zero.then_some(0.0).into_iter().collect();
        edges.extend((0..=ranges).map(edge));
        edges.sort_by(f64::total_cmp);
        edges.dedup();
        Self { log: true, edges, how: How::Searched }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.edges.len().saturating_sub(1)
    }

    /// The range of every row.
    pub(super) fn codes(&self, cells: &Cells, cancel: &CancelToken) -> Result<Vec<u8>, QueryError> {
        let mut codes = vec![NOTHING; cells.column.len()];
        if self.edges.is_empty() {
            return Ok(codes);
        }
        codes.par_chunks_mut(ROWS_AT_ONCE).enumerate().try_for_each(|(chunk, codes)| {
            cancel.check()?;
            for (i, code) in codes.iter_mut().enumerate() {
                let row = chunk * ROWS_AT_ONCE + i;
                let range = match self.how {
                    How::Whole(low, width) => {
                        whole(cells, row).map(|v| (v.abs_diff(low) / width) as usize)
                    }
                    _ => number(cells, row).map(|v| self.range(v)),
                };
                if let Some(range) = range {
                    *code = range as u8;
                }
            }
            Ok::<(), QueryError>(())
        })?;
        Ok(codes)
    }

    /// The range of a number between the ends.
    fn range(&self, v: f64) -> usize {
        let last = self.len() - 1;
        let How::Scaled(low, scale) = self.how else {
            return self.edges.partition_point(|edge| *edge <= v).saturating_sub(1).min(last);
        };
        let mut at = (((v - low) * scale) as usize).min(last);
        // The product is not exact, and the edges are what is told.
        while at > 0 && v < self.edges[at] {
            at -= 1;
        }
        while at < last && v >= self.edges[at + 1] {
            at += 1;
        }
        at
    }
}
