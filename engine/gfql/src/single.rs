//! One hop between filtered nodes over a large part of all edges: the rows of the edge table are looked at in
//! their order, and what is kept are rows.

use rayon::prelude::*;

use crate::chain::{Pass, Ready, Scope, Step, closed};
use crate::error::GfqlError;
use crate::filter::NodeFilter;
use crate::graph::PropertyGraph;
use crate::hop::{edges_at, joined, piece_size};
use crate::select::Selection;
use crate::set::IdSet;
use crate::wire::{Direction, EdgeOp, NodeOp};

/// Edges from which on this pays.
const EDGES_MIN: u32 = if cfg!(test) { 2 } else { 1 << 12 };
/// The part of all edges that must be at the first nodes.
const EDGES_PART: u64 = if cfg!(test) { 2 } else { 16 };
/// Words of 64 rows between two looks at the token.
const WORDS_AT_ONCE: usize = if cfg!(test) { 2 } else { 1 << 8 };
/// What became of a pattern.
pub(crate) enum Single<'a> {
    /// What it keeps.
    Made(PropertyGraph),
    /// It is for others, who need not bind it again.
    Bound(Box<Ready<'a>>),
    /// It is for others.
    Other,
}

/// Evaluates a pattern of two nodes and a single hop in which nothing has a name, where many edges are looked
/// at and something is tested.
pub(crate) fn run<'a>(
    graph: &'a PropertyGraph,
    steps: &[Step],
    scope: Scope<'a>,
) -> Result<Single<'a>, GfqlError> {
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
    if m < EDGES_MIN {
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
        Ok::<_, GfqlError>(limit.as_ref().map_or(nodes.clone(), |limit| nodes.and(limit)))
    };
    let (from, to) = (within(&a, &edge.source)?, within(&b, &edge.destination)?);
    if !from.is_dense() || !to.is_dense() {
        return bound(a, edge, b);
    }
    // Where it is many nodes, it is many edges.
    let many = u64::from(from.len()) * EDGES_PART / 2 > u64::from(t.num_nodes());
    if !many && edges_at(t, &from, op.direction) * EDGES_PART < u64::from(m) {
        return bound(a, edge, b);
    }
    cancel.take(from.bytes() + to.bytes())?;
    let ends = graph.row_ends(cancel)?;
    let passes = if trivial { &[][..] } else { edge.edge.run() };
    cancel.check()?;
    let (from, to) = (from.dense(t.num_nodes()), to.dense(t.num_nodes()));
    let keeps = |[s, d]: [u32; 2]| match op.direction {
        Direction::Forward => from.contains(s) & to.contains(d),
        Direction::Reverse => from.contains(d) & to.contains(s),
        Direction::Undirected => {
            (from.contains(s) & to.contains(d)) | (from.contains(d) & to.contains(s))
        }
    };
    let mut words = vec![0_u64; ends.len().div_ceil(64)];
    let nodes = t.num_nodes().div_ceil(64) as usize;
    let size = piece_size(words.len(), nodes as u64 * 8);
    let held = ((words.len().div_ceil(size) * nodes + words.len()) * size_of::<u64>()) as u64;
    let _held = cancel.hold(held)?;
    let parts: Vec<Vec<u64>> = words
        .par_chunks_mut(size)
        .zip(ends.par_chunks(size * 64))
        .enumerate()
        .map(|(piece, (words, ends))| {
            let mut marks = vec![0_u64; nodes];
            for (i, (word, ends)) in words.iter_mut().zip(ends.chunks(64)).enumerate() {
                if i % WORDS_AT_ONCE == 0 && cancel.is_cancelled() {
                    break;
                }
                let all = u64::MAX >> (64 - ends.len());
                let mut rest = if trivial { all } else { passes[piece * size + i] };
                let mut kept = 0;
                while rest != 0 {
                    let at = rest.trailing_zeros();
                    rest &= rest - 1;
                    kept |= u64::from(keeps(ends[at as usize])) << at;
                }
                *word = kept;
                while kept != 0 {
                    let [s, d] = ends[kept.trailing_zeros() as usize];
                    kept &= kept - 1;
                    marks[s as usize / 64] |= 1 << (s % 64);
                    marks[d as usize / 64] |= 1 << (d % 64);
                }
            }
            marks
        })
        .collect();
    cancel.check()?;
    let selection = Selection {
        nodes: joined(t.num_nodes(), parts.iter()),
        edges: IdSet::empty(),
        node_columns: vec![],
        edge_columns: vec![],
    };
    let rows = IdSet::of_words(words);
    selection.gather_rows(graph, table, &rows, cancel).map(Single::Made)
}
