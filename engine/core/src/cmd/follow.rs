//! Lets somebody wait for what happens to a session without being a viewer of it.

use std::sync::Arc;

use graphlume_types::SessionId;

use crate::command::{Apply, Call};
use crate::core::Core;
use crate::lane::Lane;
use crate::session::slot::Slot;

/// Asks for the shared side of a session.
pub(crate) struct Follow {
    pub(crate) session: SessionId,
}

impl Apply for Follow {
    type Answer = Arc<Slot>;
    const LANE: Lane = Lane::Interactive;

    fn apply(self, core: &mut Core, call: Call<Arc<Slot>>) {
        let slot = core.session(&self.session).map(|s| s.slot.clone());
        call.reply.send(slot);
    }
}
