//! Places that the nodes of a session are given all at once, by a layout that a viewer names.

use std::sync::Arc;
use std::time::Instant;

use crate::error::EngineError;
use crate::session::machine::VizSession;
use crate::session::state::Run;

/// Places of all nodes of an element set.
#[derive(Debug, Clone, PartialEq)]
pub struct Placement {
    /// The element set.
    pub epoch: u32,
    /// By node index; a node whose coordinates are not finite stays where it is.
    pub positions: Vec<[f32; 2]>,
    /// What found them, as viewers read it.
    pub by: String,
}

/// What viewers know of the last placement.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Placed {
    /// What found the places; empty while there was no placement. Forces then keep their size.
    pub(super) by: String,
    /// Placements so far: a page shows everything after each.
    pub(super) count: u32,
}

impl VizSession {
    /// Moves the nodes to these places, where they rest.
    pub(super) fn place(
        &mut self,
        placement: Arc<Placement>,
        now: Instant,
    ) -> Result<(), EngineError> {
        let Some(graph) = self.broadcast.graph() else {
            return Err(EngineError::NotLoaded(self.id.clone()));
        };
        let (asked, shown) = (placement.epoch, graph.epoch);
        if asked != shown || placement.positions.len() != graph.node_count as usize {
            return Err(EngineError::Epoch { asked, now: shown });
        }
        self.placed.by.clone_from(&placement.by);
        self.placed.count = self.placed.count.wrapping_add(1);
        self.placement = Some(placement);
        self.stop(Run::Settled, "", now);
        Ok(())
    }
}
