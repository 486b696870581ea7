//! Repulsion in two or three dimensions by a tree (Barnes and Hut 1986), for the laws and dimensions that the core of
//! ForceAtlas2 does not have.
//!
//! Bodies are in the order of a Morton curve; leaf `i` holds sixteen of them in a row and a cell four of the level below,
//! as there. A leaf walks the tree once for all its bodies and collects what pushes them in lists, which the bodies then
//! sum in a fixed order.

use graphlume_types::CancelToken;
use rayon::prelude::*;

use super::Repulsion;
use crate::AlgoError;

/// Bodies of a leaf, and cells below a cell.
const LEAF: usize = 16;
const FAN: usize = 4;
/// Leaves of one unit of parallel work.
const TASK_LEAVES: usize = 32;
/// Sources that the bodies of a leaf share at most: where the leaf is wide, each of them walks the tree by itself.
const SHARED_MAX: usize = 1024;
/// Radius of a cell over its distance up to which it counts as one body.
const RATIO: f32 = 0.65;
/// Terms that are summed side by side.
const LANES: usize = 8;
/// Added to squared distances: bodies on one spot do not push each other.
const SOFTENING: f32 = 1e-9;

/// Bodies that lie together.
#[derive(Clone, Copy)]
struct Cell<const D: usize> {
    centre: [f32; D],
    radius: f32,
    count: f32,
}

/// The tree over bodies in curve order.
#[derive(Default)]
pub(super) struct Tree<const D: usize> {
    levels: Vec<Vec<Cell<D>>>,
}

/// What pushes the bodies of a leaf: coordinates and how many bodies are there, padded to whole groups of lanes.
struct Sources<const D: usize> {
    at: [Vec<f32>; D],
    count: Vec<f32>,
}

impl<const D: usize> Sources<D> {
    fn clear(&mut self) {
        self.at.iter_mut().for_each(Vec::clear);
        self.count.clear();
    }

    fn push(&mut self, point: [f32; D], count: f32) {
        for (column, x) in self.at.iter_mut().zip(point) {
            column.push(x);
        }
        self.count.push(count);
    }

    fn pad(&mut self) {
        while !self.count.len().is_multiple_of(LANES) {
            // Far away, and nothing.
            self.push([1e15; D], 0.0);
        }
    }
}

/// The curve position of every body in the box that holds all.
pub(super) fn sort<const D: usize>(points: &[[f32; D]], order: &mut Vec<u32>) {
    let (mut low, mut high) = ([f32::INFINITY; D], [f32::NEG_INFINITY; D]);
    for at in points {
        for c in 0..D {
            low[c] = low[c].min(at[c]);
            high[c] = high[c].max(at[c]);
        }
    }
    let side = (0..D).map(|c| high[c] - low[c]).fold(0.0f32, f32::max);
    let scale = if side > 0.0 { 65_535.0 / side } else { 0.0 };
    let mut keys: Vec<(u64, u32)> = points
        .par_iter()
        .enumerate()
        .with_min_len(4096)
        .map(|(v, at)| {
            let cells: [u64; D] = std::array::from_fn(|c| ((at[c] - low[c]) * scale) as u64);
            let mut key = 0;
            for bit in (0..16).rev() {
                for cell in cells {
                    key = key << 1 | (cell >> bit & 1);
                }
            }
            (key, v as u32)
        })
        .collect();
    keys.par_sort_unstable();
    order.clear();
    order.extend(keys.iter().map(|(_, v)| *v));
}

impl<const D: usize> Tree<D> {
    /// Recomputes every cell from bodies in curve order.
    pub(super) fn refit(&mut self, points: &[[f32; D]]) {
        self.levels.clear();
        let leaves = points.par_chunks(LEAF).with_min_len(64).map(|bodies| {
            merge(bodies.iter().map(|at| Cell { centre: *at, radius: 0.0, count: 1.0 }))
        });
        self.levels.push(leaves.collect());
        while let Some(below) = self.levels.last().filter(|level| level.len() > 1) {
            let level = below.chunks(FAN).map(|few| merge(few.iter().copied())).collect();
            self.levels.push(level);
        }
    }

    /// Writes the push on every body to `out`.
    pub(super) fn push(
        &self,
        law: Repulsion,
        points: &[[f32; D]],
        out: &mut [[f32; D]],
        cancel: &CancelToken,
    ) -> Result<(), AlgoError> {
        let bodies = LEAF * TASK_LEAVES;
        let empty = || Sources { at: std::array::from_fn(|_| Vec::new()), count: Vec::new() };
        let tasks = out.par_chunks_mut(bodies).enumerate();
        tasks.try_for_each_init(empty, |sources, (task, out)| {
            cancel.check()?;
            for (i, out) in out.chunks_mut(LEAF).enumerate() {
                let leaf = task * TASK_LEAVES + i;
                let target = self.levels[0][leaf];
                let shared = self.collect(target, SHARED_MAX, points, sources);
                for (at, out) in points[leaf * LEAF..].iter().zip(out) {
                    if !shared {
                        let alone = Cell { centre: *at, radius: 0.0, count: 1.0 };
                        self.collect(alone, usize::MAX, points, sources);
                    }
                    *out = sum(law, *at, sources);
                }
            }
            Ok(())
        })
    }

    /// Collects what pushes the bodies of `target`; whether there is no more than `most` of it.
    fn collect(
        &self,
        target: Cell<D>,
        most: usize,
        points: &[[f32; D]],
        sources: &mut Sources<D>,
    ) -> bool {
        sources.clear();
        let mut open = vec![(self.levels.len() - 1, 0)];
        while let Some((level, i)) = open.pop() {
            if sources.count.len() > most {
                return false;
            }
            let cell = &self.levels[level][i];
            let square: f32 = (0..D).map(|c| (cell.centre[c] - target.centre[c]).powi(2)).sum();
            if cell.radius <= RATIO * (square.sqrt() - target.radius) {
                sources.push(cell.centre, cell.count);
            } else if level == 0 {
                let end = ((i + 1) * LEAF).min(points.len());
                points[i * LEAF..end].iter().for_each(|at| sources.push(*at, 1.0));
            } else {
                let end = ((i + 1) * FAN).min(self.levels[level - 1].len());
                open.extend((i * FAN..end).map(|below| (level - 1, below)));
            }
        }
        sources.pad();
        true
    }
}

/// The cell of cells: their common centre and a radius that holds all.
fn merge<const D: usize>(cells: impl Iterator<Item = Cell<D>> + Clone) -> Cell<D> {
    let (mut centre, mut count) = ([0.0; D], 0.0);
    for cell in cells.clone() {
        count += cell.count;
        centre.iter_mut().zip(cell.centre).for_each(|(sum, x)| *sum += cell.count * x);
    }
    centre.iter_mut().for_each(|x| *x /= count);
    let mut radius = 0.0f32;
    for cell in cells {
        let square: f32 = (0..D).map(|c| (cell.centre[c] - centre[c]).powi(2)).sum();
        radius = radius.max(square.sqrt() + cell.radius);
    }
    Cell { centre, radius, count }
}

/// The push of all sources on a body.
#[inline]
fn sum<const D: usize>(law: Repulsion, point: [f32; D], sources: &Sources<D>) -> [f32; D] {
    let mut sums = [[0.0f32; LANES]; D];
    for begin in (0..sources.count.len()).step_by(LANES) {
        let mut by = [[0.0f32; LANES]; D];
        let mut square = [SOFTENING; LANES];
        for c in 0..D {
            let column = &sources.at[c][begin..begin + LANES];
            for l in 0..LANES {
                by[c][l] = point[c] - column[l];
                square[l] += by[c][l] * by[c][l];
            }
        }
        let count = &sources.count[begin..begin + LANES];
        let mut factor = [0.0f32; LANES];
        for l in 0..LANES {
            factor[l] = match law {
                Repulsion::Inverse => count[l] / square[l],
                Repulsion::InverseSquare => count[l] / (square[l] * square[l].sqrt()),
            };
        }
        for c in 0..D {
            for l in 0..LANES {
                sums[c][l] += factor[l] * by[c][l];
            }
        }
    }
    sums.map(|lanes| lanes.iter().sum())
}
