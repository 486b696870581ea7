//! Discs of one radius that overlap are set apart.
//!
//! Every round moves each disc out of those that it overlaps, half of the way; what is left after the last round, the
//! whole picture is stretched by. A grid whose cells are as wide as a disc finds the discs that can overlap.

use graphlume_types::CancelToken;
use graphlume_types::hash::unit_f64;
use rayon::prelude::*;

use crate::AlgoError;

/// Rounds of moves before the picture is stretched.
const ROUNDS: usize = 400;
/// Discs of a cell that one disc moves away from in a round: crowds part over several rounds.
const CELL_MAX: usize = 32;
/// How far beyond touching discs are moved, which ends in fewer rounds than touching itself.
const MARGIN: f64 = 1.01;
/// Discs of one unit of parallel work.
const CHUNK: usize = 1 << 10;
/// Stream of the directions in which discs on one spot part.
const STREAM: u64 = 140;

/// Moves points until no two are nearer than twice `radius`.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub(crate) fn remove(
    points: &mut [[f64; 2]],
    radius: f64,
    seed: u64,
    cancel: &CancelToken,
) -> Result<(), AlgoError> {
    let wide = 2.0 * radius;
    if points.len() < 2 || wide <= 0.0 {
        return Ok(());
    }
    make_room(points, wide * MARGIN);
    let mut moved = vec![[0.0; 2]; points.len()];
    for _ in 0..ROUNDS {
        let grid = Grid::new(points, wide * MARGIN, cancel)?;
        let overlaps = grid.round(points, &mut moved, seed, cancel)?;
        if overlaps == 0 {
            return Ok(());
        }
        points.copy_from_slice(&moved);
    }
    let nearest = Grid::new(points, wide * MARGIN, cancel)?.nearest(points, cancel)?;
    if nearest < wide {
        let factor = MARGIN * wide / nearest.max(1e-9 * wide);
        points.iter_mut().flatten().for_each(|x| *x *= factor);
    }
    Ok(())
}

/// Stretches a picture whose box cannot hold the discs.
fn make_room(points: &mut [[f64; 2]], wide: f64) {
    let side = |c: usize| {
        let (low, high) =
            points.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), p| {
                (low.min(p[c]), high.max(p[c]))
            });
        high - low
    };
    let (need, longest) = (wide * (points.len() as f64).sqrt(), side(0).max(side(1)));
    if longest > 0.0 && longest < need {
        points.iter_mut().flatten().for_each(|x| *x *= need / longest);
    }
}

/// The points by cell: those of cell `k` of `cells` are `order[k.1..]`, in the order of the points.
struct Grid {
    wide: f64,
    /// Cells that hold points, by row and column, with the place of their first point.
    cells: Vec<([i64; 2], usize)>,
    order: Vec<u32>,
}

impl Grid {
    fn new(points: &[[f64; 2]], wide: f64, cancel: &CancelToken) -> Result<Self, AlgoError> {
        cancel.check()?;
        let mut keys: Vec<([i64; 2], u32)> =
            points.par_iter().enumerate().map(|(v, at)| (cell(*at, wide), v as u32)).collect();
        keys.par_sort_unstable();
        cancel.check()?;
        let mut cells: Vec<([i64; 2], usize)> = Vec::new();
        for (place, (key, _)) in keys.iter().enumerate() {
            if cells.last().is_none_or(|(last, _)| last != key) {
                cells.push((*key, place));
            }
        }
        Ok(Self { wide, cells, order: keys.into_iter().map(|(_, v)| v).collect() })
    }

    /// The points of a cell.
    fn of(&self, key: [i64; 2]) -> &[u32] {
        let Ok(k) = self.cells.binary_search_by_key(&key, |(key, _)| *key) else { return &[] };
        let end = self.cells.get(k + 1).map_or(self.order.len(), |(_, place)| *place);
        &self.order[self.cells[k].1..end]
    }

    /// Calls `f` with the points of the cells around a point, at most `many` of each.
    fn around(&self, at: [f64; 2], many: usize, mut f: impl FnMut(usize)) {
        let [row, column] = cell(at, self.wide);
        for key in (-1..=1).flat_map(|r| (-1..=1).map(move |c| [row + r, column + c])) {
            self.of(key).iter().take(many).for_each(|u| f(*u as usize));
        }
    }

    /// Where every point goes; gives how many overlap another.
    fn round(
        &self,
        points: &[[f64; 2]],
        moved: &mut [[f64; 2]],
        seed: u64,
        cancel: &CancelToken,
    ) -> Result<usize, AlgoError> {
        let chunk = |(chunk, moved): (usize, &mut [[f64; 2]])| -> Result<usize, AlgoError> {
            cancel.check()?;
            let mut overlaps = 0;
            for (i, to) in moved.iter_mut().enumerate() {
                let v = chunk * CHUNK + i;
                let (by, any) = self.step(points, v, seed);
                *to = [points[v][0] + by[0], points[v][1] + by[1]];
                overlaps += usize::from(any);
            }
            Ok(overlaps)
        };
        let all: Vec<usize> =
            moved.par_chunks_mut(CHUNK).enumerate().map(chunk).collect::<Result<_, _>>()?;
        Ok(all.iter().sum())
    }

    /// How far a point moves, and whether it overlaps another.
    fn step(&self, points: &[[f64; 2]], v: usize, seed: u64) -> ([f64; 2], bool) {
        let at = points[v];
        let (mut by, mut any) = ([0.0; 2], false);
        self.around(at, CELL_MAX, |u| {
            let apart = [at[0] - points[u][0], at[1] - points[u][1]];
            let d = apart[0].hypot(apart[1]);
            if u == v || d >= self.wide {
                return;
            }
            any |= d < self.wide / MARGIN;
            let angle = std::f64::consts::TAU * unit_f64(seed, STREAM, v as u64);
            let towards = if d > 1e-9 * self.wide {
                apart.map(|x| x / d)
            } else {
                [angle.cos(), angle.sin()]
            };
            (0..2).for_each(|c| by[c] += 0.5 * (self.wide - d) * towards[c]);
        });
        let far = by[0].hypot(by[1]);
        let most = 0.5 * self.wide;
        (if far > most { by.map(|x| x * most / far) } else { by }, any)
    }

    /// The least distance of two points, or the width of a cell if that is less.
    fn nearest(&self, points: &[[f64; 2]], cancel: &CancelToken) -> Result<f64, AlgoError> {
        let chunk = |(chunk, of): (usize, &[[f64; 2]])| -> Result<f64, AlgoError> {
            cancel.check()?;
            let mut nearest = self.wide;
            for (i, at) in of.iter().enumerate() {
                self.around(*at, usize::MAX, |u| {
                    if u != chunk * CHUNK + i {
                        nearest = nearest.min((at[0] - points[u][0]).hypot(at[1] - points[u][1]));
                    }
                });
            }
            Ok(nearest)
        };
        let all: Vec<f64> =
            points.par_chunks(CHUNK).enumerate().map(chunk).collect::<Result<_, _>>()?;
        Ok(all.into_iter().fold(self.wide, f64::min))
    }
}

fn cell(at: [f64; 2], wide: f64) -> [i64; 2] {
    at.map(|x| (x / wide).floor() as i64)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use graphlume_types::{CancelReason, CancelToken};

    use super::*;
    use crate::testkit;

    /// Points of a crowd in the middle of others.
    fn crowd(n: usize) -> Vec<[f64; 2]> {
        let spread = |v: usize| if v.is_multiple_of(3) { 300.0 } else { 8.0 };
        (0..n).map(|v| [0, 1].map(|c| spread(v) * unit_f64(1, c, v as u64))).collect()
    }

    fn least(points: &[[f64; 2]]) -> f64 {
        let mut least = f64::INFINITY;
        for (i, a) in points.iter().enumerate() {
            for b in &points[..i] {
                least = least.min((a[0] - b[0]).hypot(a[1] - b[1]));
            }
        }
        least
    }

    #[test]
    fn no_two_discs_overlap_and_the_threads_do_not_matter() {
        let on_one_spot = vec![[4.0, 4.0]; 50];
        for (points, radius) in [(crowd(2000), 1.5), (on_one_spot, 1.0), (crowd(400), 200.0)] {
            let results = testkit::at_1_2_3_threads(|| {
                let mut points = points.clone();
                remove(&mut points, radius, 7, &CancelToken::new()).unwrap();
                points
            });
            assert!(results[0] == results[1] && results[0] == results[2]);
            assert!(least(&results[0]) >= 2.0 * radius, "{} of {radius}", least(&results[0]));
        }
    }

    #[test]
    fn discs_that_lie_apart_stay_and_a_cancelled_run_ends() {
        let apart = vec![[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]];
        let mut points = apart.clone();
        remove(&mut points, 1.0, 0, &CancelToken::new()).unwrap();
        assert_eq!(points, apart);
        let cancel = CancelToken::new();
        cancel.cancel(CancelReason::ClientGone);
        assert!(remove(&mut crowd(100), 2.0, 0, &cancel).is_err());
    }
}
