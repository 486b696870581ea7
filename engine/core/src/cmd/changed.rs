//! A dataset has other data now.

use graphlume_types::{CancelReason, Cancelled, DatasetId};

use crate::command::{Apply, Call, CommandPriority};
use crate::engine::Engine;

pub(crate) struct Changed {
    pub(crate) dataset: DatasetId,
}

impl Apply for Changed {
    type Answer = ();
    type On = Engine;
    const NAME: &'static str = "changed";
    const PRIORITY: CommandPriority = CommandPriority::Control;

    fn apply(self, engine: &mut Engine, call: Call<()>) {
        let superseded = Cancelled(CancelReason::Superseded).into();
        call.reply.send(engine.dataset_changed(self.dataset, &superseded));
    }
}
