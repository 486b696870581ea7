//! Calls that describe the nodes of a graph, and the nodes and edges that calls name.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array};
use graphlume_expr::{ErrorCode, QueryError, Scalar};
use graphlume_graph::Direction;
use graphlume_graph::canon::{Canon, Column};
use graphlume_store::PropertyGraph;
use graphlume_store::ids::IdSet;
use graphlume_store::materialize::{columns, table_of, take, with};
use graphlume_table::Table;
use serde_json::Value;

use crate::context::CallContext;
use crate::params::Params;

pub(crate) fn get_degrees(
    graph: &PropertyGraph,
    params: &Params<'_>,
    context: CallContext<'_>,
) -> Result<PropertyGraph, QueryError> {
    let wanted = [
        (params.text("degree_in")?.unwrap_or("degree_in"), Direction::Reverse),
        (params.text("degree_out")?.unwrap_or("degree_out"), Direction::Forward),
        (params.text("col")?.unwrap_or("degree"), Direction::Undirected),
    ];
    degrees(graph, &wanted, context)
}

pub(crate) fn get_indegrees(
    graph: &PropertyGraph,
    params: &Params<'_>,
    context: CallContext<'_>,
) -> Result<PropertyGraph, QueryError> {
    let name = params.text("col")?.unwrap_or("degree_in");
    degrees(graph, &[(name, Direction::Reverse)], context)
}

pub(crate) fn get_outdegrees(
    graph: &PropertyGraph,
    params: &Params<'_>,
    context: CallContext<'_>,
) -> Result<PropertyGraph, QueryError> {
    let name = params.text("col")?.unwrap_or("degree_out");
    degrees(graph, &[(name, Direction::Forward)], context)
}

/// The nodes of a graph that has none, or with `reuse: false` the ends of its edges and no other column.
pub(crate) fn materialize_nodes(
    graph: &PropertyGraph,
    params: &Params<'_>,
    context: CallContext<'_>,
) -> Result<PropertyGraph, QueryError> {
    if !params.flag("reuse", true)? {
        let ends = graph.replaced(None, Some(edge_table(graph)?.clone()))?;
        return ends.replaced(Some(ends.node_table(context.cancel)?), ends.edges().cloned());
    }
    graph.replaced(Some(graph.node_table(context.cancel)?), graph.edges().cloned())
}

/// The edges of each node that lead back to it, as a column.
pub(crate) fn get_self_loops(
    graph: &PropertyGraph,
    params: &Params<'_>,
    context: CallContext<'_>,
) -> Result<PropertyGraph, QueryError> {
    let name = params.text("col")?.unwrap_or("self_loops");
    let t = graph.topology(context.cancel)?;
    let table = graph.node_table(context.cancel)?;
    let row_nodes = graph.row_nodes(context.cancel)?;
    let loops = |row: usize| {
        let v = row_nodes.map_or(row as u32, |nodes| nodes[row]);
        let of_node = (v < t.num_nodes()).then(|| t.out_neighbors(v));
        of_node.map_or(0, |ends| ends.iter().filter(|w| **w == v).count() as i32)
    };
    let cells: ArrayRef = Arc::new((0..table.num_rows()).map(|row| Some(loops(row))).collect::<Int32Array>());
    graph.replaced(Some(with(&table, name, cells)?), graph.edges().cloned())
}

/// The table of the edges.
///
/// # Errors
/// [`ErrorCode::NoEdges`] without one.
pub fn edge_table(graph: &PropertyGraph) -> Result<&Table, QueryError> {
    graph.edges().ok_or_else(|| QueryError::new(ErrorCode::NoEdges, "the graph has no edge table"))
}

fn degrees(
    graph: &PropertyGraph,
    wanted: &[(&str, Direction)],
    context: CallContext<'_>,
) -> Result<PropertyGraph, QueryError> {
    edge_table(graph)?;
    let t = graph.topology(context.cancel)?;
    let table = graph.node_table(context.cancel)?;
    let row_nodes = graph.row_nodes(context.cancel)?;
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

pub(crate) fn prune(
    graph: &PropertyGraph,
    _: &Params<'_>,
    _: CallContext<'_>,
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
///
/// # Errors
/// [`QueryError`] with the parameter, for a value that is neither.
pub fn named(
    graph: &PropertyGraph,
    params: &Params<'_>,
    name: &str,
    context: CallContext<'_>,
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
            found.extend(graph.find(&id, context.cancel)?);
        }
        Ok(())
    };
    match value {
        Value::Array(ids) => ids.iter().try_for_each(|v| add(&scalar(v)?))?,
        Value::Object(filter) => found.extend((context.filter)(graph, filter, name)?),
        one => add(&scalar(one)?)?,
    }
    Ok(IdSet::from_vec(found))
}
