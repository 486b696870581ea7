//! A dataset has other data now.

use graphlume_types::{CancelReason, Cancelled, DatasetId, SessionId};

use crate::cmd::preload::load_again;
use crate::command::{Apply, Call};
use crate::core::Core;
use crate::lane::Lane;

pub(crate) struct Changed {
    pub(crate) dataset: DatasetId,
}

impl Apply for Changed {
    type Answer = ();
    const LANE: Lane = Lane::Control;

    fn apply(self, core: &mut Core, call: Call<()>) {
        let dataset = self.dataset;
        // A new entry gets a new epoch.
        for waiter in core.store.forget(dataset) {
            waiter(core, Err(Cancelled(CancelReason::Superseded).into()));
        }
        core.forget_dataset_positions(dataset);
        let now = core.now();
        let ids: Vec<SessionId> = core
            .sessions
            .values_mut()
            .filter(|s| s.dataset == dataset)
            .map(|s| {
                s.reset(now);
                s.id.clone()
            })
            .collect();
        if ids.is_empty() {
            return call.reply.send(Ok(()));
        }
        call.reply.send(load_again(core, dataset));
        for id in ids {
            core.want_graph(&id, false);
        }
    }
}
