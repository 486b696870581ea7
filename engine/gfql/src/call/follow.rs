//! One edge step of a pattern: the edges that it may follow from a node.

use graphlume_graph::Direction;
use graphlume_store::ids::IdSet;

use crate::chain::{BoundEdge, Pass};
use crate::hop::arcs;
use crate::wire::EdgeOp;

/// In the place of an element where a step has none.
pub(super) const NOTHING: u32 = u32::MAX;

/// One edge step and the nodes that it may end at.
pub(super) struct Follow<'a> {
    pub(super) pass: &'a Pass<'a>,
    pub(super) op: &'a EdgeOp,
    pub(super) bound: &'a BoundEdge,
    pub(super) existing: &'a IdSet,
    pub(super) next: &'a IdSet,
    /// Earlier steps that the node reached is to be.
    pub(super) must: &'a [usize],
}

/// What continues the paths: the path, its new edge, the node reached and the trail.
#[derive(Default)]
pub(super) struct Found {
    pub(super) from: Vec<u32>,
    pub(super) edges: Vec<u32>,
    pub(super) nodes: Vec<u32>,
    pub(super) last: Vec<u32>,
}

impl Found {
    pub(super) fn push(&mut self, path: usize, edge: u32, node: u32, trail: u32) {
        self.from.push(path as u32);
        self.edges.push(edge);
        self.nodes.push(node);
        self.last.push(trail);
    }
}

impl Follow<'_> {
    /// Rows of the edges that may be followed from `v` to `to`.
    pub(super) fn between(&self, v: u32, to: u32, mut take: impl FnMut(u32)) {
        let allows = |set: &Option<IdSet>, v| set.as_ref().is_none_or(|s| s.contains(v));
        if !(allows(&self.bound.source, v)
            && allows(&self.bound.destination, to)
            && self.existing.contains(to))
        {
            return;
        }
        let t = self.pass.t;
        let mut rows = |from: u32, to: u32| {
            // Out-lists are sorted by destination.
            let outs = t.out_neighbors(from);
            let first = outs.partition_point(|w| *w < to);
            let count = outs[first..].iter().take_while(|w| **w == to).count();
            for row in &t.out_rows(from)[first..first + count] {
                if self.bound.edge.is_trivial() || self.bound.edge.passes(*row) {
                    take(*row);
                }
            }
        };
        let direction = self.op.direction;
        if direction != Direction::Reverse {
            rows(v, to);
        }
        if direction == Direction::Reverse || direction == Direction::Undirected && v != to {
            rows(to, v);
        }
    }

    /// Row and end of every edge that may be followed from `v`.
    pub(super) fn arcs(&self, v: u32, mut take: impl FnMut(u32, u32)) {
        let allows = |set: &Option<IdSet>, v| set.as_ref().is_none_or(|s| s.contains(v));
        if !allows(&self.bound.source, v) {
            return;
        }
        arcs(self.pass.t, v, self.op.direction, |position, to| {
            let row = self.pass.t.out_row()[position as usize];
            let passes = self.bound.edge.is_trivial() || self.bound.edge.passes(row);
            if passes && self.existing.contains(to) && allows(&self.bound.destination, to) {
                take(row, to);
            }
        });
    }
}
