use std::sync::Arc;

use graphlume_scene::Members;
use graphlume_types::CancelToken;
use serde_json::json;

use super::kit::Random;
use crate::{Axis, Brush, ColumnKind, Kept, NodeBytes, Rule};

fn find(of: &Random, rule: Rule) -> Result<Members, String> {
    let found = of.facets.members(of, &Arc::new(rule), &CancelToken::new());
    found.map_err(|e| e.to_string())
}

fn bytes(of: &Random, nodes: &[u32]) -> NodeBytes {
    let n = of.counts().0;
    NodeBytes(graphlume_scene::Bits::new(n, nodes).bytes(n).into())
}

/// Positions of the edges for which something holds of their ends.
fn edges(of: &Random, holds: impl Fn(u32, u32) -> bool) -> Vec<u32> {
    let topology = of.graph.topology(&CancelToken::new()).unwrap();
    let edge = |p: &u32| {
        let (source, destination, _) = topology.edge(*p);
        holds(source, destination)
    };
    (0..topology.num_edges()).filter(edge).collect()
}

#[test]
fn a_set_of_nodes_brings_the_edges_among_them_and_an_ego_its_neighbours() {
    for seed in [1, 4, 9] {
        let of = Random::new(seed);
        let n = of.counts().0;
        let start = [0, n / 2, n - 1];
        let found = find(&of, Rule::Nodes(bytes(&of, &start))).unwrap();
        let mut sorted = start.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(found.nodes.iter().collect::<Vec<_>>(), sorted);
        let among = edges(&of, |a, b| start.contains(&a) && start.contains(&b));
        assert_eq!(found.edges.iter().collect::<Vec<_>>(), among);
        let mut reached = sorted;
        for hops in 0..4 {
            let found = find(&of, Rule::Ego(bytes(&of, &start), hops)).unwrap();
            assert_eq!(found.nodes.iter().collect::<Vec<_>>(), reached, "{hops} hops");
            let of_ends = |e: u32| of.graph.topology(&CancelToken::new()).unwrap().edge(e);
            let next = edges(&of, |a, b| reached.contains(&a) || reached.contains(&b));
            let ends = next.into_iter().map(of_ends).flat_map(|(a, b, _)| [a, b]);
            reached = ends.chain(reached.clone()).collect();
            reached.sort_unstable();
            reached.dedup();
        }
    }
    let of = Random::new(1);
    let other = NodeBytes(vec![255; 3_000].into());
    assert!(find(&of, Rule::Nodes(other)).unwrap_err().contains("of another graph"));
    let n = of.counts().0;
    let beyond = NodeBytes(vec![255; n.div_ceil(8) as usize + 1].into());
    assert!(find(&of, Rule::Ego(beyond, 1)).unwrap_err().contains("of another graph"));
}

#[test]
fn queries_keep_what_they_return() {
    // Of rows with one id the picture shows the first, and a query sees them all.
    let of = Random::with(2, 1);
    let cypher = |text: &str| find(&of, Rule::Cypher(text.to_owned()));
    let expr = |text: &str| find(&of, Rule::Expr(text.to_owned())).unwrap();
    let found = cypher("MATCH (n) WHERE n.whole > 1 RETURN n").unwrap();
    assert_eq!(found.nodes, expr("whole > 1").nodes);
    assert!(!found.nodes.is_empty() && found.edges.is_empty());
    let found = cypher("MATCH ()-[r]->() WHERE r.text = 'a' RETURN r").unwrap();
    let by_expr = expr("edge:text = 'a'");
    assert!(!by_expr.edges.is_empty());
    assert_eq!(found, by_expr, "of edges alone the ends are the nodes");
    let found = cypher("MATCH p = (a)-[r]->(b) WHERE r.text = 'a' RETURN p").unwrap();
    assert_eq!(found, by_expr);
    let chain = json!([{"type": "Node", "filter_dict": {"text": "a"}}]);
    assert_eq!(find(&of, Rule::Gfql(chain)).unwrap().nodes, expr("text = 'a'").nodes);
    let made = cypher("GRAPH { MATCH (a)-[r]->(b) WHERE r.text = 'a' }").unwrap();
    assert_eq!(made, by_expr);
    for (text, said) in [
        ("MATCH (n) RETURN count(*)", "returns values"),
        ("MATCH (n) WHERE n.wole > 1 RETURN n", "did you mean \"whole\"?"),
        ("MATCH (n) RETURN", "query"),
    ] {
        let error = cypher(text).unwrap_err();
        assert!(error.contains(said), "{text}: {error}");
    }
    assert!(cypher("MATCH (n) WHERE n.whole > 99 RETURN n").unwrap().is_empty());
}

#[test]
fn what_does_not_fit_a_column_is_told_with_its_place_and_what_to_write() {
    let of = Random::new(7);
    for (text, said) in [
        (
            "point:whole = 'a'",
            "the node column \"whole\" holds numbers at character 15 | field: whole | value: 'a' | suggestion: leave out the quotes",
        ),
        ("text > 3", "holds texts at character 8"),
        ("truth < true", "have no order"),
        ("truth = 'yes'", "compare it with true or false"),
        ("micros > true", "compare it with a date in quotes"),
        ("micros > 'soon'", "ISO form"),
        ("whole like '1%'", "like is for texts"),
        ("whole = null", "write whole is null"),
        ("edge:w > 1", "does not exist in the edge table"),
        ("point:whole > 1 and edge:whole > 1", "make two filters of it"),
        ("tekst = 'a'", "did you mean \"text\"?"),
        ("degre > 1", "did you mean \"degree\"?"),
    ] {
        let error = find(&of, Rule::Expr(text.to_owned())).expect_err(text);
        assert!(error.contains(said), "{text}: {error}");
    }
    let kept = Kept::Range([0.0, 1.0]);
    let brush = |column: &str| {
        Rule::Brush(Brush { axis: Axis::Edge, column: column.to_owned(), kept: kept.clone() })
    };
    assert!(
        find(&of, brush("text")).unwrap_err().contains("the edge column \"text\" holds texts |")
    );
    assert!(find(&of, brush("degree")).unwrap_err().contains("does not exist"));
}

#[test]
fn columns_are_those_of_the_tables_and_those_that_follow() {
    let of = Random::new(1);
    let columns = of.facets.columns(&of, &CancelToken::new()).unwrap();
    let kind = |axis, name: &str| {
        let found = columns.iter().find(|c| c.axis == axis && c.name == name)?;
        Some((found.kind, found.derived))
    };
    assert_eq!(kind(Axis::Node, "whole"), Some((ColumnKind::Number, false)));
    assert_eq!(kind(Axis::Node, "days"), Some((ColumnKind::Date, false)));
    assert_eq!(kind(Axis::Edge, "text"), Some((ColumnKind::Category, false)));
    assert_eq!(kind(Axis::Edge, "truth"), Some((ColumnKind::Boolean, false)));
    assert_eq!(kind(Axis::Node, "degree"), Some((ColumnKind::Number, true)));
    assert_eq!(kind(Axis::Node, "community"), Some((ColumnKind::Category, true)));
    assert_eq!(kind(Axis::Edge, "degree"), None);
    // Every one of them can be tested.
    for column in &columns {
        let text = format!("{}:{} is null", column.axis.name(), column.name);
        find(&of, Rule::Expr(text)).unwrap();
    }
}
