//! Weighted distances from one node (Dijkstra 1959).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use graphlume_graph::Topology;
use graphlume_types::CancelToken;

use super::bfs::UNREACHED;
use crate::AlgoError;

/// Nodes settled between two looks at the cancel token.
const SETTLED_PER_CHECK: usize = 1 << 14;

/// Lengths of shortest paths from a source, and the node before each on one of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Distances {
    /// Sum of the weights from the source on, rounded at each edge; infinite when not reached.
    pub distance: Vec<f64>,
    /// The smallest node index from which the node is reached at its distance, or [`UNREACHED`] for
    /// the source and for what was not reached. Nodes nearer to the source come first; where only
    /// edges that do not lengthen the way lead to a node, those fewest such edges away from a node
    /// with a nearer predecessor. So predecessors never run in a circle.
    pub predecessor: Vec<u32>,
}

/// Searches from `source` along edges (against none when `directed`) as far as `cutoff`. `weights`
/// are by edge table row: one that is missing or not a number counts as 1; without any all are 1.
///
/// # Errors
/// [`AlgoError::BadValue`] for a negative weight, [`AlgoError::Cancelled`]. A `source` that does
/// not exist reaches nothing.
pub fn run(
    topology: &Topology,
    source: u32,
    directed: bool,
    weights: Option<&[f32]>,
    cutoff: f64,
    cancel: &CancelToken,
) -> Result<Distances, AlgoError> {
    check(weights)?;
    let search = Search { topology, directed, weights: weights.unwrap_or(&[]), cutoff };
    let distance = search.distances(source, cancel)?;
    cancel.check()?;
    let predecessor = search.predecessors(source, &distance);
    Ok(Distances { distance, predecessor })
}

/// Refuses negative weights.
pub(crate) fn check(weights: Option<&[f32]>) -> Result<(), AlgoError> {
    let negative = weights.and_then(|w| w.iter().enumerate().find(|(_, w)| **w < 0.0));
    negative.map_or(Ok(()), |(index, value)| {
        Err(AlgoError::BadValue {
            what: "edge weights",
            unit: "edge row",
            index,
            value: f64::from(*value),
            expected: "no weight below 0",
        })
    })
}

struct Search<'a> {
    topology: &'a Topology,
    directed: bool,
    weights: &'a [f32],
    cutoff: f64,
}

impl Search<'_> {
    fn weight(&self, row: u32) -> f64 {
        let w = self.weights.get(row as usize).copied().unwrap_or(1.0);
        if w.is_nan() { 1.0 } else { f64::from(w) }
    }

    /// Calls `f(u, v, weight)` for every edge once, or at both its ends.
    fn each_arc(&self, mut f: impl FnMut(u32, u32, f64)) {
        for u in 0..self.topology.num_nodes() {
            for (v, row) in self.topology.out_neighbors(u).iter().zip(self.topology.out_rows(u)) {
                let w = self.weight(*row);
                f(u, *v, w);
                if !self.directed {
                    f(*v, u, w);
                }
            }
        }
    }

    fn distances(&self, source: u32, cancel: &CancelToken) -> Result<Vec<f64>, AlgoError> {
        let t = self.topology;
        let mut distance = vec![f64::INFINITY; t.num_nodes() as usize];
        let mut heap = BinaryHeap::new();
        if let Some(d) = distance.get_mut(source as usize) {
            *d = 0.0;
            heap.push(Reverse((0u64, source)));
        }
        // Where each in-edge's row stands: the lists of a directed graph are not needed backwards.
        let in_rows = if self.directed { Vec::new() } else { self.in_rows() };
        let mut settled = 0;
        while let Some(Reverse((bits, u))) = heap.pop() {
            if bits > distance[u as usize].to_bits() {
                continue;
            }
            if settled % SETTLED_PER_CHECK == 0 {
                cancel.check()?;
            }
            settled += 1;
            let mut relax = |v: u32, row: u32| {
                let next = f64::from_bits(bits) + self.weight(row);
                if next <= self.cutoff && next < distance[v as usize] {
                    distance[v as usize] = next;
                    // Distances are never negative, so that their bits order as they do.
                    heap.push(Reverse((next.to_bits(), v)));
                }
            };
            let outs = t.out_neighbors(u).iter().zip(t.out_rows(u));
            outs.for_each(|(v, row)| relax(*v, *row));
            if !self.directed {
                let range = t.in_offsets()[u as usize] as usize;
                let ins = t.in_neighbors(u).iter().zip(&in_rows[range..]);
                ins.for_each(|(v, row)| relax(*v, *row));
            }
        }
        Ok(distance)
    }

    /// Edge table rows by CSC position.
    fn in_rows(&self) -> Vec<u32> {
        let mut cursor = self.topology.in_offsets().to_vec();
        let mut rows = vec![0; self.topology.num_edges() as usize];
        for (v, row) in self.topology.out_dst().iter().zip(self.topology.out_row()) {
            rows[cursor[*v as usize] as usize] = *row;
            cursor[*v as usize] += 1;
        }
        rows
    }

    fn predecessors(&self, source: u32, distance: &[f64]) -> Vec<u32> {
        let at = |v: u32| distance[v as usize];
        let mut predecessor = vec![UNREACHED; distance.len()];
        self.each_arc(|u, v, w| {
            if at(u) < at(v) && at(v) < f64::INFINITY && at(u) + w == at(v) {
                predecessor[v as usize] = predecessor[v as usize].min(u);
            }
        });
        let reached = |v: &u32| at(*v) < f64::INFINITY;
        let mut level: Vec<u32> = (0..distance.len() as u32)
            .map(
                |v| if v == source || predecessor[v as usize] != UNREACHED { 0 } else { UNREACHED },
            )
            .collect();
        let count = |level: &[u32]| {
            let open = (0..level.len() as u32).filter(|v| level[*v as usize] == UNREACHED);
            open.filter(reached).count()
        };
        let mut round = 0;
        while count(&level) > 0 {
            self.each_arc(|u, v, w| {
                let open = level[v as usize] == UNREACHED && level[u as usize] == round;
                if open && reached(&u) && at(u) == at(v) && at(u) + w == at(v) {
                    predecessor[v as usize] = predecessor[v as usize].min(u);
                }
            });
            round += 1;
            for (l, p) in level.iter_mut().zip(&predecessor) {
                if *l == UNREACHED && *p != UNREACHED {
                    *l = round;
                }
            }
        }
        predecessor
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::testkit;

    #[test]
    fn distances_are_those_of_relaxation_and_predecessors_lead_back() {
        for (name, t) in testkit::zoo().into_iter().filter(|(_, t)| t.num_nodes() > 0) {
            let n = t.num_nodes() as usize;
            for (directed, modulus) in [(true, 5), (false, 5), (true, 2), (false, 1)] {
                let weights: Vec<f32> =
                    (0..t.num_edges()).map(|r| (r % modulus) as f32 * 0.7).collect();
                let search =
                    Search { topology: &t, directed, weights: &weights, cutoff: f64::INFINITY };
                let mut want = vec![f64::INFINITY; n];
                want[0] = 0.0;
                for _ in 0..n {
                    search.each_arc(|u, v, w| {
                        want[v as usize] = want[v as usize].min(want[u as usize] + w);
                    });
                }
                let (c, inf) = (CancelToken::new(), f64::INFINITY);
                let got = run(&t, 0, directed, Some(&weights), inf, &c).unwrap();
                assert_eq!(got.distance, want, "{name} {directed} {modulus}");
                assert_eq!(got.predecessor[0], UNREACHED);
                for (v, best) in want.iter().enumerate().skip(1) {
                    let (mut at, mut steps) = (v, 0);
                    while got.predecessor[at] != UNREACHED {
                        assert!(got.distance[got.predecessor[at] as usize] <= got.distance[at]);
                        at = got.predecessor[at] as usize;
                        steps += 1;
                        assert!(steps <= n, "{name}: a circle at {v}");
                    }
                    assert_eq!(at, if best.is_finite() { 0 } else { v }, "{name} {v}");
                }
            }
        }
    }

    #[test]
    fn without_weights_it_is_breadth_first_search() {
        let t = testkit::karate();
        let c = CancelToken::new();
        let got = run(&t, 5, false, None, f64::INFINITY, &c).unwrap();
        let want = super::super::bfs::run(&t, 5, false, None, &c).unwrap();
        assert_eq!(got.predecessor, want.predecessor);
        assert!(got.distance.iter().zip(&want.distance).all(|(g, w)| *g == f64::from(*w)));
        let near = run(&t, 5, false, None, 1.0, &c).unwrap();
        assert!(near.distance.iter().all(|d| *d <= 1.0 || *d == f64::INFINITY));
    }

    #[test]
    fn negative_weights_are_refused_and_a_missing_source_reaches_nothing() {
        let (t, c) = (testkit::path(4), CancelToken::new());
        let e = run(&t, 0, true, Some(&[1.0, -2.0, 1.0]), 9.0, &c).unwrap_err();
        assert!(matches!(e, AlgoError::BadValue { index: 1, .. }));
        let none = run(&t, 9, true, None, 9.0, &c).unwrap();
        assert!(none.distance.iter().all(|d| *d == f64::INFINITY));
        assert!(none.predecessor.iter().all(|p| *p == UNREACHED));
    }
}
