//! Steps of the document of a visualization that its record does not have yet.

use std::collections::BTreeMap;

use graphlume_types::{SessionId, UserId};
use serde::{Deserialize, Serialize};

use super::{CollectionRec, JsonText, Kind, Record, RecordKey};

/// Which step of which session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepKey {
    /// The session.
    pub session: SessionId,
    /// Counts on from step to step.
    pub number: u64,
}

impl StepKey {
    /// What the keys of all steps of a session begin with. No name of a session has the byte that ends it.
    pub(crate) fn prefix(session: &SessionId) -> Vec<u8> {
        let mut out = session.as_str().as_bytes().to_vec();
        out.push(0);
        out
    }
}

impl RecordKey for StepKey {
    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Self::prefix(&self.session);
        out.extend_from_slice(&self.number.to_be_bytes());
        out
    }

    fn to_text(&self) -> String {
        format!("{}/{}", self.session, self.number)
    }
}

/// A step: what of the document became different by it. A session that is read again is its record with its steps, in
/// their order; the record written anew takes their place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepRec {
    /// The session.
    pub session_id: SessionId,
    /// Counts on from step to step.
    pub number: u64,
    /// Who owns the session.
    #[serde(default)]
    pub owner: Option<UserId>,
    /// Unix microseconds.
    pub created_at: i64,
    /// Entries by their paths; those without a value are gone.
    #[serde(default)]
    pub entries: BTreeMap<String, Option<JsonText>>,
    /// How the collections changed, when they did.
    #[serde(default)]
    pub collections: Option<CollectionsStep>,
}

/// What a step made of the collections.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CollectionsStep {
    /// The ids of all that there are, the first painted on top.
    pub order: Vec<String>,
    /// Those that are new or different.
    pub put: Vec<CollectionRec>,
}

impl CollectionsStep {
    /// What makes `after` of `before`.
    #[must_use]
    pub fn between(before: &[CollectionRec], after: &[CollectionRec]) -> Self {
        let put = after.iter().filter(|r| !before.contains(r)).cloned().collect();
        Self { order: after.iter().map(|r| r.id.clone()).collect(), put }
    }

    /// Makes the step.
    pub fn apply(self, records: &mut Vec<CollectionRec>) {
        let mut known: BTreeMap<String, CollectionRec> =
            std::mem::take(records).into_iter().map(|r| (r.id.clone(), r)).collect();
        known.extend(self.put.into_iter().map(|r| (r.id.clone(), r)));
        records.extend(self.order.iter().filter_map(|id| known.remove(id)));
    }
}

impl Record for StepRec {
    const KIND: Kind = Kind::Step;
    const COUNTED: bool = true;
    type Key = StepKey;

    fn key(&self) -> StepKey {
        StepKey { session: self.session_id.clone(), number: self.number }
    }

    fn created_at(&self) -> i64 {
        self.created_at
    }

    fn owner(&self) -> Option<UserId> {
        self.owner
    }
}
