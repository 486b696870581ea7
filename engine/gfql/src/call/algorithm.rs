//! Calls of algorithms and layouts: columns that the registry's algorithms make for the nodes.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array};
use graphlume_algo::schema::{hint, library};
use graphlume_algo::{AlgoError, AlgorithmSpec, Input, Kind, ParamValues, Values, libraries};
use graphlume_graph::canon::{Canon, of_f64};
use serde_json::{Map, Value};

use super::Params;
use crate::chain::Scope;
use crate::columns::with;
use crate::error::{ErrorCode, GfqlError};
use crate::graph::PropertyGraph;
use crate::wire::CallOp;

/// Evaluates a call.
pub(super) fn run(
    graph: &PropertyGraph,
    params: &Params<'_>,
    scope: Scope<'_>,
) -> Result<PropertyGraph, GfqlError> {
    let (kind, library, name, given) = match params.function {
        "compute_cugraph" => (Kind::Compute, "cugraph", needed(params, "alg")?, "params"),
        "compute_igraph" => (Kind::Compute, "igraph", needed(params, "alg")?, "params"),
        "layout_igraph" => (Kind::Layout, "igraph", needed(params, "layout")?, "params"),
        "layout_cugraph" => {
            let layout = params.text("layout")?.unwrap_or("force_atlas2");
            (Kind::Layout, "cugraph", layout, "params")
        }
        _ => (Kind::Layout, "cugraph", "force_atlas2", "fa2_params"),
    };
    let spec = find(kind, library, name, params.function)?;
    options(params)?;
    let (values, named) = values(spec, params, given, library)?;
    let frame = graph.frame(scope.cancel)?;
    let weights = weights(graph, library, named.as_deref())?;
    let kind_of_graph = params.text("kind")?;
    let (topology, by_row) = (&frame.topology, weights.as_deref());
    let seen = libraries::seen(library, kind_of_graph, spec, &values, topology, by_row);
    let seen = seen.map_err(|e| failed(e, params))?;
    let input = Input {
        topology: &seen.topology,
        weights: seen.weights.as_deref(),
        resolve: &|text| node_of(graph, text, scope),
        cancel: scope.cancel,
    };
    let output = graphlume_algo::run(spec, &input, &values).map_err(|e| failed(e, params))?;
    let table = graph.node_table(scope.cancel)?;
    let row_nodes = graph.row_nodes(scope.cancel)?;
    // Rows without an id belong to no node, and get nothing.
    let rows: Vec<Option<usize>> = (0..table.num_rows())
        .map(|row| row_nodes.map_or(row as u32, |nodes| nodes[row]))
        .map(|v| (v != u32::MAX).then_some(v as usize))
        .collect();
    let mut nodes = table;
    let mut shown = Vec::new();
    let count = output.columns.len();
    for (place, column) in output.columns.into_iter().enumerate() {
        let name = match kind {
            Kind::Layout => {
                let name = params.text(&format!("{}_out_col", column.name))?;
                name.unwrap_or(column.name).to_owned()
            }
            Kind::Compute if place == 0 => {
                let default = if count == 1 { name } else { column.name };
                params.text("out_col")?.unwrap_or(default).to_owned()
            }
            Kind::Compute => column.name.to_owned(),
        };
        let array: ArrayRef = match &column.values {
            Values::I64(v) => Arc::new(pick(&rows, |i| v.get(i).copied()).collect::<Int64Array>()),
            Values::I64OrNull(v) => {
                Arc::new(pick(&rows, |i| v.get(i).copied().flatten()).collect::<Int64Array>())
            }
            Values::Nodes(v) => {
                let nodes = pick(&rows, |i| v.get(i).copied().flatten());
                frame.ids_at(&nodes.collect::<Vec<_>>())
            }
            Values::F64(v) => {
                Arc::new(pick(&rows, |i| v.get(i).copied()).collect::<Float64Array>())
            }
        };
        if kind == Kind::Layout && matches!(column.name, "x" | "y") {
            shown.push((format!("encode_point_{}", column.name), name.clone()));
        }
        nodes = with(&nodes, &name, array)?;
    }
    let mut found = graph.replaced(Some(nodes), graph.edges().cloned())?;
    if params.flag("bind_position", true)? {
        for (function, column) in shown {
            let params = Map::from_iter([("column".to_owned(), Value::String(column))]);
            found = found.noted(&CallOp { function, params });
        }
        if kind == Kind::Layout {
            // A page that opens the graph leaves the nodes where they are.
            let play = params.get("play").cloned().unwrap_or_else(|| 0.into());
            let params = Map::from_iter([("play".to_owned(), play)]);
            found = found.noted(&CallOp { function: "play".to_owned(), params });
        }
    }
    Ok(found)
}

fn pick<'a, T>(
    rows: &'a [Option<usize>],
    value: impl Fn(usize) -> Option<T> + 'a,
) -> impl Iterator<Item = Option<T>> + 'a {
    rows.iter().map(move |row| row.and_then(&value))
}

fn needed<'a>(params: &'a Params<'_>, name: &str) -> Result<&'a str, GfqlError> {
    params.text(name)?.ok_or_else(|| params.missing(name))
}

fn find(
    kind: Kind,
    library_name: &'static str,
    name: &str,
    function: &str,
) -> Result<&'static AlgorithmSpec, GfqlError> {
    if let Some(spec) = graphlume_algo::find(kind, library_name, name) {
        return Ok(spec);
    }
    let promised: &[&str] = library(library_name).map_or(&[], |l| match kind {
        Kind::Compute => l.compute,
        Kind::Layout => l.layout,
    });
    let field = if kind == Kind::Layout { "layout" } else { "alg" };
    let there: Vec<&str> = graphlume_algo::ALGORITHMS
        .iter()
        .filter(|a| a.kind == kind)
        .flat_map(|a| a.names)
        .filter(|n| n.library == library_name)
        .map(|n| n.name)
        .collect();
    let error = if promised.contains(&name) {
        let text = format!("{name:?} of {library_name} is not available yet");
        GfqlError::new(ErrorCode::Unsupported, text)
    } else {
        let text = format!("{function} has no {name:?}{}", hint(name, promised));
        GfqlError::new(ErrorCode::Type, text)
    };
    Err(error.field(field).value(name).suggest(format!("available are: {}", there.join(", "))))
}

/// Checks the options that change nothing here, or that are for something that is not there.
fn options(params: &Params<'_>) -> Result<(), GfqlError> {
    for name in ["G", "circle_layout_params", "partition_key", "featurize"] {
        if params.get(name).is_some_and(|v| *v != Value::Bool(false)) {
            let text = format!("{name:?} of call {:?} is not available", params.function);
            return Err(GfqlError::new(ErrorCode::Unsupported, text)
                .field(format!("params.{name}"))
                .suggest("leave it out"));
        }
    }
    if params.flag("remove_self_edges", false)? {
        let text = "\"remove_self_edges\" of call \"fa2_layout\" is not available";
        return Err(GfqlError::new(ErrorCode::Unsupported, text)
            .field("params.remove_self_edges")
            .suggest("call \"prune_self_edges\" before the layout"));
    }
    // Rows keep their ids, whichever way a library numbers its vertices.
    params.flag("use_vids", false)?;
    params.flag("directed", true)?;
    params.text("engine")?;
    Ok(())
}

/// The weights by edge row: the bound ones for cuGraph, those that a parameter names for igraph.
fn weights(
    graph: &PropertyGraph,
    library: &str,
    named: Option<&str>,
) -> Result<Option<Vec<f32>>, GfqlError> {
    let column = match (library, named) {
        ("cugraph", _) => graph.weight(),
        (_, None) => None,
        (_, Some(name)) => {
            let edges = super::graph::edge_table(graph)?;
            let found = edges.column(name);
            let missing = || GfqlError::no_column(name, "edge", &edges.column_names());
            Some(found.ok_or_else(missing)?)
        }
    };
    let Some(column) = column else { return Ok(None) };
    let values = graphlume_table::to_f64(column.as_ref()).ok_or_else(|| {
        let text = "the column of the edges' weights has no numbers";
        let error = GfqlError::new(ErrorCode::ColumnType, text).field("weights");
        error.suggest("bind a column of numbers to the weight of edges")
    })?;
    Ok(Some(values.into_iter().map(|v| v as f32).collect()))
}

/// The parameters of the algorithm, and the column that igraph's `weights` name. `directed` may stand beside
/// them.
fn values(
    spec: &AlgorithmSpec,
    params: &Params<'_>,
    field: &str,
    library: &str,
) -> Result<(ParamValues, Option<String>), GfqlError> {
    let mut given = match params.get(field) {
        None => Map::new(),
        Some(Value::Object(map)) => map.clone(),
        Some(other) => return Err(params.wrong(field, "an object", other)),
    };
    if let Some(directed) = params.get("directed")
        && spec.params.iter().any(|p| p.name == "directed")
    {
        given.entry("directed").or_insert_with(|| directed.clone());
    }
    let mut weights = None;
    if library == "igraph" && WEIGHTED.contains(&spec.id) {
        weights = match given.remove("weights") {
            None | Some(Value::Null) => None,
            Some(Value::String(name)) => Some(name),
            Some(other) => return Err(params.wrong("weights", "a column of the edges", &other)),
        };
    }
    Ok((ParamValues::from_json(spec, &given).map_err(|e| failed(e, params))?, weights))
}

/// Algorithms of igraph that take weights.
const WEIGHTED: &[&str] = &["pagerank_igraph", "community_multilevel"];

fn failed(e: AlgoError, params: &Params<'_>) -> GfqlError {
    match e {
        AlgoError::Cancelled(stopped) => stopped.into(),
        AlgoError::UnknownParam { .. } | AlgoError::BadParam { .. } => {
            GfqlError::new(ErrorCode::Type, e.to_string()).field("params")
        }
        e => GfqlError::new(ErrorCode::CallFailed, e.to_string()).field(params.function),
    }
}

/// The node of an id that was written as text.
fn node_of(graph: &PropertyGraph, text: &str, scope: Scope<'_>) -> Option<u32> {
    let find = |id: &Canon<'_>| graph.find(id, scope.cancel).ok().flatten();
    let number = text.parse::<i64>().ok().map(Canon::Int);
    let number = number.or_else(|| text.parse::<f64>().ok().and_then(of_f64));
    number.and_then(|id| find(&id)).or_else(|| find(&Canon::Text(text)))
}
