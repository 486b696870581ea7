//! Discs that overlap are set apart.
//!
//! Every round moves each disc out of those that it overlaps: half of the way out of one of about its size, and the whole
//! way out of a larger one or one that is held, which stay. What is left after the last round, the whole picture is
//! stretched by. Grids whose cells are as wide as their discs, one for each size within a factor of two, find the discs
//! that can overlap.

use graphlume_types::CancelToken;
use graphlume_types::hash::unit_f64;
use rayon::prelude::*;

use super::point_grid::PointGrid;
use crate::AlgoError;

/// Rounds of moves before the picture is stretched.
const ROUNDS: usize = 400;
/// Discs of a cell that one disc moves away from in a round: crowds part over several rounds.
const CELL_MAX: usize = 32;
/// How far beyond touching discs are moved, which ends in fewer rounds than touching itself.
const MARGIN: f64 = 1.01;
/// Sizes that differ, each half of the one before; smaller discs count to the last.
const SIZES_MAX: usize = 16;
/// Discs of one unit of parallel work.
const CHUNK: usize = 1 << 10;
/// Stream of the directions in which discs on one spot part.
const STREAM: u64 = 140;

/// Moves points until no two are nearer than the sum of their `radii`. Points that are `held` stay where they are; then
/// nothing is stretched, and what cannot be set apart between them is left.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub(crate) fn remove(
    points: &mut [[f64; 2]],
    radii: &[f64],
    held: impl Fn(usize) -> bool,
    seed: u64,
    cancel: &CancelToken,
) -> Result<(), AlgoError> {
    let held: Vec<bool> = (0..points.len()).map(held).collect();
    let discs = Discs::new(radii, &held, seed);
    if points.len() < 2 || discs.largest <= 0.0 {
        return Ok(());
    }
    let can_stretch = !held.contains(&true);
    if can_stretch {
        make_room(points, radii);
    }
    if discs.part(points, ROUNDS, 0, cancel)? {
        return Ok(());
    }
    if can_stretch {
        let nearest = discs.nearest(points, &discs.grids(points, cancel)?, cancel)?;
        if nearest < 1.0 {
            let factor = MARGIN / nearest.max(1e-9);
            points.iter_mut().flatten().for_each(|x| *x *= factor);
        }
    }
    Ok(())
}

/// Whether any two discs overlap.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub(super) fn any(
    points: &[[f64; 2]],
    radii: &[f64],
    cancel: &CancelToken,
) -> Result<bool, AlgoError> {
    let held = vec![false; points.len()];
    let discs = Discs::new(radii, &held, 0);
    if points.len() < 2 || discs.largest <= 0.0 {
        return Ok(false);
    }
    let grids = discs.grids(points, cancel)?;
    Ok((0..points.len()).into_par_iter().any(|v| discs.step(points, &grids, v).1))
}

/// Moves points out of each other as [`remove`] does, in at most so many `rounds` and without stretching the picture, until
/// at most `few` overlap another: what is left then is left.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub(super) fn part(
    points: &mut [[f64; 2]],
    radii: &[f64],
    held: &[bool],
    [rounds, few]: [usize; 2],
    seed: u64,
    cancel: &CancelToken,
) -> Result<(), AlgoError> {
    let discs = Discs::new(radii, held, seed);
    if points.len() >= 2 && discs.largest > 0.0 {
        discs.part(points, rounds, few, cancel)?;
    }
    Ok(())
}

/// Stretches a picture whose box cannot hold the discs.
fn make_room(points: &mut [[f64; 2]], radii: &[f64]) {
    let side = |c: usize| {
        let (low, high) =
            points.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), p| {
                (low.min(p[c]), high.max(p[c]))
            });
        high - low
    };
    let squares: f64 = radii.iter().map(|r| r * r).sum();
    let (need, longest) = (2.0 * MARGIN * squares.sqrt(), side(0).max(side(1)));
    if longest > 0.0 && longest < need {
        points.iter_mut().flatten().for_each(|x| *x *= need / longest);
    }
}

/// What does not change while discs move.
struct Discs<'a> {
    radii: &'a [f64],
    held: &'a [bool],
    /// The grid of each disc, from that of the largest discs on.
    size: Vec<u8>,
    /// The discs of each grid.
    of_size: Vec<Vec<u32>>,
    largest: f64,
    seed: u64,
}

impl<'a> Discs<'a> {
    fn new(radii: &'a [f64], held: &'a [bool], seed: u64) -> Self {
        let largest = radii.iter().fold(0.0, |a: f64, b| a.max(*b));
        let size = |(radius, held): (&f64, &bool)| {
            // A disc looks at those of its size and larger ones; those that are held, every disc has to see.
            let halvings = if *held { 0.0 } else { (largest / radius).log2() };
            halvings.clamp(0.0, (SIZES_MAX - 1) as f64) as u8
        };
        let size: Vec<u8> = radii.iter().zip(held).map(size).collect();
        let mut of_size = vec![Vec::new(); SIZES_MAX];
        (0..).zip(&size).for_each(|(v, size)| of_size[usize::from(*size)].push(v));
        Self { radii, held, size, of_size, largest, seed }
    }

    /// Does rounds until at most `few` discs overlap another, which it says, or so many are done.
    fn part(
        &self,
        points: &mut [[f64; 2]],
        rounds: usize,
        few: usize,
        cancel: &CancelToken,
    ) -> Result<bool, AlgoError> {
        let mut moved = vec![[0.0; 2]; points.len()];
        for _ in 0..rounds {
            let grids = self.grids(points, cancel)?;
            if self.round(points, &grids, &mut moved, cancel)? <= few {
                return Ok(true);
            }
            points.copy_from_slice(&moved);
        }
        Ok(false)
    }

    /// The grid of each size that occurs.
    fn grids(
        &self,
        points: &[[f64; 2]],
        cancel: &CancelToken,
    ) -> Result<Vec<Option<PointGrid>>, AlgoError> {
        let grid = |(halvings, of): (i32, &Vec<u32>)| {
            let wide = 2.0 * self.largest * 0.5f64.powi(halvings) * MARGIN;
            if of.is_empty() {
                Ok(None)
            } else {
                PointGrid::new(points, of, wide, cancel).map(Some)
            }
        };
        (0..).zip(&self.of_size).map(grid).collect()
    }

    /// Calls `f` with each disc that `v` may overlap and that is at least about as large, at most `many` of a cell.
    fn around(
        &self,
        points: &[[f64; 2]],
        grids: &[Option<PointGrid>],
        v: usize,
        many: usize,
        mut f: impl FnMut(usize),
    ) {
        for grid in grids[..=usize::from(self.size[v])].iter().flatten() {
            grid.around(points[v], many, |u| {
                if u != v {
                    f(u);
                }
            });
        }
    }

    /// Where every point goes; gives how many overlap another.
    fn round(
        &self,
        points: &[[f64; 2]],
        grids: &[Option<PointGrid>],
        moved: &mut [[f64; 2]],
        cancel: &CancelToken,
    ) -> Result<usize, AlgoError> {
        let chunk = |(chunk, moved): (usize, &mut [[f64; 2]])| -> Result<usize, AlgoError> {
            cancel.check()?;
            let mut overlaps = 0;
            for (i, to) in moved.iter_mut().enumerate() {
                let v = chunk * CHUNK + i;
                let (by, any) = self.step(points, grids, v);
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
    fn step(&self, points: &[[f64; 2]], grids: &[Option<PointGrid>], v: usize) -> ([f64; 2], bool) {
        if self.held[v] {
            return ([0.0; 2], false);
        }
        let at = points[v];
        let (mut by, mut any, mut most) = ([0.0; 2], false, 0.0f64);
        self.around(points, grids, v, CELL_MAX, |u| {
            let wide = (self.radii[v] + self.radii[u]) * MARGIN;
            let apart = [at[0] - points[u][0], at[1] - points[u][1]];
            let d = apart[0].hypot(apart[1]);
            if d >= wide {
                return;
            }
            any |= d < wide / MARGIN;
            most = most.max(0.5 * wide);
            let angle = std::f64::consts::TAU * unit_f64(self.seed, STREAM, v as u64);
            let towards =
                if d > 1e-9 * wide { apart.map(|x| x / d) } else { [angle.cos(), angle.sin()] };
            let share = if self.held[u] || self.size[u] != self.size[v] { 1.0 } else { 0.5 };
            (0..2).for_each(|c| by[c] += share * (wide - d) * towards[c]);
        });
        let far = by[0].hypot(by[1]);
        (if far > most { by.map(|x| x * most / far) } else { by }, any)
    }

    /// The least distance of two points, as a share of the sum of their radii, or [`MARGIN`] if that is less.
    fn nearest(
        &self,
        points: &[[f64; 2]],
        grids: &[Option<PointGrid>],
        cancel: &CancelToken,
    ) -> Result<f64, AlgoError> {
        let chunk = |(chunk, of): (usize, &[[f64; 2]])| -> Result<f64, AlgoError> {
            cancel.check()?;
            let mut nearest = MARGIN;
            for (i, at) in of.iter().enumerate() {
                let v = chunk * CHUNK + i;
                self.around(points, grids, v, usize::MAX, |u| {
                    let d = (at[0] - points[u][0]).hypot(at[1] - points[u][1]);
                    nearest = nearest.min(d / (self.radii[u] + self.radii[v]));
                });
            }
            Ok(nearest)
        };
        let all: Vec<f64> =
            points.par_chunks(CHUNK).enumerate().map(chunk).collect::<Result<_, _>>()?;
        Ok(all.into_iter().fold(MARGIN, f64::min))
    }
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

    /// The least distance of two points, as a share of the sum of their radii.
    fn least(points: &[[f64; 2]], radii: &[f64]) -> f64 {
        let mut least = f64::INFINITY;
        for (i, a) in points.iter().enumerate() {
            for (j, b) in points[..i].iter().enumerate() {
                least = least.min((a[0] - b[0]).hypot(a[1] - b[1]) / (radii[i] + radii[j]));
            }
        }
        least
    }

    fn removed(points: &[[f64; 2]], radii: &[f64], held: impl Fn(usize) -> bool) -> Vec<[f64; 2]> {
        let mut points = points.to_vec();
        remove(&mut points, radii, held, 7, &CancelToken::new()).unwrap();
        points
    }

    #[test]
    fn no_two_discs_overlap_and_the_threads_do_not_matter() {
        let on_one_spot = vec![[4.0, 4.0]; 50];
        let sizes = |n: u64| (0..n).map(|v| 0.01f64.powf(unit_f64(3, 0, v)) * 20.0).collect();
        let same = |n: usize, radius: f64| vec![radius; n];
        let cases: [(_, Vec<f64>); 5] = [
            (crowd(2000), same(2000, 1.5)),
            (on_one_spot.clone(), same(50, 1.0)),
            (crowd(400), same(400, 200.0)),
            (crowd(1500), sizes(1500)),
            (on_one_spot, sizes(50)),
        ];
        for (points, radii) in cases {
            let results = testkit::at_1_2_3_threads(|| removed(&points, &radii, |_| false));
            assert!(results[0] == results[1] && results[0] == results[2]);
            let nearest = least(&results[0], &radii);
            assert!(nearest >= 1.0, "{nearest} of {}", radii[0]);
        }
    }

    #[test]
    fn a_small_disc_leaves_a_large_one_which_stays_and_one_that_is_held_stays_before_all() {
        let (points, radii) = ([[0.0, 0.0], [3.0, 0.0], [40.0, 0.0]], [10.0, 1.0, 1.0]);
        let moved = removed(&points, &radii, |_| false);
        assert_eq!([moved[0], moved[2]], [points[0], points[2]]);
        assert!(least(&moved, &radii) >= 1.0, "{moved:?}");
        let moved = removed(&points, &radii, |v| v == 1);
        assert_eq!([moved[1], moved[2]], [points[1], points[2]]);
        assert!(least(&moved, &radii) >= 1.0, "{moved:?}");
    }

    #[test]
    fn discs_that_lie_apart_stay_and_a_cancelled_run_ends() {
        let apart = vec![[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]];
        assert_eq!(removed(&apart, &[1.0; 3], |_| false), apart);
        let cancel = CancelToken::new();
        cancel.cancel(CancelReason::ClientGone);
        assert!(remove(&mut crowd(100), &[2.0; 100], |_| false, 0, &cancel).is_err());
    }
}
