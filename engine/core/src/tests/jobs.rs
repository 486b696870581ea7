//! Algorithms and layouts that datasets name: they keep nobody waiting but those who need their columns.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use graphlume_expr::Strictness;
use graphlume_types::{Code, Coded, DatasetId, Notice, UserId};
use serde_json::{Map, json};

use super::kit::{Engine, config, engine, graph, grid, live_engine, next, next_frame, until};
use crate::{
    ComputeRequest, Config, Encodings, EngineError, JobState, Loaded, ParsedQuery, Phase,
    QueryAnswer, QueryRequest, QueryResult, ResultMode, ViewerEvent, block_on,
};

fn asked(column: &str, alg: &str) -> ComputeRequest {
    ComputeRequest::new(column, &["cugraph", "igraph"], alg, &serde_json::Map::new())
        .expect("it is in the list")
}

/// A grid of ten nodes a side whose nodes get their core number.
fn quick(owner: u64) -> Loaded {
    let compute = vec![asked("core", "core_number")];
    Loaded { compute, owner: Some(UserId(owner)), ..grid(10) }
}

/// A grid with an algorithm that takes minutes.
fn slow(owner: u64) -> Loaded {
    let compute = vec![asked("between", "betweenness_centrality")];
    Loaded { compute, owner: Some(UserId(owner)), ..grid(300) }
}

fn states(e: &Engine, data: DatasetId) -> Vec<JobState> {
    block_on(e.handle.jobs(data)).expect("a list").into_iter().map(|job| job.state).collect()
}

fn ask(e: &Engine, data: DatasetId, text: &str) -> Result<QueryResult, EngineError> {
    let query = graphlume_cypher::parse_text(text).expect("a query");
    let request = QueryRequest {
        ask: ParsedQuery::Cypher(Arc::new(query), Map::new()),
        drawn: false,
        strictness: Strictness::Lenient,
        mode: ResultMode::Rows,
        user: None,
        others: vec![],
    };
    block_on(e.handle.query(data, request)).map(|answer| answer.expect("an answer"))
}

/// The one whole number that a query answers; none where it is null.
fn number(e: &Engine, data: DatasetId, text: &str) -> Option<i64> {
    let QueryAnswer::Rows(rows) = ask(e, data, text).expect("asked").answer else { panic!("rows") };
    let column = rows.column("x").expect("a column");
    column.as_primitive_opt::<Int64Type>().and_then(|ints| ints.iter().next().flatten())
}

fn notices(e: &Engine, data: DatasetId, session: &str) -> Vec<Notice> {
    let s = e.open(session, data, 0);
    e.reach(&s, Phase::Settled);
    let graph = block_on(e.handle.info(s)).expect("known").graph.expect("a graph");
    graph.notices.clone()
}

#[test]
fn an_algorithm_that_takes_long_keeps_no_picture_and_no_other_dataset_waiting() {
    let e = engine(config());
    let (one, two) = (e.add(1, slow(1)), e.add(2, slow(2)));
    for (data, name) in [(one, "one"), (two, "two")] {
        let s = e.open(name, data, 0);
        e.reach(&s, Phase::Settled);
        assert!(block_on(e.handle.reads(s).node_card(7)).expect("a card").is_object());
    }
    until("both to run", || {
        states(&e, one) == states(&e, two) && states(&e, two) == [JobState::Running]
    });
    let other = e.add(3, grid(5));
    let s = e.open("other", other, 0);
    e.reach(&s, Phase::Settled);
    assert_eq!(number(&e, other, "MATCH (n) RETURN count(n) AS x"), Some(25));
    // Neither account keeps a third one waiting for longer than its turn, and a dataset that goes takes its algorithms along.
    let third = e.add(4, quick(3));
    block_on(e.handle.preload(third)).expect("loads");
    until("its turn", || states(&e, third) == [JobState::Pending]);
    block_on(e.handle.forget(one)).expect("forgotten");
    assert_eq!(number(&e, third, "MATCH (n) RETURN sum(n.core) AS x"), Some(200));
    assert_eq!(states(&e, two), [JobState::Running]);
    assert!(states(&e, one).is_empty());
}

#[test]
fn accounts_take_turns() {
    let e = engine(config());
    let mine = [e.add(1, slow(1)), e.add(2, slow(1)), e.add(3, slow(1))];
    for data in mine {
        block_on(e.handle.preload(data)).expect("loads");
    }
    let count = |state| mine.iter().filter(|data| states(&e, **data) == [state]).count();
    until("all to be known", || count(JobState::Running) + count(JobState::Pending) == 3);
    until("one to run", || count(JobState::Running) > 0);
    let other = e.add(4, quick(2));
    assert_eq!(number(&e, other, "MATCH (n) RETURN sum(n.core) AS x"), Some(200));
    assert_eq!((count(JobState::Running), count(JobState::Pending)), (1, 2));
}

#[test]
fn who_asks_at_once_gets_the_column_and_pages_hear_of_it() {
    let e = engine(config());
    let sized = Encodings::new(
        json!({"bindings": {"node_size": "core"}}),
        json!({"bindings": {"source": "s", "destination": "d"}}),
        serde_json::Value::Null,
    );
    // A triangle with a tail: core numbers 2, 2, 2 and 1. What runs first keeps the column waiting.
    let compute = vec![asked("between", "betweenness_centrality"), asked("core", "core_number")];
    let pairs = [(0, 1), (1, 2), (2, 0), (2, 7)];
    let data = e.add(1, Loaded { compute, encodings: sized, ..graph(&pairs) });
    let s = e.open("s", data, 0);
    let mut viewer = e.attach(&s);
    assert_eq!(number(&e, data, "MATCH (n) RETURN sum(n.core) AS x"), Some(7));
    assert_eq!(states(&e, data), [JobState::Done; 2]);
    let epoch = next_frame(&mut viewer).epoch;
    let legend = next(&mut viewer, "sizes by the column", |event| match event {
        ViewerEvent::Scene(scene) if scene.legend["node_size"]["title"] == "core" => Some(scene),
        _ => None,
    });
    assert_eq!(legend.epoch, epoch, "the nodes and edges are the same");
    let facts = block_on(e.handle.info(s.clone())).expect("known").graph.expect("a graph");
    assert!(facts.epoch == epoch && facts.node_columns.iter().any(|c| c.name == "core"));
    assert_eq!(facts.notices, [], "nothing was missing");
    let card = block_on(e.handle.reads(s).node_card(3)).expect("a card");
    assert!(card["properties"].to_string().contains("\"core\""), "{card}");
}

#[test]
fn pages_that_are_open_hear_of_columns_and_notices() {
    let e = engine(config());
    let data = e.add(1, slow(1));
    let s = e.open("s", data, 0);
    let mut viewer = e.attach(&s);
    let epoch = next_frame(&mut viewer).epoch;
    until("it to run", || states(&e, data) == [JobState::Running]);
    let cancelled = block_on(e.handle.cancel_job(data, asked("between", "betweenness_centrality")));
    assert_eq!(cancelled.expect("known").state, JobState::Cancelled);
    let facts = next(&mut viewer, "the notice", |event| match event {
        ViewerEvent::Columns(facts) => Some(facts),
        _ => None,
    });
    assert_eq!(facts.epoch, epoch);
    let [notice] = facts.notices.as_slice() else { panic!("{:?}", facts.notices) };
    assert_eq!(notice.slug, "compute-failed");
    assert_eq!(notice.text, "compute.between: cancelled: no such column");
    // It stays so; the graph is asked without the column.
    assert_eq!(
        number(&e, data, "MATCH (n) WHERE n.between IS NULL RETURN count(n) AS x"),
        Some(90_000)
    );
    assert_eq!(states(&e, data), [JobState::Cancelled]);
}

#[test]
fn past_its_time_an_algorithm_costs_its_column_alone_and_is_not_begun_again() {
    let mut loaded = slow(1);
    loaded.compute.push(asked("core", "core_number"));
    let limit = Duration::from_secs(1);
    let e = live_engine(Config { job_time: limit, ..config() });
    let data = e.add(1, loaded.clone());
    assert_eq!(
        number(&e, data, "MATCH (n) WHERE n.between IS NULL RETURN max(n.core) AS x"),
        Some(2)
    );
    let jobs = block_on(e.handle.jobs(data)).expect("a list");
    assert_eq!(states(&e, data), [JobState::Failed, JobState::Done]);
    let message = jobs[0].message.clone().expect("why");
    assert!(message.contains("after 1 seconds") && message.contains("--job-seconds"), "{message}");
    assert!(jobs[0].seconds.is_some_and(|s| s >= 1.0) && jobs[0].begun_at.is_some(), "{jobs:?}");
    let told = notices(&e, data, "s");
    assert!(
        told.iter().any(|n| n.slug == "compute-failed" && n.text.contains(&message)),
        "{told:?}"
    );
    // Other data are another matter.
    block_on(e.handle.changed(data)).expect("told");
    until("the list to begin anew", || states(&e, data).first() != Some(&JobState::Failed));
}

#[test]
fn after_an_eviction_columns_come_again_and_what_was_given_up_does_not() {
    // Room for one of the graphs at a time.
    let e = engine(Config { host_budget_bytes: 3 << 20, ..config() });
    let mut loaded = quick(1);
    let no_root = json!({"root": "ghost"});
    let root = no_root.as_object().expect("an object");
    loaded.compute.push(ComputeRequest::layout("at", &["igraph"], "rt", root).expect("a layout"));
    let (data, large) = (e.add(1, loaded), e.add(2, grid(90)));
    let sum = "MATCH (n) RETURN sum(n.core) AS x";
    assert_eq!(number(&e, data, sum), Some(200));
    assert_eq!(states(&e, data), [JobState::Done, JobState::Failed]);
    let begun = |e: &Engine| block_on(e.handle.jobs(data)).expect("a list")[1].seconds;
    let before = begun(&e);
    let loads = e.handle.stats().loads_total;
    let mut tries = 0;
    while e.handle.stats().loads_total < loads + 2 {
        assert_eq!(number(&e, large, "MATCH (n) RETURN count(n) AS x"), Some(8100));
        assert_eq!(number(&e, data, sum), Some(200), "the column is there again");
        tries += 1;
        assert!(
            tries < 20 && e.handle.stats().memory_refusals_total == 0,
            "{:?}",
            e.handle.stats()
        );
    }
    assert_eq!(states(&e, data), [JobState::Done, JobState::Failed]);
    assert_eq!(begun(&e), before, "it was not run again");
    let told = notices(&e, data, "s");
    assert_eq!(told.iter().filter(|n| n.slug == "layout-failed").count(), 1, "{told:?}");
}

#[test]
fn a_query_that_waits_for_columns_ends_with_its_own_time() {
    let e = live_engine(Config { call_time: Duration::from_secs(1), ..config() });
    let data = e.add(1, slow(1));
    let late = ask(&e, data, "MATCH (n) RETURN count(n) AS x").expect_err("no time");
    assert_eq!((late.code(), late.slug()), (Code::DeadlineExceeded, "columns-pending"));
    assert!(late.to_string().contains("jobs"), "{late}");
    let s = e.open("s", data, 0);
    e.reach(&s, Phase::Settled);
    block_on(e.handle.reads(s).node_card(0)).expect("a card does not wait");
}

#[test]
fn a_layout_of_a_dataset_replaces_the_graph() {
    let e = engine(config());
    let none = Map::new();
    let circle = ComputeRequest::layout("at", &["igraph"], "circle", &none).expect("a layout");
    let compute = vec![asked("core", "core_number"), circle];
    let data = e.add(1, Loaded { compute, ..grid(4) });
    let s = e.open("s", data, 60_000);
    let mut viewer = e.attach(&s);
    let placed = next(&mut viewer, "the graph that is laid out", |event| match event {
        ViewerEvent::Graph(facts, ..) if facts.has_positions => Some(facts),
        _ => None,
    });
    assert!(placed.node_columns.iter().any(|c| c.name == "x"), "{placed:?}");
    let frame = next_frame(&mut viewer);
    assert!(frame.is_key() && frame.epoch == placed.epoch);
    e.reach(&s, Phase::Settled);
    let mut page = graphlume_scene::wire::Viewer::default();
    page.apply(&block_on(e.handle.reads(s).positions(placed.epoch)).expect("positions"))
        .expect("shown");
    let radius = |p: &[f32; 2]| (p[0].powi(2) + p[1].powi(2)).sqrt();
    let first = radius(&page.positions[0]);
    assert!(
        page.positions.iter().all(|p| (radius(p) - first).abs() < 1e-3),
        "{:?}",
        page.positions
    );
    assert_eq!(number(&e, data, "MATCH (n) RETURN max(n.core) AS x"), Some(2));
}
