//! Local moving of the Louvain method by sub-rounds, which are chosen by a hash of the node: its nodes decide at once by what
//! was true before it, and then move together. Of two nodes that are alone only one joins the other (Lu, Halappanavar and
//! Kalyanaraman 2015, arXiv 1410.1237), so that pairs do not swap for ever. Once rounds have settled only nodes next to a
//! mover decide again. It is the GPU's rule, here for tests: sums are whole numbers and the order within a sub-round does not
//! matter, so both find the same communities.

use std::sync::atomic::Ordering::Relaxed;

use graphlume_types::CancelToken;
use graphlume_types::hash::h64;
use rayon::prelude::*;

use super::moving::{Move, Moving, Rule, by_weight};
use crate::AlgoError;
use crate::util::prefetch;
use crate::weight::Weight;
use crate::weighted_graph::{WeightedGraph, Weights};

/// Sub-rounds of a round. Fewer make neighbours decide at once too often: with 8 an R-MAT graph of 16 million edges loses .003
/// of its modularity. On a GPU more make launches short.
pub(crate) const SUB_ROUNDS: u32 = 32;
/// First rounds of a level in which every node decides.
pub(crate) const OPEN_ROUNDS: u32 = 2;
/// Rounds of one level at most.
pub(crate) const ROUNDS_MAX: u32 = 24;
/// Gain of modularity in a round of the first level below which the next level begins; a tenth of it on each further level.
const GAIN_MIN: f64 = 2e-3;
/// Parts of a unit of weight in which gains are added up, as in the kernels.
pub(crate) const GAIN_UNITS: f64 = 1024.0;

/// Nodes ahead of the one that decides whose lists are asked for.
const AHEAD: usize = 6;

/// The gain of modularity in a round below which level `depth` ends.
pub(crate) fn gain_min(depth: u64) -> f64 {
    GAIN_MIN / 10f64.powi(depth.min(300) as i32)
}

/// Modularity from gains as they are added up.
pub(crate) fn modularity_of(gain: u64, twice: f64) -> f64 {
    if twice > 0.0 { gain as f64 / GAIN_UNITS * 2.0 / twice } else { 0.0 }
}

/// The sub-round that a round begins with.
pub(crate) fn first_sub_round(seed: u64, round: u32) -> u32 {
    (h64(seed, 77, u64::from(round)) % u64::from(SUB_ROUNDS)) as u32
}

/// The communities of one level, each node alone at first, with the gain of modularity and the list entries looked at.
pub(super) fn settle(
    graph: &WeightedGraph,
    rule: Rule,
    cancel: &CancelToken,
) -> Result<(Vec<u32>, f64, u64), AlgoError> {
    let alone: Vec<u32> = (0..graph.num_nodes() as u32).collect();
    by_weight!(graph, |weight| Moving::new(graph, alone, rule, weight).by_sub_rounds(cancel))
}

impl<W: Weight, F: Fn(usize) -> W + Sync> Moving<'_, W, F> {
    fn by_sub_rounds(mut self, cancel: &CancelToken) -> Result<(Vec<u32>, f64, u64), AlgoError> {
        let mut parts = vec![Vec::new(); SUB_ROUNDS as usize];
        for v in 0..self.net.num_nodes() as u32 {
            let part = h64(self.rule.seed, 78, u64::from(v)) % u64::from(SUB_ROUNDS);
            parts[part as usize].push(v);
        }
        let mut total = 0.0;
        for round in 0..ROUNDS_MAX {
            let first = first_sub_round(self.rule.seed, round);
            let mut gain = 0;
            for part in 0..SUB_ROUNDS {
                cancel.check()?;
                let nodes = &parts[((first + part) % SUB_ROUNDS) as usize];
                gain += self.sub_round(round, nodes);
            }
            let brought = modularity_of(gain, self.rule.twice);
            total += brought;
            if brought < self.rule.gain_min {
                break;
            }
        }
        Ok((self.labels, total, self.visits))
    }

    /// The nodes of one sub-round decide and move; returns what that brings, in parts of a unit of weight.
    fn sub_round(&mut self, round: u32, nodes: &[u32]) -> u64 {
        let decides = |v: &u32| {
            // Before it decides, for its own move may wake it again.
            self.active[*v as usize].swap(false, Relaxed) || round < OPEN_ROUNDS
        };
        let decide = |chunk: &[u32]| {
            self.tallies.with(|tally| {
                let mut visits = 0;
                let mut moves: Vec<Move> = Vec::new();
                for (at, v) in chunk.iter().enumerate() {
                    self.ask_ahead(chunk, at);
                    if !decides(v) {
                        continue;
                    }
                    visits += self.degree(*v) as u64;
                    moves.extend(self.best(*v, tally).filter(|m| !self.waits(m)));
                }
                (moves, visits)
            })
        };
        let decided: Vec<(Vec<Move>, u64)> =
            self.chunks(nodes).into_par_iter().map(decide).collect();
        let mut gained = 0;
        for m in decided.iter().flat_map(|d| &d.0) {
            let (v, k) = (m.node as usize, self.strength[m.node as usize]);
            self.total[self.labels[v] as usize] -= k;
            self.total[m.to as usize] += k;
            self.labels[v] = m.to;
            gained += (m.gain * GAIN_UNITS) as u64;
        }
        if round + 1 >= OPEN_ROUNDS {
            decided.par_iter().for_each(|(moves, _)| moves.iter().for_each(|m| self.wake(m)));
        }
        self.visits += decided.iter().map(|d| d.1).sum::<u64>();
        gained
    }

    /// Brings near what the nodes after position `index` will read: those of a sub-round lie apart.
    #[inline(always)]
    fn ask_ahead(&self, nodes: &[u32], index: usize) {
        if let Some(v) = nodes.get(index + 2 * AHEAD) {
            prefetch(&self.net.offsets, *v as usize);
        }
        if let Some(v) = nodes.get(index + AHEAD) {
            prefetch(&self.net.ends, self.net.offsets[*v as usize]);
        }
    }

    /// Whether a node that is alone leaves it to another such node to join it: the one of the larger label goes.
    #[inline]
    fn waits(&self, m: &Move) -> bool {
        let (own, to) = (self.labels[m.node as usize], m.to as usize);
        let is_alone = self.total[own as usize] == self.strength[m.node as usize];
        is_alone && m.to > own && self.labels[to] == m.to && self.total[to] == self.strength[to]
    }
}
