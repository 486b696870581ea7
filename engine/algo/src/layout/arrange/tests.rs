#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use graphlume_types::hash::unit_f64;
use graphlume_types::{CancelReason, CancelToken};

use super::*;
use crate::testkit;

/// Nodes of which most are in a crowd, as forces leave them: within `r` are as many as `r` to a power below 2.
fn crowd(n: u32) -> Vec<[f32; 2]> {
    let at = |v: u32| {
        let r = 500.0 * unit_f64(1, 0, u64::from(v)).powf(1.6);
        let turn = std::f64::consts::TAU * unit_f64(1, 1, u64::from(v));
        [(0.6 * r * turn.cos()) as f32, (r * turn.sin()) as f32]
    };
    (0..n).map(at).collect()
}

fn arranged(points: &[[f32; 2]], diameter: f32, held: impl Fn(u32) -> bool) -> Vec<[f32; 2]> {
    let mut points = points.to_vec();
    let diameters = vec![diameter; points.len()];
    arrange(&mut points, &diameters, None, held, 1, &CancelToken::new()).unwrap();
    points
}

fn wide(points: &[[f32; 2]]) -> Vec<[f64; 2]> {
    points.iter().map(|p| p.map(f64::from)).collect()
}

/// The part of the nodes that overlap another where the picture fits the stage.
fn overlapping(points: &[[f32; 2]], diameter: f64) -> f64 {
    let at = wide(points);
    let scale = ViewBox::of(&at).unwrap().scale;
    let hidden = |(i, a): (usize, &[f64; 2])| {
        let near = |b: &[f64; 2]| (a[0] - b[0]).hypot(a[1] - b[1]) * scale < diameter;
        at.iter().enumerate().any(|(j, b)| i != j && near(b))
    };
    at.iter().enumerate().filter(|p| hidden(*p)).count() as f64 / at.len() as f64
}

#[test]
fn a_crowd_fills_the_stage_and_nobody_hides_another() {
    let points = crowd(2_000);
    assert!(overlapping(&points, 6.0) > 0.5 && box_share(&wide(&points)) < 0.3);
    let found = arranged(&points, 6.0, |_| false);
    let (hidden, share) = (overlapping(&found, 6.0), box_share(&wide(&found)));
    assert!(hidden < 0.02 && share > 0.45, "{hidden} {share}");
}

#[test]
fn the_middle_the_size_and_who_is_whose_neighbour_stay() {
    let points = crowd(1_000);
    let found = arranged(&points, 4.0, |_| false);
    let spread = |at: &[[f32; 2]]| {
        let mean = [0, 1].map(|c| at.iter().map(|p| p[c]).sum::<f32>() / at.len() as f32);
        let square = |p: &[f32; 2]| (p[0] - mean[0]).powi(2) + (p[1] - mean[1]).powi(2);
        (mean, (at.iter().map(square).sum::<f32>() / at.len() as f32).sqrt())
    };
    let ((from, before), (to, after)) = (spread(&points), spread(&found));
    assert!((0.7..1.4).contains(&(after / before)), "{before} {after}");
    assert!((from[0] - to[0]).hypot(from[1] - to[1]) < 0.1 * before, "{from:?} {to:?}");
    // Of the ten nearest nodes before, most are among the thirty nearest afterwards.
    let nearest = |at: &[[f32; 2]], v: usize, many: usize| {
        let mut all: Vec<usize> = (0..at.len()).filter(|u| *u != v).collect();
        let far = |u: &usize| (at[*u][0] - at[v][0]).hypot(at[*u][1] - at[v][1]);
        all.sort_by(|a, b| far(a).total_cmp(&far(b)));
        all.truncate(many);
        all
    };
    let kept: usize = (0..100)
        .map(|v| {
            let after = nearest(&found, v, 30);
            nearest(&points, v, 10).iter().filter(|u| after.contains(u)).count()
        })
        .sum();
    assert!(kept > 700, "{kept} of 1000");
}

#[test]
fn a_picture_that_fills_the_stage_stays_and_arranging_twice_changes_little() {
    let side = 40;
    let at = |v: u32| [(v % side) as f32 * 1.7, (v / side) as f32];
    let grid: Vec<[f32; 2]> = (0..side * side).map(at).collect();
    let found = arranged(&grid, 3.0, |_| false);
    for (a, b) in grid.iter().zip(&found) {
        assert!((a[0] - b[0]).abs() < 1.5 && (a[1] - b[1]).abs() < 1.5, "{a:?} {b:?}");
    }
    let once = arranged(&crowd(1_500), 5.0, |_| false);
    let twice = arranged(&once, 5.0, |_| false);
    let moved = |(a, b): (&[f32; 2], &[f32; 2])| f64::from((a[0] - b[0]).hypot(a[1] - b[1]));
    let mean = once.iter().zip(&twice).map(moved).sum::<f64>() / 1_500.0;
    assert!(mean < 25.0, "{mean} of a picture 1000 wide");
}

#[test]
fn held_nodes_stay_and_the_threads_do_not_matter() {
    let points = crowd(1_200);
    let held = |v: u32| v.is_multiple_of(7);
    let found = arranged(&points, 5.0, held);
    for v in (0..1_200).filter(|v| held(*v)) {
        let (a, b) = (points[v as usize], found[v as usize]);
        assert!((a[0] - b[0]).abs() < 1e-2 && (a[1] - b[1]).abs() < 1e-2, "{a:?} {b:?}");
    }
    let results = testkit::at_1_2_3_threads(|| arranged(&points, 5.0, |_| false));
    assert!(results[0] == results[1] && results[0] == results[2]);
}

#[test]
fn what_has_no_room_or_no_shape_is_left_to_itself() {
    for points in [vec![], vec![[1.0, 2.0]], vec![[1.0, 2.0]; 40], vec![[f32::NAN, 0.0]; 3]] {
        let found = arranged(&points, 5.0, |_| false);
        assert_eq!(found.len(), points.len());
    }
    let line: Vec<[f32; 2]> = (0..100).map(|v| [v as f32, v as f32]).collect();
    assert!(arranged(&line, 2.0, |_| false).iter().all(|p| (p[1] - 49.5).abs() < 5.0));
    // More discs than the stage can hold.
    let many = arranged(&crowd(2_000), 60.0, |_| false);
    assert!(many.iter().flatten().all(|x| x.is_finite()));
}

#[test]
fn small_components_lie_beside_the_picture_and_hide_nothing() {
    // A grid of 900, pairs and nodes without neighbours.
    let mut edges = Vec::new();
    for v in 0..900u32 {
        if v % 30 < 29 {
            edges.push((v, v + 1));
        }
        if v < 870 {
            edges.push((v, v + 30));
        }
    }
    edges.extend((0..20).map(|i| (900 + 2 * i, 901 + 2 * i)));
    let topology = testkit::from_edges(1_240, &edges);
    let at = |v: u32| [(v % 30) as f32 * 9.0 + (v as f32).sin(), (v / 30) as f32 * 9.0];
    let mut points: Vec<[f32; 2]> = (0..1_240).map(at).collect();
    let cancel = CancelToken::new();
    let packing = ComponentPacking::new(&Arc::clone(&topology), &points, &cancel).unwrap();
    let diameters = vec![4.0; 1_240];
    arrange(&mut points, &diameters, packing.as_ref(), |_| false, 1, &cancel).unwrap();
    assert!(overlapping(&points, 4.0) < 0.02);
    let right = points[..900].iter().map(|p| p[0]).fold(f32::MIN, f32::max);
    let left = points[900..].iter().map(|p| p[0]).fold(f32::MAX, f32::min);
    assert!(left > right, "{left} {right}");
    assert!(box_share(&wide(&points)) > 0.45);
}

#[test]
fn a_cancelled_run_leaves_the_points() {
    let mut points = crowd(500);
    let before = points.clone();
    let cancel = CancelToken::new();
    cancel.cancel(CancelReason::ClientGone);
    assert!(arrange(&mut points, &[4.0; 500], None, |_| false, 1, &cancel).is_err());
    assert_eq!(points, before);
    assert!(arrange(&mut points, &[4.0; 3], None, |_| false, 1, &CancelToken::new()).is_err());
}
