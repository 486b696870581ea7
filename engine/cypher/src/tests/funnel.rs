//! Relations that lead from many nodes to few: counts and means over them are what walked paths give, again and again.

use arrow_array::Float64Array;

use super::*;

const MEMBERS: i64 = 96;
const TOWNS: i64 = 5;
const LANDS: i64 = 2;

/// Members who live in towns of lands; of some the town is missing, some `IN` relationships are doubled, and one
/// member, where `odd`, lives in a land.
fn graph(seed: i64, odd: bool) -> PropertyGraph {
    let (town, land) = (MEMBERS, MEMBERS + TOWNS);
    let ids: Vec<i64> = (0..land + LANDS).collect();
    let kind =
        |v: &i64| ["Member", "Town", "Land"][usize::from(*v >= town) + usize::from(*v >= land)];
    let age =
        |v: &i64| (*v < town && (*v + seed) % 11 > 0).then_some(((*v * 7 + seed) % 60) as f64);
    let (mut s, mut d, mut kinds) = (Vec::new(), Vec::new(), Vec::new());
    let mut link = |from: i64, to: i64, kind: &'static str| {
        s.push(from);
        d.push(to);
        kinds.push(kind);
    };
    for v in 0..town {
        match (v * 13 + seed) % 17 {
            0 => link(v, 10_000, "LIVES"),
            1 if odd => link(v, land, "LIVES"),
            n => (0..1 + n % 2).for_each(|_| link(v, town + (v * v + seed) % TOWNS, "LIVES")),
        }
        link(v, (v * 5 + 1) % MEMBERS, "KNOWS");
    }
    (0..TOWNS).for_each(|t| link(town + t, land + (t + seed) % LANDS, "IN"));
    let nodes = RecordBatch::try_from_iter([
        ("type", Arc::new(StringArray::from(ids.iter().map(kind).collect::<Vec<_>>())) as ArrayRef),
        ("age", Arc::new(Float64Array::from(ids.iter().map(age).collect::<Vec<_>>()))),
        ("n", Arc::new(Int64Array::from(ids.iter().map(|v| v % 3).collect::<Vec<_>>()))),
        ("id", Arc::new(Int64Array::from(ids))),
    ]);
    let edges = RecordBatch::try_from_iter([
        ("s", Arc::new(Int64Array::from(s)) as ArrayRef),
        ("d", Arc::new(Int64Array::from(d))),
        ("type", Arc::new(StringArray::from(kinds))),
    ]);
    graph_of(nodes, edges)
}

fn rows(graph: &PropertyGraph, text: &str) -> Vec<String> {
    let mut rows = rows_of(graph, text, Strictness::Strict);
    rows.sort();
    rows
}

#[test]
fn few_ends_give_what_walked_paths_give() {
    let patterns = [
        "(m:Member)-[:LIVES]->(t:Town)-[:IN]->(l:Land) WHERE m.age >= 20 AND m.age <= 40 RETURN l.id AS k, count(*) AS x",
        "(m:Member)-[:LIVES]->(t:Town)-[:IN]->(l:Land) RETURN t.id AS k, avg(m.age) AS x, count(m.age) AS y, sum(m.n) AS z",
        "(m)-[:LIVES]->(t)-[:IN]->(l) RETURN l.id AS k, count(*) AS x",
        "(m)-[:LIVES]->(t) RETURN t.id AS k, t.type AS of, count(*) AS x, min(m.age) AS y",
        "(l:Land)<-[:IN]-(t:Town)<-[:LIVES]-(m:Member) RETURN t.id AS k, avg(m.age) AS x",
        "(l:Land {n: 1})<-[:IN]-(t)<-[:LIVES]-(m:Member) RETURN count(*) AS x",
        "(a)-[:KNOWS]->(m:Member)-[:LIVES]->(t) WHERE t.n > 0 RETURN t.id AS k, count(*) AS x",
        "(a)-[:KNOWS]->(m)-[:LIVES]->(t)-[:IN]->(l)<-[:IN]-(u) RETURN u.id AS k, count(*) AS x",
        "(t:Town)<-[:LIVES]-(m:Member) WHERE m.n = 1 RETURN t.id AS k, max(m.age) AS x, count(*) AS y",
    ];
    for seed in 0..4 {
        for odd in [false, true] {
            let graph = graph(seed, odd);
            for pattern in patterns {
                let want = rows(&graph, &format!("MATCH p = {pattern}"));
                // The adjacency of a type, and what is known of its ends, comes with use.
                for again in 0..4 {
                    let got = rows(&graph, &format!("MATCH {pattern}"));
                    assert_eq!(got, want, "{pattern}, seed {seed}, odd {odd}, again {again}");
                }
                assert!(!want.is_empty());
            }
        }
    }
}
