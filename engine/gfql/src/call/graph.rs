//! Calls on a graph: columns that describe its nodes, and cuts by simple rules.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array};
use graphlume_expr::{ErrorCode, QueryError, Scalar};
use graphlume_graph::canon::{Canon, Column};
use graphlume_store::PropertyGraph;
use graphlume_store::ids::IdSet;
use graphlume_store::materialize::{columns, table_of};
use graphlume_table::Table;
use serde_json::Value;

use super::Params;
use crate::bind::bind;
use crate::hop::ends;
use crate::scope::{Scope, Side};
use crate::select::take;
use graphlume_graph::Direction;

pub(super) fn get_degrees(
    graph: &PropertyGraph,
    params: &Params<'_>,
    scope: Scope<'_>,
) -> Result<PropertyGraph, QueryError> {
    let wanted = [
        (params.text("degree_in")?.unwrap_or("degree_in"), Direction::Reverse),
        (params.text("degree_out")?.unwrap_or("degree_out"), Direction::Forward),
        (params.text("col")?.unwrap_or("degree"), Direction::Undirected),
    ];
    degrees(graph, &wanted, scope)
}

pub(super) fn get_indegrees(
    graph: &PropertyGraph,
    params: &Params<'_>,
    scope: Scope<'_>,
) -> Result<PropertyGraph, QueryError> {
    let name = params.text("col")?.unwrap_or("degree_in");
    degrees(graph, &[(name, Direction::Reverse)], scope)
}

pub(super) fn get_outdegrees(
    graph: &PropertyGraph,
    params: &Params<'_>,
    scope: Scope<'_>,
) -> Result<PropertyGraph, QueryError> {
    let name = params.text("col")?.unwrap_or("degree_out");
    degrees(graph, &[(name, Direction::Forward)], scope)
}

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

/// The nodes of a graph that has none, or with `reuse: false` the ends of its edges and no other column.
pub(super) fn materialize_nodes(
    graph: &PropertyGraph,
    params: &Params<'_>,
    scope: Scope<'_>,
) -> Result<PropertyGraph, QueryError> {
    if !params.flag("reuse", true)? {
        let ends = graph.replaced(None, Some(edge_table(graph)?.clone()))?;
        return ends.replaced(Some(ends.node_table(scope.cancel)?), ends.edges().cloned());
    }
    graph.replaced(Some(graph.node_table(scope.cancel)?), graph.edges().cloned())
}

pub(super) fn edge_table(graph: &PropertyGraph) -> Result<&Table, QueryError> {
    graph.edges().ok_or_else(|| QueryError::new(ErrorCode::NoEdges, "the graph has no edge table"))
}

fn degrees(
    graph: &PropertyGraph,
    wanted: &[(&str, Direction)],
    scope: Scope<'_>,
) -> Result<PropertyGraph, QueryError> {
    edge_table(graph)?;
    let t = graph.topology(scope.cancel)?;
    let table = graph.node_table(scope.cancel)?;
    let row_nodes = graph.row_nodes(scope.cancel)?;
    let mut out = columns(&table);
    for (name, direction) in wanted {
        let degree = |row: usize| {
            let v = row_nodes.map_or(row as u32, |nodes| nodes[row]);
            if v >= t.num_nodes() {
                return 0;
            }
            let degree = match direction {
                Direction::Forward => t.out_degree(v),
                Direction::Reverse => t.in_degree(v),
                Direction::Undirected => t.degree(v),
            };
            i32::try_from(degree).unwrap_or(i32::MAX)
        };
        let cells: ArrayRef =
            Arc::new((0..table.num_rows()).map(|row| Some(degree(row))).collect::<Int32Array>());
        out.retain(|(n, _)| n != name);
        out.push(((*name).to_owned(), cells));
    }
    let nodes = table_of(out, table.num_rows())?;
    graph.replaced(Some(nodes), graph.edges().cloned())
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

pub(super) fn prune(
    graph: &PropertyGraph,
    _: &Params<'_>,
    _: Scope<'_>,
) -> Result<PropertyGraph, QueryError> {
    let table = edge_table(graph)?;
    let bindings = graph.bindings();
    let end = |name: &Option<String>| {
        let array = table.column(name.as_deref()?)?;
        Column::try_new(array).ok()
    };
    let (Some(source), Some(destination)) = (end(&bindings.source), end(&bindings.destination))
    else {
        return Err(QueryError::new(ErrorCode::NoEdges, "the edges have no ends to compare"));
    };
    let differs = |row: &u32| {
        let row = *row as usize;
        source.get(row).is_none() || source.get(row) != destination.get(row)
    };
    graph.with_edges(take(table, (0..table.num_rows() as u32).filter(differs).collect())?)
}

/// The nodes that the parameter `name` has, by id or by the values of columns.
pub(super) fn named(
    graph: &PropertyGraph,
    params: &Params<'_>,
    name: &str,
    scope: Scope<'_>,
) -> Result<IdSet, QueryError> {
    let value = params.get(name).ok_or_else(|| params.missing(name))?;
    let scalar =
        |v: &Value| Scalar::from_json(v).ok_or_else(|| params.wrong(name, "a list of ids", v));
    let mut found = Vec::new();
    let mut add = |id: &Scalar| -> Result<(), QueryError> {
        let id = match id {
            Scalar::Int(v) => Some(Canon::Int(*v)),
            Scalar::UInt(v) => Some(Canon::UInt(*v)),
            Scalar::Float(v) => graphlume_graph::canon::of_f64(*v),
            Scalar::Text(v) => Some(Canon::Text(v)),
            Scalar::Bool(v) => Some(Canon::Bool(*v)),
            _ => None,
        };
        if let Some(id) = id {
            found.extend(graph.find(&id, scope.cancel)?);
        }
        Ok(())
    };
    match value {
        Value::Array(ids) => ids.iter().try_for_each(|v| add(&scalar(v)?))?,
        Value::Object(filter) => {
            let table = graph.node_table(scope.cancel)?;
            let filter = crate::wire::filter(Some(&Value::Object(filter.clone())), name)?;
            let bound = bind(graph, &table, Side::Nodes, &filter, scope)?;
            let row_nodes = graph.row_nodes(scope.cancel)?;
            let rows = (0..table.num_rows() as u32).filter(|row| bound.passes(*row));
            let nodes = rows.map(|row| row_nodes.map_or(row, |n| n[row as usize]));
            found.extend(nodes.filter(|v| *v != u32::MAX));
        }
        one => add(&scalar(one)?)?,
    }
    Ok(IdSet::from_vec(found))
}

/// Keeps or drops nodes, and with them the edges at those that go.
fn cut(
    graph: &PropertyGraph,
    params: &Params<'_>,
    keep: bool,
    scope: Scope<'_>,
) -> Result<PropertyGraph, QueryError> {
    let named = named(graph, params, "nodes", scope)?;
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
