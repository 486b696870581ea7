//! An undirected weighted graph in compressed form, and its contraction: what Louvain and the multilevel
//! start share. Weights are whole numbers, so that sums are exact in any order.

use graphlume_graph::Topology;

/// The sum of all weights stays below this, so that it is exact as an `f64` too.
const TOTAL_MAX: f64 = (1u64 << 50) as f64;

/// Adjacency of an undirected graph; every edge appears at both ends, loops are kept apart.
pub(crate) struct Net {
    /// Where each node's list starts; one more than nodes.
    pub(crate) offsets: Vec<usize>,
    pub(crate) ends: Vec<u32>,
    /// Weight of each list entry; empty when all are 1.
    weights: Vec<u64>,
    /// Twice the weight of each node's loops.
    pub(crate) loops: Vec<u64>,
}

impl Net {
    /// The undirected graph that `topology` spells, with edge weights by edge table row. A weight that is
    /// not a number counts as 1, a negative one as 0.
    pub(crate) fn new(topology: &Topology, by_row: Option<&[f32]>) -> Self {
        let n = topology.num_nodes();
        let mut net = Self {
            offsets: Vec::with_capacity(n as usize + 1),
            ends: Vec::with_capacity(2 * topology.num_edges() as usize),
            weights: Vec::new(),
            loops: vec![0; n as usize],
        };
        net.offsets.push(0);
        let Some(by_row) = by_row else {
            for v in 0..n {
                for u in topology.out_neighbors(v) {
                    if *u == v {
                        net.loops[v as usize] += 2;
                    } else {
                        net.ends.push(*u);
                    }
                }
                net.ends.extend(topology.in_neighbors(v).iter().filter(|u| **u != v));
                net.offsets.push(net.ends.len());
            }
            return net;
        };
        let clean = |row: u32| {
            let w = by_row.get(row as usize).copied().unwrap_or(1.0);
            if w.is_nan() { 1.0 } else { f64::from(w.clamp(0.0, f32::MAX)) }
        };
        let total: f64 = (0..n).flat_map(|v| topology.out_rows(v)).map(|r| clean(*r)).sum();
        let scale = if total > 0.0 { (TOTAL_MAX / total).min(1_048_576.0) } else { 1.0 };
        net.fill_weighted(topology, |row| (clean(row) * scale).round() as u64);
        net
    }

    fn fill_weighted(&mut self, topology: &Topology, weight: impl Fn(u32) -> u64) {
        let n = topology.num_nodes();
        let mut cursor = Vec::with_capacity(n as usize);
        let mut at = 0;
        for v in 0..n {
            let outs = topology.out_neighbors(v).iter().filter(|u| **u != v).count();
            let ins = topology.in_neighbors(v).iter().filter(|u| **u != v).count();
            cursor.push(at + outs);
            at += outs + ins;
            self.offsets.push(at);
        }
        self.ends = vec![0; at];
        self.weights = vec![0; at];
        for v in 0..n {
            let mut here = self.offsets[v as usize];
            for (u, row) in topology.out_neighbors(v).iter().zip(topology.out_rows(v)) {
                let w = weight(*row);
                if *u == v {
                    self.loops[v as usize] += 2 * w;
                    continue;
                }
                let there = cursor[*u as usize];
                cursor[*u as usize] += 1;
                (self.ends[here], self.weights[here]) = (*u, w);
                (self.ends[there], self.weights[there]) = (v, w);
                here += 1;
            }
        }
    }

    pub(crate) fn num_nodes(&self) -> usize {
        self.loops.len()
    }

    /// Neighbours of `v` with the weights of the edges to them.
    #[inline(always)]
    pub(crate) fn edges(&self, v: usize) -> impl Iterator<Item = (u32, u64)> + '_ {
        let range = self.offsets[v]..self.offsets[v + 1];
        let weights = self.weights.get(range.clone()).unwrap_or(&[]);
        self.ends[range]
            .iter()
            .enumerate()
            .map(move |(k, u)| (*u, weights.get(k).copied().unwrap_or(1)))
    }

    /// Sum of the weights at `v`, loops twice.
    pub(crate) fn strength(&self, v: usize) -> u64 {
        if self.weights.is_empty() {
            return (self.offsets[v + 1] - self.offsets[v]) as u64 + self.loops[v];
        }
        self.weights[self.offsets[v]..self.offsets[v + 1]].iter().sum::<u64>() + self.loops[v]
    }

    /// The part over `nodes`, a union of components; `number` is each node's place in it.
    pub(crate) fn restrict(&self, nodes: &[u32], number: &[u32]) -> Self {
        let mut net = Self {
            offsets: Vec::with_capacity(nodes.len() + 1),
            ends: Vec::new(),
            weights: Vec::new(),
            loops: Vec::with_capacity(nodes.len()),
        };
        net.offsets.push(0);
        for v in nodes {
            let range = self.offsets[*v as usize]..self.offsets[*v as usize + 1];
            net.ends.extend(self.ends[range.clone()].iter().map(|u| number[*u as usize]));
            net.weights.extend_from_slice(self.weights.get(range).unwrap_or(&[]));
            net.loops.push(self.loops[*v as usize]);
            net.offsets.push(net.ends.len());
        }
        net
    }

    /// The graph whose nodes are the groups `labels`, numbered `0..groups`.
    pub(crate) fn contract(&self, labels: &[u32], groups: usize) -> Self {
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
        let mut net = Self {
            offsets: Vec::with_capacity(groups + 1),
            ends: Vec::new(),
            weights: Vec::new(),
            loops: vec![0; groups],
        };
        net.offsets.push(0);
        let mut sums = Tally::new(groups);
        for g in 0..groups {
            for v in &members[starts[g]..starts[g + 1]] {
                net.loops[g] += self.loops[*v as usize];
                for (u, w) in self.edges(*v as usize) {
                    sums.add(labels[u as usize], w);
                }
            }
            for l in &sums.touched {
                if *l as usize == g {
                    net.loops[g] += sums.of[*l as usize];
                } else {
                    net.ends.push(*l);
                    net.weights.push(sums.of[*l as usize]);
                }
            }
            sums.clear();
            net.offsets.push(net.ends.len());
        }
        net
    }
}

/// Sums by label, cleared in the time it took to fill them.
pub(crate) struct Tally {
    pub(crate) of: Vec<u64>,
    pub(crate) touched: Vec<u32>,
}

impl Tally {
    pub(crate) fn new(labels: usize) -> Self {
        Self { of: vec![0; labels], touched: Vec::new() }
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, label: u32, w: u64) {
        let sum = &mut self.of[label as usize];
        if *sum == 0 && w > 0 {
            self.touched.push(label);
        }
        *sum += w;
    }

    pub(crate) fn clear(&mut self) {
        for l in &self.touched {
            self.of[*l as usize] = 0;
        }
        self.touched.clear();
    }
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
