//! Local moving on one level: the state that batches and sub-rounds share, and batches.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use graphlume_types::CancelToken;
use graphlume_types::hash::h64;
use rayon::prelude::*;

use super::{Options, SEQUENTIAL_NODES_MAX};
use crate::AlgoError;
use crate::tally::{Tallies, Tally};
use crate::weight::Weight;
use crate::weighted_graph::{CHUNK_ARCS, WeightedGraph};

/// Batches of one round over a larger graph, at most.
const BATCHES: usize = 256;
/// Arcs of a batch, at least; a round with fewer has batches of one.
const BATCH_ARCS_MIN: usize = 1 << 13;
/// Nodes that follow each other in the order of visits, for their lists lie side by side.
const BLOCK: u32 = 32;
/// Rounds of one level at most.
const ROUNDS_MAX: usize = 24;

/// Runs `$body` with the function that gives the weight of a list entry, in 32 bits where all weights together fit.
macro_rules! by_weight {
    ($net:ident, |$weight:ident| $body:expr) => {{
        let small = u32::try_from($net.total_strength()).is_ok();
        match &$net.weights {
            Weights::Unit if small => {
                let $weight = |_: usize| 1u32;
                $body
            }
            Weights::Unit => {
                let $weight = |_: usize| 1u64;
                $body
            }
            Weights::Small(w) => {
                let $weight = |k: usize| w[k];
                $body
            }
            Weights::Large(w) => {
                let $weight = |k: usize| w[k];
                $body
            }
        }
    }};
}
pub(super) use by_weight;

/// What the moving phase goes by.
#[derive(Clone, Copy)]
pub(super) struct Rule {
    pub(super) seed: u64,
    /// Gain of modularity in a round below which the level ends.
    pub(super) gain_min: f64,
    resolution: f64,
    /// Twice the weight of all edges.
    pub(super) twice: f64,
}

impl Rule {
    pub(super) fn new(graph: &WeightedGraph, options: &Options, seed: u64, gain_min: f64) -> Self {
        let twice = graph.total_strength() as f64;
        Self { seed, gain_min, resolution: options.resolution, twice }
    }
}

/// A node that wants to move.
pub(super) struct Move {
    pub(super) node: u32,
    pub(super) to: u32,
    /// By how much the links to the other community outweigh those to its own.
    links: f64,
    /// What it gains, in units of edge weight, as long as no other node moves.
    pub(super) gain: f64,
}

/// The nodes in blocks that a hash puts in order: tables often name their hubs first, and batches that begin with all of them
/// find communities that are worse by a fortieth, in twice the time.
fn by_blocks(seed: u64, n: u32) -> Vec<u32> {
    let mut blocks: Vec<u32> = (0..n.div_ceil(BLOCK)).collect();
    blocks.sort_by_cached_key(|block| h64(seed, 79, u64::from(*block)));
    let nodes = |block: u32| block * BLOCK..n.min((block + 1) * BLOCK);
    blocks.into_iter().flat_map(nodes).collect()
}

/// The state of one level.
pub(super) struct Moving<'a, W, F> {
    pub(super) net: &'a WeightedGraph,
    pub(super) rule: Rule,
    /// Weight of each list entry.
    weight: F,
    pub(super) labels: Vec<u32>,
    pub(super) strength: Vec<W>,
    /// Sum of the strengths of each community.
    pub(super) total: Vec<W>,
    pub(super) tallies: Tallies<W>,
    /// Nodes whose surroundings changed since they last decided.
    pub(super) active: Vec<AtomicBool>,
    /// List entries that deciding nodes looked at.
    pub(super) visits: u64,
}

impl<'a, W: Weight, F: Fn(usize) -> W + Sync> Moving<'a, W, F> {
    pub(super) fn new(graph: &'a WeightedGraph, labels: Vec<u32>, rule: Rule, weight: F) -> Self {
        let n = graph.num_nodes();
        let strength: Vec<W> =
            (0..n).into_par_iter().with_min_len(1024).map(|v| W::of(graph.strength(v))).collect();
        let mut total = vec![W::default(); n];
        for (l, s) in labels.iter().zip(&strength) {
            total[*l as usize] += *s;
        }
        let active = (0..n).map(|_| AtomicBool::new(true)).collect();
        let tallies = Tallies::new(n);
        Self { net: graph, rule, weight, labels, strength, total, tallies, active, visits: 0 }
    }

    pub(super) fn run(mut self, cancel: &CancelToken) -> Result<(Vec<u32>, u64), AlgoError> {
        let n = self.net.num_nodes();
        let small = n <= SEQUENTIAL_NODES_MAX;
        let order =
            if small { (0..n as u32).collect() } else { by_blocks(self.rule.seed, n as u32) };
        let mut list: Vec<u32> = Vec::new();
        // Nodes of a graph without weight have nowhere to go.
        let rounds = if self.rule.twice == 0.0 { 0 } else { ROUNDS_MAX };
        for round in 0..rounds {
            cancel.check()?;
            list.clear();
            let awake = |v: &&u32| small || self.active[**v as usize].load(Relaxed);
            list.extend(order.iter().filter(awake));
            if list.is_empty() {
                break;
            }
            let first = h64(self.rule.seed, 77, round as u64) as usize % list.len();
            list.rotate_left(first);
            let arcs = if small { 0 } else { list.iter().map(|v| self.degree(*v)).sum() };
            let gain = if arcs < BATCH_ARCS_MIN {
                self.one_by_one(&list)
            } else {
                // In the first round nearly all move, so all stay awake: cheaper than waking them.
                self.by_batches(&list, arcs, round > 0, cancel)?
            };
            if gain * 2.0 / self.rule.twice < self.rule.gain_min {
                break;
            }
        }
        Ok((self.labels, self.visits))
    }

    #[inline]
    pub(super) fn degree(&self, v: u32) -> usize {
        self.net.offsets[v as usize + 1] - self.net.offsets[v as usize]
    }

    /// Visits the nodes of `list` that are active when their turn comes; returns the gain.
    fn one_by_one(&mut self, list: &[u32]) -> f64 {
        let mut gain = 0.0;
        for v in list {
            if !self.active[*v as usize].swap(false, Relaxed) {
                continue;
            }
            self.visits += self.degree(*v) as u64;
            if let Some(m) = self.tallies.with(|tally| self.best(*v, tally)) {
                gain += self.apply(&m).unwrap_or(0.0);
                self.wake(&m);
            }
        }
        gain
    }

    fn by_batches(
        &mut self,
        list: &[u32],
        arcs: usize,
        rest_after: bool,
        cancel: &CancelToken,
    ) -> Result<f64, AlgoError> {
        let mut gain = 0.0;
        self.visits += arcs as u64;
        let batch_arcs = (arcs / BATCHES).max(BATCH_ARCS_MIN);
        let mut rest = list;
        while !rest.is_empty() {
            cancel.check()?;
            let (batch, next) = self.cut(rest, batch_arcs);
            rest = next;
            let decide = |chunk: &[u32]| {
                if rest_after {
                    chunk.iter().for_each(|v| self.active[*v as usize].store(false, Relaxed));
                }
                self.tallies
                    .with(|tally| chunk.iter().filter_map(|v| self.best(*v, tally)).collect())
            };
            let wishes: Vec<Vec<Move>> = self.chunks(batch).into_par_iter().map(decide).collect();
            let mut moves: Vec<Move> = Vec::new();
            for m in wishes.into_iter().flatten() {
                match self.apply(&m) {
                    Some(better) => {
                        gain += better;
                        moves.push(m);
                    }
                    // Others came first: it decides anew in the next round.
                    None => self.active[m.node as usize].store(true, Relaxed),
                }
            }
            if rest_after {
                moves.par_iter().with_min_len(64).for_each(|m| self.wake(m));
            }
        }
        Ok(gain)
    }

    /// Nodes in units of parallel work.
    pub(super) fn chunks<'b>(&self, list: &'b [u32]) -> Vec<&'b [u32]> {
        let (mut chunks, mut left) = (Vec::new(), list);
        while !left.is_empty() {
            let (chunk, next) = self.cut(left, CHUNK_ARCS / 4);
            chunks.push(chunk);
            left = next;
        }
        chunks
    }

    /// Splits off the first nodes, with about `arcs` arcs.
    fn cut<'b>(&self, list: &'b [u32], arcs: usize) -> (&'b [u32], &'b [u32]) {
        let mut sum = 0;
        let end = list.iter().position(|v| {
            sum += self.degree(*v);
            sum >= arcs
        });
        list.split_at(end.map_or(list.len(), |e| e + 1))
    }

    /// The community that `v` had better join, when there is one.
    #[inline(always)]
    pub(super) fn best(&self, v: u32, tally: &mut Tally<W>) -> Option<Move> {
        let range = self.net.offsets[v as usize]..self.net.offsets[v as usize + 1];
        let ends = self.net.ends[range.clone()].iter().enumerate();
        tally.extend(ends.map(|(k, u)| (self.labels[*u as usize], (self.weight)(range.start + k))));
        let (own, k) = (self.labels[v as usize], self.strength[v as usize].float());
        let pull = self.rule.resolution * k / self.rule.twice;
        let links_own = tally.get(own).float();
        let stay = links_own - pull * (self.total[own as usize].float() - k);
        let mut best = (own, stay, 0.0);
        tally.drain(|l, links| {
            let links = links.float();
            let s = links - pull * self.total[l as usize].float();
            if l != own && (s > best.1 || (s == best.1 && l < best.0 && best.0 != own)) {
                best = (l, s, links);
            }
        });
        (best.0 != own && best.1 > stay + 1e-9).then_some(Move {
            node: v,
            to: best.0,
            links: best.2 - links_own,
            gain: best.1 - stay,
        })
    }

    /// Moves the node when that still is a gain; returns the gain in units of edge weight.
    fn apply(&mut self, m: &Move) -> Option<f64> {
        let (own, k) = (self.labels[m.node as usize] as usize, self.strength[m.node as usize]);
        let to = m.to as usize;
        let pull = self.rule.resolution * k.float() / self.rule.twice;
        let more = self.total[to].float() - self.total[own].float() + k.float();
        let gain = m.links - pull * more;
        // An empty community is one whose members have all left since the decision.
        if gain <= 1e-9 || self.total[to] == W::default() {
            return None;
        }
        self.total[own] -= k;
        self.total[to] += k;
        self.labels[m.node as usize] = m.to;
        Some(gain)
    }

    /// Wakes the neighbours of a node that moved.
    #[inline]
    pub(super) fn wake(&self, m: &Move) {
        let v = m.node as usize;
        for u in &self.net.ends[self.net.offsets[v]..self.net.offsets[v + 1]] {
            if self.labels[*u as usize] != m.to {
                self.active[*u as usize].store(true, Relaxed);
            }
        }
    }
}
