//! Matching by trying every walk, one after the other: what the fast passes are held against.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, cast::AsArray, types::Int64Type};
use graphlume_expr::{Cmp, Strictness};
use graphlume_store::{Bindings, PropertyGraph};
use graphlume_table::Table;
use graphlume_types::CancelToken;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{parse, run};

/// A small graph: a number for each node, and ends and a number for each edge.
#[derive(Clone, Debug)]
struct Small {
    nodes: Vec<Option<i64>>,
    edges: Vec<(usize, usize, i64)>,
}

/// An edge step and the node step after it; each keeps what is not below a number.
#[derive(Clone, Debug)]
struct Hop {
    direction: usize,
    edge: i64,
    max: usize,
    node: i64,
}

#[derive(Clone, Debug)]
struct Pattern {
    first: i64,
    hops: Vec<Hop>,
    /// Compares the numbers of two node steps.
    clause: Option<(usize, usize, Cmp)>,
}

/// What is kept: nodes and edges, and those of each named step.
#[derive(Debug, Default, PartialEq)]
struct Kept {
    nodes: BTreeSet<usize>,
    edges: BTreeSet<usize>,
    steps: Vec<BTreeSet<usize>>,
}

const NAMES: [&str; 3] = ["forward", "reverse", "undirected"];
const CMPS: [(Cmp, &str); 6] = [
    (Cmp::Eq, "eq"),
    (Cmp::Ne, "neq"),
    (Cmp::Lt, "lt"),
    (Cmp::Le, "le"),
    (Cmp::Gt, "gt"),
    (Cmp::Ge, "ge"),
];

/// A walk so far: the node at each node step, and the edges of each edge step.
struct Walk<'a> {
    graph: &'a Small,
    pattern: &'a Pattern,
    stops: Vec<usize>,
    legs: Vec<Vec<usize>>,
    passed: Vec<usize>,
    kept: Kept,
}

impl Walk<'_> {
    fn arrive(&mut self, v: usize, least: i64) {
        if least > 0 && self.graph.nodes[v].is_none_or(|x| x < least) {
            return;
        }
        self.stops.push(v);
        match self.pattern.hops.get(self.stops.len() - 1) {
            Some(hop) => {
                self.legs.push(vec![]);
                self.leave(v, &hop.clone(), 1);
                self.legs.pop();
            }
            None => self.complete(),
        }
        self.stops.pop();
    }

    fn leave(&mut self, v: usize, hop: &Hop, depth: usize) {
        for (i, (s, d, x)) in self.graph.edges.clone().into_iter().enumerate() {
            let mut ends = vec![];
            if hop.direction != 1 && s == v {
                ends.push(d);
            }
            if hop.direction != 0 && d == v && !(hop.direction == 2 && s == d) {
                ends.push(s);
            }
            if x < hop.edge {
                continue;
            }
            for to in ends {
                self.legs.last_mut().unwrap().push(i);
                self.passed.push(to);
                self.arrive(to, hop.node);
                if depth < hop.max {
                    self.leave(to, hop, depth + 1);
                }
                self.passed.pop();
                self.legs.last_mut().unwrap().pop();
            }
        }
    }

    fn complete(&mut self) {
        if let Some((a, b, cmp)) = self.pattern.clause {
            let (x, y) = (self.graph.nodes[self.stops[a]], self.graph.nodes[self.stops[b]]);
            if !x.zip(y).is_some_and(|(x, y)| cmp.accepts(x.cmp(&y))) {
                return;
            }
        }
        self.kept.nodes.extend(self.stops.iter().chain(&self.passed));
        self.kept.edges.extend(self.legs.iter().flatten());
        for (i, v) in self.stops.iter().enumerate() {
            self.kept.steps[i].insert(*v);
        }
    }
}

fn naive(graph: &Small, pattern: &Pattern) -> Kept {
    let kept = Kept { steps: vec![BTreeSet::new(); pattern.hops.len() + 1], ..Kept::default() };
    let mut walk = Walk { graph, pattern, stops: vec![], legs: vec![], passed: vec![], kept };
    for v in 0..graph.nodes.len() {
        walk.arrive(v, pattern.first);
    }
    walk.kept
}

fn table(columns: Vec<(&str, ArrayRef)>) -> Table {
    Table::try_new(RecordBatch::try_from_iter(columns).unwrap()).unwrap()
}

fn property_graph(graph: &Small) -> PropertyGraph {
    graphlume_types::tuning::use_small(true);
    let ints = |list: Vec<i64>| Arc::new(Int64Array::from(list)) as ArrayRef;
    let n = graph.nodes.len() as i64;
    let nodes = table(vec![
        ("id", ints((0..n).collect())),
        ("x", Arc::new(Int64Array::from(graph.nodes.clone()))),
    ]);
    let edges = table(vec![
        ("s", ints(graph.edges.iter().map(|e| e.0 as i64).collect())),
        ("d", ints(graph.edges.iter().map(|e| e.1 as i64).collect())),
        ("y", ints(graph.edges.iter().map(|e| e.2).collect())),
        ("no", ints((0..graph.edges.len() as i64).collect())),
    ]);
    let name = |n: &str| Some(n.to_owned());
    let bindings = Bindings { node: name("id"), source: name("s"), destination: name("d") };
    PropertyGraph::new(Some(nodes), Some(edges), bindings).unwrap()
}

fn wire(pattern: &Pattern) -> Value {
    let node = |i: usize, least: i64| {
        let filter = if least > 0 { json!({"x": {"type": "GE", "val": least}}) } else { json!({}) };
        json!({"type": "Node", "filter_dict": filter, "name": format!("n{i}")})
    };
    let mut chain = vec![node(0, pattern.first)];
    for (i, hop) in pattern.hops.iter().enumerate() {
        chain.push(json!({"type": "Edge", "direction": NAMES[hop.direction], "hops": hop.max,
            "edge_match": {"y": {"type": "GE", "val": hop.edge}}}));
        chain.push(node(i + 1, hop.node));
    }
    let clauses: Vec<Value> = pattern
        .clause
        .iter()
        .map(|(a, b, cmp)| {
            let name = CMPS.iter().find(|(c, _)| c == cmp).unwrap().1;
            json!({name: {"left": format!("n{a}.x"), "right": format!("n{b}.x")}})
        })
        .collect();
    json!({"type": "Chain", "chain": chain, "where": clauses})
}

fn numbers(table: &Table, column: &str, marker: Option<&str>) -> BTreeSet<usize> {
    let ids = table.column(column).unwrap().as_primitive::<Int64Type>();
    let kept =
        |row: &usize| marker.is_none_or(|m| table.column(m).unwrap().as_boolean().value(*row));
    (0..table.num_rows()).filter(kept).map(|row| ids.value(row) as usize).collect()
}

fn evaluate(graph: &Small, pattern: &Pattern) -> Kept {
    let query = parse(&wire(pattern)).unwrap();
    let graph = property_graph(graph);
    let found = run(&graph, &query, None, Strictness::Strict, &CancelToken::new()).unwrap().graph;
    let (nodes, edges) = (found.nodes().unwrap(), found.edges().unwrap());
    Kept {
        nodes: numbers(nodes, "id", None),
        edges: numbers(edges, "no", None),
        steps: (0..=pattern.hops.len())
            .map(|i| numbers(nodes, "id", Some(&format!("n{i}"))))
            .collect(),
    }
}

fn graphs(n: usize, m: usize) -> impl Strategy<Value = Small> {
    (1..=n).prop_flat_map(move |n| {
        let node = prop::option::weighted(0.85, 0..4_i64);
        let nodes = prop::collection::vec(node, n);
        let edges = prop::collection::vec((0..n, 0..n, 0..3_i64), 0..=m);
        (nodes, edges).prop_map(|(nodes, edges)| Small { nodes, edges })
    })
}

fn patterns(directions: usize, max: usize, clause: bool) -> impl Strategy<Value = Pattern> {
    let hop = (0..directions, 0..2_i64, 1..=max, 0..3_i64)
        .prop_map(|(direction, edge, max, node)| Hop { direction, edge, max, node });
    (0..3_i64, prop::collection::vec(hop, 1..=3), 0..6_usize, 0..4_usize, 0..4_usize).prop_map(
        move |(first, hops, cmp, a, b)| {
            let steps = hops.len() + 1;
            let clause = clause.then_some((a % steps, b % steps, CMPS[cmp].0));
            Pattern { first, hops, clause }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn directed_single_hops_keep_exactly_what_is_on_a_match(
        graph in graphs(9, 16), pattern in patterns(2, 1, false)
    ) {
        prop_assert_eq!(evaluate(&graph, &pattern), naive(&graph, &pattern));
    }

    #[test]
    fn nothing_on_a_match_is_lost_with_several_hops_or_either_way(
        graph in graphs(6, 7), pattern in patterns(3, 1, false)
    ) {
        let (found, wanted) = (evaluate(&graph, &pattern), naive(&graph, &pattern));
        prop_assert!(found.nodes.is_superset(&wanted.nodes), "{:?} {:?}", found, wanted);
        prop_assert!(found.edges.is_superset(&wanted.edges), "{:?} {:?}", found, wanted);
    }

    #[test]
    fn directed_closures_lose_nothing(graph in graphs(5, 6), pattern in patterns(2, 3, false)) {
        let (found, wanted) = (evaluate(&graph, &pattern), naive(&graph, &pattern));
        prop_assert!(found.nodes.is_superset(&wanted.nodes), "{:?} {:?}", found, wanted);
        prop_assert!(found.edges.is_superset(&wanted.edges), "{:?} {:?}", found, wanted);
    }

    #[test]
    fn conditions_along_single_hops_are_met_exactly(
        graph in graphs(8, 12), pattern in patterns(3, 1, true)
    ) {
        prop_assert_eq!(evaluate(&graph, &pattern), naive(&graph, &pattern));
    }

    #[test]
    fn conditions_along_several_directed_hops_are_met_exactly(
        graph in graphs(5, 6), pattern in patterns(2, 3, true)
    ) {
        prop_assert_eq!(evaluate(&graph, &pattern), naive(&graph, &pattern));
    }
}
