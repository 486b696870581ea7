//! The graphs, made in memory.

use graphlume_algo::gpu::GpuGraph;
use graphlume_device::cuda::Gpu;
use graphlume_generate::{EdgeList, SpecError, rmat, tree};
use graphlume_graph::Topology;

use crate::error::SuiteError;

/// A graph by how it is made.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    /// R-MAT of 2^scale nodes and 16 times as many edges, copies and loops among them.
    Rmat(u32),
    /// A tree with short extra edges: nodes and edges.
    Tree(u32, u64),
}

impl Kind {
    pub(crate) fn name(self) -> String {
        match self {
            Self::Rmat(scale) => format!("rmat{scale}"),
            Self::Tree(nodes, edges) => format!("tree {nodes}/{edges}"),
        }
    }

    fn edges(self) -> Result<EdgeList, SpecError> {
        match self {
            Self::Rmat(scale) => rmat(scale, 16, 1),
            Self::Tree(nodes, edges) => tree(nodes, edges, 1),
        }
    }

    /// The graph on the device alone: its adjacency is built there.
    pub(crate) fn on_device(self, gpu: &Gpu) -> Result<GpuGraph, SuiteError> {
        let edges = self.edges()?;
        let src = gpu.upload("sources", &edges.src)?;
        let dst = gpu.upload("destinations", &edges.dst)?;
        Ok(GpuGraph::from_coo(gpu, edges.num_nodes, src.view(), dst.view())?)
    }

    /// The same graph in both places.
    pub(crate) fn both(self, gpu: &Gpu) -> Result<(Topology, GpuGraph), SuiteError> {
        let edges = self.edges()?;
        let host = Topology::from_coo(edges.num_nodes, &edges.src, &edges.dst);
        let device = GpuGraph::upload(gpu, &host)?;
        Ok((host, device))
    }
}
