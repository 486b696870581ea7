#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use graphlume_graph::Topology;
use graphlume_types::{CancelReason, CancelToken};

use super::*;
use crate::input::Unnamed;
use crate::testkit;

fn run<const D: usize>(t: &Arc<Topology>, pairs: &[&str]) -> Result<Vec<[f64; D]>, AlgoError> {
    let (data, cancel) = (Unnamed(t.num_nodes()), CancelToken::new());
    scaled(&Input::plain(t, &data, &cancel), &ParamValues::from_pairs(&MDS, pairs)?)
}

fn distance<const D: usize>(a: [f64; D], b: [f64; D]) -> f64 {
    (0..D).map(|c| (a[c] - b[c]).powi(2)).sum::<f64>().sqrt()
}

#[test]
fn distances_that_fit_the_plane_are_met() {
    let points = run::<2>(&testkit::path(200), &[]).unwrap();
    for (a, b) in [(0, 1), (0, 199), (50, 120)] {
        let d = distance(points[a], points[b]);
        assert!((d - (b as f64 - a as f64)).abs() < 1e-5, "{a} {b} {d}");
    }
    let space = run::<3>(&testkit::clique(4), &["dim=3"]).unwrap();
    for (a, b) in [(0, 1), (0, 2), (1, 3), (2, 3)] {
        assert!((distance(space[a], space[b]) - 1.0).abs() < 1e-9, "{space:?}");
    }
    let given = run::<2>(&testkit::path(3), &["dist=[[0,3,5],[3,0,4],[5,4,0]]"]).unwrap();
    for (a, b, d) in [(0, 1, 3.0), (1, 2, 4.0), (0, 2, 5.0)] {
        assert!((distance(given[a], given[b]) - d).abs() < 1e-9, "{given:?}");
    }
}

#[test]
fn fewer_nodes_than_dimensions_and_parts() {
    assert_eq!(run::<3>(&testkit::path(2), &["dim=3"]).unwrap(), [[0.0; 3]; 2]);
    assert_eq!(run::<2>(&testkit::from_edges(1, &[]), &[]).unwrap(), [[0.0; 2]]);
    let t = testkit::from_edges(8, &[(0, 1), (1, 2), (3, 4), (4, 5)]);
    let points = run::<2>(&t, &[]).unwrap();
    for (a, b, d) in [(0, 2, 2.0), (3, 5, 2.0), (0, 1, 1.0)] {
        assert!((distance(points[a], points[b]) - d).abs() < 1e-9, "{points:?}");
    }
    for v in 0..8 {
        for u in 0..v {
            assert!(distance(points[v], points[u]) > 0.99, "{u} {v} {points:?}");
        }
    }
}

/// How far distances in the drawing are from hops, at the best scale, over a sample of pairs.
fn stress(t: &Arc<Topology>, points: &[[f64; 2]]) -> f64 {
    let cancel = CancelToken::new();
    let (mut up, mut down, mut ratios) = (0.0, 0.0, Vec::new());
    for source in (0..t.num_nodes()).step_by(97) {
        let hops = crate::path::bfs::run(t, source, false, None, &cancel).unwrap().distance;
        for (v, d) in hops.iter().enumerate().filter(|(_, d)| **d > 0) {
            let r = distance(points[source as usize], points[v]) / f64::from(*d);
            up += r;
            down += r * r;
            ratios.push(r);
        }
    }
    let scale = up / down;
    ratios.iter().map(|r| (scale * r - 1.0).powi(2)).sum::<f64>() / ratios.len() as f64
}

#[test]
fn pivots_are_nearly_as_good_as_all_pairs() {
    let t = testkit::grid(60);
    let exact = run::<2>(&t, &[]).unwrap();
    let (data, cancel) = (Unnamed(3600), CancelToken::new());
    let input = Input::plain(&t, &data, &cancel);
    let shape = Shape { directed: false, copies: Copies::First, loops: Loops::Drop };
    let view = input.shaped(None, shape).unwrap();
    let local = Local::new(view.out(), &[0; 3600]);
    let by_pivots = pivots::scaled::<2>(&local, &local.parts()[0], &cancel).unwrap();
    let (exact_stress, stress) = (stress(&t, &exact), stress(&t, &by_pivots));
    assert!(stress < 1.1 * exact_stress + 0.005, "{stress} {exact_stress}");
    // The scale is that of the hops.
    let ratio = distance(by_pivots[0], by_pivots[3599]) / distance(exact[0], exact[3599]);
    assert!((0.8..1.25).contains(&ratio), "{ratio}");
}

#[test]
fn large_parts_are_the_same_at_any_number_of_threads() {
    let t = testkit::grid(80);
    let [a, b, c] = testkit::at_1_2_3_threads(|| run::<2>(&t, &[]).unwrap());
    assert!(a == b && b == c);
    assert!(stress(&t, &a) < 0.05);
    let long = run::<2>(&testkit::path(100_000), &[]).unwrap();
    let d = distance(long[0], long[99_999]);
    assert!((9e4..1.1e5).contains(&d), "{d}");
}

#[test]
fn distances_that_are_no_table_are_refused_by_name() {
    for (bad, says) in [
        ("dist=[[0,1],[1,0]]", "3 rows of 3 numbers"),
        ("dist=[[0,1,2],[1,0],[2,1,0]]", "3 rows of 3 numbers"),
        ("dist=[[0,1,2],[1,0,\"a\"],[2,1,0]]", "3 rows of 3 numbers"),
        ("dist=5", "table of numbers"),
        ("dim=4", "from 2 to 3"),
    ] {
        let e = run::<2>(&testkit::path(3), &[bad]).unwrap_err().to_string();
        assert!(e.contains(says), "{bad}: {e}");
    }
    let e = run::<2>(&testkit::path(5001), &["dist=[[0]]"]).unwrap_err();
    assert!(matches!(e, AlgoError::TooLarge { limit: 5000, .. }), "{e}");
}

#[test]
fn a_cancelled_run_ends() {
    for t in [testkit::karate(), testkit::path(6000)] {
        let (data, cancel) = (Unnamed(t.num_nodes()), CancelToken::new());
        cancel.cancel(CancelReason::ClientGone);
        let run = scaled::<2>(&Input::plain(&t, &data, &cancel), &ParamValues::defaults(&MDS));
        assert!(matches!(run, Err(AlgoError::Cancelled(_))));
    }
}
