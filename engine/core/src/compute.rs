//! Algorithms and layouts that a dataset names: checked when it is made. They run once its graph is there, and their results are
//! seen as columns of its nodes; those of a layout are where the nodes are drawn.

use graphlume_algo::schema::{self, LIBRARIES};
use graphlume_algo::{
    AlgorithmSpec, Column, Dtype, Gives, Kind, Output, OutputSpec, ParamValues, Subgraph, Values,
    libraries,
};
use graphlume_types::{Code, Coded};
use serde_json::{Map, Value};

/// What the schema route shows.
#[must_use]
pub fn schema() -> Value {
    schema::document()
}

/// Columns with their names.
pub(crate) type Named = Vec<(String, Values)>;

/// An algorithm to run on a graph once it is there.
#[derive(Debug, Clone)]
pub struct ComputeRequest {
    pub(crate) column: String,
    pub(crate) library: &'static str,
    pub(crate) algorithm: &'static AlgorithmSpec,
    pub(crate) params: ParamValues,
    /// Whether copies of edges stay, as in cuGraph's multigraphs.
    pub(crate) multigraph: bool,
}

/// Why an algorithm is not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ComputeError {
    /// No such library.
    #[error("library {0:?} is unknown; use cugraph or igraph")]
    Library(String),
    /// No such algorithm in the libraries named.
    #[error("{alg:?} is no {kind} of {libraries}{hint}; there are: {known}")]
    Algorithm {
        /// `algorithm` or `layout`.
        kind: &'static str,
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
    /// A parameter that the algorithm does not have, or a value that it cannot have.
    #[error("{text}")]
    Param {
        /// The parameter.
        name: String,
        /// What is wrong and what is legal.
        text: String,
    },
    /// A kind of graph that there is not, or that the algorithm does not take.
    #[error("{0}")]
    GraphKind(String),
}

impl Coded for ComputeError {
    fn code(&self) -> Code {
        match self {
            Self::Library(_) | Self::Algorithm { .. } | Self::Param { .. } | Self::GraphKind(_) => {
                Code::InvalidArgument
            }
            Self::NotAvailable { .. } => Code::Unsupported,
        }
    }

    fn slug(&self) -> &'static str {
        match self {
            Self::Library(_) => "library-not-found",
            Self::Algorithm { .. } => "algorithm-not-found",
            Self::NotAvailable { .. } => "algorithm-not-available",
            Self::Param { .. } | Self::GraphKind(_) => "parameter-invalid",
        }
    }
}

impl ComputeRequest {
    /// The algorithm `alg` of the first of `libraries` that has it, for the column `column`, with its parameters.
    ///
    /// # Errors
    /// [`ComputeError`]: a name that the interface does not know, or that this server cannot run yet; a parameter that
    /// the algorithm does not have, or a value that it cannot have.
    pub fn new(
        column: &str,
        libraries: &[&str],
        alg: &str,
        params: &Map<String, Value>,
    ) -> Result<Self, ComputeError> {
        Self::find(Kind::Compute, column, libraries, alg, params)
    }

    /// The same on a graph of this kind of cuGraph's.
    ///
    /// # Errors
    /// [`ComputeError::GraphKind`]: there is no such kind, the algorithm does not take it, or it is not cuGraph's.
    pub fn on_graph(self, kind: &str) -> Result<Self, ComputeError> {
        if self.library != "cugraph" {
            let text = format!(
                "kinds of graph are for algorithms of cugraph, and this is {}: leave kind out",
                self.title()
            );
            return Err(ComputeError::GraphKind(text));
        }
        match libraries::is_multigraph(self.algorithm, Some(kind)) {
            Ok(multigraph) => Ok(Self { multigraph, ..self }),
            Err(e) => Err(ComputeError::GraphKind(e.to_string())),
        }
    }

    /// The layout `alg` of the first of `libraries` that has it, which is called `name` in what is said of it, with its
    /// parameters. Its columns are `x`, `y` and, in space, `z`.
    ///
    /// # Errors
    /// As [`Self::new`]; and a parameter that the layout does not have, or a value that it cannot have.
    pub fn layout(
        name: &str,
        libraries: &[&str],
        alg: &str,
        params: &Map<String, Value>,
    ) -> Result<Self, ComputeError> {
        Self::find(Kind::Layout, name, libraries, alg, params)
    }

    fn find(
        kind: Kind,
        name: &str,
        libraries: &[&str],
        alg: &str,
        params: &Map<String, Value>,
    ) -> Result<Self, ComputeError> {
        let shown = |name: &str| name.chars().take(64).collect::<String>();
        let names = |l: &schema::Library| match kind {
            Kind::Compute => l.compute,
            Kind::Layout => l.layout,
        };
        let found: Vec<_> = libraries
            .iter()
            .map(|l| schema::library(l).ok_or_else(|| ComputeError::Library(shown(l))))
            .collect::<Result<_, _>>()?;
        for library in &found {
            if let Some(algorithm) = graphlume_algo::find(kind, library.name, alg) {
                let params = ParamValues::from_json(algorithm, params).map_err(|e| {
                    let name = e.field().unwrap_or_default().to_owned();
                    ComputeError::Param { name, text: e.to_string() }
                })?;
                let column = name.to_owned();
                return Ok(Self {
                    column,
                    library: library.name,
                    algorithm,
                    params,
                    multigraph: false,
                });
            }
        }
        let known: Vec<&str> = found.iter().flat_map(|l| names(l)).copied().collect();
        if known.contains(&alg) {
            return Err(ComputeError::NotAvailable { alg: shown(alg), known: available(kind) });
        }
        let elsewhere = LIBRARIES.iter().find(|l| names(l).contains(&alg));
        let hint = match elsewhere {
            Some(library) => format!(" (it is one of {})", library.name),
            None => schema::hint(alg, &known),
        };
        Err(ComputeError::Algorithm {
            kind: if kind == Kind::Layout { "layout" } else { "algorithm" },
            alg: shown(alg),
            libraries: libraries.join(" or "),
            hint,
            known: known.join(", "),
        })
    }

    /// The library whose algorithm it is: the first of those named that has it.
    #[must_use]
    pub const fn library(&self) -> &'static str {
        self.library
    }

    /// The algorithm, as `library.name`.
    #[must_use]
    pub fn title(&self) -> String {
        let names = self.algorithm.names.iter();
        let mut own = names.filter(|name| name.library == self.library).map(|name| name.name);
        format!("{}.{}", self.library, own.next_back().unwrap_or_default())
    }

    /// Whether the columns are where the nodes are drawn.
    pub(crate) fn is_layout(&self) -> bool {
        self.algorithm.kind == Kind::Layout
    }

    /// The member of the dataset that asks for it, as notices name it.
    #[must_use]
    pub fn field(&self) -> String {
        format!("{}.{}", self.algorithm.kind.as_str(), self.column)
    }

    /// The columns that the nodes get: the first is called as asked, further ones have the name of the
    /// output behind it. An algorithm that gives a graph marks the nodes that belong to it.
    #[must_use]
    pub fn columns(&self) -> Vec<String> {
        if self.is_layout() {
            // A layout of either number of dimensions declares those of the plane.
            let in_space = self.params.int("dim") == Some(3);
            let declared = self.algorithm.outputs.len();
            let axes = ["x", "y", "z"].into_iter().take(if in_space { 3 } else { declared });
            return axes.map(str::to_owned).collect();
        }
        match (self.algorithm.gives, self.algorithm.outputs) {
            (Gives::Edges, _) => Vec::new(),
            (Gives::Graph, []) => vec![self.column.clone()],
            (_, outputs) => self.named(outputs),
        }
    }

    /// The columns that the nodes get, with the pandas names of their types, as far as these are known before the
    /// algorithm has run.
    #[must_use]
    pub fn typed_columns(&self) -> Vec<(String, &'static str)> {
        self.typed(self.columns())
    }

    /// The columns that the edges get, likewise.
    #[must_use]
    pub fn typed_edge_columns(&self) -> Vec<(String, &'static str)> {
        self.typed(self.edge_columns())
    }

    fn typed(&self, columns: Vec<String>) -> Vec<(String, &'static str)> {
        let own = |at: usize| self.algorithm.outputs.get(at).map(|output| output.dtype);
        let dtype = |at: usize| match own(at) {
            _ if self.is_layout() => "float64",
            // Marks of what belongs to a graph.
            None | Some(Dtype::Int) => "int64",
            Some(Dtype::Nodes | Dtype::IntList) => "object",
            Some(_) => "float64",
        };
        columns.into_iter().enumerate().map(|(at, name)| (name, dtype(at))).collect()
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
        if self.is_layout() {
            return output.to_owned();
        }
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
fn available(kind: Kind) -> String {
    let of_kind = graphlume_algo::ALGORITHMS.iter().filter(|a| a.kind == kind);
    let names = of_kind.flat_map(|a| a.names);
    names.map(|n| format!("{}.{}", n.library, n.name)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_request_takes_the_first_library_that_has_the_algorithm() {
        let r =
            ComputeRequest::new("rank", &["igraph", "cugraph"], "pagerank", &Map::new()).unwrap();
        assert_eq!((r.library, r.columns()), ("igraph", vec!["rank".to_owned()]));
        assert_eq!(r.typed_columns(), [("rank".to_owned(), "float64")]);
        let r = ComputeRequest::new("hops", &["igraph", "cugraph"], "bfs", &Map::new()).unwrap();
        assert_eq!((r.library, r.columns()[1].as_str()), ("cugraph", "hops_predecessor"));
        assert_eq!(r.typed_columns()[0], ("hops".to_owned(), "int64"));
    }

    #[test]
    fn a_layout_has_columns_of_its_own_and_its_parameters_are_checked() {
        let params = |text: &str| serde_json::from_str::<Map<String, Value>>(text).unwrap();
        let made = |alg: &str, given: &str| {
            ComputeRequest::layout("at", &["cugraph", "igraph"], alg, &params(given))
        };
        assert_eq!(made("circle", "{}").unwrap().columns(), ["x", "y"]);
        assert_eq!(made("circle", r#"{"dim": 3}"#).unwrap().columns(), ["x", "y", "z"]);
        assert_eq!(made("fr_3d", "{}").unwrap().columns(), ["x", "y", "z"]);
        assert_eq!(made("force_atlas2", "{}").unwrap().field(), "layout.at");
        let e = made("fr", r#"{"nitter": 5}"#).unwrap_err();
        assert!(matches!(&e, ComputeError::Param { name, .. } if name == "nitter"), "{e:?}");
        assert!(e.to_string().contains("did you mean \"niter\"?"), "{e}");
        let e = made("fr", r#"{"niter": -1}"#).unwrap_err();
        assert!(e.to_string().contains("from 0 to"), "{e}");
        let e = made("circel", "{}").unwrap_err().to_string();
        assert!(e.contains("no layout of cugraph or igraph") && e.contains("\"circle\""), "{e}");
        assert!(made("pagerank", "{}").is_err());
    }

    #[test]
    fn parameters_and_the_kind_of_graph_are_checked() {
        let params = |text: &str| serde_json::from_str::<Map<String, Value>>(text).unwrap();
        let made = |libraries: &[&str], alg: &str, given: &str| {
            ComputeRequest::new("x", libraries, alg, &params(given))
        };
        let r = made(&["cugraph"], "bfs", r#"{"start": ["a", 2], "depth_limit": 3}"#).unwrap();
        assert_eq!(r.params.ids("start"), Some(vec!["a".to_owned(), "2".to_owned()]));
        for (given, name) in [
            (r#"{"strat": 1}"#, "strat"),
            (r#"{"depth_limit": "far"}"#, "depth_limit"),
            (r#"{"depth_limit": -1}"#, "depth_limit"),
            (r#"{"start": {"a": 1}}"#, "start"),
        ] {
            let e = made(&["cugraph"], "bfs", given).unwrap_err();
            assert!(matches!(&e, ComputeError::Param { name: n, .. } if n == name), "{e:?}");
        }
        let many = r.clone().on_graph("MultiGraph").unwrap();
        assert!(many.multigraph && !r.clone().on_graph("BiPartiteGraph").unwrap().multigraph);
        let e = r.on_graph("DiGraph").unwrap_err().to_string();
        assert!(e.contains("Graph, MultiGraph, BiPartiteGraph"), "{e}");
        let core = made(&["cugraph"], "core_number", "{}").unwrap();
        assert!(core.on_graph("MultiGraph").is_err());
        let e = made(&["igraph"], "betweenness", "{}").unwrap().on_graph("Graph").unwrap_err();
        assert!(e.to_string().contains("igraph.betweenness"), "{e}");
    }

    #[test]
    fn what_cannot_be_run_is_named() {
        let fails = |libraries: &[&str], alg: &str| {
            ComputeRequest::new("x", libraries, alg, &Map::new()).unwrap_err()
        };
        let e = fails(&["networkx"], "pagerank");
        assert!(matches!(e, ComputeError::Library(_)) && e.to_string().contains("networkx"));
        let e = fails(&["cugraph"], "pagernak");
        assert!(e.to_string().contains("did you mean \"pagerank\"?"), "{e}");
        let e = fails(&["cugraph"], "hub_score");
        assert!(e.to_string().contains("it is one of igraph"), "{e}");
    }
}
