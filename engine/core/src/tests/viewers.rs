use std::time::Duration;

use super::kit::{config, engine, grid, message, next, next_frame, restless, until};
use crate::{ClosedReason, Phase, ViewerEvent, block_on};

#[test]
fn the_first_events_come_in_the_order_that_the_page_needs() {
    let e = engine(config());
    let data = e.add(1, grid(10));
    let s = e.open("s", data, 0);
    e.reach(&s, Phase::Settled);
    until("the first frame", || e.handle.stats().frames_total >= 1);
    let mut viewer = e.attach(&s);
    let mut order = Vec::new();
    until("four events", || {
        while let Some(event) = viewer.try_next(true) {
            order.push(match &event {
                ViewerEvent::State(_) => "state",
                ViewerEvent::Graph(..) => "graph",
                ViewerEvent::Frame(f) if f.is_key() => "key",
                ViewerEvent::Frame(_) => "delta",
                ViewerEvent::Scene(_) => "scene",
                ViewerEvent::Columns(_) => "columns",
                ViewerEvent::Collections(_) => "collections",
                ViewerEvent::Closed(_) => "closed",
            });
        }
        order.contains(&"scene")
    });
    order.dedup();
    assert_eq!(order[..4], ["state", "graph", "key", "scene"], "{order:?}");
}

#[test]
fn the_messages_have_the_fields_of_the_page_protocol() {
    let e = engine(config());
    let data = e.add(1, super::kit::placed_path(4));
    let s = e.open("s", data, 0);
    let mut viewer = e.attach(&s);
    let graph = next(&mut viewer, "the graph", |event| match &event {
        ViewerEvent::Graph(..) => message(&event),
        _ => None,
    });
    assert_eq!(graph["t"], "graph");
    assert_eq!((graph["node_count"].as_u64(), graph["edge_count"].as_u64()), (Some(4), Some(3)));
    assert_eq!(graph["node_columns"][3]["name"], "name");
    assert_eq!(graph["node_columns"][3]["dtype"], "object");
    assert_eq!(graph["edge_columns"][0]["dtype"], "int64");
    assert_eq!(graph["has_positions"], true);
    assert_eq!(graph["layout"]["settings"]["scalingRatio"], 1.0);
    assert!(graph["legend"].is_object() || graph["legend"].is_array(), "{graph}");
    // States are published at most twice a second of the clock, which stands still unless it is moved.
    until("the viewer is counted", || {
        e.clock.advance(Duration::from_millis(600));
        viewer.state().viewers == 1
    });
    let state = message(&ViewerEvent::State(viewer.state())).expect("text");
    for field in ["t", "state", "detail", "iterations", "iterations_per_s", "playing", "viewers"] {
        assert!(state.get(field).is_some(), "{field} of {state}");
    }
    assert_eq!((&state["state"], &state["viewers"]), (&"settled".into(), &1.into()));
}

#[test]
fn a_slow_viewer_skips_frames_and_still_sees_the_present() {
    let e = engine(restless());
    let data = e.add(1, grid(40));
    let s = e.open("s", data, 600_000);
    let mut quick = e.attach(&s);
    let mut slow = e.attach(&s);
    let mut pages = [(); 2].map(|()| graphlume_scene::wire::Viewer::default());
    pages[1].apply(&next_frame(&mut slow).bytes).expect("a key frame");
    let mut seen = 0;
    for _ in 0..40 {
        e.clock.advance(Duration::from_millis(101));
        let frame = next_frame(&mut quick);
        pages[0].apply(&frame.bytes).expect("an applicable frame");
        seen += 1;
    }
    let pause = crate::Control::Play { on: false, for_millis: None };
    block_on(e.handle.control(s.clone(), pause)).expect("paused");
    let made = || e.handle.stats().frames_total;
    until("the last frame", || {
        let before = made();
        e.settle_down();
        before == made()
    });
    let mut got = 0;
    while let Some(event) = slow.try_next(true) {
        if let ViewerEvent::Frame(frame) = event {
            pages[1].apply(&frame.bytes).expect("the key frame came first");
            got += 1;
        }
    }
    assert!(seen == 40 && (1..=3).contains(&got), "{got} of {seen}");
    while let Some(event) = quick.try_next(true) {
        if let ViewerEvent::Frame(frame) = event {
            pages[0].apply(&frame.bytes).expect("an applicable frame");
        }
    }
    assert_eq!(pages[0].positions, pages[1].positions);
}

#[test]
fn a_viewer_without_credit_gets_news_but_no_frames() {
    let e = engine(config());
    let data = e.add(1, grid(10));
    let s = e.open("s", data, 0);
    let mut viewer = e.attach(&s);
    e.reach(&s, Phase::Settled);
    until("a frame", || e.handle.stats().frames_total >= 1);
    let mut events = Vec::new();
    while let Some(event) = viewer.try_next(false) {
        events.push(event);
    }
    assert!(events.iter().any(|event| matches!(event, ViewerEvent::Graph(..))));
    assert!(!events.iter().any(|event| matches!(event, ViewerEvent::Frame(_))));
    assert!(matches!(viewer.try_next(true), Some(ViewerEvent::Frame(_))));
}

#[test]
fn a_late_joiner_gets_a_key_frame_and_then_the_present() {
    let e = engine(restless());
    let data = e.add(1, grid(40));
    let s = e.open("s", data, 600_000);
    let mut early = e.attach(&s);
    until("a delta", || {
        e.clock.advance(Duration::from_millis(101));
        !next_frame(&mut early).is_key()
    });
    let mut late = e.attach(&s);
    let first = next_frame(&mut late);
    assert!(first.is_key());
    let mut page = graphlume_scene::wire::Viewer::default();
    page.apply(&first.bytes).expect("a key frame");
    e.clock.advance(Duration::from_millis(101));
    let second = next_frame(&mut late);
    page.apply(&second.bytes).expect("applicable");
    assert!(second.seq > first.seq);
}

#[test]
fn a_page_that_reconnects_is_not_sent_what_it_has() {
    let e = engine(config());
    let data = e.add(1, grid(10));
    let s = e.open("s", data, 0);
    let mut viewer = e.attach(&s);
    let frame = next_frame(&mut viewer);
    drop(viewer);
    let mut again = e.attach(&s);
    again.resume(frame.epoch, frame.seq);
    e.settle_down();
    let mut events = Vec::new();
    while let Some(event) = again.try_next(true) {
        events.push(event);
    }
    assert!(!events.iter().any(|e| matches!(e, ViewerEvent::Graph(..) | ViewerEvent::Frame(_))));
    let mut stranger = e.attach(&s);
    stranger.resume(frame.epoch + 1, frame.seq);
    assert!(next_frame(&mut stranger).is_key());
}

#[test]
fn a_forgotten_dataset_closes_its_viewers() {
    let e = engine(restless());
    let data = e.add(1, grid(10));
    let s = e.open("s", data, 600_000);
    let mut viewer = e.attach(&s);
    next_frame(&mut viewer);
    block_on(e.handle.forget(data)).expect("forgotten");
    // Awaited, so that the wake-up is tested too.
    let reason = loop {
        if let ViewerEvent::Closed(reason) = block_on(viewer.next(true)) {
            break reason;
        }
    };
    assert_eq!(reason, ClosedReason::DatasetGone);
    assert!(block_on(e.handle.attach(s)).is_err());
}

#[test]
fn viewers_are_counted_and_limited() {
    let e = engine(config());
    let data = e.add(1, grid(3));
    let s = e.open("s", data, 0);
    let viewers: Vec<_> =
        (0..graphlume_types::limits::VIEWERS_PER_SESSION_MAX).map(|_| e.attach(&s)).collect();
    let refused = block_on(e.handle.attach(s.clone())).expect_err("full");
    assert_eq!(graphlume_types::Coded::code(&refused), graphlume_types::Code::Exhausted);
    until("the count", || e.handle.stats().viewers == viewers.len());
    drop(viewers);
    until("none", || e.handle.stats().viewers == 0);
    e.attach(&s);
}

#[test]
fn colours_by_community_follow_the_first_picture() {
    let e = engine(config());
    let mut pairs = Vec::new();
    for c in 0..4i64 {
        for i in 0..6 {
            for j in 0..i {
                pairs.push((c * 6 + i, c * 6 + j));
            }
        }
        pairs.push((c * 6, (c * 6 + 6) % 24));
    }
    let data = e.add(1, super::kit::graph(&pairs));
    let s = e.open("s", data, 0);
    let mut viewer = e.attach(&s);
    let colors = next(&mut viewer, "the second colours", |event| match event {
        ViewerEvent::Scene(scene) if scene.version == 2 => Some(scene),
        _ => None,
    });
    let decoded = graphlume_scene::wire::decode(&colors.node_color).expect("a frame");
    let graphlume_scene::wire::Decoded::Color(_, rgba) = decoded.payload else { panic!("colours") };
    let mut distinct: Vec<_> = rgba.chunks(6).map(|c| c[0]).collect();
    assert!(rgba.chunks(6).all(|c| c.iter().all(|x| *x == c[0])), "{rgba:?}");
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), 4);
}

#[test]
fn a_viewer_can_be_driven_by_a_runtime_that_moves_it_between_threads() {
    fn assert_send<T: Send>(value: T) -> T {
        value
    }
    let e = engine(config());
    let data = e.add(1, grid(3));
    let s = e.open("s", data, 0);
    let mut viewer = assert_send(block_on(assert_send(e.handle.attach(s))).expect("attached"));
    let first = block_on(assert_send(viewer.next(true)));
    assert!(matches!(first, ViewerEvent::State(_)));
}
