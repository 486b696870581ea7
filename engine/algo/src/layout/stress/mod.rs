//! Layouts whose distances are those of the graph: Kamada and Kawai (1989), by the stress of all pairs up to
//! [`PAIRS_NODES_MAX`] nodes of a component and of sampled pairs above.
//!
//! The energy of Kamada and Kawai is the stress of Gansner, Koren and North (2004): the sum over all pairs of the squared
//! relative error of their distance. It is made small by stochastic gradient descent (Zheng, Pawar and Goodman 2019),
//! whose steps begin so large that the start hardly matters.

mod dense;
mod distances;
pub(crate) mod kamada_kawai;
mod sparse;

use graphlume_types::CancelToken;
use graphlume_types::hash::{h64, unit_f64};

use super::given::Bounds;
use super::parts::InducedSubgraph;
use crate::AlgoError;

/// Up to this many nodes of a component all pairs count.
pub(crate) const PAIRS_NODES_MAX: usize = 5000;
/// Epochs of a graph with few nodes, and of others.
/// Nodes from which hops are counted for the stress of a picture.
const SAMPLED: usize = 12;
const EPOCHS_FEW: u64 = 60;
const EPOCHS: u64 = 30;
const FEW: usize = 500;

/// One part to be laid out. Lengths are those of the graph.
pub(crate) struct Job<'a, const D: usize> {
    /// The part.
    pub(crate) part: &'a InducedSubgraph,
    /// Where its nodes start, or `None` for the circle or sphere.
    pub(crate) start: Option<Vec<[f64; D]>>,
    /// The bounds of its nodes.
    pub(crate) bounds: Option<Vec<Bounds<D>>>,
    /// Times that every term is looked at; none leaves the start.
    pub(crate) epochs: u64,
    /// Change of energy between two epochs that ends the layout, and the energy of a stress of 1.
    pub(crate) epsilon: f64,
    pub(crate) scale: f64,
    /// Seed of the order of the terms.
    pub(crate) seed: u64,
    /// Asked regularly.
    pub(crate) cancel: &'a CancelToken,
}

/// The terms of a part.
pub(crate) enum Terms {
    /// All pairs.
    Dense(dense::Terms),
    /// Sampled pairs.
    Sparse(sparse::Terms),
}

impl Terms {
    /// The terms of a part: of all pairs when it has at most `pairs_max` nodes, else with at most `pivots` pivots.
    pub(crate) fn new<const D: usize>(
        job: &Job<'_, D>,
        pairs_max: usize,
        pivots: usize,
    ) -> Result<Self, AlgoError> {
        Ok(if job.part.len() <= pairs_max {
            Self::Dense(dense::Terms::new(job)?)
        } else {
            Self::Sparse(sparse::Terms::new(job, pivots)?)
        })
    }

    /// The largest distance that is known.
    pub(crate) fn longest(&self) -> f64 {
        f64::from(match self {
            Self::Dense(terms) => terms.longest,
            Self::Sparse(terms) => terms.longest,
        })
    }

    /// Positions of little stress, by node of the part.
    pub(crate) fn solve<const D: usize>(
        &self,
        job: &Job<'_, D>,
    ) -> Result<Vec<[f64; D]>, AlgoError> {
        match self {
            Self::Dense(terms) => terms.solve(job),
            Self::Sparse(terms) => terms.solve(job),
        }
    }
}

/// The stress of the hops from some nodes at the best scale: 0 is none, 1 is all.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub(crate) fn sampled<const D: usize>(
    part: &InducedSubgraph,
    points: &[[f32; D]],
    cancel: &CancelToken,
) -> Result<f64, AlgoError> {
    let (n, many) = (part.len(), part.len().min(SAMPLED));
    let (mut sum, mut squares, mut count) = (0.0, 0.0, 0.0);
    for source in (0..many).map(|k| k * n / many) {
        let hops = distances::hops(part, source, cancel)?;
        for (at, far) in points.iter().zip(hops).filter(|(_, far)| *far > 0.0 && far.is_finite()) {
            let square: f32 = (0..D).map(|c| (at[c] - points[source][c]).powi(2)).sum();
            let ratio = f64::from(square.sqrt() / far);
            (sum, squares, count) = (sum + ratio, squares + ratio * ratio, count + 1.0);
        }
    }
    Ok(if squares > 0.0 { 1.0 - sum * sum / (count * squares) } else { 0.0 })
}

/// The epochs of a part of `n` nodes.
pub(crate) fn epochs_for(n: usize) -> u64 {
    if n <= FEW { EPOCHS_FEW } else { EPOCHS }
}

/// The rates of `count` epochs, which fall by the same factor from `first` to `last`.
fn epochs(count: u64, first: f64, last: f64) -> impl Iterator<Item = f64> {
    let ratio = (last / first).min(1.0);
    (0..count).map(move |k| first * ratio.powf(k as f64 / (count - 1).max(1) as f64))
}

/// The numbers below `n` in an order that depends on the seed.
fn shuffled(n: usize, seed: u64, stream: u64) -> Vec<u32> {
    let mut order: Vec<(u64, u32)> =
        (0..n as u32).map(|v| (h64(seed, stream, u64::from(v)), v)).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, v)| v).collect()
}

/// The start of a layout: the one given, the circle or sphere of this radius at the first try, else drawn.
fn start_of<const D: usize>(job: &Job<'_, D>, start: u64, radius: f64) -> Vec<[f64; D]> {
    let n = job.part.len();
    if let Some(given) = &job.start {
        return given.clone();
    }
    let drawn = |v: usize, c: usize| {
        radius * (2.0 * unit_f64(job.seed ^ start << 32, 44 + c as u64, v as u64) - 1.0)
    };
    if start > 0 {
        return (0..n).map(|v| std::array::from_fn(|c| drawn(v, c))).collect();
    }
    if D == 2 {
        let circle = super::circle::circle(n);
        return circle.iter().map(|p| std::array::from_fn(|c| radius * p[c])).collect();
    }
    let sphere = super::sphere::sphere(n);
    sphere.iter().map(|p| std::array::from_fn(|c| radius * p[c])).collect()
}
