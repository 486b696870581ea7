//! Breadth-first search on the GPU, pushing from few nodes and pulling to many (Beamer, Asanovic
//! and Patterson, SC 2012).

use graphlume_device::cuda::{Buf, DeviceError, Gpu, Grid, kernels};
use graphlume_types::CancelToken;

use crate::AlgoError;
use crate::gpu_graph::GpuGraph;
use crate::gpu_graph::{THREADS, device_bytes, mask_words, one_wave};
use crate::path::bfs::Levels;

/// Levels between two looks from the host.
const LEVELS: usize = 4;
/// Where the device says that it is done.
const DONE: usize = 6;

/// Upper bound of the device bytes that [`run`] takes besides the graph.
#[must_use]
pub const fn footprint(num_nodes: u64, _num_edges: u64) -> u64 {
    5 * device_bytes(num_nodes, 4) + device_bytes(2 * num_nodes.div_ceil(32), 4) + 4096
}

/// Equal to [`crate::path::bfs::run`]: distances from `source` and smallest predecessors, along
/// edges (against none when `directed`), up to `depth_limit` hops.
///
/// # Errors
/// [`AlgoError::Cancelled`], [`AlgoError::Device`].
pub fn run(
    gpu: &Gpu,
    graph: &GpuGraph,
    source: u32,
    directed: bool,
    depth_limit: Option<u32>,
    cancel: &CancelToken,
) -> Result<Levels, AlgoError> {
    let [distance, predecessor] = levels(gpu, graph, source, directed, depth_limit, cancel)?;
    let distance = gpu.read(distance.view())?;
    Ok(Levels { distance, predecessor: gpu.read(predecessor.view())? })
}

/// Distances and predecessors as [`run`] finds them, left on the device.
///
/// # Errors
/// Those of [`run`].
pub fn levels(
    gpu: &Gpu,
    graph: &GpuGraph,
    source: u32,
    directed: bool,
    depth_limit: Option<u32>,
    cancel: &CancelToken,
) -> Result<[Buf<u32>; 2], AlgoError> {
    let mut search = Search::new(gpu, graph, directed, depth_limit)?;
    if graph.num_nodes() > 0 {
        search.run(gpu, graph, source, cancel)?;
    }
    Ok([search.distance, search.predecessor])
}

struct Search {
    both: u32,
    limit: u32,
    distance: Buf<u32>,
    predecessor: Buf<u32>,
    /// Nodes on the frontier: two lists of `num_nodes`, and two masks.
    lists: Buf<u32>,
    fronts: Buf<u32>,
    big: Buf<u32>,
    state: Buf<u32>,
    arcs: Buf<u64>,
}

impl Search {
    fn new(
        gpu: &Gpu,
        graph: &GpuGraph,
        directed: bool,
        depth_limit: Option<u32>,
    ) -> Result<Self, AlgoError> {
        let n = graph.num_nodes() as usize;
        Ok(Self {
            both: u32::from(!directed),
            limit: depth_limit.unwrap_or(u32::MAX),
            distance: gpu.alloc("distances", n)?,
            predecessor: gpu.alloc("predecessors", n)?,
            lists: gpu.alloc("frontier lists", 2 * n)?,
            fronts: gpu.alloc("frontier masks", 2 * mask_words(graph.num_nodes()))?,
            big: gpu.alloc("long lists", n)?,
            state: gpu.alloc("search state", 8)?,
            arcs: gpu.alloc("search state", 2)?,
        })
    }

    fn run(
        &mut self,
        gpu: &Gpu,
        graph: &GpuGraph,
        source: u32,
        cancel: &CancelToken,
    ) -> Result<(), AlgoError> {
        let (n, m) = (graph.num_nodes(), graph.num_edges());
        cancel.check()?;
        gpu.load_family("paths")?;
        kernels::bfs_start(
            gpu,
            one_wave(gpu, n as usize),
            n,
            m,
            source,
            self.limit,
            self.both,
            graph.out_offsets(),
            graph.in_offsets(),
            self.distance.view_mut(),
            self.predecessor.view_mut(),
            self.lists.view_mut(),
            self.state.view_mut(),
            self.arcs.view_mut(),
        )?;
        let levels = gpu.capture(|| {
            self.narrow(gpu, graph)?;
            (0..LEVELS).try_for_each(|_| self.level(gpu, graph))
        })?;
        loop {
            cancel.check()?;
            levels.launch()?;
            if gpu.read(self.state.slice(DONE..=DONE))? != [0] {
                return Ok(());
            }
        }
    }

    /// Many levels at once as long as they are narrow.
    fn narrow(&mut self, gpu: &Gpu, graph: &GpuGraph) -> Result<(), DeviceError> {
        kernels::bfs_narrow(
            gpu,
            Grid::blocks(1, THREADS),
            graph.num_nodes(),
            self.limit,
            self.both,
            graph.out_offsets(),
            graph.out_dst(),
            graph.in_offsets(),
            graph.in_src(),
            self.distance.view_mut(),
            self.predecessor.view_mut(),
            self.lists.view_mut(),
            self.state.view_mut(),
            self.arcs.view_mut(),
        )
    }

    /// The launches of a level, of which the state lets those work that it needs.
    fn level(&mut self, gpu: &Gpu, graph: &GpuGraph) -> Result<(), DeviceError> {
        let (n, both) = (graph.num_nodes(), self.both);
        let (outs, dst, ins, src) =
            (graph.out_offsets(), graph.out_dst(), graph.in_offsets(), graph.in_src());
        let grid = one_wave(gpu, n as usize);
        let Self { distance, predecessor, lists, fronts, big, state, arcs, .. } = self;
        kernels::bfs_turn(
            gpu,
            grid,
            n,
            distance.view(),
            lists.view_mut(),
            fronts.view_mut(),
            state.view_mut(),
        )?;
        // A frontier of a few nodes with long lists needs more warps than it has nodes.
        let wide = one_wave(gpu, (n as usize).max(graph.num_edges() as usize));
        kernels::bfs_push(
            gpu,
            wide,
            n,
            both,
            outs,
            dst,
            ins,
            src,
            distance.view_mut(),
            predecessor.view_mut(),
            lists.view_mut(),
            big.view_mut(),
            state.view_mut(),
            arcs.view_mut(),
        )?;
        kernels::bfs_push_big(
            gpu,
            wide,
            n,
            both,
            outs,
            dst,
            ins,
            src,
            distance.view_mut(),
            predecessor.view_mut(),
            lists.view_mut(),
            big.view(),
            state.view_mut(),
            arcs.view_mut(),
        )?;
        kernels::bfs_pull(
            gpu,
            grid,
            n,
            both,
            outs,
            dst,
            ins,
            src,
            distance.view_mut(),
            predecessor.view_mut(),
            fronts.view_mut(),
            big.view_mut(),
            state.view_mut(),
        )?;
        kernels::bfs_pull_big(
            gpu,
            wide,
            n,
            both,
            outs,
            dst,
            ins,
            src,
            predecessor.view_mut(),
            fronts.view(),
            big.view(),
            state.view(),
        )?;
        kernels::bfs_close(
            gpu,
            Grid::blocks(1, THREADS),
            n,
            self.limit,
            distance.view_mut(),
            predecessor.view(),
            fronts.view_mut(),
            big.view(),
            state.view_mut(),
            arcs.view_mut(),
        )
    }
}
