//! The third coordinates of the nodes, for pages that show them in space.

use bytes::Bytes;
use graphlume_scene::wire::{self, Stamp};

use crate::caller::SessionReads;
use crate::cmd::read::{check_epoch, read_graph};
use crate::command::{Apply, Call, CommandPriority};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::target::Target;

impl SessionReads {
    /// The third coordinate of the nodes of `epoch` as one frame.
    ///
    /// # Errors
    /// [`EngineError::Epoch`]; [`EngineError::NoDepth`] where no node has one.
    pub async fn depth(&self, epoch: u32) -> Result<Bytes, EngineError> {
        self.caller.call(Depth { target: self.target.clone(), epoch }).await
    }
}

struct Depth {
    target: Target,
    epoch: u32,
}

impl Apply for Depth {
    type Answer = Bytes;
    type On = Engine;
    const NAME: &'static str = "depth";
    const PRIORITY: CommandPriority = CommandPriority::Interactive;

    fn apply(self, engine: &mut Engine, call: Call<Bytes>) {
        let Self { target, epoch } = self;
        let placed = match engine.sessions.target(&target) {
            Ok(session) => session.placed_depths(),
            Err(e) => return call.reply.send(Err(e)),
        };
        let id = target.session.clone();
        read_graph(engine, "depth", &target, call, move |lease| {
            check_epoch(epoch, lease.facts.epoch)?;
            let z = placed.or_else(|| lease.depths.clone());
            let z = z.filter(|z| z.len() == lease.facts.node_count as usize);
            let z = z.ok_or(EngineError::NoDepth(id))?;
            Ok(wire::deflated(&wire::encode_depth(Stamp { epoch, seq: 0, flags: 0 }, &z)))
        });
    }
}
