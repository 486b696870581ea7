//! PageRank (Brin and Page 1998) on the GPU, in pull form over rows sorted by degree class.
//!
//! Iterations run in single precision until the change is near the tolerance, and in double
//! precision from there on, which takes away what rounding has left. The device decides after each
//! whether to go on; the host looks every few. As on the CPU, the ranks are within `tol * alpha /
//! (1 - alpha)` of the exact ones, in the sum of the differences; so with a `tol` of 5e-8 both
//! agree to 1e-6.

mod timing;

use graphlume_device::cuda::primitives::{Scan, Sort};
use graphlume_device::cuda::{Buf, DeviceError, Gpu, Grid, View, kernels};
use graphlume_types::CancelToken;
use rayon::prelude::*;

use crate::AlgoError;
use crate::centrality::pagerank::Options;
use crate::gpu_graph::GpuGraph;
use crate::gpu_graph::{
    Both, BothOptions, SCAN_BYTES, SORT_BYTES, THREADS, device_bytes, one_wave,
};

/// Change below which single precision would no longer tell ranks from rounding.
const NARROW_TOL: f64 = 1e-6;
/// Single precision ends at this many tolerances. The rounding that equal nodes have in common adds
/// up to about 2e-6 where changes shrink slowest, by `alpha` an iteration; it shrinks with the
/// change then.
const NARROW_TOLS: f64 = 8.0;
/// List entries between two looks from the host, about 10 ms of work on a large card.
const ARCS_PER_LOOK: u64 = 1 << 30;
/// Iterations between two looks at most.
const ITERATIONS_PER_LOOK: u64 = 8;
/// Nodes of one unit of work and of one partial sum on the host.
const BLOCK: usize = 2048;

/// Where the device keeps what: see `pagerank.cu`.
const CHANGE: usize = 1;
const DONE: usize = 2;
const STATUS: usize = 3;
const STATE: usize = 4;
const CONVERGED: f64 = 1.0;

/// A graph made ready for PageRank. Made once; any number of runs may follow, on any stream of the device.
pub struct Plan {
    /// The lists of both directions, when edges are followed both ways.
    both: Option<(Buf<u32>, Buf<u32>)>,
    /// In the order of the lists pulled over; empty when all are 1.
    weights: Buf<f32>,
    weighted: bool,
    /// Nodes by class: hubs, those with a warp, with eight lanes, with a thread each.
    rows: Buf<u32>,
    hubs: u32,
    warps: u32,
    octs: u32,
    chunks: u32,
    chunk_hub: Buf<u32>,
    chunk_starts: Buf<u32>,
    /// One over the weight that leaves each node, or 0.
    inverse: Buf<f64>,
    inverse_f32: Buf<f32>,
}

/// Upper bound of the device bytes that [`Plan::new`] and [`Plan::run`] take besides the graph.
#[must_use]
pub const fn footprint(num_nodes: u64, num_edges: u64, weighted: bool, directed: bool) -> u64 {
    let nodes = 2 * device_bytes(num_nodes + 1, 4) + device_bytes(num_nodes, 12);
    let sort = device_bytes(num_nodes, 16) + SORT_BYTES + 2 * SCAN_BYTES;
    let run = device_bytes(num_nodes, 4 * 3 + 8 * 4) + (8 << 20);
    let chunks = 4 * device_bytes(num_edges / 512 + num_nodes.div_ceil(512) + 2, 8);
    let lists = match (weighted, directed) {
        (false, true) => 0,
        (true, true) => GpuGraph::in_rows_footprint(num_edges) + 2 * device_bytes(num_edges, 4),
        (_, false) => Both::footprint(num_nodes, num_edges, weighted),
    };
    let weights = if weighted { device_bytes(2 * num_edges, 4) } else { 0 };
    let given = if weighted { device_bytes(num_edges, 4) } else { 0 };
    nodes + sort + run + chunks + lists + weights + given + (1 << 16)
}

impl Plan {
    /// Sorts the rows of `graph` into degree classes, and puts weights into list order. `weights`
    /// are by edge table row: one that is missing or not a number counts as 1, a negative one as 0.
    ///
    /// # Errors
    /// [`AlgoError::Cancelled`], [`AlgoError::Device`].
    pub fn new(
        gpu: &Gpu,
        graph: &GpuGraph,
        weights: Option<&[f32]>,
        directed: bool,
        cancel: &CancelToken,
    ) -> Result<Self, AlgoError> {
        let n = graph.num_nodes();
        cancel.check()?;
        let lists = Lists::new(gpu, graph, weights, directed)?;
        let offsets = lists.both.as_ref().map_or(graph.in_offsets(), |b| b.0.view());
        cancel.check()?;
        let (rows, [hubs, warps, octs, _]) = classes(gpu, n, offsets)?;
        let (chunk_starts, chunk_hub) = chunks(gpu, hubs, offsets, rows.view())?;
        cancel.check()?;
        let (inverse, inverse_f32) = lists.inverse(gpu, graph)?;
        Ok(Self {
            both: lists.both,
            weights: lists.weights,
            weighted: weights.is_some(),
            rows,
            hubs,
            warps,
            octs,
            chunks: chunk_hub.len() as u32,
            chunk_hub,
            chunk_starts,
            inverse,
            inverse_f32,
        })
    }

    /// The rank of every node of `graph`, the one that the plan was made for; the ranks sum to 1.
    /// As [`crate::centrality::pagerank::run`]; [`Options::directed`] is the plan's.
    /// `personalization` has a share for every node, which takes the place of equal shares in
    /// restarts and for what nodes without out-edges spread.
    ///
    /// # Errors
    /// [`AlgoError::NotConverged`] when [`Options::must_converge`], [`AlgoError::Length`] and
    /// [`AlgoError::BadValue`] for a personalization that is not one, [`AlgoError::Cancelled`],
    /// [`AlgoError::Device`].
    pub fn run(
        &self,
        gpu: &Gpu,
        graph: &GpuGraph,
        options: Options,
        personalization: Option<&[f64]>,
        cancel: &CancelToken,
    ) -> Result<Vec<f64>, AlgoError> {
        let n = graph.num_nodes() as usize;
        if n == 0 {
            return Ok(Vec::new());
        }
        let shares = personalization.map(|p| shares(p, n)).transpose()?;
        let personal = gpu.upload("personalization", shares.as_deref().unwrap_or(&[]))?;
        let mut run = Run::new(gpu, self, graph, options, personal)?;
        let narrow = run.narrow(cancel)?;
        let wide = match run.goes_on()? {
            true => Some(run.wide(&narrow, cancel)?),
            false => None,
        };
        if run.change >= options.tol && options.must_converge {
            let (iterations, change) = (options.max_iter, run.change);
            return Err(AlgoError::NotConverged { algorithm: "pagerank", iterations, change });
        }
        let mut ranks: Vec<f64> = match wide {
            Some(ranks) => gpu.read(ranks.view())?,
            None => gpu.read(narrow.view())?.into_iter().map(f64::from).collect(),
        };
        let parts: Vec<f64> = ranks.par_chunks(BLOCK).map(|c| c.iter().sum()).collect();
        let total: f64 = parts.iter().sum();
        ranks.par_iter_mut().for_each(|r| *r /= total);
        Ok(ranks)
    }
}

/// Shares that sum to 1.
fn shares(given: &[f64], n: usize) -> Result<Vec<f64>, AlgoError> {
    AlgoError::check_len("personalization", given.len(), n, "node")?;
    let bad = given.iter().position(|p| !(p.is_finite() && *p >= 0.0));
    let total: f64 = given.iter().sum();
    let refused = bad.or((total <= 0.0 || !total.is_finite()).then_some(0));
    if let Some(index) = refused {
        return Err(AlgoError::BadValue {
            what: "personalization",
            unit: "node",
            index,
            value: given[index],
            expected: "finite shares, none below 0 and not all 0",
        });
    }
    Ok(given.iter().map(|p| p / total).collect())
}

/// What is pulled over, and its weights.
struct Lists {
    both: Option<(Buf<u32>, Buf<u32>)>,
    weights: Buf<f32>,
    /// Weights in out-list order, for the weight that leaves a node of a directed graph.
    leaving: Buf<f32>,
    weighted: bool,
}

impl Lists {
    fn new(
        gpu: &Gpu,
        graph: &GpuGraph,
        weights: Option<&[f32]>,
        directed: bool,
    ) -> Result<Self, DeviceError> {
        let by_row = weights.map(|w| gpu.upload("edge weights", w)).transpose()?;
        let weighted = by_row.is_some();
        let none = || gpu.alloc::<f32>("weights", 0);
        let ordered = |rows: View<'_, u32>| {
            by_row.as_ref().map_or_else(none, |w| GpuGraph::weights(gpu, rows, w.view()))
        };
        if directed {
            let rows = if weighted { graph.in_rows(gpu)? } else { gpu.alloc("rows", 0)? };
            let (weights, leaving) = (ordered(rows.view())?, ordered(graph.out_row())?);
            return Ok(Self { both: None, weights, leaving, weighted });
        }
        // A self-loop of an undirected graph counts at both its ends.
        let both = Both::build(gpu, graph, BothOptions { keep_loops: true, rows: weighted })?;
        let weights = ordered(both.rows.view())?;
        Ok(Self { both: Some((both.offsets, both.ends)), weights, leaving: none()?, weighted })
    }

    fn inverse(&self, gpu: &Gpu, graph: &GpuGraph) -> Result<(Buf<f64>, Buf<f32>), DeviceError> {
        let n = graph.num_nodes();
        let (offsets, weights) = match &self.both {
            Some((offsets, _)) => (offsets.view(), self.weights.view()),
            None => (graph.out_offsets(), self.leaving.view()),
        };
        let mut inverse = gpu.alloc("inverse weights", n as usize)?;
        let mut narrow = gpu.alloc("inverse weights", n as usize)?;
        let grid = Grid::warps(gpu, n as usize, THREADS);
        let (w, f) = (inverse.view_mut(), narrow.view_mut());
        kernels::pr_inverse(gpu, grid, n, u32::from(self.weighted), offsets, weights, w, f)?;
        Ok((inverse, narrow))
    }
}

/// Nodes by degree class, and how many each class has.
fn classes(gpu: &Gpu, n: u32, offsets: View<'_, u32>) -> Result<(Buf<u32>, [u32; 4]), DeviceError> {
    let len = n as usize;
    let mut classes = gpu.alloc::<u32>("degree classes", len)?;
    let mut rows = gpu.alloc::<u32>("rows by class", len)?;
    let mut counts = gpu.zeros::<u32>("class counts", 4)?;
    let grid = Grid::cover(gpu, len, THREADS);
    kernels::pr_classes(gpu, grid, n, offsets, classes.view_mut(), rows.view_mut())?;
    Sort::new_u32(gpu, len)?.pairs_u32(&mut classes, &mut rows, len, 2)?;
    kernels::pr_class_counts(gpu, Grid::blocks(1, 32), n, classes.view(), counts.view_mut())?;
    let mut host = [0; 4];
    gpu.read_into(counts.view(), &mut host)?;
    Ok((rows, host))
}

/// Where each hub's chunks start, and the hub of each chunk.
fn chunks(
    gpu: &Gpu,
    hubs: u32,
    offsets: View<'_, u32>,
    rows: View<'_, u32>,
) -> Result<(Buf<u32>, Buf<u32>), DeviceError> {
    let len = hubs as usize;
    let mut lengths = gpu.alloc::<u32>("hub chunks", len)?;
    let mut starts = gpu.zeros::<u32>("hub chunks", len + 1)?;
    let grid = Grid::cover(gpu, len, THREADS);
    kernels::pr_chunk_lengths(gpu, grid, hubs, offsets, rows, lengths.view_mut())?;
    Scan::new(gpu, len)?.exclusive(lengths.view(), starts.view_mut())?;
    let total = gpu.read(starts.slice(len..))?.first().map_or(0, |c| *c as usize);
    let mut chunk_hub = gpu.alloc("hub chunks", total)?;
    let grid = Grid::warps(gpu, len, THREADS);
    kernels::pr_chunks(gpu, grid, hubs, starts.view(), chunk_hub.view_mut())?;
    Ok((starts, chunk_hub))
}

/// The arrays of an iteration in one precision.
struct Arrays<F> {
    ranks: Buf<F>,
    /// What nodes send in this iteration and in the next.
    sent: [Buf<F>; 2],
}

impl<F: bytemuck::Pod> Arrays<F> {
    fn new(gpu: &Gpu, n: usize) -> Result<Self, DeviceError> {
        let sent = [gpu.alloc("sent ranks", n)?, gpu.alloc("sent ranks", n)?];
        Ok(Self { ranks: gpu.alloc("ranks", n)?, sent })
    }
}

/// A run under way.
struct Run<'a> {
    gpu: &'a Gpu,
    plan: &'a Plan,
    graph: &'a GpuGraph,
    options: Options,
    personal: Buf<f64>,
    state: Buf<f64>,
    chunk_sums: Buf<f64>,
    partials: Buf<f64>,
    pull: Grid,
    hubs: Grid,
    change: f64,
    status: f64,
}

/// An iteration in one precision, from `sent[0]` to `sent[1]`.
macro_rules! iteration {
    ($name:ident, $float:ty, $pull:ident, $hubs:ident, $inverse:ident) => {
        fn $name(
            &mut self,
            ranks: &mut Buf<$float>,
            from: &Buf<$float>,
            to: &mut Buf<$float>,
            tol: f64,
        ) -> Result<(), DeviceError> {
            let (plan, gpu, n) = (self.plan, self.gpu, self.graph.num_nodes());
            let (offsets, ends) = match &plan.both {
                Some((offsets, ends)) => (offsets.view(), ends.view()),
                None => (self.graph.in_offsets(), self.graph.in_src()),
            };
            let personalized = u32::from(!self.personal.is_empty());
            kernels::$pull(
                gpu,
                self.pull,
                n,
                plan.hubs,
                plan.warps,
                plan.octs,
                plan.chunks,
                u32::from(plan.weighted),
                personalized,
                self.options.alpha,
                offsets,
                ends,
                plan.weights.view(),
                plan.rows.view(),
                plan.chunk_hub.view(),
                plan.chunk_starts.view(),
                plan.$inverse.view(),
                from.view(),
                self.personal.view(),
                self.state.view(),
                ranks.view_mut(),
                to.view_mut(),
                self.chunk_sums.view_mut(),
                self.partials.view_mut(),
            )?;
            let mut parts = self.pull.blocks;
            if plan.hubs > 0 {
                kernels::$hubs(
                    gpu,
                    self.hubs,
                    n,
                    plan.hubs,
                    parts,
                    personalized,
                    self.options.alpha,
                    plan.rows.view(),
                    plan.chunk_starts.view(),
                    self.chunk_sums.view(),
                    plan.$inverse.view(),
                    self.personal.view(),
                    self.state.view(),
                    ranks.view_mut(),
                    to.view_mut(),
                    self.partials.view_mut(),
                )?;
                parts += self.hubs.blocks;
            }
            self.close(parts, true, tol)
        }
    };
}

impl<'a> Run<'a> {
    fn new(
        gpu: &'a Gpu,
        plan: &'a Plan,
        graph: &'a GpuGraph,
        options: Options,
        personal: Buf<f64>,
    ) -> Result<Self, DeviceError> {
        let n = graph.num_nodes();
        let threads = n - plan.hubs - plan.warps - plan.octs;
        let work = plan.chunks
            + plan.warps.div_ceil(8)
            + plan.octs.div_ceil(32)
            + threads.div_ceil(THREADS);
        let pull = Grid::cover(gpu, work as usize * THREADS as usize, THREADS);
        let hubs = Grid::warps(gpu, plan.hubs as usize, THREADS);
        let parts = (pull.blocks + hubs.blocks).max(one_wave(gpu, n as usize).blocks);
        Ok(Self {
            gpu,
            plan,
            graph,
            options,
            personal,
            state: gpu.zeros("rank state", STATE)?,
            chunk_sums: gpu.alloc("hub sums", plan.chunks as usize)?,
            partials: gpu.alloc("partial sums", 2 * parts as usize)?,
            pull,
            hubs,
            change: f64::INFINITY,
            status: 0.0,
        })
    }

    iteration!(iterate_f32, f32, pr_pull_f32, pr_hubs_f32, inverse_f32);
    iteration!(iterate_f64, f64, pr_pull_f64, pr_hubs_f64, inverse);

    fn close(&mut self, parts: u32, counts: bool, tol: f64) -> Result<(), DeviceError> {
        let uniform = match self.personal.is_empty() {
            true => 1.0 / f64::from(self.graph.num_nodes()),
            false => 1.0,
        };
        kernels::pr_close(
            self.gpu,
            Grid::blocks(1, THREADS),
            parts,
            u32::from(counts),
            self.options.alpha,
            uniform,
            tol,
            self.options.max_iter as f64,
            self.partials.view(),
            self.state.view_mut(),
        )
    }

    /// From equal ranks in single precision.
    fn narrow(&mut self, cancel: &CancelToken) -> Result<Buf<f32>, AlgoError> {
        let (gpu, plan, n) = (self.gpu, self.plan, self.graph.num_nodes());
        gpu.load_family("pagerank")?;
        let Arrays { mut ranks, sent: [mut a, mut b] } = Arrays::<f32>::new(gpu, n as usize)?;
        let grid = one_wave(gpu, n as usize);
        let (r, s, p) = (ranks.view_mut(), a.view_mut(), self.partials.view_mut());
        kernels::pr_start(gpu, grid, n, plan.inverse_f32.view(), r, s, p)?;
        self.close(grid.blocks, false, 0.0)?;
        let tol = (NARROW_TOLS * self.options.tol).max(NARROW_TOL);
        if self.options.max_iter == 0 {
            return Ok(ranks);
        }
        let pairs = self.pairs();
        let replay = gpu.capture(|| {
            (0..pairs).try_for_each(|_| {
                self.iterate_f32(&mut ranks, &a, &mut b, tol)?;
                self.iterate_f32(&mut ranks, &b, &mut a, tol)
            })
        })?;
        self.follow(&replay, cancel)?;
        Ok(ranks)
    }

    /// On from ranks in single precision, in double precision.
    fn wide(&mut self, narrow: &Buf<f32>, cancel: &CancelToken) -> Result<Buf<f64>, AlgoError> {
        let (gpu, plan, n) = (self.gpu, self.plan, self.graph.num_nodes());
        let Arrays { mut ranks, sent: [mut a, mut b] } = Arrays::<f64>::new(gpu, n as usize)?;
        let grid = one_wave(gpu, n as usize);
        let (r, s, p) = (ranks.view_mut(), a.view_mut(), self.partials.view_mut());
        kernels::pr_widen(gpu, grid, n, plan.inverse.view(), narrow.view(), r, s, p)?;
        self.close(grid.blocks, false, 0.0)?;
        let (pairs, tol) = (self.pairs(), self.options.tol);
        let replay = gpu.capture(|| {
            (0..pairs).try_for_each(|_| {
                self.iterate_f64(&mut ranks, &a, &mut b, tol)?;
                self.iterate_f64(&mut ranks, &b, &mut a, tol)
            })
        })?;
        self.follow(&replay, cancel)?;
        Ok(ranks)
    }

    /// Half the iterations between two looks.
    fn pairs(&self) -> u64 {
        let arcs = match &self.plan.both {
            Some((_, ends)) => ends.len() as u64,
            None => u64::from(self.graph.num_edges()),
        };
        (ARCS_PER_LOOK / arcs.max(1))
            .clamp(2, ITERATIONS_PER_LOOK.min(self.options.max_iter.max(2)))
            / 2
    }

    fn follow(
        &mut self,
        replay: &graphlume_device::cuda::Replay,
        cancel: &CancelToken,
    ) -> Result<(), AlgoError> {
        loop {
            cancel.check()?;
            replay.launch()?;
            let mut state = [0.0; STATE];
            self.gpu.read_into(self.state.view(), &mut state)?;
            (self.change, self.status) = (state[CHANGE], state[STATUS]);
            if self.status != 0.0 {
                return Ok(());
            }
        }
    }

    /// Whether what single precision has reached is not enough, and iterations are left.
    fn goes_on(&mut self) -> Result<bool, DeviceError> {
        let done = self.gpu.read(self.state.slice(DONE..=DONE))?;
        let left = done.iter().all(|d| *d < self.options.max_iter as f64);
        let tol = self.options.tol;
        let reached = self.change < tol && tol >= NARROW_TOL;
        Ok(self.status == CONVERGED && left && !reached)
    }
}
