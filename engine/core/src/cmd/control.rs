//! Changes how a session's layout runs.

use std::sync::Arc;

use crate::command::{Apply, Call, CommandPriority};
use crate::messages::SessionState;
use crate::session::Sessions;
use crate::session::control::Control;
use crate::target::Target;

pub(crate) struct ControlSession {
    pub(crate) target: Target,
    pub(crate) control: Control,
}

impl Apply for ControlSession {
    type Answer = Arc<SessionState>;
    type On = Sessions;
    const NAME: &'static str = "control";
    const PRIORITY: CommandPriority = CommandPriority::Control;

    fn apply(self, sessions: &mut Sessions, call: Call<Self::Answer>) {
        call.reply.send(sessions.control(&self.target, self.control));
    }
}
