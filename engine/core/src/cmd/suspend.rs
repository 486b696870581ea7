//! Stops the layouts and waits until the positions are written down.

use crate::command::{Apply, Call, CommandPriority};
use crate::session::Sessions;

pub(crate) struct Suspend;

impl Apply for Suspend {
    type Answer = ();
    type On = Sessions;
    const NAME: &'static str = "suspend";
    const PRIORITY: CommandPriority = CommandPriority::Control;

    fn apply(self, sessions: &mut Sessions, call: Call<()>) {
        sessions.suspend(call.reply);
    }
}
