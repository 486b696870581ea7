//! Ends a session.

use graphlume_types::SessionId;

use crate::command::{Apply, Call, CommandPriority};
use crate::engine::Engine;
use crate::error::ClosedReason;

pub(crate) struct Close {
    pub(crate) session: SessionId,
}

impl Apply for Close {
    type Answer = ();
    type On = Engine;
    const NAME: &'static str = "close";
    const PRIORITY: CommandPriority = CommandPriority::Control;

    fn apply(self, engine: &mut Engine, call: Call<()>) {
        let found = engine.sessions.get(&self.session).map(|_| ());
        engine.sessions.close(&self.session, ClosedReason::Closed, &engine.scheduler);
        call.reply.send(found);
    }
}
