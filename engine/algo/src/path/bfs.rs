//! Breadth-first search (Moore 1959) that turns round where it pays (Beamer, Asanovic and Patterson 2012): when
//! the frontier has most of the edges, nodes not yet reached look for it instead.
//!
//! Frontiers and lists are in ascending order, so the first node found to lead to another is the smallest.

use graphlume_graph::Topology;
use graphlume_types::CancelToken;
use rayon::prelude::*;

use crate::spec::{AlgorithmSpec, DIRECTED, Dtype, Starts, cugraph, only, output, param};
use crate::{AlgoError, Column, Input, Output, ParamValues, Values};

/// The search turns round when the frontier has more than one in so many of the arcs that are left.
const TURN: u64 = 14;
/// Nodes of one unit of parallel work.
const BLOCK: usize = 4096;

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
    from_all(topology, &[source], directed, depth_limit, cancel)
}

/// Searches from all of `sources` at once.
///
/// # Errors
/// As [`run`].
pub fn from_all(
    topology: &Topology,
    sources: &[u32],
    directed: bool,
    depth_limit: Option<u32>,
    cancel: &CancelToken,
) -> Result<Levels, AlgoError> {
    let n = topology.num_nodes();
    let mut search = Search {
        topology,
        directed,
        levels: Levels {
            distance: vec![UNREACHED; n as usize],
            predecessor: vec![UNREACHED; n as usize],
        },
        depth: 0,
    };
    let mut frontier: Vec<u32> = Vec::new();
    for source in sources {
        if let Some(d) = search.levels.distance.get_mut(*source as usize) {
            *d = 0;
            frontier.push(*source);
        }
    }
    // Frontiers ascend.
    frontier.sort_unstable();
    frontier.dedup();
    let mut left = u64::from(topology.num_edges()) * if directed { 1 } else { 2 };
    while !frontier.is_empty() && depth_limit.is_none_or(|l| search.depth < l) {
        cancel.check()?;
        search.depth += 1;
        let arcs: u64 = frontier.iter().map(|v| search.arcs_from(*v)).sum();
        left = left.saturating_sub(arcs);
        frontier = match arcs * TURN > left && frontier.len() > 1 {
            true => search.look_back(&frontier),
            false => search.spread(&frontier),
        };
    }
    Ok(search.levels)
}

struct Search<'a> {
    topology: &'a Topology,
    directed: bool,
    levels: Levels,
    depth: u32,
}

impl Search<'_> {
    fn arcs_from(&self, v: u32) -> u64 {
        let ins = if self.directed { 0 } else { self.topology.in_degree(v) };
        u64::from(self.topology.out_degree(v)) + u64::from(ins)
    }

    /// The nodes that the frontier reaches first, by following its edges.
    fn spread(&mut self, frontier: &[u32]) -> Vec<u32> {
        let mut next = Vec::new();
        for v in frontier {
            let ins = if self.directed { &[] } else { self.topology.in_neighbors(*v) };
            for u in self.topology.out_neighbors(*v).iter().chain(ins) {
                let distance = &mut self.levels.distance[*u as usize];
                if *distance == UNREACHED {
                    *distance = self.depth;
                    self.levels.predecessor[*u as usize] = *v;
                    next.push(*u);
                }
            }
        }
        next.sort_unstable();
        next
    }

    /// The same, by looking from every node not yet reached for one on the frontier.
    fn look_back(&mut self, frontier: &[u32]) -> Vec<u32> {
        let (topology, directed, depth) = (self.topology, self.directed, self.depth);
        let mut mask = vec![0u64; self.levels.distance.len().div_ceil(64)];
        frontier.iter().for_each(|v| mask[*v as usize / 64] |= 1 << (v % 64));
        let first = |list: &[u32]| {
            let on = |u: &&u32| mask[**u as usize / 64] >> (**u % 64) & 1 == 1;
            list.iter().find(on).copied().unwrap_or(UNREACHED)
        };
        let blocks = self.levels.distance.par_chunks_mut(BLOCK);
        let found: Vec<Vec<u32>> = blocks
            .zip(self.levels.predecessor.par_chunks_mut(BLOCK))
            .enumerate()
            .map(|(b, (distances, predecessors))| {
                let mut next = Vec::new();
                for (i, (d, p)) in distances.iter_mut().zip(predecessors).enumerate() {
                    if *d != UNREACHED {
                        continue;
                    }
                    let v = (b * BLOCK + i) as u32;
                    let before = first(topology.in_neighbors(v));
                    let after = match directed {
                        true => UNREACHED,
                        false => {
                            let outs = topology.out_neighbors(v);
                            // What is beyond a node already found cannot be smaller.
                            first(&outs[..outs.partition_point(|u| *u < before)])
                        }
                    };
                    let nearest = before.min(after);
                    if nearest != UNREACHED {
                        (*d, *p) = (depth, nearest);
                        next.push(v);
                    }
                }
                next
            })
            .collect();
        found.concat()
    }
}

/// The columns of a search from `sources` by the parameters `directed` and `depth_limit`.
pub(super) fn columns(
    input: &Input<'_>,
    p: &ParamValues,
    name: &'static str,
    sources: &[u32],
) -> Result<Output, AlgoError> {
    let limit = p.int("depth_limit").and_then(|d| u32::try_from(d).ok());
    let found = from_all(input.topology, sources, p.bool("directed"), limit, input.cancel)?;
    Ok(found.columns(name))
}

impl Levels {
    /// The distances as a column called `name`, and the predecessors.
    pub(crate) fn columns(&self, name: &'static str) -> Output {
        let column = |v: &[u32]| {
            Values::I64OrNull(v.iter().map(|d| (*d != UNREACHED).then(|| i64::from(*d))).collect())
        };
        let reached = self.distance.iter().zip(&self.predecessor);
        // The start is reached from no node.
        let before = reached.map(|(d, v)| (*d != UNREACHED).then_some(*v)).collect::<Vec<_>>();
        Output::nodes(vec![
            Column { name, values: column(&self.distance) },
            Column { name: "predecessor", values: Values::Nodes(before) },
        ])
    }
}

/// cuGraph's `bfs`.
pub static BFS: AlgorithmSpec = AlgorithmSpec {
    id: "bfs",
    names: &[cugraph("bfs")],
    params: &[
        param(
            "start",
            Dtype::Nodes,
            "null",
            None,
            "where to start, one node or several; null is the node from which the most edges lead on",
        ),
        param(
            "depth_limit",
            Dtype::Int,
            "null",
            Some((0.0, 4e9)),
            "hops at most; null is no limit",
        ),
        DIRECTED,
    ],
    accepted: &[only("return_predecessors", "[true]")],
    starts: Some(Starts { param: "start", default: 1 }),
    outputs: &[
        output("bfs", Dtype::Int, "hops from the start; null when not reached"),
        output("predecessor", Dtype::Node, "node before it, the first of several; -1 at the start"),
    ],
    doc: "Breadth-first distances (Moore 1959) from one node.",
    run: |input, p| columns(input, p, "bfs", &input.starts(p)?),
    paper: "Beamer, Asanovic and Patterson 2012",
    ..AlgorithmSpec::BASE
};

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
    fn wide_frontiers_are_searched_from_the_other_side_with_the_same_result() {
        // Dense enough for the search to turn round, with nodes that nothing reaches.
        let t = testkit::planted(9000, 3, 0.004, 0.0002);
        for directed in [true, false] {
            let [a, b, c] = testkit::at_1_2_3_threads(|| {
                run(&t, 0, directed, None, &CancelToken::new()).unwrap()
            });
            assert!(a == b && b == c);
            let mut reached = 0;
            for v in 0..9000u32 {
                let d = a.distance[v as usize];
                let outs: &[u32] = if directed { &[] } else { t.out_neighbors(v) };
                let near = t.in_neighbors(v).iter().chain(outs);
                let least = near.clone().map(|u| a.distance[*u as usize]).min();
                let want = if v == 0 { 0 } else { least.unwrap_or(UNREACHED).saturating_add(1) };
                assert_eq!(d, want, "{v}");
                let before =
                    near.filter(|u| v != 0 && a.distance[**u as usize].wrapping_add(1) == d);
                let before = if d == UNREACHED { None } else { before.min() };
                assert_eq!(a.predecessor[v as usize], before.copied().unwrap_or(UNREACHED), "{v}");
                reached += u32::from(d != UNREACHED);
            }
            assert!(reached > 8000, "{reached}");
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
