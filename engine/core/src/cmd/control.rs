//! Changes how a session's layout runs.

use std::sync::Arc;

use crate::command::{Apply, Call};
use crate::core::Core;
use crate::error::EngineError;
use crate::lane::Lane;
use crate::session::control::Control;
use crate::session::slot::SessionState;
use crate::target::Target;

pub(crate) struct ControlSession {
    pub(crate) target: Target,
    pub(crate) control: Control,
}

impl Apply for ControlSession {
    type Answer = Arc<SessionState>;
    const LANE: Lane = Lane::Control;

    fn apply(self, core: &mut Core, call: Call<Self::Answer>) {
        let Self { target, control } = self;
        if core.suspended {
            return call.reply.send(Err(EngineError::Stopped));
        }
        let now = core.now();
        let done = core.target(&target).and_then(|session| {
            session.control(control, now)?;
            Ok::<_, EngineError>(session.slot.state())
        });
        core.queue(&target.session);
        call.reply.send(done);
    }
}
