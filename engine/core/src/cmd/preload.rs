//! Loads a dataset before a session asks for it.

use graphlume_types::DatasetId;

use crate::command::{Apply, Call, CommandPriority};
use crate::engine::Engine;

pub(crate) struct Preload {
    pub(crate) dataset: DatasetId,
}

impl Apply for Preload {
    type Answer = ();
    type On = Engine;
    const NAME: &'static str = "preload";
    const PRIORITY: CommandPriority = CommandPriority::Batch;

    fn apply(self, engine: &mut Engine, call: Call<()>) {
        call.reply.send(engine.load_again(self.dataset));
    }
}
