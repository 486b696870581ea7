//! Entries of a document: the values that each path may hold.

use std::sync::Arc;

use graphlume_engine::{FilterKind, LayoutSettings, Rule};
use graphlume_scene::check_axis_rows;
use graphlume_storage::JsonText;
use graphlume_types::limits::{
    COLLECTION_NAME_CHARS_MAX, DESCRIPTION_CHARS_MAX, DOCUMENT_VALUE_BYTES_MAX,
    ENCODING_COLORS_MAX, ENCODING_MAPPING_BYTES_MAX, NAME_CHARS_MAX,
};
use serde_json::{Map, Value, json};

use super::value::Ruled;
use super::{ARRANGEMENT, Change, Held, PARSED_BYTES, Payer};
use crate::error::ServiceError;
use crate::free_fields::json_bytes;

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathTarget<'a> {
    /// A filter or an exclusion, by its id.
    Filter(&'a str),
    /// Whether nodes without a visible edge are hidden.
    PruneOrphans,
    /// How a column colours or sizes elements, `node.color` and the like, or the axes under them.
    Encoding(&'a str),
    /// A collection, by its id.
    Collection(&'a str),
    /// Nodes that one disc stands for, by the id of the entry.
    Collapsed(&'a str),
    /// A node that is held in its place.
    Pin(u32),
    /// A knob of the layout.
    Setting(&'a str),
    /// How the picture looks otherwise.
    Look(&'a str),
    /// The layout that placed the nodes, which only layouts change.
    Arrangement,
}

/// The encoding of rings and lines under the graph, which follow no column.
const AXES: &str = "node.axis";
/// Encodings that there are.
const ENCODINGS: [&str; 9] = [
    "node.color",
    "node.size",
    "node.opacity",
    "node.icon",
    AXES,
    "edge.color",
    "edge.size",
    "edge.opacity",
    "edge.icon",
];
/// What `look/` may name: the settings of the picture that pages and the clients' scripts change.
const LOOKS: [&str; 22] = [
    "background",
    "edgeCurvature",
    "edgeOpacity",
    "edgeSize",
    "labelBackground",
    "labelColor",
    "labelEnabled",
    "labelHighlightEnabled",
    "labelInspectorEnabled",
    "labelLabelPOI",
    "labelOpacity",
    "labelPOI",
    "labelPOIMax",
    "labelPropertiesEnabled",
    "labelShowActions",
    "neighborhoodHighlight",
    "neighborhoodHighlightHops",
    "pointOpacity",
    "pointSize",
    "pointStrokeWidth",
    "showArrows",
    "showToolbar",
];
/// Characters of an id that a page chooses.
const ID_CHARS_MAX: usize = 64;
/// Characters of a text of `look/`.
const LOOK_CHARS_MAX: usize = 200;
/// Forms of a rule, by their one field.
const RULES: [&str; 7] = ["expr", "brush", "nodes", "ego", "query", "gfql", "sets"];

impl<'a> PathTarget<'a> {
    /// Whether a page that does not control the session may change it, for itself alone.
    pub(crate) const fn is_private(&self) -> bool {
        matches!(self, Self::Filter(_) | Self::PruneOrphans | Self::Collapsed(_) | Self::Look(_))
    }

    /// What `path` leads to.
    ///
    /// # Errors
    /// A path that leads nowhere, with the ones that there are.
    pub(crate) fn of(path: &'a str) -> Result<Self, ServiceError> {
        let nowhere = || {
            let shown: String = path.chars().take(80).collect();
            refusal(
                "unknown-path",
                format!(
                    "path {shown:?} leads nowhere; there are filters/<id>, prune_orphans, encodings/<{}>, \
                     collections/<id>, collapsed/<id>, pins/<node>, settings/<knob of the layout> and look/<{}>",
                    ENCODINGS.join("|"),
                    LOOKS.join("|")
                ),
            )
        };
        match path {
            "prune_orphans" => return Ok(Self::PruneOrphans),
            ARRANGEMENT => return Ok(Self::Arrangement),
            _ => {}
        }
        let (root, name) = path.split_once('/').ok_or_else(nowhere)?;
        match root {
            "filters" => checked_id(name).map(Self::Filter),
            "collections" => checked_id(name).map(Self::Collection),
            "collapsed" => checked_id(name).map(Self::Collapsed),
            "pins" => name.parse().map(Self::Pin).map_err(|_| nowhere()),
            "encodings" if ENCODINGS.contains(&name) => Ok(Self::Encoding(name)),
            "settings" if LayoutSettings::is_knob(name) => Ok(Self::Setting(name)),
            "look" if LOOKS.contains(&name) => Ok(Self::Look(name)),
            _ => Err(nowhere()),
        }
    }
}

/// A change whose value is what its path may hold, with every field that may be left out, and paid for. Sets of nodes in
/// it may unpack to `set_bytes_max` bytes.
///
/// # Errors
/// The path, or the field of the value, and what is expected there; [`ServiceError::Unpaid`].
pub(crate) fn checked(
    path: &str,
    value: Option<&JsonText>,
    set_bytes_max: u64,
    payer: &Payer,
) -> Result<Change, ServiceError> {
    let place = PathTarget::of(path)?;
    if place == PathTarget::Arrangement {
        return Err(refusal(
            "unknown-path",
            format!("{path} follows layouts: name a layout, or take one back"),
        ));
    }
    let Some(text) = value else { return Ok(Change::new(path, None)) };
    let bytes = text.as_str().len();
    if bytes > DOCUMENT_VALUE_BYTES_MAX {
        return Err(refusal(
            "too-large",
            format!(
                "{path} takes {bytes} bytes; at most {DOCUMENT_VALUE_BYTES_MAX} are kept: use an expression"
            ),
        ));
    }
    // While it is parsed it is paid for, too.
    let paid = payer.pay_for_now(bytes as u64 * PARSED_BYTES)?;
    let value = text.value();
    let mut ruled = None;
    let fine = match place {
        PathTarget::Filter(_) => {
            let (entry, read) = filter(path, &value, set_bytes_max)?;
            ruled = Some(read);
            entry
        }
        PathTarget::Collection(_) => collection(path, &value, set_bytes_max)?,
        PathTarget::Collapsed(_) => {
            let (entry, read) = collapsed(path, &value, set_bytes_max)?;
            ruled = Some(read);
            entry
        }
        PathTarget::PruneOrphans if value.is_boolean() => value,
        PathTarget::PruneOrphans => return Err(expected(path, "true or false")),
        PathTarget::Encoding(AXES) => axes(path, &value)?,
        PathTarget::Encoding(_) => encoding(path, &value)?,
        PathTarget::Pin(_) => pin(path, value)?,
        PathTarget::Setting(name) => {
            let patch = Map::from_iter([(name.to_owned(), value.clone())]);
            LayoutSettings::default().apply(&patch)?;
            value
        }
        PathTarget::Arrangement => value,
        PathTarget::Look(_) => match &value {
            Value::Bool(_) | Value::Number(_) => value,
            Value::String(text) if text.chars().count() <= LOOK_CHARS_MAX => value,
            _ => {
                return Err(expected(
                    path,
                    "a number, true or false, or a text of up to 200 characters",
                ));
            }
        },
    };
    let text = JsonText::of(&fine).map_err(|e| ServiceError::Internal(format!("{path}: {e}")))?;
    drop((fine, paid));
    let is_parsed = matches!(place, PathTarget::Collection(_) | PathTarget::Encoding(_));
    let parsed = if is_parsed { text.as_str().len() as u64 * PARSED_BYTES } else { 0 };
    Ok(Change::new(path, Some(Held::new(text, ruled, parsed, payer)?)))
}

fn filter(path: &str, value: &Value, set_bytes_max: u64) -> Result<(Value, Ruled), ServiceError> {
    let fields = Fields::of(path, value, &["kind", "name", "on", "order", "rule"])?;
    let kind = fields.text("kind", COLLECTION_NAME_CHARS_MAX)?.unwrap_or("filter");
    if !matches!(kind, "filter" | "exclusion") {
        return Err(expected(&format!("{path}.kind"), "filter or exclusion"));
    }
    let mut entry = Map::from_iter([("kind".to_owned(), json!(kind))]);
    let (others, mut read) = ruled(path, &fields, set_bytes_max)?;
    if kind == "exclusion" {
        read.kind = FilterKind::Exclusion;
    }
    entry.extend(others);
    Ok((Value::Object(entry), read))
}

fn collapsed(
    path: &str,
    value: &Value,
    set_bytes_max: u64,
) -> Result<(Value, Ruled), ServiceError> {
    let fields = Fields::of(path, value, &["name", "on", "order", "rule"])?;
    let (entry, read) = ruled(path, &fields, set_bytes_max)?;
    Ok((Value::Object(entry), read))
}

/// What filters, exclusions and collapsed nodes have in common.
fn ruled(
    path: &str,
    fields: &Fields<'_>,
    set_bytes_max: u64,
) -> Result<(Map<String, Value>, Ruled), ServiceError> {
    let (json, rule) = fields.rule(set_bytes_max)?;
    let rule = rule.ok_or_else(|| {
        expected(&format!("{path}.rule"), "a rule other than sets, which is for collections")
    })?;
    let name = fields.text("name", COLLECTION_NAME_CHARS_MAX)?.unwrap_or_default();
    let (on, order) = (fields.flag("on", true)?, fields.number("order")?);
    let entries =
        [("name", json!(name)), ("on", json!(on)), ("order", json!(order)), ("rule", json!(json))];
    let read =
        Ruled { kind: FilterKind::Filter, on, order, name: name.into(), rule: Arc::new(rule) };
    Ok((entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(), read))
}

fn collection(path: &str, value: &Value, set_bytes_max: u64) -> Result<Value, ServiceError> {
    let known =
        ["name", "description", "node_color", "edge_color", "palette", "on", "order", "rule"];
    let fields = Fields::of(path, value, &known)?;
    Ok(json!({
        "name": fields.text("name", COLLECTION_NAME_CHARS_MAX)?
            .filter(|n| !n.trim().is_empty())
            .ok_or_else(|| expected(&format!("{path}.name"), "a name"))?.trim(),
        "description": fields.text("description", DESCRIPTION_CHARS_MAX)?.unwrap_or_default(),
        "node_color": fields.text("node_color", ID_CHARS_MAX)?,
        "edge_color": fields.text("edge_color", ID_CHARS_MAX)?,
        "palette": fields.text("palette", ID_CHARS_MAX)?,
        "on": fields.flag("on", true)?,
        "order": fields.number("order")?,
        "rule": fields.rule(set_bytes_max)?.0,
    }))
}

fn encoding(path: &str, value: &Value) -> Result<Value, ServiceError> {
    let fields = Fields::of(path, value, &["attribute", "variation", "colors", "mapping"])?;
    let name = fields.text("attribute", NAME_CHARS_MAX)?.filter(|name| !name.is_empty());
    name.ok_or_else(|| expected(&format!("{path}.attribute"), "the name of a column"))?;
    let variation = fields.text("variation", ID_CHARS_MAX)?.unwrap_or("categorical");
    if !matches!(variation, "categorical" | "continuous") {
        return Err(fields.wrong("variation", "categorical or continuous"));
    }
    let is_color = |v: &Value| v.as_str().is_some_and(|text| text.len() <= ID_CHARS_MAX);
    let is_colors =
        |list: &Vec<Value>| list.len() <= ENCODING_COLORS_MAX && list.iter().all(is_color);
    if fields.get("colors").is_some_and(|v| !v.as_array().is_some_and(is_colors)) {
        return Err(fields.wrong("colors", &format!("up to {ENCODING_COLORS_MAX} colours")));
    }
    let is_mapping = |v: &Value| v.is_object() && json_bytes(v) <= ENCODING_MAPPING_BYTES_MAX;
    if fields.get("mapping").is_some_and(|v| !is_mapping(v)) {
        let most = format!("an object of up to {ENCODING_MAPPING_BYTES_MAX} bytes");
        return Err(fields.wrong("mapping", &most));
    }
    Ok(value.clone())
}

fn axes(path: &str, value: &Value) -> Result<Value, ServiceError> {
    check_axis_rows(value)
        .map_err(|problem| refusal("invalid-value", format!("{path}.{problem}")))?;
    Ok(json!({ "rows": value["rows"] }))
}

fn pin(path: &str, value: Value) -> Result<Value, ServiceError> {
    let coordinate = |v: &Value| v.as_f64().is_some_and(|x| x.is_finite() && x.abs() <= 1e15);
    match value.as_array() {
        Some(at) if at.len() == 2 && at.iter().all(coordinate) => Ok(value),
        _ => Err(expected(path, "two coordinates from -1e15 to 1e15")),
    }
}

/// The fields of an object of which all are known.
struct Fields<'a> {
    path: &'a str,
    map: &'a Map<String, Value>,
}

impl<'a> Fields<'a> {
    fn of(path: &'a str, value: &'a Value, known: &[&str]) -> Result<Self, ServiceError> {
        let map = value.as_object().ok_or_else(|| expected(path, "an object"))?;
        match map.keys().find(|k| !known.contains(&k.as_str())) {
            Some(other) => {
                Err(expected(&format!("{path}.{other}"), &format!("one of {}", known.join(", "))))
            }
            None => Ok(Self { path, map }),
        }
    }

    fn get(&self, name: &str) -> Option<&'a Value> {
        self.map.get(name).filter(|v| !v.is_null())
    }

    fn wrong(&self, name: &str, what: &str) -> ServiceError {
        expected(&format!("{}.{name}", self.path), what)
    }

    fn text(&self, name: &str, chars: usize) -> Result<Option<&'a str>, ServiceError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let text = value.as_str().filter(|t| t.chars().count() <= chars);
        text.map(Some)
            .ok_or_else(|| self.wrong(name, &format!("a text of up to {chars} characters")))
    }

    fn flag(&self, name: &str, usual: bool) -> Result<bool, ServiceError> {
        let Some(value) = self.get(name) else { return Ok(usual) };
        value.as_bool().ok_or_else(|| self.wrong(name, "true or false"))
    }

    fn number(&self, name: &str) -> Result<f64, ServiceError> {
        let Some(value) = self.get(name) else { return Ok(0.0) };
        value.as_f64().ok_or_else(|| self.wrong(name, "a number"))
    }

    /// The rule: an object of one field that says of which form it is, and what was read of it; of collections made of
    /// others nothing is.
    fn rule(&self, set_bytes_max: u64) -> Result<(&'a Value, Option<Rule>), ServiceError> {
        let rule = self.get("rule");
        let map = rule.and_then(Value::as_object).filter(|m| m.len() == 1);
        let form = map.and_then(|m| m.keys().next());
        match (rule, form) {
            (Some(rule), Some(form)) if form == "sets" => {
                let ids = rule["sets"].as_array().filter(|ids| !ids.is_empty());
                match ids.is_some_and(|ids| ids.iter().all(Value::is_string)) {
                    true => Ok((rule, None)),
                    false => Err(self.wrong("rule.sets", "a list of ids of collections")),
                }
            }
            (Some(rule), Some(form)) if RULES.contains(&form.as_str()) => {
                Ok((rule, Some(Rule::of_json(rule, set_bytes_max)?)))
            }
            _ => Err(self.wrong("rule", &format!("an object with one of {}", RULES.join(", ")))),
        }
    }
}

fn checked_id(id: &str) -> Result<&str, ServiceError> {
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    if (1..=ID_CHARS_MAX).contains(&id.len()) && id.chars().all(fine) {
        return Ok(id);
    }
    let shown: String = id.chars().take(80).collect();
    Err(refusal(
        "invalid-id",
        format!("the id {shown:?} is not possible; use 1 to {ID_CHARS_MAX} of A-Z a-z 0-9 - _ . :"),
    ))
}

fn expected(field: &str, what: &str) -> ServiceError {
    refusal("invalid-value", format!("{field}: expected {what}"))
}

fn refusal(slug: &'static str, message: String) -> ServiceError {
    ServiceError::Refused { slug, message }
}
