//! Lets a caller wait for what happens to a session without being a viewer of it.

use std::sync::Arc;

use graphlume_types::SessionId;

use crate::command::{Apply, Call, CommandPriority};
use crate::session::Sessions;
use crate::session::broadcast::SessionBroadcast;

/// Asks for the shared side of a session.
pub(crate) struct Follow {
    pub(crate) session: SessionId,
}

impl Apply for Follow {
    type Answer = Arc<SessionBroadcast>;
    type On = Sessions;
    const NAME: &'static str = "follow";
    const PRIORITY: CommandPriority = CommandPriority::Interactive;

    fn apply(self, sessions: &mut Sessions, call: Call<Self::Answer>) {
        call.reply.send(sessions.get(&self.session).map(|s| s.broadcast.clone()));
    }
}
