//! Counts of what a few hops reach, without a list of it.
//!
//! Where every edge that the hops follow is kept, it takes no second look along the paths: the edges are
//! those at the nodes that were left, and the nodes are their ends. This is what an agent or a person asks
//! most, "how large is the neighbourhood".

use std::cell::RefCell;

use graphlume_expr::QueryError;
use graphlume_graph::Topology;
use graphlume_store::PropertyGraph;
use graphlume_store::ids::{BLOCK_MAX, IdSet, listed, prefetch};
use graphlume_table::Table;
use graphlume_types::CancelToken;
use rayon::prelude::*;

use crate::chain::{Pass, closed};
use crate::scope::{Scope, Step};
use crate::select::Sizes;
use crate::wire::{EdgeOp, NodeOp};
use graphlume_graph::Direction;

/// Edges between two looks at whether the work is still wanted.
const CHECK_ARCS: u64 = 1 << 18;

thread_local! {
    /// Bits of the nodes that were met and of those that were left, all zero between two counts: clearing the
    /// few that were set costs less than zeroing a bit for each node of a large graph.
    static MARKS: RefCell<[Vec<u64>; 2]> = const { RefCell::new([Vec::new(), Vec::new()]) };
}

/// The sizes of a pattern of nodes, plain hops and any nodes; `None` for every other pattern.
pub(crate) fn sizes(
    graph: &PropertyGraph,
    steps: &[Step],
    scope: Scope<'_>,
) -> Result<Option<Sizes>, QueryError> {
    let Some(table) = graph.edges().filter(|_| !graph.is_rows()) else { return Ok(None) };
    let steps = closed(steps);
    let [Step::Node(from), Step::Edge(op), Step::Node(to)] = steps.as_slice() else {
        return Ok(None);
    };
    let any = |op: &NodeOp| op.filter.is_empty() && op.query.is_none() && op.name.is_none();
    let plain = |op: &EdgeOp| {
        op.min == 1
            && !op.min_named
            && !op.needs_labels()
            && !op.zero_hop_seed
            && op.name.is_none()
            && op.edge.name.is_none()
            && [&op.source, &op.destination].into_iter().all(any)
    };
    let Some(hops) = op.max.filter(|max| *max > 0 && plain(op) && any(to)) else { return Ok(None) };
    let t = graph.topology(scope.cancel)?;
    let existing = graph.existing(scope.cancel)?;
    if from.name.is_some() || existing.len() < t.num_nodes() {
        return Ok(None);
    }
    let pass = Pass { graph, scope, t };
    if !any(&op.edge) {
        if hops > 1 || !any(from) {
            return Ok(None);
        }
        let edge = pass.bind_edge(op).map_err(|e| e.at(1))?.edge;
        let (nodes, edges) = passing(graph, t, edge.run(), scope.cancel)?;
        return Ok(Some(sized(graph, table, nodes, edges)));
    }
    let seeds = pass.filter(from).map_err(|e| e.at(0))?.and(&existing, scope.cancel)?;
    let (nodes, edges) = reached(t, &seeds, op.direction, hops, scope.cancel)?;
    Ok(Some(sized(graph, table, nodes, edges)))
}

fn sized(graph: &PropertyGraph, edge_table: &Table, nodes: usize, edges: usize) -> Sizes {
    let node_columns = graph.nodes().map_or(1, Table::num_cols);
    Sizes { nodes, node_columns, edges, edge_columns: edge_table.num_cols() }
}

/// The edges whose rows pass, and their ends.
fn passing(
    graph: &PropertyGraph,
    t: &Topology,
    passes: &[u64],
    cancel: &CancelToken,
) -> Result<(usize, usize), QueryError> {
    let ends = graph.row_ends(cancel)?;
    let part = passes.len().div_ceil(2 * rayon::current_num_threads()).max(1 << 8);
    let parts: Vec<(Vec<u64>, usize)> = (passes.par_chunks(part).zip(ends.par_chunks(64 * part)))
        .map(|(passes, ends)| {
            let mut words = vec![0_u64; t.num_nodes().div_ceil(64) as usize];
            let mut edges = 0;
            // The rows of a block are listed, and their ends sent for, while those of the one before are used.
            let block_words = graphlume_store::tuning().block_words;
            let (mut rows, mut next) = (vec![0; BLOCK_MAX * 64], vec![0; BLOCK_MAX * 64]);
            let ahead = |block: Option<(&[u64], &[[u32; 2]])>, list: &mut [u32]| {
                let Some((passes, ends)) = block else { return 0 };
                let count = listed(passes, list);
                list[..count].iter().for_each(|row| prefetch(ends, *row as usize));
                count
            };
            let mut blocks = passes.chunks(block_words).zip(ends.chunks(block_words * 64));
            let mut block = blocks.next();
            let mut count = ahead(block, &mut rows);
            while let Some((_, ends)) = block {
                block = blocks.next();
                let coming = ahead(block, &mut next);
                for row in &rows[..count] {
                    let [s, d] = ends[*row as usize];
                    if s != u32::MAX {
                        edges += 1;
                        words[s as usize / 64] |= 1 << (s % 64);
                        words[d as usize / 64] |= 1 << (d % 64);
                    }
                }
                (rows, next, count) = (next, rows, coming);
            }
            (words, edges)
        })
        .collect();
    cancel.check()?;
    let edges = parts.iter().map(|p| p.1).sum();
    let mut parts = parts.into_iter().map(|p| p.0);
    let mut words = parts.next().unwrap_or_default();
    for part in parts {
        words.iter_mut().zip(part).for_each(|(word, more)| *word |= more);
    }
    Ok((words.iter().map(|w| w.count_ones() as usize).sum(), edges))
}

/// A set of nodes as bits, and as a list while it is short of what all bits together are. Takes the bits back,
/// whatever the end.
struct Marked<'a> {
    words: &'a mut [u64],
    /// The first `len` are the nodes, in the order they came in.
    list: Vec<u32>,
    len: usize,
    /// Whether there are bits of nodes that are not in the list.
    unlisted: bool,
}

impl<'a> Marked<'a> {
    fn new(words: &'a mut Vec<u64>, num_nodes: u32) -> Self {
        let used = num_nodes.div_ceil(64) as usize;
        words.resize(words.len().max(used), 0);
        Self { words: &mut words[..used], list: Vec::new(), len: 0, unlisted: false }
    }

    /// Adds those that are new. Every node is written behind the list, and the list grows over the new ones:
    /// whether a node is new is as good as random, and a wrong guess of a branch costs more than a write.
    fn add(&mut self, nodes: &[u32]) {
        let room = self.len + nodes.len();
        if self.list.len() < room {
            self.list.resize(room.next_power_of_two(), 0);
        }
        let (words, end) = (&mut *self.words, &mut self.list[self.len..room]);
        let mut new = 0;
        for v in nodes {
            let (word, bit) = (&mut words[*v as usize / 64], 1 << (v % 64));
            end[new] = *v;
            new += usize::from(*word & bit == 0);
            *word |= bit;
        }
        self.len += new;
    }

    /// Whether it takes less to look at all bits, once, than to list the nodes that so many edges lead to.
    fn is_much(&self, arcs: u64) -> bool {
        arcs > self.words.len() as u64 / 4
    }

    /// Adds nodes, without listing them. A list ascends, and nodes that are near each other share a word, which
    /// cannot be read again before it is written: four parts of the list take turns.
    fn add_unlisted(&mut self, nodes: &[u32]) {
        self.unlisted = true;
        let words = &mut *self.words;
        let mut set = |v: u32| words[v as usize / 64] |= 1 << (v % 64);
        let (parts, rest) = nodes.split_at(nodes.len() / 4 * 4);
        let (front, back) = parts.split_at(parts.len() / 2);
        let ((a, b), (c, d)) = (front.split_at(front.len() / 2), back.split_at(back.len() / 2));
        for (((a, b), c), d) in a.iter().zip(b).zip(c).zip(d) {
            [a, b, c, d].into_iter().for_each(|v| set(*v));
        }
        rest.iter().for_each(|v| set(*v));
    }

    fn nodes(&self) -> &[u32] {
        &self.list[..self.len]
    }

    /// Nodes in the set.
    fn size(&self) -> usize {
        if self.unlisted {
            return self.words.iter().map(|w| w.count_ones() as usize).sum();
        }
        self.len
    }

    /// How many of these are in the set.
    fn count(&self, nodes: &[u32]) -> u64 {
        nodes.iter().map(|v| self.words[*v as usize / 64] >> (v % 64) & 1).sum()
    }
}

impl Drop for Marked<'_> {
    fn drop(&mut self) {
        if self.unlisted {
            return self.words.fill(0);
        }
        for v in &self.list[..self.len] {
            self.words[*v as usize / 64] = 0;
        }
    }
}

/// Nodes that the starts of lists, and then the lists themselves, are sent for ahead of the one in use.
const AHEAD: usize = 8;

/// Nodes and edges within `hops` hops of the seeds.
fn reached(
    t: &Topology,
    seeds: &IdSet,
    direction: Direction,
    hops: u32,
    cancel: &CancelToken,
) -> Result<(usize, usize), QueryError> {
    let (leave, enter) = (direction != Direction::Reverse, direction != Direction::Forward);
    let out = |v: u32| if leave { t.out_neighbors(v) } else { &[] };
    let into = |v: u32| if enter { t.in_neighbors(v) } else { &[] };
    let sides = [(leave, t.out_offsets(), t.out_dst()), (enter, t.in_offsets(), t.in_src())];
    let ahead = |nodes: &[u32], i: usize| {
        for (_, offsets, list) in sides.iter().filter(|side| side.0) {
            if let Some(v) = nodes.get(i + 2 * AHEAD) {
                prefetch(offsets, *v as usize);
            }
            if let Some(v) = nodes.get(i + AHEAD) {
                prefetch(list, offsets[*v as usize] as usize);
            }
        }
    };
    let arcs_at = |v: &u32| (out(*v).len() + into(*v).len()) as u64;
    MARKS.with_borrow_mut(|[met, inner]| {
        let mut marked = Marked::new(met, t.num_nodes());
        // A seed without edges is no part of the answer unless it is reached.
        for v in seeds.iter().filter(|v| !out(*v).is_empty() || !into(*v).is_empty()) {
            marked.add(&[v]);
        }
        let (mut left, mut arcs, mut next_check) = (0, 0u64, CHECK_ARCS);
        for hop in 1..=hops {
            let end = marked.len;
            if left == end {
                break;
            }
            // The nodes that the last hop reaches are not expanded.
            let much =
                hop == hops && marked.is_much(marked.nodes()[left..].iter().map(arcs_at).sum());
            for i in left..end {
                ahead(&marked.list[..end], i);
                let v = marked.list[i];
                for list in [out(v), into(v)] {
                    arcs += list.len() as u64;
                    if much {
                        marked.add_unlisted(list);
                    } else {
                        marked.add(list);
                    }
                }
                if arcs >= next_check {
                    cancel.check()?;
                    next_check = arcs + CHECK_ARCS;
                }
            }
            left = end;
        }
        let mut edges = arcs;
        if direction == Direction::Undirected {
            let mut inner = Marked::new(inner, t.num_nodes());
            inner.add(&marked.nodes()[..left]);
            edges -= twice(t, &inner, cancel)?;
        }
        Ok((marked.size(), edges as usize))
    })
}

/// The edges that were met from both of their ends, loops included: those between nodes that were left.
fn twice(t: &Topology, left: &Marked<'_>, cancel: &CancelToken) -> Result<u64, QueryError> {
    let mut sorted = vec![];
    let (mut count, mut arcs, mut next_check) = (0, 0, CHECK_ARCS);
    for v in left.nodes() {
        let mut rest = t.out_neighbors(*v);
        // Of a list that is much longer, only the part is searched where there is something to find.
        if left.len * 16 < rest.len() {
            if sorted.is_empty() {
                sorted = left.nodes().to_vec();
                sorted.sort_unstable();
            }
            for to in &sorted {
                let from = rest.partition_point(|x| x < to);
                let same = rest[from..].iter().take_while(|x| *x == to).count();
                count += same as u64;
                rest = &rest[from + same..];
            }
            arcs += left.len as u64;
        } else {
            count += left.count(rest);
            arcs += rest.len() as u64;
        }
        if arcs >= next_check {
            cancel.check()?;
            next_check = arcs + CHECK_ARCS;
        }
    }
    Ok(count)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, RecordBatch};
    use graphlume_types::hash::h64;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::parse;
    use graphlume_expr::Strictness;
    use graphlume_store::Bindings;

    fn table(columns: &[(&str, Vec<i64>)]) -> Table {
        let array = |v: &Vec<i64>| Arc::new(Int64Array::from(v.clone())) as ArrayRef;
        let columns = columns.iter().map(|(name, v)| (*name, array(v)));
        Table::try_new(RecordBatch::try_from_iter(columns).unwrap()).unwrap()
    }

    /// Few nodes and many edges make loops and parallel edges.
    fn graph(seed: u64, nodes: u64, edges: u64, listed: Option<u64>) -> PropertyGraph {
        graphlume_types::tuning::use_small(true);
        let end = |stream| (0..edges).map(|i| (h64(seed, stream, i) % nodes) as i64).collect();
        let name = |n: &str| Some(n.to_owned());
        let bindings =
            Bindings { node: listed.and(name("id")), source: name("s"), destination: name("d") };
        let nodes = listed.map(|count| {
            let group = (0..count).map(|i| (h64(seed, 9, i) % 5) as i64).collect();
            table(&[("id", (0..count as i64).collect()), ("group", group)])
        });
        let weight = (0..edges).map(|i| (h64(seed, 3, i) % 4) as i64).collect();
        let edges = table(&[("s", end(1)), ("d", end(2)), ("weight", weight)]);
        PropertyGraph::new(nodes, Some(edges), bindings).unwrap()
    }

    proptest! {
        #[test]
        fn what_is_counted_is_what_would_be_made(
            seed in any::<u64>(),
            nodes in 1u64..40,
            edges in 1u64..60,
            // Among many nodes, those at few edges are listed.
            listed in proptest::option::of(prop_oneof![1u64..50, Just(3_000)]),
            direction in proptest::sample::select(vec!["forward", "reverse", "undirected"]),
            hops in 1u32..5,
            group in any::<bool>(),
            weighed in 0..4,
        ) {
            let graph = graph(seed, nodes, edges, listed);
            let cancel = CancelToken::new();
            let filter = if group && listed.is_some() { json!({"group": 1}) } else { json!({"id": seed % nodes}) };
            let mut from = json!({"type": "Node", "filter_dict": filter});
            let mut edge = json!({"type": "Edge", "direction": direction, "hops": hops});
            if weighed > 0 {
                edge["edge_match"] = json!({"weight": {"type": "LT", "val": weighed}});
            }
            if weighed > 1 {
                (from, edge["hops"]) = (json!({"type": "Node"}), 1.into());
            }
            let query = parse(&json!([from, edge, {"type": "Node"}])).unwrap();
            let made = crate::run(&graph, &query, None, Strictness::Lenient, &cancel).unwrap().graph;
            for _ in 0..2 {
                // The second time the marks of the first are gone.
                let (sizes, _) = crate::sizes(&graph, &Default::default(), &query, None, Strictness::Lenient, &cancel).unwrap();
                let (v, e) = (made.nodes().unwrap(), made.edges().unwrap());
                prop_assert_eq!(
                    (sizes.nodes, sizes.node_columns, sizes.edges, sizes.edge_columns),
                    (v.num_rows(), v.num_cols(), e.num_rows(), e.num_cols())
                );
            }
        }
    }
}
