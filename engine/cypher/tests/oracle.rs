//! Counts of random patterns on random graphs, against an enumerator of a few lines.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use graphlume_cypher::{Value, parse, run};
use graphlume_expr::{Scalar, Strictness};
use graphlume_store::{Bindings, PropertyGraph};
use graphlume_table::Table;
use graphlume_types::CancelToken;
use proptest::prelude::*;
use serde_json::Map;

#[derive(Clone, Debug)]
struct Data {
    kinds: Vec<bool>,
    edges: Vec<(usize, usize, bool)>,
}

/// One relationship of a chain: direction, type, bounds, and the node behind it.
#[derive(Clone, Debug)]
struct Hop {
    direction: u8,
    kind: Option<bool>,
    span: Option<(usize, usize)>,
    node: End,
}

/// A node of a chain: which variable, which label.
#[derive(Clone, Debug)]
struct End {
    variable: usize,
    label: Option<bool>,
}

const fn kind(v: bool) -> &'static str {
    if v { "A" } else { "B" }
}

fn graph(data: &Data) -> PropertyGraph {
    let ints = |list: Vec<i64>| -> ArrayRef { Arc::new(Int64Array::from(list)) };
    let texts = |list: Vec<&str>| -> ArrayRef { Arc::new(StringArray::from(list)) };
    let nodes = RecordBatch::try_from_iter([
        ("id", ints((0..data.kinds.len() as i64).collect())),
        ("type", texts(data.kinds.iter().map(|k| kind(*k)).collect())),
    ]);
    let edges = RecordBatch::try_from_iter([
        ("s", ints(data.edges.iter().map(|e| e.0 as i64).collect())),
        ("d", ints(data.edges.iter().map(|e| e.1 as i64).collect())),
        ("type", texts(data.edges.iter().map(|e| kind(e.2)).collect())),
    ]);
    let table = |batch: Result<RecordBatch, _>| Some(Table::try_new(batch.unwrap()).unwrap());
    let name = |n: &str| Some(n.to_owned());
    let bindings = Bindings { node: name("id"), source: name("s"), destination: name("d") };
    PropertyGraph::new(table(nodes), table(edges), bindings).unwrap()
}

fn node_text(end: &End) -> String {
    let label = end.label.map_or(String::new(), |l| format!(":{}", kind(l)));
    format!("(n{}{label})", end.variable)
}

fn pattern(start: &End, hops: &[Hop]) -> String {
    let mut text = node_text(start);
    for hop in hops {
        let kind = hop.kind.map_or(String::new(), |k| format!(":{}", kind(k)));
        let span = hop.span.map_or(String::new(), |(a, b)| format!("*{a}..{b}"));
        let (left, right) = [("-", "->"), ("<-", "-"), ("-", "-")][hop.direction as usize];
        text += &format!("{left}[{kind}{span}]{right}{}", node_text(&hop.node));
    }
    text
}

/// All ways to walk the chain, counted.
fn count(data: &Data, start: &End, hops: &[Hop]) -> u64 {
    let mut total = 0;
    for v in 0..data.kinds.len() {
        let mut bound = [None; 4];
        if fits(data, &mut bound, start, v) {
            total += walk(data, hops, v, &mut bound.clone(), &mut Vec::new());
        }
    }
    total
}

fn fits(data: &Data, bound: &mut [Option<usize>; 4], end: &End, v: usize) -> bool {
    if end.label.is_some_and(|l| l != data.kinds[v]) {
        return false;
    }
    *bound[end.variable].get_or_insert(v) == v
}

fn walk(
    data: &Data,
    hops: &[Hop],
    at: usize,
    bound: &mut [Option<usize>; 4],
    used: &mut Vec<usize>,
) -> u64 {
    let Some((hop, rest)) = hops.split_first() else { return 1 };
    let (min, max) = hop.span.unwrap_or((1, 1));
    stretch(data, (hop, rest), (min, max), at, bound, used)
}

fn stretch(
    data: &Data,
    (hop, rest): (&Hop, &[Hop]),
    (min, max): (usize, usize),
    at: usize,
    bound: &mut [Option<usize>; 4],
    used: &mut Vec<usize>,
) -> u64 {
    let mut total = 0;
    if min == 0 {
        let mut next = *bound;
        if fits(data, &mut next, &hop.node, at) {
            total += walk(data, rest, at, &mut next, used);
        }
    }
    if max == 0 {
        return total;
    }
    for (i, (s, d, k)) in data.edges.iter().enumerate() {
        if used.contains(&i) || hop.kind.is_some_and(|wanted| wanted != *k) {
            continue;
        }
        let mut ends = Vec::new();
        if hop.direction != 1 && *s == at {
            ends.push(*d);
        }
        if hop.direction != 0 && *d == at && !(hop.direction == 2 && s == d) {
            ends.push(*s);
        }
        for to in ends {
            used.push(i);
            total += stretch(data, (hop, rest), (min.saturating_sub(1), max - 1), to, bound, used);
            used.pop();
        }
    }
    total
}

fn end() -> impl Strategy<Value = End> {
    (0usize..4, proptest::option::weighted(0.3, any::<bool>()))
        .prop_map(|(variable, label)| End { variable, label })
}

fn hop() -> impl Strategy<Value = Hop> {
    let span =
        proptest::option::weighted(0.3, (0usize..3, 0usize..2).prop_map(|(a, b)| (a, a + b)));
    let kind = proptest::option::weighted(0.4, any::<bool>());
    (0u8..3, kind, span, end()).prop_map(|(direction, kind, span, node)| Hop {
        direction,
        kind,
        span,
        node,
    })
}

fn data() -> impl Strategy<Value = Data> {
    (2usize..6).prop_flat_map(|n| {
        let edges = proptest::collection::vec((0..n, 0..n, any::<bool>()), 0..9);
        (proptest::collection::vec(any::<bool>(), n), edges)
            .prop_map(|(kinds, edges)| Data { kinds, edges })
    })
}

fn ask(graph: &PropertyGraph, text: &str) -> i64 {
    let query = parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    let cancel = CancelToken::new();
    let answer = run(graph, &query, &Map::new(), Strictness::Lenient, &cancel).unwrap();
    match answer.columns()[0][0] {
        Value::Scalar(Scalar::Int(n)) => n,
        ref other => panic!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]
    #[test]
    fn patterns_match_what_an_enumerator_finds(
        data in data(),
        start in end(),
        hops in proptest::collection::vec(hop(), 1..4),
    ) {
        let graph = graph(&data);
        let text = pattern(&start, &hops);
        let want = count(&data, &start, &hops) as i64;
        prop_assert_eq!(ask(&graph, &format!("MATCH {text} RETURN count(*)")), want, "{}", text);
        // The same from the far end, from the middle, as paths, and in two parts.
        let last = hops.last().unwrap().node.variable;
        let by_end = format!("UNWIND range(0, 5) AS i MATCH {text} WHERE n{last}.id = i RETURN count(*)");
        prop_assert_eq!(ask(&graph, &by_end), want, "{}", by_end);
        let path = format!("MATCH p = {text} WHERE length(p) >= 0 RETURN count(p)");
        prop_assert_eq!(ask(&graph, &path), want, "{}", path);
        let (head, tail) = hops.split_at(1);
        let first = pattern(&start, head);
        let rest = pattern(&head[0].node, tail);
        let parts = format!("MATCH {first}, {rest} RETURN count(*)");
        prop_assert_eq!(ask(&graph, &parts), want, "{}", parts);
        let subquery = format!("MATCH (n{}) WHERE EXISTS {{ {text} }} RETURN count(*)", start.variable);
        let some = format!("MATCH {text} RETURN count(DISTINCT n{})", start.variable);
        prop_assert_eq!(ask(&graph, &subquery), ask(&graph, &some), "{}", subquery);
    }
}

/// Length and number of the shortest paths between two nodes, level by level.
fn shortest(data: &Data, from: usize, to: usize, both: bool) -> Option<(i64, i64)> {
    let mut ways = vec![0i64; data.kinds.len()];
    let mut seen = vec![false; data.kinds.len()];
    (ways[from], seen[from]) = (1, true);
    for length in 1..=data.kinds.len() as i64 {
        let mut next = vec![0i64; data.kinds.len()];
        for (s, d, _) in &data.edges {
            if !seen[*d] {
                next[*d] += ways[*s];
            }
            if both && !seen[*s] {
                next[*s] += ways[*d];
            }
        }
        if next[to] > 0 {
            return Some((length, next[to]));
        }
        next.iter().zip(&mut seen).for_each(|(n, seen)| *seen |= *n > 0);
        ways = next;
    }
    None
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn shortest_paths_are_as_short_and_as_many_as_by_levels(data in data(), both in any::<bool>()) {
        let graph = graph(&data);
        let arrow = if both { "-[*]-" } else { "-[*]->" };
        for from in 0..data.kinds.len() {
            for to in (0..data.kinds.len()).filter(|to| *to != from) {
                let ends = format!("((a {{id: {from}}}){arrow}(b {{id: {to}}}))");
                let want = shortest(&data, from, to, both);
                let text = format!("MATCH p = allShortestPaths{ends} RETURN count(p)");
                prop_assert_eq!(ask(&graph, &text), want.map_or(0, |w| w.1), "{}", text);
                let text = format!("MATCH p = shortestPath{ends} RETURN coalesce(max(length(p)), 0)");
                prop_assert_eq!(ask(&graph, &text), want.map_or(0, |w| w.0), "{}", text);
            }
        }
    }
}
