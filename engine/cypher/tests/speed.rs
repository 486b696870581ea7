//! Times of typical queries on a graph of a million nodes and five million edges; run by hand with
//! `cargo test -p graphlume-cypher --test speed -- --ignored --nocapture`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::sync::Arc;
use std::time::Instant;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use graphlume_cypher::{parse, run};
use graphlume_expr::Strictness;
use graphlume_store::{Bindings, PropertyGraph};
use graphlume_table::Table;
use graphlume_types::CancelToken;
use graphlume_types::hash::h64;
use serde_json::Map;

const NODES: u64 = 1_000_000;
const EDGES: u64 = 5_000_000;

fn graph() -> PropertyGraph {
    let kinds = ["person", "company", "place", "account", "device", "event", "message", "group"];
    let node = |f: &dyn Fn(u64) -> i64| -> ArrayRef {
        Arc::new((0..NODES).map(|i| Some(f(i))).collect::<Int64Array>())
    };
    let kind = (0..NODES).map(|i| Some(kinds[(h64(1, 0, i) % 8) as usize]));
    let score = (0..NODES).map(|i| Some((h64(2, 0, i) % 10_000) as f64 / 100.0));
    let nodes = RecordBatch::try_from_iter([
        ("id", node(&|i| i as i64)),
        ("kind", Arc::new(kind.collect::<StringArray>()) as ArrayRef),
        ("score", Arc::new(score.collect::<Float64Array>())),
        ("age", node(&|i| (h64(3, 0, i) % 100) as i64)),
    ]);
    let types = ["KNOWS", "PAYS", "SENDS"];
    let end = |stream| -> ArrayRef {
        let ids = (0..EDGES).map(|i| Some((h64(stream, 0, i) % NODES) as i64));
        Arc::new(ids.collect::<Int64Array>())
    };
    let kind = (0..EDGES).map(|i| Some(types[(h64(6, 0, i) % 3) as usize]));
    let weight = (0..EDGES).map(|i| Some((h64(7, 0, i) % 1_000) as i64));
    let edges = RecordBatch::try_from_iter([
        ("src", end(4)),
        ("dst", end(5)),
        ("type", Arc::new(kind.collect::<StringArray>()) as ArrayRef),
        ("weight", Arc::new(weight.collect::<Int64Array>())),
    ]);
    let table = |batch: Result<RecordBatch, _>| Some(Table::try_new(batch.unwrap()).unwrap());
    let name = |n: &str| Some(n.to_owned());
    let bindings = Bindings { node: name("id"), source: name("src"), destination: name("dst") };
    PropertyGraph::new(table(nodes), table(edges), bindings).unwrap()
}

#[test]
#[ignore = "takes minutes and measures"]
fn times_of_typical_queries() {
    let graph = graph();
    let start = Instant::now();
    graph.frame(&CancelToken::new()).unwrap();
    println!("adjacency {:?}", start.elapsed());
    let queries = [
        "MATCH (n {id: 5})--(m) RETURN m LIMIT 10",
        "MATCH (n {id: 5})-[*1..3]->(m) RETURN count(DISTINCT m)",
        "MATCH (n) RETURN count(*)",
        "MATCH (n) WHERE n.kind = 'person' RETURN count(*)",
        "MATCH (n) WHERE n.age > 30 AND n.kind STARTS WITH 'p' RETURN count(*)",
        "MATCH (n) RETURN n.kind, count(*), avg(n.score)",
        "MATCH (a)-[]->(b) RETURN count(*)",
        "MATCH (a)-[]->(b) RETURN b.kind, count(*)",
        "MATCH (a)-[r]->(b) RETURN a.kind, b.kind, count(*), sum(r.weight)",
        "MATCH (a)-[r:PAYS]->(b) WHERE r.weight > 900 RETURN count(*)",
        "MATCH (a {kind: 'person'})-[:KNOWS]->(b {kind: 'company'}) RETURN count(*)",
        "MATCH (a)-[]->(b) RETURN DISTINCT b.age",
        "MATCH (n) RETURN n.id, n.score ORDER BY n.score DESC LIMIT 10",
        "MATCH (n) WHERE (n)-[:PAYS]->({kind: 'device'}) RETURN count(n)",
        "MATCH (n) OPTIONAL MATCH (n)-[:PAYS]->(m {age: 7}) RETURN count(m), count(n)",
        "MATCH (a {id: 1})-->(b)-->(c)-->(a) RETURN count(*)",
        "MATCH (a {age: 5})-->(b)-->(c) RETURN count(*)",
        "MATCH p = shortestPath((a {id: 1})-[*]->(b {id: 77})) RETURN length(p)",
        "MATCH (a)-[]->(b) RETURN a.id, b.id LIMIT 100000",
        "MATCH (a)-->(b) WITH a, count(b) AS d ORDER BY d DESC LIMIT 5 RETURN a.id, d",
    ];
    for text in queries {
        let query = parse(text).unwrap();
        let mut best = f64::MAX;
        let mut rows = 0;
        for _ in 0..3 {
            let start = Instant::now();
            let cancel = CancelToken::new();
            let answer = run(&graph, &query, &Map::new(), Strictness::Lenient, &cancel).unwrap();
            best = best.min(start.elapsed().as_secs_f64() * 1e3);
            rows = answer.num_rows();
        }
        println!("{best:10.2} ms {rows:7} rows  {text}");
    }
}
