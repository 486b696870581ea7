//! Cards: the facts about one element, and the names of several.

#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]

use graphlume_graph::Graph;
use graphlume_table::{Table, cell_json, cell_text, keep_digits};
use serde_json::{Value, json};

use crate::bind::{Cx, Source, context};
use crate::encodings::Encodings;
use crate::labels::Labels;
use crate::text::cut;

/// Characters of one value at most.
const VALUE_CHARS_MAX: usize = 4_096;
/// Characters of what is written on a line.
const EDGE_NAME_CHARS_MAX: usize = 80;

/// All columns of a row: `[{name, value}]`.
fn properties(table: &Table, row: usize) -> Vec<Value> {
    if row >= table.num_rows() {
        return Vec::new();
    }
    let columns = table.column_names().into_iter().zip(table.batch().columns());
    columns
        .map(|(name, c)| json!({"name": name, "value": short(cell_json(c.as_ref(), row))}))
        .collect()
}

fn short(mut value: Value) -> Value {
    // Cards are for pages, whose numbers are doubles.
    keep_digits(&mut value);
    match value {
        Value::String(s) if s.len() > VALUE_CHARS_MAX => Value::String(cut(&s, VALUE_CHARS_MAX)),
        Value::Array(_) | Value::Object(_) => {
            let text = value.to_string();
            if text.len() > VALUE_CHARS_MAX {
                Value::String(cut(&text, VALUE_CHARS_MAX))
            } else {
                value
            }
        }
        other => other,
    }
}

/// What nodes are called beside them in the picture, in the order of `nodes`; empty for a node that is not there.
#[must_use]
pub fn node_names(
    graph: &Graph,
    table: Option<&Table>,
    enc: &Encodings,
    nodes: &[u32],
) -> Vec<String> {
    let cx = context(graph, table, None, enc);
    let labels = Labels::new(&cx);
    let count = graph.topology.num_nodes();
    let name = |v: &u32| if *v < count { labels.short(*v) } else { String::new() };
    nodes.iter().map(name).collect()
}

/// What a hover card of node `index` shows:
/// `{index, title, id, degree, degree_in, degree_out, properties: [{name, value}]}`. `null` when there is
/// no such node. A node that only edges mention has no properties.
#[must_use]
pub fn node_card(graph: &Graph, nodes: Option<&Table>, enc: &Encodings, index: u32) -> Value {
    let t = &graph.topology;
    if index >= t.num_nodes() {
        return Value::Null;
    }
    let cx = context(graph, nodes, None, enc);
    let title = |source: Source<'_>| {
        let row = source.rows.row(index)?;
        graphlume_table::cell_text(source.array.as_ref(), row).filter(|t| !t.trim().is_empty())
    };
    // On a card the title comes before the label, which is the short form beside the node.
    let bound = cx.node.binding("node_title").and_then(|name| cx.node_column(name)).and_then(title);
    let labels = Labels::new(&cx);
    let title = bound.unwrap_or_else(|| labels.full(index).into_owned());
    let row = graph.row_of(index).zip(nodes);
    json!({
        "index": index,
        "title": cut(&title, VALUE_CHARS_MAX),
        "id": labels.id(index),
        "degree": t.degree(index),
        "degree_in": t.in_degree(index),
        "degree_out": t.out_degree(index),
        "properties": row.map_or_else(Vec::new, |(row, table)| properties(table, row as usize)),
    })
}

/// The first of the bound texts of the edge in `row` of its table that is not empty.
fn bound_text(cx: &Cx<'_>, bindings: [&str; 2], row: u32) -> Option<String> {
    let bound = bindings.into_iter().filter_map(|b| cx.edge.binding(b));
    let text = |name: &str| cell_text(cx.edges?.column(name)?.as_ref(), row as usize);
    bound.filter_map(text).find(|t| !t.trim().is_empty())
}

/// What edges are called on their lines, by CSR position: the bound label, else the bound title, else their ends by
/// name; empty for an edge that is not there.
#[must_use]
pub fn edge_names(
    graph: &Graph,
    nodes: Option<&Table>,
    edges: &Table,
    enc: &Encodings,
    positions: &[u32],
) -> Vec<String> {
    let cx = context(graph, nodes, Some(edges), enc);
    let labels = Labels::new(&cx);
    let count = graph.topology.num_edges();
    let name = |pos: &u32| {
        if *pos >= count {
            return String::new();
        }
        let (src, dst, row) = graph.topology.edge(*pos);
        let bound = bound_text(&cx, ["edge_label", "edge_title"], row);
        let ends = || format!("{} → {}", labels.short(src), labels.short(dst));
        cut(&bound.unwrap_or_else(ends), EDGE_NAME_CHARS_MAX)
    };
    positions.iter().map(name).collect()
}

/// What a hover card of the edge at CSR position `pos` shows:
/// `{position, row, title, source, destination, source_index, destination_index, properties}`; source and
/// destination are ids as text. `null` when there is no such edge.
#[must_use]
pub fn edge_card(graph: &Graph, edges: &Table, enc: &Encodings, pos: u32) -> Value {
    if pos >= graph.topology.num_edges() {
        return Value::Null;
    }
    let (src, dst, row) = graph.topology.edge(pos);
    let cx = context(graph, None, Some(edges), enc);
    let title = bound_text(&cx, ["edge_title", "edge_label"], row);
    let labels = Labels::new(&cx);
    let title = title.unwrap_or_else(|| format!("{} → {}", labels.id(src), labels.id(dst)));
    json!({
        "position": pos,
        "row": row,
        "title": cut(&title, VALUE_CHARS_MAX),
        "source": labels.id(src),
        "destination": labels.id(dst),
        "source_index": src,
        "destination_index": dst,
        "properties": properties(edges, row as usize),
    })
}
