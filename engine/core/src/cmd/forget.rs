//! A dataset is gone.

use graphlume_types::{Code, DatasetId, SessionId};

use crate::command::{Apply, Call};
use crate::core::Core;
use crate::error::{ClosedReason, EngineError};
use crate::lane::Lane;

pub(crate) struct Forget {
    pub(crate) dataset: DatasetId,
}

impl Apply for Forget {
    type Answer = ();
    const LANE: Lane = Lane::Control;

    fn apply(self, core: &mut Core, call: Call<()>) {
        let dataset = self.dataset;
        let ids: Vec<SessionId> =
            core.sessions.values().filter(|s| s.dataset == dataset).map(|s| s.id.clone()).collect();
        for id in ids {
            core.close_session(&id, ClosedReason::DatasetGone);
        }
        core.forget_dataset_positions(dataset);
        let gone = EngineError::Work {
            code: Code::NotFound,
            slug: "dataset-not-found",
            message: format!("dataset {dataset} was deleted").into(),
        };
        for waiter in core.store.forget(dataset) {
            waiter(core, Err(gone.clone()));
        }
        call.reply.send(Ok(()));
    }
}
