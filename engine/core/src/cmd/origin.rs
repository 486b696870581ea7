//! Origin: the point that was subtracted from the coordinates of the data.

use crate::command::{Apply, Call, CommandPriority};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::target::Target;

pub(crate) struct Origin {
    pub(crate) target: Target,
}

impl Apply for Origin {
    type Answer = [f64; 2];
    type On = Engine;
    const NAME: &'static str = "origin";
    const PRIORITY: CommandPriority = CommandPriority::Interactive;

    fn apply(self, engine: &mut Engine, call: Call<[f64; 2]>) {
        let found = engine.sessions.target(&self.target).and_then(|session| {
            let scene = session.broadcast.scene();
            let missing = || EngineError::NotLoaded(session.id.clone());
            Ok(scene.ok_or_else(missing)?.origin)
        });
        call.reply.send(found);
    }
}
