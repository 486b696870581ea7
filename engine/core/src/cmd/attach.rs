//! Lets somebody watch a session.

use graphlume_types::limits;

use crate::command::{Apply, Call};
use crate::core::Core;
use crate::error::EngineError;
use crate::lane::Lane;
use crate::session::slot::Presence;
use crate::target::Target;

pub(crate) struct Attach {
    pub(crate) target: Target,
}

impl Apply for Attach {
    /// Counted in here, on the engine thread, so that the limit holds; counted out wherever dropped.
    type Answer = Presence;
    const LANE: Lane = Lane::Control;

    fn apply(self, core: &mut Core, call: Call<Presence>) {
        let slot = match core.target(&self.target) {
            Ok(s) => s.slot.clone(),
            Err(e) => return call.reply.send(Err(e)),
        };
        let viewers = slot.viewers.load(std::sync::atomic::Ordering::SeqCst);
        if viewers >= limits::VIEWERS_PER_SESSION_MAX {
            let limit = limits::VIEWERS_PER_SESSION_MAX;
            let what = "viewers of the session";
            return call.reply.send(Err(EngineError::Busy { what, limit }));
        }
        call.reply.send(Ok(Presence::new(slot)));
        // A graph that was given back, or failed a while ago, is wanted again.
        if core.target(&self.target).is_ok_and(|s| s.lease.is_none()) {
            core.want_graph(&self.target.session, false);
        }
        core.woken = true;
    }
}
