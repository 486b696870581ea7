//! A batch: changes that happen together or not at all, each of which may depend on the state of its
//! record.

use graphlume_types::limits;

use crate::codec::{Tag, tree_key};
use crate::error::StoreError;
use crate::record::{Facts, Kind, Record, RecordKey};

/// The state that a change requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expect {
    Anything,
    Absent,
    Is(Tag),
}

#[derive(Debug)]
pub(crate) enum Change {
    Put {
        json: Vec<u8>,
        facts: Box<Facts>,
    },
    Delete,
    /// Only the requirement.
    Check,
}

#[derive(Debug)]
pub(crate) struct Op {
    pub kind: Kind,
    pub tree_key: Vec<u8>,
    pub key_text: String,
    pub expect: Expect,
    pub change: Change,
}

/// Changes to commit as one. A record that cannot be written makes the whole commit fail.
#[derive(Debug, Default)]
#[must_use = "a batch does nothing until it is committed"]
pub struct Batch {
    pub(crate) ops: Vec<Op>,
    pub(crate) error: Option<StoreError>,
}

impl Batch {
    /// An empty batch.
    pub fn new() -> Self {
        Self::default()
    }

    /// Writes `rec`, whatever was there.
    pub fn put<R: Record>(mut self, rec: &R) -> Self {
        self.push_put(rec, Expect::Anything);
        self
    }

    /// Writes `rec`; the commit fails with `Exists` when its key is taken.
    pub fn insert<R: Record>(mut self, rec: &R) -> Self {
        self.push_put(rec, Expect::Absent);
        self
    }

    /// Writes `rec`; the commit fails with `Changed` unless the record still has `tag`.
    pub fn replace<R: Record>(mut self, rec: &R, tag: Tag) -> Self {
        self.push_put(rec, Expect::Is(tag));
        self
    }

    /// Deletes a record; its absence is no error.
    pub fn delete<R: Record>(mut self, key: &R::Key) -> Self {
        self.push::<R>(key, Expect::Anything, Change::Delete);
        self
    }

    /// Deletes a record; the commit fails with `Changed` unless it still has `tag`.
    pub fn delete_if<R: Record>(mut self, key: &R::Key, tag: Tag) -> Self {
        self.push::<R>(key, Expect::Is(tag), Change::Delete);
        self
    }

    /// Changes nothing; the commit fails with `Changed` unless the record still has `tag` (`None`:
    /// with `Exists` unless it is absent). For a write that depends on another record.
    pub fn require<R: Record>(mut self, key: &R::Key, tag: Option<Tag>) -> Self {
        self.push::<R>(key, tag.map_or(Expect::Absent, Expect::Is), Change::Check);
        self
    }

    /// Whether it holds no change and no requirement.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ops.is_empty() && self.error.is_none()
    }

    fn push_put<R: Record>(&mut self, rec: &R, expect: Expect) {
        let encode = |e: serde_json::Error| StoreError::Encode {
            kind: R::KIND.name(),
            detail: e.to_string(),
        };
        match serde_json::to_vec(rec).map_err(encode) {
            Ok(json) => {
                let facts = Facts::of(rec);
                self.push_raw(R::KIND, expect, Change::Put { json, facts: Box::new(facts) });
            }
            Err(e) => self.error = self.error.take().or(Some(e)),
        }
    }

    fn push<R: Record>(&mut self, key: &R::Key, expect: Expect, change: Change) {
        self.ops.push(Op {
            kind: R::KIND,
            tree_key: tree_key(R::KIND, &key.to_bytes()),
            key_text: key.to_text(),
            expect,
            change,
        });
    }

    /// A put of a record whose type is known by its kind alone.
    pub(crate) fn push_raw(&mut self, kind: Kind, expect: Expect, change: Change) {
        let Change::Put { json, facts } = &change else { return };
        if let Err(e) = check(json, facts) {
            self.error = self.error.take().or(Some(e));
        }
        let (key, key_text) = (tree_key(kind, &facts.key), facts.key_text.clone());
        self.ops.push(Op { kind, tree_key: key, key_text, expect, change });
    }
}

fn check(json: &[u8], facts: &Facts) -> Result<(), StoreError> {
    let too_large = |what, limit: usize| StoreError::TooLarge { what, limit: limit as u64 };
    let short = limits::RECORD_KEY_BYTES_MAX;
    if json.len() > limits::RECORD_BYTES_MAX {
        return Err(too_large("the record", limits::RECORD_BYTES_MAX));
    }
    if facts.key.len() > short {
        return Err(too_large("the key of the record", short));
    }
    if facts.org.as_ref().is_some_and(|o| o.len() > short) {
        return Err(too_large("the organization's name", short));
    }
    if facts.unique.iter().any(|(_, v)| v.len() > limits::NAME_CHARS_MAX * 4) {
        return Err(too_large("a name that must be unique", limits::NAME_CHARS_MAX * 4));
    }
    Ok(())
}
