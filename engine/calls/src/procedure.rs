//! Procedures: the algorithms under the names that Cypher's CALL gives them.
//!
//! `graphistry.degree`, `graphistry.igraph.<algorithm>`, `graphistry.cugraph.<algorithm>` and `graphistry.nx.<algorithm>`
//! make rows of node ids and values, `graphistry.layout.<layout>` rows of node ids and coordinates; with `.write` at the end
//! the values become columns of the graph.

use std::sync::Arc;

use graphlume_algo::{Gives, Kind};
use graphlume_expr::{ErrorCode, QueryError, nearest};
use graphlume_store::materialize::{columns, table_of};
use graphlume_store::{CallOp, PropertyGraph};
use graphlume_table::Table;
use graphlume_types::{CancelToken, Notice, note};
use serde_json::{Map, Value};

use crate::context::{CallContext, Notices};
use crate::list;

/// What stands before every name.
pub const PREFIX: &str = "graphistry.";
/// Column of the node ids in a procedure's rows.
const NODE: &str = "nodeId";
/// Columns of the degree procedure, in their order.
const DEGREES: &[&str] = &["degree", "degree_in", "degree_out"];

/// What a procedure makes.
#[derive(Clone, Debug)]
pub enum Made {
    /// The graph with what was computed.
    Graph(PropertyGraph),
    /// Node ids and values.
    Rows(Table),
}

/// Runs the procedure `name` with its options. What there is to say beside the answer goes to `notices`.
///
/// # Errors
/// [`QueryError`] when there is no such procedure, or it refuses.
pub fn procedure(
    graph: &PropertyGraph,
    name: &str,
    options: &Map<String, Value>,
    cancel: &CancelToken,
    notices: &mut Vec<Notice>,
) -> Result<Made, QueryError> {
    let said = Notices::default();
    let filter = |_: &PropertyGraph, _: &Map<String, Value>, option: &str| {
        let text = "a procedure takes no filter of columns";
        Err(QueryError::new(ErrorCode::Unsupported, text).field(option))
    };
    let context = CallContext::new(&said, cancel, &filter);
    let made = in_context(graph, name, options, context);
    said.into_vec().into_iter().for_each(|notice| note(notices, notice));
    made
}

fn in_context(
    graph: &PropertyGraph,
    name: &str,
    options: &Map<String, Value>,
    context: CallContext<'_>,
) -> Result<Made, QueryError> {
    let cancel = context.cancel;
    let (path, write) = match name.strip_suffix(".write") {
        Some(path) => (path, true),
        None => (name, false),
    };
    let Some(call) = call_of(path, options, name)? else {
        return Ok(Made::Graph(graph.clone()));
    };
    let found = list::found(&call)?;
    let before = graph.node_table(cancel)?;
    let graph = match graph.nodes() {
        Some(_) => graph.clone(),
        None => graph.replaced(Some(before.clone()), graph.edges().cloned())?,
    };
    let gives = crate::algorithm::gives(&call);
    if !write && gives == Some(Gives::Graph) {
        let text = format!("{name:?} makes a graph and no rows");
        return Err(QueryError::new(ErrorCode::Query, text)
            .field("procedure")
            .value(name)
            .suggest(format!("write GRAPH {{ CALL {name}.write() }}")));
    }
    let made = found.run(&graph, &call.params, context)?;
    if write {
        return Ok(Made::Graph(made));
    }
    if gives == Some(Gives::Edges) {
        return edge_rows(&graph, &made, &call).map(Made::Rows);
    }
    let (before, after) = (columns(&before), columns(&made.node_table(cancel)?));
    let rows = after.first().map_or(0, |(_, column)| column.len());
    let mut out = Vec::new();
    out.extend(after.iter().find(|(n, _)| n == made.node_column()).cloned());
    out.iter_mut().for_each(|(name, _)| NODE.clone_into(name));
    let is_new = |(name, column): &&(String, _)| {
        before.iter().find(|(n, _)| n == name).is_none_or(|(_, old)| !Arc::ptr_eq(old, column))
    };
    if call.function == "get_degrees" {
        let named = |name: &&str| after.iter().find(|(n, _)| n == name).cloned();
        out.extend(DEGREES.iter().filter_map(named));
    } else {
        out.extend(after.iter().filter(is_new).cloned());
    }
    Ok(Made::Rows(table_of(out, rows)?))
}

/// The rows of an algorithm of edges: their ends and the new columns, the first of which is called as asked, or like the
/// algorithm.
fn edge_rows(
    before: &PropertyGraph,
    made: &PropertyGraph,
    call: &CallOp,
) -> Result<Table, QueryError> {
    let (old, edges) = (before.edges(), crate::graph::edge_table(made)?);
    let bindings = made.bindings();
    let mut out = Vec::new();
    for (bound, name) in [(&bindings.source, "source"), (&bindings.destination, "destination")] {
        let column = bound.as_deref().and_then(|n| edges.column(n));
        out.extend(column.map(|c| (name.to_owned(), Arc::clone(c))));
    }
    let text = |name: &str| call.params.get(name).and_then(Value::as_str);
    let mut first = text("out_col").or_else(|| text("alg"));
    for name in edges.column_names() {
        let Some(column) = edges.column(name) else { continue };
        let was = old.and_then(|t| t.column(name));
        if was.is_none_or(|was| !Arc::ptr_eq(was, column)) {
            out.push((first.take().unwrap_or(name).to_owned(), Arc::clone(column)));
        }
    }
    table_of(out, edges.num_rows())
}

/// The call in a chain: rows stand in the place of nodes.
///
/// # Errors
/// Those of [`procedure`].
pub fn run(
    graph: &PropertyGraph,
    call: &CallOp,
    context: CallContext<'_>,
) -> Result<PropertyGraph, QueryError> {
    match in_context(graph, &call.function, &call.params, context)? {
        Made::Graph(graph) => Ok(graph),
        Made::Rows(rows) => Ok(PropertyGraph::of_rows(rows, graph.edges())),
    }
}

/// The parameters of the call: options that are its `own`, and under `params` the others, which are the algorithm's.
fn split(options: &Map<String, Value>, own: &[&str]) -> Map<String, Value> {
    let (mut params, mut inner) = (Map::new(), Map::new());
    for (key, value) in options {
        let into = if own.contains(&key.as_str()) { &mut params } else { &mut inner };
        match (key.as_str(), value) {
            ("params", Value::Object(more)) => inner.extend(more.clone()),
            _ => {
                into.insert(key.clone(), value.clone());
            }
        }
    }
    if !inner.is_empty() {
        params.insert("params".to_owned(), inner.into());
    }
    params
}

/// The call that does what the procedure means; nothing for those of indexes.
fn call_of(
    path: &str,
    options: &Map<String, Value>,
    name: &str,
) -> Result<Option<CallOp>, QueryError> {
    let unknown = |instead: String| {
        QueryError::new(ErrorCode::Query, format!("the procedure {name:?} does not exist"))
            .field("procedure")
            .value(name)
            .suggest(instead)
    };
    let parts: Vec<&str> = path.split('.').collect();
    match parts.as_slice() {
        ["graphistry", "degree"] => {
            if let Some(option) = options.keys().next() {
                let text = "graphistry.degree takes no options";
                return Err(QueryError::new(ErrorCode::Query, text).field(option.as_str()));
            }
            Ok(Some(CallOp { function: "get_degrees".to_owned(), params: Map::new() }))
        }
        ["graphistry", "create_index" | "drop_index"] => Ok(None),
        ["graphistry", library @ ("cugraph" | "igraph" | "nx"), algorithm] => {
            let mut params = split(options, &["out_col", "directed", "kind", "use_vids"]);
            params.insert("alg".to_owned(), (*algorithm).into());
            Ok(Some(CallOp { function: format!("compute_{library}"), params }))
        }
        ["graphistry", "layout", layout] => {
            let own = ["directed", "bind_position", "x_out_col", "y_out_col", "play"];
            let mut params = split(options, &own);
            params.insert("layout".to_owned(), (*layout).into());
            let of_cugraph = graphlume_algo::find(Kind::Layout, "cugraph", layout).is_some();
            let function = if of_cugraph { "layout_cugraph" } else { "layout_igraph" };
            Ok(Some(CallOp { function: function.to_owned(), params }))
        }
        ["graphistry", other] if nearest(other, &["degree"]).is_some() => {
            Err(unknown("did you mean \"graphistry.degree\"?".to_owned()))
        }
        _ => Err(unknown(format!(
            "procedures: {PREFIX}degree, {PREFIX}igraph.<algorithm>, {PREFIX}cugraph.<algorithm>, \
             {PREFIX}nx.<algorithm>, {PREFIX}layout.<layout>; each may end in .write"
        ))),
    }
}
