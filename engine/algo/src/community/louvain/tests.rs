//! The Louvain method on small graphs.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::HashMap;

use graphlume_types::hash::h64;

use super::*;
use crate::testkit;

fn find(t: &Topology, seed: u64) -> Vec<u32> {
    run(t, None, seed, 1.0, &CancelToken::new()).unwrap()
}

#[test]
fn modularity_is_that_of_the_definition() {
    // Two triangles joined by one edge: 6/7 of the edges inside, half of the ends on each side.
    let t = testkit::from_edges(6, &[(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (0, 3)]);
    assert!((modularity(&t, &[0, 0, 0, 1, 1, 1]) - (6.0 / 7.0 - 0.5)).abs() < 1e-12);
    assert_eq!(find(&t, 0), [0, 0, 0, 1, 1, 1]);
}

#[test]
fn the_karate_club_splits_as_well_as_is_known() {
    for seed in 0..10 {
        let t = testkit::karate();
        let q = modularity(&t, &find(&t, seed));
        assert!((if seed == 0 { 0.41 } else { 0.4 }..=0.4198).contains(&q), "seed {seed}: {q}");
    }
}

#[test]
fn planted_communities_are_found_at_any_number_of_threads() {
    // Large enough for parallel batches.
    let groups = 40;
    let mut edges = Vec::new();
    for i in 0..120_000u64 {
        let a = h64(1, 0, i) % 12_000;
        let b = if h64(1, 1, i) % 10 < 8 {
            a % groups + groups * (h64(1, 2, i) % 300)
        } else {
            h64(1, 3, i) % 12_000
        };
        edges.push((a as u32, b as u32));
    }
    let t = testkit::from_edges(12_000, &edges);
    let truth: Vec<u32> = (0..12_000).map(|v| v % groups as u32).collect();
    let [one, two, three] = testkit::at_1_2_3_threads(|| find(&t, 3));
    assert!(one == two && two == three);
    let (found, planted) = (modularity(&t, &one), modularity(&t, &truth));
    assert!(found > planted - 0.005, "{found} {planted}");
    assert_eq!(one[0], 0, "labels are numbered by first appearance");
}

#[test]
fn sub_rounds_find_as_good_communities_at_any_number_of_threads() {
    let t = testkit::planted(3000, 60, 0.2, 0.002);
    let by_sub_rounds = |arcs| {
        search_from(&t, None, &Options::default(), arcs, &CancelToken::new()).unwrap().labels
    };
    let batches = modularity(&t, &by_sub_rounds(usize::MAX));
    for arcs in [0, 4_000] {
        let [one, two, three] = testkit::at_1_2_3_threads(|| by_sub_rounds(arcs));
        assert!(one == two && two == three);
        assert!(modularity(&t, &one) > batches - 0.005, "{arcs}: {}", modularity(&t, &one));
    }
}

#[test]
fn hubs_that_come_first_make_no_worse_communities() {
    let end = |stream, i| (h64(5, stream, i) as f64 / 2f64.powi(64)).powi(3) * 20_000.0;
    let ends = |i| (end(0, i) as u32, end(1, i) as u32);
    let by = |number: fn(u32) -> u32| {
        let edges: Vec<_> = (0..160_000).map(ends).map(|(a, b)| (number(a), number(b))).collect();
        let t = testkit::from_edges(20_000, &edges);
        (0..4).map(|seed| modularity(&t, &find(&t, seed))).sum::<f64>() / 4.0
    };
    // The second numbers them by a fixed permutation.
    let (hubs_first, mixed) = (by(|v| v), by(|v| (v * 7_919 + 13) % 20_000));
    assert!(hubs_first > mixed - 0.0015, "{hubs_first} {mixed}");
}

#[test]
fn the_rule_of_a_card_is_as_good_on_a_skewed_graph() {
    // Few nodes have most of the edges.
    let end = |stream, i| (h64(5, stream, i) as f64 / 2f64.powi(64)).powi(3) * 20_000.0;
    let edges: Vec<_> = (0..160_000).map(|i| (end(0, i) as u32, end(1, i) as u32)).collect();
    let t = testkit::from_edges(20_000, &edges);
    let mean = |arcs| {
        let of = |seed| {
            let options = Options { seed, ..Options::default() };
            let found = search_from(&t, None, &options, arcs, &CancelToken::new()).unwrap();
            modularity(&t, &found.labels)
        };
        (0..4).map(of).sum::<f64>() / 4.0
    };
    let (batches, card) = (mean(usize::MAX), mean(20_000));
    assert!((card - batches).abs() < 0.001, "{card} {batches}");
}

#[test]
fn nodes_without_neighbours_stay_alone_and_change_nothing_else() {
    let t = testkit::planted(3000, 60, 0.2, 0.002);
    let (mut src, mut dst) = (Vec::new(), Vec::new());
    for v in 0..3000 {
        dst.extend(t.out_neighbors(v).iter().map(|u| u * 3));
        src.resize(dst.len(), v * 3);
    }
    // Two of three have no neighbour; some of these have a loop, which counts in the whole weight.
    for v in (1..9000).step_by(30) {
        src.push(v);
        dst.push(v);
    }
    let sparse = Topology::from_coo(9000, &src, &dst);
    for arcs in [0, usize::MAX] {
        let [one, two, three] = testkit::at_1_2_3_threads(|| {
            let options = Options::default();
            search_from(&sparse, None, &options, arcs, &CancelToken::new()).unwrap().labels
        });
        assert!(one == two && two == three);
        let mut members = HashMap::new();
        one.iter().for_each(|l| *members.entry(*l).or_insert(0) += 1);
        assert!((0..9000).all(|v| v % 3 == 0 || members[&one[v]] == 1));
        let truth: Vec<u32> = (0..9000).map(|v| if v % 3 == 0 { v / 3 % 60 } else { v }).collect();
        assert!(modularity(&sparse, &one) > modularity(&sparse, &truth) - 0.005, "{arcs}");
        let mut seen = 0;
        for label in &one {
            assert!(*label <= seen, "numbered by first appearance");
            seen += u32::from(*label == seen);
        }
    }
}

#[test]
fn weights_and_resolution_decide() {
    let t = testkit::from_edges(4, &[(0, 1), (1, 2), (2, 3), (3, 0)]);
    let with = |w: &[f32]| run(&t, Some(w), 0, 1.0, &CancelToken::new()).unwrap();
    assert_eq!(with(&[9.0, 0.1, 9.0, 0.1]), [0, 0, 1, 1]);
    assert_eq!(with(&[0.1, 9.0, 0.1, 9.0]), [0, 1, 1, 0]);
    let k = testkit::karate();
    let count = |r| run(&k, None, 0, r, &CancelToken::new()).unwrap().into_iter().max().unwrap();
    assert!(count(4.0) > count(1.0) && count(1.0) > count(0.1));
    assert!(run(&k, None, 0, 0.0, &CancelToken::new()).is_err());
}

#[test]
fn later_levels_continue_what_was_contracted_elsewhere() {
    let groups = 60u32;
    let t = testkit::planted(3000, groups, 0.2, 0.002);
    let net = WeightedGraph::new(&t, None);
    // Halves of the planted groups, as a first level might find them.
    let halves: Vec<u32> = (0..3000).map(|v| v % groups * 2 + v / 1500).collect();
    let coarse = net.contract(&halves, 2 * groups as usize);
    let weights = (0..coarse.num_nodes()).flat_map(|v| coarse.edges(v)).map(|e| e.1).collect();
    let again = WeightedGraph::from_parts(coarse.offsets, coarse.ends, weights, coarse.loops);
    assert_eq!(again.total_strength(), 2 * u64::from(t.num_edges()));
    let above = continue_from(again, 1, &Options::default(), &CancelToken::new()).unwrap();
    let labels: Vec<u32> = halves.iter().map(|h| above[*h as usize]).collect();
    let truth: Vec<u32> = (0..3000).map(|v| v % groups).collect();
    assert!(modularity(&t, &labels) > modularity(&t, &truth) - 0.005);
}

#[test]
fn levels_and_threshold_end_the_search() {
    let t = testkit::planted(3000, 60, 0.2, 0.002);
    let at = |options: Options| {
        modularity(&t, &super::find(&t, None, &options, &CancelToken::new()).unwrap())
    };
    let full = at(Options::default());
    assert!(at(Options { max_level: 1, ..Options::default() }) <= full);
    assert!(at(Options { threshold: 1.0, ..Options::default() }) <= full + 1e-12);
}
