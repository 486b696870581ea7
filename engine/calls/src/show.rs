//! Calls that choose the columns, colours, sizes and texts of a picture, and the answers to clients about them
//! beside the tables.

use graphlume_expr::{ErrorCode, QueryError};
use graphlume_store::{CallOp, PropertyGraph};
use serde_json::{Map, Value, json};

use crate::context::CallContext;
use crate::params::Params;

/// Remembers a call after a look at its parameters.
pub(crate) fn noted(
    graph: &PropertyGraph,
    params: &Params<'_>,
    _: CallContext<'_>,
) -> Result<PropertyGraph, QueryError> {
    if let Some((of, _)) = feature(params.function) {
        let column = params.text("column")?.unwrap_or_default();
        let table = if of == "edge" { graph.edges() } else { graph.nodes() };
        if let Some(table) = table.filter(|t| t.column(column).is_none()) {
            let kind = if of == "edge" { "edge" } else { "node" };
            return Err(QueryError::no_column(column, kind, &table.column_names()));
        }
        encoding(params)?;
    } else if params.get("rows").is_some() {
        params.list("rows")?;
    } else {
        params.text(params.function)?;
    }
    let function = params.function.to_owned();
    Ok(graph.noted(&CallOp { function, params: params.map.clone() }))
}

/// What is shown, and by what: `("point", "color")` for `encode_point_color`.
fn feature(function: &str) -> Option<(&str, &str)> {
    function.strip_prefix("encode_")?.split_once('_')
}

/// How values become colours, sizes, texts or icons; nothing when the column's own values are meant.
fn encoding(params: &Params<'_>) -> Result<Option<Map<String, Value>>, QueryError> {
    let flag = |name: &str| match params.get(name) {
        None => Ok(None),
        Some(_) => params.flag(name, false).map(Some),
    };
    let (categorical, continuous) = (flag("as_categorical")?, flag("as_continuous")?);
    let mut made = Map::new();
    let other = params.get("default_mapping");
    let with_other = |key: &str, value: &Value| {
        let mut inner = Map::from_iter([(key.to_owned(), value.clone())]);
        inner.extend(other.map(|v| ("other".to_owned(), v.clone())));
        inner
    };
    if let Some(mapping) = params.get("categorical_mapping") {
        if !mapping.is_object() {
            return Err(params.wrong("categorical_mapping", "an object of values", mapping));
        }
        made.insert("variation".to_owned(), "categorical".into());
        made.insert("mapping".to_owned(), json!({"categorical": with_other("fixed", mapping)}));
    } else if params.get("palette").is_some() {
        let colors = params.texts("palette")?;
        let is_categorical = match (categorical, continuous) {
            (Some(is), _) => is,
            (None, Some(is)) => !is,
            (None, None) => {
                let text = "a palette needs to know whether the values are categories";
                return Err(QueryError::new(ErrorCode::MissingField, text)
                    .field("params.as_continuous")
                    .suggest("add \"as_continuous\": true or \"as_categorical\": true"));
            }
        };
        let variation = if is_categorical { "categorical" } else { "continuous" };
        made.insert("variation".to_owned(), variation.into());
        made.insert("colors".to_owned(), colors.into());
    } else if params.get("continuous_binning").is_some() {
        params.list("continuous_binning")?;
        let bins = params.get("continuous_binning").unwrap_or(&Value::Null);
        made.insert("variation".to_owned(), "continuous".into());
        made.insert("mapping".to_owned(), json!({"continuous": with_other("bins", bins)}));
    } else {
        return Ok(None);
    }
    if params.function.ends_with("_icon") {
        made.insert("asText".to_owned(), params.flag("as_text", false)?.into());
    }
    Ok(Some(made))
}

/// What clients restore beside the tables: the columns that make the graph, those that are shown and
/// how, the name and the description, and settings of the page.
#[must_use]
pub fn shown(graph: &PropertyGraph) -> Value {
    let bindings = graph.bindings();
    let roles = [
        ("node", bindings.node.as_deref()),
        ("source", bindings.source.as_deref()),
        ("destination", bindings.destination.as_deref()),
    ];
    let bound = roles.iter().filter_map(|(role, column)| Some((*role, (*column)?)));
    let bound: Map<String, Value> = bound.map(|(r, c)| (r.to_owned(), c.into())).collect();
    let (mut columns, mut texts) = (Map::new(), Map::new());
    let (mut nodes, mut edges) = (Map::new(), Map::new());
    let mut settings = Map::new();
    for note in graph.notes() {
        let params = Params { function: &note.function, map: &note.params };
        let column = params.get("column").cloned().unwrap_or_default();
        match (feature(&note.function), note.function.as_str()) {
            (Some((of, feature)), _) => match encoding(&params) {
                Ok(Some(mut made)) => {
                    made.insert("graphType".to_owned(), of.into());
                    made.insert("encodingType".to_owned(), feature.into());
                    made.insert("attribute".to_owned(), column);
                    let mut name = feature.to_owned();
                    if let Some(first) = name.get_mut(..1) {
                        first.make_ascii_uppercase();
                    }
                    let into = if of == "edge" { &mut edges } else { &mut nodes };
                    into.insert(format!("{of}{name}Encoding"), Value::Object(made));
                }
                _ => {
                    columns.insert(format!("{of}_{feature}"), column);
                }
            },
            (None, "encode_axis") => {
                let rows = params.get("rows").cloned().unwrap_or_else(|| json!([]));
                let axis = json!({"graphType": "point", "encodingType": "axis",
                    "variation": "categorical", "attribute": "degree", "rows": rows});
                nodes.insert("pointAxisEncoding".to_owned(), axis);
            }
            (None, name @ ("name" | "description")) => {
                texts.extend(params.get(name).map(|text| (name.to_owned(), text.clone())));
            }
            (None, setting) => {
                settings.extend(params.get(setting).map(|v| (setting.to_owned(), v.clone())));
            }
        }
    }
    if !nodes.is_empty() || !edges.is_empty() {
        let complex = json!({
            "node_encodings": {"default": nodes, "current": {}},
            "edge_encodings": {"default": edges, "current": {}},
        });
        columns.insert("complex_encodings".to_owned(), complex);
    }
    let mut all = json!({"bindings": bound, "encodings": columns, "metadata": texts});
    if !settings.is_empty() {
        // Clients put these in the place of their own, of which this one is always there.
        settings.entry("info").or_insert_with(|| "true".into());
        all["url_params"] = settings.into();
    }
    all
}
