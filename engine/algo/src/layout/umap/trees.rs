//! Random projection trees: rows that are near each other mostly come into the same leaf.

use graphlume_types::hash::h64;
use rayon::prelude::*;

use super::Features;
use super::pace::Pace;
use crate::AlgoError;

const TREES: u64 = 6;
/// Rows of a leaf, at most.
const LEAF: usize = 48;
/// Splits after which rows are parted by lot, for planes that part nothing.
const DEPTH_MAX: usize = 64;
/// Stream of the random numbers.
const STREAM: u64 = 0x7EE5;

/// The leaves of one tree.
pub(super) struct Leaves {
    /// The rows, leaf by leaf.
    order: Vec<u32>,
    /// Where each row's leaf begins and ends in it.
    ends: Vec<(u32, u32)>,
}

impl Leaves {
    /// The rows of the leaf of row `i`.
    pub(super) fn of(&self, i: usize) -> &[u32] {
        let (first, end) = self.ends[i];
        &self.order[first as usize..end as usize]
    }
}

/// The leaves of some trees.
pub(super) fn leaves(
    rows: &Features,
    seed: u64,
    pace: &Pace<'_>,
) -> Result<Vec<Leaves>, AlgoError> {
    (0..TREES).into_par_iter().map(|t| tree(rows, h64(seed, STREAM, t), pace)).collect()
}

fn tree(rows: &Features, seed: u64, pace: &Pace<'_>) -> Result<Leaves, AlgoError> {
    let n = rows.rows;
    let mut order: Vec<u32> = (0..n as u32).collect();
    let mut ends = vec![(0, 0); n];
    let mut stack = vec![(0, n, 0)];
    let mut splits = 0;
    while let Some((first, end, depth)) = stack.pop() {
        let part = &mut order[first..end];
        if part.len() <= LEAF {
            part.iter().for_each(|i| ends[*i as usize] = (first as u32, end as u32));
            continue;
        }
        splits += 1;
        let middle = first + split(rows, part, depth, h64(seed, 0, splits), pace)?;
        stack.push((first, middle, depth + 1));
        stack.push((middle, end, depth + 1));
    }
    Ok(Leaves { order, ends })
}

/// Parts rows by the plane halfway between two of them, and returns how many come first.
fn split(
    rows: &Features,
    part: &mut [u32],
    depth: usize,
    seed: u64,
    pace: &Pace<'_>,
) -> Result<usize, AlgoError> {
    let pick = |k: u64| part[(h64(seed, 1, k) % part.len() as u64) as usize] as usize;
    let (a, b) = (rows.row(pick(0)), rows.row(pick(1)));
    let normal: Vec<f32> = a.iter().zip(b).map(|(x, y)| x - y).collect();
    let offset: f32 = normal.iter().zip(a.iter().zip(b)).map(|(n, (x, y))| n * (x + y) / 2.0).sum();
    let by_lot = depth >= DEPTH_MAX || normal.iter().all(|x| *x == 0.0);
    let mut sides = Vec::with_capacity(part.len());
    for some in part.chunks(Pace::items(rows.columns)) {
        pace.piece(some.len() * rows.columns)?;
        for i in some {
            let lot = h64(seed, 2, u64::from(*i)) & 1 == 0;
            let side = if by_lot { 0.0 } else { side(rows.row(*i as usize), &normal) - offset };
            sides.push((if side == 0.0 { lot } else { side < 0.0 }, *i));
        }
    }
    let first = sides.iter().filter(|(is_first, _)| *is_first).count();
    // A plane that parts off next to nothing is no better than chance.
    let is_poor = first.min(part.len() - first) * 20 < part.len();
    if is_poor {
        sides.iter_mut().for_each(|side| side.0 = h64(seed, 3, u64::from(side.1)) & 1 == 0);
    }
    let ids = |wanted: bool| sides.iter().filter(move |s| s.0 == wanted).map(|s| s.1);
    let sorted: Vec<u32> = ids(true).chain(ids(false)).collect();
    part.copy_from_slice(&sorted);
    Ok(ids(true).count())
}

fn side(row: &[f32], normal: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; 8];
    let (full, rest) = row.as_chunks::<8>();
    let (others, tail) = normal.as_chunks::<8>();
    for (x, y) in full.iter().zip(others) {
        (0..8).for_each(|lane| lanes[lane] += x[lane] * y[lane]);
    }
    lanes.iter().sum::<f32>() + rest.iter().zip(tail).map(|(x, y)| x * y).sum::<f32>()
}
