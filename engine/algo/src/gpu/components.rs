//! Weakly connected components on the GPU: hooking of roots with the giant component left out
//! (Jaiganesh and Burtscher, HPDC 2018; Sutton, Ben-Nun and Barak, IPDPS 2018).

use graphlume_device::cuda::primitives::Scan;
use graphlume_device::cuda::{Buf, Gpu, Grid, kernels};
use graphlume_types::CancelToken;

use crate::AlgoError;
use crate::gpu_graph::GpuGraph;
use crate::gpu_graph::{SCAN_BYTES, THREADS, device_bytes};

/// Upper bound of the device bytes that [`run`] takes besides the graph.
#[must_use]
pub const fn footprint(num_nodes: u64, _num_edges: u64) -> u64 {
    4 * device_bytes(num_nodes + 1, 4) + SCAN_BYTES
}

/// The component of every node, numbered by first appearance in node order: equal to
/// [`crate::component::weak::run`].
///
/// # Errors
/// [`AlgoError::Cancelled`], [`AlgoError::Device`].
pub fn run(gpu: &Gpu, graph: &GpuGraph, cancel: &CancelToken) -> Result<Vec<u32>, AlgoError> {
    Ok(gpu.read(labels(gpu, graph, cancel)?.view())?)
}

/// As [`run`]; the labels stay on the device.
///
/// # Errors
/// Those of [`run`].
pub fn labels(gpu: &Gpu, graph: &GpuGraph, cancel: &CancelToken) -> Result<Buf<u32>, AlgoError> {
    let n = graph.num_nodes();
    let len = n as usize;
    let mut parent = gpu.alloc::<u32>("parents", len)?;
    // First the work lists, later the flags and numbers of the roots.
    let mut first = gpu.alloc::<u32>("component work", len)?;
    let mut second = gpu.alloc::<u32>("component work", len + 1)?;
    if n > 0 {
        link(gpu, graph, &mut parent, &mut first, &mut second, cancel)?;
        cancel.check()?;
        let grid = Grid::cover(gpu, len, THREADS);
        kernels::cc_compress(gpu, grid, n, parent.view_mut())?;
        kernels::cc_flags(gpu, grid, n, parent.view(), first.view_mut())?;
        Scan::new(gpu, len)?.exclusive(first.view(), second.view_mut())?;
        kernels::cc_labels(gpu, grid, n, parent.view(), second.view(), first.view_mut())?;
    }
    Ok(first)
}

/// Hangs every node into the tree of its component.
fn link(
    gpu: &Gpu,
    graph: &GpuGraph,
    parent: &mut Buf<u32>,
    mid: &mut Buf<u32>,
    big: &mut Buf<u32>,
    cancel: &CancelToken,
) -> Result<(), AlgoError> {
    let n = graph.num_nodes();
    let (outs, dst, ins, src) =
        (graph.out_offsets(), graph.out_dst(), graph.in_offsets(), graph.in_src());
    let grid = Grid::cover(gpu, n as usize, THREADS);
    let warps = Grid::warps(gpu, n as usize, THREADS);
    let mut giant = gpu.alloc::<u32>("the giant component", 1)?;
    let mut counts = gpu.zeros::<u32>("work list lengths", 2)?;
    kernels::cc_init(gpu, grid, n, outs, dst, ins, src, parent.view_mut())?;
    kernels::cc_sample(gpu, grid, n, outs, dst, parent.view_mut())?;
    kernels::cc_compress(gpu, grid, n, parent.view_mut())?;
    kernels::cc_giant(gpu, Grid::blocks(1, 256), n, parent.view(), giant.view_mut())?;
    cancel.check()?;
    let (m, b, c) = (mid.view_mut(), big.view_mut(), counts.view_mut());
    let p = parent.view_mut();
    kernels::cc_link_low(gpu, grid, n, giant.view(), outs, dst, ins, src, p, m, b, c)?;
    let (p, c) = (parent.view_mut(), counts.view());
    kernels::cc_link_mid(gpu, warps, n, c, mid.view(), outs, dst, ins, src, p)?;
    cancel.check()?;
    let p = parent.view_mut();
    kernels::cc_link_big(gpu, warps, n, c, big.view(), outs, dst, ins, src, p)?;
    Ok(())
}
