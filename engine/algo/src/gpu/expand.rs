//! Hops of a query on the GPU: the twin of [`crate::path::expand`]. Each hop leaves the nodes that
//! it reached first as a list for the next, so that hops follow each other without a look from the
//! host.

use graphlume_device::cuda::{Buf, DeviceError, Gpu, View, kernels};
use graphlume_types::CancelToken;

use crate::AlgoError;
use crate::gpu_graph::GpuGraph;
use crate::gpu_graph::{THREADS, device_bytes, mask_words, one_wave};
use crate::path::expand::Direction;

/// Hops between two looks from the host.
const HOPS: u32 = 16;

/// Bits of the kernels' `flags`.
const FORWARD: u32 = 1;
const BACKWARD: u32 = 2;
const NODES: u32 = 4;
const EDGES: u32 = 8;
const MARK: u32 = 16;
const LAST: u32 = 32;

/// Which edges a hop may take: as [`crate::path::expand::Hop`], with masks on the device.
#[derive(Clone, Copy)]
pub struct Hop<'a> {
    /// Which way edges are followed.
    pub direction: Direction,
    /// Nodes that may be reached; all when there is no mask.
    pub nodes: Option<View<'a, u32>>,
    /// Edges, by row of the edge table, that may be taken; all when there is no mask.
    pub edges: Option<View<'a, u32>>,
    /// Whether the edges taken are marked.
    pub mark: bool,
}

impl Hop<'_> {
    fn flags(&self) -> u32 {
        let flag = |on: bool, bit: u32| if on { bit } else { 0 };
        flag(self.direction.follows_out(), FORWARD)
            | flag(self.direction.follows_in(), BACKWARD)
            | flag(self.nodes.is_some(), NODES)
            | flag(self.edges.is_some(), EDGES)
            | flag(self.mark, MARK)
    }

    /// Whether the rows of in-edges matter.
    const fn needs_in_rows(&self) -> bool {
        self.direction.follows_in() && (self.mark || self.edges.is_some())
    }
}

/// What was reached, on the device: as [`crate::path::expand::Reached`].
#[derive(Debug)]
pub struct Reached {
    /// Mask of the nodes at the end of a taken edge.
    pub nodes: Buf<u32>,
    /// Mask by row of the edges taken; empty unless [`Hop::mark`].
    pub edges: Buf<u32>,
    /// Lengths of the lists of the hops since the last look, with those of their long lists
    /// between.
    counts: Buf<u32>,
    /// Nodes reached first in the hops before.
    earlier: Vec<u32>,
    /// Hops since the last look.
    since: u32,
}

impl Reached {
    /// Nodes reached in each hop and not before, up to the first hop that reaches none. Waits.
    ///
    /// # Errors
    /// [`DeviceError::Lost`], or what the driver says.
    pub fn fresh(&self, gpu: &Gpu) -> Result<Vec<u32>, DeviceError> {
        let mut fresh = self.earlier.clone();
        fresh.extend(self.recent(gpu)?);
        if let Some(end) = fresh.iter().position(|f| *f == 0) {
            fresh.truncate(end + 1);
        }
        Ok(fresh)
    }

    fn recent(&self, gpu: &Gpu) -> Result<Vec<u32>, DeviceError> {
        let counts = gpu.read(self.counts.view())?;
        Ok(counts.into_iter().step_by(2).skip(1).take(self.since as usize).collect())
    }
}

/// Work space for hops over one graph. Made once; any number of walks may follow.
#[derive(Debug)]
pub struct Expander {
    gpu: Gpu,
    lists: [Buf<u32>; 2],
    big: Buf<u32>,
    in_rows: Option<Buf<u32>>,
}

impl Expander {
    /// Work space for `graph`.
    ///
    /// # Errors
    /// Those of an allocation.
    pub fn new(gpu: &Gpu, graph: &GpuGraph) -> Result<Self, DeviceError> {
        let n = graph.num_nodes() as usize;
        let lists = [gpu.alloc("frontier lists", n)?, gpu.alloc("frontier lists", n)?];
        Ok(Self { gpu: gpu.clone(), lists, big: gpu.alloc("long lists", n)?, in_rows: None })
    }

    /// Upper bound of the device bytes that the work space and one result take besides the graph,
    /// with `in_rows` those for filtering or marking in-edges too.
    #[must_use]
    pub const fn footprint(num_nodes: u64, num_edges: u64, in_rows: bool) -> u64 {
        let rows = if in_rows { GpuGraph::in_rows_footprint(num_edges) } else { 0 };
        3 * device_bytes(num_nodes, 4)
            + 2 * device_bytes(num_nodes.div_ceil(32), 4)
            + device_bytes(num_edges.div_ceil(32), 4)
            + rows
            + (1 << 20)
    }

    /// One hop over `graph` from the nodes of the mask `frontier`.
    ///
    /// # Errors
    /// [`AlgoError::Length`] for a mask that is too short, [`AlgoError::Cancelled`],
    /// [`AlgoError::Device`].
    pub fn expand(
        &mut self,
        graph: &GpuGraph,
        frontier: View<'_, u32>,
        hop: &Hop<'_>,
        cancel: &CancelToken,
    ) -> Result<Reached, AlgoError> {
        let n = graph.num_nodes();
        AlgoError::check_len("frontier", frontier.len(), mask_words(n), "32 nodes")?;
        let mut reached = self.start(graph, hop)?;
        let grid = one_wave(&self.gpu, n as usize);
        let (list, counts) = (self.lists[0].view_mut(), reached.counts.view_mut());
        kernels::fr_list(&self.gpu, grid, n, frontier, list, counts)?;
        self.hops(graph, 1, hop, &mut reached, cancel)?;
        Ok(reached)
    }

    /// Up to `hops` hops over `graph` from `seeds`, each from the nodes that the one before reached
    /// first. A seed that is not a node of the graph reaches nothing. The host looks every 16 hops
    /// only.
    ///
    /// # Errors
    /// Those of [`Self::expand`].
    pub fn walk(
        &mut self,
        graph: &GpuGraph,
        seeds: &[u32],
        hops: u32,
        hop: &Hop<'_>,
        cancel: &CancelToken,
    ) -> Result<Reached, AlgoError> {
        let n = graph.num_nodes();
        let mut reached = self.start(graph, hop)?;
        let count = u32::try_from(seeds.len()).unwrap_or(u32::MAX);
        let seeds = self.gpu.upload("seeds", &seeds[..count as usize])?;
        let mut seen = self.gpu.zeros("seeds", mask_words(n))?;
        let grid = one_wave(&self.gpu, count as usize);
        let (list, counts) = (self.lists[0].view_mut(), reached.counts.view_mut());
        kernels::fr_seeds(&self.gpu, grid, n, count, seeds.view(), seen.view_mut(), list, counts)?;
        self.hops(graph, hops, hop, &mut reached, cancel)?;
        Ok(reached)
    }

    /// Empty masks, and the checks.
    fn start(&mut self, graph: &GpuGraph, hop: &Hop<'_>) -> Result<Reached, AlgoError> {
        let (n, m) = (graph.num_nodes(), graph.num_edges());
        AlgoError::check_len("expander", self.big.len(), n as usize, "node")?;
        for (what, mask, items, unit) in
            [("nodes", hop.nodes, n, "32 nodes"), ("edges", hop.edges, m, "32 edge rows")]
        {
            let len = mask.map_or(mask_words(items), |v| v.len());
            AlgoError::check_len(what, len, mask_words(items), unit)?;
        }
        if hop.needs_in_rows() && self.in_rows.is_none() {
            self.in_rows = Some(graph.in_rows(&self.gpu)?);
        }
        Ok(Reached {
            nodes: self.gpu.zeros("reached nodes", mask_words(n))?,
            edges: self.gpu.zeros("used edges", if hop.mark { mask_words(m) } else { 0 })?,
            counts: self.gpu.zeros("hop counts", 2 * HOPS as usize + 2)?,
            earlier: Vec::new(),
            since: 0,
        })
    }

    fn hops(
        &mut self,
        graph: &GpuGraph,
        hops: u32,
        hop: &Hop<'_>,
        reached: &mut Reached,
        cancel: &CancelToken,
    ) -> Result<(), AlgoError> {
        for h in 0..hops {
            cancel.check()?;
            if reached.since == HOPS {
                let recent = reached.recent(&self.gpu)?;
                reached.earlier.extend(&recent);
                reached.since = 0;
                let last = recent.last().copied().unwrap_or(0);
                if last == 0 {
                    break;
                }
                let mut counts = vec![0; reached.counts.len()];
                counts[0] = last;
                self.gpu.write(reached.counts.view_mut(), &counts)?;
            }
            self.hop(graph, hop, [h % 2 == 0, h + 1 == hops], reached)?;
            reached.since += 1;
        }
        Ok(())
    }

    fn hop(
        &mut self,
        graph: &GpuGraph,
        hop: &Hop<'_>,
        [even, last]: [bool; 2],
        reached: &mut Reached,
    ) -> Result<(), DeviceError> {
        let (n, h) = (graph.num_nodes(), reached.since);
        let flags = hop.flags() | if last { LAST } else { 0 };
        let Self { gpu, lists: [a, b], big, in_rows } = self;
        let (list, next) = if even { (a, b) } else { (b, a) };
        let none = gpu.alloc::<u32>("no mask", 0)?;
        let nodes = hop.nodes.unwrap_or(none.view());
        let edges = hop.edges.unwrap_or(none.view());
        let in_row = in_rows.as_ref().map_or(none.view(), Buf::view);
        // A few nodes with long lists need more warps than there are nodes.
        let grid =
            one_wave(gpu, (n as usize).max(graph.num_edges() as usize).max(THREADS as usize));
        kernels::fr_push(
            gpu,
            grid,
            n,
            h,
            flags,
            list.view(),
            graph.out_offsets(),
            graph.out_dst(),
            graph.out_row(),
            graph.in_offsets(),
            graph.in_src(),
            in_row,
            nodes,
            edges,
            reached.nodes.view_mut(),
            reached.edges.view_mut(),
            next.view_mut(),
            big.view_mut(),
            reached.counts.view_mut(),
        )?;
        kernels::fr_push_big(
            gpu,
            grid,
            n,
            h,
            flags,
            big.view(),
            graph.out_offsets(),
            graph.out_dst(),
            graph.out_row(),
            graph.in_offsets(),
            graph.in_src(),
            in_row,
            nodes,
            edges,
            reached.nodes.view_mut(),
            reached.edges.view_mut(),
            next.view_mut(),
            reached.counts.view_mut(),
        )
    }
}
