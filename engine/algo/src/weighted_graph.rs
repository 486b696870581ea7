//! An undirected weighted graph in compressed form, and its contraction: what Louvain and the multilevel
//! start share. Weights are whole numbers, so that sums are exact in any order.

use std::ops::Range;

use graphlume_graph::Topology;
use rayon::prelude::*;

use crate::tally::Tallies;
use crate::util::prefetch;
use crate::weight::Weight;

/// The sum of all weights stays below this, so that it is exact as an `f64` too.
const TOTAL_MAX: f64 = (1u64 << 50) as f64;
/// Arcs of one unit of parallel work.
pub(crate) const CHUNK_ARCS: usize = 1 << 14;

/// Weights of list entries.
pub(crate) enum Weights {
    /// All are 1.
    Unit,
    /// Their sum fits 32 bits.
    Small(Vec<u32>),
    /// Any.
    Large(Vec<u64>),
}

/// Adjacency of an undirected graph; every edge appears at both ends, loops are kept apart.
pub(crate) struct WeightedGraph {
    /// Where each node's list starts; one more than nodes.
    pub(crate) offsets: Vec<usize>,
    pub(crate) ends: Vec<u32>,
    pub(crate) weights: Weights,
    /// Twice the weight of each node's loops.
    pub(crate) loops: Vec<u64>,
    /// Strength of nodes that were left out, which counts in the total.
    pub(crate) aside: u64,
}

impl WeightedGraph {
    /// The undirected graph that `topology` spells, with edge weights by edge table row. A weight that is
    /// not a number counts as 1, a negative one as 0.
    pub(crate) fn new(topology: &Topology, by_row: Option<&[f32]>) -> Self {
        let n = topology.num_nodes();
        let Some(by_row) = by_row else { return Self::unit(topology, false) };
        let rows = (0..n).flat_map(|v| topology.out_rows(v));
        let scale = scale_of(rows.map(|r| weight_of(by_row, *r)).sum());
        Self::weighted(topology, |row| units_of(weight_of(by_row, row), scale))
    }

    /// Of lists that are symmetric, with loops apart and counted twice; no `weights` means all 1.
    #[allow(dead_code, reason = "the way back from a device, which not every build has")]
    pub(crate) fn from_parts(
        offsets: Vec<usize>,
        ends: Vec<u32>,
        weights: Vec<u64>,
        loops: Vec<u64>,
    ) -> Self {
        let weights = if weights.is_empty() { Weights::Unit } else { Weights::Large(weights) };
        Self { offsets, ends, weights, loops, aside: 0 }
    }

    /// As [`Self::new`] without weights, in half of the room where each edge has one against it: both together have a weight of 1
    /// then, and a loop that of one half.
    pub(crate) fn in_units(topology: &Topology) -> Self {
        Self::unit(topology, topology.is_symmetric())
    }

    fn unit(topology: &Topology, halved: bool) -> Self {
        let n = topology.num_nodes();
        let sides = if halved { 1 } else { 2 };
        let loops: Vec<u64> = (0..n)
            .into_par_iter()
            .with_min_len(1024)
            .map(|v| sides * among(topology.out_neighbors(v), v).len() as u64)
            .collect();
        let mut offsets = Vec::with_capacity(n as usize + 1);
        let mut at = 0;
        offsets.push(0);
        for v in 0..n {
            let entries = if halved { topology.out_degree(v) } else { topology.degree(v) };
            at += entries as usize - loops[v as usize] as usize;
            offsets.push(at);
        }
        let mut ends = vec![0; at];
        let jobs = by_arcs(&offsets);
        let parts = split(&mut ends, &offsets, &jobs);
        parts.into_par_iter().for_each(|(nodes, part)| {
            let mut rest = part;
            for v in nodes {
                let v = v as u32;
                let lists = [topology.out_neighbors(v), topology.in_neighbors(v)];
                for list in &lists[..sides as usize] {
                    let own = among(list, v);
                    for piece in [&list[..own.start], &list[own.end..]] {
                        let (to, next) = rest.split_at_mut(piece.len());
                        to.copy_from_slice(piece);
                        rest = next;
                    }
                }
            }
        });
        Self { offsets, ends, weights: Weights::Unit, loops, aside: 0 }
    }

    fn weighted(topology: &Topology, weight: impl Fn(u32) -> u64) -> Self {
        let n = topology.num_nodes();
        let (mut offsets, mut cursor) = (vec![0], Vec::with_capacity(n as usize));
        let mut loops = vec![0; n as usize];
        let mut at = 0;
        for v in 0..n {
            let own = among(topology.out_neighbors(v), v).len();
            cursor.push(at + topology.out_degree(v) as usize - own);
            at += topology.degree(v) as usize - 2 * own;
            offsets.push(at);
        }
        let (mut ends, mut weights) = (vec![0; at], vec![0; at]);
        for v in 0..n {
            let mut here = offsets[v as usize];
            for (u, row) in topology.out_neighbors(v).iter().zip(topology.out_rows(v)) {
                let w = weight(*row);
                if *u == v {
                    loops[v as usize] += 2 * w;
                    continue;
                }
                let there = cursor[*u as usize];
                cursor[*u as usize] += 1;
                (ends[here], weights[here]) = (*u, w);
                (ends[there], weights[there]) = (v, w);
                here += 1;
            }
        }
        Self { offsets, ends, weights: Weights::Large(weights), loops, aside: 0 }
    }

    pub(crate) fn num_nodes(&self) -> usize {
        self.loops.len()
    }

    /// Neighbours of `v` with the weights of the edges to them.
    #[inline(always)]
    pub(crate) fn edges(&self, v: usize) -> impl Iterator<Item = (u32, u64)> + '_ {
        let range = self.offsets[v]..self.offsets[v + 1];
        let (small, large): (&[u32], &[u64]) = match &self.weights {
            Weights::Unit => (&[], &[]),
            Weights::Small(w) => (&w[range.clone()], &[]),
            Weights::Large(w) => (&[], &w[range.clone()]),
        };
        self.ends[range].iter().enumerate().map(move |(k, u)| {
            let small = small.get(k).map(|w| u64::from(*w));
            (*u, small.or_else(|| large.get(k).copied()).unwrap_or(1))
        })
    }

    /// Sum of the weights at `v`, loops twice.
    pub(crate) fn strength(&self, v: usize) -> u64 {
        let range = self.offsets[v]..self.offsets[v + 1];
        self.loops[v]
            + match &self.weights {
                Weights::Unit => range.len() as u64,
                Weights::Small(w) => w[range].iter().map(|w| u64::from(*w)).sum(),
                Weights::Large(w) => w[range].iter().sum(),
            }
    }

    /// The part over `nodes`, a union of components; `number` is each node's place in it.
    pub(crate) fn restrict(&self, nodes: &[u32], number: &[u32]) -> Self {
        let mut net = Self {
            offsets: Vec::with_capacity(nodes.len() + 1),
            ends: Vec::new(),
            weights: Weights::Unit,
            loops: Vec::with_capacity(nodes.len()),
            aside: 0,
        };
        let mut weights = Vec::new();
        net.offsets.push(0);
        for v in nodes {
            let range = self.offsets[*v as usize]..self.offsets[*v as usize + 1];
            net.ends.extend(self.ends[range.clone()].iter().map(|u| number[*u as usize]));
            if !matches!(self.weights, Weights::Unit) {
                weights.extend(self.edges(*v as usize).map(|e| e.1));
            }
            net.loops.push(self.loops[*v as usize]);
            net.offsets.push(net.ends.len());
        }
        if !matches!(self.weights, Weights::Unit) {
            net.weights = Weights::Large(weights);
        }
        net
    }

    /// The graph whose nodes are the groups `labels`, numbered `0..groups`. The lists of the result are in
    /// the order in which the members of a group, by index, come upon their neighbours.
    pub(crate) fn contract(&self, labels: &[u32], groups: usize) -> Self {
        let twice: u64 = self.total_strength();
        let net = match &self.weights {
            Weights::Unit if u32::try_from(twice).is_ok() => {
                self.contract_as(labels, groups, |_| 1u32, Weights::Small)
            }
            Weights::Unit => self.contract_as(labels, groups, |_| 1u64, Weights::Large),
            Weights::Small(w) => self.contract_as(labels, groups, |k| w[k], Weights::Small),
            Weights::Large(w) => self.contract_as(labels, groups, |k| w[k], Weights::Large),
        };
        Self { aside: self.aside, ..net }
    }

    /// The part of the nodes that have neighbours, and these in order; `None` where hardly any have none, so that the
    /// copy would save nothing.
    pub(crate) fn linked(&self) -> Option<(Self, Vec<u32>)> {
        let n = self.num_nodes();
        let has_neighbours = |v: &u32| self.offsets[*v as usize + 1] > self.offsets[*v as usize];
        let linked: Vec<u32> = (0..n as u32).filter(has_neighbours).collect();
        if linked.len() + n / 8 > n {
            return None;
        }
        let mut number = vec![0; n];
        for (at, v) in linked.iter().enumerate() {
            number[*v as usize] = at as u32;
        }
        let mut part = self.restrict(&linked, &number);
        part.aside = self.total_strength() - part.total_strength();
        Some((part, linked))
    }

    /// Twice the weight of all edges, those of nodes that were left out among them.
    pub(crate) fn total_strength(&self) -> u64 {
        let lists = match &self.weights {
            Weights::Unit => self.ends.len() as u64,
            Weights::Small(w) => w.par_iter().map(|w| u64::from(*w)).sum(),
            Weights::Large(w) => w.par_iter().sum(),
        };
        lists + self.loops.iter().sum::<u64>() + self.aside
    }

    fn contract_as<W: Weight>(
        &self,
        labels: &[u32],
        groups: usize,
        weight: impl Fn(usize) -> W + Sync,
        wrap: impl Fn(Vec<W>) -> Weights,
    ) -> Self {
        let (starts, members) = members_of(labels, groups);
        // Where the arcs of each group start when they are counted one by one: what the work is cut by.
        let mut work = Vec::with_capacity(groups + 1);
        let mut arcs = 0;
        work.push(0);
        for g in 0..groups {
            for v in &members[starts[g]..starts[g + 1]] {
                arcs += 1 + self.offsets[*v as usize + 1] - self.offsets[*v as usize];
            }
            work.push(arcs);
        }
        let tallies = Tallies::new(groups);
        let parts: Vec<Contracted<W>> = by_arcs(&work)
            .into_par_iter()
            .map(|range| {
                tallies.with(|tally| {
                    let mut part = Contracted::default();
                    for g in range {
                        let mut loops = 0;
                        for i in starts[g]..starts[g + 1] {
                            // Members lie anywhere: ask for the lists of those to come.
                            if let Some(v) = members.get(i + 8) {
                                prefetch(&self.offsets, *v as usize);
                            }
                            if let Some(v) = members.get(i + 4) {
                                let at = self.offsets[*v as usize];
                                prefetch(&self.ends, at);
                                prefetch(&self.ends, at + 16);
                            }
                            let v = members[i] as usize;
                            loops += self.loops[v];
                            let list = self.offsets[v]..self.offsets[v + 1];
                            let ends = self.ends[list.clone()].iter().enumerate();
                            tally.extend(
                                ends.map(|(k, u)| (labels[*u as usize], weight(list.start + k))),
                            );
                        }
                        tally.drain(|l, w| {
                            if l as usize == g {
                                loops += w.wide();
                            } else {
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
        join(parts, groups, wrap)
    }
}

/// Lists of consecutive groups.
#[derive(Default)]
struct Contracted<W> {
    ends: Vec<u32>,
    weights: Vec<W>,
    loops: Vec<u64>,
    /// Entries up to and with each group.
    counts: Vec<usize>,
}

fn join<W: Weight>(
    parts: Vec<Contracted<W>>,
    groups: usize,
    wrap: impl Fn(Vec<W>) -> Weights,
) -> WeightedGraph {
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
    WeightedGraph { offsets, ends, weights: wrap(weights), loops, aside: 0 }
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

/// List entries of the undirected graph that `topology` spells: two an edge, none a loop.
pub(crate) fn list_entries(topology: &Topology) -> u64 {
    let loops = |v| among(topology.out_neighbors(v), v).len() as u64;
    let nodes = (0..topology.num_nodes()).into_par_iter().with_min_len(1024);
    2 * (u64::from(topology.num_edges()) - nodes.map(loops).sum::<u64>())
}

/// The weight of an edge table row: one that is absent or not a number counts as 1, a negative one as 0.
fn weight_of(by_row: &[f32], row: u32) -> f64 {
    let w = by_row.get(row as usize).copied().unwrap_or(1.0);
    if w.is_nan() { 1.0 } else { f64::from(w.clamp(0.0, f32::MAX)) }
}

/// What weights are multiplied by before they are rounded: a power of two, so that how their sum `total` was rounded does
/// not matter.
pub(crate) fn scale_of(total: f64) -> f64 {
    let most = if total > 0.0 { (TOTAL_MAX / total).min(1_048_576.0) } else { 1.0 };
    f64::from_bits(most.to_bits() & (0x7ff << 52))
}

/// A weight as a whole number.
fn units_of(weight: f64, scale: f64) -> u64 {
    (weight * scale + 0.5) as u64
}

/// Where `v` stands in an ascending list.
pub(crate) fn among(list: &[u32], v: u32) -> Range<usize> {
    let start = list.partition_point(|u| *u < v);
    start..start + list[start..].partition_point(|u| *u == v)
}

/// Ranges of nodes with about [`CHUNK_ARCS`] arcs each, by the starts of their lists.
pub(crate) fn by_arcs(offsets: &[usize]) -> Vec<Range<usize>> {
    let n = offsets.len() - 1;
    let mut ranges = Vec::with_capacity(offsets[n] / CHUNK_ARCS + 1);
    let mut start = 0;
    while start < n {
        let enough = offsets[start] + CHUNK_ARCS;
        let end = offsets.partition_point(|o| *o < enough).clamp(start + 1, n);
        ranges.push(start..end);
        start = end;
    }
    ranges
}

/// The parts of `values` that belong to the nodes of each range.
fn split<'a, T>(
    values: &'a mut [T],
    offsets: &[usize],
    ranges: &[Range<usize>],
) -> Vec<(Range<usize>, &'a mut [T])> {
    let mut rest = values;
    let mut parts = Vec::with_capacity(ranges.len());
    for range in ranges {
        let (part, next) = rest.split_at_mut(offsets[range.end] - offsets[range.start]);
        parts.push((range.clone(), part));
        rest = next;
    }
    parts
}

/// Numbers labels `0..k` by first appearance, in place; returns `k`.
pub(crate) fn renumber(labels: &mut [u32], bound: usize) -> usize {
    let mut number = vec![u32::MAX; bound];
    let mut next = 0;
    for l in labels {
        let slot = &mut number[*l as usize];
        if *slot == u32::MAX {
            *slot = next;
            next += 1;
        }
        *l = *slot;
    }
    next as usize
}
