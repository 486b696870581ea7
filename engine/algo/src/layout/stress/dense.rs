//! Stress of all pairs, by stochastic gradient descent (Zheng, Pawar and Goodman 2019).
//!
//! The terms are kept by how far apart two nodes stand in a random order of the nodes, so that memory is read in a row,
//! the two ends of a term are a random pair, and an epoch that takes these runs in a random order is close to one that
//! draws its pairs.

use graphlume_types::MemoryReservation;
use graphlume_types::hash::h64;
use rayon::prelude::*;

use super::{Job, distances, epochs, shuffled, start_of};
use crate::AlgoError;
use crate::layout::given::clamp;

/// Searches that are done before their distances are filed.
const SEARCHES: usize = 64;
/// Up to this many nodes several starts are tried, of which the one with the least stress stays.
const STARTS_NODES_MAX: usize = 300;
const STARTS: u64 = 6;

/// The terms of all pairs, by distance in the order.
pub(crate) struct Terms {
    /// The nodes in random order.
    order: Vec<u32>,
    /// Entry `i` of run `r` is the distance of the nodes at `i` and `i + r + 1`, round the order.
    runs: Vec<Vec<f32>>,
    /// The largest distance that is known.
    pub(super) longest: f32,
    shortest: f32,
    _held: MemoryReservation,
}

impl Terms {
    /// Distances of all pairs; where no way leads, one and a half times the longest.
    pub(super) fn new<const D: usize>(job: &Job<'_, D>) -> Result<Self, AlgoError> {
        let n = job.part.len();
        let order = shuffled(n, job.seed, 40);
        let held = job.cancel.hold((n as u64).pow(2) / 2 * size_of::<f32>() as u64)?;
        let many = |r: usize| if 2 * (r + 1) == n { n / 2 } else { n };
        let mut runs: Vec<Vec<f32>> = (0..n / 2).map(|r| vec![0.0; many(r)]).collect();
        let (mut longest, mut shortest) = (0.0f32, f32::INFINITY);
        for begin in (0..n).step_by(SEARCHES) {
            let rows: Vec<Vec<f32>> = order[begin..(begin + SEARCHES).min(n)]
                .par_iter()
                .map(|v| distances::from(job.part, *v as usize, job.cancel))
                .collect::<Result<_, _>>()?;
            for (k, row) in rows.iter().enumerate() {
                let i = begin + k;
                for d in row.iter().filter(|d| **d > 0.0 && d.is_finite()) {
                    longest = longest.max(*d);
                    shortest = shortest.min(*d);
                }
                for (r, run) in runs.iter_mut().enumerate().filter(|(_, run)| i < run.len()) {
                    run[i] = row[order[(i + r + 1) % n] as usize];
                }
            }
        }
        if longest == 0.0 {
            (longest, shortest) = (1.0, 1.0);
        }
        for d in runs.iter_mut().flatten().filter(|d| !d.is_finite()) {
            *d = 1.5 * longest;
        }
        Ok(Self { order, runs, longest, shortest, _held: held })
    }

    /// Positions of little stress, by node of the part, at distances as the graph has them.
    pub(super) fn solve<const D: usize>(
        &self,
        job: &Job<'_, D>,
    ) -> Result<Vec<[f64; D]>, AlgoError> {
        let n = self.order.len();
        let starts = if job.start.is_some() || n > STARTS_NODES_MAX { 1 } else { STARTS };
        let mut best: Option<(f64, Vec<[f64; D]>)> = None;
        for start in 0..starts {
            let begin = start_of(job, start, f64::from(self.longest) / 2.0);
            let mut points: Vec<[f64; D]> = self.order.iter().map(|v| begin[*v as usize]).collect();
            self.descend(job, start, &mut points)?;
            let stress = if starts == 1 { 0.0 } else { self.stress(&points) };
            if best.as_ref().is_none_or(|(least, _)| stress < *least) {
                best = Some((stress, points));
            }
        }
        let mut out = vec![[0.0; D]; n];
        for (v, at) in self.order.iter().zip(best.map(|(_, points)| points).unwrap_or_default()) {
            out[*v as usize] = at;
        }
        Ok(out)
    }

    fn descend<const D: usize>(
        &self,
        job: &Job<'_, D>,
        start: u64,
        points: &mut [[f64; D]],
    ) -> Result<(), AlgoError> {
        let (longest, shortest) = (f64::from(self.longest), f64::from(self.shortest));
        let mut before = f64::INFINITY;
        let count = self.runs.len();
        // Without its own start, a layout may move every pair as far as it likes at first.
        let first = if job.start.is_some() { shortest * longest } else { (1.5 * longest).powi(2) };
        for (epoch, rate) in epochs(job.epochs, first, 0.02 * shortest * shortest).enumerate() {
            let mut runs: Vec<u64> = (0..count as u64).collect();
            runs.sort_by_key(|r| h64(job.seed ^ start, 41 + epoch as u64, *r));
            for r in runs {
                job.cancel.check()?;
                relax_run(&self.runs[r as usize], r as usize + 1, rate, points);
                if let Some(bounds) = &job.bounds {
                    for (v, at) in self.order.iter().zip(points.iter_mut()) {
                        clamp(at, &bounds[*v as usize]);
                    }
                }
            }
            if job.epsilon > 0.0 {
                let stress = self.stress(points);
                if (before - stress).abs() * job.scale <= job.epsilon {
                    break;
                }
                before = stress;
            }
        }
        Ok(())
    }

    /// The sum over all pairs of the squared relative error of their distance.
    pub(super) fn stress<const D: usize>(&self, points: &[[f64; D]]) -> f64 {
        let n = points.len();
        let mut sum = 0.0;
        for (r, run) in self.runs.iter().enumerate() {
            for (i, d) in run.iter().enumerate() {
                let (a, b, d) = (points[i], points[(i + r + 1) % n], f64::from(*d));
                let apart = (0..D).map(|c| (a[c] - b[c]).powi(2)).sum::<f64>().sqrt();
                sum += (apart / d - 1.0).powi(2);
            }
        }
        sum
    }
}

/// Moves the ends of each term of a run towards the distance of the term.
fn relax_run<const D: usize>(run: &[f32], apart: usize, rate: f64, points: &mut [[f64; D]]) {
    let n = points.len();
    for (i, d) in run.iter().enumerate() {
        let j = if i + apart < n { i + apart } else { i + apart - n };
        let d = f64::from(*d);
        let mut by = [0.0; D];
        let mut square = 1e-18;
        for c in 0..D {
            by[c] = points[j][c] - points[i][c];
            square += by[c] * by[c];
        }
        let length = square.sqrt();
        let share = (rate / (d * d)).min(1.0);
        let step = 0.5 * share * (length - d) / length;
        for c in 0..D {
            points[i][c] += step * by[c];
            points[j][c] -= step * by[c];
        }
    }
}
