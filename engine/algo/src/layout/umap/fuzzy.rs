//! The fuzzy neighbour graph: how certainly two rows are neighbours (McInnes, Healy and Melville 2018, sections 3.1 and 4.1).

use rayon::prelude::*;

use super::neighbors::Neighbors;
use super::pace::Pace;
use super::{Labels, Options};
use crate::AlgoError;

/// Halvings of the interval that holds a row's bandwidth, and what is near enough.
const HALVINGS: usize = 64;
const TOLERANCE: f64 = 1e-5;
/// A bandwidth is at least this part of the mean distance.
const BANDWIDTH_MIN: f64 = 1e-3;
/// How much less certain it is that rows are neighbours when a label is not known.
const UNKNOWN: f32 = 1.0;

/// The neighbours of a row that is being made, and how certain they are.
type Row = Vec<(u32, f32)>;

/// A symmetric graph by row.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Fuzzy {
    /// Where each row's neighbours begin, and the end of the last.
    pub(super) offsets: Vec<usize>,
    /// Neighbours by row, in order.
    pub(super) ids: Vec<u32>,
    /// From 0, which is left out, to 1.
    pub(super) weights: Vec<f32>,
}

impl Fuzzy {
    pub(super) fn num_rows(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    pub(super) fn row(&self, i: usize) -> (&[u32], &[f32]) {
        let range = self.offsets[i]..self.offsets[i + 1];
        (&self.ids[range.clone()], &self.weights[range])
    }

    /// The largest weight.
    pub(super) fn heaviest(&self) -> f32 {
        self.weights.iter().fold(0.0, |most, w| most.max(*w))
    }

    fn of_rows(rows: Vec<Row>, pace: &Pace<'_>) -> Result<Self, AlgoError> {
        let mut made = Self { offsets: vec![0], ..Self::default() };
        for row in rows {
            pace.piece(row.len())?;
            made.ids.extend(row.iter().map(|item| item.0));
            made.weights.extend(row.iter().map(|item| item.1));
            made.offsets.push(made.ids.len());
        }
        Ok(made)
    }
}

/// The graph of some neighbours: certain towards one or the other, or both, as `options.mix` says.
pub(super) fn graph(
    neighbors: &Neighbors,
    n: usize,
    options: &Options,
    pace: &Pace<'_>,
) -> Result<Fuzzy, AlgoError> {
    let all: f64 = neighbors.distances.iter().map(|d| f64::from(*d)).sum();
    let mean = all / neighbors.distances.len().max(1) as f64;
    let of_row = |i: usize| {
        pace.piece(8 * HALVINGS * neighbors.width)?;
        let (ids, distances) = neighbors.row(i);
        let (nearest, bandwidth) = bandwidth(distances, options.local_connectivity, mean);
        let certain = |d: f32| {
            let over = f64::from(d) - nearest;
            if over <= 0.0 || bandwidth == 0.0 { 1.0 } else { (-over / bandwidth).exp() as f32 }
        };
        let mut row: Row = ids[1..]
            .iter()
            .zip(&distances[1..])
            .map(|(id, d)| (*id, certain(*d)))
            .filter(|item| item.1 > 0.0)
            .collect();
        row.sort_unstable_by_key(|item| item.0);
        Ok(row)
    };
    let rows: Result<Vec<_>, AlgoError> = (0..n).into_par_iter().map(of_row).collect();
    united(rows?, options.mix as f32, pace)
}

/// The distance from which on a row's neighbours are less than certain, and how fast certainty falls: so that the sum of
/// all is the logarithm of their number.
fn bandwidth(distances: &[f32], local_connectivity: f64, mean: f64) -> (f64, f64) {
    let far: Vec<f64> = distances.iter().map(|d| f64::from(*d)).filter(|d| *d > 0.0).collect();
    let nearest = if far.len() as f64 >= local_connectivity {
        let index = local_connectivity.floor();
        let part = local_connectivity - index;
        let at = |k: usize| far.get(k).copied().unwrap_or(0.0);
        let index = index as usize;
        if index == 0 {
            part * at(0)
        } else {
            let below = at(index - 1);
            if part > TOLERANCE { below + part * (at(index) - below) } else { below }
        }
    } else {
        far.last().copied().unwrap_or(0.0)
    };
    let target = (distances.len() as f64).log2();
    let (mut low, mut high, mut middle) = (0.0, f64::INFINITY, 1.0);
    for _ in 0..HALVINGS {
        let certain = |d: &f32| {
            let over = f64::from(*d) - nearest;
            if over > 0.0 { (-over / middle).exp() } else { 1.0 }
        };
        let sum: f64 = distances.iter().skip(1).map(certain).sum();
        if (sum - target).abs() < TOLERANCE {
            break;
        }
        if sum > target {
            high = middle;
            middle = (low + high) / 2.0;
        } else {
            low = middle;
            middle = if high.is_finite() { (low + high) / 2.0 } else { middle * 2.0 };
        }
    }
    let of = if nearest > 0.0 {
        distances.iter().map(|d| f64::from(*d)).sum::<f64>() / distances.len().max(1) as f64
    } else {
        mean
    };
    (nearest, middle.max(BANDWIDTH_MIN * of))
}

/// Both directions of each pair as one: the probabilistic union for a `mix` of 1, the intersection for 0.
fn united(rows: Vec<Row>, mix: f32, pace: &Pace<'_>) -> Result<Fuzzy, AlgoError> {
    let n = rows.len();
    let mut back: Vec<Row> = vec![Vec::new(); n];
    let width = rows.iter().map(Vec::len).max().unwrap_or(0);
    let piece = Pace::items(8 * width);
    for (i, row) in rows.iter().enumerate() {
        if i % piece == 0 {
            pace.piece(piece * 8 * width)?;
        }
        row.iter().for_each(|(id, w)| back[*id as usize].push((i as u32, *w)));
    }
    let both = |(there, back): (Row, Row)| {
        pace.piece(4 * (there.len() + back.len()))?;
        let mut made = Vec::with_capacity(there.len() + back.len());
        let (mut a, mut b) = (there.iter().peekable(), back.iter().peekable());
        loop {
            let (id, x, y) = match (a.peek(), b.peek()) {
                (Some((i, x)), Some((j, y))) if i == j => (*i, *x, *y),
                (Some((i, x)), Some((j, _))) if i < j => (*i, *x, 0.0),
                (Some((i, x)), None) => (*i, *x, 0.0),
                (_, Some((j, y))) => (*j, 0.0, *y),
                (None, None) => break,
            };
            a.next_if(|item| item.0 == id);
            b.next_if(|item| item.0 == id);
            let product = x * y;
            let weight = mix * (x + y - product) + (1.0 - mix) * product;
            if weight > 0.0 {
                made.push((id, weight));
            }
        }
        Ok(made)
    };
    let rows: Result<Vec<_>, AlgoError> = rows.into_par_iter().zip(back).map(both).collect();
    Fuzzy::of_rows(rows?, pace)
}

/// The graph in which rows of different labels are neighbours with less certainty (the same paper's supervised form).
pub(super) fn with_labels(
    graph: &Fuzzy,
    labels: &Labels,
    target_weight: f64,
    pace: &Pace<'_>,
) -> Result<Fuzzy, AlgoError> {
    let far = if target_weight < 1.0 { 2.5 / (1.0 - target_weight) } else { 1e12 };
    let apart = (-far as f32).exp();
    let unknown = (-UNKNOWN).exp();
    let of_row = |i: usize| {
        let (ids, weights) = graph.row(i);
        pace.piece(4 * ids.len())?;
        let factor = |j: u32| match (labels[i], labels[j as usize]) {
            (None, _) | (_, None) => unknown,
            (Some(a), Some(b)) if a != b => apart,
            _ => 1.0,
        };
        let row: Row = ids.iter().zip(weights).map(|(j, w)| (*j, w * factor(*j))).collect();
        let most = row.iter().fold(0.0_f32, |most, item| most.max(item.1));
        let scale = if most > 0.0 { most } else { 1.0 };
        Ok(row.into_iter().map(|(j, w)| (j, w / scale)).filter(|item| item.1 > 0.0).collect())
    };
    let rows: Result<Vec<_>, AlgoError> =
        (0..graph.num_rows()).into_par_iter().map(of_row).collect();
    united(rows?, 1.0, pace)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certainty_falls_so_that_it_sums_to_the_logarithm() {
        let distances = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];
        let (nearest, bandwidth) = bandwidth(&distances, 1.0, 3.5);
        assert!((nearest - 1.0).abs() < 1e-12);
        let sum: f64 =
            distances[1..].iter().map(|d| (-(f64::from(*d) - nearest) / bandwidth).exp()).sum();
        assert!((sum - 3.0).abs() < 1e-4, "{sum}");
        assert!((self::bandwidth(&distances, 1.5, 3.5).0 - 1.5).abs() < 1e-9);
        // Fewer neighbours apart from the row than it is to be connected with.
        assert_eq!(self::bandwidth(&[0.0, 0.0, 2.0], 5.0, 1.0).0, 2.0);
        // Rows that are all the same are certain neighbours.
        assert_eq!(self::bandwidth(&[0.0; 4], 1.0, 0.0).0, 0.0);
    }
}
