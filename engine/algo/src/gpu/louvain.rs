//! The Louvain method (Blondel, Guillaume, Lambiotte and Lefebvre 2008, arXiv 0803.0476) on the
//! GPU.
//!
//! Nodes move by sub-rounds: see [`sub_rounds`](crate::community::louvain). Weights are whole numbers
//! and sums exact, so the same seed gives the same labels on any device, and those of
//! [`search_from`](crate::community::louvain::search_from) on the CPU, which moves by another rule of its own and finds other
//! communities that are as good. When the graph has become small the CPU finishes it.

use graphlume_device::cuda::{Buf, DeviceError, Gpu, Grid, kernels};
use graphlume_types::CancelToken;

use super::louvain_aggregate::Aggregation;
use super::louvain_level::Level;
use super::louvain_move::Moving;
use crate::AlgoError;
use crate::community::louvain::sub_rounds::gain_min;
use crate::community::louvain::{Options, SUB_ROUNDS_ARCS, continue_from};
use crate::gpu_graph::GpuGraph;
use crate::gpu_graph::{SCAN_BYTES, SORT_BYTES, THREADS, device_bytes};
use crate::weighted_graph::{WeightedGraph, renumber};

/// How the work is laid out. Only [`Self::finish_arcs`] can change the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// A level with at most this many arcs is finished by the CPU: there launches cost more than
    /// work.
    pub finish_arcs: u64,
    /// Blocks that share a long row.
    pub team: u32,
    /// Blocks of every launch; `None` fits the launch to the work and the device.
    pub blocks: Option<u32>,
}

impl Default for Tuning {
    fn default() -> Self {
        Self { finish_arcs: SUB_ROUNDS_ARCS as u64, team: 16, blocks: None }
    }
}

impl Tuning {
    /// A grid for `items` threads of work of which many may find none: at most what runs at once.
    pub(crate) fn grid(self, gpu: &Gpu, items: usize, threads: u32) -> Grid {
        let info = gpu.info();
        let resident = (info.max_threads_per_sm / threads).max(1).saturating_mul(info.sm_count);
        let most = self.blocks.unwrap_or_else(|| resident.max(1));
        let blocks = items.div_ceil(threads as usize).clamp(1, most as usize);
        Grid::blocks(u32::try_from(blocks).unwrap_or(most), threads)
    }

    /// A grid of a block an item, at most `per_sm` for each multiprocessor.
    pub(crate) fn blocks(self, gpu: &Gpu, items: usize, per_sm: u32, threads: u32) -> Grid {
        let most = self.blocks.unwrap_or_else(|| gpu.info().sm_count.saturating_mul(per_sm).max(1));
        let blocks = items.clamp(1, most as usize);
        Grid::blocks(u32::try_from(blocks).unwrap_or(most), threads)
    }
}

/// Communities of the undirected graph that `graph` spells, by node index, numbered by first
/// appearance. `weights` are by edge table row: one that is absent or not a number counts as 1, a
/// negative one as 0. The communities are those that [`crate::community::louvain::search_from`] finds
/// with [`SUB_ROUNDS_ARCS`]; a graph with fewer list entries is handed to the CPU at once.
///
/// # Errors
/// [`AlgoError::Cancelled`], [`AlgoError::Device`], and [`AlgoError::BadParam`] for a resolution
/// that is not positive.
pub fn run(
    gpu: &Gpu,
    graph: &GpuGraph,
    weights: Option<&[f32]>,
    options: &Options,
    cancel: &CancelToken,
) -> Result<Vec<u32>, AlgoError> {
    run_tuned(gpu, graph, weights, options, Tuning::default(), cancel)
}

/// As [`run`], laid out as `tuning` says.
///
/// # Errors
/// Those of [`run`].
pub fn run_tuned(
    gpu: &Gpu,
    graph: &GpuGraph,
    weights: Option<&[f32]>,
    options: &Options,
    tuning: Tuning,
    cancel: &CancelToken,
) -> Result<Vec<u32>, AlgoError> {
    check_resolution(options.resolution)?;
    cancel.check()?;
    let mut level = Level::first(gpu, graph, weights)?;
    let mut labels = Labels { gpu, n: graph.num_nodes(), of: None };
    let mut depth = 0;
    while depth < options.max_level {
        if level.arcs() <= tuning.finish_arcs {
            let rest = finish(level.download(gpu)?, depth, options, cancel)?;
            labels.compose(gpu.upload("communities", &rest)?)?;
            break;
        }
        let moving = Moving::new(gpu, &level, options, depth, tuning)?;
        let (groups, gain) = moving.run(gain_min(depth), cancel)?;
        let Some(aggregation) = Aggregation::number(gpu, level, groups, tuning)? else {
            break;
        };
        let (next, fresh) = aggregation.fold(cancel)?;
        labels.compose(fresh)?;
        if depth > 0 && gain < options.threshold {
            break;
        }
        level = next;
        depth += 1;
    }
    labels.read()
}

/// The communities found so far, by node of the first level.
struct Labels<'a> {
    gpu: &'a Gpu,
    n: u32,
    /// Every node is its own community while there are none.
    of: Option<Buf<u32>>,
}

impl Labels<'_> {
    /// Goes on to the communities `fresh` of the present ones.
    fn compose(&mut self, fresh: Buf<u32>) -> Result<(), DeviceError> {
        let Some(of) = &mut self.of else {
            self.of = Some(fresh);
            return Ok(());
        };
        let grid = Grid::cover(self.gpu, of.len(), THREADS);
        let k = fresh.len() as u32;
        kernels::lv_compose(self.gpu, grid, self.n, k, fresh.view(), of.view_mut())
    }

    fn read(self) -> Result<Vec<u32>, AlgoError> {
        match self.of {
            Some(of) => Ok(self.gpu.read(of.view())?),
            None => Ok((0..self.n).collect()),
        }
    }
}

/// The levels from `depth` on, by the CPU: the community of each node, numbered by first
/// appearance.
pub(crate) fn finish(
    level: HostLevel,
    depth: u64,
    options: &Options,
    cancel: &CancelToken,
) -> Result<Vec<u32>, AlgoError> {
    let HostLevel { offsets, ends, weights, loops } = level;
    let offsets = offsets.into_iter().map(|o| o as usize).collect();
    let net = WeightedGraph::from_parts(offsets, ends, weights, loops);
    let mut labels = continue_from(net, depth as usize, options, cancel)?;
    let bound = labels.len();
    renumber(&mut labels, bound);
    Ok(labels)
}

/// Upper bound of the device bytes that [`run`] takes besides the graph: 28 an arc (an edge is two)
/// and 110 a node, and something for rounding. With the graph itself that is 34 an arc.
#[must_use]
pub const fn footprint(num_nodes: u64, num_edges: u64) -> u64 {
    // The peak is the lists of a level of at most 12 bytes an arc beside tables of 12 bytes a slot,
    // 5 slots for 4 entries; or, when that level is gone, the tables beside the lists of the next
    // level.
    device_bytes(2 * num_edges, 28) + device_bytes(num_nodes + 1, 110) + SORT_BYTES + SCAN_BYTES
}

/// Refuses a resolution that is not a positive number.
pub(crate) fn check_resolution(resolution: f64) -> Result<(), AlgoError> {
    if resolution > 0.0 && resolution.is_finite() {
        return Ok(());
    }
    Err(AlgoError::BadParam {
        algorithm: "louvain",
        name: "resolution".to_owned(),
        value: resolution.to_string(),
        expected: "a number above 0".to_owned(),
    })
}

/// A level on the host. Rows ascend.
pub(crate) struct HostLevel {
    pub(crate) offsets: Vec<u32>,
    pub(crate) ends: Vec<u32>,
    /// Weight of each entry; empty when all are 1.
    pub(crate) weights: Vec<u64>,
    /// Twice the weight of each node's loops.
    pub(crate) loops: Vec<u64>,
}
