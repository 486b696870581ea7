//! A graph in device memory: the adjacency of both directions, as [`Topology`] has it.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use graphlume_device::cuda::primitives::{Scan, Sort};
use graphlume_device::cuda::{Buf, DeviceError, Gpu, Grid, View, kernels};
use graphlume_graph::Topology;

use crate::AlgoError;

/// Threads of a block in the graph kernels.
pub(crate) const THREADS: u32 = 256;

/// List entries at most. Kernels step by up to a few thousand entries past the last one, and
/// positions are 32 bits wide.
pub const ARCS_MAX: u64 = u32::MAX as u64 - 16_384;

/// Words of a mask over `items`.
#[must_use]
pub const fn mask_words(items: u32) -> usize {
    items.div_ceil(32) as usize
}

/// Bytes that an array of `len` values of `size` bytes takes on the device, rounding included.
pub(crate) const fn device_bytes(len: u64, size: u64) -> u64 {
    len.saturating_mul(size).saturating_add(511) / 512 * 512
}

/// What algorithms have made ready from a graph, by name.
#[derive(Default)]
struct Plans(Mutex<BTreeMap<&'static str, Arc<dyn Any + Send + Sync>>>);

impl std::fmt::Debug for Plans {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.lock().keys()).finish()
    }
}

impl Plans {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, Arc<dyn Any + Send + Sync>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The adjacency of a graph on the device: 12 bytes an edge and 8 bytes a node, and the plans that algorithms keep with it.
#[derive(Debug)]
pub struct GpuGraph {
    num_nodes: u32,
    num_edges: u32,
    out_offsets: Buf<u32>,
    out_dst: Buf<u32>,
    out_row: Buf<u32>,
    in_offsets: Buf<u32>,
    in_src: Buf<u32>,
    plans: Plans,
}

impl GpuGraph {
    /// Copies `topology` to the device.
    ///
    /// # Errors
    /// [`DeviceError::TooLarge`] beyond [`ARCS_MAX`] edges, and those of an allocation.
    pub fn upload(gpu: &Gpu, topology: &Topology) -> Result<Self, DeviceError> {
        arcs("the edges", u64::from(topology.num_edges()))?;
        Ok(Self {
            num_nodes: topology.num_nodes(),
            num_edges: topology.num_edges(),
            out_offsets: gpu.upload("out-list starts", topology.out_offsets())?,
            out_dst: gpu.upload("out-lists", topology.out_dst())?,
            out_row: gpu.upload("edge rows", topology.out_row())?,
            in_offsets: gpu.upload("in-list starts", topology.in_offsets())?,
            in_src: gpu.upload("in-lists", topology.in_src())?,
            plans: Plans::default(),
        })
    }

    /// Builds both directions on the device from edges `src[i] -> dst[i]`, whose row is `i`: the
    /// same arrays as [`Topology::from_coo`]. Edges are sorted by (source, destination, row), then,
    /// stably, by destination. Endpoints must be below `n`.
    ///
    /// # Errors
    /// As [`Self::upload`], and [`DeviceError::Length`] when the columns differ in length.
    pub fn from_coo(
        gpu: &Gpu,
        n: u32,
        src: View<'_, u32>,
        dst: View<'_, u32>,
    ) -> Result<Self, DeviceError> {
        if src.len() != dst.len() {
            let (len, need) = (dst.len() as u64, src.len() as u64);
            return Err(DeviceError::Length { kernel: "csr_keys", param: "dst", len, need });
        }
        let m = arcs("the edges", src.len() as u64)?;
        let (len, grid) = (m as usize, Grid::cover(gpu, m as usize, THREADS));
        let bits = index_bits(n);
        let mut keys = gpu.alloc::<u64>("edge keys", len)?;
        let mut out_row = gpu.alloc::<u32>("edge rows", len)?;
        kernels::csr_keys(gpu, grid, m, bits, src, dst, keys.view_mut(), out_row.view_mut())?;
        Sort::new_u64(gpu, len)?.pairs_u64(&mut keys, &mut out_row, len, 2 * bits)?;
        let mut out_src = gpu.alloc::<u32>("edge sources", len)?;
        let mut out_dst = gpu.alloc::<u32>("out-lists", len)?;
        let (s, d) = (out_src.view_mut(), out_dst.view_mut());
        kernels::csr_split(gpu, grid, m, bits, keys.view(), s, d)?;
        drop(keys);
        let out_offsets = list_starts(gpu, n, out_src.view(), "out-list starts")?;
        // The edges now stand by source, so a stable sort by destination leaves in-lists ascending.
        let mut in_dst = gpu.alloc::<u32>("edge destinations", len)?;
        gpu.copy(out_dst.view(), in_dst.view_mut())?;
        let mut in_src = out_src;
        Sort::new_u32(gpu, len)?.pairs_u32(&mut in_dst, &mut in_src, len, bits)?;
        let in_offsets = list_starts(gpu, n, in_dst.view(), "in-list starts")?;
        let plans = Plans::default();
        Ok(Self {
            num_nodes: n,
            num_edges: m,
            out_offsets,
            out_dst,
            out_row,
            in_offsets,
            in_src,
            plans,
        })
    }

    /// What an algorithm makes ready from the graph alone, kept for its next call. It is not kept when more than half of the
    /// device memory that may be used is in use, so that plans never stand in the way of graphs.
    ///
    /// # Errors
    /// Those of `make`, and [`AlgoError::Device`].
    pub(crate) fn plan<T: Any + Send + Sync>(
        &self,
        gpu: &Gpu,
        name: &'static str,
        make: impl FnOnce() -> Result<T, AlgoError>,
    ) -> Result<Arc<T>, AlgoError> {
        let kept = self.plans.lock().get(name).cloned();
        if let Some(plan) = kept.and_then(|plan| plan.downcast().ok()) {
            return Ok(plan);
        }
        let plan = Arc::new(make()?);
        // Another stream may be the next to read it.
        gpu.sync()?;
        let budget = gpu.budget();
        if budget.used() <= budget.limit() / 2 {
            self.plans.lock().insert(name, plan.clone());
        }
        Ok(plan)
    }

    /// Names of the plans that are kept.
    #[must_use]
    pub fn plans(&self) -> Vec<&'static str> {
        self.plans.lock().keys().copied().collect()
    }

    /// Frees the plans that no call uses, because memory is short; whether there were plans.
    pub fn forget_plans(&self) -> bool {
        !std::mem::take(&mut *self.plans.lock()).is_empty()
    }

    /// Upper bound of the device bytes that a graph takes.
    #[must_use]
    pub const fn footprint(num_nodes: u64, num_edges: u64) -> u64 {
        2 * device_bytes(num_nodes + 1, 4) + 3 * device_bytes(num_edges, 4)
    }

    /// Upper bound of the device bytes that [`Self::from_coo`] takes at its peak, the result
    /// included and the two columns not.
    #[must_use]
    pub const fn build_footprint(num_nodes: u64, num_edges: u64) -> u64 {
        // Keys and rows, both twice, are the peak; a sort counts digits for a few thousand chunks.
        Self::footprint(num_nodes, num_edges) + device_bytes(num_edges, 16) + SORT_BYTES
    }

    /// Nodes.
    #[must_use]
    pub const fn num_nodes(&self) -> u32 {
        self.num_nodes
    }

    /// Edges.
    #[must_use]
    pub const fn num_edges(&self) -> u32 {
        self.num_edges
    }

    /// `num_nodes + 1` starts of the out-lists.
    #[must_use]
    pub fn out_offsets(&self) -> View<'_, u32> {
        self.out_offsets.view()
    }

    /// Destinations of all edges by CSR position.
    #[must_use]
    pub fn out_dst(&self) -> View<'_, u32> {
        self.out_dst.view()
    }

    /// Edge table rows of all edges by CSR position.
    #[must_use]
    pub fn out_row(&self) -> View<'_, u32> {
        self.out_row.view()
    }

    /// `num_nodes + 1` starts of the in-lists.
    #[must_use]
    pub fn in_offsets(&self) -> View<'_, u32> {
        self.in_offsets.view()
    }

    /// Sources of all edges by CSC position.
    #[must_use]
    pub fn in_src(&self) -> View<'_, u32> {
        self.in_src.view()
    }

    /// Edges that leave or enter each node, a self-loop twice; saturates at `u32::MAX`.
    ///
    /// # Errors
    /// Those of an allocation.
    pub fn degrees(&self, gpu: &Gpu) -> Result<Buf<u32>, DeviceError> {
        let n = self.num_nodes;
        let mut degrees = gpu.alloc("degrees", n as usize)?;
        let grid = Grid::cover(gpu, n as usize, THREADS);
        let out = degrees.view_mut();
        kernels::csr_degrees(gpu, grid, n, self.out_offsets(), self.in_offsets(), out)?;
        Ok(degrees)
    }

    /// Edge table rows by CSC position, parallel to [`Self::in_src`]. 4 bytes an edge.
    ///
    /// # Errors
    /// Those of an allocation.
    pub fn in_rows(&self, gpu: &Gpu) -> Result<Buf<u32>, DeviceError> {
        let len = self.num_edges as usize;
        let mut dst = gpu.alloc::<u32>("edge destinations", len)?;
        let mut rows = gpu.alloc::<u32>("edge rows by destination", len)?;
        gpu.copy(self.out_dst(), dst.view_mut())?;
        gpu.copy(self.out_row(), rows.view_mut())?;
        let bits = index_bits(self.num_nodes);
        Sort::new_u32(gpu, len)?.pairs_u32(&mut dst, &mut rows, len, bits)?;
        Ok(rows)
    }

    /// Upper bound of the device bytes that [`Self::in_rows`] takes at its peak.
    #[must_use]
    pub const fn in_rows_footprint(num_edges: u64) -> u64 {
        4 * device_bytes(num_edges, 4) + SORT_BYTES
    }

    /// Weights in the order of `rows` (such as [`Self::out_row`]): 1 where `by_row` has no entry or
    /// one that is not a number, 0 where it is negative.
    ///
    /// # Errors
    /// Those of an allocation.
    pub fn weights(
        gpu: &Gpu,
        rows: View<'_, u32>,
        by_row: View<'_, f32>,
    ) -> Result<Buf<f32>, DeviceError> {
        let m = arcs("the weights", rows.len() as u64)?;
        let given = arcs("the weights", by_row.len() as u64)?;
        let mut weights = gpu.alloc("list weights", m as usize)?;
        let grid = Grid::cover(gpu, m as usize, THREADS);
        kernels::csr_weights(gpu, grid, m, given, rows, by_row, weights.view_mut())?;
        Ok(weights)
    }
}

/// The lists of both directions in one: every edge at both its ends.
#[derive(Debug)]
pub struct Both {
    /// `num_nodes + 1` starts.
    pub offsets: Buf<u32>,
    /// Neighbours: each node's out-edges first, then its in-edges, in list order.
    pub ends: Buf<u32>,
    /// Edge table row of each entry; empty unless asked for.
    pub rows: Buf<u32>,
    /// Twice the number of each node's self-loops.
    pub loops: Buf<u32>,
}

/// What [`Both::build`] puts in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BothOptions {
    /// Whether self-loops stand in the lists, twice each, or are left to [`Both::loops`] alone.
    pub keep_loops: bool,
    /// Whether [`Both::rows`] is filled.
    pub rows: bool,
}

impl Both {
    /// Joins the lists of `graph`.
    ///
    /// # Errors
    /// [`DeviceError::TooLarge`] beyond [`ARCS_MAX`] entries, and those of an allocation.
    pub fn build(gpu: &Gpu, graph: &GpuGraph, options: BothOptions) -> Result<Self, DeviceError> {
        let (n, m) = (graph.num_nodes, graph.num_edges);
        arcs("the edges of both directions", 2 * u64::from(m))?;
        let keep = u32::from(options.keep_loops);
        let grid = Grid::cover(gpu, n as usize, THREADS);
        let mut lengths = gpu.alloc("list lengths", n as usize)?;
        let mut loops = gpu.alloc("self-loops", n as usize)?;
        let (lists, dst, ins) = (graph.out_offsets(), graph.out_dst(), graph.in_offsets());
        let (l, own) = (lengths.view_mut(), loops.view_mut());
        kernels::csr_both_lengths(gpu, grid, n, keep, lists, dst, ins, l, own)?;
        let mut offsets = gpu.alloc::<u32>("list starts", n as usize + 1)?;
        Scan::new(gpu, n as usize)?.exclusive(lengths.view(), offsets.view_mut())?;
        let entries = gpu.read(offsets.slice(n as usize..))?.first().map_or(0, |e| *e as usize);
        let mut ends = gpu.alloc::<u32>("lists", entries)?;
        let mut rows = gpu.alloc::<u32>("list rows", if options.rows { entries } else { 0 })?;
        let in_rows = if options.rows { graph.in_rows(gpu)? } else { gpu.alloc("none", 0)? };
        let tiles = Grid::cover(gpu, (m as usize).div_ceil(8), THREADS);
        let out_rows = graph.out_row();
        let sides = [(0, lists, dst, out_rows), (1, ins, graph.in_src(), in_rows.view())];
        for (incoming, starts, list, list_rows) in sides {
            kernels::csr_both_fill(
                gpu,
                tiles,
                n,
                m,
                keep,
                incoming,
                u32::from(options.rows),
                starts,
                list,
                list_rows,
                lists,
                loops.view(),
                offsets.view(),
                ends.view_mut(),
                rows.view_mut(),
            )?;
        }
        Ok(Self { offsets, ends, rows, loops })
    }

    /// Upper bound of the device bytes that [`Self::build`] takes at its peak.
    #[must_use]
    pub const fn footprint(num_nodes: u64, num_edges: u64, rows: bool) -> u64 {
        let lists = if rows { 2 } else { 1 } * device_bytes(2 * num_edges, 4);
        let sort = if rows { GpuGraph::in_rows_footprint(num_edges) } else { 0 };
        3 * device_bytes(num_nodes + 1, 4) + lists + sort + SCAN_BYTES
    }
}

/// What a sort takes besides its second copy of the pairs, and a prefix sum besides its arrays:
/// counters for each of a bounded number of chunks.
pub(crate) const SORT_BYTES: u64 = 16 << 20;
pub(crate) const SCAN_BYTES: u64 = 1 << 20;

/// `len` list entries as the kernels count them.
pub(super) fn arcs(what: &'static str, len: u64) -> Result<u32, DeviceError> {
    match u32::try_from(len) {
        Ok(m) if len <= ARCS_MAX => Ok(m),
        _ => Err(DeviceError::TooLarge { what, need: len, limit: ARCS_MAX }),
    }
}

/// Bits that a node index takes.
const fn index_bits(n: u32) -> u32 {
    32 - n.saturating_sub(1).leading_zeros()
}

fn list_starts(
    gpu: &Gpu,
    n: u32,
    sorted: View<'_, u32>,
    what: &'static str,
) -> Result<Buf<u32>, DeviceError> {
    let mut offsets = gpu.alloc(what, n as usize + 1)?;
    let grid = Grid::cover(gpu, n as usize + 1, THREADS);
    kernels::csr_offsets(gpu, grid, n, sorted.len() as u32, sorted, offsets.view_mut())?;
    Ok(offsets)
}

/// A thread an item in no more blocks than run at once: for kernels of which many find nothing to
/// do.
pub(crate) fn one_wave(gpu: &Gpu, items: usize) -> Grid {
    let info = gpu.info();
    let resident = (info.max_threads_per_sm / THREADS).max(1).saturating_mul(info.sm_count.max(1));
    let blocks = items.div_ceil(THREADS as usize).clamp(1, resident as usize);
    Grid::blocks(u32::try_from(blocks).unwrap_or(resident), THREADS)
}
