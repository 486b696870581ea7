//! The graph as the force and stress layouts see it: one part a component, laid out by itself, and the parts packed side
//! by side afterwards. A layout that starts from given positions or keeps bounds takes the whole graph as one part.

use graphlume_graph::Topology;
use graphlume_types::CancelToken;

use crate::AlgoError;
use crate::component::weak;

/// Nodes whose edges are read between two checks for cancellation.
const NODES_PER_CHECK: u32 = 1 << 14;

/// Some nodes of a graph with the edges among them, each edge at both its ends, without loops.
pub(crate) struct InducedSubgraph {
    /// The nodes of the graph, ascending; a node of the part is a place in this list.
    pub(crate) nodes: Vec<u32>,
    /// Where each node's list starts; one more than nodes.
    pub(crate) offsets: Vec<usize>,
    /// The other ends.
    pub(crate) ends: Vec<u32>,
    /// The weights by place in `ends`; empty when all are 1.
    pub(crate) weights: Vec<f32>,
}

impl InducedSubgraph {
    /// Number of nodes.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The neighbours of `v` with the weights of the edges to them.
    #[inline]
    pub(crate) fn edges(&self, v: usize) -> impl Iterator<Item = (usize, f32)> + '_ {
        let range = self.offsets[v]..self.offsets[v + 1];
        let weights = self.weights.get(range.clone()).unwrap_or_default();
        let weight = move |k: usize| weights.get(k).copied().unwrap_or(1.0);
        self.ends[range].iter().enumerate().map(move |(k, u)| (*u as usize, weight(k)))
    }

    /// The number of edges, a loop being none.
    pub(crate) fn num_edges(&self) -> usize {
        self.ends.len() / 2
    }
}

/// The components of `topology`, the largest first and of equal size the one with the smallest node; or, with `whole`,
/// the graph as one part. `weights` are by row of the edge table.
pub(crate) fn parts(
    topology: &Topology,
    weights: Option<&[f64]>,
    whole: bool,
    cancel: &CancelToken,
) -> Result<Vec<InducedSubgraph>, AlgoError> {
    cancel.check()?;
    let n = topology.num_nodes();
    let labels = if whole { vec![0; n as usize] } else { weak::run(topology, cancel)? };
    let count = labels.iter().max().map_or(0, |l| *l as usize + 1);
    let mut members: Vec<Vec<u32>> = vec![Vec::new(); count];
    let mut place = vec![0u32; n as usize];
    for (v, label) in labels.iter().enumerate() {
        let nodes = &mut members[*label as usize];
        place[v] = nodes.len() as u32;
        nodes.push(v as u32);
    }
    let mut degree = vec![0u32; n as usize];
    for v in 0..n {
        if v % NODES_PER_CHECK == 0 {
            cancel.check()?;
        }
        for u in topology.out_neighbors(v).iter().filter(|u| **u != v) {
            degree[v as usize] += 1;
            degree[*u as usize] += 1;
        }
    }
    let mut made: Vec<InducedSubgraph> = members
        .into_iter()
        .map(|nodes| {
            let mut offsets = vec![0];
            let mut at = 0;
            offsets.extend(nodes.iter().map(|v| {
                at += degree[*v as usize] as usize;
                at
            }));
            let weighted = if weights.is_some() { at } else { 0 };
            InducedSubgraph { nodes, offsets, ends: vec![0; at], weights: vec![0.0; weighted] }
        })
        .collect();
    // From here on the degrees are how many ends are still to be written.
    for v in 0..n {
        if v % NODES_PER_CHECK == 0 {
            cancel.check()?;
        }
        let part = &mut made[labels[v as usize] as usize];
        for (u, row) in topology.out_neighbors(v).iter().zip(topology.out_rows(v)) {
            if *u == v {
                continue;
            }
            for (from, to) in [(v, *u), (*u, v)] {
                let own = place[from as usize] as usize;
                let at = part.offsets[own + 1] - degree[from as usize] as usize;
                degree[from as usize] -= 1;
                part.ends[at] = place[to as usize];
                if let Some(weights) = weights {
                    part.weights[at] = weights[*row as usize] as f32;
                }
            }
        }
    }
    made.sort_by_key(|part| (std::cmp::Reverse(part.len()), part.nodes[0]));
    Ok(made)
}

/// The positions of all nodes from those of the parts: the largest part about the origin and the others on rings around
/// it, in the plane of the first two coordinates, at least `gap` apart.
pub(crate) fn assemble<const D: usize>(
    n: usize,
    parts: &[InducedSubgraph],
    mut places: Vec<Vec<[f64; D]>>,
    gap: f64,
) -> Vec<[f64; D]> {
    let mut out = vec![[0.0; D]; n];
    if let [only] = places.as_slice() {
        for (v, at) in parts[0].nodes.iter().zip(only) {
            out[*v as usize] = *at;
        }
        return out;
    }
    let radii: Vec<f64> = places.iter_mut().map(|part| centred(part)).collect();
    for ((part, place), centre) in parts.iter().zip(&places).zip(rings(&radii, gap)) {
        for (v, at) in part.nodes.iter().zip(place) {
            let mut at = *at;
            at[0] += centre[0];
            at[1] += centre[1];
            out[*v as usize] = at;
        }
    }
    out
}

/// Moves a part so that the middle of its box is the origin; returns the radius about it that holds all nodes.
fn centred<const D: usize>(part: &mut [[f64; D]]) -> f64 {
    let (mut low, mut high) = ([f64::INFINITY; D], [f64::NEG_INFINITY; D]);
    for at in part.iter() {
        for c in 0..D {
            low[c] = low[c].min(at[c]);
            high[c] = high[c].max(at[c]);
        }
    }
    let mut radius = 0.0f64;
    for at in part.iter_mut() {
        let mut square = 0.0;
        for c in 0..D {
            at[c] -= 0.5 * (low[c] + high[c]);
            square += at[c] * at[c];
        }
        radius = radius.max(square.sqrt());
    }
    radius
}

/// Centres of discs of these radii, largest first, `gap` apart: the first in the origin, the others on rings around it.
fn rings(radii: &[f64], gap: f64) -> Vec<[f64; 2]> {
    let half = |i: usize| radii[i] + 0.5 * gap;
    let mut centres = Vec::with_capacity(radii.len());
    let (mut inner, mut next) = (0.0, 0);
    while next < radii.len() {
        if next == 0 {
            centres.push([0.0; 2]);
            (inner, next) = (half(0), 1);
            continue;
        }
        // The first of a ring is its largest and sets its width.
        let ring = inner + half(next);
        inner = ring + half(next);
        let width = |i: usize| 2.0 * (half(i) / ring).min(1.0).asin();
        let begin = next;
        let mut used = 0.0;
        while next < radii.len() && (next == begin || used + width(next) <= std::f64::consts::TAU) {
            used += width(next);
            next += 1;
        }
        // What is left of the turn goes between them.
        let spare = (std::f64::consts::TAU - used).max(0.0) / (next - begin) as f64;
        let mut angle = 0.0;
        for i in begin..next {
            let turn = width(i) + spare;
            let (sin, cos) = (angle + 0.5 * turn).sin_cos();
            centres.push([ring * cos, ring * sin]);
            angle += turn;
        }
    }
    centres
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::testkit;

    #[test]
    fn parts_hold_every_edge_at_both_ends_and_no_loop() {
        let t = testkit::from_edges(7, &[(0, 0), (0, 1), (1, 0), (5, 4), (4, 3), (3, 5)]);
        let weights = [9.0, 1.0, 2.0, 3.0, 4.0, 5.0];
        let parts = parts(&t, Some(&weights), false, &CancelToken::new()).unwrap();
        let nodes: Vec<&[u32]> = parts.iter().map(|p| p.nodes.as_slice()).collect();
        assert_eq!(nodes, [&[3, 4, 5][..], &[0, 1], &[2], &[6]]);
        let sums = |p: &InducedSubgraph, v| p.edges(v).map(|(_, w)| w).sum::<f32>();
        assert_eq!([0, 1, 2].map(|v| sums(&parts[0], v)), [9.0, 7.0, 8.0]);
        assert_eq!([0, 1].map(|v| sums(&parts[1], v)), [3.0, 3.0]);
        assert_eq!(parts[1].num_edges(), 2);
        assert_eq!(super::parts(&t, None, true, &CancelToken::new()).unwrap()[0].len(), 7);
    }

    #[test]
    fn discs_on_rings_stay_apart() {
        let radii: Vec<f64> = (0..60).map(|i| 10.0 / (1.0 + f64::from(i))).collect();
        let centres = rings(&radii, 0.5);
        for i in 0..radii.len() {
            for j in 0..i {
                let [a, b] = [centres[i], centres[j]];
                let apart = (a[0] - b[0]).hypot(a[1] - b[1]) - radii[i] - radii[j];
                assert!(apart > 0.49, "{i} and {j}: {apart}");
            }
        }
    }
}
