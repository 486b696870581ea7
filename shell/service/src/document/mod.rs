//! The document of a visualization: what all who look at it see alike, and what may be taken back. Filters,
//! encodings, collections, pins and settings are entries of one map, from paths to values; everybody who may
//! change it, a person at a page or an agent, does so by steps.
//!
//! What each person sees for himself, such as the camera or what is selected, is not here.

mod entry;
mod history;
mod layer;
mod room;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;

use std::collections::BTreeMap;

use graphlume_types::limits::DOCUMENT_ENTRIES_MAX;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::ServiceError;
use crate::free_fields::json_bytes;

pub(crate) use entry::{Place, checked};
pub(crate) use history::{Actor, Step};
pub(crate) use layer::{Author, Layer, Planned, Shown, Way};
pub(crate) use room::Room;
pub use room::{Seat, Told};

/// One entry that is to be another, or to go when there is no value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Which entry.
    pub path: String,
    /// What it is to hold.
    pub value: Option<Value>,
}

impl Change {
    pub(crate) fn new(path: impl Into<String>, value: Option<Value>) -> Self {
        Self { path: path.into(), value }
    }

    /// About how many bytes it takes.
    fn bytes(&self) -> usize {
        self.path.len() + self.value.as_ref().map_or(0, json_bytes)
    }
}

/// The entries.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Document {
    entries: BTreeMap<String, Value>,
    bytes: usize,
}

impl Document {
    /// What was written down; what cannot be read any more is left out and logged.
    pub(crate) fn from_map(map: Map<String, Value>) -> Self {
        let mut document = Self::default();
        for (path, value) in map {
            match checked(&path, Some(value)) {
                Ok(change) => drop(document.set(change)),
                Err(error) => tracing::warn!(path, %error, "an entry of a document is left out"),
            }
        }
        document
    }

    /// The entries as they are written down and sent.
    pub(crate) fn to_map(&self) -> Map<String, Value> {
        self.entries.clone().into_iter().collect()
    }

    pub(crate) fn get(&self, path: &str) -> Option<&Value> {
        self.entries.get(path)
    }

    /// The entries below `prefix`, such as `filters/`, with the rest of their paths.
    pub(crate) fn below<'a>(
        &'a self,
        prefix: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a Value)> + 'a {
        let from = self.entries.range(prefix.to_owned()..);
        from.map_while(move |(path, value)| Some((path.strip_prefix(prefix)?, value)))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// About how many bytes it takes.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Sets one entry; the change that takes it back.
    fn set(&mut self, change: Change) -> Change {
        let Change { path, value } = change;
        let own = path.len() + value.as_ref().map_or(0, json_bytes);
        let before = match value {
            Some(value) => self.entries.insert(path.clone(), value),
            None => self.entries.remove(&path),
        };
        if self.entries.contains_key(&path) {
            self.bytes += own;
        }
        if let Some(before) = &before {
            self.bytes = self.bytes.saturating_sub(path.len() + json_bytes(before));
        }
        Change { path, value: before }
    }

    /// Makes all of these changes, or none; the changes that take them back, in the order in which they are to
    /// be made.
    ///
    /// # Errors
    /// When the document would be larger than `bytes_max`.
    pub(crate) fn apply(
        &mut self,
        changes: &[Change],
        bytes_max: usize,
    ) -> Result<Vec<Change>, ServiceError> {
        let mut back: Vec<Change> = changes.iter().map(|c| self.set(c.clone())).collect();
        back.reverse();
        let too_large = if self.entries.len() > DOCUMENT_ENTRIES_MAX {
            Some((
                "the picture's document",
                DOCUMENT_ENTRIES_MAX,
                "entries; remove filters or pins",
            ))
        } else if self.bytes > bytes_max {
            Some(("the picture's document", bytes_max, "bytes; remove filters by selection"))
        } else {
            None
        };
        let Some((what, limit, unit)) = too_large else { return Ok(back) };
        for change in back {
            self.set(change);
        }
        Err(ServiceError::TooLarge { what, limit: limit as u64, unit })
    }
}
