//! Bindings and complex encodings as clients send them, made uniform: bindings name columns, `complex`
//! is an object of `default` and `current` or absent.

use graphlume_identity::body::{self, kind, missing};
use graphlume_storage::TableSchema;
use graphlume_types::{Notice, note};
use serde_json::{Map, Value, json};

use crate::error::ServiceError;

const NODE_BINDINGS: &[&str] = &[
    "node",
    "node_color",
    "node_label",
    "node_opacity",
    "node_size",
    "node_title",
    "node_weight",
    "node_icon",
    "node_x",
    "node_y",
    "node_z",
    "node_longitude",
    "node_latitude",
];

const EDGE_BINDINGS: &[&str] = &[
    "source",
    "destination",
    "edge",
    "edge_color",
    "edge_source_color",
    "edge_destination_color",
    "edge_label",
    "edge_opacity",
    "edge_size",
    "edge_title",
    "edge_weight",
    "edge_icon",
];

/// Which side of the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ElementKind {
    /// The node table.
    Nodes,
    /// The edge table.
    Edges,
}

impl ElementKind {
    /// The create field with this side's encodings.
    pub(crate) const fn encodings_field(self) -> &'static str {
        match self {
            Self::Nodes => "node_encodings",
            Self::Edges => "edge_encodings",
        }
    }

    /// The create field with this side's files.
    pub(crate) const fn files_field(self) -> &'static str {
        match self {
            Self::Nodes => "node_files",
            Self::Edges => "edge_files",
        }
    }

    const fn known(self) -> &'static [&'static str] {
        match self {
            Self::Nodes => NODE_BINDINGS,
            Self::Edges => EDGE_BINDINGS,
        }
    }

    const fn prefix(self) -> &'static str {
        match self {
            Self::Nodes => "point",
            Self::Edges => "edge",
        }
    }
}

impl std::fmt::Display for ElementKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Nodes => "nodes",
            Self::Edges => "edges",
        })
    }
}

/// The uniform form of one side's encodings.
///
/// # Errors
/// A missing or misshapen object, a missing `bindings`, a binding that is not text. Unknown bindings and
/// unusable complex entries are dropped with a warning.
pub(crate) fn normalize(
    create: &Map<String, Value>,
    part: ElementKind,
    notices: &mut Vec<Notice>,
) -> Result<Value, ServiceError> {
    let field = part.encodings_field();
    let given = body::member(create, field)?
        .ok_or_else(|| missing(field, "an object with a bindings object in it"))?;
    let bindings = match given.get("bindings") {
        Some(Value::Object(b)) => b,
        None | Some(Value::Null) => {
            return Err(
                missing(&format!("{field}.bindings"), "an object of role and column name").into()
            );
        }
        Some(other) => {
            let at = format!("{field}.bindings");
            let message = format!("{at} is a JSON {}; expected an object", kind(other));
            return Err(ServiceError::invalid(at, message));
        }
    };
    let mut kept = Map::new();
    for (role, column) in bindings {
        match column {
            Value::Null => {}
            Value::String(_) if part.known().contains(&role.as_str()) => {
                kept.insert(role.clone(), column.clone());
            }
            Value::String(_) => {
                let text = format!("{field}.bindings.{role:.64} is unknown: ignored");
                note(notices, Notice::new("binding-unknown", text));
            }
            other => {
                let at = format!("{field}.bindings.{role:.64}");
                let message = format!("{at} is a JSON {}; expected a column name", kind(other));
                return Err(ServiceError::invalid(at, message));
            }
        }
    }
    let mut out = Map::new();
    out.insert("bindings".to_owned(), Value::Object(kept));
    if let Some(complex) = complex(given.get("complex"), part, notices)? {
        out.insert("complex".to_owned(), complex);
    }
    Ok(Value::Object(out))
}

/// `complex` as an object; null, `[]` and `{}` are nothing.
fn complex(
    given: Option<&Value>,
    part: ElementKind,
    notices: &mut Vec<Notice>,
) -> Result<Option<Value>, ServiceError> {
    let at = format!("{}.complex", part.encodings_field());
    match given {
        Some(Value::Object(m)) if !m.is_empty() => Ok(Some(Value::Object(m.clone()))),
        Some(Value::Array(entries)) if !entries.is_empty() => {
            let mut default = Map::new();
            for (i, entry) in entries.iter().enumerate() {
                match complex_key(entry, part) {
                    Some(key) => {
                        default.insert(key, entry.clone());
                    }
                    None => {
                        let text = format!(
                            "{at}[{i}] has no graphType {:?} and encodingType: ignored",
                            part.prefix()
                        );
                        note(notices, Notice::new("encoding-ignored", text));
                    }
                }
            }
            Ok((!default.is_empty()).then(|| json!({ "default": default })))
        }
        None | Some(Value::Null | Value::Object(_) | Value::Array(_)) => Ok(None),
        Some(other) => {
            let message = format!("{at} is a JSON {}; expected an object or an array", kind(other));
            Err(ServiceError::invalid(at, message))
        }
    }
}

/// `{graphType: "point", encodingType: "color"}` is the entry `pointColorEncoding`.
fn complex_key(entry: &Value, part: ElementKind) -> Option<String> {
    let of_part = entry.get("graphType").and_then(Value::as_str)? == part.prefix();
    let encoding = entry.get("encodingType").and_then(Value::as_str)?;
    let mut letters = encoding.chars();
    let first = letters.next().filter(|_| of_part)?.to_uppercase();
    Some(format!("{}{first}{}Encoding", part.prefix(), letters.as_str()))
}

/// The column bound to `role`.
pub(crate) fn bound<'a>(encodings: &'a Value, role: &str) -> Option<&'a str> {
    encodings.get("bindings")?.get(role)?.as_str()
}

/// Binds `role` to `column` when nothing is bound to it.
pub(crate) fn bind_default(encodings: &mut Value, role: &str, column: &str) {
    if bound(encodings, role).is_none() {
        encodings["bindings"][role] = Value::from(column);
    }
}

/// Checks the bindings that the graph cannot do without against the columns that are there, and warns
/// of the others.
///
/// # Errors
/// A bound `source`, `destination` or `node` that is no column, or a node table without `node`.
pub(crate) fn check_columns(
    encodings: &Value,
    part: ElementKind,
    schema: &TableSchema,
    notices: &mut Vec<Notice>,
) -> Result<(), ServiceError> {
    let structural: &[&str] = match part {
        ElementKind::Nodes => &["node"],
        ElementKind::Edges => &["source", "destination"],
    };
    let field = part.encodings_field();
    for role in structural {
        let at = format!("{field}.bindings.{role}");
        let Some(column) = bound(encodings, role) else {
            return Err(missing(&at, &format!("the name of a column of the {part}")).into());
        };
        if !schema.dtypes.contains_key(column) {
            let message = format!(
                "{at} names column {column:?}, which the {part} do not have; their columns are: {}",
                columns_text(schema)
            );
            return Err(ServiceError::invalid(at, message));
        }
    }
    let bindings = encodings.get("bindings").and_then(Value::as_object);
    for (role, column) in bindings.into_iter().flatten().filter(|(r, _)| !is_drawn(r)) {
        let column = column.as_str().unwrap_or_default();
        if !schema.dtypes.contains_key(column) {
            let text = format!(
                "{field}.bindings.{role} names column {column:?}, which the {part} do not have: ignored; their columns are: {}",
                columns_text(schema)
            );
            note(notices, Notice::new("column-missing", text));
        }
    }
    Ok(())
}

/// Whether the scene reads a role's column, and tells itself when there is none.
fn is_drawn(role: &str) -> bool {
    let drawn = ["_color", "_size", "_opacity", "_x", "_y", "_longitude", "_latitude"];
    drawn.iter().any(|d| role.ends_with(d)) || role == "edge_weight"
}

fn columns_text(schema: &TableSchema) -> String {
    const SHOWN: usize = 20;
    let mut out =
        schema.dtypes.keys().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    if schema.dtypes.len() > SHOWN {
        out.push_str(&format!(" and {} more", schema.dtypes.len() - SHOWN));
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use graphlume_types::Coded;

    fn norm(part: ElementKind, v: Value) -> (Result<Value, ServiceError>, Vec<Notice>) {
        let mut create = Map::new();
        create.insert(part.encodings_field().to_owned(), v);
        let mut notices = Vec::new();
        (normalize(&create, part, &mut notices), notices)
    }

    #[test]
    fn complex_is_an_object_or_absent_whatever_was_sent() {
        for nothing in [Value::Null, json!([]), json!({})] {
            let (out, notices) =
                norm(ElementKind::Nodes, json!({"bindings": {}, "complex": nothing}));
            assert_eq!(out.unwrap(), json!({"bindings": {}}));
            assert!(notices.is_empty());
        }
        let entry =
            json!({"graphType": "point", "encodingType": "badgeTopRight", "attribute": "a"});
        let foreign = json!({"graphType": "edge", "encodingType": "color"});
        let (out, notices) =
            norm(ElementKind::Nodes, json!({"bindings": {}, "complex": [entry, foreign, {}, 1]}));
        let want = json!({"default": {"pointBadgeTopRightEncoding": entry}});
        assert_eq!(out.unwrap()["complex"], want);
        assert_eq!(notices.len(), 3);
        let kept = json!({"current": {"edgeColorEncoding": {"colors": ["red"]}}});
        let (out, _) = norm(ElementKind::Edges, json!({"bindings": {}, "complex": kept}));
        assert_eq!(out.unwrap()["complex"], kept);
        assert!(norm(ElementKind::Nodes, json!({"bindings": {}, "complex": "x"})).0.is_err());
    }

    #[test]
    fn unknown_bindings_are_dropped_with_a_warning_and_null_ones_silently() {
        let (out, notices) = norm(
            ElementKind::Nodes,
            json!({"bindings": {"node": "id", "node_x": "x", "wings": "w", "node_size": null}}),
        );
        assert_eq!(out.unwrap(), json!({"bindings": {"node": "id", "node_x": "x"}}));
        assert_eq!(notices.len(), 1);
        assert!(notices[0].text.contains("wings"));
    }

    #[test]
    fn misshapen_encodings_name_their_field() {
        for (v, field) in [
            (Value::Null, "edge_encodings"),
            (json!([]), "edge_encodings"),
            (json!({}), "edge_encodings.bindings"),
            (json!({"bindings": []}), "edge_encodings.bindings"),
            (json!({"bindings": {"source": 1}}), "edge_encodings.bindings.source"),
        ] {
            let e = norm(ElementKind::Edges, v).0.unwrap_err();
            assert_eq!(e.field(), Some(field));
            assert!(e.to_string().starts_with(field));
        }
    }

    #[test]
    fn structural_columns_must_exist_and_others_are_only_warned_of() {
        let dtypes = json!({"s": "int64", "d": "int64"}).as_object().unwrap().clone();
        let schema = TableSchema { name: "t".into(), dtypes, num_cols: 2, num_rows: 1 };
        let check = |bindings: Value| {
            let mut w = Vec::new();
            let e = json!({ "bindings": bindings });
            check_columns(&e, ElementKind::Edges, &schema, &mut w).map(|()| w)
        };
        let told = check(json!({"source": "s", "destination": "d", "edge_label": "c"})).unwrap();
        assert_eq!(told.len(), 1);
        // The scene tells of those that it reads.
        let read = check(json!({"source": "s", "destination": "d", "edge_color": "c"})).unwrap();
        assert!(read.is_empty());
        let e = check(json!({"source": "s", "destination": "x"})).unwrap_err();
        assert_eq!(e.field(), Some("edge_encodings.bindings.destination"));
        assert!(e.to_string().contains("s, d"), "{e}");
        assert!(check(json!({"source": "s"})).is_err());
    }
}
