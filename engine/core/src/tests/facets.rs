//! Filters, histograms and rules through the engine: on a graph in memory, by what it keeps of them.

use std::collections::HashMap;
use std::sync::Arc;

use graphlume_scene::wire;
use graphlume_types::{Code, Coded};

use super::kit::{config, engine, next, placed_path, session};
use crate::{
    Axis, CollectionRule, ColumnKind, EngineError, Filter, FilterKind, FilterSet, Parts, Rule,
    ViewerEvent, Wanted, block_on,
};

fn expr(text: &str) -> Arc<Rule> {
    Arc::new(Rule::Expr(text.to_owned()))
}

fn filter(id: &str, kind: FilterKind, text: &str) -> Filter {
    Filter { id: id.to_owned(), kind, on: true, rule: expr(text) }
}

#[test]
fn a_session_s_picture_is_filtered_counted_and_searched() {
    let e = engine(config());
    let s = e.open("s", e.add(1, placed_path(5)), 0);
    let ends = filter("ends", FilterKind::Exclusion, "degree = 1");
    let wrong = filter("wrong", FilterKind::Filter, "degre > 1");
    let set = Arc::new(FilterSet { filters: vec![ends, wrong], prune_orphans: false });
    let found = block_on(e.handle.filter(s.clone(), set.clone(), 1)).expect("filtered").filtered;
    assert_eq!((found.nodes.iter().collect::<Vec<_>>(), found.edges.len()), (vec![1, 2, 3], 2));
    let [(_, ends), (_, wrong)] = found.filters.as_slice() else { panic!("{:?}", found.filters) };
    assert_eq!(ends.as_ref().expect("counted").nodes, Some(2), "what the exclusion hides");
    let problem = wrong.as_ref().expect_err("no such column").to_string();
    assert!(problem.contains("did you mean \"degree\"?"), "{problem}");
    let degree = Wanted {
        axis: Axis::Node,
        column: "degree".to_owned(),
        bins: 32,
        log: false,
        search: None,
    };
    let bars = block_on(e.handle.histograms(s.clone(), set.clone(), vec![degree.clone()]));
    let bars = bars.expect("asked").expect("counted");
    let Parts::Ranges { edges, counts, .. } = &bars[0].parts else { panic!("{bars:?}") };
    assert_eq!(edges, &[0.5, 1.5, 2.5]);
    let counts: Vec<(u64, u64)> = counts.iter().map(|c| (c.total, c.passing)).collect();
    assert_eq!(counts, [(2, 0), (3, 3)]);
    let unknown = vec![Wanted { column: "degre".to_owned(), ..degree }];
    let refused = block_on(e.handle.histograms(s.clone(), set, unknown)).expect("asked");
    assert_eq!(refused.expect_err("no such column").slug(), "column-not-found");
    let found = block_on(e.handle.find(s.clone(), expr("degree = 1"))).expect("asked");
    assert_eq!(found.expect("found").nodes.iter().collect::<Vec<_>>(), [0, 4]);
    let refused = block_on(e.handle.find(s.clone(), expr("degree ="))).expect("asked");
    assert_eq!(refused.expect_err("no value").code(), Code::InvalidArgument);
    let columns = block_on(e.handle.facet_columns(s.clone())).expect("asked");
    let community = columns.iter().find(|c| c.name == "community").expect("derived");
    assert_eq!((community.kind, community.derived), (ColumnKind::Category, true));
    let rule = Arc::new(CollectionRule::Rule(expr("degree = 1")));
    let members = block_on(e.handle.evaluate_collection(s, rule)).expect("asked");
    assert_eq!(members.expect("found").count(), 2);
}

#[test]
fn communities_are_those_that_the_picture_is_coloured_by() {
    let e = engine(config());
    let s = e.open("s", e.add(1, placed_path(40)), 0);
    let mut viewer = e.attach(&s);
    let scene = next(&mut viewer, "colours by community", |event| match event {
        ViewerEvent::Scene(scene) if scene.version == 2 => Some(scene),
        _ => None,
    });
    let colors = wire::colors_of(&scene.node_color);
    let mut of_color: HashMap<[u8; 4], u32> = HashMap::new();
    let mut seen = 0;
    for community in 0.. {
        let rule = expr(&format!("community = {community}"));
        let found = block_on(e.handle.find(s.clone(), rule)).expect("asked").expect("found");
        if found.nodes.is_empty() {
            break;
        }
        for node in found.nodes.iter() {
            seen += 1;
            let own = *of_color.entry(colors[node as usize]).or_insert(community);
            assert_eq!(own, community, "node {node} has the colour of another community");
        }
    }
    assert_eq!(seen, 40);
    assert!(of_color.len() > 1, "{of_color:?}");
}

#[test]
fn filters_of_a_session_that_does_not_exist_are_refused() {
    let e = engine(config());
    let none = session("nobody");
    let refused = block_on(e.handle.filter(none, Arc::new(FilterSet::default()), 1));
    assert!(matches!(refused, Err(EngineError::SessionNotFound(_))), "{refused:?}");
}
