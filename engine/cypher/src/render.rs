//! Values as text, in the notation of openCypher.

use std::fmt::Write;

use crate::graph_view::GraphView;
use crate::value::{Edge, Value};
use graphlume_expr::{Scalar, quote};

/// The text of a value as `toString` and a text column give it: a text is itself, a time its ISO form.
pub(crate) fn text_of(view: &GraphView, value: &Value) -> String {
    match value {
        Value::Scalar(Scalar::Text(text)) => text.to_string(),
        Value::Scalar(Scalar::Temporal(t)) => t.to_string(),
        Value::Duration(d) => d.to_string(),
        _ => render(view, value),
    }
}

/// The notation of a value; text is quoted.
pub(crate) fn render(view: &GraphView, value: &Value) -> String {
    let mut out = String::new();
    write_value(view, value, &mut out);
    out
}

fn write_value(view: &GraphView, value: &Value, out: &mut String) {
    match value {
        Value::Scalar(Scalar::Null) => out.push_str("null"),
        Value::Scalar(Scalar::Bool(v)) => out.push_str(if *v { "true" } else { "false" }),
        Value::Scalar(Scalar::Int(v)) => {
            let _ = write!(out, "{v}");
        }
        Value::Scalar(Scalar::UInt(v)) => {
            let _ = write!(out, "{v}");
        }
        Value::Scalar(Scalar::Float(v)) => out.push_str(&float(*v)),
        Value::Scalar(Scalar::Text(text)) => quote(text, out),
        Value::List(list) => {
            out.push('[');
            for (i, v) in list.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                write_value(view, v, out);
            }
            out.push(']');
        }
        Value::Map(map) => write_map(view, map.iter().map(|(k, v)| (&**k, v)), out),
        Value::Node(v) => write_node(view, *v, out),
        Value::Edge(e) => write_edge(view, *e, out),
        Value::Path(path) => {
            out.push('<');
            for (i, node) in path.nodes.iter().enumerate() {
                if let Some(edge) = i.checked_sub(1).and_then(|i| path.edges.get(i)) {
                    let forward = edge.destination == *node;
                    out.push_str(if forward { "-" } else { "<-" });
                    write_edge(view, *edge, out);
                    out.push_str(if forward { "->" } else { "-" });
                }
                write_node(view, *node, out);
            }
            out.push('>');
        }
        Value::Scalar(Scalar::Temporal(t)) => {
            out.push('\'');
            out.push_str(&t.to_string());
            out.push('\'');
        }
        Value::Duration(d) => {
            out.push('\'');
            out.push_str(&d.to_string());
            out.push('\'');
        }
    }
}

fn write_node(view: &GraphView, v: u32, out: &mut String) {
    out.push('(');
    for label in view.labels(v) {
        out.push(':');
        write_name(&label, out);
    }
    let props = view.node_properties(v);
    if !props.is_empty() {
        if !out.ends_with('(') {
            out.push(' ');
        }
        write_map(view, props.iter().map(|(k, v)| (&**k, v)), out);
    }
    out.push(')');
}

fn write_edge(view: &GraphView, e: Edge, out: &mut String) {
    out.push('[');
    if let Some(kind) = view.edge_type(e.row) {
        out.push(':');
        write_name(&kind, out);
    }
    let props = view.edge_properties(e.row);
    if !props.is_empty() {
        if !out.ends_with('[') {
            out.push(' ');
        }
        write_map(view, props.iter().map(|(k, v)| (&**k, v)), out);
    }
    out.push(']');
}

fn write_map<'a>(
    view: &GraphView,
    entries: impl Iterator<Item = (&'a str, &'a Value)>,
    out: &mut String,
) {
    out.push('{');
    for (i, (key, value)) in entries.enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        write_name(key, out);
        out.push_str(": ");
        write_value(view, value, out);
    }
    out.push('}');
}

/// A name, in backticks unless it is a plain one.
fn write_name(name: &str, out: &mut String) {
    let mut chars = name.chars();
    let plain = chars.next().is_some_and(|c| c.is_alphabetic() || c == '_')
        && chars.all(|c| c.is_alphanumeric() || c == '_');
    if plain {
        out.push_str(name);
    } else {
        out.push('`');
        out.push_str(&name.replace('`', "``"));
        out.push('`');
    }
}

/// A float, always recognisable as one.
pub(crate) fn float(v: f64) -> String {
    if v.is_nan() {
        return "NaN".to_owned();
    }
    if v.is_infinite() {
        return if v > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let size = v.abs();
    if v != 0.0 && !(1e-3..1e7).contains(&size) {
        let text = format!("{v:E}");
        return match text.split_once('E') {
            Some((digits, exponent)) if !digits.contains('.') => format!("{digits}.0E{exponent}"),
            _ => text,
        };
    }
    format!("{v:?}")
}
