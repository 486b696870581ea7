//! Makes the loop look at its sessions in this turn.

use crate::command::{Apply, Call};
use crate::core::Core;
use crate::lane::Lane;

pub(crate) struct Wake;

impl Apply for Wake {
    type Answer = ();
    const LANE: Lane = Lane::Control;

    fn apply(self, core: &mut Core, call: Call<()>) {
        core.woken = true;
        call.reply.send(Ok(()));
    }
}
