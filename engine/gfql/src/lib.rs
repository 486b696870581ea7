//! The query language: operations on a property graph that keep a part of it or make a table of it.
//!
//! [`parse`] reads what clients send, [`run`] evaluates it. A pattern keeps nodes and edges, and marks
//! those of named steps in added columns; calls add columns, cut the graph down or turn it into rows.
//! Work follows the frontier: a few hops from a few nodes cost as much as the edges they meet.

mod bind;
mod call;
mod chain;
mod columns;
mod dag;
mod error;
mod expr;
mod filter;
mod graph;
mod hop;
mod labels;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod naive;
mod path;
mod predicate;
mod select;
mod set;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;
pub mod wire;

pub use bind::Strictness;
pub use error::{ErrorCode, GfqlError, nearest};
pub use graph::{Bindings, PropertyGraph};
pub use predicate::{Calendar, Class, Cmp, Keep, Predicate, TextTest};
pub use wire::{Query, parse};

use graphlume_types::CancelToken;

use chain::Scope;
use wire::Chain;

/// What a query yields.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The graph; of a row result the rows are its nodes.
    pub graph: PropertyGraph,
}

/// Evaluates a query on a graph. `output` names the binding to return.
///
/// # Errors
/// [`GfqlError`] with its slug, the field at fault and what to write instead.
pub fn run(
    graph: &PropertyGraph,
    query: &Query,
    output: Option<&str>,
    strictness: Strictness,
    cancel: &CancelToken,
) -> Result<Outcome, GfqlError> {
    let scope = Scope { strictness, cancel };
    let graph = match (query, output) {
        (Query::Chain(chain), None) => run_chain(graph, chain, scope)?,
        (Query::Let(bindings), output) => dag::run(graph, bindings, output, scope)?,
        (Query::Chain(_), Some(output)) => {
            return Err(GfqlError::new(ErrorCode::Output, "only a Let has named results")
                .field("output")
                .value(output)
                .suggest("leave the output out"));
        }
    };
    Ok(Outcome { graph })
}

fn run_chain(
    graph: &PropertyGraph,
    chain: &Chain,
    scope: Scope<'_>,
) -> Result<PropertyGraph, GfqlError> {
    call::run(graph, chain, scope)
}
