//! Parts of rows that clients compile for their own use: the identity of nodes and edges, and conditions that
//! say that two steps are the same node.

use graphlume_expr::{Cmp, QueryError};
use graphlume_store::materialize::{columns, table_of};
use graphlume_store::{CallOp, PropertyGraph};
use graphlume_table::Table;
use graphlume_types::CancelToken;
use serde_json::Value;

use crate::expr::{Binary, Cell, EDGE_IDS, Expr, NODE_ID, column, parse};
use crate::scope::RowSchema;
use crate::wire::{Chain, Op};

/// What is known of the rows of a chain's calls.
pub(super) fn schema(graph: &PropertyGraph, chain: &Chain) -> RowSchema {
    let name = |op: &Op| match op {
        Op::Node(op) => op.name.clone(),
        Op::Edge(op) => op.name.clone(),
        Op::Call(_) => None,
    };
    // Functions of nodes and edges, and the names of their identity, stand in texts with these signs.
    let asks = |call: &CallOp| {
        let text = Value::Object(call.params.clone()).to_string();
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

/// What the names begin with that a client makes up when it compiles.
const COMPILED: &str = "__cypher_";

/// Whether a chain is what a client makes of a text that begins with no pattern, such as
/// `UNWIND [1, 2] AS i RETURN i`. On the wire it begins with a choice of all nodes, and only the client knows that
/// its rows are one row of nothing: the calls that follow unwind lists and then replace the columns, and name no
/// column but those that they made themselves. What a client never writes is taken as it stands.
pub(super) fn begins_with_no_pattern(chain: &Chain) -> bool {
    let [Op::Call(rows), rest @ ..] = chain.ops.as_slice() else { return false };
    let all_nodes = rows.params.len() == 1 && rows.params.get("table") == Some(&"nodes".into());
    if rows.function != "rows" || !all_nodes {
        return false;
    }
    let mut made: Vec<&str> = Vec::new();
    for op in rest {
        let Op::Call(call) = op else { return false };
        match call.function.as_str() {
            "unwind" => {
                let own = match call.params.get("expr") {
                    Some(Value::String(text)) => names_only(text, &made),
                    Some(Value::Array(_)) => true,
                    _ => false,
                };
                match call.params.get("as_") {
                    Some(Value::String(name)) if own => made.push(name),
                    _ => return false,
                }
            }
            "select" | "with_" => {
                let alone = call.params.len() == 1;
                let items = call.params.get("items").and_then(Value::as_array);
                let with = call.function == "with_";
                let one = |item: &Value| match item.as_array().map(Vec::as_slice) {
                    Some([Value::String(_), Value::String(text)]) => names_only(text, &made),
                    // A constant for all nodes, to count them, is written by people.
                    Some([Value::String(name), _]) => !with || name.starts_with(COMPILED),
                    _ => false,
                };
                return alone && items.is_some_and(|items| items.iter().all(one));
            }
            _ => return false,
        }
    }
    false
}

/// Whether an expression names nothing but `made`, and fields of it.
fn names_only(text: &str, made: &[&str]) -> bool {
    let known = |name: &str| {
        let first = name.split('.').next().unwrap_or(name);
        made.contains(&name) || made.contains(&first)
    };
    parse(text).is_ok_and(|expr| expr.all_names(&mut Vec::new(), &known))
}

/// The row of nothing that such a chain begins with.
pub(super) fn nothing(cancel: &CancelToken) -> Result<Table, QueryError> {
    table_of(vec![(SEED.to_owned(), column(&[Cell::bool(true)], cancel)?)], 1)
}

/// The column of that row, as the client calls it.
const SEED: &str = "__cypher_seed_row__";

/// Whether a column says which node or edge a row has.
pub(super) fn is_identity(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    last == NODE_ID || EDGE_IDS.contains(&last)
}

/// Rows without the columns that were there for the calls alone.
pub(super) fn without(graph: &PropertyGraph) -> Result<PropertyGraph, QueryError> {
    let Some(table) = graph.nodes().filter(|_| graph.is_rows()) else { return Ok(graph.clone()) };
    let kept = columns(table).into_iter().filter(|(name, _)| !is_identity(name)).collect();
    Ok(PropertyGraph::of_rows(table_of(kept, table.num_rows())?, graph.edges()))
}
