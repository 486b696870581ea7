//! PageRank (Brin and Page 1998) by power iteration in pull form: every node sums what its in-neighbours
//! send, in list order, so that the bits do not depend on the number of threads.

use graphlume_graph::Topology;
use graphlume_types::CancelToken;
use rayon::prelude::*;

use crate::{AlgoError, util};

/// Nodes of one unit of work and of one partial sum.
const BLOCK: usize = 2048;

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
    let n = topology.num_nodes() as usize;
    if n == 0 {
        return Ok(Vec::new());
    }
    let pull = Pull::new(topology, weights, options.directed);
    let (alpha, uniform) = (options.alpha, 1.0 / n as f64);
    let mut ranks = vec![uniform; n];
    let mut sent = vec![0.0; n];
    let mut change = f64::INFINITY;
    for _ in 0..options.max_iter {
        cancel.check()?;
        let dangling = pull.send(&ranks, &mut sent);
        let base = (1.0 - alpha + alpha * dangling) * uniform;
        let changes: Vec<f64> = ranks
            .par_chunks_mut(BLOCK)
            .enumerate()
            .map(|(b, ranks)| {
                let mut change = 0.0;
                for (i, rank) in ranks.iter_mut().enumerate() {
                    let next = base + alpha * pull.receive(b * BLOCK + i, &sent);
                    change += (next - *rank).abs();
                    *rank = next;
                }
                change
            })
            .collect();
        change = changes.iter().sum();
        if change < options.tol {
            break;
        }
    }
    if change >= options.tol && options.must_converge {
        let iterations = options.max_iter;
        return Err(AlgoError::NotConverged { algorithm: "pagerank", iterations, change });
    }
    let total: f64 =
        ranks.par_chunks(BLOCK).map(|c| c.iter().sum::<f64>()).collect::<Vec<_>>().iter().sum();
    ranks.par_iter_mut().for_each(|r| *r /= total);
    Ok(ranks)
}

/// The graph as the iteration reads it.
struct Pull<'a> {
    topology: &'a Topology,
    directed: bool,
    /// 1 over the weight that leaves each node; 0 when none does.
    inverse: Vec<f64>,
    /// Weights of all arcs and where each node's start, when there are weights.
    arcs: Option<(Vec<usize>, Vec<f32>)>,
}

impl<'a> Pull<'a> {
    fn new(topology: &'a Topology, weights: Option<&[f32]>, directed: bool) -> Self {
        let n = topology.num_nodes();
        let arcs = weights.map(|w| {
            let mut at = 0;
            let starts: Vec<usize> = (0..n)
                .map(|v| {
                    let start = at;
                    at += topology.degree(v) as usize;
                    start
                })
                .collect();
            (starts, util::arc_weights(topology, w))
        });
        let leaving = |v: u32| -> f64 {
            let count = if directed { topology.out_degree(v) } else { topology.degree(v) };
            match &arcs {
                None => f64::from(count),
                Some((starts, w)) => {
                    let start = starts[v as usize];
                    w[start..start + count as usize].iter().map(|w| f64::from(*w)).sum()
                }
            }
        };
        let inverse = (0..n)
            .into_par_iter()
            .map(|v| Some(leaving(v)).filter(|w| *w > 0.0).map_or(0.0, |w| 1.0 / w))
            .collect();
        Self { topology, directed, inverse, arcs }
    }

    /// Fills `sent` with what each node sends per unit of weight; returns the rank that goes nowhere.
    fn send(&self, ranks: &[f64], sent: &mut [f64]) -> f64 {
        let parts: Vec<f64> = sent
            .par_chunks_mut(BLOCK)
            .zip(ranks.par_chunks(BLOCK).zip(self.inverse.par_chunks(BLOCK)))
            .map(|(sent, (ranks, inverse))| {
                let mut dangling = 0.0;
                for (s, (r, i)) in sent.iter_mut().zip(ranks.iter().zip(inverse)) {
                    *s = r * i;
                    dangling += if *i == 0.0 { *r } else { 0.0 };
                }
                dangling
            })
            .collect();
        parts.iter().sum()
    }

    fn receive(&self, v: usize, sent: &[f64]) -> f64 {
        let v32 = v as u32;
        let (outs, ins) = (self.topology.out_neighbors(v32), self.topology.in_neighbors(v32));
        match &self.arcs {
            None => {
                let from_ins = gather(ins, sent);
                if self.directed { from_ins } else { from_ins + gather(outs, sent) }
            }
            Some((starts, w)) => {
                let (out_w, in_w) =
                    w[starts[v]..starts[v] + outs.len() + ins.len()].split_at(outs.len());
                let weighted = |ends: &[u32], w: &[f32]| -> f64 {
                    ends.iter().zip(w).map(|(u, w)| sent[*u as usize] * f64::from(*w)).sum()
                };
                let from_ins = weighted(ins, in_w);
                if self.directed { from_ins } else { from_ins + weighted(outs, out_w) }
            }
        }
    }
}

/// Sum of `sent` over `ends` in four interleaved chains, always in the same way.
fn gather(ends: &[u32], sent: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let mut fours = ends.chunks_exact(4);
    for four in &mut fours {
        for (s, u) in sums.iter_mut().zip(four) {
            *s += sent[*u as usize];
        }
    }
    let rest: f64 = fours.remainder().iter().map(|u| sent[*u as usize]).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

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
