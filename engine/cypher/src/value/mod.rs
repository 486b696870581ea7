//! Values of expressions.

mod order;
pub(crate) mod temporal;

use std::sync::Arc;

pub(crate) use order::{Key, compare, equal, order};

use temporal::{Duration, Temporal};

/// A relationship: its row in the edge table and its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Edge {
    /// Row of the edge table.
    pub row: u32,
    /// Node index of the source.
    pub source: u32,
    /// Node index of the destination.
    pub destination: u32,
}

/// Nodes and the relationships between them; there is one node more.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Path {
    /// Node indices in the order of the path.
    pub nodes: Vec<u32>,
    /// Relationships in the order of the path.
    pub edges: Vec<Edge>,
}

/// Entries in the order in which they were made; keys are distinct.
pub type Entries = Vec<(Arc<str>, Value)>;

/// How large a value is when nothing in it is shared, so that what grows with every step is noticed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Size {
    /// Plain values in it; long texts count more.
    pub weight: u64,
    /// Lists and maps inside of each other.
    pub depth: u32,
}

/// Bytes of text that count as one value.
const BYTES_PER_WEIGHT: usize = 32;

/// Elements of a list or entries of a map.
#[derive(Clone, Debug)]
pub struct Shared<T> {
    items: T,
    size: Size,
}

impl<T> std::ops::Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.items
    }
}

/// A value of the language.
#[derive(Clone, Debug, Default)]
pub enum Value {
    /// Missing or unknown.
    #[default]
    Null,
    /// A truth value.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// Text.
    Text(Arc<str>),
    /// A list.
    List(Arc<Shared<Vec<Value>>>),
    /// A map.
    Map(Arc<Shared<Entries>>),
    /// A node, by its index.
    Node(u32),
    /// A relationship.
    Edge(Edge),
    /// A path.
    Path(Arc<Path>),
    /// A point in time.
    Temporal(Temporal),
    /// A length of time.
    Duration(Arc<Duration>),
}

impl Value {
    pub(crate) fn text(text: impl Into<Arc<str>>) -> Self {
        Self::Text(text.into())
    }

    /// A list.
    #[must_use]
    pub fn list(list: Vec<Self>) -> Self {
        let size = total(list.iter());
        Self::List(Arc::new(Shared { items: list, size }))
    }

    /// A map; of equal keys the first counts.
    #[must_use]
    pub fn map(entries: Entries) -> Self {
        let size = total(entries.iter().map(|(_, v)| v));
        Self::Map(Arc::new(Shared { items: entries, size }))
    }

    pub(crate) fn size(&self) -> Size {
        match self {
            Self::List(list) => list.size,
            Self::Map(map) => map.size,
            Self::Text(text) => {
                Size { weight: 1 + (text.len() / BYTES_PER_WEIGHT) as u64, depth: 0 }
            }
            Self::Path(path) => Size { weight: 1 + path.edges.len() as u64, depth: 0 },
            _ => Size { weight: 1, depth: 0 },
        }
    }

    /// Whether this is null.
    #[must_use]
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// A number as a float.
    pub(crate) const fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Int(v) => Some(*v as f64),
            Self::Float(v) => Some(*v),
            _ => None,
        }
    }

    /// What kind of value this is, for people.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a truth value",
            Self::Int(_) => "an integer",
            Self::Float(_) => "a float",
            Self::Text(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
            Self::Node(_) => "a node",
            Self::Edge(_) => "a relationship",
            Self::Path(_) => "a path",
            Self::Temporal(t) => t.kind(),
            Self::Duration(_) => "a duration",
        }
    }

    /// A value of JSON as one of the language.
    #[must_use]
    pub fn from_json(json: &serde_json::Value) -> Self {
        use serde_json::Value as J;
        match json {
            J::Null => Self::Null,
            J::Bool(v) => Self::Bool(*v),
            J::Number(n) => match n.as_i64() {
                Some(v) => Self::Int(v),
                None => n.as_f64().map_or(Self::Null, Self::Float),
            },
            J::String(v) => Self::text(v.as_str()),
            J::Array(list) => Self::list(list.iter().map(Self::from_json).collect()),
            J::Object(map) => {
                let entry = |(k, v): (&String, &J)| (Arc::from(k.as_str()), Self::from_json(v));
                Self::map(map.iter().map(entry).collect())
            }
        }
    }
}

/// The size of a list or a map of these.
fn total<'v>(values: impl Iterator<Item = &'v Value>) -> Size {
    let mut size = Size { weight: 1, depth: 1 };
    for value in values {
        let inner = value.size();
        size.weight = size.weight.saturating_add(inner.weight);
        size.depth = size.depth.max(inner.depth + 1);
    }
    size
}

/// The entry with this key.
pub(crate) fn entry<'a>(entries: &'a Entries, key: &str) -> Option<&'a Value> {
    entries.iter().find(|(k, _)| &**k == key).map(|(_, v)| v)
}

impl From<bool> for Value {
    fn from(v: bool) -> Self {
        Self::Bool(v)
    }
}

impl From<Option<bool>> for Value {
    fn from(v: Option<bool>) -> Self {
        v.map_or(Self::Null, Self::Bool)
    }
}
