//! Adjacency lists as an algorithm reads them: which edges are one, which way they lead, what they weigh.
//!
//! A [`Topology`] keeps every edge row apart and directed. Libraries differ in what they make of that
//! (copies, opposite edges, loops); a [`GraphView`] is the result, and the code of an algorithm is written
//! once for all of them.

use std::borrow::Cow;
use std::ops::Range;

use graphlume_graph::Topology;
use rayon::prelude::*;

use crate::AlgoError;

/// What becomes of edges with the same ends. In an undirected view an edge and one against it have the same ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copies {
    /// All stay.
    Keep,
    /// The first row stands for all, with its weight.
    First,
    /// One stays with the least weight of its direction; an edge and one against it become their mean. This is what
    /// cuGraph does to undirected graphs.
    Least,
    /// One stays with the sum of the weights.
    Sum,
}

/// What becomes of an edge from a node to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loops {
    /// It is left out.
    Drop,
    /// It stands in the list of its node once.
    Once,
    /// It stands in the list of its node twice where edges have no direction, as igraph counts it.
    Twice,
}

/// How a [`GraphView`] is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Whether edges lead one way only.
    pub directed: bool,
    /// What becomes of copies.
    pub copies: Copies,
    /// What becomes of loops.
    pub loops: Loops,
}

/// One adjacency list for each node, ascending by neighbour, then by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Lists<'a> {
    offsets: Cow<'a, [u32]>,
    neighbors: Cow<'a, [u32]>,
    rows: Cow<'a, [u32]>,
    weights: Option<Vec<f64>>,
}

impl Lists<'_> {
    /// Neighbours of `v`.
    #[must_use]
    #[inline]
    pub fn neighbors(&self, v: u32) -> &[u32] {
        &self.neighbors[self.range(v)]
    }

    /// Edge table rows of the arcs of `v`, parallel to [`Self::neighbors`]; the first row where several are one.
    #[must_use]
    #[inline]
    pub fn rows(&self, v: u32) -> &[u32] {
        &self.rows[self.range(v)]
    }

    /// Weights of the arcs of `v`; `None` in a view without weights, where each is 1.
    #[must_use]
    #[inline]
    pub fn weights(&self, v: u32) -> Option<&[f64]> {
        self.weights.as_deref().map(|w| &w[self.range(v)])
    }

    /// Neighbours and weights of the arcs of `v`; the weights are 1 in a view without weights.
    #[inline]
    pub fn weighted(&self, v: u32) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.range(v).map(move |at| (self.neighbors[at], self.weight(at)))
    }

    /// Number of arcs of `v`.
    #[must_use]
    #[inline]
    pub fn degree(&self, v: u32) -> u32 {
        self.offsets[v as usize + 1] - self.offsets[v as usize]
    }

    /// Sum of the weights of the arcs of `v`.
    #[must_use]
    pub fn strength(&self, v: u32) -> f64 {
        self.weights(v).map_or_else(|| f64::from(self.degree(v)), |w| w.iter().sum())
    }

    /// Positions of the arcs of `v` in [`Self::all_neighbors`].
    #[must_use]
    #[inline]
    pub fn range(&self, v: u32) -> Range<usize> {
        self.offsets[v as usize] as usize..self.offsets[v as usize + 1] as usize
    }

    /// The weight of the arc at a position; 1 in a view without weights.
    #[must_use]
    #[inline]
    pub fn weight(&self, at: usize) -> f64 {
        self.weights.as_deref().map_or(1.0, |w| w[at])
    }

    /// `num_nodes + 1` starts of the lists.
    #[must_use]
    pub fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    /// The neighbours of all nodes, list after list.
    #[must_use]
    pub fn all_neighbors(&self) -> &[u32] {
        &self.neighbors
    }

    /// The rows of all arcs, list after list.
    #[must_use]
    pub fn all_rows(&self) -> &[u32] {
        &self.rows
    }

    /// The weights of all arcs, list after list, when the view has weights.
    #[must_use]
    pub fn all_weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }
}

/// A graph as an algorithm reads it.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphView<'a> {
    directed: bool,
    out: Lists<'a>,
    incoming: Option<Lists<'a>>,
}

impl<'a> GraphView<'a> {
    /// The view of `shape`, with `weights` by edge table row; a weight that is not a number counts as 1.
    ///
    /// # Errors
    /// [`AlgoError::TooLarge`] when an undirected view would have 2³² arcs or more.
    pub fn new(
        topology: &'a Topology,
        weights: Option<&[f64]>,
        shape: Shape,
    ) -> Result<Self, AlgoError> {
        let (n, m) = (topology.num_nodes(), u64::from(topology.num_edges()));
        if !shape.directed && 2 * m > u64::from(u32::MAX) {
            return Err(AlgoError::TooLarge {
                algorithm: "an undirected view",
                what: "edges",
                size: m,
                limit: u64::from(u32::MAX / 2),
                instead: "filter the graph first",
            });
        }
        let plain = shape.directed && shape.copies == Copies::Keep && shape.loops != Loops::Drop;
        let in_rows = in_rows(topology);
        let source = Source { topology, in_rows: &in_rows, weights };
        if plain {
            let out = Lists {
                offsets: Cow::Borrowed(topology.out_offsets()),
                neighbors: Cow::Borrowed(topology.out_dst()),
                rows: Cow::Borrowed(topology.out_row()),
                weights: weights.map(|w| gather(w, topology.out_row())),
            };
            let by_row = weights.map(|w| gather(w, &in_rows));
            let incoming = Lists {
                offsets: Cow::Borrowed(topology.in_offsets()),
                neighbors: Cow::Borrowed(topology.in_src()),
                rows: Cow::Owned(in_rows),
                weights: by_row,
            };
            return Ok(Self { directed: true, out, incoming: Some(incoming) });
        }
        if shape.directed {
            let out = lists(n, weights.is_some(), |v, emit| source.one_way(v, false, shape, emit));
            let incoming =
                lists(n, weights.is_some(), |v, emit| source.one_way(v, true, shape, emit));
            return Ok(Self { directed: true, out, incoming: Some(incoming) });
        }
        let out = lists(n, weights.is_some(), |v, emit| source.both_ways(v, shape, emit));
        Ok(Self { directed: false, out, incoming: None })
    }

    /// Nodes.
    #[must_use]
    #[inline]
    pub fn num_nodes(&self) -> u32 {
        self.out.offsets.len() as u32 - 1
    }

    /// Arcs: edges of a directed view; twice the edges of an undirected one, with loops as [`Loops`] says.
    #[must_use]
    pub fn num_arcs(&self) -> usize {
        self.out.neighbors.len()
    }

    /// Whether edges lead one way only.
    #[must_use]
    pub fn is_directed(&self) -> bool {
        self.directed
    }

    /// Whether arcs have weights.
    #[must_use]
    pub fn is_weighted(&self) -> bool {
        self.out.weights.is_some()
    }

    /// The arcs that leave each node; in an undirected view all of its arcs.
    #[must_use]
    #[inline]
    pub fn out(&self) -> &Lists<'a> {
        &self.out
    }

    /// The arcs that enter each node; in an undirected view the same as [`Self::out`].
    #[must_use]
    #[inline]
    pub fn incoming(&self) -> &Lists<'a> {
        self.incoming.as_ref().unwrap_or(&self.out)
    }

    /// The value of every edge table row of `topology`, of which this is a view, out of the values of the
    /// arcs of [`Self::out`]: each row has that of the arc between its ends, whichever way it leads in an
    /// undirected view. `None` where the view has no such arc.
    #[must_use]
    pub fn by_row(&self, topology: &Topology, of_arc: &[f64]) -> Vec<Option<f64>> {
        let rows = topology.out_row().iter().max().map_or(0, |r| *r as usize + 1);
        let mut values = vec![None; rows];
        for v in 0..topology.num_nodes() {
            let (neighbors, own) = (self.out.neighbors(v), self.out.rows(v));
            let start = self.out.range(v).start;
            for (to, row) in topology.out_neighbors(v).iter().zip(topology.out_rows(v)) {
                let first = neighbors.partition_point(|w| w < to);
                let same = neighbors[first..].iter().take_while(|w| *w == to).count();
                // The arc of this very row where copies are kept, else the one that stands for all.
                let at = own[first..first + same].iter().position(|r| r == row).unwrap_or(0);
                if same > 0 {
                    values[*row as usize] = Some(of_arc[start + first + at]);
                }
            }
        }
        values
    }
}

/// Edge table rows of the in-lists, which a topology does not keep.
fn in_rows(topology: &Topology) -> Vec<u32> {
    let mut cursor: Vec<u32> = topology.in_offsets().to_vec();
    let mut rows = vec![0; topology.num_edges() as usize];
    // Sources ascend, and so does each in-list.
    for (to, row) in topology.out_dst().iter().zip(topology.out_row()) {
        let at = &mut cursor[*to as usize];
        rows[*at as usize] = *row;
        *at += 1;
    }
    rows
}

fn gather(by_row: &[f64], rows: &[u32]) -> Vec<f64> {
    rows.par_iter().with_min_len(1 << 14).map(|row| weight_of(by_row, *row)).collect()
}

#[inline]
fn weight_of(by_row: &[f64], row: u32) -> f64 {
    by_row.get(row as usize).copied().filter(|w| !w.is_nan()).unwrap_or(1.0)
}

/// A topology with what its lists lack.
struct Source<'a> {
    topology: &'a Topology,
    in_rows: &'a [u32],
    weights: Option<&'a [f64]>,
}

/// Takes neighbour, row and weight of an arc.
type Emit<'e> = dyn FnMut(u32, u32, f64) + 'e;

impl Source<'_> {
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
    fn one_way(&self, v: u32, incoming: bool, shape: Shape, emit: &mut Emit<'_>) {
        let (neighbors, rows) = self.list(v, incoming);
        let mut at = 0;
        while at < neighbors.len() {
            let to = neighbors[at];
            let same = match shape.copies {
                Copies::Keep => 1,
                _ => neighbors[at..].iter().take_while(|w| **w == to).count(),
            };
            if to != v || shape.loops != Loops::Drop {
                emit(to, rows[at], self.merged(&rows[at..at + same], shape.copies));
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
    fn both_ways(&self, v: u32, shape: Shape, emit: &mut Emit<'_>) {
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
                self.loops(v, ahead_rows, shape, emit);
            } else if shape.copies == Copies::Keep {
                merge_sorted(ahead_rows, back_rows, |row| emit(next, row, self.weight(row)));
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
                emit(next, row.copied().unwrap_or(0), weight);
            }
        }
    }

    fn loops(&self, v: u32, rows: &[u32], shape: Shape, emit: &mut Emit<'_>) {
        let times = match shape.loops {
            Loops::Drop => 0,
            Loops::Once => 1,
            Loops::Twice => 2,
        };
        if shape.copies == Copies::Keep {
            for row in rows {
                (0..times).for_each(|_| emit(v, *row, self.weight(*row)));
            }
        } else if let Some(row) = rows.first() {
            let weight = self.merged(rows, shape.copies);
            (0..times).for_each(|_| emit(v, *row, weight));
        }
    }
}

/// Calls `each` with the rows of two ascending lists in ascending order.
fn merge_sorted<'a>(mut a: &'a [u32], mut b: &'a [u32], mut each: impl FnMut(u32)) {
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

/// Nodes that one task fills.
const CHUNK: u32 = 2048;

/// Lists out of what `each` emits for each node; it is asked twice, first to count.
fn lists(n: u32, weighted: bool, each: impl Fn(u32, &mut Emit<'_>) + Sync) -> Lists<'static> {
    let mut offsets = vec![0u32; n as usize + 1];
    offsets[1..].par_iter_mut().enumerate().with_min_len(CHUNK as usize).for_each(|(v, count)| {
        each(v as u32, &mut |_, _, _| *count += 1);
    });
    for v in 0..n as usize {
        offsets[v + 1] += offsets[v];
    }
    let arcs = offsets[n as usize] as usize;
    let (mut neighbors, mut rows) = (vec![0u32; arcs], vec![0u32; arcs]);
    let mut weights = vec![0f64; if weighted { arcs } else { 0 }];
    // Each task owns the part of the three arrays that belongs to its nodes.
    let mut tasks = Vec::with_capacity((n / CHUNK) as usize + 1);
    let (mut left_n, mut left_r) = (&mut neighbors[..], &mut rows[..]);
    let mut left_w = &mut weights[..];
    for first in (0..n).step_by(CHUNK as usize) {
        let last = n.min(first.saturating_add(CHUNK));
        let len = (offsets[last as usize] - offsets[first as usize]) as usize;
        let (own_n, rest) = left_n.split_at_mut(len);
        left_n = rest;
        let (own_r, rest) = left_r.split_at_mut(len);
        left_r = rest;
        let (own_w, rest) = left_w.split_at_mut(if weighted { len } else { 0 });
        left_w = rest;
        tasks.push((first..last, own_n, own_r, own_w));
    }
    tasks.into_par_iter().for_each(|(nodes, neighbors, rows, weights)| {
        let mut at = 0;
        for v in nodes {
            each(v, &mut |to, row, weight| {
                neighbors[at] = to;
                rows[at] = row;
                if weighted {
                    weights[at] = weight;
                }
                at += 1;
            });
        }
    });
    Lists {
        offsets: Cow::Owned(offsets),
        neighbors: Cow::Owned(neighbors),
        rows: Cow::Owned(rows),
        weights: weighted.then_some(weights),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: [(u32, u32); 7] = [(0, 1), (0, 1), (1, 0), (1, 2), (2, 2), (3, 2), (2, 3)];
    const WEIGHTS: [f64; 7] = [9.0, 1.0, 3.0, 2.0, 5.0, f64::NAN, 4.0];

    fn topology() -> Topology {
        let (src, dst): (Vec<u32>, Vec<u32>) = ROWS.iter().copied().unzip();
        Topology::from_coo(5, &src, &dst)
    }

    fn list(lists: &Lists<'_>, v: u32) -> Vec<(u32, u32, f64)> {
        let rows = lists.rows(v).iter();
        lists.weighted(v).zip(rows).map(|((to, w), row)| (to, *row, w)).collect()
    }

    fn view(topology: &Topology, directed: bool, copies: Copies, loops: Loops) -> GraphView<'_> {
        let shape = Shape { directed, copies, loops };
        GraphView::new(topology, Some(&WEIGHTS), shape).unwrap_or_else(|e| unreachable!("{e}"))
    }

    #[test]
    fn a_directed_view_keeps_rows_and_weights_in_both_directions() {
        let t = topology();
        let all = view(&t, true, Copies::Keep, Loops::Once);
        assert_eq!(list(all.out(), 0), [(1, 0, 9.0), (1, 1, 1.0)]);
        assert_eq!(list(all.incoming(), 2), [(1, 3, 2.0), (2, 4, 5.0), (3, 5, 1.0)]);
        let first = view(&t, true, Copies::First, Loops::Drop);
        assert_eq!(list(first.out(), 0), [(1, 0, 9.0)]);
        assert_eq!(list(first.incoming(), 2), [(1, 3, 2.0), (3, 5, 1.0)]);
        assert_eq!(list(view(&t, true, Copies::Sum, Loops::Once).out(), 0), [(1, 0, 10.0)]);
    }

    #[test]
    fn an_undirected_view_merges_as_its_library_does() {
        let t = topology();
        let multi = view(&t, false, Copies::Keep, Loops::Twice);
        assert_eq!(list(multi.out(), 0), [(1, 0, 9.0), (1, 1, 1.0), (1, 2, 3.0)]);
        assert_eq!(list(multi.out(), 1), [(0, 0, 9.0), (0, 1, 1.0), (0, 2, 3.0), (2, 3, 2.0)]);
        assert_eq!(multi.out().degree(2), 5, "the loop counts twice");
        let simple = view(&t, false, Copies::Least, Loops::Once);
        assert_eq!(list(simple.out(), 0), [(1, 0, 2.0)]);
        assert_eq!(list(simple.out(), 2), [(1, 3, 2.0), (2, 4, 5.0), (3, 5, 2.5)]);
        assert_eq!(list(simple.out(), 3), [(2, 5, 2.5)]);
        assert_eq!(list(view(&t, false, Copies::Sum, Loops::Drop).out(), 1)[0], (0, 0, 13.0));
        assert_eq!(simple.out().neighbors(4), [0u32; 0]);
    }

    #[test]
    fn values_of_arcs_reach_every_row_whichever_way_it_leads() {
        let t = topology();
        let simple = view(&t, false, Copies::Least, Loops::Drop);
        let of_arc: Vec<f64> = (0..simple.num_arcs()).map(|at| at as f64).collect();
        let rows = simple.by_row(&t, &of_arc);
        assert_eq!(rows[0], rows[1]);
        assert_eq!(rows[4], None, "the view has no loops");
        assert!(rows[5].is_some() && rows[2].is_some());
    }
}
