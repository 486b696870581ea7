//! Adjacency lists laid out for summing many short lists at once: the rows of a window of nodes are sorted
//! by length and interleaved eight at a time (Kreutzer et al. 2014, "SELL-C-sigma"), so that the inner loop
//! has a fixed width and its branches are foreseen. Every row is summed in its own order, hence the bits
//! depend on the graph alone.

use std::borrow::Cow;
use std::ops::Range;

use graphlume_graph::Topology;
use rayon::prelude::*;

use crate::util;

/// Rows that are summed side by side.
const LANES: usize = 8;
/// Longer rows are cut in pieces, which bounds the padding and the error of single precision.
const PIECE: usize = 256;
/// Nodes of a window at most.
pub(super) const WINDOW_NODES: usize = 2048;
/// Arcs after which a window ends.
const WINDOW_ARCS: usize = 1 << 15;

/// A number that can be summed: `f32` or `f64`.
pub(super) trait Real: Copy + Send + Sync + Default + std::ops::AddAssign {
    fn of(x: f64) -> Self;
    fn times(self, weight: f32) -> Self;
    fn wide(self) -> f64;
}

impl Real for f32 {
    fn of(x: f64) -> Self {
        x as Self
    }
    fn times(self, weight: f32) -> Self {
        self * weight
    }
    fn wide(self) -> f64 {
        f64::from(self)
    }
}

impl Real for f64 {
    fn of(x: f64) -> Self {
        x
    }
    fn times(self, weight: f32) -> Self {
        self * Self::from(weight)
    }
    fn wide(self) -> f64 {
        self
    }
}

/// In-neighbours of consecutive nodes.
pub(super) struct Window {
    /// Number of nodes.
    pub(super) nodes: usize,
    /// Width of each group of eight pieces.
    widths: Vec<u16>,
    /// Node of each piece, from the window's first; eight to a group.
    owners: Vec<u16>,
    /// Neighbours: for each group its width times eight; the number of nodes of the graph is padding.
    cells: Vec<u32>,
    /// Weights of the cells; empty when all are 1.
    weights: Vec<f32>,
}

/// The graph as an iteration reads it.
pub(super) struct Rows {
    pub(super) windows: Vec<Window>,
    /// 1 over the weight that leaves each node; 0 when none does.
    pub(super) inverse: Vec<f64>,
}

/// Weights of all arcs, each node's out-edges first, and where each node's start.
type Arcs = (Vec<usize>, Vec<f32>);

impl Rows {
    /// In-neighbours along edges, or when not `directed` all neighbours.
    pub(super) fn new(topology: &Topology, weights: Option<&[f32]>, directed: bool) -> Self {
        let n = topology.num_nodes();
        let arcs: Option<Arcs> = weights.map(|w| {
            let mut at = 0;
            let starts = (0..n)
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
            .with_min_len(WINDOW_NODES)
            .map(|v| Some(leaving(v)).filter(|w| *w > 0.0).map_or(0.0, |w| 1.0 / w))
            .collect();
        let windows = cut(topology, directed)
            .into_par_iter()
            .with_max_len(1)
            .map(|nodes| Lists::new(topology, nodes, directed, arcs.as_ref()).interleave(n))
            .collect();
        Self { windows, inverse }
    }
}

/// Windows as ranges of nodes: each ends when it has enough nodes or arcs.
fn cut(topology: &Topology, directed: bool) -> Vec<Range<u32>> {
    let mut windows = Vec::new();
    let (mut start, mut arcs) = (0, 0);
    for v in 0..topology.num_nodes() {
        arcs += if directed { topology.in_degree(v) } else { topology.degree(v) } as usize;
        if (v - start) as usize + 1 >= WINDOW_NODES || arcs >= WINDOW_ARCS {
            windows.push(start..v + 1);
            (start, arcs) = (v + 1, 0);
        }
    }
    if start < topology.num_nodes() {
        windows.push(start..topology.num_nodes());
    }
    windows
}

/// The rows of one window, one after the other.
struct Lists<'a> {
    offsets: Vec<u32>,
    ends: Cow<'a, [u32]>,
    weights: Vec<f32>,
}

impl<'a> Lists<'a> {
    fn new(topology: &'a Topology, nodes: Range<u32>, directed: bool, arcs: Option<&Arcs>) -> Self {
        let mut weights = Vec::new();
        if let Some((starts, w)) = arcs {
            for v in nodes.clone() {
                let (outs, ins) = (topology.out_degree(v) as usize, topology.in_degree(v) as usize);
                let start = starts[v as usize];
                let (out_w, in_w) = w[start..start + outs + ins].split_at(outs);
                weights.extend_from_slice(in_w);
                if !directed {
                    weights.extend_from_slice(out_w);
                }
            }
        }
        if directed {
            let starts = &topology.in_offsets()[nodes.start as usize..=nodes.end as usize];
            let (first, last) = (starts[0], starts[starts.len() - 1]);
            let offsets = starts.iter().map(|s| s - first).collect();
            let ends = Cow::Borrowed(&topology.in_src()[first as usize..last as usize]);
            return Self { offsets, ends, weights };
        }
        let (mut offsets, mut ends) = (vec![0], Vec::new());
        for v in nodes {
            ends.extend_from_slice(topology.in_neighbors(v));
            ends.extend_from_slice(topology.out_neighbors(v));
            offsets.push(ends.len() as u32);
        }
        Self { offsets, ends: Cow::Owned(ends), weights }
    }

    /// Calls `f(node, first cell, length)` for every piece of every row.
    fn each(&self, mut f: impl FnMut(u16, u32, usize)) {
        for (v, range) in self.offsets.windows(2).enumerate() {
            let mut at = range[0];
            while at < range[1] {
                let len = ((range[1] - at) as usize).min(PIECE);
                f(v as u16, at, len);
                at += len as u32;
            }
        }
    }

    /// Pieces by descending length, as (node, first cell, length).
    fn pieces(&self) -> Vec<(u16, u32, u16)> {
        let mut starts = [0u32; PIECE + 2];
        self.each(|_, _, len| starts[PIECE - len + 1] += 1);
        for len in 0..=PIECE {
            starts[len + 1] += starts[len];
        }
        let mut pieces = vec![(0, 0, 0); starts[PIECE + 1] as usize];
        self.each(|v, at, len| {
            let slot = &mut starts[PIECE - len];
            pieces[*slot as usize] = (v, at, len as u16);
            *slot += 1;
        });
        pieces
    }

    fn interleave(&self, padding: u32) -> Window {
        let pieces = self.pieces();
        let groups = pieces.len().div_ceil(LANES);
        let total: usize = pieces.chunks(LANES).map(|g| g[0].2 as usize * LANES).sum();
        let weighted = if self.weights.is_empty() { 0 } else { total };
        let mut window = Window {
            nodes: self.offsets.len() - 1,
            widths: Vec::with_capacity(groups),
            owners: Vec::with_capacity(groups * LANES),
            cells: Vec::with_capacity(total),
            weights: Vec::with_capacity(weighted),
        };
        for group in pieces.chunks(LANES) {
            window.widths.push(group[0].2);
            window.owners.extend(group.iter().map(|p| p.0));
            window.owners.resize(window.widths.len() * LANES, 0);
            columns(group, &self.ends, padding, &mut window.cells);
            if weighted > 0 {
                columns(group, &self.weights, 0.0, &mut window.weights);
            }
        }
        window
    }
}

/// Appends the pieces of a group, the longest first, entry by entry side by side.
fn columns<T: Copy>(group: &[(u16, u32, u16)], values: &[T], padding: T, to: &mut Vec<T>) {
    let mut lanes: [&[T]; LANES] = [&[]; LANES];
    for (lane, (_, first, len)) in lanes.iter_mut().zip(group) {
        *lane = &values[*first as usize..*first as usize + *len as usize];
    }
    let full = lanes[LANES - 1].len();
    for k in 0..full {
        to.extend_from_slice(&lanes.map(|lane| lane[k]));
    }
    for k in full..lanes[0].len() {
        to.extend_from_slice(&lanes.map(|lane| lane.get(k).copied().unwrap_or(padding)));
    }
}

impl Window {
    /// Writes to `sums[v]` what node `v` of the window receives when node `u` of the graph sends `sent[u]`
    /// on each edge. The entry after the last node is 0.
    pub(super) fn sum<T: Real>(&self, sent: &[T], sums: &mut [f64]) {
        sums.fill(0.0);
        let mut at = 0;
        for (width, owners) in self.widths.iter().zip(self.owners.chunks_exact(LANES)) {
            let range = at..at + *width as usize * LANES;
            at = range.end;
            let mut acc = [T::default(); LANES];
            if self.weights.is_empty() {
                for eight in self.cells[range].chunks_exact(LANES) {
                    for (a, u) in acc.iter_mut().zip(eight) {
                        *a += read(sent, *u);
                    }
                }
            } else {
                let weights = self.weights[range.clone()].chunks_exact(LANES);
                for (eight, weights) in self.cells[range].chunks_exact(LANES).zip(weights) {
                    for (a, (u, w)) in acc.iter_mut().zip(eight.iter().zip(weights)) {
                        *a += read(sent, *u).times(*w);
                    }
                }
            }
            for (owner, a) in owners.iter().zip(acc) {
                sums[*owner as usize] += a.wide();
            }
        }
    }
}

/// `sent[u]`, unchecked: the check costs a third of the loop.
#[inline(always)]
fn read<T: Real>(sent: &[T], u: u32) -> T {
    // SAFETY: cells are node indices below the number of nodes n, which `Topology` guarantees, or the
    // padding n; `Iterate::pass` asserts that `sent` has n + 1 entries before it sums any window.
    unsafe { *sent.get_unchecked(u as usize) }
}
