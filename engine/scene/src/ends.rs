//! The two ends of every edge, in drawn order.

use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use graphlume_graph::Topology;
use rayon::prelude::*;

use crate::order::EdgeOrder;

/// Edges that a thread takes at once.
const AT_ONCE: usize = 1 << 13;

/// Pairs of ends as the bytes that a page reads.
struct Pairs(Vec<u64>);

impl AsRef<[u8]> for Pairs {
    fn as_ref(&self) -> &[u8] {
        bytemuck::cast_slice(&self.0)
    }
}

/// Source and destination of every edge as pairs of little-endian `u32`, in drawn order: 8 bytes an edge.
///
/// Edges are read in the order of the adjacency, where the sources follow each other, and written to their drawn places; the
/// other way round each edge would search its source.
///
/// # Panics
/// When `order` is of more edges than `topology` has, or of fewer.
#[must_use]
pub fn edge_ends(topology: &Topology, order: EdgeOrder) -> Bytes {
    let (offsets, destinations) = (topology.out_offsets(), topology.out_dst());
    assert_eq!(order.len() as usize, destinations.len(), "edges of the order and of the graph");
    let drawn: Vec<AtomicU64> = destinations.par_iter().map(|_| AtomicU64::new(0)).collect();
    destinations.par_chunks(AT_ONCE).enumerate().for_each(|(chunk, list)| {
        #[expect(clippy::cast_possible_truncation, reason = "below the number of edges")]
        let first = (chunk * AT_ONCE) as u32;
        let mut source = offsets.partition_point(|start| *start <= first) - 1;
        for (position, destination) in (first..).zip(list) {
            while offsets[source + 1] <= position {
                source += 1;
            }
            let pair = source as u64 | u64::from(*destination) << 32;
            drawn[order.drawn(position) as usize].store(pair.to_le(), Ordering::Relaxed);
        }
    });
    Bytes::from_owner(Pairs(drawn.into_iter().map(AtomicU64::into_inner).collect()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn every_edge_stands_at_its_drawn_place() {
        let ids: Vec<u32> = (0..30_000).collect();
        let ends = |v: &u32| (v.wrapping_mul(2_654_435_761) % 9_000 / 2, v * 7 % 9_000);
        let (src, dst): (Vec<u32>, Vec<u32>) = ids.iter().map(ends).unzip();
        let topology = Topology::from_coo(9_001, &src, &dst);
        let order = EdgeOrder::new(30_000, 5);
        let bytes = edge_ends(&topology, order);
        assert_eq!(bytes.len(), 240_000);
        for (drawn, pair) in (0..).zip(bytes.chunks_exact(8)) {
            let (source, destination, _) = topology.edge(order.position(drawn));
            let expected = [source.to_le_bytes(), destination.to_le_bytes()].concat();
            assert_eq!(pair, expected, "edge {drawn}");
        }
        let none = Topology::from_coo(3, &[], &[]);
        assert!(edge_ends(&none, EdgeOrder::new(0, 1)).is_empty());
    }
}
