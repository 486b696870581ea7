use std::sync::atomic::Ordering;
use std::time::Duration;

use graphlume_types::Coded;

use super::kit::{config, engine, grid, next_frame, until};
use crate::{Config, ParsedQuery, Phase, QueryRequest, ResultMode, block_on};

/// Bytes that a grid of this side needs while it loads, and keeps.
fn bytes_of(side: i64) -> (u64, u64) {
    let e = engine(config());
    let data = e.add(1, grid(side));
    block_on(e.handle.preload(data)).expect("started");
    until("the graph", || e.handle.stats().resident_graphs == 1);
    let stats = e.handle.stats();
    (stats.memory_bytes_peak, stats.memory_bytes)
}

#[test]
fn eviction_takes_the_longest_unused_and_never_a_leased_one() {
    let (peak, kept) = bytes_of(100);
    assert!(peak > kept && kept > 0, "a footprint is shrunk to the real size");
    // One that is watched with its layout, one idle, and place to load another but not to keep it.
    let budget = kept * 2 + peak + kept / 2;
    let e = engine(Config { host_budget_bytes: budget, ..config() });
    let (a, b, c, d) =
        (e.add(1, grid(100)), e.add(2, grid(100)), e.add(3, grid(100)), e.add(4, grid(100)));
    let s = e.open("s", a, 0);
    let mut viewer = e.attach(&s);
    next_frame(&mut viewer);
    for data in [b, c, d] {
        block_on(e.handle.preload(data)).expect("started");
        until("the load", || e.handle.stats().loads_waiting == 0);
        e.clock.advance(Duration::from_secs(1));
        let resident = e.handle.stats();
        until("it to be resident", || {
            e.settle_down();
            e.loader.loads.load(Ordering::SeqCst) as u64 == e.handle.stats().loads_total
                && e.handle.stats().memory_bytes <= budget
        });
        assert!(resident.memory_bytes <= budget);
        std::thread::sleep(Duration::from_millis(100));
    }
    until("an eviction", || e.handle.stats().evictions_total >= 1);
    assert_eq!(e.handle.stats().memory_refusals_total, 0);
    // The watched one is still there: no second load.
    let loads = e.loader.loads.load(Ordering::SeqCst);
    block_on(e.handle.reads(s).node_card(0)).expect("resident");
    assert_eq!(e.loader.loads.load(Ordering::SeqCst), loads);
    // The evicted one comes back when it is wanted.
    let t = e.open("t", b, 0);
    e.reach(&t, Phase::Settled);
}

#[test]
fn a_graph_beyond_the_budget_is_refused_for_good() {
    let e = engine(Config { host_budget_bytes: 10_000, ..config() });
    let data = e.add(1, grid(60));
    let s = e.open("s", data, 0);
    e.reach(&s, Phase::Failed);
    let refused = block_on(e.handle.reads(s).node_card(0)).expect_err("too large");
    assert_eq!(refused.slug(), "dataset-too-large");
    assert!(refused.to_string().contains("budget"), "{refused}");
    until("nothing to stay reserved", || e.handle.stats().memory_bytes == 0);
}

#[test]
fn a_cancelled_load_gives_its_reservation_back() {
    let e = engine(config());
    let data = e.add(1, grid(4));
    *e.loader.footprint.lock() = Some(1 << 20);
    e.loader.gate.store(true, Ordering::SeqCst);
    let s = e.open("s", data, 0);
    until("the declared bytes", || e.handle.stats().memory_bytes == 1 << 20);
    block_on(e.handle.forget(data)).expect("forgotten");
    until("the loader to notice", || e.loader.stopped.load(Ordering::SeqCst) == 1);
    until("the bytes to come back", || e.handle.stats().memory_bytes == 0);
    assert!(block_on(e.handle.info(s)).is_err());
}

#[test]
fn an_idle_session_gives_its_graph_back_and_keeps_its_positions() {
    let e = engine(super::kit::restless());
    let data = e.add(1, grid(8));
    let s = e.open("s", data, 60_000);
    let mut viewer = e.attach(&s);
    until("some iterations", || {
        block_on(e.handle.info(s.clone())).expect("known").state.iterations > 20
    });
    block_on(e.handle.control(s.clone(), crate::Control::Play { on: false, for_millis: None }))
        .expect("paused");
    let epoch =
        block_on(e.handle.info(s.clone())).expect("known").graph.clone().expect("graph").epoch;
    let before = block_on(e.handle.reads(s.clone()).positions(epoch)).expect("positions");
    drop(viewer);
    e.clock.advance(Duration::from_secs(120));
    e.settle_down();
    e.clock.advance(Duration::from_secs(120));
    e.settle_down();
    let full = e.handle.stats().memory_bytes;
    // With nobody on it the graph may be evicted; pretend that another one needed the room.
    block_on(e.handle.caller.call(crate::cmd::fail_point::FailPoint::EvictAll)).expect("evicted");
    assert!(e.handle.stats().memory_bytes < full);
    assert!(e.handle.stats().memory_bytes > 0, "the positions are kept");
    assert_eq!(e.loader.loads.load(Ordering::SeqCst), 1);
    viewer = e.attach(&s);
    next_frame(&mut viewer);
    until("the graph to be loaded again", || e.loader.loads.load(Ordering::SeqCst) == 2);
    let after = block_on(e.handle.reads(s).positions(epoch)).expect("the same epoch");
    assert_eq!(before[48..], after[48..]);
}

#[test]
fn closing_sessions_and_forgetting_datasets_returns_every_byte() {
    let e = engine(config());
    let data = e.add(1, grid(10));
    let sessions: Vec<_> = (0..5).map(|i| e.open(&format!("s{i}"), data, 5_000)).collect();
    let viewers: Vec<_> = sessions.iter().map(|s| e.attach(s)).collect();
    until("layouts", || e.handle.stats().iterations_total > 20);
    drop(viewers);
    for s in sessions {
        block_on(e.handle.close(s)).expect("closed");
    }
    block_on(e.handle.forget(data)).expect("forgotten");
    until("an empty ledger", || e.handle.stats().memory_bytes == 0);
    until("no session", || e.handle.stats().sessions == 0);
}

#[test]
fn a_query_ends_at_its_share_of_the_memory_and_gives_it_back() {
    let e = engine(Config { host_budget_bytes: 64 << 20, ..config() });
    let data = e.add(1, grid(20));
    // A quarter of the budget has room for 418,816 values of 40 bytes, 1,024 at a time.
    let ask = |rows: u32| {
        let text = format!("UNWIND range(1, {rows}) AS i RETURN i");
        let query = graphlume_cypher::parse_text(&text).expect("a query");
        let request = QueryRequest {
            drawn: false,
            ask: ParsedQuery::Cypher(query.into(), serde_json::Map::new()),
            strictness: graphlume_expr::Strictness::Strict,
            mode: ResultMode::Rows,
            user: None,
            others: vec![],
        };
        block_on(e.handle.query(data, request)).expect("the engine answers")
    };
    let answered = ask(418_000).expect("it fits");
    assert!((16_000_000..=16 << 20).contains(&answered.memory.used()), "{:?}", answered.memory);
    let bytes = || e.handle.stats().memory_bytes;
    let held = bytes();
    drop(answered);
    // The thread that made the answer lets go a moment after it has given it.
    until("the bytes of an answer that is gone", || bytes() + 16_000_000 <= held);
    let rest = bytes();
    let refused = ask(421_000).expect_err("too much");
    assert_eq!(refused.slug(), "query-out-of-memory");
    let text = refused.to_string();
    assert!(text.contains("of the 16777216 bytes") && text.contains("suggestion"), "{text}");
    until("the bytes of the refused query", || bytes() == rest);
    drop(ask(418_000).expect("it fits again"));
}
