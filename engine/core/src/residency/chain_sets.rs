//! Sets of nodes and of edges on the GPU, as the steps of a chain make them.

use std::sync::Arc;

use graphlume_algo::AlgoError;
use graphlume_algo::gpu::GpuGraph;
use graphlume_algo::gpu::chain::{Follow, Followed, follow};
use graphlume_device::columns::{ColumnOpError, Device, Mask, MaskOp};
use graphlume_device::cuda::{Buf, DeviceError, Gpu, View};
use graphlume_expr::wide_words;
use graphlume_graph::Direction;
use graphlume_store::ids::IdSet;
use graphlume_types::{CancelToken, Cancelled};

use crate::device::MayBeShort;

/// A set of fewer than one in so many is brought back as a list.
const LISTED_PART: u64 = 64;

/// Why a chain has no answer from the GPU.
#[derive(Debug, thiserror::Error)]
pub(super) enum ChainError {
    #[error(transparent)]
    Algo(#[from] AlgoError),
    #[error(transparent)]
    Prim(#[from] ColumnOpError),
    #[error("a walk without a bound takes more than {0} hops, each of which looks at all edges")]
    TooDeep(u32),
    /// The program names what it has not.
    #[error("{0}")]
    Program(String),
}

impl From<DeviceError> for ChainError {
    fn from(error: DeviceError) -> Self {
        Self::Prim(error.into())
    }
}

impl From<Cancelled> for ChainError {
    fn from(stopped: Cancelled) -> Self {
        Self::Prim(stopped.into())
    }
}

impl ChainError {
    /// Whether the work was stopped.
    pub(super) const fn is_stopped(&self) -> bool {
        matches!(
            self,
            Self::Prim(ColumnOpError::Cancelled(_)) | Self::Algo(AlgoError::Cancelled(_))
        )
    }
}

impl MayBeShort for ChainError {
    fn is_short(&self) -> bool {
        match self {
            Self::Algo(error) => error.is_short(),
            Self::Prim(error) => error.is_short(),
            Self::TooDeep(_) | Self::Program(_) => false,
        }
    }
}

/// A set of nodes.
#[derive(Clone)]
pub(super) enum Nodes {
    /// Every node.
    All,
    /// Those of a mask.
    Of(Arc<Mask>),
}

impl Nodes {
    fn view(&self) -> Option<View<'_, u32>> {
        match self {
            Self::All => None,
            Self::Of(mask) => mask.words(),
        }
    }
}

/// A set of edges by their position.
pub(super) type Edges = Arc<Mask>;

/// The edges that may be followed, from which nodes and to which.
pub(super) struct Along<'s> {
    pub(super) direction: Direction,
    pub(super) edges: Option<&'s Edges>,
    pub(super) from: &'s Nodes,
    pub(super) to: &'s Nodes,
}

/// A graph on the GPU with a stream of its own.
pub(super) struct Sets<'a> {
    pub(super) gpu: Gpu,
    pub(super) device: Device,
    pub(super) graph: Arc<GpuGraph>,
    pub(super) cancel: &'a CancelToken,
}

impl Sets<'_> {
    pub(super) fn num_nodes(&self) -> usize {
        self.graph.num_nodes() as usize
    }

    pub(super) fn num_edges(&self) -> usize {
        self.graph.num_edges() as usize
    }

    fn combined(&self, op: MaskOp, a: &Mask, b: &Mask) -> Result<Arc<Mask>, ChainError> {
        self.cancel.check()?;
        Ok(Arc::new(self.device.mask_combine(op, a, b)?))
    }

    pub(super) fn no_nodes(&self) -> Result<Nodes, ChainError> {
        Ok(Nodes::Of(Arc::new(self.device.mask_filled(self.num_nodes(), false)?)))
    }

    pub(super) fn no_edges(&self) -> Result<Edges, ChainError> {
        Ok(Arc::new(self.device.mask_filled(self.num_edges(), false)?))
    }

    /// The nodes below so many.
    pub(super) fn first(&self, count: u32) -> Result<Nodes, ChainError> {
        if count as usize >= self.num_nodes() {
            return Ok(Nodes::All);
        }
        self.widened(self.device.mask_filled(count as usize, true)?)
    }

    /// A mask of the first rows as one of all nodes.
    pub(super) fn widened(&self, rows: Mask) -> Result<Nodes, ChainError> {
        if rows.rows() == self.num_nodes() {
            return Ok(Nodes::Of(Arc::new(rows)));
        }
        let mut words = self.zeros(self.num_nodes())?;
        if let Some(view) = rows.words() {
            self.gpu.copy(view, words.slice_mut(..view.len()))?;
        }
        self.nodes(words)
    }

    pub(super) fn and(&self, a: &Nodes, b: &Nodes) -> Result<Nodes, ChainError> {
        Ok(match (a, b) {
            (Nodes::All, set) | (set, Nodes::All) => set.clone(),
            (Nodes::Of(a), Nodes::Of(b)) => Nodes::Of(self.combined(MaskOp::And, a, b)?),
        })
    }

    pub(super) fn or(&self, a: &Nodes, b: &Nodes) -> Result<Nodes, ChainError> {
        Ok(match (a, b) {
            (Nodes::All, _) | (_, Nodes::All) => Nodes::All,
            (Nodes::Of(a), Nodes::Of(b)) => Nodes::Of(self.combined(MaskOp::Or, a, b)?),
        })
    }

    /// The nodes of the first set that are not in the second.
    pub(super) fn without(&self, a: &Nodes, b: &Nodes) -> Result<Nodes, ChainError> {
        Ok(match (a, b) {
            (_, Nodes::All) => self.no_nodes()?,
            (Nodes::All, Nodes::Of(b)) => Nodes::Of(Arc::new(self.device.mask_not(b)?)),
            (Nodes::Of(a), Nodes::Of(b)) => Nodes::Of(self.combined(MaskOp::AndNot, a, b)?),
        })
    }

    pub(super) fn or_edges(&self, a: &Edges, b: &Edges) -> Result<Edges, ChainError> {
        self.combined(MaskOp::Or, a, b)
    }

    pub(super) fn edges_without(&self, a: &Edges, b: &Edges) -> Result<Edges, ChainError> {
        self.combined(MaskOp::AndNot, a, b)
    }

    /// How many nodes there are in a set. Waits.
    pub(super) fn count(&self, set: &Nodes) -> Result<u64, ChainError> {
        self.cancel.check()?;
        Ok(match set {
            Nodes::All => self.num_nodes() as u64,
            Nodes::Of(mask) => self.device.mask_count(mask)?,
        })
    }

    /// How many edges there are in a set. Waits.
    pub(super) fn count_edges(&self, set: &Edges) -> Result<u64, ChainError> {
        self.cancel.check()?;
        Ok(self.device.mask_count(set)?)
    }

    /// The words of an empty set.
    pub(super) fn zeros(&self, items: usize) -> Result<Buf<u32>, ChainError> {
        Ok(self.gpu.zeros("a set", items.div_ceil(32))?)
    }

    pub(super) fn nodes(&self, words: Buf<u32>) -> Result<Nodes, ChainError> {
        Ok(Nodes::Of(Arc::new(Mask::of_words(self.num_nodes(), words)?)))
    }

    pub(super) fn edges(&self, words: Buf<u32>) -> Result<Edges, ChainError> {
        Ok(Arc::new(Mask::of_words(self.num_edges(), words)?))
    }

    /// Follows edges, and adds them and their ends to sets.
    pub(super) fn follow(&self, along: &Along<'_>, into: Followed<'_>) -> Result<(), ChainError> {
        self.cancel.check()?;
        let hop = Follow {
            direction: along.direction,
            edges: along.edges.and_then(|mask| mask.words()),
            from: along.from.view(),
            to: along.to.view(),
        };
        Ok(follow(&self.gpu, &self.graph, &hop, into)?)
    }

    /// The nodes that edges are followed from.
    pub(super) fn left(&self, direction: Direction, edges: &Edges) -> Result<Nodes, ChainError> {
        let mut left = self.zeros(self.num_nodes())?;
        let along = Along { direction, edges: Some(edges), from: &Nodes::All, to: &Nodes::All };
        self.follow(&along, Followed { left: Some(left.view_mut()), ..Followed::default() })?;
        self.nodes(left)
    }

    /// The edges that are followed.
    pub(super) fn kept(&self, along: &Along<'_>) -> Result<Edges, ChainError> {
        let mut kept = self.zeros(self.num_edges())?;
        self.follow(along, Followed { kept: Some(kept.view_mut()), ..Followed::default() })?;
        self.edges(kept)
    }

    /// A set of nodes on the host. Waits.
    pub(super) fn nodes_on_host(&self, set: &Nodes) -> Result<IdSet, ChainError> {
        match set {
            Nodes::All => Ok(IdSet::First(self.graph.num_nodes())),
            Nodes::Of(mask) => self.on_host(mask),
        }
    }

    /// A set on the host. Waits.
    pub(super) fn on_host(&self, mask: &Mask) -> Result<IdSet, ChainError> {
        self.cancel.check()?;
        let words = self.device.mask_to_words(mask)?;
        let set = IdSet::of_words(wide_words(&words));
        Ok(match u64::from(set.len()) * LISTED_PART < mask.rows() as u64 {
            true => IdSet::List(set.to_vec()),
            false => set,
        })
    }

    /// A set of nodes of the host.
    pub(super) fn nodes_from_host(&self, set: &IdSet) -> Result<Nodes, ChainError> {
        let mut words = vec![0_u32; self.num_nodes().div_ceil(32)];
        set.for_each(|v| {
            if let Some(word) = words.get_mut(v as usize / 32) {
                *word |= 1 << (v % 32);
            }
        });
        Ok(Nodes::Of(Arc::new(self.device.mask_from_words(self.num_nodes(), &words)?)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use graphlume_emu::gpu_test;
    use graphlume_graph::Topology;
    use graphlume_types::CancelReason;

    use super::*;

    #[test]
    fn nothing_is_launched_once_the_work_is_stopped() {
        gpu_test(&["chain_follow"], |gpu| {
            let topology = Topology::from_coo(40, &[0, 1, 2, 39], &[1, 2, 0, 39]);
            let cancel = CancelToken::new();
            let sets = Sets {
                gpu: gpu.clone(),
                device: Device::Cuda(gpu.clone()),
                graph: Arc::new(GpuGraph::upload(gpu, &topology).unwrap()),
                cancel: &cancel,
            };
            let some = sets.nodes_from_host(&IdSet::List(vec![0, 2, 39])).unwrap();
            let direction = Direction::Forward;
            let along = Along { direction, edges: None, from: &some, to: &Nodes::All };
            let kept = sets.kept(&along).unwrap();
            assert_eq!(sets.on_host(&kept).unwrap().to_vec(), [0, 2, 3]);
            assert_eq!(sets.nodes_on_host(&some).unwrap().to_vec(), [0, 2, 39]);
            let launches =
                || ["chain_follow", "mask_combine", "mask_count"].map(|k| gpu.launches(k));
            let before = launches();
            cancel.cancel(CancelReason::ClientGone);
            let stopped = [
                sets.kept(&along).err(),
                sets.and(&some, &some).err(),
                sets.count(&some).err(),
                sets.left(direction, &kept).err(),
                sets.on_host(&kept).err(),
            ];
            assert!(stopped.iter().all(|e| e.as_ref().is_some_and(ChainError::is_stopped)));
            assert_eq!(launches(), before);
        });
    }
}
