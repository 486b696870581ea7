//! k-means (Lloyd 1982) from centres that k-means++ draws (Arthur and Vassilvitskii 2007): the best of ten runs.

use graphlume_types::CancelToken;
use graphlume_types::hash::unit_f64;
use rayon::prelude::*;

use crate::AlgoError;

/// Runs, of which the best counts.
const RUNS: u64 = 10;
/// Points that one task looks at.
const CHUNK: usize = 2048;
/// Coordinates compared between two looks at the cancel token.
const WORK_PER_CHECK: usize = 1 << 20;

/// What the clusters are looked for by.
#[derive(Clone, Copy)]
pub(super) struct Rule {
    pub(super) clusters: usize,
    pub(super) dimensions: usize,
    pub(super) tolerance: f64,
    pub(super) rounds: u32,
    pub(super) seed: u64,
}

/// The cluster of each point. `points` has the coordinates of one point after the other.
pub(super) fn run(points: &[f64], rule: Rule, cancel: &CancelToken) -> Result<Vec<u32>, AlgoError> {
    let count = points.len() / rule.dimensions.max(1);
    if count <= rule.clusters {
        return Ok((0..count as u32).collect());
    }
    let runs: Vec<(f64, Vec<u32>)> = (0..RUNS)
        .into_par_iter()
        .map(|k| lloyd(points, rule, k, cancel))
        .collect::<Result<_, AlgoError>>()?;
    let best = runs.into_iter().reduce(|a, b| if b.0 < a.0 { b } else { a });
    Ok(best.map_or_else(Vec::new, |b| b.1))
}

/// The square of the distance of two points.
#[inline]
fn square(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum()
}

/// One run: the sum of squares and the clusters.
fn lloyd(
    points: &[f64],
    rule: Rule,
    run: u64,
    cancel: &CancelToken,
) -> Result<(f64, Vec<u32>), AlgoError> {
    let d = rule.dimensions;
    let mut centres = first_centres(points, rule, run, cancel)?;
    let count = points.len() / d;
    let mut nearest = vec![(0u32, 0.0f64); count];
    let mut before = f64::INFINITY;
    for _ in 0..rule.rounds {
        cancel.check()?;
        let sums: Vec<Sums> = nearest
            .par_chunks_mut(CHUNK)
            .zip(points.par_chunks(CHUNK * d))
            .map(|(own, points)| assign(own, points, &centres, rule, cancel))
            .collect::<Result<_, AlgoError>>()?;
        let mut all = Sums::new(rule);
        sums.iter().for_each(|s| all.add(s));
        for c in 0..rule.clusters {
            let centre = &mut centres[c * d..(c + 1) * d];
            if all.counts[c] > 0 {
                let by = 1.0 / all.counts[c] as f64;
                centre.iter_mut().zip(&all.places[c * d..]).for_each(|(x, s)| *x = s * by);
            } else {
                // A cluster without points begins anew at the point farthest from its centre.
                let far = (0..count).max_by(|a, b| nearest[*a].1.total_cmp(&nearest[*b].1));
                let far = far.unwrap_or(0);
                centre.copy_from_slice(&points[far * d..(far + 1) * d]);
                nearest[far].1 = 0.0;
            }
        }
        if all.squares >= before * (1.0 - rule.tolerance) && !all.counts.contains(&0) {
            before = before.min(all.squares);
            break;
        }
        before = all.squares;
    }
    Ok((before, nearest.into_iter().map(|n| n.0).collect()))
}

/// Sums over the points of each cluster.
struct Sums {
    places: Vec<f64>,
    counts: Vec<usize>,
    squares: f64,
}

impl Sums {
    fn new(rule: Rule) -> Self {
        let places = vec![0.0; rule.clusters * rule.dimensions];
        Self { places, counts: vec![0; rule.clusters], squares: 0.0 }
    }

    fn add(&mut self, other: &Self) {
        self.places.iter_mut().zip(&other.places).for_each(|(a, b)| *a += b);
        self.counts.iter_mut().zip(&other.counts).for_each(|(a, b)| *a += b);
        self.squares += other.squares;
    }
}

/// Bytes of all runs on `count` points at a time, the points themselves too.
pub(super) fn bytes_of(count: usize, rule: Rule) -> u64 {
    let runs = (rayon::current_num_threads() as u64).min(RUNS);
    let sums = count.div_ceil(CHUNK) as u64 + 2;
    let centres = (rule.clusters as u64).saturating_mul(rule.dimensions as u64);
    let points = (count as u64).saturating_mul(rule.dimensions as u64);
    centres.saturating_mul(sums * runs).saturating_add(points).saturating_mul(8)
}

/// Puts each point to its nearest centre.
fn assign(
    own: &mut [(u32, f64)],
    points: &[f64],
    centres: &[f64],
    rule: Rule,
    cancel: &CancelToken,
) -> Result<Sums, AlgoError> {
    let d = rule.dimensions;
    let (mut sums, mut passed) = (Sums::new(rule), 0);
    for (own, point) in own.iter_mut().zip(points.chunks_exact(d)) {
        passed += centres.len();
        if passed >= WORK_PER_CHECK {
            cancel.check()?;
            passed = 0;
        }
        let mut best = (0, f64::INFINITY);
        for (c, centre) in centres.chunks_exact(d).enumerate() {
            let far = square(point, centre);
            if far < best.1 {
                best = (c, far);
            }
        }
        *own = (best.0 as u32, best.1);
        let place = &mut sums.places[best.0 * d..(best.0 + 1) * d];
        place.iter_mut().zip(point).for_each(|(s, x)| *s += x);
        sums.counts[best.0] += 1;
        sums.squares += best.1;
    }
    Ok(sums)
}

/// Centres among the points, each drawn in proportion to its square distance from those before.
fn first_centres(
    points: &[f64],
    rule: Rule,
    run: u64,
    cancel: &CancelToken,
) -> Result<Vec<f64>, AlgoError> {
    let d = rule.dimensions;
    let count = points.len() / d;
    let mut far = vec![f64::INFINITY; count];
    let mut next = (unit_f64(rule.seed, 90 + run, 0) * count as f64) as usize;
    let mut centres = Vec::with_capacity(rule.clusters * d);
    for c in 1..=rule.clusters {
        cancel.check()?;
        let centre = &points[next.min(count - 1) * d..][..d];
        centres.extend_from_slice(centre);
        let sums: Vec<f64> = far
            .par_chunks_mut(CHUNK)
            .zip(points.par_chunks(CHUNK * d))
            .map(|(far, points)| {
                let near = far.iter_mut().zip(points.chunks_exact(d));
                near.map(|(f, p)| {
                    *f = f.min(square(p, centre));
                    *f
                })
                .sum()
            })
            .collect();
        let mut left = unit_f64(rule.seed, 90 + run, c as u64) * sums.iter().sum::<f64>();
        let chunk = sums.iter().position(|s| {
            let inside = left < *s;
            left -= if inside { 0.0 } else { *s };
            inside
        });
        let start = chunk.unwrap_or(0) * CHUNK;
        let within = far[start..].iter().position(|f| {
            left -= f;
            left < 0.0
        });
        next = start + within.unwrap_or(0);
    }
    Ok(centres)
}
