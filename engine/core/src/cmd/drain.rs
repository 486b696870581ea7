//! Ends the engine.

use crate::command::{Apply, Call};
use crate::core::Core;
use crate::lane::Lane;

pub(crate) struct Drain;

impl Apply for Drain {
    type Answer = ();
    const LANE: Lane = Lane::Control;

    fn apply(self, core: &mut Core, call: Call<()>) {
        core.stop();
        call.reply.send(Ok(()));
    }
}
