//! A level of Louvain on the device: the graph whose nodes are the communities of the level before.

use graphlume_device::cuda::{Buf, DeviceError, Gpu, Grid, kernels};
use rayon::prelude::*;

use super::louvain::HostLevel;
use crate::gpu_graph::GpuGraph;
use crate::gpu_graph::{Both, BothOptions, THREADS};
use crate::weighted_graph::scale_of;

/// An undirected graph; every edge stands at both ends, loops apart.
pub(crate) struct Level {
    n: u32,
    /// Whether all weights are 1; there are none then.
    pub(crate) unit: bool,
    pub(crate) offsets: Buf<u32>,
    pub(crate) ends: Buf<u32>,
    pub(crate) weights: Buf<u64>,
    /// Twice the weight of each node's loops.
    pub(crate) loops: Buf<u64>,
}

impl Level {
    /// The undirected graph that `graph` spells, with weights by edge table row.
    pub(crate) fn first(
        gpu: &Gpu,
        graph: &GpuGraph,
        by_row: Option<&[f32]>,
    ) -> Result<Self, DeviceError> {
        let (n, m) = (graph.num_nodes(), graph.num_edges());
        let unit = by_row.is_none();
        let by_row = by_row.unwrap_or(&[]);
        // Rows are 32 bits wide, so whatever comes after is the weight of no edge.
        let by_row = by_row.get(..u32::MAX as usize).unwrap_or(by_row);
        let given = by_row.len() as u32;
        let given_weights = gpu.upload("edge weights", by_row)?;
        let w = given_weights.view();
        let mut scale = 1.0;
        if !unit {
            let grid = Grid::cover(gpu, m as usize, THREADS);
            let mut sums = gpu.alloc::<f64>("weight sums", grid.blocks as usize)?;
            kernels::lv_weight_sums(gpu, grid, m, given, graph.out_row(), w, sums.view_mut())?;
            scale = scale_of(gpu.read(sums.view())?.iter().sum());
        }
        let both = Both::build(gpu, graph, BothOptions { keep_loops: false, rows: !unit })?;
        let entries = if unit { 0 } else { both.ends.len() };
        let mut weights = gpu.alloc::<u64>("list weights", entries)?;
        if !unit {
            let grid = Grid::cover(gpu, entries, THREADS);
            let (rows, out) = (both.rows.view(), weights.view_mut());
            kernels::lv_weigh(gpu, grid, entries as u32, given, scale, rows, w, out)?;
        }
        let mut loops = gpu.alloc::<u64>("loop weights", n as usize)?;
        kernels::lv_weigh_loops(
            gpu,
            Grid::warps(gpu, n as usize, THREADS),
            n,
            given,
            u32::from(unit),
            scale,
            both.loops.view(),
            graph.out_offsets(),
            graph.out_dst(),
            graph.out_row(),
            w,
            loops.view_mut(),
        )?;
        Ok(Self { n, unit, offsets: both.offsets, ends: both.ends, weights, loops })
    }

    /// A weighted graph from its parts.
    pub(crate) const fn weighted(
        n: u32,
        offsets: Buf<u32>,
        ends: Buf<u32>,
        weights: Buf<u64>,
        loops: Buf<u64>,
    ) -> Self {
        Self { n, unit: false, offsets, ends, weights, loops }
    }

    pub(crate) const fn num_nodes(&self) -> u32 {
        self.n
    }

    /// List entries.
    pub(crate) const fn arcs(&self) -> u64 {
        self.ends.len() as u64
    }

    /// The graph on the host. Rows come in any order and are sorted there, so that what the CPU
    /// makes of them depends on the graph alone.
    pub(crate) fn download(self, gpu: &Gpu) -> Result<HostLevel, DeviceError> {
        let offsets = gpu.read(self.offsets.view())?;
        let mut ends = gpu.read(self.ends.view())?;
        let mut weights = gpu.read(self.weights.view())?;
        let mut rows: Vec<(&mut [u32], &mut [u64])> = Vec::new();
        let (mut e, mut w) = (ends.as_mut_slice(), weights.as_mut_slice());
        for pair in offsets.windows(2) {
            let len = (pair[1] - pair[0]) as usize;
            let (row, rest) = e.split_at_mut(len);
            let (row_weights, rest_weights) = w.split_at_mut(if self.unit { 0 } else { len });
            // Rows of fewer are in order, and a level can have millions of empty ones.
            if len > 1 {
                rows.push((row, row_weights));
            }
            (e, w) = (rest, rest_weights);
        }
        rows.into_par_iter().with_min_len(256).for_each(|(row, row_weights)| {
            if row_weights.is_empty() {
                row.sort_unstable();
                return;
            }
            let mut pairs: Vec<(u32, u64)> =
                row.iter().copied().zip(row_weights.iter().copied()).collect();
            pairs.sort_unstable();
            for (i, (end, weight)) in pairs.into_iter().enumerate() {
                (row[i], row_weights[i]) = (end, weight);
            }
        });
        Ok(HostLevel { offsets, ends, weights, loops: gpu.read(self.loops.view())? })
    }
}
