//! The forces of a layout, on the CPU or on the GPU.

use std::sync::Arc;
use std::time::Duration;

use graphlume_algo::AlgoError;
use graphlume_algo::gpu::force_atlas2::GpuForceAtlas2;
use graphlume_algo::layout::force_atlas2::{ForceAtlas2, Params};
use graphlume_types::CancelToken;

use crate::device::card::Card;
use crate::store::Lease;

/// Iterations that the device is given at once at most, so that a slice can be stopped.
const BATCH_MAX: u64 = 64;

/// A layout in progress.
pub(crate) enum Forces {
    /// On the CPU pool.
    Cpu(Box<ForceAtlas2>),
    /// On the device.
    Cuda(Box<GpuForceAtlas2>, Arc<Card>),
}

/// What a layout starts from.
pub(crate) struct Start<'a> {
    pub(crate) lease: &'a Lease,
    pub(crate) params: &'a Params,
    pub(crate) positions: &'a [[f32; 2]],
    pub(crate) mobility: Option<&'a [f32]>,
}

impl Forces {
    /// # Errors
    /// Those of the layout.
    pub(crate) fn on_cpu(start: &Start<'_>) -> Result<Self, AlgoError> {
        let topology = &start.lease.graph.topology;
        let weights = start.lease.edge_weights.as_deref();
        let (params, mobility) = (start.params.clone(), start.mobility);
        let made =
            ForceAtlas2::new(topology, weights, params, start.positions, None, None, mobility)?;
        Ok(Self::Cpu(Box::new(made)))
    }

    /// Copies the graph to the device if it is not there, evicting others for it and for the layout.
    ///
    /// # Errors
    /// Those of the layout, [`AlgoError::Device`] above all.
    pub(crate) fn on_device(card: &Arc<Card>, start: &Start<'_>) -> Result<Self, AlgoError> {
        let topology = &start.lease.graph.topology;
        let weights = start.lease.edge_weights.as_deref();
        let graph = card.graph(start.lease)?;
        let made = card.with_room(|| {
            let (params, at) = (start.params.clone(), start.positions);
            let mobility = start.mobility;
            GpuForceAtlas2::new(
                &card.gpu, &graph, topology, weights, params, at, None, None, mobility,
            )
        })?;
        Ok(Self::Cuda(Box::new(made), card.clone()))
    }

    /// Ends the layout. Device memory is given back by a worker, for that may take the driver a while.
    pub(crate) fn end(self) {
        if let Self::Cuda(forces, card) = self {
            card.leave(forces);
        }
    }

    pub(crate) const fn is_on_device(&self) -> bool {
        matches!(self, Self::Cuda(..))
    }

    pub(crate) fn params(&self) -> &Params {
        match self {
            Self::Cpu(f) => f.params(),
            Self::Cuda(f, _) => f.params(),
        }
    }

    pub(crate) fn set_params(&mut self, params: Params) -> Result<(), AlgoError> {
        match self {
            Self::Cpu(f) => f.set_params(params),
            Self::Cuda(f, _) => f.set_params(params),
        }
    }

    pub(crate) fn pin(&mut self, node: u32, at: [f32; 2]) {
        match self {
            Self::Cpu(f) => f.pin(node, at),
            Self::Cuda(f, _) => f.pin(node, at),
        }
    }

    pub(crate) fn unpin(&mut self, node: u32) {
        match self {
            Self::Cpu(f) => f.unpin(node),
            Self::Cuda(f, _) => f.unpin(node),
        }
    }

    pub(crate) fn settled(&self) -> bool {
        match self {
            Self::Cpu(f) => f.settled(),
            Self::Cuda(f, _) => f.settled(),
        }
    }

    pub(crate) fn positions(&mut self, out: &mut Vec<[f32; 2]>) -> Result<(), AlgoError> {
        match self {
            Self::Cpu(f) => {
                f.positions(out);
                Ok(())
            }
            Self::Cuda(f, _) => f.positions(out),
        }
    }

    pub(crate) fn iterations(&self) -> u64 {
        match self {
            Self::Cpu(f) => f.iterations(),
            Self::Cuda(f, _) => f.iterations(),
        }
    }

    /// Does some iterations: one on the CPU; on the device as many as fit `left`, at most `most`, when
    /// one takes `each`.
    pub(crate) fn iterate(
        &mut self,
        most: u64,
        left: Duration,
        each: Option<Duration>,
        cancel: &CancelToken,
    ) -> Result<(), AlgoError> {
        match self {
            Self::Cpu(f) => f.iterate(cancel).map(|_| ()),
            Self::Cuda(f, _) => {
                let fit = each.map_or(1, |each| left.as_nanos() / each.as_nanos().max(1));
                let count = u64::try_from(fit).unwrap_or(u64::MAX).min(most).clamp(1, BATCH_MAX);
                f.iterate(count, cancel).map(|_| ())
            }
        }
    }
}
