//! Makes the loop look at its sessions in this turn.

use std::sync::atomic::Ordering;

use crate::command::{Apply, Call};
use crate::core::Core;
use crate::lane::Lane;

pub(crate) struct Wake;

impl Apply for Wake {
    type Answer = ();
    const LANE: Lane = Lane::Control;

    fn apply(self, core: &mut Core, call: Call<()>) {
        // Given free before the look, so that what changes during the look is looked at once more.
        core.shared.wake_asked.store(false, Ordering::Release);
        core.woken = true;
        call.reply.send(Ok(()));
    }
}
