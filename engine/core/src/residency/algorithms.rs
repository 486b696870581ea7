//! The algorithms and layouts that a dataset names, and the columns that they give.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use graphlume_algo::{Accelerator, ColumnError, GraphData, Input, start};
use graphlume_graph::Graph;
use graphlume_store::NODE_ID;
use graphlume_table::{Table, TableError, to_f64};
use graphlume_types::{CancelToken, Cancelled, Notice, note};
use serde_json::{Value, json};

use crate::compute::ComputeRequest;
use crate::error::EngineError;
use crate::loader::Loaded;
use crate::residency::resident::bound_weight;

/// Bytes that the results of `requests` add to the tables at most.
pub(crate) fn footprint(loaded: &Loaded, requests: &[&ComputeRequest], num_nodes: u32) -> u64 {
    let columns: usize = requests.iter().map(|r| r.columns().len()).sum();
    let of_edges: usize = requests.iter().map(|r| r.edge_columns().len()).sum();
    let table = loaded.nodes.as_ref().map_or(0, Table::memory_bytes);
    let edges = loaded.edges.num_rows() as u64 * 9 * of_edges as u64;
    table + u64::from(num_nodes) * (8 + 9 * columns as u64) + edges
}

/// Why an algorithm gave no column.
#[derive(Debug)]
pub(crate) enum NoColumn {
    /// It was stopped.
    Stopped(Cancelled),
    /// It cannot be run, or its result is none that a table takes.
    Failed(String),
}

/// A graph with what its algorithms have given so far.
pub(crate) struct Computed {
    graph: Graph,
    loaded: Loaded,
    /// The node table, with a row for every node.
    table: Table,
    weights: Option<Vec<f64>>,
    is_laid_out: bool,
}

impl Computed {
    /// The graph before the first algorithm.
    pub(crate) fn begin(graph: Graph, mut loaded: Loaded) -> Result<Self, EngineError> {
        let table =
            whole_node_table(&graph, &mut loaded).map_err(|e| EngineError::from_coded(&e))?;
        let weights = edge_weights(&loaded);
        Ok(Self { graph, loaded, table, weights, is_laid_out: false })
    }

    /// Runs what is asked for and puts the results into the edge table and the node table. The columns of a layout are bound
    /// as the positions.
    pub(crate) fn add(
        &mut self,
        request: &ComputeRequest,
        device: Option<&dyn Accelerator>,
        cancel: &CancelToken,
    ) -> Result<(), NoColumn> {
        let Self { graph, loaded, table, weights, is_laid_out } = self;
        let data = Columns::new(graph, loaded, request.library == "igraph");
        let input = Input {
            topology: &graph.topology,
            library: request.library,
            multigraph: request.multigraph,
            // cuGraph's algorithms use the bound weights.
            weights: weights.as_deref(),
            data: &data,
            cancel,
            device,
        };
        let output = graphlume_algo::run(request.algorithm, &input, &request.params);
        let field = request.field();
        let names = (field.as_str(), &*format!("{field}.params."));
        let without_way_out = start::notice(&input, &request.params, names, |v| graph.id_text(v));
        // Why it was stopped is seen at its token, whatever the step that noticed made of it.
        let output = output.map_err(|e| {
            cancel.check().map_or_else(NoColumn::Stopped, |()| NoColumn::Failed(e.to_string()))
        })?;
        let computed_on = output.place.describe(&field);
        let computed_on = computed_on.map(|text| Notice::new("computed-on", text));
        for notice in computed_on.into_iter().chain(without_way_out) {
            note(&mut loaded.notices, notice);
        }
        let n = graph.topology.num_nodes();
        let (nodes, edges) = request.columns_of(output, n, loaded.edges.num_rows());
        let refused = |e: TableError| NoColumn::Failed(e.to_string());
        let mut kept = false;
        for (name, values) in nodes {
            let array = values.array(|v| graph.ids_at(v));
            if stays(loaded, request, &name, loaded.node.clone().as_slice()) {
                kept = true;
                continue;
            }
            *table = table.with_column(&name, array).map_err(refused)?;
        }
        let ends = [loaded.source.clone(), loaded.destination.clone()];
        for (name, values) in edges {
            if stays(loaded, request, &name, &ends) {
                continue;
            }
            let array = values.array(|v| graph.ids_at(v));
            loaded.edges = loaded.edges.with_column(&name, array).map_err(refused)?;
        }
        if request.is_layout() && !kept {
            bind_positions(&mut loaded.encodings.node);
            *is_laid_out = true;
        }
        Ok(())
    }

    /// The graph and its tables with all columns, and whether a layout has placed the nodes.
    pub(crate) fn end(mut self) -> (Graph, Loaded, bool) {
        keep_node_table(&mut self.graph, &mut self.loaded, self.table);
        (self.graph, self.loaded, self.is_laid_out)
    }
}

/// What is said of a request of which nothing came, and why.
pub(crate) fn without(field: &str, is_layout: bool, why: &str) -> Notice {
    if is_layout {
        return Notice::new(
            "layout-failed",
            format!("{field}: {why}: the page lays the graph out"),
        );
    }
    Notice::new("compute-failed", format!("{field}: {why}: no such column"))
}

/// Whether a column has the name of one that says which node or edge a row is: it is not replaced, which a notice tells.
fn stays(loaded: &mut Loaded, request: &ComputeRequest, name: &String, ids: &[String]) -> bool {
    if !ids.contains(name) {
        return false;
    }
    let why = format!("{name:?} is a column of node ids: not replaced");
    let text = format!("{}: {why}", request.field());
    note(&mut loaded.notices, Notice::new("compute-column-kept", text));
    true
}

/// The columns of a layout are where the nodes are drawn, whatever was bound before.
fn bind_positions(node: &mut Value) {
    if !node.is_object() {
        *node = json!({});
    }
    if !node["bindings"].is_object() {
        node["bindings"] = json!({});
    }
    for (role, column) in [("node_x", "x"), ("node_y", "y")] {
        node["bindings"][role] = column.into();
    }
    // A layout in space leaves a column z, which holds where nothing is bound.
    node["bindings"]["node_z"] = Value::Null;
}

/// The ids and columns of a dataset.
struct Columns<'a> {
    graph: &'a Graph,
    loaded: &'a Loaded,
    /// Nodes by the text of their id; made by the first parameter that names a node.
    ids: OnceLock<HashMap<String, u32>>,
    /// Whether a number means the place of a node where ids are texts, as for igraph.
    by_place: bool,
}

impl<'a> Columns<'a> {
    fn new(graph: &'a Graph, loaded: &'a Loaded, by_place: bool) -> Self {
        Self { graph, loaded, ids: OnceLock::new(), by_place }
    }

    /// The node at a row of the node table, in a graph whose ids are texts: there no number is an id.
    fn at_place(&self, place: &str) -> Option<u32> {
        let meant = self.by_place && self.graph.has_text_ids();
        let place = place.parse::<u32>().ok().filter(|_| meant)?;
        Some(place).filter(|v| *v < self.graph.topology.num_nodes())
    }
}

impl GraphData for Columns<'_> {
    fn node(&self, id: &str) -> Option<u32> {
        let nodes = || 0..self.graph.topology.num_nodes();
        let ids = || nodes().map(|v| (self.graph.id_text(v), v)).collect();
        self.ids.get_or_init(ids).get(id).copied().or_else(|| self.at_place(id))
    }

    fn edge_column(&self, name: &str) -> Result<Vec<f64>, ColumnError> {
        numbers(Some(&self.loaded.edges), name)
    }

    fn node_column(&self, name: &str) -> Result<Vec<f64>, ColumnError> {
        let by_row = numbers(self.loaded.nodes.as_ref(), name)?;
        let n = self.graph.topology.num_nodes();
        let value = |row: u32| by_row.get(row as usize).copied().unwrap_or(f64::NAN);
        Ok((0..n).map(|v| self.graph.row_of(v).map_or(f64::NAN, value)).collect())
    }
}

/// The numbers of a column by row.
fn numbers(table: Option<&Table>, name: &str) -> Result<Vec<f64>, ColumnError> {
    let names = table.map(Table::column_names).unwrap_or_default();
    let known = || names.iter().map(|n| (*n).to_owned()).collect();
    let column = table.and_then(|t| t.column(name));
    let column = column.ok_or_else(|| ColumnError::Missing { known: known() })?;
    to_f64(column.as_ref()).ok_or(ColumnError::NotNumbers)
}

/// Whether edges name nodes that the node table does not.
pub(crate) fn lacks_nodes(graph: &Graph, loaded: &Loaded) -> bool {
    let table = loaded.nodes.is_some() && loaded.node.is_some();
    table && graph.nodes_in_table < graph.topology.num_nodes()
}

fn keep_node_table(graph: &mut Graph, loaded: &mut Loaded, table: Table) {
    graph.nodes_in_table = graph.topology.num_nodes();
    graph.node_row = None;
    loaded.nodes = Some(table);
}

/// The node table with one row per node, in the order of the nodes.
fn whole_node_table(graph: &Graph, loaded: &mut Loaded) -> Result<Table, TableError> {
    if let Some((table, id)) = loaded.nodes.as_ref().zip(loaded.node.as_ref()) {
        return graph.whole_table(table, id);
    }
    let id = NODE_ID.to_owned();
    let table = Table::of_column(&id, Arc::clone(&graph.ids))?;
    loaded.node = Some(id);
    Ok(table)
}

/// The bound edge weights by edge table row.
fn edge_weights(loaded: &Loaded) -> Option<Vec<f64>> {
    let name = bound_weight(&loaded.encodings)?;
    to_f64(loaded.edges.column(&name)?.as_ref())
}
