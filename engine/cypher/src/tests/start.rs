//! Starts of patterns: where one starts, the indexes that it may start from, and how its work is shared out change how
//! fast an answer comes and nothing else.

use arrow_array::{Float64Array, LargeStringArray};

use super::*;
use crate::{Query, explain_on};

/// Many persons who live in a few cities of two countries; names and marks repeat differently often.
pub(super) fn towns() -> PropertyGraph {
    graphlume_types::tuning::use_small(true);
    let (persons, cities, countries) = (300_i64, 12_i64, 2_i64);
    let all = persons + cities + countries;
    let kind = |v: i64| match v {
        v if v < persons => "Person",
        v if v < persons + cities => "City",
        _ => "Country",
    };
    let name = |v: i64| match kind(v) {
        "Person" => format!("p{}", v / 2),
        "City" => format!("c{}", v - persons),
        _ => format!("land {}", v - persons - cities),
    };
    let ids = 0..all;
    let int = |list: Vec<i64>| Arc::new(Int64Array::from(list)) as ArrayRef;
    let nodes = RecordBatch::try_from_iter([
        ("id", int(ids.clone().collect())),
        ("type", Arc::new(ids.clone().map(|v| Some(kind(v))).collect::<StringArray>()) as _),
        ("name", Arc::new(ids.clone().map(|v| Some(name(v))).collect::<LargeStringArray>()) as _),
        (
            "age",
            Arc::new(ids.clone().map(|v| (v % 7 > 0).then_some(v % 50)).collect::<Int64Array>()),
        ),
        (
            "size",
            Arc::new(
                ids.clone()
                    .map(|v| match v % 9 {
                        0 => None,
                        1 => Some(f64::NAN),
                        2 => Some(-0.0),
                        n => Some(n as f64 / 4.0 - 1.0),
                    })
                    .collect::<Float64Array>(),
            ),
        ),
    ]);
    let mut edges: Vec<(i64, i64, &str)> = Vec::new();
    for p in 0..persons {
        edges.push((p, persons + p % cities, "LIVES_IN"));
        edges.push((p, (p * 7) % persons, "KNOWS"));
        edges.push((p, (p * p) % persons, "KNOWS"));
    }
    for c in 0..cities {
        edges.push((persons + c, persons + cities + c % countries, "IN"));
    }
    let edges = RecordBatch::try_from_iter([
        ("s", int(edges.iter().map(|e| e.0).collect())),
        ("d", int(edges.iter().map(|e| e.1).collect())),
        ("type", Arc::new(edges.iter().map(|e| Some(e.2)).collect::<StringArray>()) as _),
    ]);
    let table = |batch: Result<RecordBatch, _>| Some(Table::try_new(batch.unwrap()).unwrap());
    let name = |n: &str| Some(n.to_owned());
    let bindings = Bindings { node: name("id"), source: name("s"), destination: name("d") };
    PropertyGraph::new(table(nodes), table(edges), bindings).unwrap()
}

pub(super) fn bag_of(graph: &PropertyGraph, query: &Query, params: &Json) -> Vec<String> {
    let params = params.as_object().unwrap();
    let answer = run(graph, query, params, Strictness::Strict, &CancelToken::new()).unwrap();
    let mut rows: Vec<String> = answer.json().iter().map(Json::to_string).collect();
    rows.sort();
    rows
}

/// What a plan scans first.
pub(super) fn start_of(graph: &PropertyGraph, text: &str, params: &Json) -> String {
    let query = parse(text).unwrap();
    let params = params.as_object().unwrap();
    let plan = explain_on(graph, &query, params, &CancelToken::new()).unwrap();
    let line = plan.lines().last().unwrap().trim();
    line.split(" (estimated").next().unwrap().to_owned()
}

#[test]
fn patterns_start_at_the_rarest_node_of_the_graph() {
    let graph = towns();
    let none = json!({});
    for (text, wanted) in [
        ("MATCH (p:Person)-[:LIVES_IN]->(c:City) RETURN p, c", "Scan (c:City)"),
        (
            "MATCH (p:Person {size: 0.5})-[:LIVES_IN]->(c:City {name: 'c3'}) RETURN p",
            "Scan (c:City) by name",
        ),
        ("MATCH (p:Person {name: 'p3'})-[:LIVES_IN]->(c:City) RETURN c", "Scan (p:Person) by name"),
        // Few countries, from which the way leads to all persons.
        (
            "MATCH (p:Person {name: 'p3'})-[:LIVES_IN]->()-[:IN]->(l:Country {name: 'land 1'}) RETURN l",
            "Scan (p:Person) by name",
        ),
        ("MATCH (p:Person)-[:KNOWS]->(q:Person {id: 7}) RETURN p", "Scan (q:Person) by id"),
        ("MATCH (p:Nobody)-[:KNOWS]->(q:Person) RETURN p", "Scan (p:Nobody)"),
        ("MATCH (q:Person)<-[:KNOWS]-(p:Nobody) RETURN p", "Scan (p:Nobody)"),
        // A condition that may fail is asked of no more nodes than without statistics.
        ("MATCH (p:Person)-[:LIVES_IN]->(c:City) WHERE p.age / 2 > 3 RETURN p", "Scan (p:Person)"),
    ] {
        // Once more when the names have their index.
        for _ in 0..3 {
            assert_eq!(start_of(&graph, text, &none), wanted, "{text}");
        }
    }
    let text = "MATCH (p:Person)-[:LIVES_IN]->(c:City) WHERE p.name = $who OR p.age > 90 RETURN c";
    assert_eq!(start_of(&graph, text, &json!({"who": "p1"})), "Scan (c:City)");
    let text = "MATCH (p:Person {name: $who})-[:LIVES_IN]->(c:City) RETURN c";
    assert_eq!(start_of(&graph, text, &json!({"who": "p1"})), "Scan (p:Person) by name");
}

#[test]
fn a_plan_says_what_is_read_by_columns() {
    let graph = towns();
    let marked = |text: &str, params: Json| -> Vec<String> {
        let params = params.as_object().unwrap().clone();
        let query = parse(text).unwrap();
        let plan = explain_on(&graph, &query, &params, &CancelToken::new()).unwrap();
        let lines = plan.lines().map(|line| line.trim().split(" (estimated").next().unwrap());
        let lines = lines.filter_map(|line| line.strip_suffix(" by columns"));
        lines.map(|line| line.split(' ').next().unwrap().to_owned()).collect()
    };
    let none = || json!({});
    let count = "MATCH (p:Person) WHERE p.age > 3 RETURN count(*)";
    assert_eq!(marked(count, none()), ["Aggregate", "Filter", "Scan"]);
    let least = json!({"least": 3});
    assert_eq!(marked("MATCH (p) WHERE p.age > $least RETURN p", least), ["Filter", "Scan"]);
    // Without the value of a parameter nothing is known, and there is a plan all the same.
    assert_eq!(marked("MATCH (p) WHERE p.age > $least RETURN p", none()), [""; 0]);
    assert_eq!(marked("MATCH (p) RETURN p ORDER BY p.age LIMIT 3", none()), ["Sort", "Scan"]);
    // All rows are wanted, and a function that only rows have.
    assert_eq!(marked("MATCH (p) RETURN p ORDER BY p.age", none()), [""; 0]);
    assert_eq!(marked("MATCH (p) WHERE size(keys(p)) > 3 RETURN p", none()), [""; 0]);
    assert_eq!(marked("MATCH (p)-[:LIVES_IN]->(c) WHERE c.size > 0.5 RETURN p", none()), [""; 0]);
    // A few rows are asked for, of which the first are looked for; and rows of another operator are tested.
    assert_eq!(marked("MATCH (p) WHERE p.age > 3 RETURN p LIMIT 3", none()), [""; 0]);
    assert_eq!(marked("MATCH (p) WITH p.age AS a WHERE a > 3 RETURN a", none()), [""; 0]);
}

#[test]
fn a_plan_says_about_how_many_rows_there_will_be() {
    let graph = towns();
    let estimated = |text: &str| -> Vec<String> {
        let query = parse(text).unwrap();
        let plan = explain_on(&graph, &query, &Map::new(), &CancelToken::new()).unwrap();
        let lines = plan.lines().skip(1).map(|line| match line.split_once(" (estimated rows ") {
            Some((_, rows)) => rows.trim_end_matches(')').to_owned(),
            None => "?".to_owned(),
        });
        lines.collect()
    };
    // 300 persons live in 12 cities.
    assert_eq!(estimated("MATCH (c:City)<-[:LIVES_IN]-(p) RETURN p"), ["300", "12"]);
    assert_eq!(estimated("MATCH (c:City)<-[:LIVES_IN]-(p) RETURN p LIMIT 9"), ["9", "300", "12"]);
    let joined = "MATCH (c:City)<-[:LIVES_IN]-(p) MATCH (c)-[:IN]->(l) RETURN p.id SKIP 40";
    // Both clauses are one pattern, and begin where the fewest rows are made.
    assert_eq!(estimated(joined), ["260", "300", "300", "12", "314"]);
    assert_eq!(estimated("MATCH (p {id: 7}) RETURN p.id"), ["1", "1", "1"]);
    assert_eq!(estimated("MATCH (p:Nobody) RETURN p.id"), ["0", "0"]);
    // Nothing tells how many pass a comparison, or how many groups there are; of all rows there is one group.
    assert_eq!(estimated("MATCH (p:City) WHERE p.age > 3 RETURN p.id"), ["?", "?", "12"]);
    assert_eq!(estimated("MATCH (p:City) RETURN p.name, count(*)"), ["?", "12"]);
    assert_eq!(estimated("MATCH (p) WHERE p.age > 3 RETURN count(*)"), ["1", "?", "314"]);
    let either = "MATCH (c:City) RETURN c.id AS i UNION ALL UNWIND [1, 2] AS i RETURN i";
    assert_eq!(estimated(either), ["14", "12", "12", "2"]);
}

#[test]
fn every_plan_gives_the_same_rows() {
    let used = towns();
    let params = json!({"who": "p9", "ages": [3, 5, 4.0, null, "x"], "size": -0.0});
    for text in [
        "MATCH (p:Person)-[:LIVES_IN]->(c:City) RETURN p.id, c.id",
        "MATCH (p {age: 3})-[:LIVES_IN]->(c {name: 'c3'}) RETURN p.id, c.id",
        "MATCH (p:Person {age: 3})-[:LIVES_IN]->(c:City {name: 'c3'})-[:IN]->(l) RETURN p.id, l.name",
        "MATCH (p:Person {name: $who})-[:KNOWS]-(q:Person)-[:LIVES_IN]->(c:City {name: 'c1'}) RETURN p.id, q.id",
        "MATCH (p)-[:KNOWS]->(q) WHERE p.age IN $ages AND q.age = 9 RETURN p.id, q.id",
        "MATCH (p)-[:KNOWS]->(q) WHERE p.age IN [3, 4, 5, null] AND q.size = 0.0 RETURN p.id, q.id",
        "MATCH (p)-[:KNOWS]->(q {size: $size}) RETURN p.id, q.id",
        "MATCH (p)-[:KNOWS]->(q) WHERE p.age = q.age AND q.name = 'p12' RETURN p.id, q.id",
        "MATCH (p:Person)-[:KNOWS*1..2]->(q:Person {name: 'p3'}) RETURN p.id, q.id",
        "MATCH (a:Person {name: 'p0'})-[:KNOWS]->(b)-[:KNOWS]->(a) RETURN a.id, b.id",
        "MATCH (p:Person {name: 'p3'})-[:KNOWS]->(q), (q)-[:LIVES_IN]->(c:City) RETURN p.id, q.id, c.id",
        "MATCH (c:City {name: 'c1'}), (l:Country {name: 'land 1'}) RETURN c.id, l.id",
        "MATCH (p:Person {name: 'p4'}) MATCH (q:Person {name: p.name}) RETURN p.id, q.id",
        "UNWIND ['p1', 'p2', 'nobody'] AS who MATCH (p:Person {name: who})-[:LIVES_IN]->(c) RETURN p.id, c.id",
        "MATCH (p:Person {name: 'p3'})-[:KNOWS]->(q:Nobody) RETURN p",
        "OPTIONAL MATCH (p:Person {name: 'p3'})-[:KNOWS]->(q:City) RETURN p, q",
        // Groups by the numbers of values.
        "MATCH (p:Person)-[:KNOWS]->(q) RETURN q.name AS k, count(*) AS n, min(q.age) AS a, sum(p.age) AS s",
        "MATCH (p) RETURN p.name AS k, count(*) AS n, max(p.id) AS m",
        "MATCH (p)-[:KNOWS]->(q) RETURN q.age AS k, count(*) AS n ORDER BY n DESC, k LIMIT 5",
        "MATCH (p)-[:KNOWS]->(q) RETURN q.age + 1 AS k, q.size AS l, count(*) AS n",
        "MATCH (p)-[:KNOWS]->(q) RETURN q.size AS k, count(*) AS n",
        "MATCH (p)-[:KNOWS]->(q) WITH q.age AS k, count(*) AS n MATCH (r {age: k}) RETURN k, n, r.id",
        // Rows made by one operator and shared out before the next.
        "MATCH (p:Person)-[:KNOWS]->(q) WITH DISTINCT q MATCH (q)-[:KNOWS]->(r) RETURN q.id, r.id",
        "MATCH (p)-[:LIVES_IN]->(c) WITH c, count(*) AS n MATCH (c)-[:IN]->(l) RETURN l.name, sum(n)",
        "MATCH (p:Person) WITH p ORDER BY p.age LIMIT 40 MATCH (p)-[:KNOWS]->(q) RETURN p.id, q.id",
        "MATCH (p:Person {name: 'p3'})-[:KNOWS]->(q)-[:KNOWS]->(r) RETURN r.id, count(*)",
        "MATCH (p:Person {name: 'p3'})-[:KNOWS]->(q)-[:KNOWS]->(r) RETURN count(DISTINCT r.id)",
        "MATCH (p:Person)-[:KNOWS]->(q) WITH DISTINCT q MATCH (q)-[:KNOWS]->(r) RETURN count(DISTINCT r)",
    ] {
        let query = parse(text).unwrap();
        let usual = Query { plan: query.plan.clone(), source: None };
        let wanted = bag_of(&towns(), &usual, &params);
        assert_eq!(wanted.is_empty(), text.contains(":Nobody"), "{text}");
        for round in 0..4 {
            assert_eq!(bag_of(&used, &query, &params), wanted, "{text}, round {round}");
        }
    }
}

#[test]
fn numbers_of_the_last_nodes_are_what_rows_of_them_would_give() {
    let graph = towns();
    for keys in ["", "c.name AS k, ", "c AS k, c.age AS m, "] {
        for (pattern, far) in [
            ("(c:City)<-[:LIVES_IN]-(p:Person)", "p"),
            ("(c)-[:KNOWS]->(p)", "p"),
            ("(c)-->(p:Person)", "p"),
            ("(c)<--(p)", "p"),
            ("(c)--(p)", "p"),
            ("(l:Country)<-[:IN]-(c:City)<-[:LIVES_IN]-(p:Person)", "p"),
            ("(c)-[:NONE]->(p)", "p"),
        ] {
            let whole = |with: &str| {
                let aggregates = ["sum", "avg", "min", "max", "count"].iter().flat_map(|f| {
                    ["age", "size"].map(|key| format!("{f}({far}.{key}{with}) AS {f}_{key}"))
                });
                let aggregates = aggregates.collect::<Vec<_>>().join(", ");
                parse(&format!("MATCH {pattern} RETURN {keys}{aggregates}, count(*) AS n")).unwrap()
            };
            // A sum has to be made for each row.
            let (column, rows) = (whole(""), whole(" - 0"));
            let none = json!({});
            assert_eq!(
                bag_of(&graph, &column, &none),
                bag_of(&graph, &rows, &none),
                "{pattern} {keys}"
            );
        }
    }
}
