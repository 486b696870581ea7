//! The groups that a page shows from afar, in place of nodes that are too many to tell apart.

use bytes::Bytes;

use crate::cmd::read::{check_epoch, read_in_background};
use crate::command::{Apply, Call, CommandPriority};
use crate::engine::Engine;
use crate::session::groups;
use crate::target::Target;

pub(crate) struct Groups {
    pub(crate) target: Target,
    pub(crate) epoch: u32,
}

impl Apply for Groups {
    type Answer = Bytes;
    type On = Engine;
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
