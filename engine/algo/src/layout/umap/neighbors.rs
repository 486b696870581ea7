//! The nearest rows of every row.

use rayon::prelude::*;

use super::metric::Metric;
use super::pace::Pace;
use super::{Features, descent};
use crate::AlgoError;

/// Up to this many rows, or this many numbers read, all pairs are measured.
const EXACT_ROWS: usize = 4096;
const EXACT_READS: u64 = 1 << 34;

/// The nearest rows of every row, itself among them and first.
pub(super) struct Neighbors {
    /// How many a row has.
    pub(super) width: usize,
    /// By row: the rows, nearest first.
    pub(super) ids: Vec<u32>,
    /// How far they are.
    pub(super) distances: Vec<f32>,
}

impl Neighbors {
    pub(super) fn row(&self, i: usize) -> (&[u32], &[f32]) {
        let range = i * self.width..(i + 1) * self.width;
        (&self.ids[range.clone()], &self.distances[range])
    }

    /// Each list behind its own row.
    pub(super) fn of_lists(lists: Vec<Nearest>, width: usize) -> Self {
        let mut made = Self { width, ids: Vec::new(), distances: Vec::new() };
        made.ids.reserve_exact(lists.len() * width);
        made.distances.reserve_exact(lists.len() * width);
        for (i, list) in (0_u32..).zip(lists) {
            made.ids.push(i);
            made.distances.push(0.0);
            for (distance, id) in list.items.into_iter().take(width - 1) {
                made.ids.push(id);
                made.distances.push(distance);
            }
        }
        made
    }
}

/// The `width` nearest rows of every row, itself among them: of all pairs, or of those that a search finds.
pub(super) fn nearest(
    features: &Features,
    metric: Metric,
    width: usize,
    seed: u64,
    pace: &Pace<'_>,
) -> Result<Neighbors, AlgoError> {
    let rows = metric.prepared(features, pace)?;
    let (n, columns) = (rows.rows as u64, rows.columns as u64);
    if rows.rows <= EXACT_ROWS || n * n * columns <= EXACT_READS {
        exact(&rows, metric, width, pace)
    } else {
        descent::nearest(&rows, metric, width, seed, pace)
    }
}

/// The nearest rows by all pairs.
pub(super) fn exact(
    rows: &Features,
    metric: Metric,
    width: usize,
    pace: &Pace<'_>,
) -> Result<Neighbors, AlgoError> {
    let piece = Pace::items(rows.columns);
    let of_row = |i: usize| {
        let mut list = Nearest::new(width - 1);
        let row = rows.row(i);
        for first in (0..rows.rows).step_by(piece) {
            let others = first..rows.rows.min(first + piece);
            pace.piece(others.len() * rows.columns)?;
            for j in others.filter(|j| *j != i) {
                list.offer(metric.between(row, rows.row(j)), j as u32);
            }
        }
        Ok(list)
    };
    let lists: Result<Vec<Nearest>, AlgoError> =
        (0..rows.rows).into_par_iter().map(of_row).collect();
    Ok(Neighbors::of_lists(lists?, width))
}

/// The nearest so far, of equals that with the smaller number.
#[derive(Clone, Debug)]
pub(super) struct Nearest {
    limit: usize,
    /// Distances and rows, nearest first.
    pub(super) items: Vec<(f32, u32)>,
}

impl Nearest {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, items: Vec::with_capacity(limit + 1) }
    }

    /// Takes a row unless there are enough nearer ones. The row is not in the list.
    #[inline]
    pub(super) fn offer(&mut self, distance: f32, id: u32) {
        let order = |a: &(f32, u32)| a.0.total_cmp(&distance).then(a.1.cmp(&id)).is_lt();
        if self.items.len() == self.limit && self.items.last().is_none_or(order) {
            return;
        }
        let at = self.items.partition_point(order);
        self.items.insert(at, (distance, id));
        self.items.truncate(self.limit);
    }
}
