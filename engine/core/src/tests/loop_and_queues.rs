use std::sync::mpsc::sync_channel;
use std::time::Duration;

use graphlume_types::{Code, Coded, limits};

use super::kit::{config, engine, grid, session, until};
use crate::cmd::fail_point::FailPoint;
use crate::{ClosedReason, EngineError, LayoutSettings, ViewerEvent, block_on};

#[test]
fn a_panic_in_a_command_is_answered_once_and_harms_nobody() {
    let e = engine(config());
    let data = e.add(1, grid(4));
    let s = e.open("s", data, 0);
    let answer = block_on(e.handle.caller.call(FailPoint::PanicInCommand));
    assert_eq!(answer.expect_err("panicked"), EngineError::Dropped);
    for _ in 0..100 {
        block_on(e.handle.info(s.clone())).expect("still served");
    }
    assert_eq!(e.handle.stats().panics_total, 1);
}

#[test]
fn a_panic_in_a_job_is_answered_once_and_gives_its_lease_back() {
    let e = engine(config());
    let data = e.add(1, grid(4));
    let s = e.open("s", data, 0);
    for _ in 0..10 {
        let answer = block_on(e.handle.caller.call(FailPoint::PanicInJob(s.clone())));
        assert_eq!(answer.expect_err("panicked").code(), Code::Internal);
    }
    // The caller is answered while the panic unwinds, a moment before it is counted.
    until("the panics to be counted", || e.handle.stats().panics_total == 10);
    block_on(e.handle.reads(s.clone()).node_card(0)).expect("workers are alive");
    block_on(e.handle.forget(data)).expect("forgotten");
    until("the memory to be given back", || e.handle.stats().memory_bytes == 0);
}

#[test]
fn a_full_queue_refuses_at_once_and_what_was_taken_is_answered() {
    let e = engine(config());
    let (begun, has_begun) = sync_channel(1);
    let (until, over) = sync_channel::<()>(1);
    let busy = e.handle.caller.call(FailPoint::Hold(begun, over));
    has_begun.recv().expect("the engine took it out of its queue");
    // The engine is held until all have asked, so a call that waited for it would wait for ever.
    let calls: Vec<_> = (0..limits::INTERACTIVE_QUEUE_MAX + 20)
        .map(|_| e.handle.caller.call(crate::cmd::info::Info { session: session("none") }))
        .collect();
    drop(until);
    let (mut refused, mut served) = (0, 0);
    for call in calls {
        match block_on(call).expect_err("no such session") {
            error @ EngineError::Busy { .. } => {
                assert_eq!(error.code(), Code::Exhausted);
                refused += 1;
            }
            EngineError::SessionNotFound(_) => served += 1,
            other => panic!("{other}"),
        }
    }
    assert_eq!((refused, served), (20, limits::INTERACTIVE_QUEUE_MAX));
    block_on(busy).expect("slept");
}

#[test]
fn a_viewer_that_hides_and_shows_itself_leaves_room_in_the_queue() {
    let e = engine(config());
    let data = e.add(1, grid(4));
    let s = e.open("s", data, 0);
    let mut viewer = e.attach(&s);
    let (begun, has_begun) = sync_channel(1);
    let (until, over) = sync_channel::<()>(1);
    let busy = e.handle.caller.call(FailPoint::Hold(begun, over));
    has_begun.recv().expect("the engine took it out of its queue");
    for i in 0..4 * limits::CONTROL_QUEUE_MAX {
        viewer.set_visible(i % 2 == 1);
    }
    // Opening is a command of the same queue, which was full with one command for each change.
    let settings = LayoutSettings::default();
    let opened = e.handle.caller.call(crate::cmd::open::Open {
        session: session("t"),
        dataset: data,
        settings,
    });
    drop(until);
    block_on(opened).expect("there is room");
    block_on(busy).expect("held");
    assert!(e.handle.stats().viewers >= 1);
}

#[test]
fn an_overlong_turn_is_counted() {
    let e = super::kit::live_engine(config());
    block_on(e.handle.caller.call(FailPoint::Sleep(Duration::from_millis(80)))).expect("slept");
    until("the stall to be counted", || e.handle.stats().stalls_total >= 1);
}

#[test]
fn stopping_tells_viewers_and_answers_callers() {
    let mut e = engine(config());
    let data = e.add(1, grid(4));
    let s = e.open("s", data, 0);
    let mut viewer = e.attach(&s);
    e.thread.take().expect("running").stop();
    let closed = super::kit::next(&mut viewer, "the end", |event| match event {
        ViewerEvent::Closed(reason) => Some(reason),
        _ => None,
    });
    assert_eq!(closed, ClosedReason::Shutdown);
    assert!(viewer.try_next(true).is_none(), "told once");
    assert_eq!(block_on(e.handle.info(s)).expect_err("stopped"), EngineError::Stopped);
    assert!(e.handle.health().stopping && !e.handle.health().ok);
}

#[test]
fn stopping_does_not_wait_for_a_loader_that_hangs() {
    let mut e = engine(config());
    let data = e.add(1, grid(4));
    e.loader.gate.store(true, std::sync::atomic::Ordering::SeqCst);
    let s = e.open("s", data, 0);
    let reads = e.handle.reads(s.clone());
    let card = reads.node_card(0);
    let asked = e.handle.caller.call(crate::cmd::cards::NodeCard { target: s.into(), index: 0 });
    e.settle_down();
    e.thread.take().expect("running").stop();
    assert_eq!(block_on(asked).expect_err("stopped"), EngineError::Stopped);
    drop(card);
}

#[test]
fn health_shows_a_beating_loop_and_a_right_canary() {
    let e = engine(config());
    let health = block_on(e.handle.probe()).expect("probed");
    let (canary, _) = health.canary.clone().expect("has run");
    assert!(canary.ok, "{}", canary.detail);
    assert!(health.ok && health.threads == 2 && health.device == "cpu");
    // Within a second the result is shared; after it, a new one is made.
    e.clock.advance(Duration::from_millis(1500));
    let stale = e.handle.health().canary.expect("kept").1;
    assert!(stale >= Duration::from_millis(1500));
    until("a fresh canary", || {
        e.handle.health().canary.is_some_and(|(_, age)| age < Duration::from_secs(1))
    });
}
