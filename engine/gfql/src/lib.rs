//! The query language: operations on a property graph that keep a part of it or make a table of it.
//!
//! [`parse`] reads what clients send, [`run`] evaluates it. A pattern keeps nodes and edges, and marks
//! those of named steps in added columns; calls add columns, cut the graph down or turn it into rows.
//! Work follows the frontier: a few hops from a few nodes cost as much as the edges they meet.
//!
//! ```
//! use std::sync::Arc;
//! use arrow_array::{ArrayRef, Int64Array, RecordBatch};
//! use graphlume_store::{Bindings, PropertyGraph};
//! use graphlume_table::Table;
//! use graphlume_types::CancelToken;
//! use serde_json::json;
//!
//! let column = |values: Vec<i64>| -> ArrayRef { Arc::new(Int64Array::from(values)) };
//! let edges = [("src", column(vec![1, 2, 3])), ("dst", column(vec![2, 3, 4])), ("w", column(vec![5, 1, 5]))];
//! let edges = Table::try_new(RecordBatch::try_from_iter(edges)?)?;
//! let name = |n: &str| Some(n.to_owned());
//! let bindings = Bindings { node: None, source: name("src"), destination: name("dst") };
//! let graph = PropertyGraph::new(None, Some(edges), bindings)?;
//!
//! let heavy = json!([{"type": "Edge", "direction": "forward", "edge_match": {"w": 5}}]);
//! let query = graphlume_gfql::parse(&heavy)?;
//! let found = graphlume_gfql::run(&graph, &query, None, Default::default(), &CancelToken::new())?;
//! assert_eq!(found.graph.edges().map(Table::num_rows), Some(2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bind;
mod call;
mod chain;
mod count;
mod dag;
mod elements;
mod explain;
mod expr;
mod filter;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod fuzz;
mod hop;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod naive;
mod scope;
mod select;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;
mod tuning;
pub mod wire;

pub use call::{CALLS, Callable, Does, names};
pub use dag::no_dataset;
pub use elements::{Elements, elements, elements_of, part};
pub use explain::{explain, explain_on};
pub use scope::Others;
pub use select::Sizes;
pub use wire::value::moment;
pub use wire::{Query, parse};

use graphlume_expr::{ErrorCode, QueryError, Strictness};
use graphlume_store::PropertyGraph;
use graphlume_types::{CancelToken, Notice};

use scope::{NO_ROWS, Scope, Shared, Step};
use wire::{Chain, Op};

/// What a query yields.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The graph; of a row result the rows are its nodes.
    pub graph: PropertyGraph,
    /// Names in the query that matched nothing, where that was no error.
    pub notices: Vec<Notice>,
}

/// Evaluates a query on a graph. `output` names the binding to return.
///
/// # Errors
/// [`QueryError`] with its slug, the field at fault and what to write instead.
pub fn run(
    graph: &PropertyGraph,
    query: &Query,
    output: Option<&str>,
    strictness: Strictness,
    cancel: &CancelToken,
) -> Result<Outcome, QueryError> {
    run_with(graph, &Others::default(), query, output, strictness, cancel)
}

/// Evaluates a query that may ask for other datasets.
///
/// # Errors
/// Those of [`run`], and one for a dataset that is not among `others`.
pub fn run_with(
    graph: &PropertyGraph,
    others: &Others,
    query: &Query,
    output: Option<&str>,
    strictness: Strictness,
    cancel: &CancelToken,
) -> Result<Outcome, QueryError> {
    let shared = Shared::default();
    let scope = Scope { strictness, others, shared: &shared, rows: &NO_ROWS, cancel };
    let graph = match (query, output) {
        (Query::Chain(chain), None) => {
            if chain.ops.is_empty() {
                shared.notices.note(no_steps());
            }
            run_chain(graph, chain, scope)?
        }
        (Query::Let(bindings), output) => dag::run(graph, bindings, output, scope)?,
        (Query::Chain(_), Some(output)) => {
            return Err(QueryError::new(ErrorCode::Output, "only a Let has named results")
                .field("output")
                .value(output)
                .suggest("leave the output out"));
        }
    };
    Ok(Outcome { graph, notices: shared.notices.into_vec() })
}

/// What is said of a query without steps, which is also what a client sends of a text that it could not compile.
fn no_steps() -> Notice {
    let text = "the query has no steps, so all nodes and edges are the answer; if it was a text in Cypher that \
        your client compiles, the client could not: send the text itself, as \"gfql_query\"";
    Notice::new("query-without-steps", text)
}

/// How large the answer to a query is, and what is said beside it. A pattern is only counted, and its tables are never made.
///
/// # Errors
/// As [`run_with`].
pub fn sizes(
    graph: &PropertyGraph,
    others: &Others,
    query: &Query,
    output: Option<&str>,
    strictness: Strictness,
    cancel: &CancelToken,
) -> Result<(Sizes, Vec<Notice>), QueryError> {
    if let (Query::Chain(chain), None) = (query, output)
        && let Some(steps) = pattern(chain)
    {
        let shared = Shared::default();
        let scope = Scope { strictness, others, shared: &shared, rows: &NO_ROWS, cancel };
        let sizes = pattern_sizes(graph, &steps, &chain.clauses, scope)?;
        return Ok((sizes, shared.notices.into_vec()));
    }
    let Outcome { graph, notices } = run_with(graph, others, query, output, strictness, cancel)?;
    let nodes = graph.node_table(cancel)?;
    let edges = graph.edges();
    let sizes = Sizes {
        nodes: nodes.num_rows(),
        node_columns: nodes.num_cols(),
        edges: edges.map_or(0, graphlume_table::Table::num_rows),
        edge_columns: edges.map_or(0, graphlume_table::Table::num_cols),
    };
    Ok((sizes, notices))
}

/// How large what a pattern keeps is.
fn pattern_sizes(
    graph: &PropertyGraph,
    steps: &[Step],
    clauses: &[wire::Clause],
    scope: Scope<'_>,
) -> Result<Sizes, QueryError> {
    if clauses.is_empty() {
        if let Some(selected) = chain::selection_by_device(graph, steps, scope)? {
            return selected.sizes(graph, scope.cancel);
        }
        if let Some(sizes) = count::sizes(graph, steps, scope)? {
            return Ok(sizes);
        }
    }
    chain::selection_by_cpu(graph, steps, clauses, scope)?.sizes(graph, scope.cancel)
}

/// The steps of a chain that is nothing but a pattern with edges.
fn pattern(chain: &Chain) -> Option<Vec<Step>> {
    let steps = chain.ops.iter().map(|op| match op {
        Op::Node(op) => Some(Step::Node(op.clone())),
        Op::Edge(op) => Some(Step::Edge(op.clone())),
        Op::Call(_) => None,
    });
    let steps: Vec<_> = steps.collect::<Option<_>>()?;
    steps.iter().any(|s| matches!(s, Step::Edge(_))).then_some(steps)
}

fn run_chain(
    graph: &PropertyGraph,
    chain: &Chain,
    scope: Scope<'_>,
) -> Result<PropertyGraph, QueryError> {
    call::run(graph, chain, scope)
}
