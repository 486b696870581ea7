//! The document of a visualization: what all who look at it see alike, and what may be taken back. Filters,
//! encodings, collections, pins and settings are entries of one map, from paths to values; everybody who may
//! change it, a person at a page or an agent, does so by steps.
//!
//! What each person sees for himself, such as the camera or what is selected, is not here.

mod arrangements;
mod entry;
mod history;
mod layer;
mod room;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;
mod told;
mod unwritten;
mod value;

use std::collections::BTreeMap;

use graphlume_storage::JsonText;
use graphlume_types::limits::{DOCUMENT_ENTRIES_MAX, DOCUMENT_UNPACKED_BYTES_MAX};
use serde::Deserialize;
use serde_json::Value;

use crate::error::ServiceError;

pub(crate) use arrangements::{ARRANGEMENT, Arrangements, change_to, number_in, number_of};
pub(crate) use entry::{PathTarget, checked};
pub(crate) use history::{Actor, UndoStep};
pub(crate) use layer::{Author, Layer, Planned, Shown, Way};
pub use room::Seat;
pub(crate) use room::{OfRoom, Room};
pub use told::{Text, Told};
pub(crate) use unwritten::Unwritten;
pub(crate) use value::{Held, PARSED_BYTES, Paid, Payer};

/// One entry that a page asks to be another, or to go when there is no value.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ChangeRequest {
    /// Which entry.
    pub path: String,
    /// What it is to hold.
    pub value: Option<JsonText>,
}

impl ChangeRequest {
    /// The same from a value that was parsed.
    #[must_use]
    pub fn new(path: String, value: Option<&Value>) -> Self {
        Self { path, value: value.and_then(|v| JsonText::of(v).ok()) }
    }
}

/// One entry that is to be another, or to go when there is no value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Change {
    pub(crate) path: String,
    pub(crate) value: Option<Held>,
}

impl Change {
    pub(crate) fn new(path: impl Into<String>, value: Option<Held>) -> Self {
        Self { path: path.into(), value }
    }

    /// Bytes of its texts.
    fn bytes(&self) -> usize {
        self.path.len() + self.value.as_ref().map_or(0, Held::bytes)
    }
}

/// The entries.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Document {
    entries: BTreeMap<String, Held>,
    bytes: usize,
    unpacked: u64,
}

impl Document {
    /// What was written down; what cannot be read any more is left out and logged.
    ///
    /// # Errors
    /// The payer has too little.
    pub(crate) fn from_entries(
        entries: impl IntoIterator<Item = (String, JsonText)>,
        payer: &Payer,
    ) -> Result<Self, ServiceError> {
        let mut document = Self::default();
        for (path, text) in entries {
            match checked(&path, Some(&text), DOCUMENT_UNPACKED_BYTES_MAX, payer) {
                Ok(change) => drop(document.set(change)),
                Err(unpaid @ ServiceError::Unpaid(_)) => return Err(unpaid),
                Err(error) => tracing::warn!(path, %error, "an entry of a document is left out"),
            }
        }
        Ok(document)
    }

    /// The entries as they are written down and sent.
    pub(crate) fn to_map(&self) -> BTreeMap<String, JsonText> {
        self.entries.iter().map(|(path, held)| (path.clone(), held.text().clone())).collect()
    }

    pub(crate) fn get(&self, path: &str) -> Option<&Held> {
        self.entries.get(path)
    }

    /// The entries below `prefix`, such as `filters/`, with the rest of their paths.
    pub(crate) fn below<'a>(
        &'a self,
        prefix: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a Held)> + 'a {
        let from = self.entries.range(prefix.to_owned()..);
        from.map_while(move |(path, value)| Some((path.strip_prefix(prefix)?, value)))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes of its texts.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Sets one entry; the change that takes it back.
    fn set(&mut self, change: Change) -> Change {
        let own = change.bytes();
        let Change { path, value } = change;
        let unpacked = value.as_ref().map_or(0, Held::unpacked);
        let (before, added) = match value {
            Some(value) => (self.entries.insert(path.clone(), value), own),
            None => (self.entries.remove(&path), 0),
        };
        self.bytes += added;
        self.unpacked += unpacked;
        if let Some(before) = &before {
            self.bytes = self.bytes.saturating_sub(path.len() + before.bytes());
            self.unpacked = self.unpacked.saturating_sub(before.unpacked());
        }
        Change { path, value: before }
    }

    /// Makes all of these changes, or none; the changes that take them back, in the order in which they are to
    /// be made.
    ///
    /// # Errors
    /// When the document would be larger than `bytes_max`, or its rules would unpack to more than
    /// [`DOCUMENT_UNPACKED_BYTES_MAX`].
    pub(crate) fn apply(
        &mut self,
        changes: &[Change],
        bytes_max: usize,
    ) -> Result<Vec<Change>, ServiceError> {
        let before = (self.bytes, self.unpacked);
        let mut back: Vec<Change> = changes.iter().map(|c| self.set(c.clone())).collect();
        back.reverse();
        let what = "the picture's document";
        let too_large = if self.entries.len() > DOCUMENT_ENTRIES_MAX {
            Some((what, DOCUMENT_ENTRIES_MAX as u64, "entries; remove filters or pins"))
        } else if self.bytes > bytes_max && self.bytes > before.0 {
            Some((what, bytes_max as u64, "bytes; remove filters by selection"))
        } else if self.unpacked > DOCUMENT_UNPACKED_BYTES_MAX && self.unpacked > before.1 {
            Some((
                "what the document's filters by selection unpack to",
                DOCUMENT_UNPACKED_BYTES_MAX,
                "bytes; remove some of them, or use expressions",
            ))
        } else {
            None
        };
        let Some((what, limit, unit)) = too_large else { return Ok(back) };
        for change in back {
            self.set(change);
        }
        Err(ServiceError::TooLarge { what, limit, unit })
    }
}
