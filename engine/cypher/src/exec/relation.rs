//! The relationships of some types, apart from all others: what a step that asks for a type looks at.

use std::sync::Arc;

use graphlume_graph::Topology;
use graphlume_store::{CacheKey, TallyRelation};
use graphlume_types::CancelToken;

use super::Flow;
use crate::error::Res;
use crate::graph_view::{GraphView, LabelTest, TypeTest};
use crate::value::Edge;
use graphlume_graph::Direction;

/// The adjacency of the relationships of some types.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RelationOf(Vec<String>);

impl CacheKey for RelationOf {
    type Value = Relation;
}

/// Adjacency of the relationships of some types between nodes that exist.
#[derive(Debug)]
pub(crate) struct Relation {
    topology: Arc<Topology>,
    /// Rows in the edge table, parallel to the sources of the in-lists.
    in_rows: Vec<u32>,
    /// Nodes with loops, and how many they have.
    loops: Arc<[(u32, u32)]>,
    /// Nodes that relationships leave, and nodes that they lead to.
    places: [u32; 2],
    /// The most relationships that leave a node, and that lead to one.
    longest: [u32; 2],
    /// The nodes that relationships leave, and those that they lead to, in ascending order, where they are few.
    listed: [Option<Box<[u32]>>; 2],
}

/// The part of all nodes up to which the nodes at an end of a relation are listed.
const LISTED_PART: u32 = 8;

/// Whether all nodes at an end of a relation have a label.
#[derive(Clone, Debug, PartialEq, Eq)]
struct EndsHave {
    types: Vec<String>,
    label: String,
    out: bool,
}

impl CacheKey for EndsHave {
    type Value = bool;
}

/// Questions that look at each end's label, before all ends of a relation are looked at once for all.
const ASKED_BEFORE: u32 = 1;

/// Bytes of the names of types and of a label under which something small is kept.
const NAMES_MAX: usize = 256;
/// Steps that look through all relationships of their nodes for some types, before these get adjacency of their own.
const STEPS_BEFORE: u32 = 3;

/// Relationships between two looks at the token.
const EDGES_PER_CHECK: usize = 1 << 16;

/// Whether the adjacency of the relationships of some types is kept with a graph.
#[cfg(test)]
pub(crate) fn is_kept(graph: &graphlume_store::PropertyGraph, words: &[&str]) -> bool {
    let words: Vec<String> = words.iter().map(|w| (*w).to_owned()).collect();
    graph.kept(&Relation::name(&words)).is_some()
}

/// How long the lists are that begin at these offsets.
fn lengths(offsets: &[u32]) -> impl Iterator<Item = u32> {
    offsets.windows(2).map(|w| match w {
        [from, to] => to - from,
        _ => 0,
    })
}

impl Relation {
    /// The adjacency of the relationships that pass; it is kept with the graph. `None` when it could not be
    /// kept there.
    pub(super) fn of(
        view: &GraphView,
        words: &[String],
        test: &TypeTest,
        cancel: &CancelToken,
    ) -> Res<Option<Arc<Self>>> {
        let name = Self::name(words);
        if let Some(found) = Self::kept(view, words) {
            return Ok(Some(found));
        }
        let (all, nodes) = (view.topology(), view.num_nodes());
        test.prepare();
        let edges = test.matches();
        let bytes = u64::from(nodes) * (8 + 2 * size_of::<u32>() as u64 / u64::from(LISTED_PART))
            + edges * 16;
        if bytes > view.graph().keep_max() {
            return Ok(None);
        }
        let building = Topology::build_footprint(u64::from(nodes), edges) + edges * 12;
        let fits = cancel.hold(building);
        let Ok(_building) = fits else { return Ok(None) };
        let (mut src, mut dst, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        let mut seen = 0;
        for v in 0..nodes {
            let list = all.out_neighbors(v);
            seen += list.len();
            if seen >= EDGES_PER_CHECK {
                seen = 0;
                cancel.check().map_err(|e| Box::new(e.into()))?;
            }
            for (to, row) in list.iter().zip(all.out_rows(v)) {
                if *to < nodes && test.holds(*row) {
                    src.push(v);
                    dst.push(*to);
                    rows.push(*row);
                }
            }
        }
        let topology = Topology::from_rows(nodes, &src, &dst, Some(&rows));
        let mut next: Vec<u32> = topology.in_offsets().to_vec();
        let mut in_rows = vec![0; rows.len()];
        for (to, row) in topology.out_dst().iter().zip(topology.out_row()) {
            // The out-lists by ascending source: so are the in-lists.
            let place = next.get_mut(*to as usize);
            let place = place.map(|n| std::mem::replace(n, n.wrapping_add(1)) as usize);
            if let Some(slot) = place.and_then(|p| in_rows.get_mut(p)) {
                *slot = *row;
            }
        }
        let mut loops: Vec<(u32, u32)> = Vec::new();
        for (v, _) in src.iter().zip(&dst).filter(|(v, to)| v == to) {
            match loops.last_mut() {
                Some((last, count)) if last == v => *count += 1,
                _ => loops.push((*v, 1)),
            }
        }
        let both = [topology.out_offsets(), topology.in_offsets()];
        let places = both.map(|offsets| lengths(offsets).filter(|len| *len > 0).count() as u32);
        let longest = both.map(|offsets| lengths(offsets).max().unwrap_or(0));
        let listed = std::array::from_fn(|end| {
            let (offsets, few) = (both.get(end)?, *places.get(end)? <= nodes / LISTED_PART);
            let some = || (0..).zip(lengths(offsets)).filter(|(_, len)| *len > 0).map(|(v, _)| v);
            few.then(|| some().collect())
        });
        let (topology, loops) = (Arc::new(topology), loops.into());
        let made = Arc::new(Self { topology, in_rows, loops, places, longest, listed });
        view.graph().keep(name, &made, bytes, cancel);
        Ok(Some(made))
    }

    /// Counts a step along many relationships of these types; whether it is the one at which their adjacency pays.
    pub(super) fn is_due(view: &GraphView, words: &[String], cancel: &CancelToken) -> bool {
        words.iter().map(String::len).sum::<usize>() <= NAMES_MAX
            && view.graph().is_due(&Self::name(words), STEPS_BEFORE + 1, cancel)
    }

    /// The adjacency, if it was made before.
    pub(super) fn kept(view: &GraphView, words: &[String]) -> Option<Arc<Self>> {
        view.graph().kept(&Self::name(words))
    }

    fn name(words: &[String]) -> RelationOf {
        let mut words = words.to_vec();
        words.sort_unstable();
        words.dedup();
        RelationOf(words)
    }

    /// The relationships as a device takes them; `words` are the types that they were made for.
    pub(super) fn for_device(&self, words: &[String]) -> TallyRelation {
        let RelationOf(types) = Self::name(words);
        let (topology, loops) = (Arc::clone(&self.topology), Arc::clone(&self.loops));
        let (places, longest) = (self.places, self.longest);
        TallyRelation { types, topology, loops, places, longest }
    }

    /// The nodes that relationships leave, or with `out` unset those that they lead to, in ascending order; `None` where
    /// they are many.
    pub(super) fn listed(&self, out: bool) -> Option<&[u32]> {
        let [leave, reach] = &self.listed;
        if out { leave.as_deref() } else { reach.as_deref() }
    }

    /// Whether all nodes that relationships of these types leave, or with `out` unset all that they lead to, have a
    /// label; false, too, before it was asked often enough. The answer is kept with the graph.
    pub(super) fn ends_have(
        &self,
        view: &GraphView,
        words: &[String],
        (test, out): (&LabelTest, bool),
        cancel: &CancelToken,
    ) -> bool {
        let RelationOf(types) = Self::name(words);
        let texts = types.iter().map(String::len).sum::<usize>() + test.name().len();
        // No column tells of labels; and names of any length are the caller's, not the graph's.
        if test.is_never() || texts > NAMES_MAX {
            return false;
        }
        let name = EndsHave { types, label: test.name().to_owned(), out };
        if let Some(known) = view.graph().kept(&name) {
            return *known;
        }
        if !view.graph().is_due(&name, ASKED_BEFORE + 1, cancel) {
            return false;
        }
        view.prepare(test, cancel);
        let t = &self.topology;
        let offsets = if out { t.out_offsets() } else { t.in_offsets() };
        let mut ends = (0..).zip(lengths(offsets)).filter(|(_, len)| *len > 0);
        let all = Arc::new(ends.all(|(v, _)| view.has_label(v, test)));
        view.graph().keep(name, &all, texts as u64, cancel);
        *all
    }

    pub(super) fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Nodes with relationships to themselves, in ascending order, and how many they have.
    pub(super) fn loops(&self) -> &[(u32, u32)] {
        &self.loops
    }

    /// Calls `f` with each relationship of a node in a direction and the node at its other end.
    #[inline]
    pub(super) fn each(
        &self,
        v: u32,
        direction: Direction,
        mut f: impl FnMut(Edge, u32) -> Flow,
    ) -> Flow {
        let t = &self.topology;
        if v >= t.num_nodes() {
            return Ok(());
        }
        if direction != Direction::Reverse {
            for (to, row) in t.out_neighbors(v).iter().zip(t.out_rows(v)) {
                f(Edge { row: *row, source: v, destination: *to }, *to)?;
            }
        }
        if direction != Direction::Forward {
            let range = t.in_offsets().get(v as usize).zip(t.in_offsets().get(v as usize + 1));
            let range = range.map_or(0..0, |(from, to)| *from as usize..*to as usize);
            let rows = self.in_rows.get(range).unwrap_or_default();
            for (from, row) in t.in_neighbors(v).iter().zip(rows) {
                // A loop was met on its way out.
                if direction == Direction::Reverse || *from != v {
                    f(Edge { row: *row, source: *from, destination: v }, *from)?;
                }
            }
        }
        Ok(())
    }
}
