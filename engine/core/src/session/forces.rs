//! The forces of a layout, on the CPU or on the GPU.

use std::sync::Arc;
use std::time::Duration;

use graphlume_algo::AlgoError;
use graphlume_algo::gpu::force_atlas2::GpuForceAtlas2;
use graphlume_algo::gpu::frames::{GpuFrames, Steps};
use graphlume_algo::layout::force_atlas2::{ForceAtlas2, Params};
use graphlume_scene::wire::{Bounds, Extent, FrameSource};
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
    Cuda(Box<OnCard>, Arc<Card>),
}

/// What a layout has on the device.
pub(crate) struct OnCard {
    forces: GpuForceAtlas2,
    /// Made with the first frame.
    frames: Option<GpuFrames>,
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
        Ok(Self::Cuda(Box::new(OnCard { forces: made, frames: None }), card.clone()))
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
            Self::Cuda(d, _) => d.forces.params(),
        }
    }

    pub(crate) fn set_params(&mut self, params: Params) -> Result<(), AlgoError> {
        match self {
            Self::Cpu(f) => f.set_params(params),
            Self::Cuda(d, _) => d.forces.set_params(params),
        }
    }

    pub(crate) fn pin(&mut self, node: u32, at: [f32; 2]) {
        match self {
            Self::Cpu(f) => f.pin(node, at),
            Self::Cuda(d, _) => d.forces.pin(node, at),
        }
    }

    pub(crate) fn unpin(&mut self, node: u32) {
        match self {
            Self::Cpu(f) => f.unpin(node),
            Self::Cuda(d, _) => d.forces.unpin(node),
        }
    }

    pub(crate) fn settled(&self) -> bool {
        match self {
            Self::Cpu(f) => f.settled(),
            Self::Cuda(d, _) => d.forces.settled(),
        }
    }

    pub(crate) fn positions(&mut self, out: &mut Vec<[f32; 2]>) -> Result<(), AlgoError> {
        match self {
            Self::Cpu(f) => {
                f.positions(out);
                Ok(())
            }
            Self::Cuda(d, _) => d.forces.positions(out),
        }
    }

    pub(crate) fn iterations(&self) -> u64 {
        match self {
            Self::Cpu(f) => f.iterations(),
            Self::Cuda(d, _) => d.forces.iterations(),
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
            Self::Cuda(d, _) => {
                let fit = each.map_or(1, |each| left.as_nanos() / each.as_nanos().max(1));
                let count = u64::try_from(fit).unwrap_or(u64::MAX).min(most).clamp(1, BATCH_MAX);
                d.forces.iterate(count, cancel).map(|_| ())
            }
        }
    }

    /// What makes frames on the device; `None` on the CPU, and when the device has no room for it.
    pub(crate) fn frames(&mut self, num_nodes: u32) -> Option<DeviceFrames<'_>> {
        let Self::Cuda(device, _) = self else { return None };
        let OnCard { forces, frames } = device.as_mut();
        if frames.is_none() {
            *frames = GpuFrames::new(forces.gpu(), num_nodes).ok();
        }
        frames.as_mut().map(|frames| DeviceFrames { forces, frames, num_nodes })
    }
}

/// The frames of a layout on the device.
pub(crate) struct DeviceFrames<'a> {
    forces: &'a mut GpuForceAtlas2,
    frames: &'a mut GpuFrames,
    num_nodes: u32,
}

impl FrameSource for DeviceFrames<'_> {
    type Error = AlgoError;

    fn num_nodes(&self) -> usize {
        self.num_nodes as usize
    }

    fn extent(&mut self) -> Result<Extent, AlgoError> {
        let survey = self.frames.survey(self.forces.on_device()?)?;
        Ok(Extent::surveyed(survey.bounds, &survey.sample))
    }

    fn key(&mut self, bounds: Bounds) -> Result<Vec<u8>, AlgoError> {
        let Bounds { x0, y0, sx, sy } = bounds;
        self.frames.key(self.forces.on_device()?, Steps { x0, y0, sx, sy })
    }

    fn delta(&mut self) -> Result<Option<Vec<u8>>, AlgoError> {
        self.frames.delta(self.forces.on_device()?)
    }
}
