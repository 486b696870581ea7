//! Queries as agents write them, and answers that fit into a model's memory.

use graphlume_cypher::NumberIds;
use graphlume_engine::{ParsedQuery, QueryAnswer};
use graphlume_gfql::wire::{Binding, Op};
use graphlume_gfql::{Callable, Query};
use graphlume_store::PropertyGraph;
use graphlume_table::{Table, cell_json, pandas_dtype};
use graphlume_types::CancelToken;
use graphlume_types::limits::{
    TOOL_CELL_CHARS_MAX, TOOL_MESSAGE_BYTES_MAX, TOOL_ROWS_MAX, TOOL_WHOLE_ROWS_MAX,
};
use serde_json::{Map, Value, json};

use super::number_ids::number_operations;
use crate::error::ServiceError;
use crate::queries::{QueryOutput, parse_query};
use crate::sessions::collections::refusal;

/// The query of a text, in which texts of digits find `ids`, and whether it names the columns of its result.
pub(crate) fn query_of(text: &str, ids: &NumberIds) -> Result<(ParsedQuery, bool), ServiceError> {
    let query = if text.trim_start().starts_with(['[', '{']) {
        let mut operations = serde_json::from_str(text).map_err(|e| {
            refusal(
                "invalid-json",
                format!(
                    "gfql_operations is not JSON: {e}; send a JSON array of operations in a text, or a \
                     Cypher query"
                ),
            )
        })?;
        number_operations(&mut operations, ids);
        operations
    } else {
        Value::String(text.to_owned())
    };
    let parsed = parse_query(&query, ids)?;
    let projects = match &parsed {
        ParsedQuery::Cypher(text, _) => text.rows().is_some(),
        ParsedQuery::Gfql(query, _) => projects(query),
        ParsedQuery::Rule(_) => false,
    };
    Ok((parsed, projects))
}

fn projects(query: &Query) -> bool {
    let projects_of = |name: &str| Callable::named(name).is_some_and(|call| call.projects);
    let of_ops = |ops: &[Op]| {
        ops.iter().any(|op| matches!(op, Op::Call(call) if projects_of(&call.function)))
    };
    match query {
        Query::Chain(chain) => of_ops(&chain.ops),
        Query::Let(bindings) => bindings.bindings.iter().any(|(_, b)| match b {
            Binding::Chain(chain) | Binding::Ref(_, chain) => of_ops(&chain.ops),
            Binding::Let(inner) => projects(&Query::Let(inner.clone())),
            Binding::Remote(_) => false,
        }),
    }
}

/// The parts of an answer that a model can use: counts, columns, and a few rows.
pub(crate) fn answer_json(
    answer: QueryAnswer,
    output: QueryOutput,
    projects: bool,
) -> Result<Value, ServiceError> {
    let name = output.name();
    let limit = if projects { TOOL_ROWS_MAX } else { TOOL_WHOLE_ROWS_MAX };
    let shape = |nodes: (usize, usize), edges: (usize, usize)| {
        json!([
            {"kind": "nodes", "rows": nodes.0, "cols": nodes.1},
            {"kind": "edges", "rows": edges.0, "cols": edges.1},
        ])
    };
    let rows_answer = |rows: &Table| {
        let (records, cut) = records(rows, limit);
        json!({
            "output_type": name, "result": "rows", "row_count": rows.num_rows(),
            "columns": columns_json(rows), "returned": records.len(),
            "truncated": cut, "limit": limit, "rows": records,
        })
    };
    let graph = match answer {
        QueryAnswer::Sizes(s) => {
            return Ok(json!({
                "output_type": name, "result": "graph", "node_count": s.nodes, "edge_count": s.edges,
                "shape": shape((s.nodes, s.node_columns), (s.edges, s.edge_columns)),
            }));
        }
        QueryAnswer::Plan(plan) => return Ok(json!({"output_type": name, "plan": plan})),
        QueryAnswer::Rows(rows) => return Ok(rows_answer(&rows)),
        QueryAnswer::Graph(graph) => graph,
    };
    if let Some(rows) = rows_of(&graph) {
        return Ok(rows_answer(rows));
    }
    let nodes = graph.node_table(&CancelToken::new())?;
    let edges = graph.edges();
    let mut out = json!({
        "output_type": name, "result": "graph", "node_count": nodes.num_rows(),
        "edge_count": edges.map_or(0, Table::num_rows), "limit": limit,
    });
    let mut cuts = Map::new();
    let mut put = |kind: &str, table: Option<&Table>| {
        let (records, cut) = table.map(|t| records(t, limit)).unwrap_or_default();
        let columns = table.map(columns_json).unwrap_or_default();
        if output == QueryOutput::All {
            out[format!("{}_columns", kind.trim_end_matches('s'))] = json!(columns);
        } else {
            out["columns"] = json!(columns);
            out["returned"] = json!(records.len());
        }
        cuts.insert(kind.to_owned(), json!(cut));
        out[kind] = json!(records);
    };
    if output != QueryOutput::Edges {
        put("nodes", Some(&nodes));
    }
    if output != QueryOutput::Nodes {
        put("edges", edges);
    }
    out["truncated"] = match output {
        QueryOutput::All => Value::Object(cuts),
        _ => cuts.values().next().cloned().unwrap_or_default(),
    };
    Ok(out)
}

/// The rows of a result that is no graph.
fn rows_of(graph: &PropertyGraph) -> Option<&Table> {
    graph.nodes().filter(|_| graph.bindings().node.is_none())
}

fn columns_json(table: &Table) -> Vec<Value> {
    let schema = table.batch().schema();
    let fields = schema.fields().iter();
    fields.map(|f| json!({"name": f.name(), "dtype": pandas_dtype(f.data_type())})).collect()
}

/// The first rows as objects, and whether there are more.
fn records(table: &Table, limit: usize) -> (Vec<Value>, bool) {
    let (mut out, mut bytes) = (Vec::new(), 0u64);
    let names = table.column_names();
    for row in 0..table.num_rows().min(limit) {
        let columns = names.iter().zip(table.batch().columns());
        let cells = columns.map(|(name, column)| {
            let mut cell = cell_json(column.as_ref(), row);
            shorten(&mut cell);
            ((*name).to_owned(), cell)
        });
        let record = Value::Object(cells.collect());
        bytes += record.to_string().len() as u64;
        if bytes > TOOL_MESSAGE_BYTES_MAX {
            break;
        }
        out.push(record);
    }
    let cut = out.len() < table.num_rows();
    (out, cut)
}

/// Cuts long texts, which would fill a model's memory.
fn shorten(cell: &mut Value) {
    if let Value::String(text) = cell
        && let Some((at, _)) = text.char_indices().nth(TOOL_CELL_CHARS_MAX)
    {
        text.truncate(at);
        text.push('…');
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use graphlume_table::{ArrayRef, Int64Array, RecordBatch};
    use graphlume_types::Coded;

    fn numbers(n: i64) -> Table {
        let column: ArrayRef = Arc::new(Int64Array::from_iter_values(0..n));
        Table::try_new(RecordBatch::try_from_iter([("n", column)]).unwrap()).unwrap()
    }

    #[test]
    fn rows_are_cut_at_their_limits() {
        for (limit, sizes) in [(50, [49, 50, 51]), (20, [19, 20, 21])] {
            for n in sizes {
                let (rows, cut) = records(&numbers(n), limit);
                assert_eq!((rows.len(), cut), (limit.min(n as usize), n as usize > limit), "{n}");
            }
        }
        let whole = answer_json(QueryAnswer::Rows(numbers(60)), QueryOutput::Nodes, false).unwrap();
        assert_eq!((&whole["returned"], &whole["truncated"]), (&json!(20), &json!(true)));
        let named = answer_json(QueryAnswer::Rows(numbers(60)), QueryOutput::All, true).unwrap();
        assert_eq!((&named["returned"], &named["row_count"]), (&json!(50), &json!(60)));
        assert_eq!(named["rows"][49], json!({"n": 49}));
    }

    #[test]
    fn texts_are_cut_between_characters() {
        for (chars, want) in [(1_999, 1_999), (2_000, 2_000), (2_001, 2_001), (9_000, 2_001)] {
            let mut cell = json!("ä".repeat(chars));
            shorten(&mut cell);
            assert_eq!(cell.as_str().unwrap().chars().count(), want, "{chars}");
        }
    }

    #[test]
    fn json_and_cypher_are_told_apart_and_projections_noticed() {
        let query_of = |text: &str| query_of(text, &NumberIds::default());
        let kind = |text: &str| match query_of(text) {
            Ok((ParsedQuery::Gfql(..), projects)) => {
                if projects {
                    "named"
                } else {
                    "whole"
                }
            }
            Ok((ParsedQuery::Cypher(..), _)) => "cypher",
            Ok((ParsedQuery::Rule(_), _)) => "rule",
            Err(e) => e.slug(),
        };
        assert_eq!(kind(" [{\"type\": \"Node\"}]"), "whole");
        assert_eq!(kind("MATCH (n) RETURN n.id"), "cypher");
        assert!(!query_of("GRAPH { MATCH (n) }").unwrap().1);
        assert_eq!(kind("[{"), "invalid-json");
        assert_eq!(kind("hello"), "invalid-cypher-syntax");
        let rows = json!([{"type": "Node"}, {"type": "Call", "function": "rows", "params": {}},
            {"type": "Call", "function": "select", "params": {"items": [["id", "id"]]}}]);
        assert_eq!(kind(&rows.to_string()), "named");
    }
}
