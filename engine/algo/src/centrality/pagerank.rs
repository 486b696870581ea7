//! PageRank (Brin and Page 1998) by power iteration in pull form: every node sums what its in-neighbours
//! send, in list order, so that the bits do not depend on the number of threads.
//!
//! The iteration is linear, so it may run on the last change instead of the ranks: the change of the next
//! step is the step applied to the change of this one. Changes fit single precision, however small they
//! are; the ranks are kept in double precision, and from time to time one step is taken on them as a
//! whole, which gives the true change and removes what rounding has left (iterative refinement, Wilkinson
//! 1963). Only that change is compared with the tolerance.

use graphlume_graph::Topology;
use graphlume_types::CancelToken;
use rayon::prelude::*;

use super::personalized;
use super::rows::{Real, Rows, WINDOW_NODES};
use crate::input::Sign;
use crate::spec::{
    AlgorithmSpec, Cost, DIRECTED, Dtype, UNIT, VERTICES, WEIGHTS, cugraph, ignored, igraph, only,
    output, param,
};
use crate::{AlgoError, Output, ParamValues, Values, libraries};

/// Single precision is trusted until a change has shrunk to this part of the one it began with.
const SHRINK_MAX: f64 = 1e-5;

/// Parameters of [`run`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Probability of following an edge.
    pub alpha: f64,
    /// Change, summed over all nodes, below which the ranks are final.
    pub tol: f64,
    /// Iterations at most.
    pub max_iter: u64,
    /// Whether edges lead one way only.
    pub directed: bool,
    /// Whether not reaching `tol` is an error.
    pub must_converge: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { alpha: 0.85, tol: 1e-5, max_iter: 100, directed: true, must_converge: true }
    }
}

/// Ranks and the way to them.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranks {
    /// The rank of every node; they sum to 1.
    pub ranks: Vec<f64>,
    /// Iterations done.
    pub iterations: u64,
    /// Change of the last one, summed over all nodes.
    pub change: f64,
}

/// The rank of every node; the ranks sum to 1. Parallel edges add up, nodes without out-edges spread their
/// rank over all nodes. `weights` are by edge table row: one that is not a number counts as 1, a negative
/// one as 0.
///
/// # Errors
/// [`AlgoError::NotConverged`] when [`Options::must_converge`], and [`AlgoError::Cancelled`].
pub fn run(
    topology: &Topology,
    weights: Option<&[f32]>,
    options: Options,
    cancel: &CancelToken,
) -> Result<Vec<f64>, AlgoError> {
    ranks(topology, weights, options, cancel).map(|r| r.ranks)
}

/// As [`run`], with the number of iterations.
///
/// # Errors
/// As [`run`].
pub fn ranks(
    topology: &Topology,
    weights: Option<&[f32]>,
    options: Options,
    cancel: &CancelToken,
) -> Result<Ranks, AlgoError> {
    let n = topology.num_nodes() as usize;
    if n == 0 {
        return Ok(Ranks { ranks: Vec::new(), iterations: 0, change: 0.0 });
    }
    cancel.check()?;
    let rows = Rows::new(topology, weights, options.directed);
    let mut iterate = Iterate::new(&rows, options.alpha);
    let (mut iterations, mut change) = (0, f64::INFINITY);
    // The change that single precision began with, and what the next one will be, going by the last two.
    let (mut begin, mut next) = (f64::INFINITY, f64::INFINITY);
    while iterations < options.max_iter {
        cancel.check()?;
        let whole = iterations == 0 || next < options.tol.max(SHRINK_MAX * begin);
        let now = if whole { iterate.whole() } else { iterate.change() };
        iterations += 1;
        if whole {
            begin = now;
        }
        let shrink = if change.is_finite() && change > 0.0 { now / change } else { 1.0 };
        (change, next) = (now, now * shrink.min(options.alpha));
        if whole && change < options.tol {
            break;
        }
    }
    if change >= options.tol && options.must_converge {
        return Err(AlgoError::NotConverged { algorithm: "pagerank", iterations, change });
    }
    Ok(Ranks { ranks: iterate.finish(), iterations, change })
}

/// Ranks on the way.
struct Iterate<'a> {
    rows: &'a Rows,
    alpha: f64,
    ranks: Vec<f64>,
    /// What each node sends of its last change on each edge, then a 0.
    sent: Vec<f32>,
    spare: Vec<f32>,
    /// Part of the last change that leaves no node along edges.
    dangling: f64,
}

impl<'a> Iterate<'a> {
    fn new(rows: &'a Rows, alpha: f64) -> Self {
        let n = rows.inverse.len();
        let ranks = vec![1.0 / n as f64; n];
        Self { rows, alpha, ranks, sent: vec![0.0; n + 1], spare: vec![0.0; n + 1], dangling: 0.0 }
    }

    /// One step on the last change; returns the sum of the new one.
    fn change(&mut self) -> f64 {
        let (alpha, base) = (self.alpha, self.alpha * self.dangling / self.ranks.len() as f64);
        let sent = std::mem::take(&mut self.sent);
        let sum = self.pass(&sent, |rank, received| {
            let change = base + alpha * received;
            *rank += change;
            change
        });
        self.sent = std::mem::replace(&mut self.spare, sent);
        sum
    }

    /// One step on the ranks as a whole; returns the sum of the change.
    fn whole(&mut self) -> f64 {
        let n = self.ranks.len();
        let mut sent = vec![0.0; n + 1];
        let parts: Vec<f64> = sent[..n]
            .par_chunks_mut(WINDOW_NODES)
            .zip(self.ranks.par_chunks(WINDOW_NODES))
            .zip(self.rows.inverse.par_chunks(WINDOW_NODES))
            .map(|((sent, ranks), inverse)| {
                let mut dangling = 0.0;
                for ((s, r), i) in sent.iter_mut().zip(ranks).zip(inverse) {
                    *s = r * i;
                    dangling += if *i == 0.0 { *r } else { 0.0 };
                }
                dangling
            })
            .collect();
        let dangling: f64 = parts.iter().sum();
        let alpha = self.alpha;
        let base = (1.0 - alpha + alpha * dangling) / n as f64;
        let sum = self.pass(&sent, |rank, received| {
            let change = base + alpha * received - *rank;
            *rank += change;
            change
        });
        std::mem::swap(&mut self.sent, &mut self.spare);
        sum
    }

    /// Sums all rows of `sent` and gives the sums to `apply`, which changes the rank and returns the
    /// change. Writes what the changes send to `spare`; returns the sum of their absolute values.
    fn pass<T: Real>(&mut self, sent: &[T], apply: impl Fn(&mut f64, f64) -> f64 + Sync) -> f64 {
        let n = self.ranks.len();
        assert_eq!(sent.len(), n + 1, "every node sends, and the padding");
        let (mut ranks, mut next) = (self.ranks.as_mut_slice(), &mut self.spare[..n]);
        let mut inverse = self.rows.inverse.as_slice();
        let mut jobs = Vec::with_capacity(self.rows.windows.len());
        for window in &self.rows.windows {
            let (r, i, s);
            (r, ranks) = ranks.split_at_mut(window.nodes);
            (i, inverse) = inverse.split_at(window.nodes);
            (s, next) = next.split_at_mut(window.nodes);
            jobs.push((window, r, i, s));
        }
        let parts: Vec<(f64, f64)> = jobs
            .into_par_iter()
            .with_max_len(1)
            .map(|(window, ranks, inverse, next)| {
                let mut buffer = [0.0; WINDOW_NODES];
                let sums = &mut buffer[..window.nodes];
                window.sum(sent, sums);
                for ((s, r), (i, next)) in sums.iter_mut().zip(ranks).zip(inverse.iter().zip(next))
                {
                    *s = apply(r, *s);
                    *next = f32::of(*s * i);
                }
                (lane_sum(sums, inverse, |s, _| s.abs()), dangling(sums, inverse))
            })
            .collect();
        self.dangling = parts.iter().map(|p| p.1).sum();
        parts.iter().map(|p| p.0).sum()
    }

    fn finish(self) -> Vec<f64> {
        let mut ranks = self.ranks;
        let parts: Vec<f64> = ranks.par_chunks(WINDOW_NODES).map(|c| c.iter().sum()).collect();
        let total: f64 = parts.iter().sum();
        ranks.par_iter_mut().with_min_len(WINDOW_NODES).for_each(|r| *r /= total);
        ranks
    }
}

fn dangling(changes: &[f64], inverse: &[f64]) -> f64 {
    lane_sum(changes, inverse, |s, i| if i == 0.0 { s } else { 0.0 })
}

/// Sum of `f` over pairs in eight interleaved chains, always in the same way.
fn lane_sum(a: &[f64], b: &[f64], f: impl Fn(f64, f64) -> f64) -> f64 {
    let mut sums = [0.0; 8];
    let (a8, b8) = (a.chunks_exact(8), b.chunks_exact(8));
    let rest: f64 = a8.remainder().iter().zip(b8.remainder()).map(|(x, y)| f(*x, *y)).sum();
    for (x, y) in a8.zip(b8) {
        for ((s, x), y) in sums.iter_mut().zip(x).zip(y) {
            *s += f(*x, *y);
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// The options of cuGraph's `pagerank`.
pub(crate) fn cugraph_options(p: &ParamValues) -> Options {
    let default = Options::default();
    let fixed = p.limit("iterations");
    Options {
        alpha: p.float("alpha").unwrap_or(default.alpha),
        // No change is below 0, so that the number of iterations alone ends the run.
        tol: if fixed.is_some() { 0.0 } else { p.float("tol").unwrap_or(default.tol) },
        max_iter: fixed.unwrap_or_else(|| p.count("max_iter")),
        directed: p.bool("directed"),
        must_converge: fixed.is_none() && p.bool("fail_on_nonconvergence"),
    }
}

/// cuGraph's `pagerank`.
pub static CUGRAPH: AlgorithmSpec = AlgorithmSpec {
    id: "pagerank",
    names: &[cugraph("pagerank")],
    params: &[
        param("alpha", Dtype::Float, "0.85", UNIT, "probability of following an edge"),
        param("max_iter", Dtype::Int, "100", Some((1.0, 1e6)), "iterations at most"),
        param(
            "tol",
            Dtype::Float,
            "1e-5",
            Some((0.0, 1.0)),
            "total change at which the ranks are final; at the default, which is cuGraph's, a single \
             rank may be some per cent off: 1e-10 makes all right to a millionth",
        ),
        param(
            "fail_on_nonconvergence",
            Dtype::Bool,
            "true",
            None,
            "make not reaching tol an error",
        ),
        param(
            "personalization",
            Dtype::NodeValues,
            "null",
            None,
            "where a walk begins again and goes on from dead ends; null is anywhere",
        ),
        param(
            "iterations",
            Dtype::Int,
            "null",
            Some((1.0, 1e6)),
            "exactly so many iterations, whatever tol and max_iter are; null ends by them",
        ),
        param("nstart", Dtype::NodeValues, "null", None, "ranks to begin with"),
        param(
            "precomputed_vertex_out_weight",
            Dtype::NodeValues,
            "null",
            None,
            "weight of the edges that leave each node, where it is known",
        ),
        DIRECTED,
    ],
    accepted: &[ignored("dangling")],
    outputs: &[output("pagerank", Dtype::Float, "rank; the ranks of all nodes sum to 1")],
    doc: "PageRank (Brin and Page 1998) by power iteration, with edge weights when there are some.",
    run: |input, p| {
        if let Some(made) = personalized::cugraph(input, p)? {
            return Ok(made);
        }
        let options = cugraph_options(p);
        let weights = input.weights(p, Sign::NotNegative)?;
        let seen = libraries::seen(input, !options.directed, weights.as_deref())?;
        let done = ranks(&seen.topology, seen.weights.as_deref(), options, input.cancel)?;
        Ok(Output::one("pagerank", Values::F64(done.ranks)).after(done.iterations))
    },
    paper: "Brin and Page 1998",
    cost: Cost::Iterative,
    ..AlgorithmSpec::BASE
};

/// What igraph's `pagerank` asks for, of the CPU and of the GPU.
pub(crate) fn igraph_options(p: &ParamValues) -> Options {
    Options {
        alpha: p.float("damping").unwrap_or(0.85),
        tol: 1e-12,
        max_iter: 300_000,
        directed: p.bool("directed"),
        must_converge: false,
    }
}

/// igraph's `pagerank`.
pub static IGRAPH: AlgorithmSpec = AlgorithmSpec {
    id: "pagerank_igraph",
    names: &[igraph("pagerank")],
    params: &[
        param(
            "damping",
            Dtype::Float,
            "0.85",
            Some((0.0, 0.9999)),
            "probability of following an edge",
        ),
        DIRECTED,
        WEIGHTS,
        VERTICES,
    ],
    accepted: &[ignored("arpack_options"), only("implementation", r#"["prpack", "arpack"]"#)],
    outputs: &[output("pagerank", Dtype::Float, "rank; the ranks of all nodes sum to 1")],
    doc: "PageRank (Brin and Page 1998), to a total change of 1e-12.",
    run: |input, p| {
        let options = igraph_options(p);
        let weights = input.weights(p, Sign::NotNegative)?;
        let seen = libraries::seen(input, !options.directed, weights.as_deref())?;
        let done = ranks(&seen.topology, seen.weights.as_deref(), options, input.cancel)?;
        let kept = input.nodes(p, "vertices")?;
        let ranks = Values::F64(done.ranks).only(kept.as_deref());
        Ok(Output::one("pagerank", ranks).after(done.iterations))
    },
    paper: "Brin and Page 1998",
    cost: Cost::Iterative,
    ..AlgorithmSpec::BASE
};

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::testkit;

    /// Dense power iteration, edge by edge.
    fn naive(t: &Topology, weights: &[f32], directed: bool) -> Vec<f64> {
        let n = t.num_nodes() as usize;
        let mut arcs = Vec::new();
        for pos in 0..t.num_edges() {
            let (a, b, row) = t.edge(pos);
            let w = f64::from(weights[row as usize]);
            arcs.push((a as usize, b as usize, w));
            if !directed {
                arcs.push((b as usize, a as usize, w));
            }
        }
        let mut leaving = vec![0.0; n];
        arcs.iter().for_each(|(a, _, w)| leaving[*a] += w);
        let mut x = vec![1.0 / n as f64; n];
        for _ in 0..300 {
            let dangling: f64 = (0..n).filter(|v| leaving[*v] == 0.0).map(|v| x[v]).sum();
            let mut next = vec![(0.15 + 0.85 * dangling) / n as f64; n];
            arcs.iter().filter(|(a, _, _)| leaving[*a] > 0.0).for_each(|(a, b, w)| {
                next[*b] += 0.85 * x[*a] * w / leaving[*a];
            });
            x = next;
        }
        x
    }

    #[test]
    fn ranks_are_those_of_dense_iteration() {
        for (name, t) in testkit::zoo().into_iter().filter(|(_, t)| t.num_nodes() > 0) {
            let weights: Vec<f32> = (0..t.num_edges()).map(|r| (r % 5) as f32).collect();
            let ones = vec![1.0; weights.len()];
            for directed in [true, false] {
                let options = Options { directed, tol: 1e-13, max_iter: 500, ..Options::default() };
                for (given, full) in [(None, &ones), (Some(weights.as_slice()), &weights)] {
                    let got = run(&t, given, options, &CancelToken::new()).unwrap();
                    assert!((got.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{name}");
                    for (g, w) in got.iter().zip(naive(&t, full, directed)) {
                        assert!((g - w).abs() < 1e-10, "{name} directed {directed}: {g} {w}");
                    }
                }
            }
        }
    }

    #[test]
    fn too_few_iterations_are_an_error_unless_allowed() {
        let t = testkit::karate();
        let options = Options { max_iter: 2, tol: 1e-12, ..Options::default() };
        let e = run(&t, None, options, &CancelToken::new()).unwrap_err();
        assert!(matches!(e, AlgoError::NotConverged { iterations: 2, .. }));
        assert!(
            run(&t, None, Options { must_converge: false, ..options }, &CancelToken::new()).is_ok()
        );
    }

    #[test]
    fn the_bits_do_not_depend_on_threads() {
        let t = testkit::planted(5000, 10, 0.005, 0.0005);
        let [a, b, c] = testkit::at_1_2_3_threads(|| {
            run(&t, None, Options::default(), &CancelToken::new()).unwrap()
        });
        assert!(a == b && b == c);
    }
}
