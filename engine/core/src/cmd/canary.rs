//! Runs the known-answer job.

use crate::command::{Apply, Call, CommandPriority};
use crate::engine::Engine;

/// Answers when the job has run; any number of callers share one run.
pub(crate) struct RunCanary;

impl Apply for RunCanary {
    type Answer = ();
    type On = Engine;
    const NAME: &'static str = "canary";
    const PRIORITY: CommandPriority = CommandPriority::Control;

    fn apply(self, engine: &mut Engine, call: Call<()>) {
        engine.device.run_canary(call.reply, &engine.scheduler);
    }
}
