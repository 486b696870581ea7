//! `sql_transforms`: read-only queries over the tables of a file, by polars.
//!
//! A query sees the file's tables under their names, also as `table_0`, `table_1` and so on, the first one
//! also as `data`, and the results of the queries before it. The results take the place of the tables.
//! polars is built without its readers, so that no query can open a file; memory and time are those of
//! the worker that runs it.

#[cfg(feature = "sql")]
mod bridge;
#[cfg(feature = "sql")]
mod reason;
#[cfg(feature = "sql")]
mod run;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{IngestError, ParseCx, Parsed};
use graphlume_types::limits::{SQL_CHARS_MAX, SQL_QUERIES_MAX};

/// One query and the name of its result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SqlTransform {
    /// Name of the table that it makes.
    pub name: String,
    /// A `SELECT`.
    pub sql: String,
}

const FIELD: &str = "sql_transforms";
const FORMS: &str = "use a query, a list of queries or of {\"name\", \"sql\"}, or an object of names and \
                     queries";

/// Reads the field of a file record: null, a query, a list of queries, a list of `{name, sql}`, or an
/// object of names and queries.
///
/// # Errors
/// Any other form, too many queries, a name given twice.
pub fn sql_transforms(given: &Value) -> Result<Vec<SqlTransform>, IngestError> {
    let list = match given {
        Value::Null => Vec::new(),
        Value::String(sql) if sql.trim().is_empty() => Vec::new(),
        Value::String(_) => vec![one(0, given)?],
        Value::Array(items) => {
            items.iter().enumerate().map(|(i, v)| one(i, v)).collect::<Result<_, _>>()?
        }
        Value::Object(map) => {
            map.iter().map(|(name, sql)| named(name, sql)).collect::<Result<_, _>>()?
        }
        _ => return Err(IngestError::option(FIELD, FORMS)),
    };
    if list.len() > SQL_QUERIES_MAX {
        let message = format!("there are {} queries; the limit is {SQL_QUERIES_MAX}", list.len());
        return Err(IngestError::option(FIELD, message));
    }
    for (i, t) in list.iter().enumerate() {
        if list[..i].iter().any(|other| other.name == t.name) {
            let message = format!("the name {:?} is given twice", t.name);
            return Err(IngestError::option(FIELD, message));
        }
    }
    Ok(list)
}

fn one(index: usize, given: &Value) -> Result<SqlTransform, IngestError> {
    match given {
        Value::String(_) => named(&format!("result_{index}"), given),
        Value::Object(map) => {
            let name = map.get("name").and_then(Value::as_str);
            let sql = map.get("sql").ok_or_else(|| IngestError::option(FIELD, FORMS))?;
            named(name.unwrap_or(&format!("result_{index}")), sql)
        }
        _ => Err(IngestError::option(FIELD, FORMS)),
    }
}

fn named(name: &str, sql: &Value) -> Result<SqlTransform, IngestError> {
    let sql = sql.as_str().ok_or_else(|| IngestError::option(FIELD, FORMS))?;
    if sql.chars().count() > SQL_CHARS_MAX {
        let message = format!("a query has more than {SQL_CHARS_MAX} characters");
        return Err(IngestError::option(FIELD, message));
    }
    Ok(SqlTransform { name: name.to_owned(), sql: sql.to_owned() })
}

/// Runs the queries; without any, the tables stay as they are.
#[cfg(feature = "sql")]
pub(crate) fn transform(
    queries: &[SqlTransform],
    parsed: Parsed,
    cx: &ParseCx,
) -> Result<Parsed, IngestError> {
    if queries.is_empty() { Ok(parsed) } else { run::all(queries, parsed, cx) }
}

/// This build has no SQL.
#[cfg(not(feature = "sql"))]
pub(crate) fn transform(
    queries: &[SqlTransform],
    parsed: Parsed,
    _: &ParseCx,
) -> Result<Parsed, IngestError> {
    if queries.is_empty() {
        return Ok(parsed);
    }
    Err(IngestError::option(FIELD, "this build carries out no SQL; send transformed data"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use graphlume_types::Coded;
    use serde_json::json;

    use super::*;

    #[test]
    fn every_form_names_its_results() {
        let names = |v: Value| -> Vec<String> {
            sql_transforms(&v).unwrap().into_iter().map(|t| t.name).collect()
        };
        assert!(names(Value::Null).is_empty() && names(json!("")).is_empty());
        assert_eq!(names(json!("SELECT 1")), ["result_0"]);
        assert_eq!(names(json!(["SELECT 1", {"sql": "SELECT 2"}])), ["result_0", "result_1"]);
        assert_eq!(names(json!([{"name": "edges", "sql": "SELECT 1"}])), ["edges"]);
        assert_eq!(names(json!({"nodes": "SELECT 1", "edges": "SELECT 2"})), ["nodes", "edges"]);
    }

    #[test]
    fn other_forms_are_named_errors() {
        let twice = json!([{"name": "a", "sql": "SELECT 1"}, {"name": "a", "sql": "SELECT 2"}]);
        let long = "x".repeat(SQL_CHARS_MAX + 1);
        let many = vec!["SELECT 1"; SQL_QUERIES_MAX + 1];
        for bad in [json!(1), json!([1]), json!([{"name": "a"}]), twice, json!(long), json!(many)] {
            let e = sql_transforms(&bad).unwrap_err();
            assert_eq!((e.slug(), e.field()), ("invalid-option", Some(FIELD)));
        }
    }
}
