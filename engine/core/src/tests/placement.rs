use std::sync::Arc;

use graphlume_types::{Code, Coded, SessionId};

use super::kit::{Engine, config, engine, grid, next, next_frame, restless, until};
use crate::{Control, EngineError, Phase, Placement, ViewerEvent, block_on};

/// A ring of the nodes.
fn ring(n: usize, radius: f32) -> Vec<[f32; 2]> {
    let angle = |v: usize| std::f32::consts::TAU * v as f32 / n as f32;
    (0..n).map(|v| [radius * angle(v).cos(), radius * angle(v).sin()]).collect()
}

fn place(e: &Engine, s: &SessionId, epoch: u32, at: Vec<[f32; 2]>) -> Result<(), EngineError> {
    let placement = Placement { epoch, positions: at, by: "circle".to_owned() };
    block_on(e.handle.control(s.clone(), Control::Place(Arc::new(placement)))).map(drop)
}

fn exact(e: &Engine, s: &SessionId, epoch: u32) -> Vec<[f32; 2]> {
    let mut page = graphlume_scene::wire::Viewer::default();
    page.apply(&block_on(e.handle.positions(s.clone(), epoch)).expect("positions")).expect("shown");
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
