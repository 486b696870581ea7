//! The lists of a topology made into those of a view: copies settled, opposite edges merged, loops counted.

use graphlume_graph::Topology;
use graphlume_types::CancelToken;
use rayon::prelude::*;

use super::lists::{ByRow, Side, in_rows, weight_of};
use super::{Copies, Loops, Shape};
use crate::AlgoError;

/// Nodes that one task fills.
const CHUNK: u32 = 1024;

/// Starts and neighbours of the lists.
pub(super) fn neighbors(
    t: &Topology,
    shape: Shape,
    side: Side,
    cancel: &CancelToken,
) -> Result<(Vec<u32>, Vec<u32>), AlgoError> {
    let keeps = shape.copies == Copies::Keep;
    let parts = parts(t.num_nodes(), cancel, |v, own: &mut Vec<u32>| match side {
        Side::Both if keeps => all(t.out_neighbors(v), t.in_neighbors(v), v, shape.loops, own),
        Side::Both => distinct(t.out_neighbors(v), t.in_neighbors(v), v, shape.loops, own),
        Side::Out => one_way(t.out_neighbors(v), v, shape, own),
        Side::In => one_way(t.in_neighbors(v), v, shape, own),
    })?;
    let mut offsets = Vec::with_capacity(t.num_nodes() as usize + 1);
    offsets.push(0);
    let mut end = 0;
    for length in parts.iter().flat_map(|p| &p.lengths) {
        end += length;
        offsets.push(end);
    }
    Ok((offsets, joined(&parts)))
}

/// The weights of all arcs, in the order of [`neighbors`].
pub(super) fn weights(
    t: &Topology,
    shape: Shape,
    side: Side,
    (by_row, in_rows): ByRow<'_>,
    cancel: &CancelToken,
) -> Result<Vec<f64>, AlgoError> {
    let source = Source { topology: t, in_rows, weights: Some(by_row) };
    let parts = parts(t.num_nodes(), cancel, |v, own| {
        source.arcs(v, shape, side, |_, weight| own.push(weight));
    })?;
    Ok(joined(&parts))
}

/// The rows of all arcs, in the order of [`neighbors`].
pub(super) fn rows(t: &Topology, shape: Shape, side: Side) -> Vec<u32> {
    let in_rows = in_rows(t);
    let source = Source { topology: t, in_rows: &in_rows, weights: None };
    // Rows are asked for by an index of the view, which has no token; they take a tenth of what the view took.
    let parts = parts(t.num_nodes(), &CancelToken::new(), |v, own| {
        source.arcs(v, shape, side, |row, _| own.push(row));
    });
    parts.map_or_else(|_| Vec::new(), |parts| joined(&parts))
}

/// What one task made: the lengths of its lists, and the lists one after another.
struct MergedLists<T> {
    lengths: Vec<u32>,
    values: Vec<T>,
}

fn parts<T: Send>(
    n: u32,
    cancel: &CancelToken,
    list: impl Fn(u32, &mut Vec<T>) + Sync,
) -> Result<Vec<MergedLists<T>>, AlgoError> {
    let of_chunk = |first: u32| {
        cancel.check()?;
        let nodes = first..n.min(first.saturating_add(CHUNK));
        let mut part = MergedLists { lengths: Vec::with_capacity(nodes.len()), values: Vec::new() };
        for v in nodes {
            let before = part.values.len();
            list(v, &mut part.values);
            part.lengths.push((part.values.len() - before) as u32);
        }
        Ok(part)
    };
    (0..n.div_ceil(CHUNK)).into_par_iter().map(|chunk| of_chunk(chunk * CHUNK)).collect()
}

/// The values of all parts in one.
fn joined<T: Copy + Default + Send + Sync>(parts: &[MergedLists<T>]) -> Vec<T> {
    let mut all = vec![T::default(); parts.iter().map(|p| p.values.len()).sum()];
    let mut places = Vec::with_capacity(parts.len());
    let mut left = &mut all[..];
    for part in parts {
        let (own, rest) = left.split_at_mut(part.values.len());
        left = rest;
        places.push((own, &part.values));
    }
    places.into_par_iter().for_each(|(own, values)| own.copy_from_slice(values));
    all
}

const fn times(loops: Loops) -> usize {
    match loops {
        Loops::Drop => 0,
        Loops::Once => 1,
        Loops::Twice => 2,
    }
}

/// Two ascending lists as one, every entry of each; loops of `v` stand in both, and come as often as they count.
fn all(outs: &[u32], ins: &[u32], v: u32, loops: Loops, own: &mut Vec<u32>) {
    own.reserve(outs.len() + ins.len());
    let (mut i, mut j) = (0, 0);
    while i < outs.len() && j < ins.len() {
        let (a, b) = (outs[i], ins[j]);
        if b == v {
            j += 1;
        } else if a <= b {
            let count = if a == v { times(loops) } else { 1 };
            own.extend(std::iter::repeat_n(a, count));
            i += 1;
        } else {
            own.push(b);
            j += 1;
        }
    }
    for a in &outs[i..] {
        let count = if *a == v { times(loops) } else { 1 };
        own.extend(std::iter::repeat_n(*a, count));
    }
    own.extend(ins[j..].iter().filter(|b| **b != v));
}

/// Two ascending lists as one, every neighbour once.
fn distinct(outs: &[u32], ins: &[u32], v: u32, loops: Loops, own: &mut Vec<u32>) {
    own.reserve(outs.len() + ins.len());
    let (mut i, mut j) = (0, 0);
    // Above every neighbour: indices are below the number of nodes.
    let mut last = u32::MAX;
    while i < outs.len() || j < ins.len() {
        let a = outs.get(i).copied().unwrap_or(u32::MAX);
        let b = ins.get(j).copied().unwrap_or(u32::MAX);
        let next = a.min(b);
        i += usize::from(a == next);
        j += usize::from(b == next);
        if next != last {
            last = next;
            let count = if next == v { times(loops) } else { 1 };
            own.extend(std::iter::repeat_n(next, count));
        }
    }
}

/// One list of a directed view.
fn one_way(list: &[u32], v: u32, shape: Shape, own: &mut Vec<u32>) {
    own.reserve(list.len());
    let mut last = u32::MAX;
    for to in list {
        let is_copy = shape.copies != Copies::Keep && *to == last;
        if !is_copy && (*to != v || shape.loops != Loops::Drop) {
            own.push(*to);
        }
        last = *to;
    }
}

/// A topology with what its lists lack.
struct Source<'a> {
    topology: &'a Topology,
    in_rows: &'a [u32],
    weights: Option<&'a [f64]>,
}

impl Source<'_> {
    /// Gives the row and the weight of each arc of `v`, in the order of its list.
    fn arcs(&self, v: u32, shape: Shape, side: Side, mut emit: impl FnMut(u32, f64)) {
        match side {
            Side::Both => self.both_ways(v, shape, &mut emit),
            side => self.one_way(v, side == Side::In, shape, &mut emit),
        }
    }

    fn weight(&self, row: u32) -> f64 {
        self.weights.map_or(1.0, |w| weight_of(w, row))
    }

    fn list(&self, v: u32, incoming: bool) -> (&[u32], &[u32]) {
        if incoming {
            let range = self.topology.in_offsets()[v as usize] as usize
                ..self.topology.in_offsets()[v as usize + 1] as usize;
            (self.topology.in_neighbors(v), &self.in_rows[range])
        } else {
            (self.topology.out_neighbors(v), self.topology.out_rows(v))
        }
    }

    /// One list of a directed view.
    fn one_way(&self, v: u32, incoming: bool, shape: Shape, emit: &mut impl FnMut(u32, f64)) {
        let (neighbors, rows) = self.list(v, incoming);
        let mut at = 0;
        while at < neighbors.len() {
            let to = neighbors[at];
            let same = match shape.copies {
                Copies::Keep => 1,
                _ => neighbors[at..].iter().take_while(|w| **w == to).count(),
            };
            if to != v || shape.loops != Loops::Drop {
                emit(rows[at], self.merged(&rows[at..at + same], shape.copies));
            }
            at += same;
        }
    }

    /// The weight of one arc that stands for `rows`, all of one direction.
    fn merged(&self, rows: &[u32], copies: Copies) -> f64 {
        let weights = rows.iter().map(|row| self.weight(*row));
        match copies {
            Copies::Keep | Copies::First => self.weight(rows[0]),
            Copies::Least => weights.fold(f64::INFINITY, f64::min),
            Copies::Sum => weights.sum(),
        }
    }

    /// One list of an undirected view: the two lists of the topology, merged.
    fn both_ways(&self, v: u32, shape: Shape, emit: &mut impl FnMut(u32, f64)) {
        let ((to, to_rows), (from, from_rows)) = (self.list(v, false), self.list(v, true));
        let (mut i, mut j) = (0, 0);
        while i < to.len() || j < from.len() {
            let next = match (to.get(i), from.get(j)) {
                (Some(a), Some(b)) => *a.min(b),
                (Some(a), None) => *a,
                (_, b) => b.copied().unwrap_or(0),
            };
            let ahead = to[i..].iter().take_while(|w| **w == next).count();
            let back = from[j..].iter().take_while(|w| **w == next).count();
            let (ahead_rows, back_rows) = (&to_rows[i..i + ahead], &from_rows[j..j + back]);
            (i, j) = (i + ahead, j + back);
            if next == v {
                self.loops(ahead_rows, shape, emit);
            } else if shape.copies == Copies::Keep {
                merge_sorted(ahead_rows, back_rows, |row| emit(row, self.weight(row)));
            } else {
                let row = ahead_rows.first().into_iter().chain(back_rows.first()).min();
                let one = |rows: &[u32]| self.merged(rows, shape.copies);
                let weight = match (shape.copies, ahead, back) {
                    (_, 0, _) => one(back_rows),
                    (_, _, 0) => one(ahead_rows),
                    (Copies::Sum, ..) => one(ahead_rows) + one(back_rows),
                    (Copies::First, ..) => self.weight(row.copied().unwrap_or(0)),
                    // Added in one order, so that both ends of the edge have the same bits.
                    _ => f64::midpoint(one(ahead_rows), one(back_rows)),
                };
                emit(row.copied().unwrap_or(0), weight);
            }
        }
    }

    fn loops(&self, rows: &[u32], shape: Shape, emit: &mut impl FnMut(u32, f64)) {
        let times = match shape.loops {
            Loops::Drop => 0,
            Loops::Once => 1,
            Loops::Twice => 2,
        };
        if shape.copies == Copies::Keep {
            for row in rows {
                (0..times).for_each(|_| emit(*row, self.weight(*row)));
            }
        } else if let Some(row) = rows.first() {
            let weight = self.merged(rows, shape.copies);
            (0..times).for_each(|_| emit(*row, weight));
        }
    }
}

/// Calls `each` with the rows of two ascending lists in ascending order.
fn merge_sorted<'r>(mut a: &'r [u32], mut b: &'r [u32], mut each: impl FnMut(u32)) {
    loop {
        let from = match (a.first(), b.first()) {
            (None, None) => return,
            (Some(x), Some(y)) if x > y => &mut b,
            (None, Some(_)) => &mut b,
            _ => &mut a,
        };
        each(from[0]);
        *from = &from[1..];
    }
}
