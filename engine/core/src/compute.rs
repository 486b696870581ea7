//! Algorithms that a dataset names: checked when it is made. The load of its graph runs them, and they are
//! seen as columns of its nodes.

use graphlume_algo::schema::{self, LIBRARIES};
use graphlume_algo::{AlgorithmSpec, Column, Gives, Kind, Output, OutputSpec, Subgraph, Values};
use graphlume_types::{Code, Coded};
use serde_json::Value;

/// What the schema route shows.
#[must_use]
pub fn schema() -> Value {
    schema::document()
}

/// Columns with their names.
pub(crate) type Named = Vec<(String, Values)>;

/// An algorithm to run on a graph once it is loaded.
#[derive(Debug, Clone)]
pub struct ComputeRequest {
    pub(crate) column: String,
    pub(crate) library: &'static str,
    pub(crate) algorithm: &'static AlgorithmSpec,
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
    /// output behind it. An algorithm that gives a graph marks the nodes that belong to it.
    #[must_use]
    pub fn columns(&self) -> Vec<String> {
        match (self.algorithm.gives, self.algorithm.outputs) {
            (Gives::Edges, _) => Vec::new(),
            (Gives::Graph, []) => vec![self.column.clone()],
            (_, outputs) => self.named(outputs),
        }
    }

    /// The columns that the edges get, likewise.
    #[must_use]
    pub fn edge_columns(&self) -> Vec<String> {
        match (self.algorithm.gives, self.algorithm.outputs) {
            (Gives::Edges, outputs) => self.named(outputs),
            (Gives::Graph, []) => vec![self.column.clone()],
            _ => Vec::new(),
        }
    }

    fn named(&self, outputs: &[OutputSpec]) -> Vec<String> {
        let names = outputs.iter().enumerate();
        names.map(|(i, output)| self.column_name(i, output.name)).collect()
    }

    /// The name of the column of the output at `position`.
    pub(crate) fn column_name(&self, position: usize, output: &str) -> String {
        if position == 0 { self.column.clone() } else { format!("{}_{output}", self.column) }
    }

    /// The columns of nodes and of edges out of what the algorithm gave. A dataset keeps all of its nodes and edges: those
    /// of a graph that is the result are marked with 1, the others with 0.
    pub(crate) fn columns_of(
        &self,
        output: Output,
        num_nodes: u32,
        edge_rows: usize,
    ) -> (Named, Named) {
        let marked = |kept: &[u32], of: usize| {
            let mut marks = vec![0i64; of];
            kept.iter().for_each(|i| marks[*i as usize] = 1);
            vec![(self.column.clone(), Values::I64(marks))]
        };
        let named = |columns: Vec<Column>| {
            let names = columns.into_iter().enumerate();
            names.map(|(i, c)| (self.column_name(i, c.name), c.values)).collect::<Vec<_>>()
        };
        match output.graph {
            Some(Subgraph::Kept { edges, nodes }) if self.algorithm.outputs.is_empty() => {
                let all: Vec<u32> = (0..num_nodes).collect();
                let nodes = nodes.unwrap_or(all);
                (marked(&nodes, num_nodes as usize), marked(&edges, edge_rows))
            }
            _ => {
                let rows: Vec<Option<usize>> = (0..edge_rows).map(Some).collect();
                let edges = output.edges.into_iter();
                let edges = edges.map(|c| Column { name: c.name, values: c.values.at(&rows) });
                (named(output.columns), named(edges.collect()))
            }
        }
    }
}

/// What can be run, as `library.name`.
fn available() -> String {
    let compute = graphlume_algo::ALGORITHMS.iter().filter(|a| a.kind == Kind::Compute);
    let names = compute.flat_map(|a| a.names);
    names.map(|n| format!("{}.{}", n.library, n.name)).collect::<Vec<_>>().join(", ")
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
    }
}
