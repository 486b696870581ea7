//! Radial positions of trees, from which a force layout begins without crossings: the middle of the tree in the middle,
//! every subtree in a wedge as wide as it has leaves (Eades 1992, "Drawing free trees", Bulletin of the Institute of
//! Combinatorics and its Applications 5:10-36). Rings lie closer the more nodes they have, so that the picture is as dense
//! everywhere.

use std::f64::consts::TAU;

use graphlume_types::hash::unit_f64;
use graphlume_types::stage::ASPECT;

use crate::weighted_graph::WeightedGraph;

/// The square of a tree's height, over its nodes, up to which it is drawn so: higher ones, such as paths, would be a line in
/// an empty picture.
const HEIGHT_MAX: usize = 4;

/// Positions of a connected graph about the origin when it is a tree that is not too high; `None` otherwise.
pub(super) fn place(net: &WeightedGraph, seed: u64) -> Option<Vec<[f32; 2]>> {
    let n = net.num_nodes();
    if n < 2 || net.ends.len() != 2 * (n - 1) {
        return None;
    }
    let (order, parent, depth) = from(net, centre(net));
    let height = depth[*order.last()?];
    if height * height > HEIGHT_MAX * n {
        return None;
    }
    let mut leaves = vec![0u32; n];
    let mut on_ring = vec![0usize; height + 1];
    for v in order.iter().rev() {
        on_ring[depth[*v]] += 1;
        leaves[*v] = leaves[*v].max(1);
        if let Some(above) = parent[*v] {
            leaves[above] += leaves[*v];
        }
    }
    // As many nodes lie within a ring as its disc has room for.
    let mut within = 0;
    let radius: Vec<f64> = on_ring
        .iter()
        .map(|count| {
            let r = (within as f64).sqrt();
            within += count;
            r
        })
        .collect();
    // Forces keep the shape that they begin with, and the stage is wider than high.
    let wide = ASPECT.sqrt();
    let mut points = vec![[0.0f32; 2]; n];
    // Where the wedge of each node begins, and how much of it the children so far have taken.
    let (mut start, mut width) = (vec![0.0f64; n], vec![TAU; n]);
    for v in &order {
        if let Some(above) = parent[*v] {
            width[*v] = width[above] * f64::from(leaves[*v]) / f64::from(leaves[above]);
            (start[*v], start[above]) = (start[above], start[above] + width[*v]);
        }
    }
    for v in order {
        // The children have moved the start to the end of the wedge, unless there are none.
        let end = if leaf(net, v, parent[v]) { start[v] + width[v] } else { start[v] };
        let (sin, cos) = (end - width[v] / 2.0).sin_cos();
        // Nodes on one line would stay on it.
        let shake = |s| 0.1 * (unit_f64(seed, s, v as u64) - 0.5);
        let r = radius[depth[v]];
        points[v] = [(wide * r * cos + shake(40)) as f32, (r / wide * sin + shake(41)) as f32];
    }
    Some(points)
}

fn leaf(graph: &WeightedGraph, v: usize, parent: Option<usize>) -> bool {
    graph.offsets[v + 1] - graph.offsets[v] == usize::from(parent.is_some())
}

/// The node that is left when leaves are taken off round by round; of two, the first by index.
fn centre(graph: &WeightedGraph) -> usize {
    let n = graph.num_nodes();
    let mut degree: Vec<usize> = graph.offsets.windows(2).map(|w| w[1] - w[0]).collect();
    let mut round: Vec<usize> = (0..n).filter(|v| degree[*v] <= 1).collect();
    let mut left = n;
    while left > 2 {
        left -= round.len();
        let mut next = Vec::new();
        for v in &round {
            for (u, _) in graph.edges(*v) {
                degree[u as usize] -= 1;
                if degree[u as usize] == 1 {
                    next.push(u as usize);
                }
            }
        }
        round = next;
    }
    round.into_iter().min().unwrap_or(0)
}

/// All nodes by their distance from `root`, the parent of each, and its distance.
fn from(graph: &WeightedGraph, root: usize) -> (Vec<usize>, Vec<Option<usize>>, Vec<usize>) {
    let n = graph.num_nodes();
    let (mut parent, mut depth) = (vec![None; n], vec![0; n]);
    let mut order = Vec::with_capacity(n);
    order.push(root);
    let mut at = 0;
    while let Some(v) = order.get(at).copied() {
        at += 1;
        for (u, _) in graph.edges(v) {
            let u = u as usize;
            if parent[v] != Some(u) {
                (parent[u], depth[u]) = (Some(v), depth[v] + 1);
                order.push(u);
            }
        }
    }
    (order, parent, depth)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use graphlume_types::hash::h64;

    use super::*;
    use crate::testkit;

    /// Each node hangs on one of those before it.
    fn random_tree(n: u32) -> Vec<(u32, u32)> {
        (1..n).map(|v| ((h64(7, 3, u64::from(v)) % u64::from(v)) as u32, v)).collect()
    }

    fn crossings(edges: &[(u32, u32)], positions: &[[f32; 2]]) -> usize {
        let side = |a: [f32; 2], b: [f32; 2], c: [f32; 2]| {
            (f64::from(b[0] - a[0]) * f64::from(c[1] - a[1])
                - f64::from(b[1] - a[1]) * f64::from(c[0] - a[0]))
            .signum()
        };
        let mut count = 0;
        for (k, (a, b)) in edges.iter().enumerate() {
            for (c, d) in &edges[..k] {
                if a == c || a == d || b == c || b == d {
                    continue;
                }
                let [a, b, c, d] = [*a, *b, *c, *d].map(|v| positions[v as usize]);
                let apart = side(a, b, c) != side(a, b, d);
                count += usize::from(apart && side(c, d, a) != side(c, d, b));
            }
        }
        count
    }

    #[test]
    fn a_tree_begins_with_next_to_no_crossings_and_is_as_dense_everywhere() {
        let edges = random_tree(1_500);
        let t = testkit::from_edges(1_500, &edges);
        let points = place(&WeightedGraph::new(&t, None), 0).unwrap();
        let crossed = crossings(&edges, &points);
        assert!(crossed < 20, "{crossed} crossings");
        let mut radii: Vec<f32> = points.iter().map(|p| p[0].hypot(p[1])).collect();
        radii.sort_by(f32::total_cmp);
        let (half, all) = (radii[750], radii[1_499]);
        assert!((0.4..0.9).contains(&(half / all)), "half of the nodes within {half} of {all}");
    }

    #[test]
    fn what_is_no_tree_and_what_is_a_line_is_left_to_others() {
        let of = |n, edges: &[(u32, u32)]| {
            place(&WeightedGraph::new(&testkit::from_edges(n, edges), None), 0)
        };
        assert!(of(3, &[(0, 1), (1, 2), (2, 0)]).is_none());
        assert!(of(1, &[]).is_none());
        let path: Vec<(u32, u32)> = (1..200).map(|v| (v - 1, v)).collect();
        assert!(of(200, &path).is_none());
        assert_eq!(of(2, &[(0, 1)]).unwrap().len(), 2);
        let star: Vec<(u32, u32)> = (1..50).map(|v| (0, v)).collect();
        let points = of(50, &star).unwrap();
        assert!(points[0][0].hypot(points[0][1]) < 0.2, "the hub is in the middle");
    }

    #[test]
    fn the_middle_is_where_the_longest_ways_meet() {
        let path: Vec<(u32, u32)> = (1..9).map(|v| (v - 1, v)).collect();
        assert_eq!(centre(&WeightedGraph::new(&testkit::from_edges(9, &path), None)), 4);
        let t = testkit::from_edges(6, &[(0, 1), (1, 2), (2, 3), (2, 4), (2, 5)]);
        assert_eq!(centre(&WeightedGraph::new(&t, None)), 1);
    }
}
