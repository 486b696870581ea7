//! Target of a call: the session that it means.

use graphlume_types::{Caller, DatasetId, SessionId};

/// A session by its name, and what it has to show. Names are chosen by clients and may be taken over
/// for another dataset at any moment: a caller that was allowed to see a dataset names it too, and the call
/// is refused when the session shows another one by now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The session.
    pub session: SessionId,
    /// The dataset that the caller may see; none for whatever the session shows.
    pub dataset: Option<DatasetId>,
    /// Who asks: callers take turns.
    pub caller: Caller,
}

impl Target {
    /// The same, asked for by `caller`.
    #[must_use]
    pub fn of(self, caller: Caller) -> Self {
        Self { caller, ..self }
    }
}

impl From<SessionId> for Target {
    fn from(session: SessionId) -> Self {
        Self { session, dataset: None, caller: Caller::Nobody }
    }
}

impl From<(SessionId, DatasetId)> for Target {
    fn from((session, dataset): (SessionId, DatasetId)) -> Self {
        Self { session, dataset: Some(dataset), caller: Caller::Nobody }
    }
}
