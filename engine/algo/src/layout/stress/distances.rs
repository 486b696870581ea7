//! Distances from a node to all others: hops, or the least sum of weights, which are lengths.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use graphlume_types::CancelToken;

use crate::AlgoError;
use crate::layout::parts::InducedSubgraph;

/// Nodes that are taken from the queue between two checks for cancellation.
pub(super) const NODES_PER_CHECK: usize = 1 << 12;

/// A node on the way, nearest first.
#[derive(PartialEq)]
struct Way(f32, u32);

impl Eq for Way {}

impl PartialOrd for Way {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Way {
    fn cmp(&self, other: &Self) -> Ordering {
        other.0.total_cmp(&self.0).then(other.1.cmp(&self.1))
    }
}

/// The distances from `source`, infinite where no way leads.
pub(super) fn from(
    part: &InducedSubgraph,
    source: usize,
    cancel: &CancelToken,
) -> Result<Vec<f32>, AlgoError> {
    if part.weights.is_empty() { hops(part, source, cancel) } else { lengths(part, source, cancel) }
}

/// The hops from `source`, infinite where no way leads.
pub(super) fn hops(
    part: &InducedSubgraph,
    source: usize,
    cancel: &CancelToken,
) -> Result<Vec<f32>, AlgoError> {
    let mut distance = vec![f32::INFINITY; part.len()];
    let mut queue = vec![source as u32];
    distance[source] = 0.0;
    let mut next = 0;
    while let Some(v) = queue.get(next).map(|v| *v as usize) {
        if next % NODES_PER_CHECK == 0 {
            cancel.check()?;
        }
        next += 1;
        let far = distance[v] + 1.0;
        for u in &part.ends[part.offsets[v]..part.offsets[v + 1]] {
            let there = &mut distance[*u as usize];
            if *there == f32::INFINITY {
                *there = far;
                queue.push(*u);
            }
        }
    }
    Ok(distance)
}

/// Dijkstra's search (1959).
fn lengths(
    part: &InducedSubgraph,
    source: usize,
    cancel: &CancelToken,
) -> Result<Vec<f32>, AlgoError> {
    let mut distance = vec![f32::INFINITY; part.len()];
    distance[source] = 0.0;
    let mut open = BinaryHeap::from([Way(0.0, source as u32)]);
    let mut taken = 0;
    while let Some(Way(d, v)) = open.pop() {
        if taken % NODES_PER_CHECK == 0 {
            cancel.check()?;
        }
        taken += 1;
        if d > distance[v as usize] {
            continue;
        }
        for (u, w) in part.edges(v as usize) {
            if d + w < distance[u] {
                distance[u] = d + w;
                open.push(Way(d + w, u as u32));
            }
        }
    }
    Ok(distance)
}
