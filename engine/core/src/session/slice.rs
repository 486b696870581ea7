//! Requests to a worker about a layout, and its reports.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use graphlume_algo::AlgoError;
use graphlume_algo::layout::force_atlas2::Params;
use graphlume_types::CancelToken;

use crate::device::gpu_device::GpuDevice;
use crate::frames::{FrameFlags, PositionFrame};
use crate::residency::Lease;
use crate::session::arranging::Ending;
use crate::session::placement::Placement;

/// A change that a viewer made to a node.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum PinChange {
    Pin { node: u32, at: [f32; 2] },
    Unpin { node: u32 },
}

/// Whether a slice makes a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrameRequest {
    /// When the frame interval has passed.
    WhenDue,
    /// A key frame.
    Key,
}

/// What a worker is asked to do with a layout.
pub(crate) struct SliceRequest {
    pub(crate) lease: Lease,
    /// Whether nodes move.
    pub(crate) run: bool,
    pub(crate) params: Params,
    pub(crate) pin_changes: Vec<PinChange>,
    /// Where all nodes move first.
    pub(crate) placement: Option<Arc<Placement>>,
    /// Whether forces keep the size of the picture, because the dataset binds positions or a viewer has named a layout.
    pub(crate) keeps_size: bool,
    /// How the picture is arranged when the run ends; none where it stays as the forces leave it.
    pub(crate) ending: Option<Ending>,
    pub(crate) frame: FrameRequest,
    pub(crate) flags: FrameFlags,
    /// Whether exact positions are wanted too.
    pub(crate) exact: bool,
    /// Whether a copy for the disk is wanted too.
    pub(crate) copy: bool,
    pub(crate) budget: Duration,
    pub(crate) iterations_max: u64,
    /// The device, when the forces belong there.
    pub(crate) gpu: Option<Arc<GpuDevice>>,
    /// Whether a layout at rest is reported as converged.
    pub(crate) stop_at_rest: bool,
    pub(crate) frame_interval: Duration,
    pub(crate) cancel: CancelToken,
}

/// What a slice did.
#[derive(Default)]
pub(crate) struct SliceReport {
    pub(crate) iterations: u64,
    pub(crate) took: Duration,
    pub(crate) converged: bool,
    pub(crate) frame: Option<PositionFrame>,
    pub(crate) exact: Option<Bytes>,
    /// Positions and pinned nodes at the end of the slice.
    pub(crate) copy: Option<(Vec<[f32; 2]>, Vec<u32>)>,
    /// Whether viewers moved nodes.
    pub(crate) moved_by_viewers: bool,
    /// Why the forces failed; the positions are those before the iteration that did.
    pub(crate) failed: Option<AlgoError>,
}
