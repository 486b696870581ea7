//! The collections that the address of a page brings along. Nobody waits there for an error: what makes no sense is passed over and
//! named in a notice.

use graphlume_engine::Paint;
use graphlume_storage::CollectionRec;
use graphlume_types::limits::{COLLECTION_EXPR_BYTES_MAX, COLLECTIONS_MAX};
use serde_json::Value;

use super::collections::{
    BACKGROUND_ID, Background, Collections, checked_description, checked_name, new_id, refusal,
    rule_of,
};
use crate::error::ServiceError;

/// The collections that the address of a page brings along: the parameter `collections`, and the colours
/// of what is in none. What makes no sense is passed over and named.
pub(crate) fn from_query(
    pairs: &[(String, String)],
    now: i64,
) -> (Vec<CollectionRec>, Background, Vec<String>) {
    let last = |name: &str| {
        let value = pairs.iter().rev().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
        value.filter(|v| !v.is_empty() && *v != "None")
    };
    let mut warnings = Vec::new();
    let mut color = |name: &'static str| {
        let text = last(name)?;
        let known = known_color(text);
        if known.is_none() {
            warnings.push(format!("{name}={text:?} is no colour"));
        }
        known
    };
    let background = Background {
        node: color("collectionsGlobalNodeColor"),
        edge: color("collectionsGlobalEdgeColor"),
    };
    let list = match last("collections").map(serde_json::from_str::<Value>) {
        None => Vec::new(),
        Some(Ok(Value::Array(list))) => list,
        Some(Ok(one @ Value::Object(_))) => vec![one],
        Some(_) => {
            warnings.push("collections is no JSON list".to_owned());
            Vec::new()
        }
    };
    let mut collections = Collections::default();
    // A client that opens an address may be anonymous: no more is looked at than is shown, and the patterns of all its
    // collections share one budget.
    graphlume_store::filter::within_budget(|| {
        for (i, item) in list.iter().take(COLLECTIONS_MAX).enumerate() {
            match of_item(item, i, now, &collections) {
                Ok(rec) => collections.records.push(rec),
                Err(error) => warnings.push(format!("collections[{i}]: {error}")),
            }
        }
    });
    let cut = list.len().saturating_sub(COLLECTIONS_MAX);
    if cut > 0 {
        warnings.push(format!("collections has {cut} more than {COLLECTIONS_MAX}"));
    }
    (collections.records, background, warnings)
}

/// A colour of a page's address as lists show it. Clients write hexadecimal digits without their mark.
fn known_color(text: &str) -> Option<String> {
    let bare = matches!(text.len(), 6 | 8) && text.bytes().all(|b| b.is_ascii_hexdigit());
    let text = if bare { format!("#{text}") } else { text.to_owned() };
    Paint::flat(Some(&text), None).and_then(|p| p.swatches().pop())
}

/// One element of the page's parameter.
fn of_item(
    item: &Value,
    i: usize,
    now: i64,
    collections: &Collections,
) -> Result<CollectionRec, ServiceError> {
    let text = |name: &str| item.get(name).and_then(Value::as_str).filter(|t| !t.is_empty());
    let expr = item.get("expr").cloned().unwrap_or_default();
    if serde_json::to_string(&expr).map_or(0, |t| t.len()) > COLLECTION_EXPR_BYTES_MAX {
        return Err(refusal("too-large", "the expression is too large"));
    }
    rule_of(&expr, false)?;
    let color = |name: &str| -> Result<Option<String>, ServiceError> {
        let Some(text) = text(name) else { return Ok(None) };
        let known = known_color(text);
        known
            .map(Some)
            .ok_or_else(|| refusal("invalid-color", format!("{name}={text:?} is no colour")))
    };
    let (mut node_color, edge_color) = (color("node_color")?, color("edge_color")?);
    if node_color.is_none() && edge_color.is_none() {
        node_color = Some(collections.free_color());
    }
    let id = text("id").map_or_else(new_id, str::to_owned);
    if id == BACKGROUND_ID || collections.records.iter().any(|r| r.id == id) {
        return Err(refusal("conflict", format!("the id {id:?} is taken")));
    }
    let name =
        text("name").or_else(|| text("id")).map_or_else(|| format!("Set {}", i + 1), str::to_owned);
    Ok(CollectionRec {
        id,
        name: checked_name(&name)?,
        description: checked_description(text("description").unwrap_or_default())?,
        expr,
        strict: false,
        node_color,
        edge_color,
        palette: None,
        off: false,
        created_at: now,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_page_s_parameter_gives_collections_and_a_background() {
        let list = json!([
            {"type": "set", "id": "c1", "name": "Big", "node_color": "#FF0000",
             "expr": {"type": "gfql_chain", "gfql": [{"type": "Node"}]}},
            {"type": "set", "id": "c2", "expr": [{"type": "Node"}]},
            {"type": "intersection", "id": "c3", "name": "Both", "node_color": "00FF00",
             "expr": {"type": "intersection", "sets": ["c1", "c2"]}},
            {"type": "set", "id": "c1", "name": "Twice", "expr": [{"type": "Node"}]},
            {"type": "set", "expr": "nonsense"},
            {"type": "set", "node_color": "no colour", "expr": [{"type": "Node"}]},
        ]);
        let pairs = [
            ("collections".to_owned(), list.to_string()),
            ("collectionsGlobalNodeColor".to_owned(), "CCCCCC".to_owned()),
            ("collectionsGlobalEdgeColor".to_owned(), "nope".to_owned()),
        ];
        let (records, background, warnings) = from_query(&pairs, 5);
        let names: Vec<&str> = records.iter().map(|r| r.name.as_str()).collect();
        assert_eq!(names, ["Big", "c2", "Both"]);
        assert_eq!(
            records[1].node_color.as_deref(),
            Some(Collections::default().free_color().as_str())
        );
        assert_eq!(background, Background { node: Some("#cccccc".to_owned()), edge: None });
        assert_eq!(warnings.len(), 4, "{warnings:?}");
        let many: Vec<Value> = (0..11).map(|_| json!({"expr": [{"type": "Node"}]})).collect();
        let pairs = [("collections".to_owned(), json!(many).to_string())];
        assert_eq!(from_query(&pairs, 5).0.len(), COLLECTIONS_MAX);
        assert!(from_query(&[("collections".to_owned(), "x".to_owned())], 5).0.is_empty());
        assert!(from_query(&[("collections".to_owned(), "None".to_owned())], 5).2.is_empty());
    }
}
