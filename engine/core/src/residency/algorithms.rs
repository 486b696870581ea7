//! The algorithms and layouts that a dataset names, run while its graph is loaded.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use graphlume_algo::{Accelerator, AlgoError, ColumnError, GraphData, Input};
use graphlume_graph::Graph;
use graphlume_table::{Table, to_f64};
use graphlume_types::{CancelToken, Notice, note};
use serde_json::{Value, json};

use crate::compute::ComputeRequest;
use crate::error::EngineError;
use crate::loader::Loaded;
use crate::residency::resident::bound_weight;

/// Bytes that [`run`] adds to the tables at most.
pub(crate) fn footprint(loaded: &Loaded, num_nodes: u32) -> u64 {
    let requests = || loaded.compute.iter();
    let columns: usize = requests().map(|r| r.columns().len()).sum();
    let of_edges: usize = requests().map(|r| r.edge_columns().len()).sum();
    let table = loaded.nodes.as_ref().map_or(0, Table::memory_bytes);
    let edges = loaded.edges.num_rows() as u64 * 9 * of_edges as u64;
    table + u64::from(num_nodes) * (8 + 9 * columns as u64) + edges
}

/// Runs what was asked for and puts the results into the edge table and the node table, which gets a row for every node.
/// An algorithm that fails costs its column and nothing else: the reason becomes a notice, and the request is dropped. The
/// columns of a layout are bound as the positions.
pub(crate) fn run(
    graph: &mut Graph,
    loaded: &mut Loaded,
    device: Option<&dyn Accelerator>,
    cancel: &CancelToken,
) -> Result<(), EngineError> {
    let mut table = whole_node_table(graph, loaded).map_err(|e| EngineError::from_coded(&e))?;
    let weights = edge_weights(loaded);
    let requests = std::mem::take(&mut loaded.compute);
    let mut done = Vec::with_capacity(requests.len());
    for request in requests {
        cancel.check()?;
        let data = Columns::new(graph, loaded);
        let input = Input {
            topology: &graph.topology,
            library: request.library,
            multigraph: false,
            // cuGraph's algorithms use the bound weights.
            weights: weights.as_deref(),
            data: &data,
            cancel,
            device,
        };
        let field = request.field();
        let output = match graphlume_algo::run(request.algorithm, &input, &request.params) {
            Ok(output) => output,
            Err(AlgoError::Cancelled(stopped)) => return Err(stopped.into()),
            Err(e) => {
                note(&mut loaded.notices, without(&request, &e));
                continue;
            }
        };
        if let Some(text) = output.place.describe(&field) {
            note(&mut loaded.notices, Notice::new("computed-on", text));
        }
        let n = graph.topology.num_nodes();
        let (nodes, edges) = request.columns_of(output, n, loaded.edges.num_rows());
        let mut kept = false;
        for (name, values) in nodes {
            let array = values.array(|v| graph.ids_at(v));
            if stays(loaded, &request, &name, loaded.node.clone().as_slice()) {
                kept = true;
                continue;
            }
            table = table.with_column(&name, array).map_err(|e| EngineError::from_coded(&e))?;
        }
        let ends = [loaded.source.clone(), loaded.destination.clone()];
        for (name, values) in edges {
            if stays(loaded, &request, &name, &ends) {
                continue;
            }
            let array = values.array(|v| graph.ids_at(v));
            let with = loaded.edges.with_column(&name, array);
            loaded.edges = with.map_err(|e| EngineError::from_coded(&e))?;
        }
        if request.is_layout() && kept {
            continue;
        }
        if request.is_layout() {
            bind_positions(&mut loaded.encodings.node);
        }
        done.push(request);
    }
    loaded.compute = done;
    keep_node_table(graph, loaded, table);
    Ok(())
}

/// What is said of a request that failed.
fn without(request: &ComputeRequest, e: &AlgoError) -> Notice {
    let field = request.field();
    if request.is_layout() {
        return Notice::new("layout-failed", format!("{field}: {e}: the page lays the graph out"));
    }
    Notice::new("compute-failed", format!("{field}: {e}: no such column"))
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
}

impl<'a> Columns<'a> {
    fn new(graph: &'a Graph, loaded: &'a Loaded) -> Self {
        Self { graph, loaded, ids: OnceLock::new() }
    }
}

impl GraphData for Columns<'_> {
    fn node(&self, id: &str) -> Option<u32> {
        let nodes = || 0..self.graph.topology.num_nodes();
        let ids = || nodes().map(|v| (self.graph.id_text(v), v)).collect();
        self.ids.get_or_init(ids).get(id).copied()
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
fn whole_node_table(
    graph: &Graph,
    loaded: &mut Loaded,
) -> Result<Table, graphlume_table::TableError> {
    if let Some((table, id)) = loaded.nodes.as_ref().zip(loaded.node.as_ref()) {
        return graph.whole_table(table, id);
    }
    let id = "node".to_owned();
    let table = Table::of_column(&id, Arc::clone(&graph.ids))?;
    loaded.node = Some(id);
    Ok(table)
}

/// The bound edge weights by edge table row.
fn edge_weights(loaded: &Loaded) -> Option<Vec<f64>> {
    let name = bound_weight(&loaded.encodings)?;
    to_f64(loaded.edges.column(&name)?.as_ref())
}
