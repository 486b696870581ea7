//! The groups that a page shows from afar, in place of nodes that are too many to tell apart.

use bytes::Bytes;

use crate::caller::SessionReads;
use crate::cmd::read::{check_epoch, read_in_background};
use crate::command::{Apply, Call, CommandPriority};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::session::groups;
use crate::target::Target;

impl SessionReads {
    /// The groups of the nodes of `epoch` for the view from afar, as one frame. The first call looks for communities,
    /// which may take a minute.
    ///
    /// # Errors
    /// [`EngineError::Epoch`]; [`EngineError::Cancelled`] when none were found in time.
    pub async fn groups(&self, epoch: u32) -> Result<Bytes, EngineError> {
        self.caller.call(Groups { target: self.target.clone(), epoch }).await
    }
}

struct Groups {
    target: Target,
    epoch: u32,
}

impl Apply for Groups {
    type Answer = Bytes;
    type On = Engine;
    const NAME: &'static str = "groups";
    const PRIORITY: CommandPriority = CommandPriority::Interactive;

    fn apply(self, engine: &mut Engine, call: Call<Bytes>) {
        let dataset = match engine.sessions.target(&self.target) {
            Ok(session) => session.dataset,
            Err(e) => return call.reply.send(Err(e)),
        };
        let (ctx, epoch) = (engine.ctx.clone(), self.epoch);
        let memory = engine.residency.query_memory();
        read_in_background(engine, "groups", dataset, call, move |lease, cancel| {
            check_epoch(epoch, lease.facts.epoch)?;
            groups::frame(&ctx, lease, &cancel.with_memory(memory.share()))
        });
    }
}
