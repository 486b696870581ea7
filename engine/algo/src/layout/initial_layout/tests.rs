#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use crate::testkit;

fn placed(t: &Arc<Topology>) -> Vec<[f32; 2]> {
    place(t, 0, &CancelToken::new()).unwrap()
}

/// Mean over all pairs of the squared relative error of distances, at the best scale.
fn stress(t: &Arc<Topology>, points: &[[f32; 2]]) -> f64 {
    let net = WeightedGraph::new(t, None);
    let (mut num, mut den, mut rows) = (0.0, 0.0, Vec::new());
    for v in 0..points.len() {
        for (u, d) in hops(&net, v).into_iter().enumerate().filter(|(u, _)| *u > v) {
            let (a, b) = (points[v], points[u]);
            let r = f64::from(a[0] - b[0]).hypot(f64::from(a[1] - b[1])) / f64::from(d);
            num += r;
            den += r * r;
            rows.push(r);
        }
    }
    let scale = num / den;
    rows.iter().map(|r| (scale * r - 1.0).powi(2)).sum::<f64>() / rows.len() as f64
}

#[test]
fn a_grid_starts_unfolded_and_ends_better_than_from_a_random_start() {
    let t = testkit::grid(40);
    let random: Vec<[f32; 2]> = super::super::random::random(1600, 3)
        .into_iter()
        .map(|p| p.map(|v| 1000.0 * v as f32))
        .collect();
    let finish = |start: &[[f32; 2]]| {
        let mut layout =
            ForceAtlas2::new(&t, None, Params::default(), start, None, None, None).unwrap();
        for _ in 0..200 {
            layout.iterate(&CancelToken::new()).unwrap();
        }
        let mut out = Vec::new();
        layout.positions(&mut out);
        stress(&t, &out)
    };
    let (good, bad) = (finish(&placed(&t)), finish(&random));
    assert!(good < 0.8 * bad && good < 0.06, "{good} {bad}");
}

#[test]
fn every_graph_gets_distinct_finite_places_at_any_number_of_threads() {
    for (name, t) in testkit::zoo() {
        let [a, b, c] = testkit::at_1_2_3_threads(|| placed(&t));
        assert!(a == b && b == c, "{name}");
        assert_eq!(a.len(), t.num_nodes() as usize);
        assert!(a.iter().flatten().all(|v| v.is_finite()), "{name}");
        let mut bits: Vec<[u32; 2]> = a.iter().map(|p| p.map(f32::to_bits)).collect();
        bits.sort_unstable();
        bits.dedup();
        assert_eq!(bits.len(), a.len(), "{name}: two nodes share a place");
    }
}

#[test]
fn components_lie_side_by_side_with_isolated_nodes_outside() {
    // Two cliques of 30 and ten isolated nodes.
    let mut edges = Vec::new();
    for base in [0, 30] {
        edges.extend((0..30).flat_map(|a| (a + 1..30).map(move |b| (base + a, base + b))));
    }
    let points = placed(&testkit::from_edges(70, &edges));
    let disc = |range: std::ops::Range<usize>| {
        let part = &points[range];
        let n = part.len() as f32;
        let c = part.iter().fold([0.0f32; 2], |a, p| [a[0] + p[0] / n, a[1] + p[1] / n]);
        let r = part.iter().map(|p| (p[0] - c[0]).hypot(p[1] - c[1])).fold(0.0, f32::max);
        (c, r)
    };
    let ((a, ra), (b, rb)) = (disc(0..30), disc(30..60));
    assert!((a[0] - b[0]).hypot(a[1] - b[1]) > ra + rb);
    for p in &points[60..] {
        assert!((p[0] - a[0]).hypot(p[1] - a[1]) > ra && (p[0] - b[0]).hypot(p[1] - b[1]) > rb);
    }
}

#[test]
fn stars_and_many_parts_are_no_trouble() {
    assert_eq!(placed(&testkit::star(20_000)).len(), 20_001);
    assert_eq!(placed(&testkit::from_edges(20_000, &[])).len(), 20_000);
    let pairs: Vec<(u32, u32)> = (0..5_000).map(|i| (2 * i, 2 * i + 1)).collect();
    assert_eq!(placed(&testkit::from_edges(10_000, &pairs)).len(), 10_000);
    assert_eq!(placed(&testkit::path(5_000)).len(), 5_000);
}
