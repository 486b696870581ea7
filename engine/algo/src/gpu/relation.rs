//! The relationships of some types on the device, apart from all others.

use graphlume_device::cuda::{Buf, DeviceError, Gpu};
use graphlume_graph::Topology;

use crate::gpu_graph::{arcs, device_bytes};

/// Entries of a chunk of a list, as the kernels have it: longer lists take a kernel of their own.
pub const CHUNK: u32 = 2_048;

/// The lists of one direction.
#[derive(Debug)]
pub(super) struct Lists {
    pub(super) offsets: Buf<u32>,
    pub(super) ends: Buf<u32>,
    /// Nodes with lists longer than a chunk, once for each, and where it begins.
    pub(super) chunk_rows: Buf<u32>,
    pub(super) chunk_begins: Buf<u32>,
}

impl Lists {
    fn upload(gpu: &Gpu, offsets: &[u32], ends: &[u32]) -> Result<Self, DeviceError> {
        let (mut rows, mut begins) = (Vec::new(), Vec::new());
        for (v, list) in (0..).zip(offsets.windows(2)) {
            let (begin, end) = (list[0], list[1]);
            if end - begin > CHUNK {
                let starts = (begin..end).step_by(CHUNK as usize);
                rows.extend(starts.clone().map(|_| v));
                begins.extend(starts);
            }
        }
        Ok(Self {
            offsets: gpu.upload("starts of a relation's lists", offsets)?,
            ends: gpu.upload("a relation's lists", ends)?,
            chunk_rows: gpu.upload("chunks of long lists", &rows)?,
            chunk_begins: gpu.upload("chunks of long lists", &begins)?,
        })
    }

    pub(super) fn chunks(&self) -> u32 {
        self.chunk_rows.len() as u32
    }
}

/// The relationships of some types on the device: 8 bytes a relationship and 8 bytes a node.
#[derive(Debug)]
pub struct Relation {
    num_nodes: u32,
    num_edges: u32,
    out: Lists,
    ins: Lists,
    pub(super) loop_nodes: Buf<u32>,
    pub(super) loop_counts: Buf<u32>,
}

impl Relation {
    /// Copies the relationships to the device; `loops` are the nodes that have some to themselves, each once, and how many.
    ///
    /// # Errors
    /// [`DeviceError::TooLarge`] beyond [`ARCS_MAX`](crate::gpu_graph::ARCS_MAX) relationships, and those of an allocation.
    pub fn upload(
        gpu: &Gpu,
        topology: &Topology,
        loops: &[(u32, u32)],
    ) -> Result<Self, DeviceError> {
        arcs("the relationships", u64::from(topology.num_edges()))?;
        let (nodes, counts): (Vec<u32>, Vec<u32>) = loops.iter().copied().unzip();
        Ok(Self {
            num_nodes: topology.num_nodes(),
            num_edges: topology.num_edges(),
            out: Lists::upload(gpu, topology.out_offsets(), topology.out_dst())?,
            ins: Lists::upload(gpu, topology.in_offsets(), topology.in_src())?,
            loop_nodes: gpu.upload("nodes with loops", &nodes)?,
            loop_counts: gpu.upload("numbers of loops", &counts)?,
        })
    }

    /// Upper bound of the device bytes that it takes.
    #[must_use]
    pub const fn footprint(num_nodes: u64, num_edges: u64, loops: u64) -> u64 {
        // The chunks of long lists are no more than two for each chunk's worth of relationships.
        let chunks = 8 * device_bytes(num_edges / CHUNK as u64 * 2 + 1, 4);
        2 * (device_bytes(num_nodes + 1, 4) + device_bytes(num_edges, 4))
            + chunks
            + 2 * device_bytes(loops, 4)
    }

    /// Nodes.
    #[must_use]
    pub const fn num_nodes(&self) -> u32 {
        self.num_nodes
    }

    /// Relationships.
    #[must_use]
    pub const fn num_edges(&self) -> u32 {
        self.num_edges
    }

    /// The lists of where a step leads to, or of where it comes from.
    pub(super) const fn lists(&self, forward: bool) -> &Lists {
        if forward { &self.out } else { &self.ins }
    }
}
