//! Functions of nodes, relationships and paths, and conversions.

#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]

use graphlume_types::number::{
    exact_i64, exact_u64, nearest_f64, nearest_f64_of_u64, saturating_len,
};
use std::sync::Arc;

use graphlume_expr::Scalar;

use super::{Function, arg, wrong};
use crate::error::Res;
use crate::graph_view::GraphView;
use crate::render::text_of;
use crate::types::Ty;
use crate::value::Value;

const ENTITY: Ty = Ty::NODE.or(Ty::EDGE);
const SCALAR: Ty = Ty::NUMBER.or(Ty::TEXT).or(Ty::BOOL);
const TIME: Ty = Ty::TEMPORAL.or(Ty::DURATION);

macro_rules! f {
    ($name:literal, $min:literal..=$max:literal, $args:expr, $result:expr, $run:expr) => {
        Function { name: $name, min: $min, max: $max, args: $args, result: $result, run: $run }
    };
}

pub(super) const TABLE: &[Function] = &[
    f!("id", 1..=1, &[ENTITY], Ty::ANY, id),
    f!("elementId", 1..=1, &[ENTITY], Ty::TEXT, |view, args| {
        Ok(match id(view, args)? {
            Value::Scalar(Scalar::Null) => Value::NULL,
            other => Value::text(text_of(view, &other)),
        })
    }),
    f!("labels", 1..=1, &[Ty::NODE], Ty::TEXT.list_of(), |view, args| match arg(args, 0) {
        Value::Scalar(Scalar::Null) => Ok(Value::NULL),
        Value::Node(v) => {
            Ok(Value::list(view.labels(*v).into_iter().map(Value::text).collect()))
        }
        other => Err(wrong("labels", "a node", other)),
    }),
    f!("type", 1..=1, &[Ty::EDGE], Ty::TEXT, |view, args| match arg(args, 0) {
        Value::Scalar(Scalar::Null) => Ok(Value::NULL),
        Value::Edge(e) => Ok(view.edge_type(e.row).map_or(Value::NULL, Value::text)),
        other => Err(wrong("type", "a relationship", other)),
    }),
    f!("keys", 1..=1, &[ENTITY.or(Ty::MAP)], Ty::TEXT.list_of(), |view, args| {
        let entries = match arg(args, 0) {
            Value::Scalar(Scalar::Null) => return Ok(Value::NULL),
            Value::Node(v) => view.node_properties(*v),
            Value::Edge(e) => view.edge_properties(e.row),
            Value::Map(m) => m.to_vec(),
            other => return Err(wrong("keys", "a node, a relationship or a map", other)),
        };
        Ok(Value::list(entries.into_iter().map(|(k, _)| Value::text(k)).collect()))
    }),
    f!("properties", 1..=1, &[ENTITY.or(Ty::MAP)], Ty::MAP, |view, args| match arg(args, 0) {
        Value::Scalar(Scalar::Null) => Ok(Value::NULL),
        Value::Node(v) => Ok(Value::map(view.node_properties(*v))),
        Value::Edge(e) => Ok(Value::map(view.edge_properties(e.row))),
        Value::Map(m) => Ok(Value::Map(Arc::clone(m))),
        other => Err(wrong("properties", "a node, a relationship or a map", other)),
    }),
    f!("startNode", 1..=1, &[Ty::EDGE], Ty::NODE, |_, args| match arg(args, 0) {
        Value::Scalar(Scalar::Null) => Ok(Value::NULL),
        Value::Edge(e) => Ok(Value::Node(e.source)),
        other => Err(wrong("startNode", "a relationship", other)),
    }),
    f!("endNode", 1..=1, &[Ty::EDGE], Ty::NODE, |_, args| match arg(args, 0) {
        Value::Scalar(Scalar::Null) => Ok(Value::NULL),
        Value::Edge(e) => Ok(Value::Node(e.destination)),
        other => Err(wrong("endNode", "a relationship", other)),
    }),
    f!("nodes", 1..=1, &[Ty::PATH], Ty::NODE.list_of(), |_, args| match arg(args, 0) {
        Value::Scalar(Scalar::Null) => Ok(Value::NULL),
        Value::Path(p) => Ok(Value::list(p.nodes.iter().map(|v| Value::Node(*v)).collect())),
        other => Err(wrong("nodes", "a path", other)),
    }),
    f!("relationships", 1..=1, &[Ty::PATH], Ty::EDGE.list_of(), |_, args| match arg(args, 0) {
        Value::Scalar(Scalar::Null) => Ok(Value::NULL),
        Value::Path(p) => Ok(Value::list(p.edges.iter().map(|e| Value::Edge(*e)).collect())),
        other => Err(wrong("relationships", "a path", other)),
    }),
    f!("length", 1..=1, &[Ty::PATH], Ty::INT, |_, args| match arg(args, 0) {
        Value::Scalar(Scalar::Null) => Ok(Value::NULL),
        Value::Path(p) => Ok(Value::int(saturating_len(p.edges.len()))),
        other => Err(wrong("length", "a path", other)),
    }),
    f!("coalesce", 1..=255, &[Ty::ANY], Ty::ANY, |_, args| {
        Ok(args.iter().find(|v| !v.is_null()).cloned().unwrap_or_default())
    }),
    f!("nullIf", 2..=2, &[Ty::ANY], Ty::ANY, |_, args| {
        let same = crate::value::equal(arg(args, 0), arg(args, 1)) == Some(true);
        Ok(if same { Value::NULL } else { arg(args, 0).clone() })
    }),
    f!("toInteger", 1..=1, &[SCALAR], Ty::INT, |_, args| {
        to_integer(arg(args, 0))
            .ok_or_else(|| wrong("toInteger", "a number or a text", arg(args, 0)))
    }),
    f!("toFloat", 1..=1, &[Ty::NUMBER.or(Ty::TEXT)], Ty::FLOAT, |_, args| {
        to_float(arg(args, 0)).ok_or_else(|| wrong("toFloat", "a number or a text", arg(args, 0)))
    }),
    f!("toBoolean", 1..=1, &[Ty::BOOL.or(Ty::TEXT).or(Ty::INT)], Ty::BOOL, |_, args| {
        to_boolean(arg(args, 0))
            .ok_or_else(|| wrong("toBoolean", "a truth value, an integer or a text", arg(args, 0)))
    }),
    f!("toString", 1..=1, &[SCALAR.or(TIME)], Ty::TEXT, |view, args| {
        to_text(view, arg(args, 0)).ok_or_else(|| wrong("toString", "a plain value", arg(args, 0)))
    }),
    f!("toIntegerOrNull", 1..=1, &[Ty::ANY], Ty::INT, |_, args| {
        Ok(to_integer(arg(args, 0)).unwrap_or_default())
    }),
    f!("toFloatOrNull", 1..=1, &[Ty::ANY], Ty::FLOAT, |_, args| {
        Ok(to_float(arg(args, 0)).unwrap_or_default())
    }),
    f!("toBooleanOrNull", 1..=1, &[Ty::ANY], Ty::BOOL, |_, args| {
        Ok(to_boolean(arg(args, 0)).unwrap_or_default())
    }),
    f!("toStringOrNull", 1..=1, &[Ty::ANY], Ty::TEXT, |view, args| {
        Ok(to_text(view, arg(args, 0)).unwrap_or_default())
    }),
];

fn id(view: &GraphView, args: &[Value]) -> Res<Value> {
    match arg(args, 0) {
        Value::Scalar(Scalar::Null) => Ok(Value::NULL),
        Value::Node(v) => Ok(view.node_id(*v)),
        Value::Edge(e) => Ok(view.edge_id(e.row)),
        other => Err(wrong("id", "a node or a relationship", other)),
    }
}

/// A float without its fraction, when that fits.
fn truncated(v: f64) -> Value {
    let whole = v.trunc();
    let natural = || exact_u64(whole).map(Value::uint);
    exact_i64(whole).map(Value::int).or_else(natural).unwrap_or_default()
}

/// `None` for a value of a kind that has no integer.
fn to_integer(v: &Value) -> Option<Value> {
    Some(match v {
        Value::Scalar(Scalar::Null) => Value::NULL,
        Value::Scalar(Scalar::Int(v)) => Value::int(*v),
        Value::Scalar(Scalar::UInt(v)) => Value::uint(*v),
        Value::Scalar(Scalar::Bool(v)) => Value::int(i64::from(*v)),
        Value::Scalar(Scalar::Float(v)) => truncated(*v),
        Value::Scalar(Scalar::Text(text)) => {
            let text = text.trim();
            let float = || text.parse::<f64>().ok().filter(|v| v.is_finite()).map(truncated);
            let whole = || text.parse::<i128>().ok().and_then(Scalar::of_whole).map(Value::Scalar);
            whole().or_else(float).unwrap_or_default()
        }
        _ => return None,
    })
}

fn to_float(v: &Value) -> Option<Value> {
    Some(match v {
        Value::Scalar(Scalar::Null) => Value::NULL,
        Value::Scalar(Scalar::Int(v)) => Value::float(nearest_f64(*v)),
        Value::Scalar(Scalar::UInt(v)) => Value::float(nearest_f64_of_u64(*v)),
        Value::Scalar(Scalar::Float(v)) => Value::float(*v),
        Value::Scalar(Scalar::Text(text)) => {
            text.trim().parse().ok().map_or(Value::NULL, Value::float)
        }
        _ => return None,
    })
}

fn to_boolean(v: &Value) -> Option<Value> {
    Some(match v {
        Value::Scalar(Scalar::Null) => Value::NULL,
        Value::Scalar(Scalar::Bool(v)) => Value::bool(*v),
        Value::Scalar(Scalar::Int(v)) => Value::bool(*v != 0),
        Value::Scalar(Scalar::UInt(_)) => Value::bool(true),
        Value::Scalar(Scalar::Text(text)) => match text.trim().to_lowercase().as_str() {
            "true" => Value::bool(true),
            "false" => Value::bool(false),
            _ => Value::NULL,
        },
        _ => return None,
    })
}

fn to_text(view: &GraphView, v: &Value) -> Option<Value> {
    Some(match v {
        Value::Scalar(Scalar::Null) => Value::NULL,
        Value::Scalar(Scalar::Text(text)) => Value::text(Arc::clone(text)),
        Value::Scalar(Scalar::Temporal(t)) => Value::text(t.to_string()),
        Value::Duration(d) => Value::text(d.to_string()),
        Value::Scalar(Scalar::Bool(_) | Scalar::Int(_) | Scalar::UInt(_) | Scalar::Float(_)) => {
            Value::text(text_of(view, v))
        }
        _ => return None,
    })
}
