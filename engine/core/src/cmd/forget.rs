//! A dataset is gone.

use graphlume_types::{Code, DatasetId};

use crate::command::{Apply, Call, CommandPriority};
use crate::engine::Engine;
use crate::error::EngineError;

pub(crate) struct Forget {
    pub(crate) dataset: DatasetId,
}

impl Apply for Forget {
    type Answer = ();
    type On = Engine;
    const NAME: &'static str = "forget";
    const PRIORITY: CommandPriority = CommandPriority::Control;

    fn apply(self, engine: &mut Engine, call: Call<()>) {
        let dataset = self.dataset;
        let gone = EngineError::Work {
            code: Code::NotFound,
            slug: "dataset-not-found",
            message: format!("dataset {dataset} was deleted").into(),
        };
        engine.dataset_gone(dataset, &gone);
        call.reply.send(Ok(()));
    }
}
