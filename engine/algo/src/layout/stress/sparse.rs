//! Stress of sampled pairs (Ortmann, Klimenta and Brandes 2016): the edges, and every node with some pivots, each of which
//! stands for the nodes nearest to it.

use graphlume_types::hash::h64;
use graphlume_types::{CancelToken, MemoryReservation};
use rayon::prelude::*;

use super::{Job, distances, epochs, shuffled, start_of};
use crate::AlgoError;
use crate::layout::given::clamp;

/// Pivots, and how many distances to them may be kept.
const PIVOTS: usize = 160;
const PIVOTS_MIN: usize = 24;
const KEPT: usize = 1 << 25;
/// Nodes of one unit of parallel work.
const CHUNK: usize = 1 << 12;
/// Parts into which the edges are cut, so that they and the pivots take turns.
const TURNS: usize = 8;

/// The sampled terms.
pub(crate) struct Terms {
    /// By pivot: the distance of every node from it, and the weight of that term.
    pivots: Vec<Pivot>,
    /// Each edge once, in random order, with its length.
    edges: Vec<(u32, u32, f32)>,
    pub(super) longest: f32,
    shortest: f32,
    heaviest: f32,
    _held: MemoryReservation,
}

struct Pivot {
    node: usize,
    distance: Vec<f32>,
    weight: Vec<f32>,
}

/// Pivots for `n` nodes.
fn pivots_for(n: usize, wanted: usize) -> usize {
    (KEPT / n.max(1)).clamp(PIVOTS_MIN, PIVOTS).min(wanted).min(n)
}

impl Terms {
    /// Distances to at most `wanted` pivots; where no way leads, one and a half times the longest.
    pub(super) fn new<const D: usize>(job: &Job<'_, D>, wanted: usize) -> Result<Self, AlgoError> {
        let n = job.part.len();
        let count = pivots_for(n, wanted);
        let terms = 2 * count * n * size_of::<f32>();
        let edges = job.part.num_edges() * 2 * size_of::<(u32, u32, f32)>();
        let held = job.cancel.hold((terms + edges) as u64)?;
        let mut pivots = choose(job, count)?;
        let (mut longest, mut shortest) = (0.0f32, f32::INFINITY);
        for d in pivots.iter().flat_map(|p| &p.distance).filter(|d| d.is_finite() && **d > 0.0) {
            longest = longest.max(*d);
            shortest = shortest.min(*d);
        }
        if longest == 0.0 {
            (longest, shortest) = (1.0, 1.0);
        }
        for d in pivots.iter_mut().flat_map(|p| &mut p.distance).filter(|d| !d.is_finite()) {
            *d = 1.5 * longest;
        }
        job.cancel.check()?;
        let mut edges = Vec::with_capacity(job.part.num_edges());
        for v in 0..n {
            edges.extend(
                job.part.edges(v).filter(|(u, _)| *u > v).map(|(u, w)| (v as u32, u as u32, w)),
            );
        }
        shortest = edges.iter().fold(shortest, |least, e| least.min(e.2));
        let edges = scattered(&edges);
        weigh(&mut pivots, n, job.cancel)?;
        let heaviest = pivots
            .iter()
            .flat_map(|p| &p.weight)
            .fold(1.0 / (shortest * shortest), |a, w| a.max(*w));
        Ok(Self { pivots, edges, longest, shortest, heaviest, _held: held })
    }

    /// Positions of little stress, by node of the part, at distances as the graph has them.
    pub(super) fn solve<const D: usize>(
        &self,
        job: &Job<'_, D>,
    ) -> Result<Vec<[f64; D]>, AlgoError> {
        let (longest, shortest) = (f64::from(self.longest), f64::from(self.shortest));
        let mut points = if job.start.is_some() {
            start_of(job, 0, longest / 2.0)
        } else {
            self.start_at_pivots(job)
        };
        let first = if job.start.is_some() { shortest * longest } else { longest * longest };
        let last = 0.1 / f64::from(self.heaviest);
        for (epoch, rate) in epochs(job.epochs, first, last).enumerate() {
            let mut order: Vec<usize> = (0..self.pivots.len()).collect();
            order.sort_by_key(|p| h64(job.seed, 60 + epoch as u64, *p as u64));
            let pivots = order.len().div_ceil(TURNS).max(1);
            let edges = self.edges.len().div_ceil(TURNS).max(1);
            let mut turns = self.edges.chunks(edges);
            for turn in order.chunks(pivots) {
                for p in turn {
                    job.cancel.check()?;
                    pull_to(&self.pivots[*p], rate, &mut points);
                }
                for few in turns.next().unwrap_or_default().chunks(CHUNK) {
                    job.cancel.check()?;
                    few.iter().for_each(|edge| relax(*edge, rate, &mut points));
                }
            }
            if let Some(bounds) = &job.bounds {
                points.iter_mut().zip(bounds).for_each(|(at, bounds)| clamp(at, bounds));
            }
        }
        Ok(points)
    }

    /// A start from the distances to pivots far from each other, one an axis, with some noise that parts equal nodes.
    fn start_at_pivots<const D: usize>(&self, job: &Job<'_, D>) -> Vec<[f64; D]> {
        let noise = start_of(job, 1, 0.25 * f64::from(self.longest));
        (0..job.part.len())
            .map(|v| {
                let mut at = noise[v];
                let distance =
                    |p: usize| self.pivots.get(p).map_or(0.0, |p| f64::from(p.distance[v]));
                for (c, x) in at.iter_mut().enumerate() {
                    *x += 0.5 * (distance(2 * c) - distance(2 * c + 1));
                }
                at
            })
            .collect()
    }
}

/// Pivots of which every second is as far as possible from those before, and the others are drawn.
fn choose<const D: usize>(job: &Job<'_, D>, count: usize) -> Result<Vec<Pivot>, AlgoError> {
    let n = job.part.len();
    let drawn = shuffled(n, job.seed, 50);
    let mut nearest = vec![f32::INFINITY; n];
    let mut pivots: Vec<Pivot> = Vec::with_capacity(count);
    for k in 0..count {
        job.cancel.check()?;
        let free = |v: &usize| nearest[*v] > 0.0;
        let far = || {
            (0..n).filter(free).max_by(|a, b| nearest[*a].total_cmp(&nearest[*b]).then(b.cmp(a)))
        };
        let node = match k {
            0 => drawn.first().map(|v| *v as usize),
            _ if k < 8 || k % 2 == 0 => far(),
            _ => drawn[k..].iter().map(|v| *v as usize).find(free),
        };
        let Some(node) = node else { break };
        let distance = distances::from(job.part, node, job.cancel)?;
        for (least, d) in nearest.iter_mut().zip(&distance) {
            *least = least.min(*d);
        }
        nearest[node] = 0.0;
        pivots.push(Pivot { node, distance, weight: Vec::new() });
    }
    Ok(pivots)
}

/// The weight of a term: of the nodes nearest to the pivot, those that are closer to it than half the distance, over the
/// square of the distance.
fn weigh(pivots: &mut [Pivot], n: usize, cancel: &CancelToken) -> Result<(), AlgoError> {
    let mut regions: Vec<Vec<f32>> = vec![Vec::new(); pivots.len()];
    for v in 0..n {
        if v % CHUNK == 0 {
            cancel.check()?;
        }
        let near = (0..pivots.len())
            .min_by(|a, b| pivots[*a].distance[v].total_cmp(&pivots[*b].distance[v]));
        if let Some(p) = near {
            regions[p].push(pivots[p].distance[v]);
        }
    }
    pivots.par_iter_mut().zip(&mut regions).for_each(|(pivot, region)| {
        region.sort_unstable_by(f32::total_cmp);
        pivot.weight = pivot
            .distance
            .iter()
            .map(|d| {
                let stands_for = region.partition_point(|x| *x <= 0.5 * d).max(1);
                if *d > 0.0 { stands_for as f32 / (d * d) } else { 0.0 }
            })
            .collect();
    });
    Ok(())
}

/// The items in an order in which neighbours come from far apart: every step goes on by a golden share of all.
fn scattered<T: Copy>(items: &[T]) -> Vec<T> {
    let m = items.len();
    let golden = (m as f64 * 0.618_033_988_75) as usize;
    let step = (golden.max(1)..m).find(|step| gcd(*step, m) == 1).unwrap_or(1);
    (0..m).map(|k| items[(k as u64 * step as u64 % m as u64) as usize]).collect()
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Moves every node towards its distance from a pivot, which stays.
fn pull_to<const D: usize>(pivot: &Pivot, rate: f64, points: &mut [[f64; D]]) {
    let to = points[pivot.node];
    let terms = pivot.distance.par_chunks(CHUNK).zip(pivot.weight.par_chunks(CHUNK));
    points.par_chunks_mut(CHUNK).zip(terms).for_each(|(points, (distances, weights))| {
        for (at, (d, w)) in points.iter_mut().zip(distances.iter().zip(weights)) {
            let mut by = [0.0; D];
            let mut square = 1e-18;
            for c in 0..D {
                by[c] = to[c] - at[c];
                square += by[c] * by[c];
            }
            let length = square.sqrt();
            let step = 0.5 * (rate * f64::from(*w)).min(1.0) * (length - f64::from(*d)) / length;
            for c in 0..D {
                at[c] += step * by[c];
            }
        }
    });
}

/// Moves the ends of an edge towards its length.
fn relax<const D: usize>((a, b, d): (u32, u32, f32), rate: f64, points: &mut [[f64; D]]) {
    let (a, b, d) = (a as usize, b as usize, f64::from(d));
    let mut by = [0.0; D];
    let mut square = 1e-18;
    for c in 0..D {
        by[c] = points[b][c] - points[a][c];
        square += by[c] * by[c];
    }
    let length = square.sqrt();
    let step = 0.5 * (rate / (d * d)).min(1.0) * (length - d) / length;
    for c in 0..D {
        points[a][c] += step * by[c];
        points[b][c] -= step * by[c];
    }
}
