use std::time::Duration;

use graphlume_scene::wire::flags as wire_flags;
use graphlume_types::{Code, Coded};
use serde_json::json;

use super::kit::{
    Engine, config, engine, flags, grid, live_engine, next, next_frame, placed_path, restless,
    until,
};
use crate::layout_settings::play_iterations;
use crate::{Config, Control, EngineError, Phase, ViewerEvent, block_on};

fn iterations(e: &Engine, s: &graphlume_types::SessionId) -> u64 {
    block_on(e.handle.info(s.clone())).expect("known").state.iterations
}

#[test]
fn a_layout_plays_while_watched_and_stops_after_its_iterations_at_any_pace() {
    let e = engine(restless());
    let data = e.add(1, grid(40));
    let s = e.open("s", data, 5_000);
    e.reach(&s, Phase::Paused);
    e.settle_down();
    assert_eq!(iterations(&e, &s), 0, "nobody watches, nothing moves");
    // Time before the first viewer does not count.
    e.clock.advance(Duration::from_secs(30));
    e.settle_down();
    let mut viewer = e.attach(&s);
    e.reach(&s, Phase::Running);
    let first = next_frame(&mut viewer);
    assert!(first.is_key());
    until("iterations", || iterations(&e, &s) > 0);
    // A machine that is busy with something else does not end it.
    e.clock.advance(Duration::from_millis(5_001));
    let stopped = next(&mut viewer, "the end of the play", |event| match event {
        ViewerEvent::State(state) if state.state == Phase::Stopped => Some(state),
        _ => None,
    });
    assert!(!stopped.playing);
    let budget = play_iterations(5_000, 1_600, 3_120);
    assert_eq!(stopped.iterations, budget);
    assert_eq!(stopped.detail, format!("stopped after {budget} iterations, still moving"));
    let moving = wire_flags::RUNNING | wire_flags::SETTLED;
    let last = next(&mut viewer, "a last key frame", |event| match event {
        ViewerEvent::Frame(f) if flags(&f.bytes) & moving == 0 => Some(f),
        _ => None,
    });
    assert!(last.is_key() && last.seq > first.seq);
    let after = iterations(&e, &s);
    e.clock.advance(Duration::from_secs(10));
    e.settle_down();
    assert_eq!(iterations(&e, &s), after);
}

#[test]
fn a_layout_that_has_come_to_rest_settles_before_its_time() {
    let e = engine(config());
    let data = e.add(1, grid(3));
    let s = e.open("s", data, 600_000);
    let _viewer = e.attach(&s);
    e.reach(&s, Phase::Settled);
    assert!(iterations(&e, &s) > 0);
    // A viewer who presses play sees it move.
    let before = iterations(&e, &s);
    block_on(e.handle.control(s.clone(), Control::Play { on: true, for_millis: None }))
        .expect("on");
    until("more iterations", || iterations(&e, &s) > before);
    e.reach(&s, Phase::Settled);
}

#[test]
fn without_a_viewer_the_layout_pauses_and_goes_on_with_the_next_one() {
    let e = engine(restless());
    let data = e.add(1, grid(60));
    let s = e.open("s", data, 600_000);
    let viewer = e.attach(&s);
    e.reach(&s, Phase::Running);
    drop(viewer);
    e.settle_down();
    e.clock.advance(Duration::from_millis(1_900));
    e.settle_down();
    assert_eq!(e.phase(&s), Phase::Running, "a reload of the page takes a moment");
    e.clock.advance(Duration::from_millis(200));
    e.reach(&s, Phase::Paused);
    let mut hidden = e.attach(&s);
    e.reach(&s, Phase::Running);
    hidden.set_visible(false);
    e.settle_down();
    e.clock.advance(Duration::from_millis(2_100));
    e.reach(&s, Phase::Paused);
    hidden.set_visible(true);
    e.reach(&s, Phase::Running);
}

#[test]
fn a_viewers_pause_stays_and_play_goes_on() {
    let e = engine(restless());
    let data = e.add(1, grid(60));
    let s = e.open("s", data, 600_000);
    let mut viewer = e.attach(&s);
    let epoch = next_frame(&mut viewer).epoch;
    e.reach(&s, Phase::Running);
    let state =
        block_on(e.handle.control(s.clone(), Control::Play { on: false, for_millis: None }))
            .expect("paused");
    assert!(state.state == Phase::Paused && !state.playing);
    let _second = e.attach(&s);
    e.settle_down();
    assert_eq!(e.phase(&s), Phase::Paused);
    // The slice that was on its way is back once the positions have come.
    block_on(e.handle.reads(s.clone()).positions(epoch)).expect("positions");
    let play = Control::Play { on: true, for_millis: Some(1_000) };
    let state = block_on(e.handle.control(s.clone(), play)).expect("on");
    assert_eq!(state.state, Phase::Running);
    e.reach(&s, Phase::Stopped);
    assert_eq!(iterations(&e, &s), state.iterations + play_iterations(1_000, 3_600, 7_080));
}

/// Positions and iterations at which a layout stopped by itself.
fn outcome(settings: Config, hurry: bool) -> (u64, bytes::Bytes) {
    let e = engine(settings);
    let data = e.add(1, grid(24));
    let s = e.open("s", data, 2_000);
    let mut viewer = e.attach(&s);
    let epoch = next_frame(&mut viewer).epoch;
    until("the end", || {
        if hurry {
            // Hours pass between two slices.
            e.clock.advance(Duration::from_secs(3_600));
        }
        matches!(e.phase(&s), Phase::Settled | Phase::Stopped)
    });
    let exact = block_on(e.handle.reads(s.clone()).positions(epoch)).expect("positions");
    (iterations(&e, &s), exact.slice(48..))
}

#[test]
fn the_same_data_gives_the_same_picture_at_any_load() {
    let idle = outcome(restless(), false);
    assert_eq!(idle.0, play_iterations(2_000, 576, 1_104));
    let slow = Config { slice: Duration::from_micros(1), ..restless() };
    assert_eq!(outcome(slow, true), idle, "a machine under load, in small slices");
    let at_rest = outcome(config(), false);
    assert_eq!(outcome(Config { slice: Duration::from_micros(1), ..config() }, true), at_rest);
}

#[test]
fn bound_positions_never_move_without_play() {
    let e = engine(config());
    let data = e.add(1, placed_path(5));
    let s = e.open("s", data, 0);
    let mut viewer = e.attach(&s);
    let frame = next_frame(&mut viewer);
    let mut page = graphlume_scene::wire::Viewer::default();
    page.apply(&frame.bytes).expect("a frame");
    for (i, p) in page.positions.iter().enumerate() {
        #[allow(clippy::cast_precision_loss, reason = "small")]
        let i = i as f32;
        assert!((p[0] - 10.0 * i).abs() < 0.01 && (p[1] + i).abs() < 0.01, "{i}: {p:?}");
    }
    assert!(flags(&frame.bytes) & wire_flags::SETTLED != 0);
    e.clock.advance(Duration::from_secs(10));
    e.settle_down();
    assert_eq!((e.phase(&s), iterations(&e, &s)), (Phase::Settled, 0));
    let exact = block_on(e.handle.reads(s).positions(frame.epoch)).expect("positions");
    page.apply(&exact).expect("a frame");
    assert_eq!(page.positions[3], [30.0, -3.0]);
}

#[test]
fn without_bound_positions_and_play_a_start_placement_is_shown() {
    let e = engine(config());
    let data = e.add(1, grid(10));
    let s = e.open("s", data, 0);
    let mut viewer = e.attach(&s);
    let frame = next_frame(&mut viewer);
    let mut page = graphlume_scene::wire::Viewer::default();
    page.apply(&frame.bytes).expect("a frame");
    assert_eq!(page.positions.len(), 100);
    assert!(page.positions.iter().flatten().all(|x| x.is_finite()));
    assert!(page.positions.iter().any(|p| *p != page.positions[0]));
    assert_eq!(e.phase(&s), Phase::Settled);
}

#[test]
fn a_pinned_node_is_shown_where_it_was_put_and_stays_there() {
    let e = engine(config());
    let data = e.add(1, placed_path(6));
    let s = e.open("s", data, 0);
    let mut viewer = e.attach(&s);
    let epoch = next_frame(&mut viewer).epoch;
    let at = [123.5, -77.0];
    block_on(e.handle.control(s.clone(), Control::Pin { node: 2, at })).expect("pinned");
    let mut page = graphlume_scene::wire::Viewer::default();
    let mut pinned = |handle: &crate::EngineHandle| {
        let bytes = block_on(handle.reads(s.clone()).positions(epoch)).expect("positions");
        page.apply(&bytes).expect("a frame");
        page.positions[2]
    };
    assert_eq!(pinned(&e.handle), at);
    block_on(e.handle.control(s.clone(), Control::Play { on: true, for_millis: None }))
        .expect("on");
    until("iterations", || iterations(&e, &s) > 20);
    assert_eq!(pinned(&e.handle), at);
    block_on(e.handle.control(s.clone(), Control::Unpin { node: 2 })).expect("let go");
    block_on(e.handle.control(s.clone(), Control::Play { on: true, for_millis: None }))
        .expect("on");
    until("it to move", || pinned(&e.handle) != at);
    let beyond = block_on(e.handle.control(s.clone(), Control::Pin { node: 6, at }));
    assert_eq!(beyond.expect_err("no such node").code(), Code::NotFound);
    let nowhere = Control::Pin { node: 1, at: [f32::NAN, 0.0] };
    let refused = block_on(e.handle.control(s.clone(), nowhere)).expect_err("no such place");
    assert_eq!(refused.code(), Code::InvalidArgument);
}

#[test]
fn knobs_are_shared_with_other_viewers_and_wrong_ones_refused() {
    let e = engine(restless());
    let data = e.add(1, grid(30));
    let s = e.open("s", data, 600_000);
    let mut other = e.attach(&s);
    e.reach(&s, Phase::Running);
    let patch = json!({"linLog": true, "gravity": 3}).as_object().cloned().unwrap_or_default();
    let state = block_on(e.handle.control(s.clone(), Control::Settings(patch))).expect("changed");
    assert!(state.settings.lin_log == Some(true) && state.settings.gravity == 3.0);
    next(&mut other, "the change", |event| match event {
        ViewerEvent::State(state) if state.settings.lin_log == Some(true) => Some(()),
        _ => None,
    });
    let wrong = json!({"gravitas": 1}).as_object().cloned().unwrap_or_default();
    let refused = block_on(e.handle.control(s.clone(), Control::Settings(wrong))).expect_err("no");
    assert_eq!((refused.code(), refused.field()), (Code::InvalidArgument, Some("gravitas")));
}

#[test]
fn running_sessions_share_the_workers_fairly() {
    let e = live_engine(crate::Config { layout_threads: 1, ..restless() });
    let data = e.add(1, grid(50));
    let sessions: Vec<_> = (0..6).map(|i| e.open(&format!("s{i}"), data, 600_000)).collect();
    let viewers: Vec<_> = sessions.iter().map(|s| e.attach(s)).collect();
    until("everybody to have moved", || sessions.iter().all(|s| iterations(&e, s) >= 20));
    // Measured over a window of many turns: a single slice more or less is no unfairness.
    let begun: Vec<u64> = sessions.iter().map(|s| iterations(&e, s)).collect();
    let moved = || -> Vec<u64> {
        sessions.iter().zip(&begun).map(|(s, b)| iterations(&e, s) - b).collect()
    };
    until("many turns", || moved().iter().all(|m| *m >= 600));
    let counts = moved();
    let (min, max) = (counts.iter().min().expect("six"), counts.iter().max().expect("six"));
    #[allow(clippy::cast_precision_loss, reason = "small")]
    let ratio = *max as f64 / *min as f64;
    assert!(ratio <= 1.5, "{counts:?}");
    drop(viewers);
}

#[test]
fn who_may_see_one_dataset_is_refused_once_the_session_shows_another() {
    let e = engine(config());
    let (mine, theirs) = (e.add(1, grid(3)), e.add(2, grid(4)));
    let s = e.open("s", mine, 0);
    let seat = (s.clone(), mine);
    let viewer = block_on(e.handle.attach(seat.clone())).expect("it shows that");
    block_on(e.handle.reads(seat.clone()).node_card(0)).expect("a card");
    drop(viewer);
    assert_eq!(e.open("s", theirs, 0), s, "the name is taken over");
    let gone = |refused: EngineError| {
        assert_eq!((refused.code(), refused.slug()), (Code::Gone, "session-closed"), "{refused}");
    };
    gone(block_on(e.handle.reads(seat.clone()).node_card(0)).expect_err("another dataset"));
    gone(block_on(e.handle.reads(seat.clone()).edge_card(0)).expect_err("another dataset"));
    gone(block_on(e.handle.reads(seat.clone()).edges(1)).expect_err("another dataset"));
    gone(block_on(e.handle.reads(seat.clone()).positions(1)).expect_err("another dataset"));
    gone(block_on(e.handle.reads(seat.clone()).search("1".to_owned(), 3)).expect_err("another"));
    let play = Control::Play { on: true, for_millis: None };
    gone(block_on(e.handle.control(seat.clone(), play)).expect_err("another dataset"));
    gone(block_on(e.handle.attach(seat)).expect_err("another dataset"));
    block_on(e.handle.reads((s, theirs)).node_card(0)).expect("a card of the other");
}
