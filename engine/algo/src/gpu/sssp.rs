//! Weighted distances on the GPU, from a list of near nodes whose bound moves up (Davidson, Baxter,
//! Garland and Owens, IPDPS 2014).

use graphlume_device::cuda::{Buf, DeviceError, Gpu, Grid, kernels};
use graphlume_types::CancelToken;

use crate::AlgoError;
use crate::gpu_graph::GpuGraph;
use crate::gpu_graph::{device_bytes, one_wave};
use crate::path::sssp::{self, Distances};

/// Rounds between two looks from the host.
const ROUNDS: usize = 8;
/// Where the device says that it is done.
const DONE: usize = 5;
/// A bucket is as wide as this many mean weights over the mean degree.
const WIDTH: f64 = 32.0;

/// Upper bound of the device bytes that [`run`] takes besides the graph.
#[must_use]
pub const fn footprint(num_nodes: u64, num_edges: u64) -> u64 {
    let nodes = device_bytes(num_nodes, 8) + 7 * device_bytes(num_nodes, 4);
    nodes + 4 * device_bytes(num_edges, 4) + GpuGraph::in_rows_footprint(num_edges) + (1 << 20)
}

/// Equal to [`crate::path::sssp::run`]: every distance is the least sum along a path, rounded at
/// each edge, which does not depend on the order of the search.
///
/// # Errors
/// [`AlgoError::BadValue`] for a negative weight, [`AlgoError::Cancelled`], [`AlgoError::Device`].
pub fn run(
    gpu: &Gpu,
    graph: &GpuGraph,
    source: u32,
    directed: bool,
    weights: Option<&[f32]>,
    cutoff: f64,
    cancel: &CancelToken,
) -> Result<Distances, AlgoError> {
    sssp::check(weights)?;
    cancel.check()?;
    let mut search = Search::new(gpu, graph, directed, weights.unwrap_or(&[]))?;
    if graph.num_nodes() > 0 {
        search.distances(gpu, graph, source, cutoff.max(0.0), cancel)?;
        search.predecessors(gpu, graph, source, cancel)?;
    }
    let distance = gpu.read(search.distance.view())?.into_iter().map(f64::from_bits).collect();
    Ok(Distances { distance, predecessor: gpu.read(search.predecessor.view())? })
}

struct Search {
    both: u32,
    width: f64,
    out_weights: Buf<f32>,
    in_weights: Buf<f32>,
    /// Bits of the distances.
    distance: Buf<u64>,
    predecessor: Buf<u32>,
    levels: Buf<u32>,
    stamps: Buf<u32>,
    pending: Buf<u32>,
    lists: Buf<u32>,
    big: Buf<u32>,
    state: Buf<u32>,
    bounds: Buf<u64>,
}

impl Search {
    fn new(
        gpu: &Gpu,
        graph: &GpuGraph,
        directed: bool,
        by_row: &[f32],
    ) -> Result<Self, DeviceError> {
        let (n, m) = (graph.num_nodes() as usize, graph.num_edges() as usize);
        let given = gpu.upload("edge weights", &by_row[..by_row.len().min(m)])?;
        let in_weights = match directed {
            true => gpu.alloc("weights by destination", 0)?,
            false => GpuGraph::weights(gpu, graph.in_rows(gpu)?.view(), given.view())?,
        };
        Ok(Self {
            both: u32::from(!directed),
            width: width(n, m, by_row),
            out_weights: GpuGraph::weights(gpu, graph.out_row(), given.view())?,
            in_weights,
            distance: gpu.alloc("distances", n)?,
            predecessor: gpu.alloc("predecessors", n)?,
            levels: gpu.alloc("levels", n)?,
            stamps: gpu.alloc("search marks", n)?,
            pending: gpu.alloc("search marks", n)?,
            lists: gpu.alloc("work lists", 2 * n)?,
            big: gpu.alloc("long lists", n)?,
            state: gpu.alloc("search state", 6)?,
            bounds: gpu.alloc("search state", 4)?,
        })
    }

    fn distances(
        &mut self,
        gpu: &Gpu,
        graph: &GpuGraph,
        source: u32,
        cutoff: f64,
        cancel: &CancelToken,
    ) -> Result<(), AlgoError> {
        let n = graph.num_nodes();
        gpu.load_family("paths")?;
        kernels::sp_start(
            gpu,
            one_wave(gpu, n as usize),
            n,
            source,
            self.width,
            cutoff,
            self.distance.view_mut(),
            self.predecessor.view_mut(),
            self.levels.view_mut(),
            self.stamps.view_mut(),
            self.pending.view_mut(),
            self.lists.view_mut(),
            self.state.view_mut(),
            self.bounds.view_mut(),
        )?;
        let rounds = gpu.capture(|| (0..ROUNDS).try_for_each(|_| self.round(gpu, graph)))?;
        loop {
            cancel.check()?;
            rounds.launch()?;
            if gpu.read(self.state.slice(DONE..=DONE))? != [0] {
                return Ok(());
            }
        }
    }

    /// A round, and the next bucket when it leaves no near node.
    fn round(&mut self, gpu: &Gpu, graph: &GpuGraph) -> Result<(), DeviceError> {
        let (n, both) = (graph.num_nodes(), self.both);
        let (outs, dst, ins, src) =
            (graph.out_offsets(), graph.out_dst(), graph.in_offsets(), graph.in_src());
        let grid = one_wave(gpu, n as usize);
        let wide = one_wave(gpu, (n as usize).max(graph.num_edges() as usize));
        let Self { out_weights, in_weights, distance, stamps, .. } = self;
        let Self { pending, lists, big, state, bounds, .. } = self;
        kernels::sp_push(
            gpu,
            wide,
            n,
            both,
            outs,
            dst,
            out_weights.view(),
            ins,
            src,
            in_weights.view(),
            distance.view_mut(),
            stamps.view_mut(),
            pending.view_mut(),
            lists.view_mut(),
            big.view_mut(),
            state.view_mut(),
            bounds.view(),
        )?;
        kernels::sp_push_big(
            gpu,
            wide,
            n,
            both,
            outs,
            dst,
            out_weights.view(),
            ins,
            src,
            in_weights.view(),
            distance.view_mut(),
            stamps.view_mut(),
            pending.view_mut(),
            lists.view_mut(),
            big.view(),
            state.view_mut(),
            bounds.view(),
        )?;
        let one = Grid::blocks(1, 32);
        kernels::sp_turn(gpu, one, state.view_mut(), bounds.view_mut())?;
        let (d, p) = (distance.view(), pending.view_mut());
        kernels::sp_least(gpu, grid, n, d, p, state.view(), bounds.view_mut())?;
        let (p, l) = (pending.view_mut(), lists.view_mut());
        kernels::sp_bucket(gpu, grid, n, d, p, l, state.view_mut(), bounds.view())?;
        kernels::sp_close(gpu, one, state.view_mut(), bounds.view_mut())
    }

    fn predecessors(
        &mut self,
        gpu: &Gpu,
        graph: &GpuGraph,
        source: u32,
        cancel: &CancelToken,
    ) -> Result<(), AlgoError> {
        let (n, m) = (graph.num_nodes(), graph.num_edges());
        let tiles = Grid::cover(gpu, (m as usize).div_ceil(8), crate::gpu_graph::THREADS);
        let mut open = gpu.alloc::<u32>("open nodes", 1)?;
        for level in 0..=n {
            cancel.check()?;
            kernels::sp_predecessors(
                gpu,
                tiles,
                n,
                m,
                self.both,
                level,
                graph.out_offsets(),
                graph.out_dst(),
                self.out_weights.view(),
                self.distance.view(),
                self.levels.view(),
                self.predecessor.view_mut(),
            )?;
            gpu.zero(open.view_mut())?;
            kernels::sp_levels(
                gpu,
                one_wave(gpu, n as usize),
                n,
                source,
                level,
                self.distance.view(),
                self.predecessor.view(),
                self.levels.view_mut(),
                open.view_mut(),
            )?;
            if gpu.read(open.view())? == [0] {
                break;
            }
        }
        Ok(())
    }
}

/// How far the bound moves at a time.
fn width(nodes: usize, edges: usize, by_row: &[f32]) -> f64 {
    let clean = |w: &f32| if w.is_finite() { f64::from(*w) } else { 1.0 };
    let given: f64 = by_row.iter().map(clean).sum();
    let mean = if by_row.is_empty() { 1.0 } else { given / by_row.len() as f64 };
    let degree = (edges as f64 / nodes.max(1) as f64).max(1.0);
    (WIDTH * mean / degree).max(f64::MIN_POSITIVE)
}
