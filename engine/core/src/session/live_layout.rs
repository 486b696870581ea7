//! Interface of a session to the forces that move its nodes, wherever they are computed.

use std::time::Duration;

use graphlume_algo::AlgoError;
use graphlume_algo::layout::force_atlas2::Params;
use graphlume_types::CancelToken;

use crate::residency::Lease;
use crate::session::device_frames::DeviceFrames;

/// What a layout starts from.
pub(crate) struct LayoutInput<'a> {
    pub(crate) lease: &'a Lease,
    pub(crate) params: &'a Params,
    pub(crate) positions: &'a [[f32; 2]],
    pub(crate) mobility: Option<&'a [f32]>,
}

/// A layout in progress, on the CPU or on the device. Nodes that do not exist are passed over.
pub(crate) trait LiveLayout: Send {
    /// Whether it is in device memory.
    fn is_on_device(&self) -> bool;

    fn params(&self) -> &Params;

    /// # Errors
    /// Those of the layout.
    fn set_params(&mut self, params: Params) -> Result<(), AlgoError>;

    /// Holds a node at a place.
    fn pin(&mut self, node: u32, point: [f32; 2]);

    fn unpin(&mut self, node: u32);

    /// Whether it has come to rest.
    fn settled(&self) -> bool;

    /// Copies the positions out.
    ///
    /// # Errors
    /// Those of the device.
    fn positions(&mut self, out: &mut Vec<[f32; 2]>) -> Result<(), AlgoError>;

    /// Iterations so far.
    fn iterations(&self) -> u64;

    /// Does some iterations: one on the CPU; on the device as many as fit `left`, at most `most`, when
    /// one takes `each`.
    ///
    /// # Errors
    /// Those of the layout and of the device.
    fn iterate(
        &mut self,
        most: u64,
        left: Duration,
        each: Option<Duration>,
        cancel: &CancelToken,
    ) -> Result<(), AlgoError>;

    /// What makes frames on the device; `None` on the CPU, and when the device has no room for it.
    fn frames(&mut self, _num_nodes: u32) -> Option<DeviceFrames<'_>> {
        None
    }

    /// Ends the layout. Device memory is freed by a worker, for that may take the driver a while.
    fn leave_device(self: Box<Self>);
}
