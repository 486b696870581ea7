//! Calls before and after a pattern.

mod callable;
mod choose;
mod collapse;
mod follow;
mod graph;
mod group;
mod hop;
mod hypergraph;
mod internal;
mod matching;
mod paths;
mod prefilter;
mod rows;
mod safelist;
mod shortest;
mod trails;

use graphlume_calls::params::Params;
use graphlume_calls::procedure;
use graphlume_expr::{ErrorCode, QueryError};
use graphlume_store::{CallOp, PropertyGraph};
use graphlume_types::Notice;
use serde_json::Value;

use crate::chain;
use crate::scope::{Scope, Step};
use crate::wire::{Chain, Op};
use safelist::Found;

pub use callable::{Callable, Does};
pub use safelist::{CALLS, names};

/// Evaluates a chain: calls, then a pattern, then calls.
pub(crate) fn run(
    graph: &PropertyGraph,
    chain: &Chain,
    scope: Scope<'_>,
) -> Result<PropertyGraph, QueryError> {
    if let Some((first, rest)) = parts(chain) {
        let made = run(graph, &first, scope)?;
        return run(&made, &rest, scope).map_err(|e| e.after(first.ops.len()));
    }
    let is_call = |op: &Op| matches!(op, Op::Call(_));
    let before = chain.ops.iter().take_while(|op| is_call(op)).count();
    let after = chain.ops[before..].iter().rev().take_while(|op| is_call(op)).count();
    let middle = before..chain.ops.len() - after;
    let steps = steps_of(&chain.ops[middle.clone()], before)?;
    if steps.is_empty() && !chain.clauses.is_empty() {
        let text = "\"where\" needs node and edge steps to compare";
        return Err(QueryError::new(ErrorCode::Type, text).field("where"));
    }
    let named = steps.iter().any(|s| match s {
        Step::Node(op) => op.name.is_some(),
        Step::Edge(op) => op.name.is_some(),
    });
    let only_calls = steps.is_empty() && !chain.ops.is_empty();
    // Calls see nodes of their own even where only edges were given.
    let mut state = match graph.nodes() {
        None if only_calls => {
            graph.replaced(Some(graph.node_table(scope.cancel)?), graph.edges().cloned())?
        }
        _ => graph.clone(),
    };
    let mut base = state.clone();
    let schema = internal::schema(graph, chain);
    let scope = Scope { rows: &schema, ..scope };
    let no_pattern = internal::begins_with_no_pattern(chain);
    for (i, op) in chain.ops.iter().enumerate() {
        match op {
            Op::Call(_) if i == 0 && no_pattern => {
                scope.shared.notices.note(one_row());
                let row = internal::nothing(scope.cancel)?;
                state = PropertyGraph::of_rows(row, state.edges());
            }
            Op::Call(call) => {
                // A bare choice of rows after named steps means rows of whole paths, whose
                // pattern is matched against the graph before the steps cut it down.
                let same = || internal::same(&chain.ops[i + 1..], base.node_column());
                state = if named && i == middle.end && is_bare_rows(call) {
                    let table = paths::run(&base, &steps, &same(), scope).map_err(|e| e.at(i))?;
                    PropertyGraph::of_rows(table, base.edges())
                } else if call.function == "rows" {
                    safelist::find(call)?;
                    let params = Params { function: "rows", map: &call.params };
                    let table = choose::choose(&state, &base, &params, &same(), scope);
                    PropertyGraph::of_rows(table.map_err(|e| e.at(i))?, state.edges())
                } else {
                    function(&state, &base, call, scope).map_err(|e| e.at(i))?
                };
            }
            Op::Node(_) | Op::Edge(_) if i == middle.start => {
                base = state.clone();
                state = chain::run(&state, &steps, &chain.clauses, scope)?;
            }
            Op::Node(_) | Op::Edge(_) => {}
        }
    }
    if schema.identities { internal::without(&state) } else { Ok(state) }
}

/// The steps of a pattern; `before` operations stand before it.
fn steps_of(ops: &[Op], before: usize) -> Result<Vec<Step>, QueryError> {
    let step = |(i, op): (usize, &Op)| match op {
        Op::Node(op) => Ok(Step::Node(op.clone())),
        Op::Edge(op) => Ok(Step::Edge(op.clone())),
        Op::Call(call) => {
            let text = "a call may stand only before or after all node and edge steps";
            Err(QueryError::new(ErrorCode::Type, text)
                .field("function")
                .value(&call.function)
                .suggest("bind the parts in a Let and continue with a Ref")
                .at(before + i))
        }
    };
    ops.iter().enumerate().map(step).collect()
}

/// A chain whose calls make another graph in the middle: what stands before that call, or the call, and
/// the rest.
fn parts(chain: &Chain) -> Option<(Chain, Chain)> {
    let makes = |op: &Op| matches!(op, Op::Call(call) if safelist::makes_graph(&call.function));
    let at = chain.ops.iter().position(makes)?;
    if chain.ops.len() == 1 {
        return None;
    }
    let (first, rest) = chain.ops.split_at(at.max(1));
    let part = |ops: &[Op]| Chain { ops: ops.to_vec(), clauses: vec![] };
    let (mut first, mut rest) = (part(first), part(rest));
    let followed = first.ops.iter().any(|op| matches!(op, Op::Edge(_)));
    let clauses = if followed { &mut first.clauses } else { &mut rest.clauses };
    clauses.clone_from(&chain.clauses);
    Some((first, rest))
}

/// What is said of a chain that could also have been meant to have a row for each node.
fn one_row() -> Notice {
    let text = "no step behind \"rows\" names a column of the nodes, so the query begins with one row, like a \
        text without MATCH, and not with one for each node; put a node step before \"rows\" if those are meant";
    Notice::new("rows-of-no-pattern", text)
}

fn is_bare_rows(call: &CallOp) -> bool {
    let table = call.params.get("table").and_then(Value::as_str).unwrap_or("nodes");
    call.function == "rows"
        && table == "nodes"
        && ["source", "binding_ops", "alias_endpoints"]
            .iter()
            .all(|key| call.params.get(*key).is_none_or(Value::is_null))
}

fn function(
    graph: &PropertyGraph,
    base: &PropertyGraph,
    call: &CallOp,
    scope: Scope<'_>,
) -> Result<PropertyGraph, QueryError> {
    if call.function.starts_with(procedure::PREFIX) {
        return graph::in_context(scope, |context| procedure::run(graph, call, context));
    }
    let found = match safelist::find(call)? {
        Found::Own(found) => found,
        Found::OnGraph(found) => {
            return graph::in_context(scope, |context| found.run(graph, &call.params, context));
        }
    };
    let params = Params { function: found.signature.name, map: &call.params };
    let rows = |table| PropertyGraph::of_rows(table, graph.edges());
    match found.does {
        Does::Choose if params.function == "rows" => {
            Ok(rows(choose::choose(graph, base, &params, &[], scope)?))
        }
        Does::Choose => Ok(rows(rows::count(graph, &params, scope)?)),
        Does::Rows(call) => {
            let table = graph.node_table(scope.cancel)?;
            Ok(rows((call.0)(&table, &params, scope)?))
        }
        Does::Match => Ok(rows(matching::run(graph, base, &params, scope)?)),
        Does::Graph(call) => (call.0)(graph, &params, scope),
    }
}
