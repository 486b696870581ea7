//! The present positions without rounding.

use bytes::Bytes;

use crate::caller::SessionReads;
use crate::cmd::read::check_epoch;
use crate::command::{Apply, Call, CommandPriority};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::target::Target;

impl SessionReads {
    /// The present positions as one exact frame of 32-bit floats.
    ///
    /// # Errors
    /// [`EngineError::Epoch`]; [`EngineError::NotLoaded`] before the first positions.
    pub async fn positions(&self, epoch: u32) -> Result<Bytes, EngineError> {
        self.caller.call(Positions { target: self.target.clone(), epoch }).await
    }
}

struct Positions {
    target: Target,
    epoch: u32,
}

impl Apply for Positions {
    type Answer = Bytes;
    type On = Engine;
    const NAME: &'static str = "positions";
    const PRIORITY: CommandPriority = CommandPriority::Interactive;

    fn apply(self, engine: &mut Engine, call: Call<Bytes>) {
        let Self { target, epoch } = self;
        let Engine { sessions, residency, scheduler, .. } = engine;
        let id = &target.session;
        let checked = sessions.target(&target).and_then(|s| {
            let graph = s.broadcast.graph();
            let graph = graph.ok_or_else(|| EngineError::NotLoaded(id.clone()))?;
            check_epoch(epoch, graph.epoch)
        });
        match checked {
            Ok(()) => sessions.answer_positions(id, call.reply, residency, scheduler),
            Err(e) => call.reply.send(Err(e)),
        }
    }
}
