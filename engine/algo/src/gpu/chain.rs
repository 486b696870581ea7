//! One hop of a pattern over all edges, on the device: what the passes of a chain are made of. All masks of edges are in
//! the order of the outgoing adjacency.

use graphlume_device::cuda::{DeviceError, Gpu, Grid, View, ViewMut, kernels};

use crate::AlgoError;
use crate::gpu_graph::GpuGraph;
use crate::gpu_graph::{THREADS, mask_words};
use crate::path::expand::Direction;

/// Bits of the kernel's `flags`.
const FORWARD: u32 = 1;
const BACKWARD: u32 = 2;
const EDGES: u32 = 4;
const FROM: u32 = 8;
const TO: u32 = 16;
const KEPT: u32 = 32;
const LEFT: u32 = 64;
const REACHED: u32 = 128;

/// Which edges are followed. Without a mask all are, from all nodes, to all nodes.
#[derive(Clone, Copy)]
pub struct Follow<'a> {
    /// Which way.
    pub direction: Direction,
    /// Edges, by position.
    pub edges: Option<View<'a, u32>>,
    /// Nodes that are left.
    pub from: Option<View<'a, u32>>,
    /// Nodes that are reached.
    pub to: Option<View<'a, u32>>,
}

/// Masks that what is followed is added to.
#[derive(Default)]
pub struct Followed<'a> {
    /// The edges, by position.
    pub kept: Option<ViewMut<'a, u32>>,
    /// The nodes that they are followed from.
    pub left: Option<ViewMut<'a, u32>>,
    /// The nodes that they lead to.
    pub reached: Option<ViewMut<'a, u32>>,
}

/// Follows the edges of `graph` that `hop` allows, and adds them and their ends to the masks of `into`. An edge that may be
/// followed both ways has both its ends left and reached.
///
/// # Errors
/// [`AlgoError::Length`] for a mask that is too short, [`AlgoError::Device`].
pub fn follow(
    gpu: &Gpu,
    graph: &GpuGraph,
    hop: &Follow<'_>,
    into: Followed<'_>,
) -> Result<(), AlgoError> {
    let (n, m) = (graph.num_nodes(), graph.num_edges());
    let Followed { kept, left, reached } = into;
    let lengths = [
        ("edges", hop.edges.map(|v| v.len()), m),
        ("from", hop.from.map(|v| v.len()), n),
        ("to", hop.to.map(|v| v.len()), n),
        ("kept", kept.as_ref().map(ViewMut::len), m),
        ("left", left.as_ref().map(ViewMut::len), n),
        ("reached", reached.as_ref().map(ViewMut::len), n),
    ];
    for (what, len, items) in lengths {
        let words = mask_words(items);
        AlgoError::check_len(what, len.unwrap_or(words), words, "32 nodes or edges")?;
    }
    let flag = |on: bool, bit: u32| if on { bit } else { 0 };
    let flags = flag(hop.direction.follows_out(), FORWARD)
        | flag(hop.direction.follows_in(), BACKWARD)
        | flag(hop.edges.is_some(), EDGES)
        | flag(hop.from.is_some(), FROM)
        | flag(hop.to.is_some(), TO)
        | flag(kept.is_some(), KEPT)
        | flag(left.is_some(), LEFT)
        | flag(reached.is_some(), REACHED);
    let none = gpu.alloc::<u32>("no mask", 0)?;
    // What stands in for a mask that is not written; the kernel looks at none of them.
    let mut unused = [gpu.alloc("no mask", 0)?, gpu.alloc("no mask", 0)?, gpu.alloc("no mask", 0)?];
    let [a, b, c] = &mut unused;
    kernels::chain_follow(
        gpu,
        Grid::cover(gpu, (m as usize).div_ceil(8), THREADS),
        n,
        m,
        flags,
        graph.out_offsets(),
        graph.out_dst(),
        hop.edges.unwrap_or(none.view()),
        hop.from.unwrap_or(none.view()),
        hop.to.unwrap_or(none.view()),
        kept.unwrap_or_else(|| a.view_mut()),
        left.unwrap_or_else(|| b.view_mut()),
        reached.unwrap_or_else(|| c.view_mut()),
    )
    .map_err(|e: DeviceError| e.into())
}
