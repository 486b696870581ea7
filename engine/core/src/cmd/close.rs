//! Ends a session.

use graphlume_types::SessionId;

use crate::command::{Apply, Call};
use crate::core::Core;
use crate::error::ClosedReason;
use crate::lane::Lane;

pub(crate) struct Close {
    pub(crate) session: SessionId,
}

impl Apply for Close {
    type Answer = ();
    const LANE: Lane = Lane::Control;

    fn apply(self, core: &mut Core, call: Call<()>) {
        let found = core.session(&self.session).map(|_| ());
        core.close_session(&self.session, ClosedReason::Closed);
        call.reply.send(found);
    }
}
