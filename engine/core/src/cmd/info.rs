//! What a session shows and does.

use std::sync::Arc;

use graphlume_types::{DatasetId, SessionId};

use crate::command::{Apply, Call};
use crate::core::Core;
use crate::lane::Lane;
use crate::session::collections::CollectionsShown;
use crate::session::slot::{GraphFacts, SessionState};

/// What is known about a session at this moment.
#[derive(Debug, Clone)]
pub struct SessionInfo {
    /// The session.
    pub session: SessionId,
    /// What it shows.
    pub dataset: DatasetId,
    /// What it does.
    pub state: Arc<SessionState>,
    /// The graph, once it has been loaded.
    pub graph: Option<Arc<GraphFacts>>,
    /// Its collections.
    pub collections: Arc<CollectionsShown>,
}

pub(crate) struct Info {
    pub(crate) session: SessionId,
}

impl Apply for Info {
    type Answer = SessionInfo;
    const LANE: Lane = Lane::Interactive;

    fn apply(self, core: &mut Core, call: Call<SessionInfo>) {
        let info = core.session(&self.session).map(|s| SessionInfo {
            session: s.id.clone(),
            dataset: s.dataset,
            state: Arc::new(s.state_now()),
            graph: s.slot.graph(),
            collections: s.slot.collections(),
        });
        call.reply.send(info);
    }
}
