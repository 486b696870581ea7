//! Members of a create body that are none of a dataset: kept, read back, and told.

use graphlume_expr::nearest;
use graphlume_types::Notice;
use serde_json::{Map, Value};

use crate::free_fields::is_empty;

/// Members of a create body that have a field of their own, or that the server alone writes.
const TAKEN_FIELDS: &[&str] = &[
    "agent_name",
    "agent_version",
    "author",
    "compute",
    "created_at",
    "dataset_id",
    "description",
    "edge_count",
    "edge_encodings",
    "edge_files",
    "edge_hypergraph_transform",
    "edge_transform",
    "image",
    "layout",
    "legacy_dataset_author",
    "legacy_dataset_name",
    "metadata",
    "name",
    "node_count",
    "node_encodings",
    "node_files",
    "node_transform",
    "org_name",
    "slug",
    "timestamp",
    "updated_at",
    "uri_tag",
];

/// Members of a record that a create body may have without a meaning there.
const READ_BACK: &[&str] = &["data", "notices", "success", "warnings"];

/// What a create body has beside them, which is kept.
pub(super) fn extra(map: &Map<String, Value>) -> Map<String, Value> {
    let unknown = map.iter().filter(|(k, _)| !TAKEN_FIELDS.contains(&k.as_str()));
    unknown.map(|(k, v)| (k.clone(), v.clone())).collect()
}

/// What is said of members that a dataset does not have. A record that was read and is sent again has some of its own.
pub(super) fn unknown(extra: &Map<String, Value>) -> Vec<Notice> {
    const SHOWN: usize = 5;
    let names = extra.keys().filter(|name| !READ_BACK.contains(&name.as_str()));
    let names: Vec<&String> = names.filter(|name| !is_empty(extra.get(*name))).collect();
    let mut out = Vec::new();
    if names.iter().any(|name| *name == "privacy") {
        let text = "privacy is not set when a dataset is created: send it to /api/v2/share/link/";
        out.push(Notice::new("field-without-effect", text));
    }
    let mut names: Vec<&String> = names.into_iter().filter(|name| *name != "privacy").collect();
    let count = names.len();
    let Some(first) = names.first() else { return out };
    let near = nearest(first, TAKEN_FIELDS).map(|near| format!(" (did you mean {near:?}?)"));
    names.truncate(SHOWN);
    let shown: Vec<String> = names.iter().map(|name| format!("{name:.64}")).collect();
    let more = if count > SHOWN { format!(" and {} more", count - SHOWN) } else { String::new() };
    let text = format!(
        "{}{more}{}: no member of a dataset; kept with it, and changes nothing: what belongs to people goes into metadata",
        shown.join(", "),
        near.filter(|_| count == 1).unwrap_or_default(),
    );
    out.push(Notice::new("field-without-effect", text).about(count as u64));
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(body: Value) -> Vec<Notice> {
        unknown(&extra(body.as_object().unwrap()))
    }

    #[test]
    fn members_without_a_meaning_are_told_in_one_line() {
        let [one] = &told(json!({"name": "x", "bogus": 1}))[..] else { unreachable!() };
        assert!(one.slug == "field-without-effect" && one.text.starts_with("bogus: "), "{one:?}");
        let [near] = &told(json!({"descripton": "x"}))[..] else { unreachable!() };
        assert!(near.text.contains("did you mean \"description\"?"), "{near:?}");
        let body: Map<String, Value> = (0..9).map(|i| (format!("m{i}"), json!(i))).collect();
        let [many] = &told(body.into())[..] else { unreachable!() };
        assert!(
            many.count == 9 && many.text.starts_with("m0, m1, m2, m3, m4 and 4 more"),
            "{many:?}"
        );
        let [share] = &told(json!({"privacy": {"mode": "public"}}))[..] else { unreachable!() };
        assert!(share.text.contains("/api/v2/share/link/"), "{share:?}");
    }

    #[test]
    fn what_clients_send_by_habit_and_what_was_read_is_not() {
        let body = json!({
            "name": "x", "slug": "x", "uri_tag": "x", "image": "x", "node_files": [], "notices": [1],
            "success": true, "style": {}, "agent_name": "x", "layout": {}, "empty": null,
        });
        assert_eq!(told(body), []);
    }
}
