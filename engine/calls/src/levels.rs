//! Levels of a graph that runs mostly one way.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use graphlume_expr::{ErrorCode, QueryError};
use graphlume_graph::Topology;
use graphlume_store::PropertyGraph;
use graphlume_store::materialize::with;
use graphlume_types::CancelToken;

use crate::context::CallContext;
use crate::params::Params;

/// Numbers the nodes by level: those without incoming edges are at 0, and each level is taken away before
/// the next is read. Where only cycles are left, the node of the most edges, the first of several, is a
/// level of its own.
pub(crate) fn run(
    graph: &PropertyGraph,
    params: &Params<'_>,
    context: CallContext<'_>,
) -> Result<PropertyGraph, QueryError> {
    let name = params.text("level_col")?.unwrap_or("level");
    let cycles = params.flag("allow_cycles", true)?;
    let loops = !params.flag("remove_self_loops", true)?;
    params.flag("warn_cycles", true)?;
    crate::graph::edge_table(graph)?;
    let table = graph.node_table(context.cancel)?;
    let row_nodes = graph.row_nodes(context.cancel)?;
    let node = |row: usize| row_nodes.map_or(row as u32, |nodes| nodes[row]);
    let topology = graphlume_algo::distinct_edges(&graph.frame(context.cancel)?.topology);
    let listed = graph.existing(context.cancel)?;
    let levels = levels(&topology, |v| listed.contains(v), cycles, loops, context.cancel)?;
    let cells = (0..table.num_rows()).map(|row| levels.get(node(row) as usize).copied().flatten());
    let column: ArrayRef = Arc::new(cells.collect::<Int64Array>());
    graph.replaced(Some(with(&table, name, column)?), graph.edges().cloned())
}

/// The level of each node that `listed` names. Edges from or to others do not count.
fn levels(
    t: &Topology,
    listed: impl Fn(u32) -> bool,
    cycles: bool,
    loops: bool,
    cancel: &CancelToken,
) -> Result<Vec<Option<i64>>, QueryError> {
    let n = t.num_nodes();
    let counts = |v: u32, w: u32| listed(w) && (loops || v != w);
    let mut waits: Vec<u32> = vec![0; n as usize];
    let mut degree: Vec<u32> = vec![0; n as usize];
    for v in (0..n).filter(|v| listed(*v)) {
        for w in t.out_neighbors(v).iter().copied().filter(|w| counts(v, *w)) {
            waits[w as usize] += 1;
            degree[w as usize] += 1;
            degree[v as usize] += 1;
        }
    }
    let mut level: Vec<Option<i64>> = vec![None; n as usize];
    let mut roots: Vec<u32> = (0..n).filter(|v| listed(*v) && waits[*v as usize] == 0).collect();
    let mut left = (0..n).filter(|v| listed(*v)).count();
    let mut heap: Option<std::collections::BinaryHeap<(u32, std::cmp::Reverse<u32>)>> = None;
    let mut at = 0;
    while left > 0 {
        cancel.check()?;
        if roots.is_empty() {
            if !cycles {
                return Err(QueryError::new(ErrorCode::CallFailed, "the graph has cycles")
                    .field("params.allow_cycles")
                    .value(false)
                    .suggest("remove the cycles, or set allow_cycles to true"));
            }
            // Degrees only fall, so an entry that says more than is so comes again with what is so.
            let heap = heap.get_or_insert_with(|| {
                let open = (0..n).filter(|v| listed(*v) && level[*v as usize].is_none());
                open.map(|v| (degree[v as usize], std::cmp::Reverse(v))).collect()
            });
            while let Some((d, std::cmp::Reverse(v))) = heap.pop() {
                if level[v as usize].is_some() {
                    continue;
                }
                if d == degree[v as usize] {
                    roots.push(v);
                    break;
                }
                heap.push((degree[v as usize], std::cmp::Reverse(v)));
            }
        }
        left -= roots.len();
        for v in &roots {
            level[*v as usize] = Some(at);
        }
        let mut next = Vec::new();
        for v in &roots {
            for w in t.out_neighbors(*v).iter().copied().filter(|w| counts(*v, *w)) {
                waits[w as usize] -= 1;
                degree[w as usize] -= 1;
                if waits[w as usize] == 0 && level[w as usize].is_none() {
                    next.push(w);
                }
            }
            for w in t.in_neighbors(*v).iter().copied().filter(|w| counts(*v, *w)) {
                degree[w as usize] -= 1;
            }
        }
        roots = next;
        at += 1;
    }
    Ok(level)
}
