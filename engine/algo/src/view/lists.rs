//! The lists of a view, and their rows and weights, which are made when they are asked for.

use std::ops::{Deref, Range};
use std::sync::{Arc, OnceLock};

use graphlume_graph::Topology;
use graphlume_types::CancelToken;
use rayon::prelude::*;

use super::{Copies, Loops, Shape, merge};
use crate::AlgoError;

/// Values of the graph itself, borrowed, or those of a view, which several views share.
#[derive(Clone, Debug)]
pub(super) enum Array<'a, T> {
    Borrowed(&'a [T]),
    Shared(Arc<Vec<T>>),
}

impl<T> Deref for Array<'_, T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Self::Borrowed(values) => values,
            Self::Shared(values) => values,
        }
    }
}

/// Which arcs of a node its list has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Those that leave it.
    Out,
    /// Those that enter it.
    In,
    /// Both.
    Both,
}

/// One adjacency list for each node, ascending by neighbour, then by row.
#[derive(Clone, Debug)]
pub struct Lists<'a> {
    offsets: Array<'a, u32>,
    neighbors: Array<'a, u32>,
    weights: Option<Array<'a, f64>>,
    /// Rows of the arcs, of which most algorithms ask nothing.
    rows: OnceLock<Vec<u32>>,
    topology: &'a Topology,
    shape: Shape,
    side: Side,
}

/// Weights by edge table row, and the rows of the in-lists.
pub(super) type ByRow<'w> = (&'w [f64], &'w [u32]);

impl<'a> Lists<'a> {
    /// The lists of the topology itself.
    pub(super) fn stored(topology: &'a Topology, side: Side, weights: Option<ByRow<'_>>) -> Self {
        let (offsets, neighbors) = match side {
            Side::In => (topology.in_offsets(), topology.in_src()),
            _ => (topology.out_offsets(), topology.out_dst()),
        };
        let gathered = weights.map(|(by_row, in_rows)| match side {
            Side::In => gather(by_row, in_rows),
            _ => gather(by_row, topology.out_row()),
        });
        let shape = Shape { directed: true, copies: Copies::Keep, loops: Loops::Once };
        Self {
            offsets: Array::Borrowed(offsets),
            neighbors: Array::Borrowed(neighbors),
            weights: gathered.map(|w| Array::Shared(Arc::new(w))),
            rows: OnceLock::new(),
            topology,
            shape,
            side,
        }
    }

    /// Lists with these starts and neighbours, which are of `shape`.
    pub(super) fn made(
        topology: &'a Topology,
        shape: Shape,
        side: Side,
        (offsets, neighbors): (Array<'a, u32>, Array<'a, u32>),
        weights: Option<ByRow<'_>>,
        cancel: &CancelToken,
    ) -> Result<Self, AlgoError> {
        let weights = weights.map(|by_row| merge::weights(topology, shape, side, by_row, cancel));
        let weights = weights.transpose()?.map(|w| Array::Shared(Arc::new(w)));
        let rows = OnceLock::new();
        Ok(Self { offsets, neighbors, weights, rows, topology, shape, side })
    }

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
        &self.all_rows()[self.range(v)]
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
    pub fn weight(&self, index: usize) -> f64 {
        self.weights.as_deref().map_or(1.0, |w| w[index])
    }

    /// `num_nodes + 1` starts of the lists.
    #[must_use]
    #[inline]
    pub fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    /// The neighbours of all nodes, list after list.
    #[must_use]
    #[inline]
    pub fn all_neighbors(&self) -> &[u32] {
        &self.neighbors
    }

    /// The same, to keep, where they are not borrowed of the graph.
    pub(crate) fn shared_neighbors(&self) -> Option<Arc<Vec<u32>>> {
        match &self.neighbors {
            Array::Borrowed(_) => None,
            Array::Shared(values) => Some(Arc::clone(values)),
        }
    }

    /// The rows of all arcs, list after list; made by the first who asks.
    #[must_use]
    pub fn all_rows(&self) -> &[u32] {
        let stored = Shape { directed: true, copies: Copies::Keep, loops: Loops::Once };
        match self.side {
            Side::Out if self.shape == stored => self.topology.out_row(),
            Side::In if self.shape == stored => self.rows.get_or_init(|| in_rows(self.topology)),
            side => self.rows.get_or_init(|| merge::rows(self.topology, self.shape, side)),
        }
    }

    /// The weights of all arcs, list after list, when the view has weights.
    #[must_use]
    #[inline]
    pub fn all_weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }
}

/// Edge table rows of the in-lists, which a topology does not keep.
pub(super) fn in_rows(topology: &Topology) -> Vec<u32> {
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

/// The weight of a row; 1 where there is none.
#[inline]
pub(super) fn weight_of(by_row: &[f64], row: u32) -> f64 {
    by_row.get(row as usize).copied().filter(|w| !w.is_nan()).unwrap_or(1.0)
}
