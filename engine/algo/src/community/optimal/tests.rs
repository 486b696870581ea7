#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use graphlume_graph::Topology;
use graphlume_types::hash::{h64, unit_f64};

use super::*;
use crate::community::leiden;
use crate::community::network::modularity;
use crate::testkit::{from_edges, karate};
use crate::view::{Copies, Loops, Shape};

const UNDIRECTED: Shape = Shape { directed: false, copies: Copies::Keep, loops: Loops::Twice };
const DIRECTED: Shape = Shape { directed: true, copies: Copies::Keep, loops: Loops::Once };

/// The best partition, from each node alone on, so that the search has to find it.
fn found(t: &Topology, weights: Option<&[f64]>, shape: Shape, resolution: f64) -> Vec<u32> {
    let view = GraphView::new(t, weights, shape).unwrap();
    let alone = || Ok((0..t.num_nodes()).collect());
    run(&view, resolution, alone, &CancelToken::new()).unwrap()
}

/// Modularity by its definition (Newman and Girvan 2004; with directions Leicht and Newman 2008).
fn defined(t: &Topology, weights: Option<&[f64]>, labels: &[u32], resolution: f64) -> f64 {
    let (mut inside, mut total) = (0.0, 0.0);
    let n = t.num_nodes() as usize;
    let (mut out, mut into) = (vec![0.0; n], vec![0.0; n]);
    let (src, dst) = ends(t);
    for (row, (a, b)) in src.iter().zip(&dst).enumerate() {
        let w = weights.map_or(1.0, |w| w[row]);
        total += w;
        out[*a] += w;
        into[*b] += w;
        if labels[*a] == labels[*b] {
            inside += w;
        }
    }
    let expected: f64 = (0..n)
        .flat_map(|a| (0..n).map(move |b| (a, b)))
        .filter(|(a, b)| labels[*a] == labels[*b])
        .map(|(a, b)| out[a] * into[b])
        .sum();
    inside / total - resolution * expected / (total * total)
}

/// Sources and targets by row.
fn ends(t: &Topology) -> (Vec<usize>, Vec<usize>) {
    let m = t.num_edges() as usize;
    let (mut src, mut dst) = (vec![0; m], vec![0; m]);
    for v in 0..t.num_nodes() {
        for (u, row) in t.out_neighbors(v).iter().zip(t.out_rows(v)) {
            (src[*row as usize], dst[*row as usize]) = (v as usize, *u as usize);
        }
    }
    (src, dst)
}

/// Calls `each` with every partition of `n` nodes.
fn partitions(n: usize, each: &mut impl FnMut(&[u32])) {
    fn further(labels: &mut Vec<u32>, n: usize, each: &mut impl FnMut(&[u32])) {
        if labels.len() == n {
            return each(labels);
        }
        let groups = labels.iter().max().map_or(0, |l| l + 1);
        for label in 0..=groups {
            labels.push(label);
            further(labels, n, each);
            labels.pop();
        }
    }
    further(&mut Vec::new(), n, each);
}

fn random(seed: u64, n: u32, edges: u64) -> Arc<Topology> {
    let end = |k| (h64(seed, k, 7) % u64::from(n)) as u32;
    from_edges(n, &(0..edges).map(|e| (end(2 * e), end(2 * e + 1))).collect::<Vec<_>>())
}

#[test]
fn no_partition_of_a_small_graph_is_better() {
    for seed in 0..60 {
        let n = 2 + (seed % 7) as u32;
        let t = random(seed, n, 1 + h64(seed, 1, 1) % 16);
        let drawn: Vec<f64> =
            (0..t.num_edges()).map(|e| 3.0 * unit_f64(seed, 3, u64::from(e))).collect();
        let weights = (seed % 3 == 1).then_some(drawn.as_slice());
        let resolution = [1.0, 1.0, 0.6, 1.7][(seed % 4) as usize];
        for shape in [UNDIRECTED, DIRECTED] {
            let view = GraphView::new(&t, weights, shape).unwrap();
            let worth = |labels: &[u32]| match shape.directed {
                true => defined(&t, weights, labels, resolution),
                false => modularity(&view, labels, resolution),
            };
            let labels = found(&t, weights, shape, resolution);
            let mut best = f64::NEG_INFINITY;
            partitions(n as usize, &mut |p| best = best.max(worth(p)));
            assert!(
                (worth(&labels) - best).abs() < 1e-9,
                "seed {seed} {shape:?}: {} {best}",
                worth(&labels)
            );
        }
    }
}

/// The optimum of the karate club is known (Agarwal and Kempe 2008).
#[test]
fn the_karate_club_has_four_communities() {
    let club = karate();
    let labels = found(&club, None, UNDIRECTED, 1.0);
    let view = GraphView::new(&club, None, UNDIRECTED).unwrap();
    assert!((modularity(&view, &labels, 1.0) - 0.419_789_612_097).abs() < 1e-9);
    assert_eq!(labels.iter().max(), Some(&3));
}

/// Graphs without communities are the hard ones: the relaxation alone does not settle them.
#[test]
fn pairs_that_stay_between_are_tried_both_ways() {
    let mut tried = 0;
    for seed in 0..12 {
        let n = 16;
        let t = random(seed, n, 40);
        let view = GraphView::new(&t, None, UNDIRECTED).unwrap();
        let part: Vec<u32> = (0..n).collect();
        let position: Vec<usize> = (0..n as usize).collect();
        let (pairs, _) = Pairs::of(&view, &Strengths::new(&view), (&part, &position), 1.0);
        let mut first = Search::new(&pairs, (0..pairs.n as u32).collect());
        let root = Branch { bound: f64::INFINITY, fixed: Vec::new() };
        tried += u32::from(first.look_into(&root, &CancelToken::new()).unwrap().is_some());
        // What is found from nothing is not worse than what many searches find.
        let labels = found(&t, None, UNDIRECTED, 1.0);
        let options = leiden::Options {
            objective: leiden::Objective::Modularity,
            n_iterations: -1,
            ..leiden::Options::default()
        };
        for seed in 0..20 {
            let options = leiden::Options { seed, ..options.clone() };
            let other = leiden::run(&view, &options, &CancelToken::new()).unwrap().labels;
            assert!(modularity(&view, &labels, 1.0) >= modularity(&view, &other, 1.0) - 1e-12);
        }
    }
    assert!(tried > 0, "no graph needs a second branch");
}

#[test]
fn parts_are_apart_and_nothing_is_a_community_of_its_own() {
    let t = from_edges(9, &[(0, 1), (1, 2), (2, 0), (4, 5), (6, 6), (7, 8), (7, 8)]);
    assert_eq!(found(&t, None, UNDIRECTED, 1.0), [0, 0, 0, 1, 2, 2, 3, 4, 4]);
    assert_eq!(found(&from_edges(0, &[]), None, UNDIRECTED, 1.0), [0u32; 0]);
    assert_eq!(found(&from_edges(3, &[]), None, DIRECTED, 1.0), [0, 1, 2]);
}

#[test]
fn large_parts_and_cancelled_calls_are_refused() {
    let path = crate::testkit::path(201);
    let large = GraphView::new(&path, None, UNDIRECTED).unwrap();
    let error = run(&large, 1.0, || panic!("refused before"), &CancelToken::new()).unwrap_err();
    assert!(error.to_string().contains("at most 200 nodes"), "{error}");
    let club = karate();
    let small = GraphView::new(&club, None, UNDIRECTED).unwrap();
    let token = CancelToken::new();
    let guess = || {
        token.cancel(graphlume_types::CancelReason::ClientGone);
        Ok((0..34).collect())
    };
    assert!(matches!(run(&small, 1.0, guess, &token), Err(AlgoError::Cancelled(_))));
}

#[test]
fn many_small_parts_cost_no_more_than_their_number() {
    let triangles = 30_000;
    let edges: Vec<(u32, u32)> = (0..triangles)
        .flat_map(|i| [(3 * i, 3 * i + 1), (3 * i + 1, 3 * i + 2), (3 * i + 2, 3 * i)])
        .collect();
    let t = from_edges(3 * triangles, &edges);
    let view = GraphView::new(&t, None, UNDIRECTED).unwrap();
    // A guess whose labels are far apart.
    let guess = || Ok((0..3 * triangles).rev().collect());
    let labels = run(&view, 1.0, guess, &CancelToken::new()).unwrap();
    assert!(labels.iter().zip(0..).all(|(label, v)| *label == v / 3));
}
