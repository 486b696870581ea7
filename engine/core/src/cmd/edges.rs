//! The edges as a stream of index pairs.

use bytes::Bytes;
use graphlume_types::SessionId;

use crate::cmd::read::{check_epoch, read_graph};
use crate::command::{Apply, Call};
use crate::core::Core;
use crate::lane::Lane;

pub(crate) struct Edges {
    pub(crate) session: SessionId,
    pub(crate) epoch: u32,
}

impl Apply for Edges {
    type Answer = Bytes;
    const LANE: Lane = Lane::Interactive;

    fn apply(self, core: &mut Core, call: Call<Bytes>) {
        let epoch = self.epoch;
        read_graph(core, "edges", &self.session, call, move |lease| {
            check_epoch(epoch, lease.facts.epoch)?;
            Ok(lease.edge_stream())
        });
    }
}
