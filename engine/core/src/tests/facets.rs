//! Filters, histograms and rules through the engine: on a graph in memory, by what it keeps of them.

use std::collections::HashMap;
use std::sync::Arc;

use graphlume_expr::Strictness;
use graphlume_scene::wire;
use graphlume_table::Table;
use graphlume_types::{Code, Coded};

use super::kit::{config, engine, next, placed_path, session};
use crate::{
    Axis, CollectionRule, ColumnKind, EngineError, Filter, FilterKind, FilterSet, NodeBytes,
    ParsedQuery, Parts, QueryAnswer, QueryRequest, ResultMode, Rule, ViewerEvent, Wanted, block_on,
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
fn a_rule_is_answered_with_the_part_of_the_graph_that_it_means() {
    let e = engine(config());
    let data = e.add(1, placed_path(5));
    let answer = |rule: &Arc<Rule>, mode| {
        let (ask, strictness) = (ParsedQuery::Rule(Arc::clone(rule)), Strictness::Strict);
        let request =
            QueryRequest { ask, drawn: true, strictness, mode, user: None, others: vec![] };
        block_on(e.handle.query(data, request)).expect("asked").map(|result| result.answer)
    };
    let set = |byte: u8| Arc::new(Rule::Nodes(NodeBytes(vec![byte].into())));
    for (rule, nodes, edges) in [
        (set(0b1_1011), 4, 2),
        (set(0b1_0101), 3, 0),
        (set(0b1_1111), 5, 4),
        (expr("degree = 2"), 3, 2),
    ] {
        let Ok(QueryAnswer::Graph(part)) = answer(&rule, ResultMode::Rows) else {
            panic!("a graph")
        };
        let rows = |table: Option<&Table>| table.map_or(0, Table::num_rows);
        assert_eq!((rows(part.nodes()), rows(part.edges())), (nodes, edges), "{rule:?}");
        let Ok(QueryAnswer::Sizes(sizes)) = answer(&rule, ResultMode::Sizes) else {
            panic!("sizes")
        };
        assert_eq!((sizes.nodes, sizes.edges), (nodes, edges), "{rule:?}");
    }
    for (rule, mode, slug) in [
        (set(0b10_0000), ResultMode::Rows, "type-mismatch"),
        (set(1), ResultMode::Plan, "unsupported-operation"),
    ] {
        assert_eq!(answer(&rule, mode).expect_err("refused").slug(), slug, "{rule:?}");
    }
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
