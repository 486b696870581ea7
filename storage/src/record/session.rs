//! Live visualization sessions.

use std::collections::BTreeMap;

use graphlume_types::{DatasetId, Notice, SessionId, UserId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::head::Headed as _;
use super::{JsonText, Kind, Record};

/// A viz session: what is needed to show it again after a restart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionRec {
    /// Key; may be a name that the client chose.
    pub session_id: SessionId,
    /// The revision shown; it starts as the dataset.
    pub revision_id: String,
    /// The dataset shown.
    pub dataset_id: DatasetId,
    /// Who opened it; absent for an anonymous visit.
    #[serde(default)]
    pub owner: Option<UserId>,
    /// Organization of the owner at that time.
    #[serde(default)]
    pub org_name: Option<String>,
    /// Unix microseconds.
    pub created_at: i64,
    /// Unix microseconds.
    #[serde(default)]
    pub updated_at: i64,
    /// Unix microseconds; a closed session is gone for good.
    #[serde(default)]
    pub closed_at: Option<i64>,
    /// Layout settings of the page's address and of the live controls.
    #[serde(default)]
    pub layout: Map<String, Value>,
    /// Further parameters of the page's address, in order.
    #[serde(default)]
    pub url_params: Vec<(String, String)>,
    /// What of the page's address is not obeyed.
    #[serde(default)]
    pub notices: Vec<Notice>,
    /// Collections, the first painted on top.
    #[serde(default)]
    pub collections: Vec<CollectionRec>,
    /// Colour of nodes that are in no collection.
    #[serde(default)]
    pub background_node: Option<String>,
    /// Colour of edges that are in no collection.
    #[serde(default)]
    pub background_edge: Option<String>,
    /// The other entries of the session's document, by their paths: filters, encodings, pins, settings.
    #[serde(default)]
    pub document: BTreeMap<String, JsonText>,
}

/// A named part of the graph that a session paints over its own colours.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CollectionRec {
    /// Unique within the session.
    pub id: String,
    /// Name given by the user; unique within the session.
    pub name: String,
    /// Description given by the user.
    #[serde(default)]
    pub description: String,
    /// What it holds: operations of a query, or `{"type": "intersection", "sets": [id, ...]}`.
    pub expr: Value,
    /// Whether columns that the graph does not have are errors.
    #[serde(default)]
    pub strict: bool,
    /// Colour of the nodes as CSS.
    #[serde(default)]
    pub node_color: Option<String>,
    /// Colour of the edges as CSS; absent means that of the nodes.
    #[serde(default)]
    pub edge_color: Option<String>,
    /// Name of a palette instead of one colour.
    #[serde(default)]
    pub palette: Option<String>,
    /// Whether it is not painted.
    #[serde(default)]
    pub off: bool,
    /// Unix microseconds of its making or last replacement: past the limit the oldest goes.
    pub created_at: i64,
}

impl Record for SessionRec {
    const KIND: Kind = Kind::Session;
    const COUNTED: bool = true;
    type Key = SessionId;

    fn key(&self) -> SessionId {
        self.session_id.clone()
    }

    fn created_at(&self) -> i64 {
        self.created_at
    }

    fn owner(&self) -> Option<UserId> {
        self.owner
    }

    fn org(&self) -> Option<&str> {
        self.org_name.as_deref()
    }

    fn head_json(&self) -> Option<Vec<u8>> {
        serde_json::to_vec(&self.head()).ok()
    }
}
