//! Records as lists show them, from the JSON text that the store holds: what is free in their form passes through as
//! text and is never taken apart, which would take many times its size in memory.

use std::borrow::Cow;
use std::fmt;

use graphlume_storage::PrivacyMode;
use graphlume_types::calendar::iso8601;
use graphlume_types::{DatasetId, FileId, Notice, UserId};
use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::reply::{DatasetReply, FileReply, PrivacyReply};

/// Members of a create body that a later read must not show at its top: readers take them for something
/// else.
pub(crate) const HIDDEN_EXTRAS: &[&str] = &[
    "bindings",
    "encodings",
    "style",
    "url_params",
    "success",
    "data",
    "notices",
    "warnings",
    "privacy",
];

/// The version of the interface, where a client named none.
pub(crate) const API_VERSION: &str = "3";

/// A part of a record as text; absent is null.
type Text<'a> = Option<Cow<'a, RawValue>>;

/// The members of an object, each as text.
#[derive(Debug, Default)]
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Each;
        impl<'de> Visitor<'de> for Each {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut out = Vec::new();
                while let Some(member) = map.next_entry()? {
                    out.push(member);
                }
                Ok(Members(out))
            }
        }
        d.deserialize_map(Each)
    }
}

impl Serialize for Members<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut map = s.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// The record of a dataset; fields as there.
#[derive(Deserialize)]
struct Dataset<'a> {
    dataset_id: DatasetId,
    name: String,
    #[serde(default)]
    slug: Option<String>,
    author: UserId,
    #[serde(default)]
    org_name: Option<String>,
    #[serde(default)]
    node_count: Option<u64>,
    #[serde(default)]
    edge_count: Option<u64>,
    #[serde(default)]
    agent_name: Option<String>,
    #[serde(default)]
    agent_version: Option<String>,
    #[serde(default)]
    uri_tag: Option<String>,
    #[serde(default)]
    description: String,
    #[serde(default)]
    image: String,
    created_at: i64,
    updated_at: i64,
    #[serde(borrow, default = "none")]
    node_files: &'a RawValue,
    #[serde(borrow, default = "none")]
    edge_files: &'a RawValue,
    #[serde(default)]
    node_transform: String,
    #[serde(default)]
    edge_transform: String,
    #[serde(borrow, default = "none")]
    edge_hypergraph_transform: &'a RawValue,
    #[serde(borrow, default)]
    compute: Option<&'a RawValue>,
    #[serde(borrow, default)]
    layout: Option<&'a RawValue>,
    #[serde(borrow)]
    node_encodings: &'a RawValue,
    #[serde(borrow)]
    edge_encodings: &'a RawValue,
    #[serde(borrow)]
    metadata: &'a RawValue,
    #[serde(default)]
    timestamp: i64,
    #[serde(default)]
    legacy_dataset_name: Option<String>,
    #[serde(default)]
    legacy_dataset_author: Option<String>,
    #[serde(borrow, default)]
    extra: Members<'a>,
    #[serde(default)]
    privacy: Option<Mode>,
    #[serde(default)]
    notices: Vec<Notice>,
}

/// Of what sharing says that which lists show.
#[derive(Deserialize)]
struct Mode {
    mode: PrivacyMode,
    mode_action: String,
}

impl From<Mode> for PrivacyReply {
    fn from(shared: Mode) -> Self {
        let Mode { mode, mode_action } = shared;
        Self { mode, mode_action, invited_users: None, notify: None, message: None }
    }
}

/// An empty list.
fn none() -> &'static RawValue {
    serde_json::from_str("[]").unwrap_or(RawValue::NULL)
}

/// The record of a dataset as a list shows it.
///
/// # Errors
/// When it is not one.
pub(crate) fn of_dataset(json: &[u8]) -> serde_json::Result<String> {
    let rec: Dataset<'_> = serde_json::from_slice(json)?;
    let text = |raw| -> Text<'_> { Some(Cow::Borrowed(raw)) };
    let mut extra = rec.extra;
    extra.0.retain(|(name, _)| !HIDDEN_EXTRAS.contains(&name.as_str()));
    let reply = DatasetReply {
        dataset_id: rec.dataset_id.to_string(),
        name: rec.name,
        slug: rec.slug,
        author: rec.author.0,
        node_count: rec.node_count,
        edge_count: rec.edge_count,
        agent_name: rec.agent_name,
        agent_version: rec.agent_version,
        uri_tag: rec.uri_tag,
        description: rec.description,
        image: rec.image,
        created_at: iso8601(rec.created_at),
        updated_at: iso8601(rec.updated_at),
        node_files: text(rec.node_files),
        edge_files: text(rec.edge_files),
        node_transform: rec.node_transform,
        edge_transform: rec.edge_transform,
        edge_hypergraph_transform: text(rec.edge_hypergraph_transform),
        compute: rec.compute.map(Cow::Borrowed),
        layout: rec.layout.map(Cow::Borrowed),
        node_encodings: text(rec.node_encodings),
        edge_encodings: text(rec.edge_encodings),
        metadata: Some(with_version(rec.metadata)?),
        timestamp: iso8601(rec.timestamp),
        legacy_dataset_name: rec.legacy_dataset_name,
        legacy_dataset_author: rec.legacy_dataset_author,
        org_name: rec.org_name.unwrap_or_default(),
        privacy: rec.privacy.map(PrivacyReply::from),
        notices: rec.notices,
        extra,
    };
    serde_json::to_string(&reply)
}

/// Readers of lists look for the version of the interface that a dataset was made through.
fn with_version(metadata: &RawValue) -> serde_json::Result<Cow<'_, RawValue>> {
    let Ok(Members(members)) = serde_json::from_str(metadata.get()) else {
        return Ok(Cow::Borrowed(metadata));
    };
    let Some(open) = metadata.get().trim_end().strip_suffix('}') else {
        return Ok(Cow::Borrowed(metadata));
    };
    if members.iter().any(|(name, _)| name == "apiversion") {
        return Ok(Cow::Borrowed(metadata));
    }
    let comma = if members.is_empty() { "" } else { "," };
    RawValue::from_string(format!("{open}{comma}\"apiversion\":\"{API_VERSION}\"}}"))
        .map(Cow::Owned)
}

/// The record of a file; fields as there.
#[derive(Deserialize)]
struct File<'a> {
    file_id: FileId,
    #[serde(default)]
    name: String,
    #[serde(default)]
    description: String,
    file_type: String,
    #[serde(default)]
    file_compression: String,
    #[serde(borrow, default)]
    parser_options: Option<&'a RawValue>,
    #[serde(borrow, default)]
    sql_transforms: Option<&'a RawValue>,
    author: UserId,
    #[serde(default)]
    org_name: Option<String>,
    #[serde(default)]
    agent_name: String,
    #[serde(default)]
    agent_version: String,
    #[serde(default)]
    bytes_count: Option<u64>,
    created_at: i64,
    updated_at: i64,
    #[serde(default)]
    is_uploaded: bool,
    #[serde(default)]
    is_valid: bool,
    #[serde(borrow, default = "none")]
    errors: &'a RawValue,
    #[serde(borrow, default = "none")]
    tables_schemas: &'a RawValue,
    #[serde(default)]
    notices: Vec<Notice>,
}

/// The record of a file as a list shows it.
///
/// # Errors
/// When it is not one.
pub(crate) fn of_file(json: &[u8]) -> serde_json::Result<String> {
    let rec: File<'_> = serde_json::from_slice(json)?;
    let text = |raw| -> Text<'_> { Some(Cow::Borrowed(raw)) };
    serde_json::to_string(&FileReply {
        file_id: rec.file_id.to_string(),
        name: rec.name,
        description: rec.description,
        file_type: rec.file_type,
        file_compression: rec.file_compression,
        parser_options: rec.parser_options.map(Cow::Borrowed),
        sql_transforms: rec.sql_transforms.map(Cow::Borrowed),
        author: rec.author.0,
        agent_name: rec.agent_name,
        agent_version: rec.agent_version,
        bytes_count: rec.bytes_count,
        created_at: iso8601(rec.created_at),
        updated_at: iso8601(rec.updated_at),
        is_uploaded: rec.is_uploaded,
        is_valid: rec.is_valid,
        errors: text(rec.errors),
        tables_schemas: text(rec.tables_schemas),
        org_name: rec.org_name.unwrap_or_default(),
        notices: rec.notices,
        progress: None,
    })
}
