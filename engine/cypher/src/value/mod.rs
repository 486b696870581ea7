//! Values of expressions.

mod order;
pub(crate) mod temporal;

use std::sync::Arc;

pub(crate) use order::{Key, compare, equal, order};

use graphlume_expr::Scalar;

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
#[derive(Debug)]
pub enum Value {
    /// What has no parts: null, truth values, numbers, texts and times.
    Scalar(Scalar),
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
    /// A length of time. It is no scalar of both languages: columns and GFQL know lengths as numbers alone, and what
    /// it is good for, calendar arithmetic, is Cypher's.
    Duration(Arc<Duration>),
}

// Rows are made of values, which are cloned and moved in every loop: three words each.
const _: () = assert!(size_of::<Value>() == 24);

// The row engine clones values in every loop, most of them numbers and elements. The derived code asks for the kind of a
// value and then for that of its scalar, in a function that is called each time.
impl Clone for Value {
    #[inline]
    fn clone(&self) -> Self {
        match self {
            Self::Scalar(Scalar::Int(v)) => Self::int(*v),
            Self::Scalar(Scalar::Float(v)) => Self::float(*v),
            Self::Node(v) => Self::Node(*v),
            Self::Edge(v) => Self::Edge(*v),
            other => other.clone_other(),
        }
    }
}

impl Default for Value {
    fn default() -> Self {
        Self::NULL
    }
}

impl Value {
    /// Missing or unknown.
    pub const NULL: Self = Self::Scalar(Scalar::Null);

    /// A truth value.
    #[must_use]
    pub const fn bool(v: bool) -> Self {
        Self::Scalar(Scalar::Bool(v))
    }

    /// A whole number.
    #[must_use]
    pub const fn int(v: i64) -> Self {
        Self::Scalar(Scalar::Int(v))
    }

    /// A whole number without a sign.
    #[must_use]
    pub const fn uint(v: u64) -> Self {
        Self::Scalar(Scalar::uint(v))
    }

    /// A number.
    #[must_use]
    pub const fn float(v: f64) -> Self {
        Self::Scalar(Scalar::Float(v))
    }

    /// Text.
    #[must_use]
    pub fn text(text: impl Into<Arc<str>>) -> Self {
        Self::Scalar(Scalar::text(text))
    }

    /// A point in time.
    #[must_use]
    pub const fn temporal(time: Temporal) -> Self {
        Self::Scalar(Scalar::Temporal(time))
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

    /// A clone of what is neither a number nor an element.
    fn clone_other(&self) -> Self {
        match self {
            Self::Scalar(Scalar::Text(v)) => Self::Scalar(Scalar::Text(Arc::clone(v))),
            Self::Scalar(Scalar::Bool(v)) => Self::bool(*v),
            Self::Scalar(v) => Self::Scalar(v.clone()),
            Self::List(v) => Self::List(Arc::clone(v)),
            Self::Map(v) => Self::Map(Arc::clone(v)),
            Self::Node(v) => Self::Node(*v),
            Self::Edge(v) => Self::Edge(*v),
            Self::Path(v) => Self::Path(Arc::clone(v)),
            Self::Duration(v) => Self::Duration(Arc::clone(v)),
        }
    }

    pub(crate) fn size(&self) -> Size {
        match self {
            Self::List(list) => list.size,
            Self::Map(map) => map.size,
            Self::Scalar(Scalar::Text(text)) => {
                Size { weight: 1 + (text.len() / BYTES_PER_WEIGHT) as u64, depth: 0 }
            }
            Self::Path(path) => Size { weight: 1 + path.edges.len() as u64, depth: 0 },
            _ => Size { weight: 1, depth: 0 },
        }
    }

    /// Whether this is null.
    #[must_use]
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Scalar(Scalar::Null))
    }

    /// A whole number, exactly; `None` for everything else.
    pub(crate) const fn as_whole(&self) -> Option<i128> {
        if let Self::Scalar(scalar) = self { scalar.as_whole() } else { None }
    }

    /// A number as a float.
    pub(crate) const fn as_f64(&self) -> Option<f64> {
        if let Self::Scalar(scalar) = self { scalar.as_f64() } else { None }
    }

    /// What kind of value this is, for people.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Scalar(scalar) => scalar.kind(),
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
            Self::Node(_) => "a node",
            Self::Edge(_) => "a relationship",
            Self::Path(_) => "a path",
            Self::Duration(_) => "a duration",
        }
    }

    /// A value of JSON as one of the language.
    #[must_use]
    pub fn from_json(json: &serde_json::Value) -> Self {
        use serde_json::Value as J;
        match json {
            J::Array(list) => Self::list(list.iter().map(Self::from_json).collect()),
            J::Object(map) => {
                let entry = |(k, v): (&String, &J)| (Arc::from(k.as_str()), Self::from_json(v));
                Self::map(map.iter().map(entry).collect())
            }
            scalar => Self::Scalar(Scalar::from_json(scalar).unwrap_or_default()),
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
        Self::bool(v)
    }
}

impl From<Option<bool>> for Value {
    fn from(v: Option<bool>) -> Self {
        v.map_or(Self::NULL, Self::bool)
    }
}
