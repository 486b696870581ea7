//! One operation object.

use graphlume_expr::{Cmp, ErrorCode, QueryError};
use graphlume_store::CallOp;
use graphlume_types::limits::{QUERY_HOPS_MAX, QUERY_TEXT_CHARS_MAX};
use serde_json::Value;

use super::predicate::test;
use super::{Clause, EdgeOp, Filter, NodeOp, Object, Op, unknown_kind};
use graphlume_graph::Direction;

/// Reads an operation. Index statements are operations that do nothing.
pub(super) fn op(value: &Value) -> Result<Vec<Op>, QueryError> {
    let Some(object) = value.as_object() else {
        return Err(QueryError::new(ErrorCode::ChainType, "an operation is an object with a type")
            .value(value));
    };
    let kind = object.get("type").and_then(Value::as_str).ok_or_else(|| {
        QueryError::new(ErrorCode::MissingField, "the operation has no type")
            .field("type")
            .suggest("add \"type\": \"Node\", \"Edge\" or \"Call\"")
    })?;
    Ok(match kind {
        "Node" => vec![Op::Node(node(object)?)],
        "Edge" => vec![Op::Edge(Box::new(edge(object)?))],
        "Call" => vec![Op::Call(call(object)?)],
        "CreateIndex" | "DropIndex" | "ShowIndexes" => vec![],
        "Ref" | "RemoteGraph" | "Let" | "QueryDAG" | "Chain" => {
            return Err(QueryError::new(
                ErrorCode::Unsupported,
                format!("a {kind} cannot be a step of a chain"),
            )
            .field("type")
            .suggest("bind it in a Let and refer to it"));
        }
        other => return Err(unknown_kind(other)),
    })
}

/// A text field that must be there and not be empty.
pub(super) fn name(object: &Object, field: &str) -> Result<String, QueryError> {
    match object.get(field) {
        Some(Value::String(text)) if !text.is_empty() => Ok(text.clone()),
        Some(Value::String(_)) => {
            Err(QueryError::new(ErrorCode::Empty, format!("{field:?} must not be empty"))
                .field(field))
        }
        Some(other) => Err(QueryError::new(ErrorCode::Type, format!("{field:?} must be a text"))
            .field(field)
            .value(other)),
        None => {
            Err(QueryError::new(ErrorCode::MissingField, format!("{field:?} is missing"))
                .field(field))
        }
    }
}

fn text(object: &Object, field: &str, code: ErrorCode) -> Result<Option<String>, QueryError> {
    match object.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.chars().count() <= QUERY_TEXT_CHARS_MAX => {
            Ok(Some(text.clone()))
        }
        Some(Value::String(_)) => Err(QueryError::new(
            ErrorCode::Limit,
            format!("{field:?} is longer than {QUERY_TEXT_CHARS_MAX} characters"),
        )
        .field(field)),
        Some(other) => Err(QueryError::new(code, format!("{field:?} must be a text"))
            .field(field)
            .value(other)),
    }
}

fn marker(object: &Object, field: &str) -> Result<Option<String>, QueryError> {
    let name = text(object, field, ErrorCode::Name)?;
    if let Some(name) = name.as_deref().filter(|n| is_reserved(n)) {
        return Err(QueryError::new(
            ErrorCode::Name,
            "names of the form __gfql_...__ are reserved",
        )
        .field(field)
        .value(name));
    }
    Ok(name)
}

fn is_reserved(name: &str) -> bool {
    name.starts_with("__gfql_") && name.ends_with("__")
}

/// A filter of columns.
pub(crate) fn filter(value: Option<&Value>, field: &str) -> Result<Filter, QueryError> {
    match value {
        None | Some(Value::Null) => Ok(vec![]),
        Some(Value::Object(object)) => {
            if let Some(key) = object.keys().find(|k| is_reserved(k)) {
                let text = "columns of the form __gfql_...__ are reserved";
                return Err(QueryError::new(ErrorCode::FilterKey, text).field(key.as_str()));
            }
            object.iter().map(|(k, v)| Ok((k.clone(), test(k, v)?))).collect()
        }
        Some(other) => {
            Err(QueryError::new(ErrorCode::Type, format!("{field:?} must be an object"))
                .field(field)
                .value(other)
                .suggest(
                    "for example {\"type\": \"person\", \"age\": {\"type\": \"GT\", \"val\": 30}}",
                ))
        }
    }
}

fn node(object: &Object) -> Result<NodeOp, QueryError> {
    Ok(NodeOp {
        filter: filter(object.get("filter_dict"), "filter_dict")?,
        name: marker(object, "name")?,
        query: text(object, "query", ErrorCode::QueryType)?,
    })
}

fn side(object: &Object, matches: &str, query: &str) -> Result<NodeOp, QueryError> {
    Ok(NodeOp {
        filter: filter(object.get(matches), matches)?,
        name: None,
        query: text(object, query, ErrorCode::QueryType)?,
    })
}

fn hops(object: &Object, field: &str, least: u32) -> Result<Option<u32>, QueryError> {
    match object.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => {
            let number = value.as_u64().and_then(|n| u32::try_from(n).ok());
            match number.filter(|n| *n >= least) {
                Some(n) if n <= QUERY_HOPS_MAX => Ok(Some(n)),
                Some(_) => Err(QueryError::new(
                    ErrorCode::Limit,
                    format!("{field:?} is above the limit of {QUERY_HOPS_MAX}"),
                )
                .field(field)
                .value(value)
                .suggest("use \"to_fixed_point\": true")),
                None => Err(QueryError::new(
                    ErrorCode::Hops,
                    format!("{field:?} must be a whole number of at least {least}"),
                )
                .field(field)
                .value(value)
                .suggest("use \"to_fixed_point\": true for no bound")),
            }
        }
    }
}

fn flag(object: &Object, field: &str) -> Result<bool, QueryError> {
    match object.get(field) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(v)) => Ok(*v),
        Some(other) => {
            Err(QueryError::new(ErrorCode::Type, format!("{field:?} must be true or false"))
                .field(field)
                .value(other))
        }
    }
}

fn edge(object: &Object) -> Result<EdgeOp, QueryError> {
    let direction = match object.get("direction").and_then(Value::as_str) {
        Some("forward") => Direction::Forward,
        Some("reverse") => Direction::Reverse,
        Some("undirected") => Direction::Undirected,
        _ => {
            let (code, text) = match object.get("direction") {
                None => (ErrorCode::MissingField, "the edge has no direction"),
                Some(_) => (ErrorCode::Direction, "the direction does not exist"),
            };
            let value = object.get("direction").unwrap_or(&Value::Null);
            return Err(QueryError::new(code, text)
                .field("direction")
                .value(value)
                .suggest("use \"forward\", \"reverse\" or \"undirected\""));
        }
    };
    bounded(object, direction)
}

/// The edge step that the fields of `object` describe.
pub(crate) fn bounded(object: &Object, direction: Direction) -> Result<EdgeOp, QueryError> {
    let (named, least, most) =
        (hops(object, "hops", 1)?, hops(object, "min_hops", 0)?, hops(object, "max_hops", 0)?);
    let (output_min, output_max) =
        (hops(object, "output_min_hops", 0)?, hops(object, "output_max_hops", 0)?);
    let fixed = flag(object, "to_fixed_point")?;
    let bounds = least.is_some() || output_min.is_some() || output_max.is_some();
    let max = if fixed {
        None
    } else {
        // Nothing said at all is one hop; a lower bound or a slice alone has no upper bound.
        most.or(named).or(if bounds { None } else { Some(1) })
    };
    let min = least.unwrap_or(u32::from(max != Some(0)));
    let contradiction = if max.is_some_and(|max| min > max) {
        Some(("min_hops", "the least number of hops is above the greatest"))
    } else if output_min.zip(output_max).is_some_and(|(a, b)| a > b) {
        Some(("output_min_hops", "output_min_hops is above output_max_hops"))
    } else if output_min.zip(max).is_some_and(|(a, b)| a > b) {
        Some(("output_min_hops", "output_min_hops is above the greatest number of hops"))
    } else if output_max.is_some_and(|b| b < min) {
        Some(("output_max_hops", "output_max_hops is below the least number of hops"))
    } else {
        None
    };
    if let Some((field, message)) = contradiction {
        let value = object.get(field).unwrap_or(&Value::Null);
        return Err(QueryError::new(ErrorCode::Hops, message).field(field).value(value));
    }
    Ok(EdgeOp {
        direction,
        min,
        max,
        min_named: least.is_some_and(|n| n > 0),
        output_min,
        output_max,
        label_nodes: marker(object, "label_node_hops")?,
        label_edges: marker(object, "label_edge_hops")?,
        label_seeds: flag(object, "label_seeds")?,
        zero_hop_seed: flag(object, "include_zero_hop_seed")?,
        edge: side(object, "edge_match", "edge_query")?,
        source: side(object, "source_node_match", "source_node_query")?,
        destination: side(object, "destination_node_match", "destination_node_query")?,
        name: marker(object, "name")?,
    })
}

fn call(object: &Object) -> Result<CallOp, QueryError> {
    let function = name(object, "function")?;
    let params = match object.get("params") {
        None | Some(Value::Null) => Object::new(),
        Some(Value::Object(params)) => params.clone(),
        Some(other) => {
            return Err(QueryError::new(ErrorCode::Type, "\"params\" must be an object")
                .field("params")
                .value(other));
        }
    };
    Ok(CallOp { function, params })
}

/// One condition between two columns.
pub(super) fn clause(value: &Value) -> Result<Clause, QueryError> {
    let wrong = |message: &str| {
        QueryError::new(ErrorCode::Type, message)
            .field("where")
            .value(value)
            .suggest("for example {\"eq\": {\"left\": \"a.team\", \"right\": \"b.team\"}}")
    };
    let object = value.as_object().filter(|o| o.len() == 1);
    let Some((name, sides)) = object.and_then(|o| o.iter().next()) else {
        return Err(wrong("a condition is an object with one comparison"));
    };
    let cmp = match name.as_str() {
        "eq" => Cmp::Eq,
        "neq" => Cmp::Ne,
        "lt" => Cmp::Lt,
        "le" => Cmp::Le,
        "gt" => Cmp::Gt,
        "ge" => Cmp::Ge,
        _ => return Err(wrong("the comparison must be eq, neq, lt, le, gt or ge")),
    };
    let side = |name: &str| {
        let text = sides.get(name).and_then(Value::as_str);
        let parts = text.and_then(|t| t.split_once('.'));
        let parts = parts.filter(|(alias, column)| !alias.is_empty() && !column.is_empty());
        parts
            .map(|(alias, column)| (alias.to_owned(), column.to_owned()))
            .ok_or_else(|| wrong("each side of a condition is \"alias.column\""))
    };
    Ok(Clause { cmp, left: side("left")?, right: side("right")? })
}
