use graphlume_scene::wire;
use graphlume_types::SessionId;

use super::kit::{Engine, config, engine, graph, next_frame, placed_path, until};
use crate::{Control, Phase, block_on};

fn exact(e: &Engine, s: &SessionId, epoch: u32) -> Vec<[f32; 2]> {
    let mut page = wire::Viewer::default();
    page.apply(&block_on(e.handle.reads(s.clone()).positions(epoch)).expect("positions"))
        .expect("shown");
    page.positions
}

fn drag(e: &Engine, s: &SessionId, node: u32, at: [f32; 2]) {
    block_on(e.handle.control(s.clone(), Control::Pin { node, at })).expect("pinned");
}

/// A path of the nodes 0 to 20, the first of which has the leaves 21 to 50.
fn star_and_path() -> crate::Loaded {
    let path = (0..20).map(|v| (v, v + 1));
    graph(&path.chain((21..=50).map(|leaf| (0, leaf))).collect::<Vec<_>>())
}

#[test]
fn neighbours_follow_a_node_that_is_dragged_at_rest_and_go_back_with_it() {
    let e = engine(config());
    let data = e.add(1, star_and_path());
    let s = e.open("s", data, 3_000);
    let mut viewer = e.attach(&s);
    let epoch = next_frame(&mut viewer).epoch;
    until("the end", || matches!(e.phase(&s), Phase::Settled | Phase::Stopped));
    let before = exact(&e, &s, epoch);
    let [x, y] = before[0];
    drag(&e, &s, 0, [x + 100.0, y - 40.0]);
    let moved = exact(&e, &s, epoch);
    let way = |v: usize| [moved[v][0] - before[v][0], moved[v][1] - before[v][1]];
    let near = |[dx, dy]: [f32; 2], [ex, ey]: [f32; 2]| (dx - ex).hypot(dy - ey) < 0.01;
    assert!(near(way(0), [100.0, -40.0]), "{:?}", way(0));
    for leaf in 21..=50 {
        assert!(near(way(leaf), [100.0, -40.0]), "leaf {leaf}: {:?}", way(leaf));
    }
    assert!(near(way(1), [50.0, -20.0]) && near(way(2), [25.0, -10.0]), "the path stretches");
    assert!((5..=20).all(|v| way(v) == [0.0; 2]), "what is far stays");
    drag(&e, &s, 0, [x, y]);
    let back = exact(&e, &s, epoch);
    let farthest = before.iter().zip(&back).map(|(a, b)| (a[0] - b[0]).hypot(a[1] - b[1]));
    assert!(farthest.fold(0.0, f32::max) < 0.01, "dragging back takes all back");
    assert!(matches!(e.phase(&s), Phase::Settled | Phase::Stopped), "the layout rests");
}

#[test]
fn given_positions_and_pinned_nodes_are_left() {
    let e = engine(config());
    let data = e.add(1, placed_path(6));
    let s = e.open("s", data, 0);
    let mut viewer = e.attach(&s);
    let epoch = next_frame(&mut viewer).epoch;
    let before = exact(&e, &s, epoch);
    drag(&e, &s, 2, [500.0, 500.0]);
    let moved = exact(&e, &s, epoch);
    assert_eq!(moved[2], [500.0, 500.0]);
    assert!((0..6).all(|v| v == 2 || moved[v] == before[v]), "{before:?} {moved:?}");

    let data = e.add(2, star_and_path());
    let s = e.open("t", data, 3_000);
    let mut viewer = e.attach(&s);
    let epoch = next_frame(&mut viewer).epoch;
    until("the end", || matches!(e.phase(&s), Phase::Settled | Phase::Stopped));
    let held = exact(&e, &s, epoch)[27];
    drag(&e, &s, 27, held);
    drag(&e, &s, 0, [900.0, 900.0]);
    assert_eq!(exact(&e, &s, epoch)[27], held, "a pinned leaf stays");
}
