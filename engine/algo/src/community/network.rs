//! An undirected graph with weights of any sign, and its contraction: what the community methods that take a
//! [`GraphView`] share. Every sum is added in one order, so that its bits do not depend on the threads.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;

use crate::tally::Tallies;
use crate::util::prefetch;
use crate::view::GraphView;
use crate::weight::Weight;
pub(super) use crate::weighted_graph::members_of;
use crate::weighted_graph::{among, by_arcs};

/// Groups that a contraction looks at before it decides whether to add up edges, and their arcs, at most.
const SAMPLED_GROUPS: usize = 64;
const SAMPLED_ARCS: usize = 1 << 14;
/// Share of edges that double another one up to which they stay apart.
const COPIES_MAX: f64 = 0.5;

/// Adjacency of an undirected graph; every edge appears at both ends, loops are kept apart.
pub(crate) struct Network {
    /// Where each node's list starts; one more than nodes.
    pub(crate) offsets: Vec<usize>,
    /// Those of the view where it has them in this form.
    pub(crate) ends: Arc<Vec<u32>>,
    /// Weights of the list entries; `None` means that each is 1.
    pub(crate) weights: Option<Vec<f64>>,
    /// Weight of each node's loops, as often as the view counts them.
    pub(crate) loops: Vec<f64>,
}

impl Network {
    /// The lists of `view`; of a directed one, those of both directions.
    pub(crate) fn new(view: &GraphView<'_>) -> Self {
        let n = view.num_nodes();
        let lists =
            || std::iter::once(view.out()).chain(view.is_directed().then(|| view.incoming()));
        let mut offsets = Vec::with_capacity(n as usize + 1);
        let counts: Vec<(usize, f64)> = (0..n)
            .into_par_iter()
            .with_min_len(1024)
            .map(|v| {
                let (mut others, mut own) = (0, 0.0);
                for list in lists() {
                    let at = among(list.neighbors(v), v);
                    others += list.degree(v) as usize - at.len();
                    let start = list.range(v).start;
                    own += at.map(|k| list.weight(start + k)).sum::<f64>();
                }
                (others, own)
            })
            .collect();
        offsets.push(0);
        let mut at = 0;
        for (others, _) in &counts {
            at += others;
            offsets.push(at);
        }
        let loops = counts.into_iter().map(|c| c.1).collect();
        let weighted = view.is_weighted();
        if let Some(ends) = view.out().shared_neighbors()
            && !view.is_directed()
            && ends.len() == at
        {
            // Without loops the lists are those of the view.
            let weights = view.out().all_weights().map(<[f64]>::to_vec);
            return Self { offsets, ends, weights, loops };
        }
        let (mut ends, mut weights) = (vec![0; at], vec![0.0; if weighted { at } else { 0 }]);
        let parts = split_lists(by_arcs(&offsets), &offsets, &mut ends, &mut weights);
        parts.into_par_iter().for_each(|(nodes, ends, weights)| {
            let mut at = 0;
            for v in nodes {
                for list in lists() {
                    let of_v = list.neighbors(v as u32);
                    let own = among(of_v, v as u32);
                    for piece in [0..own.start, own.end..of_v.len()] {
                        let to = at..at + piece.len();
                        at = to.end;
                        ends[to.clone()].copy_from_slice(&of_v[piece.clone()]);
                        if let Some(w) = list.weights(v as u32) {
                            weights[to].copy_from_slice(&w[piece]);
                        }
                    }
                }
            }
        });
        Self { offsets, ends: Arc::new(ends), weights: weighted.then_some(weights), loops }
    }

    pub(crate) fn num_nodes(&self) -> usize {
        self.loops.len()
    }

    /// Positions of the list of `v`.
    #[inline(always)]
    pub(crate) fn range(&self, v: usize) -> Range<usize> {
        self.offsets[v]..self.offsets[v + 1]
    }

    pub(crate) fn degree(&self, v: usize) -> usize {
        self.offsets[v + 1] - self.offsets[v]
    }

    /// The weight of the list entry at a position.
    #[inline(always)]
    pub(crate) fn weight(&self, index: usize) -> f64 {
        self.weights.as_deref().map_or(1.0, |w| w[index])
    }

    /// Neighbours of `v` with the weights of the edges to them.
    #[inline]
    pub(crate) fn edges(&self, v: usize) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.range(v).map(move |at| (self.ends[at], self.weight(at)))
    }

    /// Sum of the weights at `v` with its loops.
    pub(crate) fn strength(&self, v: usize) -> f64 {
        let range = self.range(v);
        let others = match self.weights.as_deref() {
            None => range.len() as f64,
            Some(w) => w[range].iter().sum(),
        };
        self.loops[v] + others
    }

    /// [`Self::strength`] of every node.
    pub(crate) fn strengths(&self) -> Vec<f64> {
        (0..self.num_nodes()).into_par_iter().with_min_len(1024).map(|v| self.strength(v)).collect()
    }

    /// The graph whose nodes are the groups `labels`, numbered `0..groups`. The lists of the result are in
    /// the order in which the members of a group, by index, come upon their neighbours.
    pub(crate) fn contract(&self, labels: &[u32], groups: usize) -> Self {
        match self.weights.as_deref() {
            None => self.contract_as(labels, groups, |_| 1_u32),
            Some(w) => self.contract_as(labels, groups, |k| w[k]),
        }
    }

    /// As [`Self::contract`], but edges between the same two groups stay apart where adding them up would hardly make the
    /// lists shorter, which is the larger part of the work.
    pub(crate) fn contract_loosely(&self, labels: &[u32], groups: usize) -> Self {
        let (starts, members) = members_of(labels, groups);
        if self.share_of_copies(labels, &starts, &members) > COPIES_MAX {
            return self.contract(labels, groups);
        }
        self.relabel(labels, &starts, &members)
    }

    /// The lists of the members of each group, one after the other, with groups in place of nodes and without loops.
    fn relabel(&self, labels: &[u32], starts: &[usize], members: &[u32]) -> Self {
        let weights = self.weights.as_deref();
        let work = self.work(starts, members);
        Self::of_groups(&work, &work, weights.is_some(), |range, ends, kept| {
            let mut len = 0;
            let lists = range.map(|g| {
                let mut loops = 0.0;
                for i in starts[g]..starts[g + 1] {
                    let v = self.member(members, i);
                    loops += self.loops[v];
                    let list = self.range(v);
                    let to = list.clone().map(|at| labels[self.ends[at] as usize]);
                    let before = len;
                    match weights {
                        None => {
                            for l in to {
                                ends[len] = l;
                                len += usize::from(l as usize != g);
                            }
                            loops += (list.len() - (len - before)) as f64;
                        }
                        Some(w) => {
                            for (l, w) in to.zip(&w[list]) {
                                (ends[len], kept[len]) = (l, *w);
                                len += usize::from(l as usize != g);
                                loops += if l as usize == g { *w } else { 0.0 };
                            }
                        }
                    }
                }
                (len, loops)
            });
            lists.collect()
        })
    }

    /// A network of groups, whose lists `write` gives for a range of groups, cut by `work`: it writes at most as many
    /// entries as `room` counts for them, and returns for each group the entries up to and with it, and the weight of its
    /// loops.
    fn of_groups(
        work: &[usize],
        room: &[usize],
        weighted: bool,
        write: impl Fn(Range<usize>, &mut [u32], &mut [f64]) -> Vec<(usize, f64)> + Sync,
    ) -> Self {
        let (groups, most) = (room.len() - 1, room.last().copied().unwrap_or(0));
        let (mut ends, mut weights) = (vec![0; most], vec![0.0; if weighted { most } else { 0 }]);
        let parts = split_lists(by_arcs(work), room, &mut ends, &mut weights);
        let written: Vec<(usize, Vec<(usize, f64)>)> = parts
            .into_par_iter()
            .map(|(range, ends, weights)| (room[range.start], write(range, ends, weights)))
            .collect();
        let (mut offsets, mut loops) = (Vec::with_capacity(groups + 1), Vec::with_capacity(groups));
        offsets.push(0);
        let mut at = 0;
        for (from, lists) in written {
            let len = lists.last().map_or(0, |l| l.0);
            ends.copy_within(from..from + len, at);
            if weighted {
                weights.copy_within(from..from + len, at);
            }
            offsets.extend(lists.iter().map(|l| at + l.0));
            loops.extend(lists.iter().map(|l| l.1));
            at += len;
        }
        ends.truncate(at);
        weights.truncate(at);
        Self { offsets, ends: Arc::new(ends), weights: weighted.then_some(weights), loops }
    }

    /// The member at a place; members lie anywhere, so the lists of those to come are asked for.
    #[inline(always)]
    fn member(&self, members: &[u32], index: usize) -> usize {
        if let Some(v) = members.get(index + 4) {
            prefetch(&self.ends, self.offsets[*v as usize]);
        }
        members[index] as usize
    }

    /// Share of the list entries of a few groups that lead to a group that an entry before already led to.
    fn share_of_copies(&self, labels: &[u32], starts: &[usize], members: &[u32]) -> f64 {
        let groups = starts.len() - 1;
        let mut met = vec![u32::MAX; groups];
        let (mut all, mut copies) = (0usize, 0usize);
        for k in 0..groups.min(SAMPLED_GROUPS) {
            let g = k * groups / groups.min(SAMPLED_GROUPS);
            let ends = members[starts[g]..starts[g + 1]].iter();
            for u in ends.flat_map(|v| &self.ends[self.range(*v as usize)]) {
                let last = &mut met[labels[*u as usize] as usize];
                copies += usize::from(*last == k as u32);
                *last = k as u32;
                all += 1;
            }
            if all > SAMPLED_ARCS {
                break;
            }
        }
        copies as f64 / all.max(1) as f64
    }

    fn contract_as<W: Weight>(
        &self,
        labels: &[u32],
        groups: usize,
        weight: impl Fn(usize) -> W + Sync,
    ) -> Self {
        let (starts, members) = members_of(labels, groups);
        let tallies = Tallies::new(groups);
        let work = self.work(&starts, &members);
        let mut room = Vec::with_capacity(work.len());
        let mut at = 0;
        room.push(at);
        for list in work.windows(2) {
            // A list has an entry for each other group at most.
            at += (list[1] - list[0]).min(groups);
            room.push(at);
        }
        Self::of_groups(&work, &room, true, |range, ends, weights| {
            tallies.with(|tally| {
                let mut len = 0;
                let lists = range.map(|g| {
                    let mut loops = 0.0;
                    for i in starts[g]..starts[g + 1] {
                        let v = self.member(&members, i);
                        loops += self.loops[v];
                        let list = self.range(v);
                        let entries = self.ends[list.clone()].iter().zip(list);
                        tally.extend(entries.map(|(u, at)| (labels[*u as usize], weight(at))));
                    }
                    tally.drain(|l, w| {
                        let w = w.float();
                        if l as usize == g {
                            loops += w;
                        } else if w != 0.0 {
                            (ends[len], weights[len]) = (l, w);
                            len += 1;
                        }
                    });
                    (len, loops)
                });
                lists.collect()
            })
        })
    }

    /// Where the arcs of each group start when they are counted one by one: what work on groups is cut by.
    pub(crate) fn work(&self, starts: &[usize], members: &[u32]) -> Vec<usize> {
        let mut work = Vec::with_capacity(starts.len());
        let mut arcs = 0;
        work.push(0);
        for g in 1..starts.len() {
            for v in &members[starts[g - 1]..starts[g]] {
                arcs += 1 + self.degree(*v as usize);
            }
            work.push(arcs);
        }
        work
    }
}

/// For each range of nodes its share of both arrays; `weights` may be empty.
fn split_lists<'a>(
    ranges: Vec<Range<usize>>,
    offsets: &[usize],
    ends: &'a mut [u32],
    weights: &'a mut [f64],
) -> Vec<(Range<usize>, &'a mut [u32], &'a mut [f64])> {
    let weighted = !weights.is_empty();
    let (mut left_ends, mut left_weights) = (ends, weights);
    let mut parts = Vec::with_capacity(ranges.len());
    for range in ranges {
        let len = offsets[range.end] - offsets[range.start];
        let (own_ends, rest) = left_ends.split_at_mut(len);
        left_ends = rest;
        let (own_weights, rest) = left_weights.split_at_mut(if weighted { len } else { 0 });
        left_weights = rest;
        parts.push((range, own_ends, own_weights));
    }
    parts
}

/// Modularity (Newman and Girvan 2004) of a partition of `view`, 0 for a graph without weight.
#[must_use]
pub fn modularity(view: &GraphView<'_>, labels: &[u32], resolution: f64) -> f64 {
    let groups = labels.iter().max().map_or(0, |l| *l as usize + 1);
    let net = Network::new(view);
    let (mut inside, mut total) = (0.0, vec![0.0; groups]);
    for v in 0..net.num_nodes() {
        let own = labels[v];
        total[own as usize] += net.strength(v);
        inside += net.loops[v];
        inside += net.edges(v).filter(|e| labels[e.0 as usize] == own).map(|e| e.1).sum::<f64>();
    }
    let twice: f64 = total.iter().sum();
    if twice == 0.0 {
        return 0.0;
    }
    inside / twice - resolution * total.iter().map(|t| (t / twice).powi(2)).sum::<f64>()
}

impl Weight for f64 {
    fn of(w: u64) -> Self {
        w as Self
    }
    fn float(self) -> f64 {
        self
    }
    fn wide(self) -> u64 {
        self as u64
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::testkit;
    use crate::view::{Copies, Loops, Shape};

    #[test]
    fn contraction_keeps_weight_and_modularity() {
        let shape = Shape { directed: false, copies: Copies::Keep, loops: Loops::Twice };
        for (name, t) in testkit::zoo() {
            let weights: Vec<f64> = (0..t.num_edges()).map(|r| f64::from(r % 5) + 0.5).collect();
            let view = GraphView::new(&t, Some(&weights), shape).unwrap();
            let net = Network::new(&view);
            let labels: Vec<u32> = (0..t.num_nodes()).map(|v| v % 3).collect();
            let groups = 3.min(t.num_nodes() as usize);
            let small = net.contract(&labels, groups);
            let total: f64 = net.strengths().iter().sum();
            assert_eq!(small.strengths().iter().sum::<f64>(), total, "{name}");
            let own: f64 = small.loops.iter().sum::<f64>();
            let square: f64 = small.strengths().iter().map(|s| (s / total).powi(2)).sum();
            let q = if total == 0.0 { 0.0 } else { own / total - square };
            assert!((q - modularity(&view, &labels, 1.0)).abs() < 1e-12, "{name}");
        }
    }

    #[test]
    fn a_loose_contraction_has_the_lists_of_a_full_one() {
        let shape = Shape { directed: false, copies: Copies::Keep, loops: Loops::Twice };
        let mut loose = 0;
        for (name, t) in testkit::zoo() {
            let weights: Vec<f64> = (0..t.num_edges()).map(|r| f64::from(r % 5) + 0.5).collect();
            for weights in [None, Some(weights.as_slice())] {
                let net = Network::new(&GraphView::new(&t, weights, shape).unwrap());
                for k in [1, 3, 1 + t.num_nodes() / 2] {
                    let labels: Vec<u32> = (0..t.num_nodes()).map(|v| v % k).collect();
                    let groups = k.min(t.num_nodes()) as usize;
                    let (full, some) =
                        (net.contract(&labels, groups), net.contract_loosely(&labels, groups));
                    loose += usize::from(some.ends.len() > full.ends.len());
                    assert_eq!(full.loops, some.loops, "{name}");
                    for g in 0..groups {
                        let sums = |net: &Network| {
                            let mut sums = vec![0.0; groups];
                            net.edges(g).for_each(|(u, w)| sums[u as usize] += w);
                            sums
                        };
                        assert_eq!(sums(&full), sums(&some), "{name}");
                    }
                }
            }
        }
        assert!(loose > 0);
    }

    #[test]
    fn a_directed_view_is_read_in_both_directions() {
        let t = testkit::from_edges(3, &[(0, 1), (1, 1), (2, 1)]);
        let shape = Shape { directed: true, copies: Copies::Keep, loops: Loops::Once };
        let net = Network::new(&GraphView::new(&t, None, shape).unwrap());
        assert_eq!(net.edges(1).collect::<Vec<_>>(), [(0, 1.0), (2, 1.0)]);
        assert_eq!(net.loops, [0.0, 2.0, 0.0]);
    }
}
