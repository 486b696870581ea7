//! Makes sure that a session exists.

use graphlume_types::{DatasetId, SessionId};

use crate::command::{Apply, Call, CommandPriority};
use crate::engine::Engine;
use crate::layout_settings::LayoutSettings;

pub(crate) struct Open {
    pub(crate) session: SessionId,
    pub(crate) dataset: DatasetId,
    pub(crate) settings: LayoutSettings,
}

impl Apply for Open {
    type Answer = ();
    type On = Engine;
    const NAME: &'static str = "open";
    const PRIORITY: CommandPriority = CommandPriority::Control;

    fn apply(self, engine: &mut Engine, call: Call<()>) {
        let Self { session, dataset, settings } = self;
        let Engine { sessions, residency, scheduler, .. } = engine;
        call.reply.send(sessions.open(session, dataset, settings, residency, scheduler));
    }
}
