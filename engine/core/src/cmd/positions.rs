//! The present positions without rounding.

use bytes::Bytes;

use crate::cmd::read::check_epoch;
use crate::command::{Apply, Call};
use crate::core::Core;
use crate::error::EngineError;
use crate::lane::Lane;
use crate::target::Target;

pub(crate) struct Positions {
    pub(crate) target: Target,
    pub(crate) epoch: u32,
}

impl Apply for Positions {
    type Answer = Bytes;
    const LANE: Lane = Lane::Interactive;

    fn apply(self, core: &mut Core, call: Call<Bytes>) {
        let Self { target, epoch } = self;
        let id = target.session.clone();
        let checked = core.target(&target).and_then(|s| {
            let graph = s.slot.graph().ok_or_else(|| EngineError::NotLoaded(id.clone()))?;
            check_epoch(epoch, graph.epoch)
        });
        if let Err(e) = checked {
            return call.reply.send(Err(e));
        }
        // The layout answers with its next slice; a graph that was given back is fetched for it.
        if let Ok(session) = core.target(&target) {
            session.exact_waiters.push(call.reply);
            if session.lease.is_none() {
                core.want_graph(&id, false);
            }
        }
        core.queue(&id);
    }
}
