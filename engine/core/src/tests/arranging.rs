use graphlume_scene::drawn;
use graphlume_scene::wire::{self, sizes_of};
use graphlume_types::SessionId;
use graphlume_types::stage::STAGE;
use serde_json::{Map, json};

use super::kit::{Engine, config, engine, graph, next, next_frame, placed_path, restless};
use crate::{Control, Phase, ViewerEvent, block_on};

/// A tree in which every node has four children, and pairs that are not tied to it.
fn tree_and_pairs(nodes: i64, pairs: i64) -> crate::Loaded {
    let tree = (1..nodes).map(|v| ((v - 1) / 4, v));
    let apart = (0..pairs).map(|i| (nodes + 2 * i, nodes + 2 * i + 1));
    graph(&tree.chain(apart).collect::<Vec<_>>())
}

fn exact(e: &Engine, s: &SessionId, epoch: u32) -> Vec<[f32; 2]> {
    let mut page = wire::Viewer::default();
    page.apply(&block_on(e.handle.reads(s.clone()).positions(epoch)).expect("positions"))
        .expect("shown");
    page.positions
}

/// The part of the nodes that overlap another where all of them fit the stage.
fn overlapping(at: &[[f32; 2]], diameters: &[f32]) -> f64 {
    let side = |c: usize| {
        let all = || at.iter().map(|p| f64::from(p[c]));
        all().fold(f64::MIN, f64::max) - all().fold(f64::MAX, f64::min)
    };
    let scale = (STAGE[0] / side(0)).min(STAGE[1] / side(1)) as f32;
    let hides = |a: usize, b: usize| {
        let apart = (at[a][0] - at[b][0]).hypot(at[a][1] - at[b][1]) * scale;
        a != b && apart < 0.5 * (diameters[a] + diameters[b])
    };
    let hidden = (0..at.len()).filter(|a| (0..at.len()).any(|b| hides(*a, b))).count();
    hidden as f64 / at.len() as f64
}

#[test]
fn when_a_run_ends_nodes_lie_apart_and_small_components_beside_the_graph() {
    for config in [config(), restless()] {
        let stop_at_rest = config.stop_at_rest;
        let e = engine(config);
        let (nodes, pairs) = (1_500, 20);
        let data = e.add(1, tree_and_pairs(nodes, pairs));
        let s = e.open("s", data, 3_000);
        let mut viewer = e.attach(&s);
        let scene = next(&mut viewer, "the graph", |event| match event {
            ViewerEvent::Graph(_, _, scene) => Some(scene),
            _ => None,
        });
        let diameters = drawn::diameters(sizes_of(&scene.node_size));
        let epoch = next_frame(&mut viewer).epoch;
        super::kit::until("the end", || matches!(e.phase(&s), Phase::Settled | Phase::Stopped));
        let at = exact(&e, &s, epoch);
        let hidden = overlapping(&at, &diameters);
        assert!(hidden < 0.05, "{hidden} of the nodes hide another, at rest: {stop_at_rest}");
        // The ends of an edge that have no other one are a pair.
        let stream = block_on(e.handle.reads(s.clone()).edges(epoch)).expect("edges");
        let number = |at: usize| u32::from_le_bytes(stream[at..at + 4].try_into().expect("four"));
        let ends: Vec<[u32; 2]> =
            (0..stream.len()).step_by(8).map(|i| [number(i), number(i + 4)]).collect();
        let mut degree = vec![0; at.len()];
        ends.iter().flatten().for_each(|v| degree[*v as usize] += 1);
        let mut is_packed = vec![false; at.len()];
        for [a, b] in ends.iter().map(|ends| ends.map(|v| v as usize)) {
            let pair = degree[a] == 1 && degree[b] == 1;
            (is_packed[a], is_packed[b]) = (is_packed[a] || pair, is_packed[b] || pair);
        }
        assert_eq!(is_packed.iter().filter(|packed| **packed).count(), 2 * pairs as usize);
        let x = |packed: bool| {
            let some = at.iter().zip(&is_packed).filter(move |(_, is)| **is == packed);
            some.map(|(p, _)| p[0])
        };
        let (right, left) = (x(false).fold(f32::MIN, f32::max), x(true).fold(f32::MAX, f32::min));
        assert!(left > right - 0.05 * right.abs(), "{left} {right}");
        // What viewers are told last is what is kept.
        let last = next(&mut viewer, "the last frame", |event| match event {
            ViewerEvent::Frame(f) if f.is_key() => Some(f),
            _ => None,
        });
        let mut page = wire::Viewer::default();
        page.apply(&last.bytes).expect("a frame");
        let far = at.iter().zip(&page.positions).map(|(a, b)| (a[0] - b[0]).hypot(a[1] - b[1]));
        let wide = right - at.iter().map(|p| p[0]).fold(f32::MAX, f32::min);
        assert!(far.fold(0.0, f32::max) < 0.01 * wide);
    }
}

#[test]
fn a_run_goes_on_from_an_arranged_picture_and_ends_arranged_again() {
    let e = engine(restless());
    let data = e.add(1, tree_and_pairs(600, 3));
    let s = e.open("s", data, 500);
    let mut viewer = e.attach(&s);
    let epoch = next_frame(&mut viewer).epoch;
    e.reach(&s, Phase::Stopped);
    let first = exact(&e, &s, epoch);
    let play = Control::Play { on: true, for_millis: Some(500) };
    block_on(e.handle.control(s.clone(), play)).expect("on");
    e.reach(&s, Phase::Stopped);
    let second = exact(&e, &s, epoch);
    assert!(first != second && second.iter().flatten().all(|x| x.is_finite()));
    let spread = |at: &[[f32; 2]]| at.iter().map(|p| p[0].hypot(p[1])).fold(0.0, f32::max);
    assert!((0.3..3.0).contains(&(spread(&second) / spread(&first))));
}

#[test]
fn given_and_locked_coordinates_stay_where_they_are() {
    let e = engine(restless());
    let data = e.add(1, placed_path(300));
    let s = e.open("given", data, 0);
    let mut viewer = e.attach(&s);
    let epoch = next_frame(&mut viewer).epoch;
    let given = exact(&e, &s, epoch);
    assert_eq!((given[3], given[299]), ([30.0, -3.0], [2_990.0, -299.0]));
    let data = e.add(2, tree_and_pairs(600, 0));
    let s = e.open("locked", data, 0);
    let mut viewer = e.attach(&s);
    let epoch = next_frame(&mut viewer).epoch;
    let before = exact(&e, &s, epoch);
    let locked: Map<String, _> = [("lockedX".to_owned(), json!(true))].into_iter().collect();
    block_on(e.handle.control(s.clone(), Control::Settings(locked))).expect("locked");
    let play = Control::Play { on: true, for_millis: Some(300) };
    block_on(e.handle.control(s.clone(), play)).expect("on");
    e.reach(&s, Phase::Stopped);
    let after = exact(&e, &s, epoch);
    assert!(before.iter().zip(&after).all(|(a, b)| a[0] == b[0]), "no x has moved");
    assert!(before.iter().zip(&after).any(|(a, b)| a[1] != b[1]), "but some y");
}
