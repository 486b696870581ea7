//! Entries of a document, translated for the layout, for collections and for the record of a session.

use std::collections::BTreeMap;

use graphlume_engine::{Control, LayoutSettings};
use graphlume_storage::{CollectionRec, JsonText};
use serde_json::{Map, Value, json};

use super::SessionMeta;
use super::collections;
use crate::document::{ARRANGEMENT, Change, Document, Held, PathTarget, Planned};
use crate::error::ServiceError;

/// What the layout has to do for a step.
pub(super) fn controls_of(
    planned: &Planned,
    meta: &SessionMeta,
) -> Result<Vec<Control>, ServiceError> {
    let usual = serde_json::to_value(meta.settings).unwrap_or_default();
    let (mut out, mut pins, mut settings) = (Vec::new(), Vec::new(), Map::new());
    for Change { path, value } in &planned.step.changes {
        let value = || value.as_ref().map(Held::value);
        match PathTarget::of(path)? {
            PathTarget::Pin(node) => pins.push((node, value().as_ref().map(place_of))),
            PathTarget::Setting(name) => {
                // Without a value of its own it is what the page's address says.
                let value = value().or_else(|| usual.get(name).cloned());
                settings.insert(name.to_owned(), value.unwrap_or_default());
            }
            _ => {}
        }
    }
    // All pins are one command: others have their turn beside it.
    if !pins.is_empty() {
        out.push(Control::Pins(pins));
    }
    if !settings.is_empty() {
        out.push(Control::Settings(settings));
    }
    Ok(out)
}

pub(super) fn place_of(at: &Value) -> [f32; 2] {
    [0, 1].map(|i| at[i].as_f64().unwrap_or_default() as f32)
}

/// The knobs of the layout with which a session begins: those of the page's address, and what the document says of them.
pub(super) fn settings_of(meta: &SessionMeta) -> LayoutSettings {
    let document = meta.room.document();
    let patch = document.below("settings/").map(|(name, held)| (name.to_owned(), held.value()));
    let mut settings = meta.settings;
    if let Err(error) = settings.apply(&patch.collect()) {
        tracing::warn!(session = %meta.session, %error, "settings of a document are left out");
    }
    settings
}

/// What of a document is written down; the collections have records of their own.
pub(super) fn kept(mut entries: BTreeMap<String, JsonText>) -> BTreeMap<String, JsonText> {
    entries.retain(|path, _| !is_collection(path) && path != ARRANGEMENT);
    entries
}

pub(super) fn is_collection(path: &str) -> bool {
    path.starts_with("collections/")
}

/// Where the document has a collection.
pub(super) fn path_of(record: &CollectionRec) -> String {
    format!("collections/{}", record.id)
}

/// How the document shows a collection.
pub(super) fn entry_of(record: &CollectionRec, order: f64) -> Value {
    let rule = match record.expr.get("type").and_then(Value::as_str) {
        Some("intersection") => json!({"sets": record.expr.get("sets")}),
        Some("rule") => record.expr.get("rule").cloned().unwrap_or_default(),
        _ => json!({"gfql": record.expr}),
    };
    json!({
        "name": record.name, "description": record.description, "node_color": record.node_color,
        "edge_color": record.edge_color, "palette": record.palette, "on": !record.off,
        "order": order, "rule": rule,
    })
}

/// The columns that colours and sizes follow.
pub(super) fn encodings_of(document: &Document) -> Map<String, Value> {
    document.below("encodings/").map(|(channel, e)| (channel.to_owned(), e.value())).collect()
}

/// The record of a collection of the document; `before` is the one that it changes.
pub(super) fn record_of(
    id: &str,
    entry: &Value,
    before: Option<&CollectionRec>,
    now: i64,
) -> Result<CollectionRec, ServiceError> {
    let text = |name: &str| entry.get(name).and_then(Value::as_str);
    let rule = entry.get("rule").cloned().unwrap_or_default();
    let expr = match (rule.get("gfql"), rule.get("sets")) {
        (Some(gfql), _) => gfql.clone(),
        (_, Some(sets)) => json!({"type": "intersection", "sets": sets}),
        _ => json!({"type": "rule", "rule": rule}),
    };
    let same = before.filter(|b| b.expr == expr);
    let strict = same.is_none_or(|b| b.strict);
    if same.is_none() {
        collections::rule_of(&expr, strict)?;
    }
    let palette = text("palette").map(collections::checked_palette).transpose()?;
    let color = |name| text(name).map(collections::checked_color).transpose();
    Ok(CollectionRec {
        id: id.to_owned(),
        name: collections::checked_name(text("name").unwrap_or_default())?,
        description: collections::checked_description(text("description").unwrap_or_default())?,
        node_color: color("node_color")?,
        edge_color: color("edge_color")?,
        palette,
        off: entry.get("on") == Some(&Value::Bool(false)),
        created_at: before.map_or(now, |b| b.created_at),
        strict,
        expr,
    })
}

/// Collections that were known before the document was, as its entries.
pub(super) fn entries_of(records: &[CollectionRec]) -> impl Iterator<Item = (String, Value)> + '_ {
    records.iter().enumerate().map(|(at, r)| (path_of(r), entry_of(r, at as f64)))
}
