//! Communities by taking edges away that most shortest paths pass (Girvan and Newman 2002), cut where modularity is best
//! (Newman and Girvan 2004). Only the part that an edge was taken from is looked at again.

use graphlume_types::CancelToken;
use rayon::prelude::*;

use crate::AlgoError;
use crate::view::GraphView;
use crate::weighted_graph::renumber;

/// Edges of a graph at most: each that is taken away costs a search from every node of its part.
pub const EDGES_MAX: u64 = 5_000;
/// Sources of one chunk: chunks are added in order, so that threads make no difference.
const CHUNK: usize = 8;
/// Values that differ by less than this share are equal: the first edge is taken.
const EQUAL: f64 = 1e-10;
const FAR: u32 = u32::MAX;

/// The community of every node, numbered by first appearance: those of the best modularity, or the first with
/// `clusters` parts. Of edges that are passed by as many paths the one of the smallest row is taken away first; a weight
/// divides what passes its edge. Copies of an edge are edges of their own, loops are none.
///
/// # Errors
/// [`AlgoError::TooLarge`] above [`EDGES_MAX`] edges, [`AlgoError::Cancelled`].
pub fn run(
    view: &GraphView<'_>,
    clusters: Option<u64>,
    cancel: &CancelToken,
) -> Result<Vec<u32>, AlgoError> {
    let mut graph = Graph::new(view)?;
    let n = view.num_nodes() as usize;
    cancel.check()?;
    let mut labels = graph.parts(n);
    let mut best = (graph.modularity(&labels), labels.clone());
    let mut parts = labels.iter().max().map_or(0, |l| u64::from(*l) + 1);
    let mut passed = vec![0.0; graph.ends.len()];
    let everyone: Vec<u32> = (0..n as u32).collect();
    graph.betweenness(&everyone, &mut passed, cancel)?;
    while clusters.is_none_or(|c| parts < c) {
        let Some(edge) = graph.most(&passed) else { break };
        cancel.check()?;
        graph.gone[edge] = true;
        let (a, b) = graph.ends[edge];
        let near = graph.reach(a, n);
        let split = near.binary_search(&b).is_err();
        graph.betweenness(&near, &mut passed, cancel)?;
        if split {
            graph.betweenness(&graph.reach(b, n), &mut passed, cancel)?;
            labels = graph.parts(n);
            parts += 1;
            let reached = graph.modularity(&labels);
            if clusters.is_some() || reached > best.0 + 1e-12 {
                best = (reached, labels.clone());
            }
        }
    }
    Ok(best.1)
}

/// The edges that are left.
struct Graph {
    ends: Vec<(u32, u32)>,
    rows: Vec<u32>,
    weights: Vec<f64>,
    gone: Vec<bool>,
    /// For each node its edges and where they lead; against the direction only to find parts.
    out: Vec<Vec<(u32, u32)>>,
    both: Vec<Vec<(u32, u32)>>,
    /// Weight of all edges, and by node of those at it.
    total: f64,
    strengths: Vec<f64>,
}

impl Graph {
    fn new(view: &GraphView<'_>) -> Result<Self, AlgoError> {
        let n = view.num_nodes();
        let arcs = view.num_arcs() as u64;
        let size = if view.is_directed() { arcs } else { arcs / 2 };
        if size > EDGES_MAX {
            return Err(AlgoError::TooLarge {
                algorithm: "community_edge_betweenness",
                what: "edges",
                size,
                limit: EDGES_MAX,
                instead: "community_leiden with objective_function=modularity takes any size",
            });
        }
        let mut graph = Self {
            ends: Vec::new(),
            rows: Vec::new(),
            weights: Vec::new(),
            gone: Vec::new(),
            out: vec![Vec::new(); n as usize],
            both: vec![Vec::new(); n as usize],
            total: 0.0,
            strengths: vec![0.0; n as usize],
        };
        for v in 0..n {
            for at in view.out().range(v) {
                let (u, w) = (view.out().all_neighbors()[at], view.out().weight(at));
                if !view.is_directed() && v > u {
                    continue;
                }
                if v == u {
                    // A loop holds a community together and lies on no path.
                    let half = if view.is_directed() { 1.0 } else { 0.5 };
                    graph.total += w * half;
                    graph.strengths[v as usize] += 2.0 * w * half;
                    continue;
                }
                let edge = graph.ends.len() as u32;
                graph.ends.push((v, u));
                graph.rows.push(view.out().all_rows()[at]);
                graph.weights.push(w);
                graph.out[v as usize].push((u, edge));
                if !view.is_directed() {
                    graph.out[u as usize].push((v, edge));
                }
                graph.both[v as usize].push((u, edge));
                graph.both[u as usize].push((v, edge));
                graph.total += w;
                graph.strengths[v as usize] += w;
                graph.strengths[u as usize] += w;
            }
        }
        graph.gone = vec![false; graph.ends.len()];
        Ok(graph)
    }

    /// The part of every node, numbered by first appearance.
    fn parts(&self, n: usize) -> Vec<u32> {
        let mut labels = vec![FAR; n];
        for v in 0..n as u32 {
            if labels[v as usize] == FAR {
                self.reach(v, n).into_iter().for_each(|u| labels[u as usize] = v);
            }
        }
        renumber(&mut labels, n);
        labels
    }

    /// The nodes of the part of `v`, ascending.
    fn reach(&self, v: u32, n: usize) -> Vec<u32> {
        let mut seen = vec![false; n];
        seen[v as usize] = true;
        let mut found = vec![v];
        let mut head = 0;
        while head < found.len() {
            for (u, edge) in &self.both[found[head] as usize] {
                if !self.gone[*edge as usize] && !std::mem::replace(&mut seen[*u as usize], true) {
                    found.push(*u);
                }
            }
            head += 1;
        }
        found.sort_unstable();
        found
    }

    /// What passes each edge of a part, counted again.
    fn betweenness(
        &self,
        part: &[u32],
        passed: &mut [f64],
        cancel: &CancelToken,
    ) -> Result<(), AlgoError> {
        for v in part {
            self.out[*v as usize].iter().for_each(|(_, edge)| passed[*edge as usize] = 0.0);
        }
        let n = self.out.len();
        let sums: Vec<Vec<(u32, f64)>> = part
            .par_chunks(CHUNK)
            .map_init(
                || (vec![FAR; n], vec![0.0; n], vec![0.0; n], vec![0.0; self.ends.len()]),
                |(level, paths, share, sum), sources| {
                    let mut used = Vec::new();
                    for source in sources {
                        cancel.check()?;
                        let order = self.search(*source, level, paths);
                        for v in order.iter().rev() {
                            let mut passes = 0.0;
                            for (u, edge) in &self.out[*v as usize] {
                                let leads = level[*u as usize] == level[*v as usize] + 1;
                                if leads && !self.gone[*edge as usize] {
                                    let value = share[*u as usize] * paths[*v as usize];
                                    if sum[*edge as usize] == 0.0 {
                                        used.push(*edge);
                                    }
                                    sum[*edge as usize] += value;
                                    passes += value;
                                }
                            }
                            share[*v as usize] = (1.0 + passes) / paths[*v as usize];
                        }
                        order.iter().for_each(|v| level[*v as usize] = FAR);
                    }
                    Ok(used
                        .into_iter()
                        .map(|e| (e, std::mem::take(&mut sum[e as usize])))
                        .collect())
                },
            )
            .collect::<Result<_, AlgoError>>()?;
        for (edge, value) in sums.into_iter().flatten() {
            passed[edge as usize] += value;
        }
        Ok(())
    }

    /// Nodes reached from `source`, the nearest first, with their levels and numbers of shortest paths.
    fn search(&self, source: u32, level: &mut [u32], paths: &mut [f64]) -> Vec<u32> {
        let mut order = vec![source];
        (level[source as usize], paths[source as usize]) = (0, 1.0);
        let mut head = 0;
        while head < order.len() {
            let v = order[head];
            head += 1;
            let next = level[v as usize] + 1;
            for (u, edge) in &self.out[v as usize] {
                if self.gone[*edge as usize] {
                    continue;
                }
                if level[*u as usize] == FAR {
                    level[*u as usize] = next;
                    paths[*u as usize] = 0.0;
                    order.push(*u);
                }
                if level[*u as usize] == next {
                    paths[*u as usize] += paths[v as usize];
                }
            }
        }
        order
    }

    /// The edge that most paths pass, for its weight.
    fn most(&self, passed: &[f64]) -> Option<usize> {
        let value = |e: usize| passed[e] / self.weights[e];
        let left = || (0..self.ends.len()).filter(|e| !self.gone[*e]);
        let top = left().map(value).reduce(f64::max)?;
        left().filter(|e| value(*e) >= top * (1.0 - EQUAL)).min_by_key(|e| self.rows[*e])
    }

    fn modularity(&self, labels: &[u32]) -> f64 {
        if self.total == 0.0 {
            return 0.0;
        }
        let groups = labels.iter().max().map_or(0, |l| *l as usize + 1);
        let mut strength = vec![0.0; groups];
        labels.iter().zip(&self.strengths).for_each(|(l, s)| strength[*l as usize] += s);
        let same = |(a, b): &(u32, u32)| labels[*a as usize] == labels[*b as usize];
        let edges = self.ends.iter().zip(&self.weights);
        let inside: f64 = edges.filter(|(e, _)| same(e)).map(|(_, w)| w).sum();
        let expected: f64 = strength.iter().map(|s| (s / (2.0 * self.total)).powi(2)).sum();
        inside / self.total - expected
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::testkit;
    use crate::view::{Copies, Loops, Shape};

    const SHAPE: Shape = Shape { directed: false, copies: Copies::Keep, loops: Loops::Twice };

    #[test]
    fn a_bridge_goes_first_and_the_number_of_parts_can_be_chosen() {
        let edges = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)];
        let t = testkit::from_edges(6, &edges);
        let view = GraphView::new(&t, None, SHAPE).unwrap();
        let cancel = CancelToken::new();
        assert_eq!(run(&view, None, &cancel).unwrap(), [0, 0, 0, 1, 1, 1]);
        let three = run(&view, Some(3), &cancel).unwrap();
        assert_eq!(three.iter().max(), Some(&2));
    }

    #[test]
    fn threads_make_no_difference_and_size_is_refused() {
        let cancel = CancelToken::new();
        let t = testkit::karate();
        let view = GraphView::new(&t, None, SHAPE).unwrap();
        let [one, two, three] = testkit::at_1_2_3_threads(|| run(&view, None, &cancel).unwrap());
        assert!(one == two && one == three);
        let large = testkit::path(5_002);
        let view = GraphView::new(&large, None, SHAPE).unwrap();
        let e = run(&view, None, &cancel).unwrap_err().to_string();
        assert!(e.contains("at most 5000 edges"), "{e}");
    }
}
