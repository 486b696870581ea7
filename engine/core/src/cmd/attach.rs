//! Attaches a viewer to a session.

use graphlume_types::limits;

use crate::command::{Apply, Call, CommandPriority};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::residency::Need;
use crate::session::broadcast::Presence;
use crate::target::Target;

pub(crate) struct Attach {
    pub(crate) target: Target,
}

impl Apply for Attach {
    /// Counted in here, on the engine thread, so that the limit holds; counted out wherever dropped.
    type Answer = Presence;
    type On = Engine;
    const NAME: &'static str = "attach";
    const PRIORITY: CommandPriority = CommandPriority::Control;

    fn apply(self, engine: &mut Engine, call: Call<Presence>) {
        let Engine { sessions, residency, scheduler, .. } = engine;
        let session = match sessions.target(&self.target) {
            Ok(session) => session,
            Err(e) => return call.reply.send(Err(e)),
        };
        if session.viewers() >= limits::VIEWERS_PER_SESSION_MAX {
            let limit = limits::VIEWERS_PER_SESSION_MAX;
            let what = "viewers of the session";
            return call.reply.send(Err(EngineError::Busy { what, limit }));
        }
        call.reply.send(Ok(Presence::new(session.broadcast.clone())));
        // A graph that was given back, or failed a while ago, is wanted again.
        if session.lease.is_none() {
            sessions.request_graph(&self.target.session, Need::PICTURE, residency, scheduler);
        }
        sessions.request_tick();
    }
}
