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
    tidy(&Input::plain(&t, &data, &cancel), &ParamValues::from_pairs(&RT, pairs)?)
}

fn placed(n: u32, edges: &[(u32, u32)], pairs: &[&str]) -> Vec<[f64; 2]> {
    run(n, edges, pairs).unwrap()
}

#[test]
fn a_parent_lies_over_the_mean_of_its_children() {
    let points = placed(5, &[(0, 1), (0, 2), (1, 3), (1, 4)], &[]);
    assert_eq!(points, [[0.0, 0.0], [-0.5, 1.0], [0.5, 1.0], [-1.0, 2.0], [0.0, 2.0]]);
    let points = placed(5, &[(0, 1), (0, 2), (1, 3), (1, 4)], &["root=1", "mode=all"]);
    assert_eq!(points, [[-1.0, 1.0], [0.0, 0.0], [-1.0, 2.0], [0.0, 1.0], [1.0, 1.0]]);
}

#[test]
fn several_roots_lie_on_level_1_and_lower_where_asked() {
    let edges = [(0, 1), (1, 2), (3, 4), (4, 5)];
    let rows = |pairs: &[&str]| placed(7, &edges, pairs).iter().map(|p| p[1]).collect::<Vec<_>>();
    assert_eq!(rows(&[]), [1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 1.0]);
    // What the root does not reach hangs on it, node by node.
    assert_eq!(rows(&["root=0"]), [0.0, 1.0, 2.0, 1.0, 1.0, 1.0, 1.0]);
    assert_eq!(rows(&["root=[0,3]", "rootlevel=[1,3]"]), [2.0, 3.0, 4.0, 4.0, 5.0, 6.0, 1.0]);
    let lower = placed(7, &edges, &["root=[0,3]", "rootlevel=[1,3]"]);
    assert_eq!([lower[6][0], lower[0][0], lower[3][0]], [-1.0, 0.0, 1.0]);
    // A level for one root means nothing, and neither does one for roots that are chosen.
    assert_eq!(rows(&["root=0", "rootlevel=[2]"]), rows(&["root=0"]));
    assert_eq!(rows(&["rootlevel=[2, 1]"]), rows(&[]));
}

#[test]
fn levels_that_fit_no_roots_are_refused_by_name() {
    for (bad, says) in [
        ("rootlevel=[1]", "one number for each of the 2 roots"),
        ("rootlevel=[1,-1]", "whole numbers from 0"),
        ("rootlevel=[1,0.5]", "whole numbers from 0"),
        ("rootlevel=[9000000,9000000]", "at most 10 million in all"),
    ] {
        let e = run(4, &[(0, 1)], &["root=[0,3]", bad]).unwrap_err().to_string();
        assert!(e.contains("\"rootlevel\"") && e.contains(says), "{bad}: {e}");
    }
}

/// Levels are the hops from the root, and nodes of a level are at least 1 apart.
#[test]
fn random_trees_have_no_two_nodes_of_a_level_nearer_than_1() {
    for seed in 0..40 {
        let n = 3 + (h64(seed, 0, 0) % 200) as u32;
        // Parents among the last few make trees deep, among all flat.
        let reach = 1 + h64(seed, 1, 0) % 30;
        let parent =
            |v: u32| v - 1 - (h64(seed, 2, u64::from(v)) % reach).min(u64::from(v) - 1) as u32;
        let edges: Vec<(u32, u32)> = (1..n).map(|v| (parent(v), v)).collect();
        let points = placed(n, &edges, &["root=0"]);
        let mut levels: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
        for (v, p) in points.iter().enumerate() {
            levels.entry(p[1] as u64).or_default().push(p[0]);
            if v > 0 {
                assert_eq!(p[1], points[parent(v as u32) as usize][1] + 1.0);
            }
        }
        for xs in levels.values_mut() {
            xs.sort_by(f64::total_cmp);
            assert!(xs.windows(2).all(|w| w[1] - w[0] > 1.0 - 1e-9), "{seed}: {xs:?}");
        }
        // As narrow as it gets: some pair of every family of two or more has a contour at distance 1.
        let widest = levels.values().map(Vec::len).max().unwrap() as f64;
        let (low, high) =
            points.iter().fold((0.0f64, 0.0f64), |a, p| (a.0.min(p[0]), a.1.max(p[0])));
        assert!(high - low < 4.0 * widest, "{seed}");
    }
}

#[test]
fn a_path_of_a_million_nodes_needs_no_deep_stack() {
    let edges: Vec<(u32, u32)> = (1..1_000_000).map(|v| (v - 1, v)).collect();
    let points = placed(1_000_000, &edges, &[]);
    assert_eq!(points[999_999], [0.0, 999_999.0]);
    let star: Vec<(u32, u32)> = (1..1_000_000).map(|v| (0, v)).collect();
    let points = placed(1_000_000, &star, &[]);
    assert_eq!(points[999_999][0] - points[1][0], 999_998.0);
}

#[test]
fn bent_trees_have_their_depth_as_radius() {
    let mut points =
        placed(6, &[(0, 1), (0, 2), (0, 3), (2, 4), (2, 5), (4, 5)], &["root=0", "mode=all"]);
    bend(&mut points);
    let near = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).hypot(a[1] - b[1]) < 1e-4;
    assert!(near(points[1], [1.0, 0.0]) && near(points[2], [-0.866, 0.5]), "{points:?}");
    assert!(near(points[5], [-std::f64::consts::SQRT_2; 2]), "{points:?}");
}

#[test]
fn from_500_nodes_on_the_root_is_in_the_middle() {
    // A path with a node of many edges at its end.
    let tail = |n: u32| {
        let mut edges: Vec<(u32, u32)> = (1..n - 9).map(|v| (v - 1, v)).collect();
        edges.extend((n - 9..n).map(|v| (0, v)));
        edges
    };
    let root =
        |n: u32| placed(n, &tail(n), &["mode=all"]).iter().position(|p| p[1] == 0.0).unwrap();
    assert_eq!(root(499), 0);
    assert_eq!(root(509), 249);
}

#[test]
fn a_cancelled_run_ends() {
    let t = testkit::path(2000);
    let (data, cancel) = (Unnamed(2000), CancelToken::new());
    cancel.cancel(CancelReason::ClientGone);
    let run = tidy(&Input::plain(&t, &data, &cancel), &ParamValues::defaults(&RT));
    assert!(matches!(run, Err(AlgoError::Cancelled(_))));
}
