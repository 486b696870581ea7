//! Ends the engine.

use crate::command::{Apply, Call, CommandPriority};
use crate::engine::Engine;

pub(crate) struct Drain;

impl Apply for Drain {
    type Answer = ();
    type On = Engine;
    const NAME: &'static str = "drain";
    const PRIORITY: CommandPriority = CommandPriority::Control;

    fn apply(self, engine: &mut Engine, call: Call<()>) {
        engine.stop();
        call.reply.send(Ok(()));
    }
}
