use std::sync::Arc;

use arrow_array::RecordBatch;
use graphlume_table::Table;
use graphlume_types::{Code, Coded, SessionId};
use serde_json::json;

use super::kit::{
    Engine, config, engine, grid, message, next, next_frame, placed_path, placed_path_in_space,
    restless, until,
};
use crate::{Control, EngineError, Phase, Placement, ViewerEvent, block_on};

/// A ring of the nodes.
fn ring(n: usize, radius: f32) -> Vec<[f32; 2]> {
    let angle = |v: usize| std::f32::consts::TAU * v as f32 / n as f32;
    (0..n).map(|v| [radius * angle(v).cos(), radius * angle(v).sin()]).collect()
}

fn place(e: &Engine, s: &SessionId, epoch: u32, at: Vec<[f32; 2]>) -> Result<(), EngineError> {
    let placement = Placement { epoch, positions: at, depths: None, by: "circle".to_owned() };
    block_on(e.handle.control(s.clone(), Control::Place(Arc::new(placement)))).map(drop)
}

fn exact(e: &Engine, s: &SessionId, epoch: u32) -> Vec<[f32; 2]> {
    let mut page = graphlume_scene::wire::Viewer::default();
    page.apply(&block_on(e.handle.reads(s.clone()).positions(epoch)).expect("positions"))
        .expect("shown");
    page.positions
}

/// The root of the mean square of the distances from the middle.
fn size(at: &[[f32; 2]]) -> f32 {
    let mean = |c: usize| at.iter().map(|p| p[c]).sum::<f32>() / at.len() as f32;
    let middle = [mean(0), mean(1)];
    let square = |p: &[f32; 2]| (p[0] - middle[0]).powi(2) + (p[1] - middle[1]).powi(2);
    (at.iter().map(square).sum::<f32>() / at.len() as f32).sqrt()
}

#[test]
fn a_running_layout_stops_where_a_placement_puts_the_nodes() {
    let e = engine(restless());
    let data = e.add(1, grid(10));
    let s = e.open("s", data, 600_000);
    let mut viewer = e.attach(&s);
    let epoch = next_frame(&mut viewer).epoch;
    e.reach(&s, Phase::Running);
    let at = [5000.0, -77.0];
    block_on(e.handle.control(s.clone(), Control::Pin { node: 7, at })).expect("pinned");
    until("the pin", || exact(&e, &s, epoch)[7] == at);
    let mut wanted = ring(100, 0.5);
    wanted[3] = [f32::NAN; 2];
    let before = exact(&e, &s, epoch)[3];
    place(&e, &s, epoch, wanted.clone()).expect("placed");
    let now = exact(&e, &s, epoch);
    assert_eq!(now[7], at, "a pinned node stays");
    assert!(now[3].iter().all(|x| x.is_finite()) && now[3] != wanted[2], "{before:?} {:?}", now[3]);
    assert!((0..100).filter(|v| ![3, 7].contains(v)).all(|v| now[v] == wanted[v]));
    let state = next(&mut viewer, "the placement", |event| match event {
        ViewerEvent::State(state) if state.placements == 1 => Some(state),
        _ => None,
    });
    assert_eq!((state.state, state.playing), (Phase::Settled, false));
    assert_eq!(state.placed_by, "circle");
    let frame = next(&mut viewer, "a key frame", |event| match event {
        ViewerEvent::Frame(frame) if frame.is_key() => Some(frame),
        _ => None,
    });
    assert_eq!(frame.epoch, epoch);
}

#[test]
fn nodes_begin_where_their_degrees_put_them_whatever_the_bound_columns_are_called() {
    let mut loaded = placed_path(4);
    // A longitude of 10 a node, and a latitude of -1; a fifth node has no edges.
    let bindings = json!({"node": "id", "node_longitude": "east", "node_latitude": "north"});
    loaded.encodings.node = json!({"bindings": bindings});
    let nodes = placed_path(5).nodes.expect("a table");
    let column = |of: &str, name| (name, Arc::clone(nodes.column(of).expect("a column")));
    let columns = [column("id", "id"), column("x", "east"), column("y", "north")];
    let batch = RecordBatch::try_from_iter(columns).expect("three columns");
    loaded.nodes = Some(Table::try_new(batch).expect("a table"));
    let e = engine(config());
    let s = e.open("s", e.add(1, loaded), 0);
    let mut viewer = e.attach(&s);
    let graph = next(&mut viewer, "the graph", |event| match &event {
        ViewerEvent::Graph(..) => message(&event),
        _ => None,
    });
    assert_eq!(graph["has_positions"], true);
    let place = &graph["underlay"]["map"];
    let number = |name: &str| place[name].as_f64().expect("a map") as f32;
    let epoch = graph["epoch"].as_u64().expect("a number") as u32;
    next_frame(&mut viewer);
    let at = exact(&e, &s, epoch);
    assert_eq!(at.len(), 5);
    for (v, at) in (0u8..).zip(&at) {
        let x = number("scale") * 10.0 * f32::from(v) + number("x");
        assert!((at[0] - x).abs() < 0.01, "node {v} is at {at:?} and not at {x} on the map");
    }
}

#[test]
fn nodes_stand_where_the_data_has_them_until_a_layout_moves_them_and_again_when_one_puts_them_back()
{
    let e = engine(config());
    let data = e.add(1, placed_path(4));
    let s = e.open("s", data, 0);
    let mut viewer = e.attach(&s);
    let epoch = next_frame(&mut viewer).epoch;
    let given = exact(&e, &s, epoch);
    let state = || block_on(e.handle.info(s.clone())).expect("known").state;
    assert!(!state().displaced);
    // Who drags a node does not mean to leave the map.
    let at = [5000.0, -77.0];
    block_on(e.handle.control(s.clone(), Control::Pin { node: 1, at })).expect("pinned");
    until("the pin", || exact(&e, &s, epoch)[1] == at);
    assert!(!state().displaced);
    place(&e, &s, epoch, ring(4, 50.0)).expect("placed");
    let told = next(&mut viewer, "that nodes were moved", |event| match event {
        ViewerEvent::State(state) if state.displaced => Some(state),
        _ => None,
    });
    assert_eq!((told.iterations, told.state), (0, Phase::Settled), "no forces had a part in it");
    place(&e, &s, epoch, given).expect("placed");
    until("them to be back", || !state().displaced);
    block_on(e.handle.control(s.clone(), Control::Play { on: true, for_millis: None }))
        .expect("on");
    until("forces to move them", || state().displaced);
}

#[test]
fn forces_keep_the_size_of_a_placement() {
    let e = engine(config());
    let data = e.add(1, grid(10));
    let s = e.open("s", data, 0);
    let mut viewer = e.attach(&s);
    let epoch = next_frame(&mut viewer).epoch;
    place(&e, &s, epoch, ring(100, 0.5)).expect("placed");
    block_on(e.handle.control(s.clone(), Control::Play { on: true, for_millis: None }))
        .expect("on");
    let iterations = || block_on(e.handle.info(s.clone())).expect("known").state.iterations;
    until("iterations", || iterations() > 50);
    let size = size(&exact(&e, &s, epoch));
    assert!((0.1..2.5).contains(&size), "{size}");
}

#[test]
fn places_of_another_element_set_are_refused() {
    let e = engine(config());
    let data = e.add(1, grid(4));
    let s = e.open("s", data, 0);
    let mut viewer = e.attach(&s);
    let epoch = next_frame(&mut viewer).epoch;
    for (asked, n) in [(epoch + 1, 16), (epoch, 15)] {
        let refused = place(&e, &s, asked, ring(n, 1.0)).expect_err("refused");
        assert_eq!(refused.code(), Code::Gone, "{refused}");
    }
}

/// What a page reads of the third coordinates, rounded, or the error.
pub(super) fn depths(e: &Engine, s: &SessionId, epoch: u32) -> Result<Vec<f32>, EngineError> {
    use graphlume_scene::wire::{Decoded, NO_DEPTH, decode};
    let frame = decode(&block_on(e.handle.reads(s.clone()).depth(epoch))?).expect("a frame");
    let Decoded::Depth(steps) = frame.payload else { panic!("no depths") };
    let b = frame.header.bounds;
    let z = |q: &u16| (b.x0 + f32::from(*q) * b.sx).round();
    Ok(steps.iter().map(|q| if *q == NO_DEPTH { f32::NAN } else { z(q) }).collect())
}

#[test]
fn a_third_coordinate_is_that_of_the_data_until_a_layout_in_space_gives_another() {
    let e = engine(config());
    let at = [Some(3.0), None, Some(-5.0), Some(7.0)];
    let s = e.open("s", e.add(1, placed_path_in_space(&at)), 0);
    let mut viewer = e.attach(&s);
    let graph = next(&mut viewer, "the graph", |event| match &event {
        ViewerEvent::Graph(..) => message(&event),
        _ => None,
    });
    assert_eq!(graph["layout"]["depths"], 1);
    let epoch = graph["epoch"].as_u64().expect("a number") as u32;
    let of_data = depths(&e, &s, epoch).expect("those of the column z");
    assert_eq!((of_data[0], of_data[2], of_data[3]), (3.0, -5.0, 7.0));
    assert!(of_data[1].is_nan());
    assert!(matches!(depths(&e, &s, epoch + 1), Err(EngineError::Epoch { .. })));
    let in_space = |z: Option<Vec<f32>>| {
        let (positions, by) = (ring(4, 9.0), "kk_3d".to_owned());
        let placement = Placement { epoch, positions, depths: z.map(Arc::new), by };
        block_on(e.handle.control(s.clone(), Control::Place(Arc::new(placement))))
    };
    assert_eq!(in_space(Some(vec![1.0, 2.0, 3.0, 4.0])).expect("placed").depths, 3);
    assert_eq!(depths(&e, &s, epoch).expect("those of the layout"), [1.0, 2.0, 3.0, 4.0]);
    assert!(in_space(Some(vec![1.0])).is_err(), "for another number of nodes");
    // A layout in the plane leaves those of the data.
    assert_eq!(in_space(None).expect("placed").depths, 1);
    assert_eq!(depths(&e, &s, epoch).expect("those of the column z")[3], 7.0);
}

#[test]
fn without_a_third_coordinate_there_is_none_to_ask_for() {
    let e = engine(config());
    for (n, z) in [(1, vec![]), (2, vec![Some(2.0); 4])] {
        let s = e.open(&format!("s{n}"), e.add(n, placed_path_in_space(&z)), 0);
        let mut viewer = e.attach(&s);
        let graph = next(&mut viewer, "the graph", |event| match &event {
            ViewerEvent::Graph(..) => message(&event),
            _ => None,
        });
        assert_eq!(graph["layout"]["depths"], 0, "{z:?}");
        let refused = depths(&e, &s, graph["epoch"].as_u64().expect("a number") as u32);
        let refused = refused.expect_err("no depth");
        assert_eq!((refused.code(), refused.slug()), (Code::NotFound, "no-depth"));
        assert!(refused.to_string().contains("node_z"), "{refused}");
    }
}
