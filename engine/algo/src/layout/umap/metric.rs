//! Distances between rows of numbers.

use std::borrow::Cow;

use super::Features;
use super::pace::Pace;
use crate::AlgoError;

/// Numbers that are added side by side.
const LANES: usize = 8;

/// How far two rows are from each other, after umap-learn's metrics of these names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// The straight line.
    Euclidean,
    /// The sum of differences.
    Manhattan,
    /// The largest difference.
    Chebyshev,
    /// 1 less the cosine of the angle; a row of zeros is 1 from all but its like.
    Cosine,
    /// 1 less Pearson's correlation; a row of equal numbers is 1 from all but its like.
    Correlation,
    /// The sum of differences, each over the sum of both sizes.
    Canberra,
    /// The sum of differences over the sum of sums.
    BrayCurtis,
    /// The share of numbers that differ.
    Hamming,
}

/// Every name, as umap-learn writes them.
const NAMES: &[(&str, Metric)] = &[
    ("euclidean", Metric::Euclidean),
    ("l2", Metric::Euclidean),
    ("minkowski", Metric::Euclidean),
    ("manhattan", Metric::Manhattan),
    ("taxicab", Metric::Manhattan),
    ("l1", Metric::Manhattan),
    ("chebyshev", Metric::Chebyshev),
    ("linfinity", Metric::Chebyshev),
    ("linfty", Metric::Chebyshev),
    ("linf", Metric::Chebyshev),
    ("cosine", Metric::Cosine),
    ("correlation", Metric::Correlation),
    ("canberra", Metric::Canberra),
    ("braycurtis", Metric::BrayCurtis),
    ("hamming", Metric::Hamming),
];

impl Metric {
    /// The metric of a name, of which some have several.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        NAMES.iter().find(|(n, _)| *n == name).map(|(_, metric)| *metric)
    }

    /// Every name.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, _)| *name)
    }

    /// The rows as [`Metric::between`] takes them: for angles all of length 1, with one more number that only the rows
    /// without a direction have.
    pub(super) fn prepared<'a>(
        self,
        features: &'a Features,
        pace: &Pace<'_>,
    ) -> Result<Cow<'a, Features>, AlgoError> {
        if !matches!(self, Self::Cosine | Self::Correlation) {
            return Ok(Cow::Borrowed(features));
        }
        let columns = features.columns + 1;
        let mut values = Vec::with_capacity(features.rows * columns);
        for i in 0..features.rows {
            let row = features.row(i);
            pace.piece(4 * row.len())?;
            let mean = match self {
                Self::Correlation => {
                    row.iter().map(|x| f64::from(*x)).sum::<f64>() / row.len().max(1) as f64
                }
                _ => 0.0,
            };
            let square = row.iter().map(|x| (f64::from(*x) - mean).powi(2)).sum::<f64>();
            let size = row.iter().fold(0.0, |size: f64, x| size.max(f64::from(x.abs())));
            // What rounding leaves of equal numbers is no direction.
            let length = square.sqrt();
            let has_direction = length > 1e-6 * size && length > 0.0;
            let scale = if has_direction { 1.0 / length } else { 0.0 };
            values.extend(row.iter().map(|x| ((f64::from(*x) - mean) * scale) as f32));
            values.push(if has_direction { 0.0 } else { 1.0 });
        }
        Ok(Cow::Owned(Features { rows: features.rows, columns, values }))
    }

    /// The distance of two prepared rows.
    #[inline]
    pub(super) fn between(self, a: &[f32], b: &[f32]) -> f32 {
        match self {
            Self::Euclidean => sum(a, b, |x, y| (x - y) * (x - y)).sqrt(),
            Self::Manhattan => sum(a, b, |x, y| (x - y).abs()),
            Self::Chebyshev => a.iter().zip(b).fold(0.0, |d: f32, (x, y)| d.max((x - y).abs())),
            Self::Cosine | Self::Correlation => (1.0 - sum(a, b, |x, y| x * y)).max(0.0),
            Self::Canberra => sum(a, b, |x, y| {
                let size = x.abs() + y.abs();
                if size > 0.0 { (x - y).abs() / size } else { 0.0 }
            }),
            Self::BrayCurtis => {
                let size = sum(a, b, |x, y| (x + y).abs());
                if size > 0.0 { sum(a, b, |x, y| (x - y).abs()) / size } else { 0.0 }
            }
            Self::Hamming => {
                sum(a, b, |x, y| if x == y { 0.0 } else { 1.0 }) / a.len().max(1) as f32
            }
        }
    }
}

/// The sum of a term over all pairs of numbers, in an order that is the same everywhere.
#[inline]
fn sum(a: &[f32], b: &[f32], term: impl Fn(f32, f32) -> f32) -> f32 {
    let mut lanes = [0.0_f32; LANES];
    let (full, rest) = a.as_chunks::<LANES>();
    let (others, tail) = b.as_chunks::<LANES>();
    for (x, y) in full.iter().zip(others) {
        for lane in 0..LANES {
            lanes[lane] += term(x[lane], y[lane]);
        }
    }
    let tail: f32 = rest.iter().zip(tail).map(|(x, y)| term(*x, *y)).sum();
    lanes.iter().sum::<f32>() + tail
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use graphlume_types::CancelToken;

    use super::*;

    #[test]
    fn distances_are_those_of_the_formulas() {
        // Values of scipy.spatial.distance 1.17 for the same rows.
        let rows = Features {
            rows: 4,
            columns: 3,
            values: vec![1.0, 2.0, 4.0, 3.0, 2.0, -1.0, 0.0, 0.0, 0.0, 5.0, 5.0, 5.0],
        };
        let want = [
            (Metric::Euclidean, 5.385_165),
            (Metric::Manhattan, 7.0),
            (Metric::Chebyshev, 5.0),
            (Metric::Cosine, 0.825_038_4),
            (Metric::Correlation, 1.995_871_7),
            (Metric::Canberra, 1.5),
            (Metric::BrayCurtis, 7.0 / 11.0),
            (Metric::Hamming, 2.0 / 3.0),
        ];
        let token = CancelToken::new();
        let pace = Pace::new(&token);
        for (metric, distance) in want {
            let rows = metric.prepared(&rows, &pace).unwrap();
            let found = metric.between(rows.row(0), rows.row(1));
            assert!((found - distance).abs() < 1e-5, "{metric:?} {found}");
            assert!(metric.between(rows.row(2), rows.row(2)) < 1e-6, "{metric:?}");
        }
        for (metric, equal) in [(Metric::Cosine, 2), (Metric::Correlation, 3)] {
            let rows = metric.prepared(&rows, &pace).unwrap();
            assert!((metric.between(rows.row(0), rows.row(equal)) - 1.0).abs() < 1e-6);
        }
        let names: Vec<&str> = Metric::names().collect();
        assert!(names.iter().all(|name| Metric::find(name).is_some()) && names.len() == 15);
        assert!(Metric::find("haversine").is_none());
    }
}
