//! Algorithms that a dataset names: checked when it is made, run when it is loaded, and seen as columns
//! of its nodes.

use std::sync::Arc;

use graphlume_algo::schema::{self, LIBRARIES};
use graphlume_algo::{
    AlgoError, AlgorithmSpec, Input, Kind, Output, ParamValues, Values, libraries,
};
use graphlume_graph::Graph;
use graphlume_table::{ArrayRef, Float64Array, Int64Array, Table, to_f64};
use graphlume_types::{CancelToken, Code, Coded, Notice, note};
use serde_json::Value;

use crate::error::EngineError;
use crate::loader::Loaded;

/// What the schema route shows.
#[must_use]
pub fn schema() -> Value {
    schema::document()
}

/// An algorithm to run on a graph once it is loaded.
#[derive(Debug, Clone)]
pub struct ComputeRequest {
    column: String,
    library: &'static str,
    algorithm: &'static AlgorithmSpec,
}

/// Why an algorithm is not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ComputeError {
    /// No such library.
    #[error("library {0:?} is unknown; use cugraph or igraph")]
    Library(String),
    /// No such algorithm in the libraries named.
    #[error("{alg:?} is no algorithm of {libraries}{hint}; its algorithms are: {known}")]
    Algorithm {
        /// The name given.
        alg: String,
        /// The libraries named.
        libraries: String,
        /// A did-you-mean clause, or nothing.
        hint: String,
        /// The legal names.
        known: String,
    },
    /// An algorithm of the interface that this server does not have yet.
    #[error("algorithm {alg:?} is not available yet; available are: {known}")]
    NotAvailable {
        /// The name given.
        alg: String,
        /// What is there, as `library.name`.
        known: String,
    },
}

impl Coded for ComputeError {
    fn code(&self) -> Code {
        match self {
            Self::Library(_) | Self::Algorithm { .. } => Code::InvalidArgument,
            Self::NotAvailable { .. } => Code::Unsupported,
        }
    }

    fn slug(&self) -> &'static str {
        match self {
            Self::Library(_) => "library-not-found",
            Self::Algorithm { .. } => "algorithm-not-found",
            Self::NotAvailable { .. } => "algorithm-not-available",
        }
    }
}

impl ComputeRequest {
    /// The algorithm `alg` of the first of `libraries` that has it, for the column `column`.
    ///
    /// # Errors
    /// [`ComputeError`]: a name that the interface does not know, or that this server cannot run yet.
    pub fn new(column: &str, libraries: &[&str], alg: &str) -> Result<Self, ComputeError> {
        let shown = |name: &str| name.chars().take(64).collect::<String>();
        let found: Vec<_> = libraries
            .iter()
            .map(|l| schema::library(l).ok_or_else(|| ComputeError::Library(shown(l))))
            .collect::<Result<_, _>>()?;
        for library in &found {
            if let Some(algorithm) = graphlume_algo::find(Kind::Compute, library.name, alg) {
                return Ok(Self { column: column.to_owned(), library: library.name, algorithm });
            }
        }
        let known: Vec<&str> = found.iter().flat_map(|l| l.compute).copied().collect();
        if known.contains(&alg) {
            return Err(ComputeError::NotAvailable { alg: shown(alg), known: available() });
        }
        let elsewhere = LIBRARIES.iter().find(|l| l.compute.contains(&alg));
        let hint = match elsewhere {
            Some(library) => format!(" (it is one of {})", library.name),
            None => schema::hint(alg, &known),
        };
        Err(ComputeError::Algorithm {
            alg: shown(alg),
            libraries: libraries.join(" or "),
            hint,
            known: known.join(", "),
        })
    }

    /// The columns that the nodes get: the first is called as asked, further ones have the name of the
    /// output behind it.
    #[must_use]
    pub fn columns(&self) -> Vec<String> {
        let outputs = self.algorithm.outputs.iter().enumerate();
        outputs.map(|(i, output)| self.column_name(i, output.name)).collect()
    }

    fn column_name(&self, place: usize, output: &str) -> String {
        if place == 0 { self.column.clone() } else { format!("{}_{output}", self.column) }
    }
}

/// What can be run, as `library.name`.
fn available() -> String {
    let compute = graphlume_algo::ALGORITHMS.iter().filter(|a| a.kind == Kind::Compute);
    let names = compute.flat_map(|a| a.names);
    names.map(|n| format!("{}.{}", n.library, n.name)).collect::<Vec<_>>().join(", ")
}

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
    let name = crate::resident::bound_weight(&loaded.encodings)?;
    let values = to_f64(loaded.edges.column(&name)?.as_ref())?;
    Some(values.into_iter().map(|v| v as f32).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_request_takes_the_first_library_that_has_the_algorithm() {
        let r = ComputeRequest::new("rank", &["igraph", "cugraph"], "pagerank").unwrap();
        assert_eq!((r.library, r.columns()), ("igraph", vec!["rank".to_owned()]));
        let r = ComputeRequest::new("hops", &["igraph", "cugraph"], "bfs").unwrap();
        assert_eq!((r.library, r.columns()[1].as_str()), ("cugraph", "hops_predecessor"));
    }

    #[test]
    fn what_cannot_be_run_is_named() {
        let fails =
            |libraries: &[&str], alg: &str| ComputeRequest::new("x", libraries, alg).unwrap_err();
        let e = fails(&["networkx"], "pagerank");
        assert!(matches!(e, ComputeError::Library(_)) && e.to_string().contains("networkx"));
        let e = fails(&["cugraph"], "pagernak");
        assert!(e.to_string().contains("did you mean \"pagerank\"?"), "{e}");
        let e = fails(&["cugraph"], "hub_score");
        assert!(e.to_string().contains("it is one of igraph"), "{e}");
        let e = fails(&["igraph"], "gomory_hu_tree");
        assert_eq!((e.code(), e.slug()), (Code::Unsupported, "algorithm-not-available"));
        assert!(e.to_string().contains("igraph.pagerank"), "{e}");
    }
}
