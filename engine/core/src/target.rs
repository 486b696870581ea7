//! Which session a call means.

use graphlume_types::{DatasetId, SessionId};

/// A session by its name, and what it has to show. Names are chosen by clients and may be taken over
/// for another dataset at any moment: a caller that was allowed to see a dataset names it too, and the call
/// is refused when the session shows another one by now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The session.
    pub session: SessionId,
    /// The dataset that the caller may see; none for whatever the session shows.
    pub dataset: Option<DatasetId>,
}

impl From<SessionId> for Target {
    fn from(session: SessionId) -> Self {
        Self { session, dataset: None }
    }
}

impl From<(SessionId, DatasetId)> for Target {
    fn from((session, dataset): (SessionId, DatasetId)) -> Self {
        Self { session, dataset: Some(dataset) }
    }
}
