//! Local moving over a [`Network`]: what Leiden and the ensemble method have in common with Louvain.
//!
//! A partition is worth the weight inside its communities, less `penalty / 2` times the product of the size of
//! each with itself. Nodes whose surroundings changed are visited in batches; within a batch all decide at once, by what was
//! true before it, and then move one after the other unless earlier moves have made theirs a loss. The batches
//! depend on the graph alone, and so does the result.

use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use graphlume_types::CancelToken;
use graphlume_types::hash::h64;
use rayon::prelude::*;

use super::network::Network;
use crate::AlgoError;
use crate::tally::{Tallies, Tally};
use crate::weighted_graph::{CHUNK_ARCS, Weight};

/// Nodes up to which every batch is a single node.
pub(crate) const SEQUENTIAL_NODES_MAX: usize = 2_048;
/// Batches of one round over a larger graph, at most.
const BATCHES: usize = 128;
/// Arcs of a batch, at least; a round with fewer has batches of one.
const BATCH_ARCS_MIN: usize = 1 << 14;
/// Gain in units of weight below which a move is rounding.
const EPSILON: f64 = 1e-9;
/// In place of a community: the node becomes one of its own.
const ALONE: u32 = u32::MAX;
/// Nodes between two looks at the token.
const CHECK_NODES: usize = 512;

/// What a node or a community counts for. Sizes add up, and the product of two says how many links chance gives them.
pub(crate) trait Size:
    Copy + Default + Send + Sync + Add<Output = Self> + Sub<Output = Self> + AddAssign + SubAssign
{
    fn times(self, factor: f64) -> Self;
    fn product(self, other: Self) -> f64;
}

impl Size for f64 {
    #[inline(always)]
    fn times(self, factor: f64) -> Self {
        factor * self
    }

    #[inline(always)]
    fn product(self, other: Self) -> f64 {
        self * other
    }
}

/// What a partition is worth, and how it is looked for.
#[derive(Clone, Copy)]
pub(crate) struct Rule<'a, S = f64> {
    /// What each node counts for in the size of a community.
    pub(crate) sizes: &'a [S],
    /// What it costs two nodes of size 1 to be together.
    pub(crate) penalty: f64,
    /// The order in which nodes are visited; by index unless given.
    pub(crate) order: Option<&'a [u32]>,
    /// Chooses where each round begins.
    pub(crate) seed: u64,
    /// Gain of a round, in units of weight, below which it is the last.
    pub(crate) gain_min: f64,
    /// Rounds at most.
    pub(crate) rounds: usize,
    /// Nearly all nodes move in the first round, so it lets none rest: cheaper than waking them.
    pub(crate) all_move: bool,
}

/// The communities of the nodes from `labels` on, which are numbered below the number of nodes, after moves, and what the
/// moves gained in units of weight.
pub(crate) fn settle<S: Size>(
    net: &Network,
    labels: Vec<u32>,
    rule: Rule<'_, S>,
    cancel: &CancelToken,
) -> Result<(Vec<u32>, f64), AlgoError> {
    match net.weights.as_deref() {
        None => Moving::new(net, labels, rule, |_| 1_u32).run(cancel),
        Some(w) => Moving::new(net, labels, rule, |at| w[at]).run(cancel),
    }
}

/// A node that wants to move.
struct Move {
    node: u32,
    to: u32,
    /// By how much the links to the other community outweigh those to its own.
    links: f64,
}

struct Moving<'a, S, W, F> {
    net: &'a Network,
    rule: Rule<'a, S>,
    weight: F,
    labels: Vec<u32>,
    /// Size of each community.
    total: Vec<S>,
    /// Nodes of each community.
    count: Vec<u32>,
    /// Communities that lost their last node; some have one again.
    empty: Vec<u32>,
    /// Weights by community, whole numbers where each is 1.
    tallies: Tallies<W>,
    /// Nodes whose surroundings changed since they last decided.
    active: Vec<AtomicBool>,
}

impl<'a, S: Size, W: Weight, F: Fn(usize) -> W + Sync> Moving<'a, S, W, F> {
    fn new(net: &'a Network, labels: Vec<u32>, rule: Rule<'a, S>, weight: F) -> Self {
        let n = net.num_nodes();
        let (mut total, mut count) = (vec![S::default(); n], vec![0; n]);
        for (l, s) in labels.iter().zip(rule.sizes) {
            total[*l as usize] += *s;
            count[*l as usize] += 1;
        }
        let empty = (0..n as u32).rev().filter(|c| count[*c as usize] == 0).collect();
        let active = (0..n).map(|_| AtomicBool::new(true)).collect();
        Self { net, rule, weight, labels, total, count, empty, tallies: Tallies::new(n), active }
    }

    fn run(mut self, cancel: &CancelToken) -> Result<(Vec<u32>, f64), AlgoError> {
        let n = self.net.num_nodes();
        let mut gained = 0.0;
        let small = n <= SEQUENTIAL_NODES_MAX;
        let mut list: Vec<u32> = Vec::new();
        for round in 0..self.rule.rounds {
            cancel.check()?;
            list.clear();
            let due = |v: &u32| small || self.active[*v as usize].load(Relaxed);
            match self.rule.order {
                Some(order) => list.extend(order.iter().copied().filter(due)),
                None => list.extend((0..n as u32).filter(due)),
            }
            if list.is_empty() {
                break;
            }
            let first = h64(self.rule.seed, 77, round as u64) as usize % list.len();
            list.rotate_left(first);
            let arcs =
                if small { 0 } else { list.iter().map(|v| self.net.degree(*v as usize)).sum() };
            let gain = if arcs < BATCH_ARCS_MIN {
                self.one_by_one(&list, cancel)?
            } else {
                self.by_batches(&list, arcs, round > 0 || !self.rule.all_move, cancel)?
            };
            gained += gain;
            if gain <= self.rule.gain_min {
                break;
            }
        }
        Ok((self.labels, gained))
    }

    /// Visits the nodes of `list` that are active when their turn comes; returns the gain.
    fn one_by_one(&mut self, list: &[u32], cancel: &CancelToken) -> Result<f64, AlgoError> {
        let mut gain = 0.0;
        for (k, v) in list.iter().enumerate() {
            if k % CHECK_NODES == 0 {
                cancel.check()?;
            }
            if !self.active[*v as usize].swap(false, Relaxed) {
                continue;
            }
            if let Some(m) = self.tallies.with(|tally| self.best(*v, tally)) {
                gain += self.apply(&m).unwrap_or(0.0);
                self.wake(m.node as usize);
            }
        }
        Ok(gain)
    }

    fn by_batches(
        &mut self,
        list: &[u32],
        arcs: usize,
        rest_after: bool,
        cancel: &CancelToken,
    ) -> Result<f64, AlgoError> {
        let mut gain = 0.0;
        let batch_arcs = (arcs / BATCHES).max(BATCH_ARCS_MIN);
        let mut rest = list;
        while !rest.is_empty() {
            cancel.check()?;
            let (batch, next) = self.cut(rest, batch_arcs);
            rest = next;
            let mut chunks = Vec::new();
            let mut left = batch;
            while !left.is_empty() {
                let (chunk, next) = self.cut(left, CHUNK_ARCS / 4);
                chunks.push(chunk);
                left = next;
            }
            let decide = |chunk: &[u32]| {
                if rest_after {
                    chunk.iter().for_each(|v| self.active[*v as usize].store(false, Relaxed));
                }
                self.tallies
                    .with(|tally| chunk.iter().filter_map(|v| self.best(*v, tally)).collect())
            };
            let wishes: Vec<Vec<Move>> = chunks.into_par_iter().map(decide).collect();
            let mut moved: Vec<u32> = Vec::new();
            for m in wishes.into_iter().flatten() {
                match self.apply(&m) {
                    Some(better) => {
                        gain += better;
                        moved.push(m.node);
                    }
                    // Others came first: it decides anew in the next round.
                    None => self.active[m.node as usize].store(true, Relaxed),
                }
            }
            if rest_after {
                moved.par_iter().with_min_len(64).for_each(|v| self.wake(*v as usize));
            }
        }
        Ok(gain)
    }

    /// Splits off the first nodes, with about `arcs` arcs.
    fn cut<'b>(&self, list: &'b [u32], arcs: usize) -> (&'b [u32], &'b [u32]) {
        let mut sum = 0;
        let end = list.iter().position(|v| {
            sum += self.net.degree(*v as usize);
            sum >= arcs
        });
        list.split_at(end.map_or(list.len(), |e| e + 1))
    }

    /// The community that `v` had better join, when there is one.
    #[inline(always)]
    fn best(&self, v: u32, tally: &mut Tally<W>) -> Option<Move> {
        let range = self.net.range(v as usize);
        let ends = self.net.ends[range.clone()].iter().enumerate();
        tally.extend(ends.map(|(k, u)| (self.labels[*u as usize], (self.weight)(range.start + k))));
        let (own, size) = (self.labels[v as usize], self.rule.sizes[v as usize]);
        let pull = size.times(self.rule.penalty);
        let links_own = tally.get(own).float();
        let stay = links_own - pull.product(self.total[own as usize] - size);
        let mut best = (own, stay, 0.0);
        tally.drain(|l, links| {
            let links = links.float();
            let s = links - pull.product(self.total[l as usize]);
            if l != own && (s > best.1 || (s == best.1 && l < best.0 && best.0 != own)) {
                best = (l, s, links);
            }
        });
        if best.1 < -EPSILON && self.count[own as usize] > 1 {
            best = (ALONE, 0.0, 0.0);
        }
        (best.0 != own && best.1 > stay + EPSILON).then_some(Move {
            node: v,
            to: best.0,
            links: best.2 - links_own,
        })
    }

    /// Moves the node when that still is a gain; returns the gain in units of weight.
    fn apply(&mut self, m: &Move) -> Option<f64> {
        let own = self.labels[m.node as usize] as usize;
        let size = self.rule.sizes[m.node as usize];
        let to = if m.to == ALONE { self.free()? } else { m.to } as usize;
        let more = self.total[to] - self.total[own] + size;
        let gain = m.links - size.times(self.rule.penalty).product(more);
        // An empty community is one whose members have all left since the decision.
        if gain <= EPSILON || (m.to != ALONE && self.count[to] == 0) {
            return None;
        }
        self.total[own] -= size;
        self.count[own] -= 1;
        if self.count[own] == 0 {
            self.total[own] = S::default();
            self.empty.push(own as u32);
        }
        self.total[to] += size;
        self.count[to] += 1;
        self.labels[m.node as usize] = to as u32;
        Some(gain)
    }

    /// A community without nodes.
    fn free(&mut self) -> Option<u32> {
        while let Some(c) = self.empty.last() {
            if self.count[*c as usize] == 0 {
                return Some(*c);
            }
            self.empty.pop();
        }
        None
    }

    /// Wakes the neighbours of a node that moved.
    fn wake(&self, v: usize) {
        for u in &self.net.ends[self.net.range(v)] {
            if self.labels[*u as usize] != self.labels[v] {
                self.active[*u as usize].store(true, Relaxed);
            }
        }
    }
}
