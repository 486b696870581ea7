//! The body of a query: every complaint names its field.

use std::sync::{Arc, LazyLock};

use graphlume_calls::signature::ENGINES;
use graphlume_cypher::NumberIds;
use graphlume_engine::ParsedQuery;
use graphlume_expr::{ErrorCode, QueryError, Strictness};
use graphlume_ingest::ExportFormat;
use serde_json::{Map, Value, json};

use super::QueryOutput;
use crate::error::ServiceError;

pub(super) fn text_of(
    body: &Map<String, Value>,
    field: &'static str,
) -> Result<Option<String>, ServiceError> {
    match body.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => {
            Err(ServiceError::invalid(field, format!("{field} is {other}; it has to be a text")))
        }
    }
}

pub(super) fn flag_of(
    body: &Map<String, Value>,
    field: &'static str,
) -> Result<bool, ServiceError> {
    match body.get(field) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(v)) => Ok(*v),
        Some(other) => Err(ServiceError::invalid(
            field,
            format!("{field} is {other}; it has to be true or false"),
        )),
    }
}

pub(super) fn columns_of(
    body: &Map<String, Value>,
    field: &'static str,
) -> Result<Option<Vec<String>>, ServiceError> {
    let wrong =
        || ServiceError::invalid(field, format!("{field} has to be a list of column names"));
    match body.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(items)) => {
            let names = items.iter().map(|v| v.as_str().map(str::to_owned).ok_or_else(wrong));
            Ok(Some(names.collect::<Result<_, _>>()?))
        }
        Some(_) => Err(wrong()),
    }
}

pub(super) fn format_of(
    body: &Map<String, Value>,
    output: QueryOutput,
) -> Result<ExportFormat, ServiceError> {
    let format = match text_of(body, "format")? {
        Some(name) => format_named(&name)?,
        None if output == QueryOutput::Shape => ExportFormat::Json,
        None => ExportFormat::Parquet,
    };
    escaped(format, text_of(body, "escape")?.as_deref())
}

/// The format with what is to be escaped in it.
pub(super) fn escaped(
    format: ExportFormat,
    escape: Option<&str>,
) -> Result<ExportFormat, ServiceError> {
    format.escaped(escape).map_err(|e| ServiceError::invalid("escape", e.to_string()))
}

/// The format of a name.
pub(super) fn format_named(name: &str) -> Result<ExportFormat, ServiceError> {
    name.parse().map_err(|()| {
        let names = ExportFormat::NAMES.join(", ");
        ServiceError::invalid(
            "format",
            format!("format {name:?} does not exist; use one of {names}"),
        )
    })
}

pub(super) fn strictness_of(body: &Map<String, Value>) -> Result<Strictness, ServiceError> {
    match text_of(body, "strictness")?.as_deref() {
        None | Some("warn" | "quiet") => Ok(Strictness::Lenient),
        Some("strict") => Ok(Strictness::Strict),
        Some(other) => {
            let message = format!("strictness {other:?} does not exist; use strict, warn or quiet");
            Err(ServiceError::invalid("strictness", message))
        }
    }
}

/// Refuses an engine that no client has; all give the same answer.
pub(super) fn check_engine(body: &Map<String, Value>) -> Result<(), ServiceError> {
    match text_of(body, "engine")? {
        Some(name) if !ENGINES.contains(&name.as_str()) => {
            let names = ENGINES.join(", ");
            let message =
                format!("engine {name:?} does not exist; leave it out, or use one of {names}");
            Err(ServiceError::invalid("engine", message))
        }
        _ => Ok(()),
    }
}

/// What `df_export_args` may say of each format: what is done anyway.
fn export_args(format: ExportFormat) -> &'static [(&'static str, Value)] {
    static CSV: LazyLock<Vec<(&str, Value)>> = LazyLock::new(|| {
        let texts = [("sep", ","), ("na_rep", ""), ("encoding", "utf-8"), ("lineterminator", "\n")];
        let texts = texts.map(|(name, value)| (name, json!(value)));
        texts.into_iter().chain([("index", json!(false)), ("header", json!(true))]).collect()
    });
    static JSON: LazyLock<Vec<(&str, Value)>> = LazyLock::new(|| {
        let flags = [("index", false), ("lines", false), ("force_ascii", false)];
        let flags = flags.map(|(name, value)| (name, json!(value)));
        flags.into_iter().chain([("orient", json!("records"))]).collect()
    });
    static PARQUET: LazyLock<Vec<(&str, Value)>> = LazyLock::new(|| {
        vec![
            ("index", json!(false)),
            ("compression", json!("snappy")),
            ("engine", json!("pyarrow")),
        ]
    });
    match format {
        ExportFormat::Csv | ExportFormat::CsvEscaped => &CSV,
        ExportFormat::Json => &JSON,
        ExportFormat::Parquet => &PARQUET,
    }
}

/// Refuses what `df_export_args` asks for and is not done. Null says nothing.
pub(super) fn check_export_args(
    body: &Map<String, Value>,
    format: ExportFormat,
) -> Result<(), ServiceError> {
    const FIELD: &str = "df_export_args";
    let given = match body.get(FIELD) {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Object(given)) => given,
        Some(other) => {
            let message = format!("{FIELD} is {other}; it has to be an object");
            return Err(ServiceError::invalid(FIELD, message));
        }
    };
    let known = export_args(format);
    for (name, value) in given.iter().filter(|(_, value)| !value.is_null()) {
        let done = known.iter().find(|(own, _)| own == name).map(|(_, done)| done);
        let message = match done {
            Some(done) if done == value => continue,
            Some(done) => format!(
                "{FIELD}.{name} is {value}, and answers in {} have {done}; leave it out",
                format.name()
            ),
            None => {
                let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
                format!(
                    "{FIELD} has {name:?}, which answers in {} do not have; leave it out, name columns by node_col_subset and \
                     edge_col_subset; known are: {}",
                    format.name(),
                    names.join(", ")
                )
            }
        };
        return Err(ServiceError::invalid(FIELD, message));
    }
    Ok(())
}

/// The query of a request: `gfql_query` where it is given, else `gfql_operations`, with its `params` and `gfql_output`.
pub(super) fn query_of(body: &Map<String, Value>) -> Result<ParsedQuery, ServiceError> {
    let given = |field: &str| body.get(field).filter(|v| !v.is_null());
    let query = given("gfql_query").or_else(|| given("gfql_operations")).ok_or_else(|| {
        let message = "send the query as gfql_query, or a list of operations as gfql_operations";
        ServiceError::invalid("gfql_query", message)
    })?;
    let output = text_of(body, "gfql_output")?;
    if let (Value::String(_), Some(output)) = (query, &output) {
        return Err(QueryError::new(ErrorCode::Output, "only a Let has named results")
            .field("gfql_output")
            .value(output)
            .suggest("leave gfql_output out")
            .into());
    }
    let params = match body.get("params") {
        Some(Value::Object(params)) => params.clone(),
        Some(other) if query.is_string() && !other.is_null() => {
            return Err(ServiceError::invalid("params", "params has to be an object"));
        }
        _ => Map::new(),
    };
    Ok(match parse_query(query, &NumberIds::default())? {
        ParsedQuery::Gfql(query, _) => ParsedQuery::Gfql(query, output),
        ParsedQuery::Cypher(text, _) => ParsedQuery::Cypher(text, params),
        rule @ ParsedQuery::Rule(_) => rule,
    })
}

/// A query: a text is one of Cypher, in which texts of digits find `ids`, and all else operations or a Let.
pub(crate) fn parse_query(query: &Value, ids: &NumberIds) -> Result<ParsedQuery, ServiceError> {
    if let Value::String(text) = query {
        let text = graphlume_cypher::parse_text_with(text, ids)?;
        return Ok(ParsedQuery::Cypher(Arc::new(text), Map::new()));
    }
    Ok(ParsedQuery::Gfql(Arc::new(graphlume_gfql::parse(query)?), None))
}
