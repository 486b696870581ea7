//! Facts about a session: its dataset, its state and its graph.

use std::sync::Arc;

use graphlume_types::{DatasetId, SessionId};

use crate::command::{Apply, Call, CommandPriority};
use crate::messages::SessionState;
use crate::residency::GraphFacts;
use crate::session::Sessions;
use crate::session::collection_set::CollectionsView;

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
    pub collections: Arc<CollectionsView>,
    /// The third coordinates of a layout that a viewer named; `None` where those of the data hold.
    pub placed_depths: Option<Arc<Vec<f32>>>,
}

pub(crate) struct Info {
    pub(crate) session: SessionId,
}

impl Apply for Info {
    type Answer = SessionInfo;
    type On = Sessions;
    const NAME: &'static str = "info";
    const PRIORITY: CommandPriority = CommandPriority::Interactive;

    fn apply(self, sessions: &mut Sessions, call: Call<SessionInfo>) {
        let info = sessions.get(&self.session).map(|s| SessionInfo {
            session: s.id.clone(),
            dataset: s.dataset,
            state: Arc::new(s.state_now()),
            graph: s.broadcast.graph(),
            collections: s.broadcast.collections(),
            placed_depths: s.placed_depths(),
        });
        call.reply.send(info);
    }
}
