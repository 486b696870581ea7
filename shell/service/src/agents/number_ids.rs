//! Ids that agents send as texts of digits: answers have whole numbers beyond 2^53 as texts, and what was read finds its node
//! when it is sent back.

use graphlume_cypher::NumberIds;
use graphlume_engine::{ColumnInfo, GraphFacts};
use serde_json::{Map, Number, Value};

use super::{Agents, Live};
use crate::datasets;

/// The columns that make a graph.
pub(super) struct BoundColumns {
    /// The ids of nodes; `id` where nodes have no table.
    pub(super) node: String,
    pub(super) source: String,
    pub(super) destination: String,
}

impl BoundColumns {
    /// Those that hold whole numbers.
    fn of_numbers(self, graph: &GraphFacts) -> NumberIds {
        let whole = |columns: &[ColumnInfo], name: &str| {
            let column = columns.iter().find(|c| c.name == name);
            column.is_some_and(|c| c.dtype.starts_with("int") || c.dtype.starts_with("uint"))
        };
        let edge: Vec<String> = [self.source, self.destination]
            .into_iter()
            .filter(|name| whole(&graph.edge_columns, name))
            .collect();
        let of_nodes = match graph.node_columns.as_slice() {
            // Nodes that only edges name have the ids that these have.
            [] => edge.len() == 2,
            columns => whole(columns, &self.node),
        };
        NumberIds { node: Some(self.node).filter(|_| of_nodes), edge }
    }
}

impl Agents {
    /// The columns that make the graph of a session, as they are bound; `None` where the dataset is gone.
    pub(super) fn bound_columns(&self, live: &Live, graph: &GraphFacts) -> Option<BoundColumns> {
        let found = datasets::find(&self.ctx.data, &live.dataset.to_string()).ok()?;
        let (node, edge) = found.encodings();
        let of = |side: &Value, role: &str| side["bindings"][role].as_str().map(str::to_owned);
        let id = of(&node, "node").filter(|_| !graph.node_columns.is_empty());
        Some(BoundColumns {
            node: id.unwrap_or_else(|| "id".to_owned()),
            source: of(&edge, "source")?,
            destination: of(&edge, "destination")?,
        })
    }

    /// The columns of whole numbers that hold ids, once the graph is there. Of a graph that does not load none is known, and
    /// what is asked of it fails.
    pub(super) async fn number_ids(&self, live: &Live) -> NumberIds {
        let engine = &self.ctx.engine;
        if engine.load_ended(live.session.clone()).await.is_err() {
            return NumberIds::default();
        }
        let info = engine.info(live.session.clone()).await;
        let graph = info.ok().and_then(|info| info.graph);
        graph.map_or_else(NumberIds::default, |graph| {
            let bound = self.bound_columns(live, &graph);
            bound.map_or_else(NumberIds::default, |bound| bound.of_numbers(&graph))
        })
    }
}

/// Writes numbers in the place of texts of digits wherever operations compare a column of `ids` for equality.
pub(super) fn number_operations(operations: &mut Value, ids: &NumberIds) {
    if ids.is_empty() {
        return;
    }
    let columns = Columns {
        node: ids.node.as_deref().into_iter().collect(),
        edge: ids.edge.iter().map(String::as_str).collect(),
    };
    columns.visit(operations, None);
}

struct Columns<'a> {
    node: Vec<&'a str>,
    edge: Vec<&'a str>,
}

impl Columns<'_> {
    /// Of the parameters of a call its function is told.
    fn visit(&self, value: &mut Value, call: Option<&str>) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| self.visit(item, None)),
            Value::Object(object) => {
                let of_edges = call == Some("filter_edges_by_dict");
                for (name, columns) in [
                    ("filter_dict", if of_edges { &self.edge } else { &self.node }),
                    ("source_node_match", &self.node),
                    ("destination_node_match", &self.node),
                    ("edge_match", &self.edge),
                ] {
                    if let Some(Value::Object(filter)) = object.get_mut(name) {
                        number_filter(filter, columns);
                    }
                }
                if call.is_some() && !self.node.is_empty() {
                    for name in ["nodes", "target_wave_front"] {
                        match object.get_mut(name) {
                            Some(Value::Object(filter)) => number_filter(filter, &self.node),
                            Some(nodes) => number_value(nodes),
                            None => {}
                        }
                    }
                }
                let function = object.get("function").and_then(Value::as_str).map(str::to_owned);
                for (name, inner) in object {
                    self.visit(inner, function.as_deref().filter(|_| name == "params"));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

fn number_filter(filter: &mut Map<String, Value>, columns: &[&str]) {
    for column in columns {
        if let Some(test) = filter.get_mut(*column) {
            number_test(test);
        }
    }
}

/// A plain value, a list of values, or a predicate that asks for equality.
fn number_test(test: &mut Value) {
    let Value::Object(predicate) = test else { return number_value(test) };
    let kind = predicate.get("type").and_then(Value::as_str).unwrap_or_default();
    let named = match kind {
        "EQ" | "NE" => "val",
        "IsIn" => "options",
        "AllOf" => "predicates",
        _ => return,
    };
    match (predicate.get_mut(named), named) {
        (Some(Value::Array(parts)), "predicates") => parts.iter_mut().for_each(number_test),
        (Some(value), _) => number_value(value),
        (None, _) => {}
    }
}

fn number_value(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(number) = number_of(text) {
                *value = Value::Number(number);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(number_value),
        _ => {}
    }
}

/// The number that a text says: as a number is written, without a sign `+`, zeros before it or spaces.
fn number_of(text: &str) -> Option<Number> {
    let number = match text.parse::<i64>() {
        Ok(number) => Number::from(number),
        Err(_) => Number::from(text.parse::<u64>().ok()?),
    };
    (number.to_string() == text).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ids() -> NumberIds {
        NumberIds { node: Some("id".to_owned()), edge: vec!["s".to_owned(), "d".to_owned()] }
    }

    #[test]
    fn texts_of_digits_are_numbers_where_ids_are_compared_and_nowhere_else() {
        let far = "9007199254740993";
        let number = json!(9_007_199_254_740_993_i64);
        for (asked, read) in [
            (
                json!([{"type": "Node", "filter_dict": {"id": far, "name": far}}]),
                json!([{"type": "Node", "filter_dict": {"id": number, "name": far}}]),
            ),
            (
                json!([{"type": "Node", "filter_dict": {"id": {"type": "IsIn", "options": [far, "-7", "x", 1]}}}]),
                json!([{"type": "Node", "filter_dict": {"id": {"type": "IsIn", "options": [number, -7, "x", 1]}}}]),
            ),
            (
                json!({"type": "AllOf", "filter_dict": {"id": {"type": "AllOf", "predicates": [
                    {"type": "NE", "val": far}, {"type": "GT", "val": far}, {"type": "Contains", "pat": far}]}}}),
                json!({"type": "AllOf", "filter_dict": {"id": {"type": "AllOf", "predicates": [
                    {"type": "NE", "val": number}, {"type": "GT", "val": far}, {"type": "Contains", "pat": far}]}}}),
            ),
            (
                json!({"type": "Edge", "edge_match": {"s": far, "id": far, "w": far},
                    "source_node_match": {"id": far, "s": far}, "destination_node_match": {"id": [far]}}),
                json!({"type": "Edge", "edge_match": {"s": number, "id": far, "w": far},
                    "source_node_match": {"id": number, "s": far}, "destination_node_match": {"id": [number]}}),
            ),
            (
                json!({"type": "Let", "bindings": {"a": {"type": "Chain", "chain": [
                    {"type": "Call", "function": "keep_nodes", "params": {"nodes": [far, "x"]}},
                    {"type": "Call", "function": "drop_nodes", "params": {"nodes": {"id": [far]}}},
                    {"type": "Call", "function": "filter_nodes_by_dict", "params": {"filter_dict": {"id": far, "d": far}}}]}}}),
                json!({"type": "Let", "bindings": {"a": {"type": "Chain", "chain": [
                    {"type": "Call", "function": "keep_nodes", "params": {"nodes": [number, "x"]}},
                    {"type": "Call", "function": "drop_nodes", "params": {"nodes": {"id": [number]}}},
                    {"type": "Call", "function": "filter_nodes_by_dict", "params": {"filter_dict": {"id": number, "d": far}}}]}}}),
            ),
            (
                json!({"type": "Call", "function": "filter_edges_by_dict", "params": {"filter_dict": {"id": far, "d": far}}}),
                json!({"type": "Call", "function": "filter_edges_by_dict", "params": {"filter_dict": {"id": far, "d": number}}}),
            ),
            (
                json!({"type": "Node", "name": far, "query": "id == '9007199254740993'"}),
                json!({"type": "Node", "name": far, "query": "id == '9007199254740993'"}),
            ),
        ] {
            let mut found = asked.clone();
            number_operations(&mut found, &ids());
            assert_eq!(found, read, "{asked}");
            let mut untouched = asked.clone();
            number_operations(&mut untouched, &NumberIds::default());
            assert_eq!(untouched, asked, "no column holds numbers");
        }
    }

    #[test]
    fn only_a_number_as_numbers_are_written_is_one() {
        for whole in
            ["0", "7", "-7", "9223372036854775807", "-9223372036854775808", "18446744073709551615"]
        {
            assert_eq!(number_of(whole).map(|n| n.to_string()).as_deref(), Some(whole));
        }
        for text in
            ["", "+7", "007", "-0", " 7", "7 ", "7.0", "1e3", "0x7", "18446744073709551616", "٣"]
        {
            assert_eq!(number_of(text), None, "{text:?}");
        }
    }
}
