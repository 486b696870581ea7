//! An undirected graph with weights of any sign, and its contraction: what the community methods that take a
//! [`GraphView`] share. Every sum is added in one order, so that its bits do not depend on the threads.

use std::ops::Range;

use rayon::prelude::*;

use crate::util::prefetch;
use crate::view::GraphView;
use crate::weighted_graph::{Tallies, Weight, by_arcs};

/// Adjacency of an undirected graph; every edge appears at both ends, loops are kept apart.
pub(crate) struct Network {
    /// Where each node's list starts; one more than nodes.
    pub(crate) offsets: Vec<usize>,
    pub(crate) ends: Vec<u32>,
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
        let (mut ends, mut weights) = (vec![0; at], vec![0.0; if weighted { at } else { 0 }]);
        let ranges = by_arcs(&offsets);
        let mut parts = Vec::with_capacity(ranges.len());
        let (mut left_ends, mut left_weights) = (&mut ends[..], &mut weights[..]);
        for range in ranges {
            let len = offsets[range.end] - offsets[range.start];
            let (own_ends, rest) = left_ends.split_at_mut(len);
            left_ends = rest;
            let (own_weights, rest) = left_weights.split_at_mut(if weighted { len } else { 0 });
            left_weights = rest;
            parts.push((range, own_ends, own_weights));
        }
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
        Self { offsets, ends, weights: weighted.then_some(weights), loops }
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
    pub(crate) fn weight(&self, at: usize) -> f64 {
        self.weights.as_deref().map_or(1.0, |w| w[at])
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
            None => self.contract_as(labels, groups, |_| 1.0),
            Some(w) => self.contract_as(labels, groups, |k| w[k]),
        }
    }

    fn contract_as(
        &self,
        labels: &[u32],
        groups: usize,
        weight: impl Fn(usize) -> f64 + Sync,
    ) -> Self {
        let (starts, members) = members_of(labels, groups);
        let work = self.work(&starts, &members);
        let tallies = Tallies::new(groups);
        let parts: Vec<Part> = by_arcs(&work)
            .into_par_iter()
            .map(|range| {
                tallies.with(|tally| {
                    let mut part = Part::default();
                    for g in range {
                        let mut loops = 0.0;
                        for i in starts[g]..starts[g + 1] {
                            // Members lie anywhere: ask for the lists of those to come.
                            if let Some(v) = members.get(i + 4) {
                                prefetch(&self.ends, self.offsets[*v as usize]);
                            }
                            let v = members[i] as usize;
                            loops += self.loops[v];
                            let list = self.range(v);
                            let ends = self.ends[list.clone()].iter().enumerate();
                            tally.extend(
                                ends.map(|(k, u)| (labels[*u as usize], weight(list.start + k))),
                            );
                        }
                        tally.drain(|l, w| {
                            if l as usize == g {
                                loops += w;
                            } else if w != 0.0 {
                                part.ends.push(l);
                                part.weights.push(w);
                            }
                        });
                        part.loops.push(loops);
                        part.counts.push(part.ends.len());
                    }
                    part
                })
            })
            .collect();
        join(parts, groups)
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

/// Lists of consecutive groups.
#[derive(Default)]
struct Part {
    ends: Vec<u32>,
    weights: Vec<f64>,
    loops: Vec<f64>,
    /// Entries up to and with each group.
    counts: Vec<usize>,
}

fn join(parts: Vec<Part>, groups: usize) -> Network {
    let total = parts.iter().map(|p| p.ends.len()).sum();
    let (mut ends, mut weights) = (Vec::with_capacity(total), Vec::with_capacity(total));
    let (mut offsets, mut loops) = (Vec::with_capacity(groups + 1), Vec::with_capacity(groups));
    offsets.push(0);
    for part in parts {
        let before = ends.len();
        offsets.extend(part.counts.iter().map(|c| before + c));
        ends.extend_from_slice(&part.ends);
        weights.extend_from_slice(&part.weights);
        loops.extend_from_slice(&part.loops);
    }
    Network { offsets, ends, weights: Some(weights), loops }
}

/// Members of the groups `labels`, by index, and where each group starts.
pub(crate) fn members_of(labels: &[u32], groups: usize) -> (Vec<usize>, Vec<u32>) {
    let mut starts = vec![0usize; groups + 1];
    for l in labels {
        starts[*l as usize + 1] += 1;
    }
    for g in 0..groups {
        starts[g + 1] += starts[g];
    }
    let mut members = vec![0u32; labels.len()];
    let mut cursor = starts.clone();
    for (v, l) in labels.iter().enumerate() {
        members[cursor[*l as usize]] = v as u32;
        cursor[*l as usize] += 1;
    }
    (starts, members)
}

/// Where `v` stands in an ascending list.
fn among(list: &[u32], v: u32) -> Range<usize> {
    let start = list.partition_point(|u| *u < v);
    start..start + list[start..].partition_point(|u| *u == v)
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
    fn a_directed_view_is_read_in_both_directions() {
        let t = testkit::from_edges(3, &[(0, 1), (1, 1), (2, 1)]);
        let shape = Shape { directed: true, copies: Copies::Keep, loops: Loops::Once };
        let net = Network::new(&GraphView::new(&t, None, shape).unwrap());
        assert_eq!(net.edges(1).collect::<Vec<_>>(), [(0, 1.0), (2, 1.0)]);
        assert_eq!(net.loops, [0.0, 2.0, 0.0]);
    }
}
