//! ForceAtlas2 as a live layout, on the CPU pool and on the GPU.

use std::sync::Arc;
use std::time::Duration;

use graphlume_algo::AlgoError;
use graphlume_algo::gpu::force_atlas2::GpuForceAtlas2;
use graphlume_algo::gpu::frames::GpuFrames;
use graphlume_algo::layout::force_atlas2::{ForceAtlas2, Params};
use graphlume_types::CancelToken;

use crate::device::gpu_device::GpuDevice;
use crate::session::device_frames::DeviceFrames;
use crate::session::live_layout::{LayoutInput, LiveLayout};

/// Iterations that the device is given at once at most, so that a slice can be stopped.
const BATCH_MAX: u64 = 64;

/// Begins a layout on the CPU pool.
///
/// # Errors
/// Those of the layout.
pub(crate) fn on_cpu(input: &LayoutInput<'_>) -> Result<Box<dyn LiveLayout>, AlgoError> {
    let topology = &input.lease.graph.topology;
    let weights = input.lease.edge_weights.as_deref();
    let masses = input.lease.node_masses.as_deref();
    let (params, mobility) = (input.params.clone(), input.mobility);
    let made =
        ForceAtlas2::new(topology, weights, params, input.positions, None, masses, mobility)?;
    Ok(Box::new(OnCpu(made)))
}

/// Begins a layout on the device. Copies the graph there if it is not, evicting others for it and for the
/// layout.
///
/// # Errors
/// Those of the layout, [`AlgoError::Device`] above all.
pub(crate) fn on_device(
    gpu: &Arc<GpuDevice>,
    input: &LayoutInput<'_>,
) -> Result<Box<dyn LiveLayout>, AlgoError> {
    let topology = &input.lease.graph.topology;
    let weights = input.lease.edge_weights.as_deref();
    let masses = input.lease.node_masses.as_deref();
    let graph = gpu.graph(input.lease.key(), topology)?;
    let forces = gpu.with_room(|| {
        let (params, at) = (input.params.clone(), input.positions);
        let mobility = input.mobility;
        GpuForceAtlas2::new(&gpu.gpu, &graph, topology, weights, params, at, None, masses, mobility)
    })?;
    Ok(Box::new(OnDevice { forces, frames: None, gpu: gpu.clone() }))
}

struct OnCpu(ForceAtlas2);

impl LiveLayout for OnCpu {
    fn is_on_device(&self) -> bool {
        false
    }

    fn params(&self) -> &Params {
        self.0.params()
    }

    fn set_params(&mut self, params: Params) -> Result<(), AlgoError> {
        self.0.set_params(params)
    }

    fn pin(&mut self, node: u32, point: [f32; 2]) {
        self.0.pin(node, point);
    }

    fn unpin(&mut self, node: u32) {
        self.0.unpin(node);
    }

    fn settled(&self) -> bool {
        self.0.settled()
    }

    fn positions(&mut self, out: &mut Vec<[f32; 2]>) -> Result<(), AlgoError> {
        self.0.positions(out);
        Ok(())
    }

    fn iterations(&self) -> u64 {
        self.0.iterations()
    }

    fn iterate(
        &mut self,
        _most: u64,
        _left: Duration,
        _each: Option<Duration>,
        cancel: &CancelToken,
    ) -> Result<(), AlgoError> {
        self.0.iterate(cancel).map(|_| ())
    }

    fn leave_device(self: Box<Self>) {}
}

/// What a layout has on the device.
struct OnDevice {
    forces: GpuForceAtlas2,
    /// Made with the first frame.
    frames: Option<GpuFrames>,
    gpu: Arc<GpuDevice>,
}

impl LiveLayout for OnDevice {
    fn is_on_device(&self) -> bool {
        true
    }

    fn params(&self) -> &Params {
        self.forces.params()
    }

    fn set_params(&mut self, params: Params) -> Result<(), AlgoError> {
        self.forces.set_params(params)
    }

    fn pin(&mut self, node: u32, at: [f32; 2]) {
        self.forces.pin(node, at);
    }

    fn unpin(&mut self, node: u32) {
        self.forces.unpin(node);
    }

    fn settled(&self) -> bool {
        self.forces.settled()
    }

    fn positions(&mut self, out: &mut Vec<[f32; 2]>) -> Result<(), AlgoError> {
        self.forces.positions(out)
    }

    fn iterations(&self) -> u64 {
        self.forces.iterations()
    }

    fn iterate(
        &mut self,
        most: u64,
        left: Duration,
        each: Option<Duration>,
        cancel: &CancelToken,
    ) -> Result<(), AlgoError> {
        let fit = each.map_or(1, |each| left.as_nanos() / each.as_nanos().max(1));
        let count = u64::try_from(fit).unwrap_or(u64::MAX).min(most).clamp(1, BATCH_MAX);
        self.forces.iterate(count, cancel).map(|_| ())
    }

    fn frames(&mut self, num_nodes: u32) -> Option<DeviceFrames<'_>> {
        let Self { forces, frames, .. } = self;
        if frames.is_none() {
            *frames = GpuFrames::new(forces.gpu(), num_nodes).ok();
        }
        frames.as_mut().map(|frames| DeviceFrames { forces, frames, num_nodes })
    }

    fn leave_device(self: Box<Self>) {
        let Self { forces, frames, gpu } = *self;
        gpu.free_later(Box::new((forces, frames)));
    }
}
