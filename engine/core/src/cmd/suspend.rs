//! Stops the layouts and waits until the positions are written down.

use crate::command::{Apply, Call};
use crate::core::Core;
use crate::lane::Lane;

pub(crate) struct Suspend;

impl Apply for Suspend {
    type Answer = ();
    const LANE: Lane = Lane::Control;

    fn apply(self, core: &mut Core, call: Call<()>) {
        core.suspend(call.reply);
    }
}
