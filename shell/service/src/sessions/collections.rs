//! Collections: named parts of a graph that a session paints over its own colours. Here are their rules;
//! what may be done with them on behalf of whom stands in `agents`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use graphlume_engine::{
    CollectionLabel, CollectionRule, CollectionSet, CollectionSpec, CollectionsView, Paint, Rule,
};
use graphlume_expr::Strictness;
use graphlume_storage::CollectionRec;
use graphlume_types::SessionId;
use graphlume_types::limits::{
    COLLECTION_EXPR_BYTES_MAX, COLLECTION_NAME_CHARS_MAX, COLLECTIONS_MAX, DESCRIPTION_CHARS_MAX,
    DOCUMENT_UNPACKED_BYTES_MAX,
};
use serde_json::{Map, Value, json};

use crate::error::ServiceError;

/// Id of the layer under all collections, which is always there.
pub const BACKGROUND_ID: &str = "global";
/// Colours for collections that name none, in the order in which they are given out.
const COLORS: [&str; COLLECTIONS_MAX] = [
    "#ff4d6d", "#f2dc4e", "#4fd8e6", "#8bd450", "#ff9f40", "#c77dff", "#ff7ac6", "#5aa9ff",
    "#2fd39a", "#e8e8e8",
];

/// The colours of what is in no collection.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Background {
    pub node: Option<String>,
    pub edge: Option<String>,
}

/// The collections of one session, as they are written down and as the engine takes them.
#[derive(Debug, Default)]
pub(crate) struct Collections {
    /// The one on top first.
    pub records: Vec<CollectionRec>,
    pub background: Background,
    pub layers: Arc<CollectionSet>,
}

impl Collections {
    /// `before` lends what has not changed, so that it need not be evaluated again.
    pub(crate) fn new(
        records: Vec<CollectionRec>,
        background: Background,
        before: &Self,
        known: Option<(&str, Arc<CollectionRule>)>,
    ) -> Self {
        let kept = |r: &CollectionRec| {
            if let Some((id, rule)) = &known
                && *id == r.id
            {
                return Some(Arc::clone(rule));
            }
            let same = before.records.iter().any(|b| b.id == r.id && b.expr == r.expr);
            let layer = before.layers.specs.iter().find(|l| l.id == r.id).filter(|_| same)?;
            Some(Arc::clone(&layer.rule))
        };
        let layers = records.iter().filter_map(|r| {
            let rule = kept(r).or_else(|| match rule_of(&r.expr, r.strict) {
                Ok(rule) => Some(Arc::new(rule)),
                Err(error) => {
                    tracing::warn!(collection = r.id, %error, "a collection cannot be read");
                    None
                }
            })?;
            let paint = paint_of(r).filter(|_| !r.off).unwrap_or_default();
            Some(CollectionSpec { id: r.id.clone(), rule, paint, label: label_of(r) })
        });
        let specs = layers.collect();
        let paint = Paint::flat(background.node.as_deref(), background.edge.as_deref());
        let layers = CollectionSet {
            specs,
            background: paint.unwrap_or_default(),
            encodings: before.layers.encodings.clone(),
            revision: revision(),
        };
        Self { records, background, layers: Arc::new(layers) }
    }

    /// The same collections, with other columns for colours and sizes.
    pub(crate) fn encoded(mut self, encodings: Map<String, Value>) -> Self {
        Arc::make_mut(&mut self.layers).encodings = encodings;
        self
    }

    pub(crate) fn find(&self, id: &str) -> Result<usize, ServiceError> {
        let place = self.records.iter().position(|r| r.id == id);
        place.ok_or_else(|| {
            if id == BACKGROUND_ID {
                return refusal(
                    "builtin-collection",
                    "the global layer is always there, below all collections; it cannot be changed, \
                     moved or deleted",
                );
            }
            let shown: String = id.chars().take(80).collect();
            refusal(
                "collection-not-found",
                format!("this visualization has no collection {shown:?}; list_collections names them"),
            )
        })
    }

    /// The first colour that no collection has.
    pub(crate) fn free_color(&self) -> String {
        let taken = |c: &str| {
            self.records.iter().any(|r| r.node_color.as_deref() == Some(c) && r.palette.is_none())
        };
        COLORS.into_iter().find(|c| !taken(c)).unwrap_or(COLORS[0]).to_owned()
    }

    /// What lists say of a collection.
    pub(crate) fn entry(&self, place: usize, shown: &CollectionsView) -> Value {
        let Some(r) = self.records.get(place) else { return Value::Null };
        let mut out = Map::new();
        out.insert("id".to_owned(), json!(r.id));
        out.insert("name".to_owned(), json!(r.name));
        out.insert("position".to_owned(), json!(place));
        out.insert("color".to_owned(), json!(r.node_color));
        if let Some(palette) = &r.palette {
            out.insert("palette".to_owned(), json!(palette));
        }
        out.insert("description".to_owned(), json!(r.description));
        // Unknown is null and not 0.
        out.insert("matchCount".to_owned(), json!(shown.count(&r.id)));
        Value::Object(out)
    }

    pub(crate) fn background_entry(&self) -> Value {
        json!({
            "id": BACKGROUND_ID, "name": "Global", "position": self.records.len(),
            "color": self.background.node, "builtin": true,
        })
    }
}

/// Another number at every call, also for the same session.
fn revision() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// An error of a collection under its own name.
pub(crate) fn refusal(slug: &'static str, message: impl Into<String>) -> ServiceError {
    ServiceError::Refused { slug, message: message.into() }
}

fn label_of(r: &CollectionRec) -> CollectionLabel {
    CollectionLabel {
        name: r.name.clone(),
        description: r.description.clone(),
        palette: r.palette.clone(),
    }
}

fn paint_of(r: &CollectionRec) -> Option<Paint> {
    match &r.palette {
        Some(name) => Paint::palette(name),
        None => {
            let node = r.node_color.as_deref();
            Paint::flat(node, r.edge_color.as_deref().or(node))
        }
    }
}

/// The rule of an expression.
pub(crate) fn rule_of(expr: &Value, strict: bool) -> Result<CollectionRule, ServiceError> {
    if expr.get("type").and_then(Value::as_str) == Some("intersection") {
        let sets = expr.get("sets").and_then(Value::as_array);
        let ids = sets.into_iter().flatten().filter_map(|v| v.as_str().map(str::to_owned));
        let ids: Vec<String> = ids.collect();
        if ids.is_empty() {
            return Err(refusal("invalid-intersection", "an intersection names at least one set"));
        }
        return Ok(CollectionRule::All(ids));
    }
    if expr.get("type").and_then(Value::as_str) == Some("rule") {
        // What was checked when it was set is read, and each evaluation holds it against its graph.
        let rule =
            Rule::of_json(expr.get("rule").unwrap_or(&Value::Null), DOCUMENT_UNPACKED_BYTES_MAX)?;
        return Ok(CollectionRule::Rule(Arc::new(rule)));
    }
    let strictness = if strict { Strictness::Strict } else { Strictness::Lenient };
    Ok(CollectionRule::Query(graphlume_gfql::parse(expr)?, strictness))
}

/// The operations of a collection as an agent writes them: JSON in a text.
pub(crate) fn expression(text: &str) -> Result<Value, ServiceError> {
    if text.len() > COLLECTION_EXPR_BYTES_MAX {
        return Err(ServiceError::TooLarge {
            what: "gfql_operations",
            limit: COLLECTION_EXPR_BYTES_MAX as u64,
            unit: "bytes",
        });
    }
    let trimmed = text.trim_start();
    if !trimmed.starts_with(['[', '{']) {
        return Err(refusal(
            "cypher-not-accepted",
            "gfql_operations of a collection is a JSON array of operations or a Let object, and no \
             Cypher; for example [{\"type\": \"Node\", \"filter_dict\": {\"kind\": \"server\"}}]",
        ));
    }
    let expr: Value = serde_json::from_str(text).map_err(|e| {
        refusal(
            "invalid-json",
            format!("gfql_operations is not JSON: {e}; send an array in a text"),
        )
    })?;
    let operations = expr.get("gfql").or_else(|| expr.get("chain")).unwrap_or(&expr);
    if operations.as_array().is_some_and(Vec::is_empty) {
        return Err(refusal(
            "empty-chain",
            "gfql_operations has no operation; [{\"type\": \"Node\"}] takes every node",
        ));
    }
    Ok(expr)
}

/// A name that a list can show.
pub(crate) fn checked_name(name: &str) -> Result<String, ServiceError> {
    let name = name.trim();
    let chars = name.chars().count();
    if !(1..=COLLECTION_NAME_CHARS_MAX).contains(&chars) {
        return Err(refusal(
            "invalid-name",
            format!("name has {chars} characters; use 1 to {COLLECTION_NAME_CHARS_MAX}"),
        ));
    }
    Ok(name.to_owned())
}

pub(crate) fn checked_description(text: &str) -> Result<String, ServiceError> {
    let chars = text.chars().count();
    if chars > DESCRIPTION_CHARS_MAX {
        return Err(refusal(
            "invalid-description",
            format!("description has {chars} characters; use up to {DESCRIPTION_CHARS_MAX}"),
        ));
    }
    Ok(text.to_owned())
}

/// `#rrggbb` or `#rrggbbaa`.
pub(crate) fn checked_color(text: &str) -> Result<String, ServiceError> {
    let digits = text.strip_prefix('#').unwrap_or_default();
    if !matches!(digits.len(), 6 | 8) || !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        let shown: String = text.chars().take(40).collect();
        return Err(refusal(
            "invalid-color",
            format!("node_color {shown:?} is no colour; write #RRGGBB or #RRGGBBAA, as in #ff4d6d"),
        ));
    }
    Ok(text.to_ascii_lowercase())
}

pub(crate) fn checked_palette(name: &str) -> Result<String, ServiceError> {
    let paint = Paint::palette(name);
    let found = paint.as_ref().and_then(Paint::palette_name).map(str::to_owned);
    found.ok_or_else(|| {
        let shown: String = name.chars().take(40).collect();
        let names = Paint::palette_names();
        let hint = match graphlume_expr::nearest(&shown, &names) {
            Some(near) => format!("did you mean {near:?}?"),
            None => format!("there are {}", names.join(", ")),
        };
        refusal("palette-not-found", format!("there is no palette {shown:?}; {hint}"))
    })
}

/// Drops the oldest collections past the limit and names them.
pub(crate) fn cut_to_limit(records: &mut Vec<CollectionRec>) -> Vec<CollectionRec> {
    let mut dropped = Vec::new();
    while records.len() > COLLECTIONS_MAX {
        // Of equal age the lower one goes.
        let ages = records.iter().enumerate().rev();
        let Some((oldest, _)) = ages.min_by_key(|(_, r)| r.created_at) else { break };
        dropped.push(records.remove(oldest));
    }
    dropped
}

/// A fresh id.
pub(crate) fn new_id() -> String {
    SessionId::random().as_str().to_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use graphlume_types::Coded;

    fn rec(name: &str, created_at: i64) -> CollectionRec {
        CollectionRec {
            id: name.to_owned(),
            name: name.to_owned(),
            description: String::new(),
            expr: json!([{"type": "Node"}]),
            strict: true,
            node_color: Some("#ff0000".to_owned()),
            edge_color: None,
            palette: None,
            off: false,
            created_at,
        }
    }

    fn slug<T>(r: Result<T, ServiceError>) -> &'static str {
        match r {
            Ok(_) => "fine",
            Err(e) => e.slug(),
        }
    }

    #[test]
    fn the_oldest_goes_at_one_past_the_limit() {
        for (count, left) in [(9, 9), (10, 10), (11, 10), (13, 10)] {
            // The newest on top, as they are made.
            let mut list: Vec<_> = (0..count).rev().map(|i| rec(&format!("c{i}"), i)).collect();
            let dropped = cut_to_limit(&mut list);
            assert_eq!(list.len(), left, "{count}");
            let gone: Vec<&str> = dropped.iter().map(|r| r.name.as_str()).collect();
            assert_eq!(gone, ["c0", "c1", "c2"][..count as usize - left], "{count}");
        }
    }

    #[test]
    fn names_colors_and_palettes_are_checked() {
        for (chars, want) in [(0, "invalid-name"), (1, "fine"), (255, "fine"), (256, "fine")] {
            assert_eq!(slug(checked_name(&"ä".repeat(chars))), want, "{chars}");
        }
        assert_eq!(slug(checked_name(&"ä".repeat(257))), "invalid-name");
        assert_eq!(slug(checked_name("  ")), "invalid-name");
        assert_eq!(checked_color("#AABBCC").unwrap(), "#aabbcc");
        assert_eq!(checked_color("#aabbcc80").unwrap(), "#aabbcc80");
        for bad in ["", "red", "#fff", "aabbcc", "#aabbc", "#aabbccd", "#gggggg", "#aabbccddee"] {
            assert_eq!(slug(checked_color(bad)), "invalid-color", "{bad}");
        }
        assert_eq!(checked_palette("viridish").map_err(|e| e.slug()), Err("palette-not-found"));
        assert_eq!(checked_palette("viridIS").unwrap(), "viridis");
        assert_eq!(checked_palette("ylgnbu").unwrap(), "YlGnBu");
    }

    #[test]
    fn expressions_are_json_with_something_in_it() {
        assert_eq!(slug(expression("MATCH (n) RETURN n")), "cypher-not-accepted");
        assert_eq!(slug(expression("[{]")), "invalid-json");
        for empty in ["[]", "{\"gfql\": []}", "{\"type\": \"Chain\", \"chain\": []}"] {
            assert_eq!(slug(expression(empty)), "empty-chain", "{empty}");
        }
        assert!(expression(" [{\"type\": \"Node\"}]").is_ok());
        for (bytes, want) in [
            (COLLECTION_EXPR_BYTES_MAX - 1, "fine"),
            (COLLECTION_EXPR_BYTES_MAX, "fine"),
            (COLLECTION_EXPR_BYTES_MAX + 1, "too-large"),
        ] {
            let text = format!("[\"{}\"]", "x".repeat(bytes - 4));
            assert_eq!(slug(expression(&text)), want, "{bytes}");
        }
        let single = json!({"type": "Node"});
        assert_eq!(slug(rule_of(&single, true)), "invalid-chain-type");
        let wrapped = json!({"type": "gfql_chain", "gfql": [{"type": "Node"}]});
        assert!(rule_of(&wrapped, true).is_ok());
    }

    #[test]
    fn what_is_the_same_is_not_read_again() {
        let first = Collections::new(
            vec![rec("a", 1), rec("b", 2)],
            Background::default(),
            &Collections::default(),
            None,
        );
        let mut records = first.records.clone();
        records[0].node_color = Some("#00ff00".to_owned());
        records[1].expr = json!([{"type": "Node", "filter_dict": {"k": 1}}]);
        let second = Collections::new(records, Background::default(), &first, None);
        let rule = |w: &Collections, i: usize| Arc::clone(&w.layers.specs[i].rule);
        assert!(Arc::ptr_eq(&rule(&first, 0), &rule(&second, 0)), "only its colour changed");
        assert!(!Arc::ptr_eq(&rule(&first, 1), &rule(&second, 1)));
        assert!(second.layers.revision > first.layers.revision);
        assert_eq!(slug(second.find("global")), "builtin-collection");
        assert_eq!(slug(second.find("c")), "collection-not-found");
    }
}
