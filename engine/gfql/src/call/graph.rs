//! Calls that cut a graph by the filters of this language.

use graphlume_calls::context::CallContext;
use graphlume_calls::graph::{edge_table, named};
use graphlume_calls::params::Params;
use graphlume_expr::QueryError;
use graphlume_graph::canon::{Canon, Column};
use graphlume_store::PropertyGraph;
use graphlume_store::ids::IdSet;
use graphlume_store::materialize::take;
use graphlume_table::Table;
use serde_json::{Map, Value};

use crate::bind::bind;
use crate::hop::ends;
use crate::scope::{Scope, Side};

pub(super) fn filter_nodes(
    graph: &PropertyGraph,
    params: &Params<'_>,
    scope: Scope<'_>,
) -> Result<PropertyGraph, QueryError> {
    let nodes = filtered(graph, &graph.node_table(scope.cancel)?, Side::Nodes, params, scope)?;
    graph.replaced(Some(nodes), graph.edges().cloned())
}

pub(super) fn filter_edges(
    graph: &PropertyGraph,
    params: &Params<'_>,
    scope: Scope<'_>,
) -> Result<PropertyGraph, QueryError> {
    let edges = filtered(graph, edge_table(graph)?, Side::Edges, params, scope)?;
    graph.with_edges(edges)
}

pub(super) fn drop_nodes(
    graph: &PropertyGraph,
    params: &Params<'_>,
    scope: Scope<'_>,
) -> Result<PropertyGraph, QueryError> {
    cut(graph, params, false, scope)
}

pub(super) fn keep_nodes(
    graph: &PropertyGraph,
    params: &Params<'_>,
    scope: Scope<'_>,
) -> Result<PropertyGraph, QueryError> {
    cut(graph, params, true, scope)
}

fn filtered(
    graph: &PropertyGraph,
    table: &Table,
    side: Side,
    params: &Params<'_>,
    scope: Scope<'_>,
) -> Result<Table, QueryError> {
    let value = params.get("filter_dict").ok_or_else(|| params.missing("filter_dict"))?;
    let filter = crate::wire::filter(Some(value), "filter_dict")?;
    let bound = bind(graph, table, side, &filter, scope)?;
    take(table, (0..table.num_rows() as u32).filter(|row| bound.passes(*row)).collect())
}

/// The nodes that a filter of columns selects.
pub(super) fn selected(
    graph: &PropertyGraph,
    filter: &Map<String, Value>,
    name: &str,
    scope: Scope<'_>,
) -> Result<Vec<u32>, QueryError> {
    let table = graph.node_table(scope.cancel)?;
    let filter = crate::wire::filter(Some(&Value::Object(filter.clone())), name)?;
    let bound = bind(graph, &table, Side::Nodes, &filter, scope)?;
    let row_nodes = graph.row_nodes(scope.cancel)?;
    let rows = (0..table.num_rows() as u32).filter(|row| bound.passes(*row));
    let nodes = rows.map(|row| row_nodes.map_or(row, |n| n[row as usize]));
    Ok(nodes.filter(|v| *v != u32::MAX).collect())
}

/// Runs what needs the surroundings of a call on graphs.
pub(super) fn in_context<T>(scope: Scope<'_>, run: impl FnOnce(CallContext<'_>) -> T) -> T {
    let filter = |graph: &PropertyGraph, filter: &Map<String, Value>, name: &str| {
        selected(graph, filter, name, scope)
    };
    run(CallContext::new(&scope.shared.notices, scope.cancel, &filter))
}

/// Keeps or drops nodes, and with them the edges at those that go.
fn cut(
    graph: &PropertyGraph,
    params: &Params<'_>,
    keep: bool,
    scope: Scope<'_>,
) -> Result<PropertyGraph, QueryError> {
    let named = in_context(scope, |context| named(graph, params, "nodes", context))?;
    let stays = |v: u32| named.contains(v) == keep;
    let table = graph.node_table(scope.cancel)?;
    let row_nodes = graph.row_nodes(scope.cancel)?;
    let node = |row: u32| row_nodes.map_or(row, |nodes| nodes[row as usize]);
    let nodes =
        take(&table, (0..table.num_rows() as u32).filter(|row| stays(node(*row))).collect())?;
    let Some(edges) = graph.edges() else { return graph.replaced(Some(nodes), None) };
    let t = graph.topology(scope.cancel)?;
    let mut rows = Vec::new();
    ends(t, &IdSet::First(t.num_edges()), |position, s, d| {
        if stays(s) && stays(d) {
            rows.push(t.out_row()[position as usize]);
        }
    });
    if !keep {
        rows.extend(one_ended(graph, edges, |v| !stays(v), scope)?);
    }
    rows.sort_unstable();
    graph.replaced(Some(nodes), Some(take(edges, rows)?))
}

/// The rows of edges that lack an end, but for those whose other end goes.
fn one_ended(
    graph: &PropertyGraph,
    edges: &Table,
    goes: impl Fn(u32) -> bool,
    scope: Scope<'_>,
) -> Result<Vec<u32>, QueryError> {
    let bindings = graph.bindings();
    let array = |name: &Option<String>| edges.column(name.as_deref()?);
    let (Some(source), Some(destination)) = (array(&bindings.source), array(&bindings.destination))
    else {
        return Ok(vec![]);
    };
    if source.null_count() + destination.null_count() == 0 {
        return Ok(vec![]);
    }
    let columns = [Column::try_new(source)?, Column::try_new(destination)?];
    let mut rows = Vec::new();
    for row in 0..edges.num_rows() {
        let ends: Vec<Canon<'_>> = columns.iter().filter_map(|c| c.get(row)).collect();
        if ends.len() == 2 {
            continue;
        }
        let mut kept = true;
        for id in &ends {
            kept &= graph.find(id, scope.cancel)?.is_none_or(|v| !goes(v));
        }
        if kept {
            rows.push(row as u32);
        }
    }
    Ok(rows)
}
