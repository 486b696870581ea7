//! Starts of nodes that are given no positions.

use std::f64::consts::TAU;

use graphlume_types::CancelToken;

use super::Plan;
use crate::layout::initial_layout;
use crate::layout::parts::InducedSubgraph;
use crate::layout::stress::{Job, Terms};
use crate::{AlgoError, Input};

/// Up to this many nodes of a component the start in space has little stress of all pairs, above of some pivots.
const PAIRS_NODES_MAX: usize = 300;
const PIVOTS: usize = 24;
const EPOCHS: u64 = 15;

/// The coarse pictures of all components, by node; none where the layout is in space.
pub(super) fn pictures<const D: usize>(
    input: &Input<'_>,
    seed: u64,
) -> Result<Vec<[f32; 2]>, AlgoError> {
    if D > 2 { Ok(Vec::new()) } else { initial_layout::place(input.topology, seed, input.cancel) }
}

/// The start of a part, at any size.
pub(super) fn of_part<const D: usize>(
    part: &InducedSubgraph,
    plan: &Plan<'_, D>,
    pictures: &[[f32; 2]],
    cancel: &CancelToken,
) -> Result<Vec<[f32; D]>, AlgoError> {
    let root = plan.root.and_then(|root| part.nodes.binary_search(&root).ok());
    if let Some(root) = root {
        return around(part, root, cancel);
    }
    if !pictures.is_empty() && part.len() > PAIRS_NODES_MAX {
        let of = |v: &u32| {
            let at = pictures[*v as usize];
            std::array::from_fn(|c| at[c])
        };
        return Ok(part.nodes.iter().map(of).collect());
    }
    // Weights are strengths here, and no lengths: the start counts hops.
    let (nodes, offsets, ends) = (part.nodes.clone(), part.offsets.clone(), part.ends.clone());
    let hops = InducedSubgraph { nodes, offsets, ends, weights: Vec::new() };
    let job = Job {
        part: &hops,
        start: None,
        bounds: None,
        epochs: EPOCHS,
        epsilon: 0.0,
        scale: 1.0,
        seed: plan.seed,
        cancel,
    };
    let points = Terms::new(&job, PAIRS_NODES_MAX, PIVOTS)?.solve(&job)?;
    Ok(points.iter().map(|at: &[f64; D]| at.map(|x| x as f32)).collect())
}

/// Nodes on circles around `root` by their hops from it: each has a turn that grows with what is reached through it
/// first.
fn around<const D: usize>(
    part: &InducedSubgraph,
    root: usize,
    cancel: &CancelToken,
) -> Result<Vec<[f32; D]>, AlgoError> {
    const CHECK: usize = 1 << 12;
    let n = part.len();
    let mut parent = vec![usize::MAX; n];
    let mut order = vec![root];
    parent[root] = root;
    let mut next = 0;
    while let Some(v) = order.get(next).copied() {
        if next % CHECK == 0 {
            cancel.check()?;
        }
        next += 1;
        for (u, _) in part.edges(v) {
            if parent[u] == usize::MAX {
                parent[u] = v;
                order.push(u);
            }
        }
    }
    // What no way leads to stands around the root as well.
    for (v, parent) in parent.iter_mut().enumerate() {
        if *parent == usize::MAX {
            *parent = root;
            order.push(v);
        }
    }
    let mut below = vec![1.0f64; n];
    for v in order.iter().skip(1).rev() {
        below[parent[*v]] += below[*v];
    }
    // Where the turn of each node begins, and what of it the nodes below it have taken.
    let (mut begin, mut taken, mut depth) = (vec![0.0; n], vec![0.0; n], vec![0.0f64; n]);
    let mut points = vec![[0.0f32; D]; n];
    for v in order.into_iter().skip(1) {
        let up = parent[v];
        let turn = TAU * below[v] / n as f64;
        begin[v] = begin[up] + taken[up];
        taken[up] += turn;
        depth[v] = depth[up] + 1.0;
        let (sin, cos) = (begin[v] + 0.5 * turn).sin_cos();
        points[v][0] = (depth[v] * cos) as f32;
        points[v][1] = (depth[v] * sin) as f32;
    }
    Ok(points)
}
