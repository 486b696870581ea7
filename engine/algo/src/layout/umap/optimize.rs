//! Places whose distances say the same as the fuzzy graph: stochastic gradient descent on the cross entropy of both, with
//! samples of rows that are no neighbours (the same paper, section 4.3).
//!
//! The rows move in some groups one after the other. Within a group each moves by the places of all others as they were
//! before, so that the result does not depend on the threads. An edge moves each of its ends twice in an epoch in which it is
//! drawn, once for either direction. A row is drawn to all its neighbours first and then, once more, between the samples:
//! neighbourhoods come out better so than with both moves at once (`tests/data/umap` has what is compared).

use graphlume_types::hash::{h64, mix64};
use rayon::prelude::*;

use super::fuzzy::Fuzzy;
use super::pace::Pace;
use super::{EPOCHS, Options};
use crate::AlgoError;

/// Groups of rows.
const GROUPS: usize = 16;
/// Rows of one unit of parallel work.
const CHUNK: usize = 32;
/// A component of a move, at most.
const MOVE_MAX: f32 = 4.0;
/// Stream of the random numbers.
const STREAM: u64 = 0x0527;
/// What the moves of one edge count for, in steps.
const EDGE_STEPS: usize = 80;

/// What moves the rows.
struct Force {
    a: f32,
    b: f32,
    repulsion: f32,
    samples: usize,
    dims: usize,
}

/// The places of rows after all epochs, begun at `points`.
pub(super) fn run(
    graph: &Fuzzy,
    mut points: Vec<f32>,
    (a, b): (f64, f64),
    options: &Options,
    pace: &Pace<'_>,
) -> Result<Vec<f32>, AlgoError> {
    let (n, dims) = (graph.num_rows(), options.dims);
    let epochs = options.epochs.unwrap_or(if n <= EPOCHS.0 { EPOCHS.1 } else { EPOCHS.2 });
    let force = Force {
        a: a as f32,
        b: b as f32,
        repulsion: options.repulsion as f32,
        samples: options.negative_samples,
        dims,
    };
    let heaviest = graph.heaviest();
    // Edges that would not be drawn once are left out.
    let least = heaviest / epochs.max(1) as f32;
    let rate: Vec<f32> =
        graph.weights.iter().map(|w| if *w < least { 0.0 } else { w / heaviest }).collect();
    for epoch in 0..epochs {
        let step = (options.learning_rate * (1.0 - epoch as f64 / epochs as f64)) as f32;
        let turn = Turn { graph, rate: &rate, force: &force, step, epoch, seed: options.seed };
        for group in 0..GROUPS {
            let rows: Vec<usize> = (group..n).step_by(GROUPS).collect();
            let move_some = |some: &[usize]| {
                let mut moved = Vec::with_capacity(some.len() * dims);
                let mut drawn = Vec::new();
                for i in some {
                    turn.moved(*i, &points, &mut moved, &mut drawn, pace)?;
                }
                Ok(moved)
            };
            let moved: Result<Vec<Vec<f32>>, AlgoError> = if rows.len() <= CHUNK {
                move_some(&rows).map(|moved| vec![moved])
            } else {
                rows.par_chunks(CHUNK).map(move_some).collect()
            };
            let moved = moved?;
            for (i, at) in rows.iter().zip(moved.iter().flat_map(|m| m.chunks_exact(dims))) {
                points[i * dims..(i + 1) * dims].copy_from_slice(at);
            }
        }
    }
    Ok(points)
}

/// One epoch.
struct Turn<'a> {
    graph: &'a Fuzzy,
    /// How often an edge is drawn an epoch.
    rate: &'a [f32],
    force: &'a Force,
    step: f32,
    epoch: u64,
    seed: u64,
}

impl Turn<'_> {
    /// Adds the new place of row `i` to `moved`; `drawn` is written over.
    fn moved(
        &self,
        i: usize,
        points: &[f32],
        moved: &mut Vec<f32>,
        drawn: &mut Vec<u32>,
        pace: &Pace<'_>,
    ) -> Result<(), AlgoError> {
        let dims = self.force.dims;
        let at = moved.len();
        moved.extend_from_slice(&points[i * dims..(i + 1) * dims]);
        let here = &mut moved[at..];
        let place = |j: u32| &points[j as usize * dims..(j as usize + 1) * dims];
        let mut random = h64(self.seed, STREAM + self.epoch, i as u64);
        let n = self.graph.num_rows() as u64;
        self.draw(i, drawn);
        let edge_steps = EDGE_STEPS * dims * (2 + self.force.samples);
        for some in drawn.chunks(Pace::items(edge_steps)) {
            pace.piece(some.len() * edge_steps)?;
            some.iter().for_each(|j| self.force.attract(here, place(*j), self.step));
        }
        for some in drawn.chunks(Pace::items(edge_steps)) {
            pace.piece(some.len() * edge_steps)?;
            for j in some {
                self.force.attract(here, place(*j), self.step);
                for _ in 0..self.force.samples {
                    random = mix64(random);
                    let other = (((random >> 32) * n) >> 32) as u32;
                    if other as usize != i {
                        self.force.repel(here, place(other), self.step);
                    }
                }
            }
        }
        Ok(())
    }

    /// The neighbours of row `i` whose edges are drawn in this epoch.
    fn draw(&self, i: usize, drawn: &mut Vec<u32>) {
        let edges = self.graph.offsets[i]..self.graph.offsets[i + 1];
        let (now, before) = (self.epoch as f64, self.epoch.saturating_sub(1) as f64);
        drawn.clear();
        drawn.extend(edges.filter_map(|p| {
            let rate = f64::from(self.rate[p]);
            ((now * rate).floor() > (before * rate).floor()).then(|| self.graph.ids[p])
        }));
    }
}

impl Force {
    /// Moves `here` towards a neighbour.
    #[inline]
    fn attract(&self, here: &mut [f32], there: &[f32], step: f32) {
        let square = square(here, there);
        if square > 0.0 {
            let power = power(square, self.b);
            let factor = -2.0 * self.a * self.b * power / square / (self.a * power + 1.0);
            shift(here, there, factor, step);
        }
    }

    /// Moves `here` from a row that is no neighbour.
    #[inline]
    fn repel(&self, here: &mut [f32], there: &[f32], step: f32) {
        let square = square(here, there);
        if square > 0.0 {
            let power = power(square, self.b);
            let factor =
                2.0 * self.repulsion * self.b / ((0.001 + square) * (self.a * power + 1.0));
            shift(here, there, factor, step);
        }
    }
}

/// `x` to the power of `b` for numbers above 0, as exactly as seven digits have it, in a few nanoseconds: the binary
/// logarithm by the series of the area tangent, and the power of two by that of the exponential.
#[inline]
fn power(x: f32, b: f32) -> f32 {
    /// The bits of the root of a half, where the mantissas begin.
    const ROOT: u32 = 0x3F35_04F3;
    /// Added and taken away again, it leaves a whole number.
    const WHOLE: f32 = 12_582_912.0;
    let bits = x.max(f32::MIN_POSITIVE).to_bits();
    let exponent = bits.wrapping_sub(ROOT).cast_signed() >> 23;
    let mantissa = f32::from_bits(bits.wrapping_sub((exponent << 23).cast_unsigned()));
    let t = (mantissa - 1.0) / (mantissa + 1.0);
    let tt = t * t;
    let series = t * (1.0 + tt * (1.0 / 3.0 + tt * (1.0 / 5.0 + tt * (1.0 / 7.0))));
    let log = exponent as f32 + series * (2.0 * std::f32::consts::LOG2_E);
    let y = (b * log).clamp(-126.0, 126.0);
    let whole = (y + WHOLE) - WHOLE;
    let u = (y - whole) * std::f32::consts::LN_2;
    let rest = u * (1.0 / 24.0 + u * (1.0 / 120.0 + u * (1.0 / 720.0)));
    let fraction = 1.0 + u * (1.0 + u * (0.5 + u * (1.0 / 6.0 + rest)));
    f32::from_bits(((whole as i32 + 127) << 23).cast_unsigned()) * fraction
}

#[inline]
fn square(here: &[f32], there: &[f32]) -> f32 {
    here.iter().zip(there).map(|(x, y)| (x - y) * (x - y)).sum()
}

#[inline]
fn shift(here: &mut [f32], there: &[f32], factor: f32, step: f32) {
    for (x, y) in here.iter_mut().zip(there) {
        *x += step * (factor * (*x - y)).clamp(-MOVE_MAX, MOVE_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_those_of_the_standard_library() {
        for b in [0.5_f32, 0.79, 0.895, 1.0, 1.92, 3.0] {
            for k in -600..600 {
                let x = (k as f32 * 0.03).exp();
                let want = f64::from(x).powf(f64::from(b));
                let off = (f64::from(power(x, b)) / want - 1.0).abs();
                assert!(off < 2e-5, "{x} {b} {off}");
            }
        }
        assert!(power(0.0, 0.9) >= 0.0 && power(1e38, 3.0).is_finite() && power(1e-38, 3.0) > 0.0);
    }
}
