//! The connected parts of a graph, whose nodes are numbered anew from 0 in each.

use graphlume_types::CancelToken;

use super::{Edge, slices};
use crate::AlgoError;

/// A part.
pub(crate) struct Component {
    /// Its nodes by their index in the graph, ascending.
    pub(crate) nodes: Vec<u32>,
    /// Its edges, between places in `nodes`.
    pub(crate) edges: Vec<Edge>,
}

/// The parts in the order of their first nodes; `labels` numbers them by first appearance.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub(crate) fn parts(
    labels: &[u32],
    edges: &[Edge],
    cancel: &CancelToken,
) -> Result<Vec<Component>, AlgoError> {
    let many = labels.iter().max().map_or(0, |l| *l as usize + 1);
    let mut parts: Vec<Component> =
        (0..many).map(|_| Component { nodes: Vec::new(), edges: Vec::new() }).collect();
    let mut local = Vec::with_capacity(labels.len());
    for (v, label) in labels.iter().enumerate() {
        let nodes = &mut parts[*label as usize].nodes;
        local.push(nodes.len() as u32);
        nodes.push(v as u32);
    }
    slices::each(edges, cancel, |e| {
        let (from, to) = (local[e.from as usize], local[e.to as usize]);
        parts[labels[e.from as usize] as usize].edges.push(Edge { from, to, weight: e.weight });
    })?;
    Ok(parts)
}
