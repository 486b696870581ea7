//! The edges as a stream of index pairs.

use bytes::Bytes;

use crate::caller::SessionReads;
use crate::cmd::read::{check_epoch, read_graph};
use crate::command::{Apply, Call, CommandPriority};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::target::Target;

impl SessionReads {
    /// The edges of `epoch` as pairs of little-endian `u32` source and destination indices in drawn
    /// order. The bytes are shared by all callers: take a range with [`Bytes::slice`].
    ///
    /// # Errors
    /// [`EngineError::Epoch`] when another element set is shown.
    pub async fn edges(&self, epoch: u32) -> Result<Bytes, EngineError> {
        self.caller.call(Edges { target: self.target.clone(), epoch }).await
    }
}

struct Edges {
    target: Target,
    epoch: u32,
}

impl Apply for Edges {
    type Answer = Bytes;
    type On = Engine;
    const NAME: &'static str = "edges";
    const PRIORITY: CommandPriority = CommandPriority::Interactive;

    fn apply(self, engine: &mut Engine, call: Call<Bytes>) {
        let epoch = self.epoch;
        read_graph(engine, "edges", &self.target, call, move |lease| {
            check_epoch(epoch, lease.facts.epoch)?;
            Ok(lease.edge_stream())
        });
    }
}
