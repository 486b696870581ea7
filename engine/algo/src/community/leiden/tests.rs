#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use graphlume_graph::Topology;
use graphlume_types::hash::h64;

use super::*;
use crate::community::network::modularity;
use crate::testkit;
use crate::view::{Copies, Loops, Shape};

fn view(t: &Topology) -> GraphView<'_> {
    let shape = Shape { directed: false, copies: Copies::Keep, loops: Loops::Twice };
    GraphView::new(t, None, shape).unwrap()
}

fn by_modularity(n_iterations: i64) -> Options {
    Options { objective: Objective::Modularity, n_iterations, ..Options::default() }
}

fn find(t: &Topology, options: &Options) -> Communities {
    run(&view(t), options, &CancelToken::new()).unwrap()
}

#[test]
fn communities_are_connected_and_quality_is_modularity() {
    for (name, t) in testkit::zoo() {
        for seed in 0..5 {
            let found = find(&t, &Options { seed, ..by_modularity(2) });
            let net = Network::new(&view(&t));
            assert_eq!(connected(&net, &found.labels), found.labels, "{name}");
            let q = modularity(&view(&t), &found.labels, 1.0);
            assert!((q - found.quality).abs() < 1e-12, "{name}: {q} {}", found.quality);
        }
    }
}

#[test]
fn the_karate_club_is_split_as_well_as_can_be() {
    for seed in 0..20 {
        let options = Options { seed, ..by_modularity(-1) };
        let found = find(&testkit::karate(), &options);
        assert!((found.quality - 0.419_789_612_1).abs() < 1e-9, "{seed}: {}", found.quality);
    }
}

#[test]
fn the_constant_potts_model_of_resolution_one_keeps_nodes_apart() {
    let found = find(&testkit::karate(), &Options::default());
    assert_eq!(found.labels, (0..34).collect::<Vec<u32>>());
    assert!((found.quality + 34.0 / 156.0).abs() < 1e-12);
    let coarse = find(&testkit::karate(), &Options { resolution: 0.01, ..Options::default() });
    assert!(coarse.labels.iter().max().unwrap() < &5);
    // Heavy nodes cost more.
    let heavy =
        Options { resolution: 0.01, node_weights: Some(vec![100.0; 34]), ..Options::default() };
    assert_eq!(find(&testkit::karate(), &heavy).labels.len(), 34);
}

#[test]
fn planted_communities_are_found_at_any_number_of_threads() {
    let t = testkit::planted(3000, 30, 0.2, 0.002);
    let truth: Vec<u32> = (0..3000).map(|v| v % 30).collect();
    let [one, two, three] = testkit::at_1_2_3_threads(|| find(&t, &by_modularity(2)));
    assert!(one == two && two == three);
    assert!(one.quality > modularity(&view(&t), &truth, 1.0) - 1e-9);
}

/// A sparse graph without structure: there is always a better partition to be found.
fn sparse() -> std::sync::Arc<Topology> {
    let edges: Vec<(u32, u32)> = (0..20_000u64)
        .map(|i| (h64(5, 1, i) as u32 % 3_000, h64(5, 2, i) as u32 % 3_000))
        .collect();
    testkit::from_edges(3_000, &edges)
}

#[test]
fn communities_of_a_large_graph_are_connected_after_any_number_of_iterations() {
    let t = sparse();
    let net = Network::new(&view(&t));
    let mut before = 0.0;
    for n_iterations in 1..5 {
        let found = find(&t, &by_modularity(n_iterations));
        assert_eq!(connected(&net, &found.labels), found.labels);
        assert!(found.quality > before, "{} after {before}", found.quality);
        before = found.quality;
    }
}

#[test]
fn parts_of_communities_are_connected_and_know_their_community() {
    let t = testkit::from_edges(6, &[(0, 1), (2, 3), (3, 4), (1, 5)]);
    let net = Network::new(&view(&t));
    // The first community is in two parts.
    let (parts, above) = connected_within(&net, &[0, 0, 1, 0, 0, 1]);
    assert_eq!((parts, above), (vec![0, 0, 1, 2, 2, 3], vec![0, 1, 0, 1]));
}

#[test]
fn iterations_go_on_behind_one_that_changes_nothing() {
    let t = sparse();
    let few = find(&t, &by_modularity(4));
    let many = find(&t, &by_modularity(100));
    assert!(many.iterations > 20, "{}", many.iterations);
    assert!(many.quality > few.quality + 0.002, "{} {}", many.quality, few.quality);
}

#[test]
fn an_initial_membership_is_where_the_search_begins() {
    let t = testkit::karate();
    let best = find(&t, &by_modularity(-1));
    let far = best.labels.iter().map(|l| 1_000_000_000 + 7 * l).collect();
    let again = Options { initial_membership: Some(far), ..by_modularity(1) };
    assert_eq!(find(&t, &again).labels, best.labels);
    let short = Options { initial_membership: Some(vec![0]), ..by_modularity(1) };
    assert!(run(&view(&t), &short, &CancelToken::new()).is_err());
}

#[test]
fn negative_weights_drive_nodes_apart() {
    let t = testkit::from_edges(4, &[(0, 1), (1, 2), (2, 3), (3, 0)]);
    let shape = Shape { directed: false, copies: Copies::Keep, loops: Loops::Twice };
    let weights = [2.0, -1.0, 2.0, -1.0];
    let view = GraphView::new(&t, Some(&weights), shape).unwrap();
    let options = Options { resolution: 0.5, ..Options::default() };
    let found = run(&view, &options, &CancelToken::new()).unwrap();
    assert_eq!(found.labels, [0, 0, 1, 1]);
}

/// Modularity with directions by its definition (Leicht and Newman 2008).
fn directed_modularity(view: &GraphView<'_>, labels: &[u32]) -> f64 {
    let (mut inside, mut out, mut into) = (0.0, vec![0.0; labels.len()], vec![0.0; labels.len()]);
    for (v, own) in labels.iter().enumerate() {
        let ends = view.out().weighted(v as u32);
        inside += ends.filter(|(u, _)| labels[*u as usize] == *own).map(|e| e.1).sum::<f64>();
        out[*own as usize] += view.out().strength(v as u32);
        into[*own as usize] += view.incoming().strength(v as u32);
    }
    let all: f64 = out.iter().sum();
    if all == 0.0 {
        return 0.0;
    }
    inside / all - out.iter().zip(&into).map(|(a, b)| a * b / (all * all)).sum::<f64>()
}

#[test]
fn directions_count_where_edges_have_them() {
    let shape = Shape { directed: true, copies: Copies::Keep, loops: Loops::Once };
    for (name, t) in testkit::zoo() {
        let weights: Vec<f64> = (0..t.num_edges()).map(|r| 1.0 + f64::from(r % 3)).collect();
        for weights in [None, Some(&weights[..])] {
            let view = GraphView::new(&t, weights, shape).unwrap();
            let found = run(&view, &by_modularity(2), &CancelToken::new()).unwrap();
            let q = directed_modularity(&view, &found.labels);
            assert!((q - found.quality).abs() < 1e-9, "{name}: {q} {}", found.quality);
            let either = Options { seed: 3, ..by_modularity(2) };
            let [one, two, three] = testkit::at_1_2_3_threads(|| {
                run(&view, &either, &CancelToken::new()).unwrap().labels
            });
            assert!(one == two && two == three, "{name}");
        }
    }
    // The largest directed modularity of the karate club, whose edges lead from the smaller number to the larger.
    let club = testkit::karate();
    let view = GraphView::new(&club, None, shape).unwrap();
    let most = (0..20).map(|seed| {
        run(&view, &Options { seed, ..by_modularity(-1) }, &CancelToken::new()).unwrap().quality
    });
    let most = most.fold(f64::NEG_INFINITY, f64::max);
    let guess = || Ok((0..34).collect());
    let best = crate::community::optimal::run(&view, 1.0, guess, &CancelToken::new()).unwrap();
    let best = directed_modularity(&view, &best);
    assert!((most - best).abs() < 1e-9, "{most} of {best}");
}

#[test]
fn the_potts_model_weighs_sources_and_targets() {
    // Two edges to the same node: as a target it counts for nothing, so that it may be with both.
    let t = testkit::from_edges(3, &[(0, 2), (1, 2)]);
    let shape = Shape { directed: true, copies: Copies::Keep, loops: Loops::Once };
    let view = GraphView::new(&t, None, shape).unwrap();
    let with = |into: Vec<f64>| {
        let options = Options { node_in_weights: Some(into), ..Options::default() };
        run(&view, &Options { n_iterations: -1, ..options }, &CancelToken::new()).unwrap().labels
    };
    assert_eq!(with(vec![0.0; 3]), [0, 0, 0]);
    assert_eq!(with(vec![1.0; 3]), [0, 1, 2]);
    let short = Options { node_in_weights: Some(vec![1.0]), ..Options::default() };
    assert!(run(&view, &short, &CancelToken::new()).is_err());
}
