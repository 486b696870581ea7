//! Cut vertices (Hopcroft and Tarjan 1973): nodes whose removal leaves more components.

use graphlume_graph::Topology;
use graphlume_types::CancelToken;

use crate::spec::{AlgorithmSpec, Dtype, extra, output};
use crate::{AlgoError, Output};

/// Nodes entered between two looks at the cancel token.
const NODES_PER_CHECK: u32 = 1 << 14;
const UNSEEN: u32 = u32::MAX;

/// 1 for each cut vertex of the undirected graph, else 0. Loops and copies of edges make no difference.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub fn run(topology: &Topology, cancel: &CancelToken) -> Result<Vec<u32>, AlgoError> {
    let n = topology.num_nodes() as usize;
    cancel.check()?;
    let (mut number, mut low) = (vec![UNSEEN; n], vec![0u32; n]);
    let mut cuts = vec![0u32; n];
    // Nodes being visited: node and next neighbour, of the out-list first.
    let mut calls: Vec<(u32, u32)> = Vec::new();
    let mut next = 0u32;
    for root in 0..n as u32 {
        if number[root as usize] != UNSEEN {
            continue;
        }
        (number[root as usize], low[root as usize]) = (next, next);
        next += 1;
        calls.push((root, 0));
        let mut branches = 0;
        while let Some((v, at)) = calls.last_mut() {
            let v = *v;
            let outs = topology.out_neighbors(v);
            let to = outs.get(*at as usize).or_else(|| {
                topology.in_neighbors(v).get((*at as usize).saturating_sub(outs.len()))
            });
            if let Some(to) = to.copied() {
                *at += 1;
                if number[to as usize] == UNSEEN {
                    if next.is_multiple_of(NODES_PER_CHECK) {
                        cancel.check()?;
                    }
                    (number[to as usize], low[to as usize]) = (next, next);
                    next += 1;
                    calls.push((to, 0));
                } else {
                    // The way back to its parent does not lead above the parent, so it may count.
                    low[v as usize] = low[v as usize].min(number[to as usize]);
                }
                continue;
            }
            calls.pop();
            let Some((parent, _)) = calls.last() else { continue };
            let parent = *parent as usize;
            low[parent] = low[parent].min(low[v as usize]);
            if parent == root as usize {
                branches += 1;
            } else if low[v as usize] >= number[parent] {
                cuts[parent] = 1;
            }
        }
        cuts[root as usize] = u32::from(branches > 1);
    }
    Ok(cuts)
}

/// igraph's `articulation_points`, which the client knows and the interface does not list.
pub static ARTICULATION: AlgorithmSpec = AlgorithmSpec {
    id: "articulation_points",
    names: &[extra("igraph", "articulation_points")],
    outputs: &[output("articulation_points", Dtype::Int, "1 for a cut vertex, else 0")],
    doc: "Cut vertices of the undirected graph: without one of them its component falls apart.",
    paper: "Hopcroft and Tarjan 1973",
    run: |input, _| Ok(Output::labels("articulation_points", &run(input.topology, input.cancel)?)),
    ..AlgorithmSpec::BASE
};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeSet;

    use graphlume_types::hash::h64;

    use super::*;
    use crate::component::weak;
    use crate::testkit::{self, from_edges};

    #[test]
    fn a_cut_vertex_is_one_whose_removal_leaves_more_components() {
        let cancel = CancelToken::new();
        for seed in 0..60 {
            let n = 2 + (h64(seed, 9, 0) % 12) as u32;
            let end = |k| (h64(seed, k, 7) % u64::from(n)) as u32;
            let edges: Vec<_> =
                (0..h64(seed, 9, 1) % 20).map(|e| (end(2 * e + 10), end(2 * e + 11))).collect();
            let parts = |gone: Option<u32>| {
                let kept = edges.iter().filter(|(a, b)| Some(*a) != gone && Some(*b) != gone);
                let t = from_edges(n, &kept.copied().collect::<Vec<_>>());
                let labels = weak::run(&t, &cancel).unwrap();
                let stay = (0..n).filter(|v| Some(*v) != gone);
                stay.map(|v| labels[v as usize]).collect::<BTreeSet<_>>().len()
            };
            let cuts = run(&from_edges(n, &edges), &cancel).unwrap();
            for v in 0..n {
                let expected = parts(Some(v)) > parts(None);
                assert_eq!(cuts[v as usize] == 1, expected, "seed {seed}: {v} {edges:?}");
            }
        }
    }

    #[test]
    fn a_long_path_needs_no_deep_stack() {
        let cuts = run(&testkit::path(300_000), &CancelToken::new()).unwrap();
        assert_eq!(cuts.iter().sum::<u32>(), 299_998);
    }
}
