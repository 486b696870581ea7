//! The edges as a stream of index pairs.

use bytes::Bytes;

use crate::cmd::read::{check_epoch, read_graph};
use crate::command::{Apply, Call};
use crate::core::Core;
use crate::lane::Lane;
use crate::target::Target;

pub(crate) struct Edges {
    pub(crate) target: Target,
    pub(crate) epoch: u32,
}

impl Apply for Edges {
    type Answer = Bytes;
    const LANE: Lane = Lane::Interactive;

    fn apply(self, core: &mut Core, call: Call<Bytes>) {
        let epoch = self.epoch;
        read_graph(core, "edges", &self.target, call, move |lease| {
            check_epoch(epoch, lease.facts.epoch)?;
            Ok(lease.edge_stream())
        });
    }
}
