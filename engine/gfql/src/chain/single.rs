//! One hop between filtered nodes over a large part of all edges: the rows of the edge table are looked at in
//! their order, and what is kept are rows.

use graphlume_table::Table;
use rayon::prelude::*;

use super::{BoundEdge, Pass, Ready, closed};
use crate::filter::NodeFilter;
use crate::hop::{edges_at, joined, piece_size};
use crate::scope::{Scope, Step};
use crate::select::Selection;
use crate::tuning::tuning;
use crate::wire::{EdgeOp, NodeOp};
use graphlume_expr::QueryError;
use graphlume_graph::Direction;
use graphlume_store::PropertyGraph;
use graphlume_store::ids::{BLOCK_MAX, IdSet, listed};

/// The outcome of a pattern.
pub(crate) enum Single<'a> {
    /// What it keeps.
    Made(PropertyGraph),
    /// It is for others, who need not bind it again.
    Bound(Box<Ready<'a>>),
    /// It is for others.
    Other,
}

/// What the ends of a row must be.
struct Looks<'a> {
    near: &'a IdSet,
    far: &'a IdSet,
    /// Whether an edge may be followed either way.
    both: bool,
}

impl Looks<'_> {
    /// Lists the rows that hold, all of a block or those that are given; how many there are.
    fn kept(&self, ends: &[[u32; 2]], rows: Option<&[u32]>, kept: &mut [u32]) -> usize {
        let (near, far) = (self.near, self.far);
        match (near, far) {
            // Mostly the one end may be any node. Nodes that do not exist are beyond all bits.
            (IdSet::Mask(near, _), IdSet::First(n)) if !self.both => {
                listed_where(ends, rows, kept, |[s, d]| bit(near, s) & (d < *n))
            }
            (IdSet::First(n), IdSet::Mask(far, _)) if !self.both => {
                listed_where(ends, rows, kept, |[s, d]| (s < *n) & bit(far, d))
            }
            (IdSet::Mask(near, _), IdSet::Mask(far, _)) if !self.both => {
                listed_where(ends, rows, kept, |[s, d]| bit(near, s) & bit(far, d))
            }
            _ => listed_where(ends, rows, kept, |[s, d]| {
                let forward = near.contains(s) & far.contains(d);
                forward | (self.both && near.contains(d) & far.contains(s))
            }),
        }
    }
}

/// Whether a bit is set; rows that are no edge have ends beyond all words.
fn bit(words: &[u64], i: u32) -> bool {
    words.get(i as usize / 64).is_some_and(|word| word >> (i % 64) & 1 == 1)
}

/// Without a jump for each row: whether it is kept is unpredictable.
#[inline(always)]
fn listed_where(
    ends: &[[u32; 2]],
    rows: Option<&[u32]>,
    kept: &mut [u32],
    keeps: impl Fn([u32; 2]) -> bool,
) -> usize {
    let mut count = 0;
    let mut look = |row: u32| {
        kept[count] = row;
        count += usize::from(keeps(ends[row as usize]));
    };
    match rows {
        Some(rows) => rows.iter().for_each(|row| look(*row)),
        None => (0..ends.len() as u32).for_each(&mut look),
    }
    count
}

/// Evaluates a pattern of two nodes and a single hop in which nothing has a name, where many edges are looked
/// at and something is tested.
pub(crate) fn run<'a>(
    graph: &'a PropertyGraph,
    steps: &[Step],
    scope: Scope<'a>,
) -> Result<Single<'a>, QueryError> {
    let steps = closed(steps);
    let [Step::Node(a), Step::Edge(op), Step::Node(b)] = steps.as_slice() else {
        return Ok(Single::Other);
    };
    let named = |op: &NodeOp| op.name.is_some();
    let plain = |op: &EdgeOp| op.is_single() && !op.min_named && !op.zero_hop_seed;
    if graph.is_rows() || named(a) || named(b) || named(&op.edge) || op.name.is_some() || !plain(op)
    {
        return Ok(Single::Other);
    }
    let (Some(table), cancel) = (graph.edges(), scope.cancel) else { return Ok(Single::Other) };
    let pass = Pass { graph, scope, t: graph.topology(cancel)? };
    let (t, m) = (pass.t, pass.t.num_edges());
    if m < tuning().single_edges_min {
        return Ok(Single::Other);
    }
    let existing = graph.existing(cancel)?;
    let a = pass.filter(a).map_err(|e| e.at(0))?;
    let edge = pass.bind_edge(op).map_err(|e| e.at(1))?;
    let b = pass.filter(b).map_err(|e| e.at(2))?;
    let bound = |a, edge, b| {
        let filters = vec![a, NodeFilter::Any, b];
        Ok(Single::Bound(Box::new(Ready { filters, bound: vec![None, Some(edge), None] })))
    };
    let trivial = edge.edge.is_trivial();
    let tests = !trivial || !matches!((&a, &b), (NodeFilter::Any, NodeFilter::Any));
    // Named ids are few.
    let few = |filter: &NodeFilter<'_>| matches!(filter, NodeFilter::Set(IdSet::List(_)));
    if !tests || few(&a) || few(&b) || edge.edge.is_never() {
        return bound(a, edge, b);
    }
    let within = |filter: &NodeFilter<'_>, limit: &Option<IdSet>| {
        let nodes = filter.and(&existing, cancel)?;
        Ok::<_, QueryError>(limit.as_ref().map_or(nodes.clone(), |limit| nodes.and(limit)))
    };
    let (from, to) = (within(&a, &edge.source)?, within(&b, &edge.destination)?);
    if !from.is_dense() || !to.is_dense() {
        return bound(a, edge, b);
    }
    // Where it is many nodes, it is many edges.
    let many = u64::from(from.len()) * tuning().single_edges_part / 2 > u64::from(t.num_nodes());
    if !many && edges_at(t, &from, op.direction) * tuning().single_edges_part < u64::from(m) {
        return bound(a, edge, b);
    }
    cancel.take(from.bytes() + to.bytes())?;
    scanned(&pass, table, (from, to), &edge, op.direction).map(Single::Made)
}

/// The edges between two sets of nodes that pass the tests, with their nodes, found by a look at every row.
fn scanned(
    pass: &Pass<'_>,
    table: &Table,
    (from, to): (IdSet, IdSet),
    edge: &BoundEdge,
    direction: Direction,
) -> Result<PropertyGraph, QueryError> {
    let (graph, t, cancel) = (pass.graph, pass.t, pass.scope.cancel);
    let trivial = edge.edge.is_trivial();
    let ends = graph.row_ends(cancel)?;
    let passes = if trivial { &[][..] } else { edge.edge.run() };
    cancel.check()?;
    let (from, to) = (from.dense(t.num_nodes()), to.dense(t.num_nodes()));
    let (near, far) = match direction {
        Direction::Reverse => (&to, &from),
        _ => (&from, &to),
    };
    let looks = Looks { near, far, both: direction == Direction::Undirected };
    let words = ends.len().div_ceil(64);
    let nodes = t.num_nodes().div_ceil(64) as usize;
    let (tuning, block_words) = (tuning(), graphlume_store::tuning().block_words);
    let size = piece_size(words, nodes as u64 * 8).next_multiple_of(block_words);
    let _held = cancel.hold((words.div_ceil(size) * nodes * size_of::<u64>()) as u64)?;
    let parts: Vec<Part> = (0..words.div_ceil(size))
        .into_par_iter()
        .map(|piece| {
            let mut part = Part { marks: vec![0; nodes], rows: vec![], ends: vec![] };
            let (mut rows, mut kept) = (vec![0; BLOCK_MAX * 64], vec![0; BLOCK_MAX * 64]);
            let blocks = (piece * size..words.min((piece + 1) * size)).step_by(block_words);
            for (i, first) in blocks.enumerate() {
                if i % tuning.blocks_at_once == 0 && cancel.is_cancelled() {
                    break;
                }
                let block = &ends[first * 64..ends.len().min((first + block_words) * 64)];
                let rows = if trivial {
                    None
                } else {
                    let passes = &passes[first..words.min(first + block_words)];
                    let count = listed(passes, &mut rows);
                    Some(&rows[..count])
                };
                let count = looks.kept(block, rows, &mut kept);
                for row in &kept[..count] {
                    let [s, d] = block[*row as usize];
                    part.marks[s as usize / 64] |= 1 << (s % 64);
                    part.marks[d as usize / 64] |= 1 << (d % 64);
                    part.ends.push([s, d]);
                }
                part.rows.extend(kept[..count].iter().map(|row| row + first as u32 * 64));
            }
            part
        })
        .collect();
    cancel.check()?;
    let selection = Selection {
        nodes: joined(t.num_nodes(), parts.iter().map(|part| &part.marks)),
        edges: IdSet::empty(),
        node_columns: vec![],
        edge_columns: vec![],
    };
    let count: usize = parts.iter().map(|part| part.rows.len()).sum();
    let _listed = cancel.hold((count * size_of::<[u32; 6]>()) as u64)?;
    let (mut rows, mut ends) = (Vec::with_capacity(count), Vec::with_capacity(count));
    for part in parts {
        rows.extend(part.rows);
        ends.extend(part.ends);
    }
    selection.gather_rows(graph, table, (rows, &ends), cancel)
}

/// What one thread kept of a piece of the edge table.
struct Part {
    /// The bits of the nodes.
    marks: Vec<u64>,
    rows: Vec<u32>,
    ends: Vec<[u32; 2]>,
}
