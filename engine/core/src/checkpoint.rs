//! Checkpoints of sessions, which outlive the process: the engine says when, the service says where.

use std::sync::Arc;

use graphlume_graph::Topology;
use graphlume_types::hash::mix64;
use graphlume_types::{DatasetId, SessionId};
use serde::{Deserialize, Serialize};

use crate::layout_settings::LayoutSettings;

/// Stores checkpoints of sessions. Writes and removals come from one thread in the order in which they
/// happened, reads from another, none from the engine thread. Nothing fails: what cannot be written, or is
/// not there any more, costs the motion of a layout.
pub trait CheckpointStore: Send + Sync + 'static {
    /// Stores the positions of a session in place of those before.
    fn write(&self, session: &SessionId, checkpoint: &Checkpoint);

    /// The positions of a session on a dataset whose graph has so many nodes, if there are any.
    fn read(&self, session: &SessionId, dataset: DatasetId, num_nodes: u32) -> Option<Checkpoint>;

    /// The session has ended.
    fn forget_session(&self, session: &SessionId, dataset: DatasetId);

    /// The dataset is gone, or has other data now.
    fn forget_dataset(&self, dataset: DatasetId);
}

/// The state of a layout as it is written down.
#[derive(Debug, Clone, PartialEq)]
pub struct Checkpoint {
    /// What the session shows.
    pub dataset: DatasetId,
    /// Of the graph, for a dataset can get other data while no session shows it.
    pub fingerprint: u64,
    /// The rest of the layout's state.
    pub metadata: CheckpointMetadata,
    /// By node index.
    pub positions: Vec<[f32; 2]>,
    /// The third coordinates by node index, where a layout in space has found them.
    pub depths: Option<Arc<Vec<f32>>>,
}

/// What a layout needs beside its positions to go on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CheckpointMetadata {
    /// Whether the layout had come to rest.
    pub settled: bool,
    /// Whether it had done its iterations without coming to rest.
    pub stopped: bool,
    /// Iterations that it was still to do.
    pub left_iterations: Option<u64>,
    /// Milliseconds that it was still to play, in files of older servers.
    #[serde(skip_serializing)]
    pub left_millis: Option<u64>,
    /// Iterations so far.
    pub iterations: u64,
    /// The knobs as the viewers had turned them.
    pub settings: LayoutSettings,
    /// Nodes that are held where they are.
    pub pins: Vec<u32>,
    /// The layout that was named last and placed the nodes, or nothing.
    pub placed_by: String,
}

/// Tells graphs apart whose nodes or edges differ, or whose bound positions do.
pub(crate) fn fingerprint(topology: &Topology, bound: Option<&[[f32; 2]]>) -> u64 {
    let mut state = mix64(u64::from(topology.num_nodes()));
    let mut take = |x: u32| {
        state = (state ^ u64::from(x)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    };
    for node in 0..topology.num_nodes() {
        let ends = topology.out_neighbors(node);
        take(u32::try_from(ends.len()).unwrap_or(u32::MAX));
        ends.iter().for_each(|end| take(*end));
    }
    for [x, y] in bound.unwrap_or_default() {
        take(x.to_bits());
        take(y.to_bits());
    }
    mix64(state)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn graphs_of_the_same_size_are_told_apart() {
        let print = |src: &[u32], dst: &[u32], at: Option<&[[f32; 2]]>| {
            fingerprint(&Topology::from_coo(3, src, dst), at)
        };
        let one = print(&[0, 1], &[1, 2], None);
        assert_eq!(one, print(&[0, 1], &[1, 2], None));
        for other in [
            print(&[0, 1], &[1, 0], None),
            print(&[1, 0], &[0, 2], None),
            print(&[0, 0], &[1, 2], None),
            print(&[0, 1, 2], &[1, 2, 0], None),
            print(&[0, 1], &[1, 2], Some(&[[0.0; 2]; 3])),
            print(&[0, 1], &[1, 2], Some(&[[0.0, -0.0]; 3])),
            fingerprint(&Topology::from_coo(4, &[0, 1], &[1, 2]), None),
        ] {
            assert_ne!(one, other);
        }
    }
}
