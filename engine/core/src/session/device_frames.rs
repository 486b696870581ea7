//! Position frames that the device makes of a layout in its memory.

use graphlume_algo::AlgoError;
use graphlume_algo::gpu::force_atlas2::GpuForceAtlas2;
use graphlume_algo::gpu::frames::{GpuFrames, Steps};
use graphlume_scene::wire::{Bounds, Extent, FrameSource};

/// The frames of a layout on the device.
pub(crate) struct DeviceFrames<'a> {
    pub(crate) forces: &'a mut GpuForceAtlas2,
    pub(crate) frames: &'a mut GpuFrames,
    pub(crate) num_nodes: u32,
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
