//! Calls of algorithms and layouts: columns that the registry's algorithms make for the nodes.

use std::sync::Arc;

use graphlume_algo::schema::{hint, library};
use graphlume_algo::view::{KeptView, Shape};
use graphlume_algo::{
    AlgoError, AlgorithmSpec, ColumnError, Gives, GraphData, Input, Kind, ParamValues, Subgraph,
    libraries, start,
};
use graphlume_expr::{ErrorCode, QueryError};
use graphlume_graph::canon::{Canon, of_f64};
use graphlume_graph::{Graph, Topology};
use graphlume_store::materialize::take;
use graphlume_store::materialize::{table_of, with};
use graphlume_store::{CacheKey, CallOp, PropertyGraph};
use graphlume_table::Table;
use graphlume_types::Notice;
use serde_json::{Map, Value};

use crate::context::CallContext;
use crate::params::Params;

/// Evaluates a call.
pub(crate) fn run(
    graph: &PropertyGraph,
    params: &Params<'_>,
    context: CallContext<'_>,
) -> Result<PropertyGraph, QueryError> {
    let (kind, library, name) = match params.function {
        "compute_cugraph" => (Kind::Compute, "cugraph", needed(params, "alg")?),
        "compute_igraph" => (Kind::Compute, "igraph", needed(params, "alg")?),
        "compute_nx" => (Kind::Compute, "nx", needed(params, "alg")?),
        "layout_igraph" => (Kind::Layout, "igraph", needed(params, "layout")?),
        _ => {
            let layout = params.text("layout")?.unwrap_or("force_atlas2");
            (Kind::Layout, "cugraph", layout)
        }
    };
    let spec = find(kind, library, name, params.function)?;
    options(params)?;
    let values = values(spec, params)?;
    if library == "nx" && spec.outputs.len() > 1 && params.get("out_col").is_some() {
        let text = format!("{name:?} of nx has several columns, and \"out_col\" names one");
        return Err(QueryError::new(ErrorCode::Type, text)
            .field("params.out_col")
            .suggest("leave it out"));
    }
    let frame = graph.frame(context.cancel)?;
    let weights = if library == "cugraph" { weights(graph)? } else { None };
    let many = libraries::is_multigraph(spec, params.text("kind")?);
    // A layout draws every edge, whatever the kind of its graph.
    let multigraph = many.map_err(|e| failed(e, params))? && kind == Kind::Compute;
    let input = Input {
        topology: &frame.topology,
        library,
        multigraph,
        weights: weights.as_deref(),
        data: &Data { graph, frame, context, by_place: library == "igraph" },
        cancel: context.cancel,
        device: graph.accelerator(),
    };
    let output = graphlume_algo::run(spec, &input, &values).map_err(|e| failed(e, params))?;
    if let Some(text) = output.place.describe(name) {
        context.notices.note(Notice::new("computed-on", text));
    }
    let id = |v: u32| frame.id_text(v);
    if let Some(notice) = start::notice(&input, &values, (name, "params."), id) {
        context.notices.note(notice);
    }
    let made = Made { spec, name, frame, params, context };
    let found = made.with_nodes(graph, output.columns)?;
    let found = made.with_edges(&found, output.edges)?;
    match output.graph {
        Some(subgraph) => made.cut(&found, subgraph),
        None => Ok(found),
    }
}

/// The ids and columns of a graph, for an algorithm's parameters.
struct Data<'a> {
    graph: &'a PropertyGraph,
    frame: &'a Graph,
    context: CallContext<'a>,
    /// Whether a number means the place of a node where ids are texts, as for igraph.
    by_place: bool,
}

impl Data<'_> {
    /// The node at a row of the node table, in a graph whose ids are texts: there no number is an id.
    fn at_place(&self, place: &str) -> Option<u32> {
        let meant = self.by_place && self.frame.has_text_ids();
        let row = place.parse::<u32>().ok().filter(|_| meant)?;
        let rows = self.graph.row_nodes(self.context.cancel).ok()?;
        let node = rows.map_or(Some(row), |nodes| nodes.get(row as usize).copied());
        node.filter(|v| *v < self.frame.topology.num_nodes())
    }
}

impl GraphData for Data<'_> {
    fn node(&self, id: &str) -> Option<u32> {
        node_of(self.graph, id, self.context).or_else(|| self.at_place(id))
    }

    fn edge_column(&self, name: &str) -> Result<Vec<f64>, ColumnError> {
        numbers(self.graph.edges(), name)
    }

    fn node_column(&self, name: &str) -> Result<Vec<f64>, ColumnError> {
        let by_row = numbers(self.graph.nodes(), name)?;
        let n = self.frame.topology.num_nodes();
        let row = |v: u32| self.graph.node_row(self.frame, v);
        Ok((0..n).map(|v| row(v).map_or(f64::NAN, |row| by_row[row as usize])).collect())
    }

    fn kept(&self, topology: &Arc<Topology>, shape: Shape) -> Option<Arc<KeptView>> {
        // An algorithm may look at a part of the graph.
        if !Arc::ptr_eq(topology, &self.frame.topology) {
            return None;
        }
        self.graph.kept_of_frame(&ViewOf(shape))
    }

    fn keep(&self, topology: &Arc<Topology>, shape: Shape, lists: KeptView) {
        if !Arc::ptr_eq(topology, &self.frame.topology) {
            return;
        }
        let bytes = lists.bytes();
        self.graph.keep_of_frame(ViewOf(shape), &Arc::new(lists), bytes, self.context.cancel);
    }
}

/// The lists of a view of a shape, which a graph keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ViewOf(Shape);

impl CacheKey for ViewOf {
    type Value = KeptView;
}

/// The numbers of a column by row.
fn numbers(table: Option<&Table>, name: &str) -> Result<Vec<f64>, ColumnError> {
    let names = table.map(Table::column_names).unwrap_or_default();
    let known = || names.iter().map(|n| (*n).to_owned()).collect();
    let column = table.and_then(|t| t.column(name));
    let column = column.ok_or_else(|| ColumnError::Missing { known: known() })?;
    graphlume_table::to_f64(column.as_ref()).ok_or(ColumnError::NotNumbers)
}

/// What turns the output of an algorithm into a graph.
struct Made<'a> {
    spec: &'static AlgorithmSpec,
    /// The name that the call gives the algorithm.
    name: &'a str,
    frame: &'a Graph,
    params: &'a Params<'a>,
    context: CallContext<'a>,
}

impl Made<'_> {
    /// The name of an output column: the first of the nodes is called as asked, or like the algorithm.
    fn column_name(&self, place: usize, own: &'static str) -> Result<String, QueryError> {
        let asked = match (self.spec.kind, self.spec.gives) {
            (Kind::Layout, _) => self.params.text(&format!("{own}_out_col"))?.unwrap_or(own),
            _ if place > 0 => own,
            (_, Gives::Edges) => self.params.text("out_col")?.unwrap_or(own),
            // A graph has columns of its own beside it.
            (_, Gives::Graph) => own,
            // NetworkX's columns have names of their own, the other libraries' that of the algorithm.
            (_, Gives::Nodes) => {
                let is_nx = self.params.function == "compute_nx";
                self.params.text("out_col")?.unwrap_or(if is_nx { own } else { self.name })
            }
        };
        Ok(asked.to_owned())
    }

    /// The graph with columns of its nodes; in a layout they are the positions.
    fn with_nodes(
        &self,
        graph: &PropertyGraph,
        columns: Vec<graphlume_algo::Column>,
    ) -> Result<PropertyGraph, QueryError> {
        let cancel = self.context.cancel;
        if self.spec.gives != Gives::Nodes {
            return Ok(graph.clone());
        }
        let mut nodes = graph.node_table(cancel)?;
        let rows = self.node_rows(graph, &nodes)?;
        let mut shown = Vec::new();
        for (place, column) in columns.into_iter().enumerate() {
            let name = self.column_name(place, column.name)?;
            let array = column.values.at(&rows).array(|v| self.frame.ids_at(v));
            if self.spec.kind == Kind::Layout && matches!(column.name, "x" | "y") {
                shown.push((format!("encode_point_{}", column.name), name.clone()));
            }
            nodes = with(&nodes, &name, array)?;
        }
        let found = graph.replaced(Some(nodes), graph.edges().cloned())?;
        self.shown(found, shown)
    }

    /// The node of each row of the node table. Rows without an id belong to no node, and get nothing.
    fn node_rows(
        &self,
        graph: &PropertyGraph,
        nodes: &Table,
    ) -> Result<Vec<Option<usize>>, QueryError> {
        let row_nodes = graph.row_nodes(self.context.cancel)?;
        let node = |row: usize| row_nodes.map_or(row as u32, |nodes| nodes[row]);
        let rows = (0..nodes.num_rows()).map(node);
        Ok(rows.map(|v| (v != u32::MAX).then_some(v as usize)).collect())
    }

    /// The positions of a layout are shown.
    fn shown(
        &self,
        mut found: PropertyGraph,
        shown: Vec<(String, String)>,
    ) -> Result<PropertyGraph, QueryError> {
        let shown = if self.params.flag("bind_position", true)? { shown } else { vec![] };
        for (function, column) in shown {
            let params = Map::from_iter([("column".to_owned(), Value::String(column))]);
            found = found.noted(&CallOp { function, params });
        }
        if self.spec.kind == Kind::Layout {
            // A page that opens the graph leaves the nodes where they are.
            let play = self.params.get("play").cloned().unwrap_or_else(|| 0.into());
            let params = Map::from_iter([("play".to_owned(), play)]);
            found = found.noted(&CallOp { function: "play".to_owned(), params });
        }
        Ok(found)
    }

    /// The graph with columns of its edges. Rows without two ends have no value.
    fn with_edges(
        &self,
        graph: &PropertyGraph,
        columns: Vec<graphlume_algo::Column>,
    ) -> Result<PropertyGraph, QueryError> {
        if columns.is_empty() {
            return Ok(graph.clone());
        }
        let mut edges = crate::graph::edge_table(graph)?.clone();
        let rows: Vec<Option<usize>> = (0..edges.num_rows()).map(Some).collect();
        for (place, column) in columns.into_iter().enumerate() {
            let name = self.column_name(place, column.name)?;
            let array = column.values.at(&rows).array(|v| self.frame.ids_at(v));
            edges = with(&edges, &name, array)?;
        }
        graph.replaced(graph.nodes().cloned(), Some(edges))
    }

    /// The part of a graph that the algorithm keeps, with all columns, or the same nodes with other edges.
    fn cut(&self, graph: &PropertyGraph, subgraph: Subgraph) -> Result<PropertyGraph, QueryError> {
        if let Some(name) = self.params.text("out_col")? {
            let text = format!("{:?} makes a graph and no column", self.name);
            let error = QueryError::new(ErrorCode::Type, text).field("out_col").value(name);
            return Err(error.suggest("leave out_col away"));
        }
        match subgraph {
            Subgraph::Kept { edges, nodes } => {
                let kept = take(crate::graph::edge_table(graph)?, edges)?;
                let table = graph.node_table(self.context.cancel)?;
                let Some(nodes) = nodes else { return graph.replaced(Some(table), Some(kept)) };
                let rows = self.node_rows(graph, &table)?;
                let stays =
                    |v: &Option<usize>| v.is_some_and(|v| nodes.binary_search(&(v as u32)).is_ok());
                let rows = rows.iter().enumerate().filter(|(_, v)| stays(v));
                let table = take(&table, rows.map(|(row, _)| row as u32).collect())?;
                graph.replaced(Some(table), Some(kept))
            }
            Subgraph::Made { src, dst, columns } => {
                let ends =
                    |v: &[u32]| self.frame.ids_at(&v.iter().copied().map(Some).collect::<Vec<_>>());
                let bound = graph.bindings();
                let name = |bound: &Option<String>, usual: &str| {
                    bound.clone().unwrap_or_else(|| usual.to_owned())
                };
                let mut made = vec![
                    (name(&bound.source, "src"), ends(&src)),
                    (name(&bound.destination, "dst"), ends(&dst)),
                ];
                made.extend(columns.into_iter().map(|column| {
                    (column.name.to_owned(), column.values.array(|v| self.frame.ids_at(v)))
                }));
                let table = graph.node_table(self.context.cancel)?;
                graph.replaced(Some(table), Some(table_of(made, src.len())?))
            }
        }
    }
}

fn needed<'a>(params: &'a Params<'_>, name: &str) -> Result<&'a str, QueryError> {
    params.text(name)?.ok_or_else(|| params.missing(name))
}

fn find(
    kind: Kind,
    library_name: &'static str,
    name: &str,
    function: &str,
) -> Result<&'static AlgorithmSpec, QueryError> {
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
        QueryError::new(ErrorCode::Unsupported, text)
    } else {
        let text =
            format!("{function} has no {name:?}{}", hint(name, &[promised, &there].concat()));
        QueryError::new(ErrorCode::Type, text)
    };
    Err(error.field(field).value(name).suggest(format!("available are: {}", there.join(", "))))
}

/// What the algorithm of a call gives, when the call names one.
pub(crate) fn gives(call: &CallOp) -> Option<Gives> {
    let library = call.function.strip_prefix("compute_")?;
    let name = call.params.get("alg").and_then(Value::as_str)?;
    graphlume_algo::find(Kind::Compute, library, name).map(|spec| spec.gives)
}

/// Checks the options that change nothing here, or that are for something that is not there.
fn options(params: &Params<'_>) -> Result<(), QueryError> {
    if let Some(value) = params.get("G") {
        let text = format!("\"G\" of call {:?} is an object of the client", params.function);
        return Err(QueryError::new(ErrorCode::Unsupported, text)
            .field("params.G")
            .value(value)
            .suggest("leave it out"));
    }
    // Rows keep their ids, whichever way a library numbers its vertices.
    params.flag("use_vids", false)?;
    params.flag("directed", true)?;
    Ok(())
}

/// The bound weights by edge row.
fn weights(graph: &PropertyGraph) -> Result<Option<Vec<f64>>, QueryError> {
    let Some(column) = graph.weight() else { return Ok(None) };
    let values = graphlume_table::to_f64(column.as_ref()).ok_or_else(|| {
        let text = "the column of the edges' weights has no numbers";
        let error = QueryError::new(ErrorCode::ColumnType, text).field("weights");
        error.suggest("bind a column of numbers to the weight of edges")
    })?;
    Ok(Some(values))
}

/// The parameters of the algorithm. `directed` may stand beside them.
fn values(spec: &'static AlgorithmSpec, params: &Params<'_>) -> Result<ParamValues, QueryError> {
    let mut given = match params.get("params") {
        None => Map::new(),
        Some(Value::Object(map)) => map.clone(),
        Some(other) => return Err(params.wrong("params", "an object", other)),
    };
    if let Some(directed) = params.get("directed")
        && spec.params.iter().any(|p| p.name == "directed")
    {
        given.entry("directed").or_insert_with(|| directed.clone());
    }
    ParamValues::from_json(spec, &given).map_err(|e| failed(e, params))
}

/// The refusal of an algorithm, for a client.
pub(crate) fn failed(e: AlgoError, params: &Params<'_>) -> QueryError {
    match e {
        AlgoError::Cancelled(stopped) => stopped.into(),
        AlgoError::Memory(refused) => QueryError::from(refused).field(params.function),
        AlgoError::UnknownParam { .. } | AlgoError::BadParam { .. } => {
            QueryError::new(ErrorCode::Type, e.to_string()).field("params")
        }
        e => QueryError::new(ErrorCode::CallFailed, e.to_string()).field(params.function),
    }
}

/// The node of an id that was written as text.
fn node_of(graph: &PropertyGraph, text: &str, context: CallContext<'_>) -> Option<u32> {
    let find = |id: &Canon<'_>| graph.find(id, context.cancel).ok().flatten();
    let number = text.parse::<i64>().ok().map(Canon::Int);
    let number = number.or_else(|| text.parse::<f64>().ok().and_then(of_f64));
    number.and_then(|id| find(&id)).or_else(|| find(&Canon::Text(text)))
}
