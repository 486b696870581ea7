//! Profiles: a run does what its plan says of it.

use std::collections::BTreeSet;

use graphlume_expr::QueryError;

use super::start::towns;
use super::*;
use crate::exec::{self, Setting};
use crate::{ProcedureTable, Procedures, Query, Value, explain_on, profile};

/// A procedure that gives the ids 1 to 3.
struct Ids;

impl Procedures for Ids {
    fn call(
        &self,
        _: &PropertyGraph,
        _: &str,
        _: &[Value],
        _: &CancelToken,
    ) -> Result<ProcedureTable, QueryError> {
        let rows = (1..=3).map(|v| vec![Value::int(v)]).collect();
        Ok(ProcedureTable { columns: vec!["nodeId".to_owned()], rows })
    }
}

/// Queries that come upon every operator, and upon every way by columns.
const QUERIES: &[&str] = &[
    // Groups by columns: of nodes, of relationships, behind projections, in a part of a union, below others.
    "MATCH (p:Person) WHERE p.age > 3 RETURN count(*)",
    "MATCH (p) RETURN p.age, count(*), sum(p.id)",
    "MATCH (p) WITH p.age AS a WHERE a > 3 RETURN count(a)",
    "MATCH (a)-[r]->(b) RETURN sum(r.d)",
    "MATCH (a)-[r:KNOWS]->(b) WHERE r.d > 30 RETURN r.s % 3, max(r.d)",
    "MATCH (p) WHERE p.age > 3 RETURN count(*) AS n UNION ALL MATCH (p:City) RETURN count(*) AS n",
    "MATCH (p) WITH count(*) AS n MATCH (c:City) RETURN n, c.id",
    "MATCH (p) WITH p.age AS k, count(*) AS n MATCH (r {age: k}) RETURN k, n, r.id",
    "MATCH (p) RETURN p.age AS k, count(*) AS n ORDER BY n DESC, k LIMIT 5",
    "MATCH (p:Person) WITH max(p.age) AS m MATCH (q) WHERE q.age = m RETURN q.id",
    // Groups that columns do not make.
    "MATCH (p) RETURN collect(p.age)",
    "MATCH (p) RETURN p.name AS k, count(*) AS n, max(p.id) AS m",
    "MATCH (p) WHERE p.age > 3 RETURN size(p.name), count(*)",
    "MATCH (p:Person)-[:KNOWS]->(q) RETURN p.name AS k, count(*) AS n, min(q.age) AS a",
    "MATCH (c:City)<-[:LIVES_IN]-(p:Person) WHERE c.id > 305 RETURN c.id, avg(p.size)",
    "MATCH (p)-[:KNOWS]->(q) RETURN q.age + 1 AS k, q.size AS l, count(*) AS n",
    // Filters that test all rows of a table before a row is made.
    "MATCH (p) WHERE p.age > $least RETURN p",
    "MATCH (p:Person) WHERE p.age > 3 AND p.size < 2 RETURN p.id",
    "MATCH (p) WHERE p.name STARTS WITH 'p1' OR p.age IS NULL RETURN p.id ORDER BY p.id",
    "MATCH (a)-[r]->(b) WHERE r.d > 300 RETURN a.id, b.id",
    "MATCH (a)-[r:IN]->(b) WHERE r.d > 300 RETURN a.id, b.name",
    "MATCH (p) WHERE p.age > 3 RETURN DISTINCT p.age",
    "MATCH (p) WHERE p.age > 3 RETURN DISTINCT size(p.name)",
    "MATCH (p) WHERE p.age > 3 WITH p.age AS a, p.id AS i WHERE a < i RETURN i",
    "MATCH (p) WHERE p.age > 3 WITH collect(p) AS all UNWIND all AS p RETURN p.id",
    // Filters that look at rows: behind a projection, below a limit or a step, above one, with functions of rows.
    "MATCH (p) WITH p.age AS a WHERE a > 3 RETURN a",
    "MATCH (p) WHERE p.age > 3 RETURN p LIMIT 3",
    "MATCH (p) WHERE p.age > 3 RETURN p SKIP 3",
    "MATCH (p:Person)-[:KNOWS]->(q) WHERE p.age > 3 RETURN p, q",
    "MATCH (p)-[:LIVES_IN]->(c) WHERE c.size > 0.5 RETURN p",
    "MATCH (p) WHERE size(keys(p)) > 3 RETURN p",
    "MATCH (p), (q:Country) WHERE p.age > q.id - 310 RETURN p.id, q.id",
    "MATCH (p) WHERE p.age > 3 RETURN p.id AS i UNION MATCH (p) WHERE p.age < 3 RETURN p.id AS i",
    "MATCH (p) WHERE p.age > 3 WITH DISTINCT p.age AS a RETURN a + 1",
    "MATCH (p:Person) WHERE p.age > 3 UNWIND [1, 2] AS i RETURN p.id, i",
    // First rows by columns, and those that are not.
    "MATCH (p) RETURN p ORDER BY p.age LIMIT 3",
    "MATCH (p) WHERE p.age > 3 RETURN p.id ORDER BY p.age DESC SKIP 2 LIMIT 3",
    "MATCH (p) WITH p.age AS a, p WHERE a > 3 RETURN p ORDER BY a LIMIT 3",
    "MATCH (a)-[r]->(b) RETURN a.id, r.d ORDER BY r.d LIMIT 4",
    "MATCH (p:Person) WITH p ORDER BY p.age LIMIT 30 MATCH (p)-[:KNOWS]->(q) RETURN p.id, q.id",
    "MATCH (p) RETURN p ORDER BY p.age LIMIT 300",
    "MATCH (p) RETURN p ORDER BY p.name LIMIT 3",
    "MATCH (p) WHERE p.age > 3 RETURN p.id ORDER BY p.name LIMIT 3",
    "MATCH (p)-[:KNOWS]->(q) RETURN p.id, q.id ORDER BY q.age LIMIT 3",
    // Paths that are counted, from all nodes at once and from few.
    "MATCH (p)-[:KNOWS]->(q) RETURN count(*)",
    "MATCH (p:Person)-[:KNOWS]->(q)-[:LIVES_IN]->(c) WHERE p.age > 3 RETURN c.name, count(*)",
    "MATCH (p:Person)-[:KNOWS]->(q) WHERE p.age < p.id RETURN q.id, count(*)",
    "MATCH (p:Person {name: 'p3'})-[:KNOWS]->(q)-[:KNOWS]->(r) RETURN r.id, count(*)",
    "MATCH (p:Person)-[:KNOWS]->(q)-[:KNOWS]->(r) RETURN r.name, count(*) ORDER BY count(*) DESC LIMIT 3",
    // Nodes by id, by index, and by neither.
    "MATCH (p {id: 7}) RETURN p.name",
    "MATCH (p:Person {name: $who})-[:KNOWS]-(q:Person)-[:LIVES_IN]->(c:City {name: 'c1'}) RETURN p.id, q.id",
    "MATCH (p)-[:KNOWS]->(q) WHERE p.age IN $ages AND q.age = 9 RETURN p.id, q.id",
    "UNWIND ['p1', 'p2', 'nobody'] AS who MATCH (p:Person {name: who})-[:LIVES_IN]->(c) RETURN p.id, c.id",
    // The other operators.
    "MATCH (a:Person {name: 'p0'})-[:KNOWS]->(b)-[:KNOWS]->(a) RETURN a.id, b.id",
    "MATCH (p:Person {id: 3})-[:KNOWS*1..2]->(q:Person) RETURN q.id",
    "MATCH p = (a:City {id: 301})-[:IN]->(b) RETURN p",
    "MATCH (a {id: 1})-[r:KNOWS]->() MATCH (x)-[r]->(y:Person) RETURN x.id, y.id",
    "MATCH (a {id: 1})-[r:KNOWS*2]->() MATCH (a)-[r*]->(z) RETURN z.id",
    "MATCH (a:City) WITH a MATCH (a:City) RETURN a.id",
    "MATCH p = shortestPath((a {id: 2})-[*]->(b {id: 309})) RETURN length(p)",
    "MATCH p = allShortestPaths((a {id: 2})-[*]-(b {id: 309})) RETURN length(p)",
    "MATCH (p:Person {id: 7}) OPTIONAL MATCH (p)-[:KNOWS]->(q) WHERE q.age > 3 RETURN p.id, q.id",
    "MATCH (p:Person)-[:KNOWS]->(q:Nobody) RETURN p",
    "MATCH (p) WHERE p.age > 900 RETURN p.id ORDER BY p.age LIMIT 3",
    "CALL ids() YIELD nodeId MATCH (p {id: nodeId}) RETURN p.name",
    "UNWIND range(1, 5) AS i WITH i WHERE i > 2 RETURN sum(i)",
    "RETURN 1 AS one",
    // A part that no row reaches.
    "OPTIONAL MATCH (p:Nobody) WITH p WHERE p.age > 3 OPTIONAL MATCH (p)-->(q) RETURN q",
    "MATCH (p) WHERE p.age > 3 RETURN p LIMIT 0",
    "MATCH (p) RETURN p.id ORDER BY p.age LIMIT 0",
];

fn params() -> Map<String, Json> {
    let params = json!({"who": "p9", "ages": [3, 5, 4.0, null, "x"], "least": 3});
    params.as_object().unwrap().clone()
}

/// A line of a plan without what is known of its rows.
fn operator(line: &str) -> &str {
    let notes = [" (rows ", " (estimated ", " (not reached", " (within "];
    notes.iter().fold(line, |line, note| line.split(note).next().unwrap())
}

fn tree(text: &str) -> Vec<&str> {
    text.lines().map(operator).collect()
}

/// The rows of each operator of a profile, in its order; `None` where they were not counted.
fn rows(text: &str) -> Vec<Option<u64>> {
    let rows = text.lines().map(|line| {
        let rest = line.split(" (rows ").nth(1)?;
        rest.split([',', ')']).next()?.parse().ok()
    });
    rows.collect()
}

fn profile_of(graph: &PropertyGraph, query: &Query) -> String {
    let cancel = CancelToken::new();
    profile(graph, query, &params(), Strictness::Strict, &Ids, &cancel).unwrap().text
}

fn plan_of(graph: &PropertyGraph, query: &Query) -> String {
    explain_on(graph, query, &params(), &CancelToken::new()).unwrap()
}

/// The rows of the operators of a run that reads no column.
fn rows_by_rows(graph: &PropertyGraph, query: &Query) -> Vec<Option<u64>> {
    let setting = Setting {
        params: &params(),
        strictness: Strictness::Strict,
        procedures: &Ids,
        now: (0, 0),
        by_columns: false,
        cancel: &CancelToken::new(),
    };
    rows(&crate::explain::text_of(&exec::profiled(graph, query, &setting).unwrap()))
}

#[test]
fn a_plan_is_the_operators_that_run() {
    let graph = towns();
    let (mut kinds, mut by_columns, mut unreached) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
    for text in QUERIES {
        let query = parse(text).unwrap();
        let params = params();
        let ask = || {
            crate::run_with(&graph, &query, &params, Strictness::Strict, &Ids, &CancelToken::new())
        };
        // What is searched and grouped by gets its index meanwhile, which could change the plan between the two.
        let answers: Vec<_> = (0..4).map(|_| ask().unwrap()).collect();
        let (plan, profile) = (plan_of(&graph, &query), profile_of(&graph, &query));
        assert_eq!(tree(&plan), tree(&profile), "{text}\n{plan}\n{profile}");
        let counted = rows(&profile);
        // The first line is the answer, the second the last operator.
        let wanted = Some(answers[0].num_rows() as u64);
        assert_eq!(counted[..2], [wanted, wanted], "{text}\n{profile}");
        for line in profile.lines().skip(1).filter(|line| line.trim() != "Inner") {
            let (line, known) =
                (line.trim(), line.contains(" (rows ") || line.contains(" (within "));
            if !known {
                assert!(line.contains(" (not reached"), "{text}\n{profile}");
                unreached.push(*text);
            }
            let kind = line.split(' ').next().unwrap();
            kinds.insert(
                kind.to_owned() + if line.contains('*') && kind == "Expand" { "*" } else { "" },
            );
            if operator(line).ends_with(" by columns") {
                by_columns.insert(kind.to_owned());
            }
        }
        // However rows are made, each operator gives the same, unless it gives only the first ones.
        if !text.contains("LIMIT") {
            let others = rows_by_rows(&graph, &query);
            let both = counted.iter().zip(&others).filter_map(|(a, b)| a.zip(*b));
            assert!(both.clone().all(|(a, b)| a == b), "{text}\n{profile}\n{others:?}");
        }
    }
    assert!(QUERIES.len() >= 50);
    let all = "Aggregate AllShortest Call Check CountPaths Distinct Ends Expand Expand* Filter Limit Optional Path \
               Project Scan Shortest Skip Sort Union Unwind Walk";
    assert_eq!(kinds.iter().map(String::as_str).collect::<Vec<_>>().join(" "), all);
    let columnar = "Aggregate Distinct Expand Filter Project Scan Sort";
    assert_eq!(by_columns.iter().map(String::as_str).collect::<Vec<_>>().join(" "), columnar);
    unreached.dedup();
    assert_eq!(unreached, QUERIES[QUERIES.len() - 3..]);
}

/// The operators of a text that say that they read columns.
fn columnar(text: &str) -> Vec<&str> {
    let lines = text.lines().map(|line| operator(line).trim());
    lines.filter_map(|line| line.strip_suffix(" by columns")?.split(' ').next()).collect()
}

#[test]
fn a_profile_tells_that_columns_had_no_value_for_a_row() {
    let graph = towns();
    // The sum of all is no float, and their mean is one.
    let query = parse("MATCH (p) WHERE p.age > 3 RETURN avg(p.id * 1e306)").unwrap();
    assert_eq!(columnar(&plan_of(&graph, &query)), ["Aggregate", "Filter", "Scan"]);
    // The groups were made of rows, which a filter by columns left.
    assert_eq!(columnar(&profile_of(&graph, &query)), ["Filter", "Scan"]);
}

#[test]
fn long_plans_read_no_columns_and_say_so() {
    let graph = towns();
    let tests: Vec<String> = (0..80).map(|i| format!("p.age > {i} - 80")).collect();
    let query = parse(&format!("MATCH (p) WHERE {} RETURN count(*)", tests.join(" AND "))).unwrap();
    let (plan, profile) = (plan_of(&graph, &query), profile_of(&graph, &query));
    assert_eq!(tree(&plan), tree(&profile));
    assert!(columnar(&plan).is_empty() && rows(&profile).iter().all(Option::is_some), "{profile}");
}

#[test]
fn a_profile_fails_as_the_query_does() {
    let graph = towns();
    let ask = |text: &str, strictness| {
        let query = parse(text).unwrap();
        let cancel = CancelToken::new();
        profile(&graph, &query, &Map::new(), strictness, &Ids, &cancel)
    };
    let lenient = ask("MATCH (p) RETURN p.nmae", Strictness::Lenient).unwrap();
    assert_eq!(lenient.notices.len(), 1, "{lenient:?}");
    for (text, word) in [
        ("MATCH (p) RETURN p.nmae", "did you mean \"name\"?"),
        ("MATCH (p) RETURN 1 / (p.id - p.id)", "division by zero"),
        ("MATCH (p) WHERE p.age > $least RETURN p", "the parameter $least has no value"),
    ] {
        let error = ask(text, Strictness::Strict).unwrap_err().to_string();
        assert!(error.contains(word), "{text}: {error}");
    }
}
