//! One step of a count of paths: from where, along which relationships, and without which.

use std::sync::Arc;

use graphlume_types::MemoryReservation;

use super::first;
use crate::exec::edges::EdgeTest;
use crate::exec::relation::Relation;
use crate::exec::{Exec, Flow};
use crate::graph_view::GraphView;
use crate::plan::Step;
use crate::value::Edge;
use graphlume_graph::Direction;

/// The part of all nodes up to which those with paths are listed.
const LISTED_PART: usize = 16;

/// Numbers of paths by node.
pub(super) enum Paths {
    /// One path to each marked node.
    One(Arc<Vec<bool>>, #[allow(dead_code, reason = "given back when it goes")] MemoryReservation),
    /// Nodes in ascending order.
    Few(Vec<(u32, u64)>),
    /// With the memory that it takes.
    All(Vec<u64>, #[allow(dead_code, reason = "given back when it goes")] MemoryReservation),
}

impl Default for Paths {
    fn default() -> Self {
        Self::Few(Vec::new())
    }
}

impl Paths {
    /// Those of all nodes, or a list where few have any.
    pub(super) fn of_all(all: Vec<u64>, hold: MemoryReservation) -> Self {
        let some = all.iter().filter(|paths| **paths > 0).count();
        if some * LISTED_PART > all.len() {
            return Self::All(all, hold);
        }
        let mut nodes = Vec::with_capacity(some);
        nodes.extend((0..).zip(all).filter(|(_, paths)| *paths > 0));
        Self::Few(nodes)
    }

    #[inline]
    pub(super) fn to(&self, v: u32) -> u64 {
        match self {
            Self::One(marks, _) => u64::from(marks.get(v as usize).copied().unwrap_or(false)),
            Self::All(all, _) => all.get(v as usize).copied().unwrap_or(0),
            Self::Few(nodes) => {
                let at = nodes.binary_search_by_key(&v, |n| n.0);
                at.ok().and_then(|i| nodes.get(i)).map_or(0, |n| n.1)
            }
        }
    }

    /// Whether the sum of `of` over the nodes with paths is beyond a limit.
    pub(super) fn sum_is_beyond(&self, limit: u64, of: impl Fn(u32) -> u64) -> bool {
        let mut sum = 0;
        let mut beyond = |v: u32| {
            sum += of(v);
            sum > limit
        };
        match self {
            Self::One(marks, _) => (0..).zip(&**marks).any(|(v, mark)| *mark && beyond(v)),
            Self::Few(nodes) => nodes.iter().any(|(v, _)| beyond(*v)),
            Self::All(all, _) => (0..).zip(all).any(|(v, paths)| *paths > 0 && beyond(v)),
        }
    }

    /// The marks of nodes to each of which a single path leads.
    pub(super) fn single(&self) -> Option<&[bool]> {
        match self {
            Self::One(marks, _) => Some(marks),
            _ => None,
        }
    }

    /// The nodes that may be the first so many by their paths, ties with the last of them included, in ascending order.
    pub(super) fn into_first(self, wanted: u32) -> Vec<(u32, u64)> {
        let least = match &self {
            Self::One(..) => 1,
            Self::Few(nodes) => first::least(nodes.iter().map(|n| n.1), wanted),
            Self::All(all, _) => first::least_of_list(all, wanted),
        };
        match self {
            Self::One(..) => self.into_nodes(),
            Self::Few(mut nodes) => {
                nodes.retain(|n| n.1 >= least);
                nodes
            }
            Self::All(all, _) => first::at_least(&all, least),
        }
    }

    pub(super) fn into_nodes(self) -> Vec<(u32, u64)> {
        match self {
            Self::One(marks, _) => {
                (0..).zip(&**marks).filter(|(_, mark)| **mark).map(|(v, _)| (v, 1)).collect()
            }
            Self::Few(nodes) => nodes,
            Self::All(all, _) => first::at_least(&all, 1),
        }
    }
}

/// Whether a step may take a relationship from one node to another.
fn leads(step: &Step, edge: Edge, from: u32, to: u32) -> bool {
    match step.direction {
        Direction::Forward => edge.source == from && edge.destination == to,
        Direction::Reverse => edge.source == to && edge.destination == from,
        Direction::Undirected => true,
    }
}

/// The step before, where the relationship must differ from its own: its test, and the paths to its near end.
pub(super) struct Before<'a> {
    pub(super) step: &'a Step,
    pub(super) test: EdgeTest,
    pub(super) paths: &'a Paths,
}

/// One step, ready to be taken.
pub(super) struct Advance<'a> {
    pub(super) view: &'a GraphView,
    pub(super) paths: &'a Paths,
    pub(super) step: &'a Step,
    pub(super) test: EdgeTest,
    pub(super) apart: Option<Before<'a>>,
}

impl Advance<'_> {
    /// Calls `add` with the nodes that a node's paths go on to, and with how many do so.
    #[inline]
    pub(super) fn from(
        &self,
        exec: &Exec<'_>,
        (v, paths): (u32, u64),
        mut add: impl FnMut(u32, u64) -> Flow,
    ) -> Flow {
        exec.each_edge(&self.test, v, self.step.direction, |edge, to| {
            let back = match &self.apart {
                Some(b) if leads(b.step, edge, to, v) && b.test.has_type(edge) => b.paths.to(to),
                _ => 0,
            };
            match paths.saturating_sub(back) {
                0 => Ok(()),
                paths => add(to, paths),
            }
        })
    }

    /// Whether more relationships than so many are to be looked at.
    pub(super) fn is_beyond(&self, edges: u64) -> bool {
        let all = self.test.relation().map_or(self.view.topology(), |r| r.topology());
        self.paths.sum_is_beyond(edges, |v| {
            u64::from(match self.step.direction {
                _ if v >= all.num_nodes() => 0,
                Direction::Forward => all.out_degree(v),
                Direction::Reverse => all.in_degree(v),
                Direction::Undirected => all.degree(v),
            })
        })
    }

    /// The adjacency of the step where all of it can be looked at from the far side: a relationship can be
    /// that of the step before only where it is a loop.
    pub(super) fn relation(&self) -> Option<Lists<'_>> {
        let relation = self.test.relation()?;
        let direction = self.step.direction;
        let plain = |b: &Before<'_>| {
            b.step.direction == direction
                && b.test.relation().is_some_and(|other| Arc::ptr_eq(other, relation))
        };
        let fits = direction != Direction::Undirected && self.apart.as_ref().is_none_or(plain);
        fits.then(|| Lists { relation, out: direction == Direction::Forward })
    }

    /// How many of the paths that a loop would continue have it as their last relationship.
    pub(super) fn looped(&self, (v, loops): (u32, u32)) -> u64 {
        let before = self.apart.as_ref().map_or(0, |b| b.paths.to(v));
        if self.paths.to(v) == 0 { 0 } else { before.saturating_mul(u64::from(loops)) }
    }
}

/// The lists of a relation, seen along a step.
#[derive(Clone, Copy)]
pub(super) struct Lists<'a> {
    pub(super) relation: &'a Relation,
    pub(super) out: bool,
}

impl Lists<'_> {
    fn offsets(&self, forward: bool) -> &[u32] {
        let t = self.relation.topology();
        if self.out == forward { t.out_offsets() } else { t.in_offsets() }
    }

    /// The nodes that the step leads to, or with `forward` unset those that it leads from.
    pub(super) fn of(&self, v: u32, forward: bool) -> &[u32] {
        let t = self.relation.topology();
        if self.out == forward { t.out_neighbors(v) } else { t.in_neighbors(v) }
    }

    pub(super) fn degrees(&self, forward: bool) -> impl Iterator<Item = u32> {
        self.offsets(forward).windows(2).map(|w| match w {
            [from, to] => to - from,
            _ => 0,
        })
    }

    /// Whether the marked nodes have all relationships at their ends of the step.
    pub(super) fn covered(&self, marks: impl Iterator<Item = bool>, forward: bool) -> bool {
        let marked = self.degrees(forward).zip(marks).map(|(d, mark)| if mark { d } else { 0 });
        marked.sum::<u32>() == self.relation.topology().num_edges()
    }
}
