//! Breadth-first search (Moore 1959).

use graphlume_graph::Topology;
use graphlume_types::CancelToken;
use rayon::prelude::*;

use crate::AlgoError;

/// Distance and predecessor of a node that was not reached.
pub const UNREACHED: u32 = u32::MAX;

/// Hops from a source to every node, and the node before each on a shortest path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels {
    /// Hops from the source, or [`UNREACHED`].
    pub distance: Vec<u32>,
    /// The smallest node index from which the node is reached, or [`UNREACHED`] for the source and for
    /// what was not reached.
    pub predecessor: Vec<u32>,
}

/// Searches along edges (against none when `directed`) from `source`, up to `depth_limit` hops.
///
/// # Errors
/// [`AlgoError::Cancelled`]. A `source` that does not exist reaches nothing.
pub fn run(
    topology: &Topology,
    source: u32,
    directed: bool,
    depth_limit: Option<u32>,
    cancel: &CancelToken,
) -> Result<Levels, AlgoError> {
    let n = topology.num_nodes() as usize;
    let mut distance = vec![UNREACHED; n];
    let mut frontier: Vec<u32> = Vec::new();
    if let Some(d) = distance.get_mut(source as usize) {
        *d = 0;
        frontier.push(source);
    }
    let mut next = Vec::new();
    let mut depth = 0;
    while !frontier.is_empty() && depth_limit.is_none_or(|l| depth < l) {
        cancel.check()?;
        depth += 1;
        for v in frontier.drain(..) {
            let ins: &[u32] = if directed { &[] } else { topology.in_neighbors(v) };
            for u in topology.out_neighbors(v).iter().chain(ins) {
                if distance[*u as usize] == UNREACHED {
                    distance[*u as usize] = depth;
                    next.push(*u);
                }
            }
        }
        std::mem::swap(&mut frontier, &mut next);
    }
    let predecessor = (0..n as u32)
        .into_par_iter()
        .map(|v| {
            let d = distance[v as usize];
            let first = |list: &[u32]| {
                let above = |u: &&u32| d != 0 && d != UNREACHED && distance[**u as usize] == d - 1;
                list.iter().find(above).copied().unwrap_or(UNREACHED)
            };
            // Lists are sorted, so the first hit is the smallest.
            let from_in = first(topology.in_neighbors(v));
            if directed { from_in } else { from_in.min(first(topology.out_neighbors(v))) }
        })
        .collect();
    Ok(Levels { distance, predecessor })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::testkit;

    #[test]
    fn distances_are_those_of_relaxation_and_predecessors_are_least() {
        for (name, t) in testkit::zoo().into_iter().filter(|(_, t)| t.num_nodes() > 0) {
            let n = t.num_nodes() as usize;
            for directed in [true, false] {
                let mut want = vec![UNREACHED; n];
                want[0] = 0;
                let mut arcs: Vec<(usize, usize)> = (0..t.num_edges())
                    .map(|p| t.edge(p))
                    .map(|(a, b, _)| (a as usize, b as usize))
                    .collect();
                if !directed {
                    arcs.extend(arcs.clone().into_iter().map(|(a, b)| (b, a)));
                }
                for _ in 0..n {
                    for (a, b) in &arcs {
                        want[*b] = want[*b].min(want[*a].saturating_add(1));
                    }
                }
                let got = run(&t, 0, directed, None, &CancelToken::new()).unwrap();
                assert_eq!(got.distance, want, "{name}");
                for v in 0..n {
                    let least = arcs
                        .iter()
                        .filter(|(a, b)| {
                            *b == v
                                && want[v] != 0
                                && want[v] != UNREACHED
                                && want[*a] + 1 == want[v]
                        })
                        .map(|(a, _)| *a as u32)
                        .min();
                    assert_eq!(got.predecessor[v], least.unwrap_or(UNREACHED), "{name} {v}");
                }
            }
        }
    }

    #[test]
    fn the_depth_limit_and_a_missing_source_are_respected() {
        let t = testkit::path(10);
        let got = run(&t, 0, true, Some(3), &CancelToken::new()).unwrap();
        assert_eq!(got.distance.iter().filter(|d| **d != UNREACHED).count(), 4);
        let none = run(&t, 99, true, None, &CancelToken::new()).unwrap();
        assert!(none.distance.iter().all(|d| *d == UNREACHED));
    }
}
