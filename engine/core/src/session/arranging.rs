//! Arrangement of a layout that has ended, so that its picture can be read: room on the screen and between nodes.

use std::collections::BTreeMap;
use std::sync::Arc;

use graphlume_algo::AlgoError;
use graphlume_algo::layout::arrange;
use graphlume_algo::layout::component_packing::ComponentPacking;
use graphlume_graph::Topology;
use graphlume_scene::drawn;
use graphlume_scene::wire::sizes_of;
use graphlume_types::CancelToken;

use crate::frames::SceneFrames;

/// Seed of the directions in which nodes on one spot part.
const SEED: u64 = 1;

/// When the run of a layout ends, and what is drawn then.
pub(crate) struct Ending {
    /// Iterations that the run has left; none for as many as it takes.
    pub(crate) left: Option<u64>,
    /// A layout at rest ends its run from this many iterations on.
    pub(crate) settle_after: u64,
    /// The sizes of the nodes.
    pub(crate) scene: Arc<SceneFrames>,
}

impl Ending {
    /// Whether a slice that brought the layout to `iterations`, `done` of them its own, was the last one of the run.
    pub(crate) fn is_here(&self, converged: bool, iterations: u64, done: u64) -> bool {
        (converged && iterations >= self.settle_after) || self.left.is_some_and(|left| left <= done)
    }

    /// The positions as they are shown at rest. A session without sizes for all of them leaves them.
    ///
    /// # Errors
    /// [`AlgoError::Cancelled`]; the positions stay then.
    pub(crate) fn arrange(
        &self,
        topology: &Arc<Topology>,
        positions: &mut [[f32; 2]],
        pins: &BTreeMap<u32, [f32; 2]>,
        cancel: &CancelToken,
    ) -> Result<(), AlgoError> {
        let diameters = drawn::diameters(sizes_of(&self.scene.node_size));
        if diameters.len() != positions.len() {
            return Ok(());
        }
        let packing = ComponentPacking::new(topology, positions, cancel)?;
        let held = |v: u32| pins.contains_key(&v);
        arrange::arrange(positions, &diameters, packing.as_ref(), held, SEED, cancel)
    }
}
