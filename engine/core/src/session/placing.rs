//! Placing: nodes move to the places of a layout that a viewer names, or to those of the data, and rest there.

use std::sync::Arc;
use std::time::Instant;

use crate::error::EngineError;
use crate::session::machine::VizSession;
use crate::session::placement::Placement;
use crate::session::state::Run;

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
        let wrong = |len: usize| len != graph.node_count as usize;
        let depths = placement.depths.as_ref();
        if asked != shown
            || wrong(placement.positions.len())
            || depths.is_some_and(|z| wrong(z.len()))
        {
            return Err(EngineError::Epoch { asked, now: shown });
        }
        self.placed.by.clone_from(&placement.by);
        self.placed.count = self.placed.count.wrapping_add(1);
        self.placed.depths = depths.filter(|z| graphlume_scene::has_depth(z)).cloned();
        self.placement = Some(placement);
        self.stop(Run::Settled, "", now);
        Ok(())
    }

    /// Moves the nodes to where the session began.
    pub(super) fn place_given(&mut self, now: Instant) -> Result<(), EngineError> {
        let first = self.lease.as_ref().and_then(|lease| {
            let positions = lease.start()?.to_vec();
            Some(Placement { epoch: lease.facts.epoch, positions, depths: None, by: String::new() })
        });
        let first = first.ok_or_else(|| EngineError::NotLoaded(self.id.clone()))?;
        self.place(Arc::new(first), now)
    }

    /// The third coordinates of a layout that a viewer named; `None` where those of the data hold.
    pub(crate) fn placed_depths(&self) -> Option<Arc<Vec<f32>>> {
        self.placed.depths.clone()
    }

    /// 0 while nodes have no third coordinate, 1 for those of the data; another number whenever a layout has found
    /// others, 2 for those that a checkpoint has brought back.
    pub(super) fn depths_version(&self) -> u32 {
        match self.placed.depths {
            Some(_) => self.placed.count.saturating_add(2),
            None => u32::from(self.broadcast.graph().is_some_and(|graph| graph.has_depth)),
        }
    }
}
