//! Collections: painted at once, in order, again after everything that changes the picture.

use std::sync::Arc;
use std::time::Duration;

use graphlume_expr::Strictness;
use graphlume_scene::{Paint, wire};
use graphlume_types::{Code, Coded};
use serde_json::{Value, json};

use super::kit::{config, engine, id, next, placed_path, session, until};
use crate::{
    CollectionLabel, CollectionRule, CollectionSet, CollectionSpec, EngineError, SceneFrames,
    ViewerEvent, block_on,
};

const RED: [u8; 4] = [255, 0, 0, 255];
const BLUE: [u8; 4] = [0, 0, 255, 255];

fn query(ops: &Value) -> Arc<CollectionRule> {
    Arc::new(CollectionRule::Query(
        graphlume_gfql::parse(ops).expect("a query"),
        Strictness::Strict,
    ))
}

/// Node `a` and `b` of the path and what lies between.
fn hop(a: i64) -> Arc<CollectionRule> {
    query(&json!([
        {"type": "Node", "filter_dict": {"id": a}},
        {"type": "Edge", "direction": "forward"},
        {"type": "Node"},
    ]))
}

fn spec(id: &str, rule: &Arc<CollectionRule>, color: &str) -> CollectionSpec {
    let label = CollectionLabel { name: id.to_owned(), ..CollectionLabel::default() };
    let paint = Paint::flat(Some(color), Some(color)).expect("a colour");
    CollectionSpec { id: id.to_owned(), rule: rule.clone(), paint, label }
}

fn set(revision: u64, specs: Vec<CollectionSpec>) -> Arc<CollectionSet> {
    Arc::new(CollectionSet { specs, revision, ..CollectionSet::default() })
}

fn colors(scene: &SceneFrames) -> Vec<[u8; 4]> {
    wire::colors_of(&scene.node_color)
}

#[test]
fn collections_are_painted_in_order_and_taken_off_again() {
    let e = engine(config());
    let data = e.add(1, placed_path(5));
    let s = e.open("s", data, 0);
    let mut viewer = e.attach(&s);
    // Those by community, which come second and would else come in between.
    let own = next(&mut viewer, "its own colours", |event| match event {
        ViewerEvent::Scene(scene) if scene.version == 2 => Some(scene),
        _ => None,
    });
    let own = colors(&own);
    let (first, second) = (hop(0), hop(1));
    let found = block_on(e.handle.evaluate_collection(s.clone(), first.clone()))
        .expect("asked")
        .expect("found");
    assert_eq!(found.count(), 3, "two nodes and an edge");
    let mut see = |what: &str, want: &dyn Fn(&[[u8; 4]]) -> bool| {
        next(&mut viewer, what, |event| match event {
            ViewerEvent::Scene(scene) if want(&colors(&scene)) => Some(scene),
            _ => None,
        })
    };
    let (red, blue) = (spec("a", &first, "#ff0000"), spec("b", &second, "#0000ff"));
    let both = set(1, vec![red.clone(), blue.clone()]);
    let shown = block_on(e.handle.set_collections(s.clone(), both, vec![("a".to_owned(), found)]));
    let shown = shown.expect("set");
    assert_eq!((shown.count("a"), shown.count("b"), shown.count("c")), (Some(3), Some(3), None));
    let entry = &shown.list.collections[1];
    assert_eq!((entry.id.as_str(), entry.position), ("b", 1));
    assert_eq!(entry.swatches, ["#0000ff"]);
    let scene = see("both", &|c| c[..3] == [RED, RED, BLUE]);
    assert_eq!(colors(&scene)[3..], own[3..]);
    let edges = wire::colors_of(scene.edge_color.as_ref().expect("edges are painted"));
    let painted = |color: [u8; 4]| edges.iter().filter(|c| **c == color).count();
    assert_eq!((edges.len(), painted(RED), painted(BLUE), painted([0; 4])), (4, 1, 1, 2));
    let turned = set(2, vec![blue, red]);
    block_on(e.handle.set_collections(s.clone(), turned, vec![])).expect("set");
    see("the other order", &|c| c[..3] == [RED, BLUE, BLUE]);
    block_on(e.handle.set_collections(s.clone(), set(3, vec![]), vec![])).expect("set");
    let scene = see("its own colours", &|c| c == own);
    assert!(wire::colors_of(scene.edge_color.as_ref().expect("told")).is_empty());
    let info = block_on(e.handle.info(s)).expect("known");
    assert_eq!(info.collections.list.collections, []);
}

#[test]
fn an_intersection_and_a_background_are_painted_and_late_viewers_see_them() {
    let e = engine(config());
    let data = e.add(1, placed_path(5));
    let s = e.open("s", data, 0);
    let both = Arc::new(CollectionRule::All(vec!["a".to_owned(), "b".to_owned()]));
    let own = CollectionSet {
        specs: vec![
            spec("both", &both, "#ff0000"),
            spec("a", &hop(0), "#00ff00"),
            spec("b", &hop(1), "#0000ff"),
        ],
        background: Paint::flat(Some("#010203"), None).expect("a colour"),
        revision: 7,
        ..CollectionSet::default()
    };
    // Before the graph is there: known at once, counted later.
    block_on(e.handle.set_collections(s.clone(), Arc::new(own), vec![])).expect("set");
    let mut viewer = e.attach(&s);
    let want = [[0, 255, 0, 255], RED, BLUE, [1, 2, 3, 255], [1, 2, 3, 255]];
    let see = |viewer: &mut crate::Viewer| {
        next(viewer, "the painted picture", |event| match event {
            ViewerEvent::Scene(scene) if colors(&scene) == want => Some(()),
            _ => None,
        });
    };
    see(&mut viewer);
    let count = || block_on(e.handle.info(s.clone())).expect("known").collections.count("both");
    until("the count", || count() == Some(1));
    let mut late = e.attach(&s);
    let told = next(&mut late, "the list", |event| match event {
        ViewerEvent::Collections(shown) => Some(shown),
        _ => None,
    });
    assert_eq!(told.list.background, ["#010203"]);
    see(&mut late);
    // Other data: counts are unknown, then those of the new graph.
    e.add(1, placed_path(3));
    block_on(e.handle.changed(id(1))).expect("told");
    next(&mut viewer, "the new picture", |event| match event {
        ViewerEvent::Scene(scene) if colors(&scene) == want[..3] => Some(()),
        _ => None,
    });
}

#[test]
fn a_graph_given_back_and_taken_again_shows_its_collections() {
    let mut settings = config();
    settings.release_after = Duration::from_secs(1);
    let e = engine(settings);
    let data = e.add(1, placed_path(4));
    let s = e.open("s", data, 0);
    let viewer = e.attach(&s);
    let own = set(1, vec![spec("a", &hop(0), "#ff0000")]);
    block_on(e.handle.set_collections(s.clone(), own, vec![])).expect("set");
    until("the count", || {
        block_on(e.handle.info(s.clone())).expect("known").collections.count("a") == Some(3)
    });
    drop(viewer);
    e.clock.advance(Duration::from_secs(2));
    e.settle_down();
    let mut viewer = e.attach(&s);
    next(&mut viewer, "the painted picture", |event| match event {
        ViewerEvent::Scene(scene) if colors(&scene)[..2] == [RED, RED] => Some(()),
        _ => None,
    });
    let count = || block_on(e.handle.info(s.clone())).expect("known").collections.count("a");
    until("the count again", || count() == Some(3));
}

#[test]
fn a_query_that_cannot_be_answered_is_told_and_harms_no_other_collection() {
    let e = engine(config());
    let data = e.add(1, placed_path(4));
    let s = e.open("s", data, 0);
    let mut viewer = e.attach(&s);
    let bad = query(&json!([{"type": "Node", "filter_dict": {"absent": 1}}]));
    let refused = block_on(e.handle.evaluate_collection(s.clone(), bad.clone())).expect("asked");
    assert_eq!(refused.expect_err("no column").slug(), "column-not-found");
    let own = vec![spec("bad", &bad, "#00ff00"), spec("good", &hop(2), "#0000ff")];
    block_on(e.handle.set_collections(s.clone(), set(1, own), vec![])).expect("set");
    next(&mut viewer, "the good one", |event| match event {
        ViewerEvent::Scene(scene) if colors(&scene)[2..] == [BLUE, BLUE] => Some(()),
        _ => None,
    });
    let shown = block_on(e.handle.info(s)).expect("known").collections.clone();
    assert_eq!((shown.count("bad"), shown.count("good")), (None, Some(3)), "unknown is not zero");
    let nobody = block_on(e.handle.set_collections(session("nobody"), set(1, vec![]), vec![]));
    assert!(matches!(nobody, Err(EngineError::SessionNotFound(_))));
    assert_eq!(nobody.expect_err("refused").code(), Code::NotFound);
}
