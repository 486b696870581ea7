//! The algorithms that a dataset names, run while its graph is loaded.

use std::sync::Arc;

use graphlume_algo::{AlgoError, Input, Output, ParamValues, Values, libraries};
use graphlume_graph::Graph;
use graphlume_table::{ArrayRef, Float64Array, Int64Array, Table, to_f64};
use graphlume_types::{CancelToken, Notice, note};

use crate::compute::ComputeRequest;
use crate::error::EngineError;
use crate::loader::Loaded;
use crate::residency::resident::bound_weight;

/// Bytes that [`run`] adds to the tables at most.
pub(crate) fn footprint(loaded: &Loaded, num_nodes: u32) -> u64 {
    let columns: usize = loaded.compute.iter().map(|r| r.algorithm.outputs.len()).sum();
    let table = loaded.nodes.as_ref().map_or(0, Table::memory_bytes);
    table + u64::from(num_nodes) * (8 + 9 * columns as u64)
}

/// Runs what was asked for and puts the results into the node table, which gets a row for every node.
/// An algorithm that fails costs its column and nothing else: the reason becomes a notice.
pub(crate) fn run(
    graph: &mut Graph,
    loaded: &mut Loaded,
    cancel: &CancelToken,
) -> Result<(), EngineError> {
    let mut table = whole_node_table(graph, loaded).map_err(|e| EngineError::from_coded(&e))?;
    let weights = edge_weights(loaded);
    for request in &loaded.compute {
        cancel.check()?;
        let params = ParamValues::defaults(request.algorithm);
        let output = match computed(request, graph, weights.as_deref(), &params, cancel) {
            Ok(output) => output,
            Err(AlgoError::Cancelled(stopped)) => return Err(stopped.into()),
            Err(e) => {
                let text = format!("compute.{}: {e}: no such column", request.column);
                note(&mut loaded.notices, Notice::new("compute-failed", text));
                continue;
            }
        };
        for (i, column) in output.columns.into_iter().enumerate() {
            let name = request.column_name(i, column.name);
            if loaded.node.as_ref() == Some(&name) {
                let why = format!("{name:?} is the column of the node ids: not replaced");
                let text = format!("compute.{}: {why}", request.column);
                note(&mut loaded.notices, Notice::new("compute-column-kept", text));
                continue;
            }
            let array: ArrayRef = match column.values {
                Values::I64(v) => Arc::new(Int64Array::from(v)),
                Values::I64OrNull(v) => Arc::new(Int64Array::from(v)),
                Values::Nodes(v) => graph.ids_at(&v),
                Values::F64(v) => Arc::new(Float64Array::from(v)),
            };
            table = table.with_column(&name, array).map_err(|e| EngineError::from_coded(&e))?;
        }
    }
    keep_node_table(graph, loaded, table);
    Ok(())
}

/// What the algorithm gives on the graph as its library sees it. cuGraph's algorithms use the bound weights.
fn computed(
    request: &ComputeRequest,
    graph: &Graph,
    weights: Option<&[f32]>,
    params: &ParamValues,
    cancel: &CancelToken,
) -> Result<Output, AlgoError> {
    let weights = weights.filter(|_| request.library == "cugraph");
    let (library, algorithm) = (request.library, request.algorithm);
    let seen = libraries::seen(library, None, algorithm, params, &graph.topology, weights)?;
    let input = Input {
        topology: &seen.topology,
        weights: seen.weights.as_deref(),
        resolve: &|_| None,
        cancel,
    };
    graphlume_algo::run(algorithm, &input, params)
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
fn edge_weights(loaded: &Loaded) -> Option<Vec<f32>> {
    let name = bound_weight(&loaded.encodings)?;
    let values = to_f64(loaded.edges.column(&name)?.as_ref())?;
    Some(values.into_iter().map(|v| v as f32).collect())
}
