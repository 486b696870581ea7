//! Adjacency lists as an algorithm reads them: which edges are one, which way they lead, what they weigh.
//!
//! A [`Topology`] keeps every edge row apart and directed. Libraries differ in what they make of that
//! (copies, opposite edges, loops); a [`GraphView`] is the result, and the code of an algorithm is written
//! once for all of them.

mod lists;
mod merge;

use std::sync::Arc;

use graphlume_graph::Topology;
use graphlume_types::CancelToken;
use rayon::prelude::*;

pub use lists::Lists;

use crate::AlgoError;
use lists::{Array, Side, in_rows};

/// What becomes of edges with the same ends. In an undirected view an edge and one against it have the same ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loops {
    /// It is left out.
    Drop,
    /// It stands in the list of its node once.
    Once,
    /// It stands in the list of its node twice where edges have no direction, as igraph counts it.
    Twice,
}

/// How a [`GraphView`] is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Whether edges lead one way only.
    pub directed: bool,
    /// What becomes of copies.
    pub copies: Copies,
    /// What becomes of loops.
    pub loops: Loops,
}

/// A graph as an algorithm reads it. Cloning shares the lists.
#[derive(Clone, Debug)]
pub struct GraphView<'a> {
    directed: bool,
    out: Lists<'a>,
    incoming: Option<Lists<'a>>,
}

/// The lists of a view without weights, to be kept with the graph: see [`GraphData::kept`](crate::GraphData::kept).
#[derive(Clone, Debug)]
pub struct KeptView {
    out: KeptLists,
    incoming: Option<KeptLists>,
}

/// Starts and neighbours.
type KeptLists = (Arc<Vec<u32>>, Arc<Vec<u32>>);

impl KeptView {
    /// Bytes that the lists take.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let of = |(starts, neighbors): &KeptLists| 4 * (starts.len() + neighbors.len()) as u64;
        of(&self.out) + self.incoming.as_ref().map_or(0, of)
    }
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
        Self::with(topology, weights, shape, None, &CancelToken::new()).map(|(view, _)| view)
    }

    /// As [`Self::new`], with the lists of `kept`, when those are of the same shape and graph, and the lists to be kept
    /// when they were made here and may be kept.
    ///
    /// # Errors
    /// As [`Self::new`], and [`AlgoError::Cancelled`].
    pub fn with(
        topology: &'a Topology,
        weights: Option<&[f64]>,
        shape: Shape,
        kept: Option<&KeptView>,
        cancel: &CancelToken,
    ) -> Result<(Self, Option<KeptView>), AlgoError> {
        let m = u64::from(topology.num_edges());
        if !shape.directed && 2 * m > u64::from(u32::MAX) {
            return Err(AlgoError::TooLarge {
                algorithm: "an undirected view",
                what: "edges",
                size: m,
                limit: u64::from(u32::MAX / 2),
                instead: "filter the graph first",
            });
        }
        let rows = weights.map(|_| in_rows(topology));
        let weights = weights.zip(rows.as_deref());
        if shape.directed && is_as_stored(topology, shape) {
            let incoming = Lists::stored(topology, Side::In, weights);
            let out = Lists::stored(topology, Side::Out, weights);
            return Ok((Self { directed: true, out, incoming: Some(incoming) }, None));
        }
        let made;
        let (kept, is_new) = match kept {
            Some(kept) => (kept, false),
            None => {
                made = Self::lists(topology, shape, cancel)?;
                (&made, true)
            }
        };
        let list = |(starts, neighbors): &KeptLists, side| {
            let (starts, neighbors) = (Arc::clone(starts), Arc::clone(neighbors));
            let arrays = (Array::Shared(starts), Array::Shared(neighbors));
            Lists::made(topology, shape, side, arrays, weights, cancel)
        };
        let side = if shape.directed { Side::Out } else { Side::Both };
        let out = list(&kept.out, side)?;
        let incoming = kept.incoming.as_ref().map(|kept| list(kept, Side::In)).transpose()?;
        let view = Self { directed: shape.directed, out, incoming };
        Ok((view, is_new.then(|| kept.clone())))
    }

    /// Starts and neighbours of the lists of `shape`.
    fn lists(
        topology: &Topology,
        shape: Shape,
        cancel: &CancelToken,
    ) -> Result<KeptView, AlgoError> {
        let side = |side| {
            let (starts, neighbors) = merge::neighbors(topology, shape, side, cancel)?;
            Ok::<_, AlgoError>((Arc::new(starts), Arc::new(neighbors)))
        };
        Ok(match shape.directed {
            true => KeptView { out: side(Side::Out)?, incoming: Some(side(Side::In)?) },
            false => KeptView { out: side(Side::Both)?, incoming: None },
        })
    }

    /// Nodes.
    #[must_use]
    #[inline]
    pub fn num_nodes(&self) -> u32 {
        self.out.offsets().len() as u32 - 1
    }

    /// Arcs: edges of a directed view; twice the edges of an undirected one, with loops as [`Loops`] says.
    #[must_use]
    pub fn num_arcs(&self) -> usize {
        self.out.all_neighbors().len()
    }

    /// Whether edges lead one way only.
    #[must_use]
    pub fn is_directed(&self) -> bool {
        self.directed
    }

    /// Whether arcs have weights.
    #[must_use]
    pub fn is_weighted(&self) -> bool {
        self.out.all_weights().is_some()
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

    /// The same graph with every edge turned round.
    #[must_use]
    pub fn reversed(self) -> Self {
        match self.incoming {
            Some(incoming) => {
                Self { directed: self.directed, out: incoming, incoming: Some(self.out) }
            }
            None => self,
        }
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

/// Whether the lists of the topology are those of a directed view of `shape`.
fn is_as_stored(t: &Topology, shape: Shape) -> bool {
    let plain = |v: u32| {
        let outs = t.out_neighbors(v);
        let copies = shape.copies != Copies::Keep && outs.windows(2).any(|pair| pair[0] == pair[1]);
        !copies && (shape.loops != Loops::Drop || outs.binary_search(&v).is_err())
    };
    let asks = shape.copies != Copies::Keep || shape.loops == Loops::Drop;
    !asks || (0..t.num_nodes()).into_par_iter().with_min_len(1 << 12).all(plain)
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

    /// The arcs of a node without directions, by looking at every edge.
    fn by_hand(t: &Topology, v: u32, copies: Copies, loops: Loops) -> Vec<u32> {
        let mut arcs = Vec::new();
        for at in 0..t.num_edges() {
            let (a, b, _) = t.edge(at);
            match (a == v, b == v) {
                (true, true) => arcs.extend(vec![v; loops as usize]),
                (true, false) => arcs.push(b),
                (false, true) => arcs.push(a),
                (false, false) => {}
            }
        }
        arcs.sort_unstable();
        if copies != Copies::Keep {
            let own = arcs.iter().filter(|u| **u == v).count().min(loops as usize);
            arcs.dedup();
            arcs.retain(|u| *u != v);
            arcs.extend(vec![v; own]);
            arcs.sort_unstable();
        }
        arcs
    }

    #[test]
    fn lists_without_directions_are_those_of_all_edges_by_hand() {
        for (name, t) in crate::testkit::zoo() {
            let weights: Vec<f64> = (0..t.num_edges()).map(f64::from).collect();
            for copies in [Copies::Keep, Copies::First, Copies::Least, Copies::Sum] {
                for loops in [Loops::Drop, Loops::Once, Loops::Twice] {
                    let shape = Shape { directed: false, copies, loops };
                    let view = GraphView::new(&t, Some(&weights), shape);
                    let view = view.unwrap_or_else(|e| unreachable!("{e}"));
                    let (all, rows) = (view.out().all_weights(), view.out().all_rows());
                    assert_eq!(
                        (all.map(<[f64]>::len), rows.len()),
                        (Some(view.num_arcs()), view.num_arcs())
                    );
                    for v in 0..t.num_nodes() {
                        let expected = by_hand(&t, v, copies, loops);
                        assert_eq!(view.out().neighbors(v), expected, "{name} {shape:?} {v}");
                    }
                }
            }
        }
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
