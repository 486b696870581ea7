//! Strength with which every arc pulls.

use graphlume_device::cuda::{Buf, DeviceError, Gpu, Grid, kernels};
use graphlume_graph::Topology;

use super::{GpuForceAtlas2, Params};

/// Edge weights by position in both lists.
pub(super) struct Weights {
    outs: Vec<f32>,
    ins: Vec<f32>,
}

impl Weights {
    /// From weights by edge table row: one that is not a number counts as 1, a negative one as 0.
    pub(super) fn new(topology: &Topology, by_row: &[f32]) -> Self {
        let clean = |row: &u32| {
            let w = by_row.get(*row as usize).copied().unwrap_or(1.0);
            if w.is_nan() { 1.0 } else { w.max(0.0) }
        };
        let outs: Vec<f32> = topology.out_row().iter().map(clean).collect();
        let mut ins = vec![1.0; outs.len()];
        let mut next: Vec<u32> = topology.in_offsets().to_vec();
        // In-lists are sorted by source, and edges are walked by source: each in-arc's turn comes in order.
        for (dst, w) in topology.out_dst().iter().zip(&outs) {
            let slot = &mut next[*dst as usize];
            ins[*slot as usize] = *w;
            *slot += 1;
        }
        Self { outs, ins }
    }
}

/// The other ends of all edges, as bodies, in the order of the graph's lists, and how strong they pull.
pub(super) struct Arcs {
    pub(super) outs: Buf<u32>,
    pub(super) ins: Buf<u32>,
    /// Empty when all arcs are equally strong.
    pub(super) out_factors: Buf<f32>,
    pub(super) in_factors: Buf<f32>,
}

impl Arcs {
    pub(super) fn new(gpu: &Gpu, edges: usize) -> Result<Self, DeviceError> {
        Ok(Self {
            outs: gpu.alloc("out-lists of bodies", edges)?,
            ins: gpu.alloc("in-lists of bodies", edges)?,
            out_factors: gpu.alloc("strengths of out-arcs", 0)?,
            in_factors: gpu.alloc("strengths of in-arcs", 0)?,
        })
    }
}

/// Whether the two lead to different strengths.
pub(super) fn differs(a: &Params, b: &Params) -> bool {
    let of = |p: &Params| {
        (p.outbound_attraction_distribution, p.edge_weight_influence, p.double_attraction)
    };
    of(a) != of(b)
}

impl GpuForceAtlas2 {
    /// Whether arcs differ in strength.
    pub(super) fn varies(&self) -> bool {
        let p = &self.params;
        let weighted = self.weights.is_some() && p.edge_weight_influence as f32 != 0.0;
        p.outbound_attraction_distribution || weighted
    }

    /// Computes the strength of every arc.
    pub(super) fn restrengthen(&mut self) -> Result<(), DeviceError> {
        let edges = self.edges as usize;
        let len = if self.varies() { edges } else { 0 };
        if self.arcs.out_factors.len() != len {
            // Recorded launches name the old arrays.
            self.forget_replays();
            self.arcs.out_factors = self.gpu.alloc("strengths of out-arcs", len)?;
            self.arcs.in_factors = self.gpu.alloc("strengths of in-arcs", len)?;
        }
        if len == 0 {
            return Ok(());
        }
        let p = &self.params;
        let ones;
        let (outs, ins) = match &self.weights {
            Some(w) => (&w.outs, &w.ins),
            None => {
                ones = vec![1.0; edges];
                (&ones, &ones)
            }
        };
        self.gpu.write(self.arcs.out_factors.view_mut(), outs)?;
        self.gpu.write(self.arcs.in_factors.view_mut(), ins)?;
        let mean = if p.outbound_attraction_distribution { self.mean_mass } else { 0.0 };
        kernels::fa_strength(
            &self.gpu,
            Grid::warps(&self.gpu, 2 * self.nodes as usize, 256),
            self.nodes,
            p.edge_weight_influence as f32,
            mean,
            u32::from(p.double_attraction),
            self.bodies[self.side].masses.view(),
            self.spans.view(),
            self.arcs.outs.view(),
            self.arcs.ins.view(),
            self.arcs.out_factors.view_mut(),
            self.arcs.in_factors.view_mut(),
        )
    }
}
