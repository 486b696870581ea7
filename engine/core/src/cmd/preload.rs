//! Loads a dataset before, or because, somebody wants it.

use graphlume_types::DatasetId;

use crate::command::{Apply, Call};
use crate::core::Core;
use crate::error::EngineError;
use crate::lane::Lane;
use crate::session::machine::GraphState;
use crate::store::Slot;

pub(crate) struct Preload {
    pub(crate) dataset: DatasetId,
}

impl Apply for Preload {
    type Answer = ();
    const LANE: Lane = Lane::Batch;

    fn apply(self, core: &mut Core, call: Call<()>) {
        call.reply.send(load_again(core, self.dataset));
    }
}

/// Starts a load unless one runs or the graph is there, even if the last one failed a moment ago.
pub(super) fn load_again(core: &mut Core, dataset: DatasetId) -> Result<(), EngineError> {
    let state = core.want_dataset(dataset, true, true);
    let now = core.now();
    if matches!(state, GraphState::Loading(_)) {
        for session in core.sessions.values_mut().filter(|s| s.dataset == dataset) {
            if session.lease.is_none() && session.graph != GraphState::Released {
                session.graph_missing(state.clone(), now);
            }
        }
    }
    match core.store.entry(dataset).map(|e| &e.slot) {
        Some(Slot::Failed { error: error @ EngineError::Busy { .. }, .. }) => Err(error.clone()),
        _ => Ok(()),
    }
}
