use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use crossbeam::channel::bounded;
use graphlume_device::CpuPool;
use graphlume_expr::Strictness;
use graphlume_gfql::parse;
use graphlume_table::Table;
use graphlume_types::clock::SystemClock;
use graphlume_types::{Budget, CancelToken, Code, Coded};
use serde_json::json;

use super::kit::{Source, config, engine, graph, grid, id, next, next_frame, placed_path, until};
use crate::context::EngineContext;
use crate::report::Reports;
use crate::residency::{LoadJob, ResidencyEvent};
use crate::{
    ComputeRequest, EngineError, LayoutSettings, Loaded, ParsedQuery, Phase, QueryAnswer,
    QueryRequest, ResultMode, ViewerEvent, block_on,
};

/// What loads see of an engine that has no GPU.
fn without_gpu() -> Arc<EngineContext> {
    let clock = Arc::new(SystemClock);
    Arc::new(EngineContext::new(config(), clock, Err(Arc::from("a test")), 1))
}

#[test]
fn any_number_of_sessions_cause_one_load() {
    let e = engine(config());
    let data = e.add(1, grid(5));
    e.loader.gate.store(true, Ordering::SeqCst);
    let sessions: Vec<_> = (0..40).map(|i| e.open(&format!("s{i}"), data, 0)).collect();
    let cards: Vec<_> = sessions
        .iter()
        .map(|s| {
            e.handle.caller.call(crate::cmd::cards::NodeCard { target: s.clone().into(), index: 3 })
        })
        .collect();
    block_on(e.handle.preload(data)).expect("already loading");
    assert_eq!(e.phase(&sessions[7]), Phase::Loading);
    e.loader.gate.store(false, Ordering::SeqCst);
    for card in cards {
        assert!(block_on(card).expect("a card").is_object());
    }
    for s in &sessions {
        e.reach(s, Phase::Settled);
    }
    assert_eq!(e.loader.loads.load(Ordering::SeqCst), 1);
    // The figures are shown at the end of the engine's turn, after its answers.
    until("one resident graph", || e.handle.stats().resident_graphs == 1);
}

#[test]
fn a_load_for_a_query_places_no_nodes_and_a_session_places_them() {
    let e = engine(config());
    let data = e.add(1, grid(5));
    let (events, _reported) = bounded::<ResidencyEvent>(16);
    let job = LoadJob {
        dataset: data,
        ticket: 1,
        epoch: 1,
        columns_version: 0,
        given_up: HashMap::new(),
        cancel: CancelToken::new(),
        wants_positions: Arc::default(),
        loader: e.loader.clone(),
        pool: Arc::new(CpuPool::new(1).expect("a pool")),
        ctx: without_gpu(),
        budget: Budget::new("graphs", 1 << 30),
        reports: Reports::new(events),
    };
    let ResidencyEvent::Loaded { result: Ok(resident), .. } = job.run() else { panic!("a graph") };
    assert!(resident.start().is_none());
    let by_hand = e.loader.loads.load(Ordering::SeqCst);
    let hop = json!([{"type": "Node"}, {"type": "Edge", "direction": "forward"}, {"type": "Node"}]);
    let ask = ParsedQuery::Gfql(Arc::new(parse(&hop).expect("a query")), None);
    let request = || QueryRequest {
        drawn: false,
        ask: ask.clone(),
        strictness: Strictness::Strict,
        mode: ResultMode::Sizes,
        user: None,
        others: vec![],
    };
    let answered = block_on(e.handle.query(data, request())).expect("asked").expect("an answer");
    let QueryAnswer::Sizes(sizes) = answered.answer else { panic!("sizes") };
    assert_eq!((sizes.nodes, sizes.edges), (25, 40));
    let s = e.open("s", data, 0);
    let mut viewer = e.attach(&s);
    next_frame(&mut viewer);
    e.reach(&s, Phase::Settled);
    assert_eq!(e.loader.loads.load(Ordering::SeqCst), by_hand + 1, "one load serves both");
}

#[test]
fn queries_see_the_nodes_that_only_edges_name() {
    let e = engine(config());
    let named = RecordBatch::try_from_iter([
        ("id", Arc::new(Int64Array::from(vec![2])) as ArrayRef),
        ("n", Arc::new(Int64Array::from(vec![7]))),
    ]);
    let nodes = Some(Table::try_new(named.expect("two columns")).expect("a table"));
    let loaded = Loaded { nodes, node: Some("id".to_owned()), ..graph(&[(1, 2), (2, 3), (3, 1)]) };
    let data = e.add(1, loaded);
    let answer = |ask: ParsedQuery, drawn: bool| {
        let (strictness, mode) = (Strictness::Strict, ResultMode::Rows);
        let request = QueryRequest { ask, drawn, strictness, mode, user: None, others: vec![] };
        block_on(e.handle.query(data, request)).expect("asked").expect("an answer").answer
    };
    let hop = json!([{"type": "Node"}, {"type": "Edge", "direction": "forward"}, {"type": "Node"}]);
    let hop = ParsedQuery::Gfql(Arc::new(parse(&hop).expect("a query")), None);
    let rows = |t: Option<&Table>| t.map_or(0, Table::num_rows);
    for (drawn, wanted) in [(true, (3, 3)), (false, (0, 0))] {
        let QueryAnswer::Graph(found) = answer(hop.clone(), drawn) else { panic!("a graph") };
        assert_eq!((rows(found.nodes()), rows(found.edges())), wanted, "drawn: {drawn}");
    }
    let text = "MATCH (a)-->(b) RETURN a.id AS id, a.n AS n ORDER BY id";
    let query = graphlume_cypher::parse_text(text).expect("a query");
    let whole = ParsedQuery::Cypher(Arc::new(query), serde_json::Map::new());
    let QueryAnswer::Rows(found) = answer(whole, false) else { panic!("rows") };
    let column = |name: &str| found.column(name).expect("a column").as_primitive::<Int64Type>();
    assert_eq!(column("id").values(), &[1, 2, 3]);
    assert_eq!(column("n").iter().collect::<Vec<_>>(), [None, Some(7), None]);
}

#[test]
fn a_dataset_without_data_waits_until_it_is_preloaded() {
    let e = engine(config());
    e.loader.set(id(1), Source::Waiting);
    let s = e.open("s", id(1), 0);
    e.reach(&s, Phase::Waiting);
    let mut viewer = e.attach(&s);
    assert_eq!(viewer.state().state, Phase::Waiting);
    assert_eq!(viewer.state().detail, "no edges uploaded");
    let refused = block_on(e.handle.reads(s.clone()).node_card(0)).expect_err("no data");
    assert_eq!((refused.code(), refused.slug()), (Code::Conflict, "dataset-waiting"));
    let loads = e.loader.loads.load(Ordering::SeqCst);
    e.clock.advance(Duration::from_secs(3600));
    e.settle_down();
    assert_eq!(e.loader.loads.load(Ordering::SeqCst), loads, "nobody asks in vain");
    e.add(1, grid(3));
    block_on(e.handle.preload(id(1))).expect("started");
    next_frame(&mut viewer);
    assert_eq!(e.phase(&s), Phase::Settled);
}

#[test]
fn a_failed_load_is_reported_and_tried_again_later() {
    let e = engine(config());
    e.loader.set(id(1), Source::Fails(Code::Unavailable));
    let s = e.open("s", id(1), 0);
    let mut viewer = e.attach(&s);
    e.reach(&s, Phase::Failed);
    let failed = next(&mut viewer, "the failure", |event| match event {
        ViewerEvent::State(state) if state.state == Phase::Failed => Some(state.detail.clone()),
        _ => None,
    });
    assert_eq!(failed, "the edge table is broken");
    e.settle_down();
    assert_eq!(e.loader.loads.load(Ordering::SeqCst), 1, "not at once");
    e.add(1, grid(3));
    e.clock.advance(Duration::from_secs(3));
    next_frame(&mut viewer);
    assert_eq!(e.phase(&s), Phase::Settled);
    assert_eq!(e.handle.stats().load_failures_total, 1);
}

#[test]
fn a_broken_dataset_is_not_tried_again_by_itself_but_by_the_next_viewer() {
    let e = engine(config());
    e.loader.set(id(1), Source::Fails(Code::InvalidArgument));
    let s = e.open("s", id(1), 0);
    let _watching = e.attach(&s);
    e.reach(&s, Phase::Failed);
    e.clock.advance(Duration::from_secs(100));
    e.settle_down();
    assert_eq!(e.loader.loads.load(Ordering::SeqCst), 1);
    e.add(1, grid(3));
    let mut second = e.attach(&s);
    next_frame(&mut second);
}

#[test]
fn who_waits_for_the_end_of_a_load_is_told_of_a_graph_a_failure_and_a_close() {
    let e = engine(config());
    let unknown = block_on(e.handle.load_ended(super::kit::session("nobody")));
    assert!(matches!(unknown, Err(EngineError::SessionNotFound(_))), "{unknown:?}");
    e.loader.set(id(1), Source::Fails(Code::InvalidArgument));
    let failed = e.open("failed", id(1), 0);
    block_on(e.handle.load_ended(failed.clone())).expect("known");
    assert_eq!(e.phase(&failed), Phase::Failed);
    let data = e.add(2, grid(3));
    e.loader.gate.store(true, Ordering::SeqCst);
    let (loads, closes) = (e.open("loads", data, 0), e.open("closes", data, 0));
    std::thread::scope(|scope| {
        let handle = &e.handle;
        let wait = |session| scope.spawn(move || block_on(handle.load_ended(session)));
        let closed = wait(closes.clone());
        block_on(handle.close(closes)).expect("known");
        // It may have asked before or after the session was gone; either way it is answered.
        closed.join().expect("answered").ok();
        let loaded = wait(loads.clone());
        e.loader.gate.store(false, Ordering::SeqCst);
        loaded.join().expect("answered").expect("known");
    });
    assert!(block_on(e.handle.info(loads)).expect("known").graph.is_some());
}

#[test]
fn a_panic_in_the_loader_is_a_failed_load() {
    let e = engine(config());
    e.loader.set(id(1), Source::Panics);
    let s = e.open("s", id(1), 0);
    e.reach(&s, Phase::Failed);
    let refused = block_on(e.handle.reads(s.clone()).node_card(0)).expect_err("failed");
    assert_eq!(refused, EngineError::Dropped);
    assert_eq!(e.handle.stats().panics_total, 1);
    let other = e.add(2, grid(3));
    let t = e.open("t", other, 0);
    e.reach(&t, Phase::Settled);
}

#[test]
fn an_unknown_dataset_and_a_wrong_column_say_so() {
    let e = engine(config());
    let s = e.open("s", id(9), 0);
    e.reach(&s, Phase::Failed);
    let refused = block_on(e.handle.reads(s).node_card(0)).expect_err("unknown");
    assert_eq!(refused.code(), Code::NotFound);
    let mut wrong = grid(3);
    wrong.source = "from".to_owned();
    let data = e.add(2, wrong);
    let t = e.open("t", data, 0);
    e.reach(&t, Phase::Failed);
    let detail = block_on(e.handle.info(t)).expect("known").state.detail.clone();
    assert!(detail.contains("from"), "{detail}");
}

#[test]
fn changed_data_give_a_new_epoch_to_the_same_viewers() {
    let e = engine(config());
    let data = e.add(1, grid(3));
    let s = e.open("s", data, 0);
    let mut viewer = e.attach(&s);
    let graph = |event| match event {
        ViewerEvent::Graph(g, ..) => Some((g.epoch, g.node_count)),
        _ => None,
    };
    let (before, nodes) = next(&mut viewer, "the graph", graph);
    assert_eq!(nodes, 9);
    let first = next_frame(&mut viewer);
    e.add(1, grid(4));
    block_on(e.handle.changed(data)).expect("told");
    let (after, nodes) = next(&mut viewer, "the new graph", graph);
    assert!(after != before && nodes == 16);
    let frame = next_frame(&mut viewer);
    assert!(frame.is_key() && frame.epoch == after && frame.seq > first.seq);
    let old = block_on(e.handle.reads(s.clone()).edges(before)).expect_err("over");
    assert_eq!(old.code(), Code::Gone);
    assert_eq!(block_on(e.handle.reads(s).edges(after)).expect("edges").len(), 24 * 8);
}

#[test]
fn a_session_name_can_be_reused_when_nobody_watches() {
    let e = engine(config());
    let (one, two) = (e.add(1, grid(3)), e.add(2, grid(4)));
    let s = e.open("cycle", one, 0);
    let viewer = e.attach(&s);
    let taken = block_on(e.handle.open(s.clone(), two, LayoutSettings::default()));
    assert_eq!(taken.expect_err("watched").code(), Code::Conflict);
    drop(viewer);
    e.open("cycle", two, 0);
    e.reach(&s, Phase::Settled);
    let graph = block_on(e.handle.info(s)).expect("known").graph.clone();
    until("sixteen nodes", || graph.as_ref().is_some_and(|g| g.node_count == 16));
}

#[test]
fn algorithms_become_columns_of_every_node() {
    let e = engine(config());
    let none = serde_json::Map::new();
    let asked = |column: &str| ComputeRequest::new(column, &["cugraph"], "core_number", &none);
    let with = |loaded: Loaded, column: &str| Loaded {
        compute: vec![asked(column).expect("it is in the list")],
        ..loaded
    };
    // A triangle and a tail; the first without a node table, the second with one of fewer nodes.
    let pairs = [(0, 1), (1, 2), (2, 0), (2, 7)];
    let bare = e.add(1, with(graph(&pairs), "core"));
    let described = e.add(2, with(Loaded { edges: graph(&pairs).edges, ..placed_path(3) }, "core"));
    let clash = e.add(3, with(placed_path(3), "name"));
    let card = |data, index| {
        let s = e.open(&format!("{data}"), data, 0);
        e.reach(&s, Phase::Settled);
        block_on(e.handle.jobs_ended(data)).expect("ended");
        let card = block_on(e.handle.reads(s).node_card(index)).expect("a card");
        let cell = |p: &serde_json::Value| (p["name"].clone(), p["value"].clone());
        card["properties"].as_array().expect("properties").iter().map(cell).collect::<Vec<_>>()
    };
    assert_eq!(card(bare, 3), [("id".into(), 7.into()), ("core".into(), 1.into())]);
    let tail = card(described, 3);
    assert_eq!(tail[0], ("id".into(), 7.into()), "the id is known without a row");
    assert_eq!(tail[3], ("name".into(), serde_json::Value::Null));
    assert_eq!(tail[4], ("core".into(), 1.into()));
    assert_eq!(card(described, 0)[4], ("core".into(), 2.into()));
    assert_eq!(card(clash, 0)[3], ("name".into(), 1.into()), "a column of the name is replaced");
}
