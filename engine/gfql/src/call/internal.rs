//! What clients compile into rows for their own use: the identity of nodes and edges, and conditions that
//! say that two steps are the same node.

use crate::columns::{columns, table_of};
use crate::error::GfqlError;
use crate::expr::{Binary, EDGE_IDS, Expr, NODE_ID, RowSchema, parse};
use crate::graph::PropertyGraph;
use crate::predicate::Cmp;
use crate::wire::{CallOp, Chain, Op};

/// What is known of the rows of a chain's calls.
pub(super) fn schema(graph: &PropertyGraph, chain: &Chain) -> RowSchema {
    let name = |op: &Op| match op {
        Op::Node(op) => op.name.clone(),
        Op::Edge(op) => op.name.clone(),
        Op::Call(_) => None,
    };
    // Functions of nodes and edges, and the names of their identity, stand in texts with these signs.
    let asks = |call: &CallOp| {
        let text = serde_json::Value::Object(call.params.clone()).to_string();
        ["(", "[\'", "[\\\"", "__gfql_"].iter().any(|sign| text.contains(sign))
    };
    let bindings = graph.bindings();
    RowSchema {
        node: graph.node_column().to_owned(),
        ends: [bindings.source.clone(), bindings.destination.clone()],
        markers: chain.ops.iter().filter_map(name).collect(),
        identities: chain.ops.iter().any(|op| matches!(op, Op::Call(call) if asks(call))),
    }
}

/// Pairs of steps that the calls after the rows of paths require to be the same node, so that a walk that
/// does not close is given up where it fails to.
pub(super) fn same(after: &[Op], id: &str) -> Vec<(String, String)> {
    let tests = after.iter().map_while(|op| match op {
        Op::Call(call) if call.function == "where_rows" => call.params.get("expr")?.as_str(),
        _ => None,
    });
    let mut pairs = Vec::new();
    for text in tests {
        if let Ok(expr) = parse(text) {
            collect(&expr, id, &mut pairs);
        }
    }
    pairs
}

fn collect(expr: &Expr, id: &str, pairs: &mut Vec<(String, String)>) {
    match expr {
        Expr::Binary(Binary::And, a, b) => {
            collect(a, id, pairs);
            collect(b, id, pairs);
        }
        Expr::Binary(Binary::Compare(Cmp::Eq), a, b) => {
            if let (Expr::Name(a), Expr::Name(b)) = (a.as_ref(), b.as_ref()) {
                pairs.extend(step_of(a, id).zip(step_of(b, id)).filter(|(a, b)| a != b));
            }
        }
        _ => {}
    }
}

/// The step whose identity a name is.
fn step_of(name: &str, id: &str) -> Option<String> {
    match name.split_once('.') {
        None => Some(name.to_owned()),
        Some((step, column)) if column == id || column == NODE_ID => Some(step.to_owned()),
        Some(_) => None,
    }
}

/// Whether a column says which node or edge a row has.
pub(super) fn is_identity(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    last == NODE_ID || EDGE_IDS.contains(&last)
}

/// Rows without the columns that were there for the calls alone.
pub(super) fn without(graph: &PropertyGraph) -> Result<PropertyGraph, GfqlError> {
    let Some(table) = graph.nodes().filter(|_| graph.is_rows()) else { return Ok(graph.clone()) };
    let kept = columns(table).into_iter().filter(|(name, _)| !is_identity(name)).collect();
    Ok(PropertyGraph::of_rows(table_of(kept, table.num_rows())?, graph.edges()))
}
