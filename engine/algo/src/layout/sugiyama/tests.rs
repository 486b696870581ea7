#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;

use graphlume_types::hash::h64;
use graphlume_types::{CancelReason, CancelToken};

use super::*;
use crate::input::Unnamed;
use crate::testkit;

fn run(n: u32, edges: &[(u32, u32)], pairs: &[&str]) -> Result<Vec<[f64; 2]>, AlgoError> {
    let t = testkit::from_edges(n, edges);
    let (data, cancel) = (Unnamed(n), CancelToken::new());
    draw(&Input::plain(&t, &data, &cancel), &ParamValues::from_pairs(&SUGIYAMA, pairs)?)
}

fn rows(n: u32, edges: &[(u32, u32)], pairs: &[&str]) -> Vec<f64> {
    run(n, edges, pairs).unwrap().iter().map(|p| p[1]).collect()
}

/// An acyclic graph.
fn acyclic(seed: u64, n: u32, m: u64) -> Vec<(u32, u32)> {
    let end = |i: u64, s: u64| (h64(seed, s, i) % u64::from(n)) as u32;
    let pair = |i: u64| (end(i, 0), end(i, 1));
    (0..m).map(pair).filter(|(a, b)| a != b).map(|(a, b)| (a.min(b), a.max(b))).collect()
}

fn apart(points: &[[f64; 2]]) -> bool {
    let mut layers: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
    points.iter().for_each(|p| layers.entry(p[1] as i64).or_default().push(p[0]));
    layers.values_mut().all(|xs| {
        xs.sort_by(f64::total_cmp);
        xs.windows(2).all(|w| w[1] - w[0] > 1.0 - 1e-9)
    })
}

/// The least total length of edges, found by trying all layers.
fn least_span(n: u32, edges: &[(u32, u32)]) -> i64 {
    fn next(v: usize, layer: &mut Vec<i64>, edges: &[(u32, u32)], best: &mut i64) {
        if v == layer.len() {
            let span = |e: &(u32, u32)| layer[e.1 as usize] - layer[e.0 as usize];
            if edges.iter().all(|e| span(e) >= 1) {
                *best = (*best).min(edges.iter().map(span).sum());
            }
            return;
        }
        for l in 0..layer.len() as i64 {
            layer[v] = l;
            next(v + 1, layer, edges, best);
        }
    }
    let mut best = i64::MAX;
    next(0, &mut vec![0; n as usize], edges, &mut best);
    best
}

#[test]
fn edges_lead_downwards_and_are_as_short_as_can_be() {
    for seed in 0..60 {
        let edges = acyclic(seed, 6, 9);
        let y = rows(6, &edges, &[]);
        let span: f64 = edges.iter().map(|(a, b)| y[*b as usize] - y[*a as usize]).sum();
        assert!(edges.iter().all(|(a, b)| y[*b as usize] > y[*a as usize]), "{seed}");
        assert_eq!(span as i64, least_span(6, &edges), "{seed}: {edges:?} {y:?}");
    }
}

#[test]
fn neighbours_of_a_layer_are_a_gap_apart() {
    for seed in 0..30 {
        let edges = acyclic(seed, 80, 60 + 20 * (seed % 8));
        assert!(apart(&run(80, &edges, &[]).unwrap()), "{seed}");
        assert!(apart(&run(80, &edges, &["directed=false"]).unwrap()), "{seed}");
    }
    let wide = run(3, &[(0, 1), (0, 2)], &["hgap=3", "vgap=2"]).unwrap();
    assert_eq!((wide[2][0] - wide[1][0]).abs(), 3.0);
    assert_eq!((wide[0][1], wide[1][1]), (0.0, 2.0));
}

#[test]
fn one_edge_of_a_cycle_is_turned_round() {
    let y = rows(4, &[(0, 1), (1, 2), (2, 0), (2, 3)], &[]);
    let back = [(0, 1), (1, 2), (2, 0), (2, 3)].iter().filter(|(a, b)| y[*b] < y[*a]).count();
    assert_eq!(back, 1, "{y:?}");
}

#[test]
fn a_long_edge_is_straight_beside_a_path() {
    let points = run(5, &[(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)], &[]).unwrap();
    let path: Vec<f64> = points[1..4].iter().map(|p| p[0]).collect();
    assert!(path.iter().all(|x| *x == path[0]), "{points:?}");
}

#[test]
fn without_directions_layers_are_hops_from_the_hub() {
    assert_eq!(
        rows(5, &[(0, 1), (1, 2), (2, 3), (3, 4)], &["directed=0"]),
        [1.0, 0.0, 1.0, 2.0, 3.0]
    );
}

#[test]
fn a_planar_tree_has_no_crossings_and_a_crossing_of_two_edges_is_undone() {
    let t = testkit::from_edges(6, &[(0, 3), (0, 4), (1, 5), (1, 2)]);
    let (data, cancel) = (Unnamed(6), CancelToken::new());
    let input = Input::plain(&t, &data, &cancel);
    let all = edges(&input, None).unwrap();
    assert_eq!(all.len(), 4);
    let mut g = Layered::new(&[0, 0, 1, 1], &[(0, 3), (1, 2)], u32::MAX, &cancel).unwrap();
    g.rows = vec![vec![0, 1], vec![2, 3]];
    g.place = vec![0, 1, 0, 1];
    assert_eq!(g.crossings(&cancel).unwrap(), 1);
    g.reduce(24, &cancel).unwrap();
    assert_eq!(g.crossings(&cancel).unwrap(), 0);
}

#[test]
fn given_layers_are_kept_and_others_refused_by_name() {
    let edges = [(0, 1), (1, 2), (3, 4)];
    assert_eq!(rows(7, &edges, &["layers=[3,1,1,0,1,2,5]"]), [3.0, 1.0, 1.0, 0.0, 1.0, 2.0, 5.0]);
    // A layer far below costs nothing.
    assert_eq!(rows(2, &[(0, 1)], &["layers=[0,1000000000]"]), [0.0, 1e9]);
    for (bad, says) in [
        ("layers=[1,2]", "one number for each of the 7 nodes"),
        ("layers=[-1,0,0,0,0,0,0]", "whole number from 0"),
        ("layers=[0.5,0,0,0,0,0,0]", "whole number from 0"),
        ("layers={\"vertex\":[0],\"values\":[1]}", "without a value for node 1"),
        ("hgap=-1", "from 0 to 1000000"),
        ("maxiter=0", "from 1 to 1000000"),
    ] {
        let e = run(7, &edges, &[bad]).unwrap_err().to_string();
        assert!(e.contains(says) && e.contains(bad.split('=').next().unwrap()), "{bad}: {e}");
    }
}

#[test]
fn a_long_path_a_wide_star_and_many_parts_are_no_trouble() {
    let path: Vec<(u32, u32)> = (1..100_000).map(|v| (v - 1, v)).collect();
    assert_eq!(run(100_000, &path, &[]).unwrap()[99_999], [0.0, 99_999.0]);
    // Each node to the next and to the last: five thousand million bends, which are left out.
    let fan: Vec<(u32, u32)> = path.iter().flat_map(|e| [*e, (e.0, 99_999)]).collect();
    assert_eq!(run(100_000, &fan, &[]).unwrap()[99_999][1], 99_999.0);
    let star: Vec<(u32, u32)> = (1..100_000).map(|v| (0, v)).collect();
    assert!(apart(&run(100_000, &star, &[]).unwrap()));
    let pairs: Vec<(u32, u32)> = (0..50_000).map(|v| (2 * v, 2 * v + 1)).collect();
    assert_eq!(run(100_000, &pairs, &[]).unwrap()[99_999], [49_999.0, 1.0]);
}

#[test]
fn a_cancelled_run_ends() {
    let t = testkit::karate();
    let (data, cancel) = (Unnamed(34), CancelToken::new());
    cancel.cancel(CancelReason::ClientGone);
    let run = draw(&Input::plain(&t, &data, &cancel), &ParamValues::defaults(&SUGIYAMA));
    assert!(matches!(run, Err(AlgoError::Cancelled(_))));
}
