//! The edges as a stream of index pairs.

use bytes::Bytes;

use crate::cmd::read::{check_epoch, read_graph};
use crate::command::{Apply, Call, CommandPriority};
use crate::engine::Engine;
use crate::target::Target;

pub(crate) struct Edges {
    pub(crate) target: Target,
    pub(crate) epoch: u32,
}

impl Apply for Edges {
    type Answer = Bytes;
    type On = Engine;
    const PRIORITY: CommandPriority = CommandPriority::Interactive;

    fn apply(self, engine: &mut Engine, call: Call<Bytes>) {
        let epoch = self.epoch;
        read_graph(engine, "edges", &self.target, call, move |lease| {
            check_epoch(epoch, lease.facts.epoch)?;
            Ok(lease.edge_stream())
        });
    }
}
