//! Ids as properties, and times beside texts.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, Date32Array, Int64Array, RecordBatch, StringArray, TimestampSecondArray,
};
use graphlume_expr::Strictness;
use graphlume_store::{Bindings, PropertyGraph};
use graphlume_table::Table;
use graphlume_types::CancelToken;
use serde_json::{Map, json};

use super::value;
use crate::{parse, run};

#[test]
fn the_id_is_a_property_wherever_properties_are_shown() {
    graphlume_types::tuning::use_small(true);
    assert_eq!(value("MATCH (n {id: 3}) RETURN keys(n)"), json!(["id", "name", "ok"]));
    assert_eq!(
        value("MATCH (n {name: 'cy'}) RETURN properties(n)"),
        json!({"id": 3, "name": "cy", "ok": true})
    );
    assert_eq!(value("MATCH (n {id: 3}) RETURN n {.*}.id"), json!(3));
    assert_eq!(
        value("MATCH (n {id: 2}) RETURN n"),
        json!("(:Q {id: 2, type: 'Q', name: 'bob', n: 1, ok: false})")
    );
    let path = "MATCH p = shortestPath((a {id: 1})-[*]->(b {id: 2})) RETURN p";
    assert!(value(path).as_str().unwrap().starts_with("<(:P {id: 1, "), "{}", value(path));
    let ends = RecordBatch::try_from_iter([
        ("s", Arc::new(StringArray::from(vec!["a"])) as ArrayRef),
        ("d", Arc::new(StringArray::from(vec!["b"]))),
    ]);
    let name = |n: &str| Some(n.to_owned());
    let bindings = Bindings { node: None, source: name("s"), destination: name("d") };
    let edges = Some(Table::try_new(ends.unwrap()).unwrap());
    let graph = PropertyGraph::new(None, edges, bindings).unwrap();
    let query = parse("MATCH p = (a)-->(b) RETURN p, keys(a) AS k").unwrap();
    let got = run(&graph, &query, &Map::new(), Strictness::Strict, &CancelToken::new()).unwrap();
    let row = got.json()[0].clone();
    assert_eq!((&row["p"], &row["k"]), (&json!("<({id: 'a'})-[]->({id: 'b'})>"), &json!(["id"])));
}

/// Nodes with a time without a zone, one in a zone, and a day; relationships with times.
fn times() -> PropertyGraph {
    graphlume_types::tuning::use_small(true);
    let seconds = vec![Some(1_772_323_200), Some(1_775_001_600), None];
    let zoned = TimestampSecondArray::from(seconds.clone()).with_timezone("Europe/Berlin");
    let nodes = RecordBatch::try_from_iter([
        ("id", Arc::new(Int64Array::from(vec![1, 2, 3])) as ArrayRef),
        ("at", Arc::new(TimestampSecondArray::from(seconds))),
        ("there", Arc::new(zoned)),
        ("day", Arc::new(Date32Array::from(vec![Some(20_513), Some(20_544), None]))),
    ]);
    let edges = RecordBatch::try_from_iter([
        ("s", Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef),
        ("d", Arc::new(Int64Array::from(vec![2, 3]))),
        ("ts", Arc::new(TimestampSecondArray::from(vec![1_772_323_200, 1_775_001_600]))),
    ]);
    let table = |batch: Result<RecordBatch, _>| Some(Table::try_new(batch.unwrap()).unwrap());
    let name = |n: &str| Some(n.to_owned());
    let bindings = Bindings { node: name("id"), source: name("s"), destination: name("d") };
    PropertyGraph::new(table(nodes), table(edges), bindings).unwrap()
}

#[test]
fn a_time_is_compared_with_a_text_and_with_other_times() {
    let graph = times();
    let count = |text: &str| {
        let cancel = CancelToken::new();
        let got = run(&graph, &parse(text).unwrap(), &Map::new(), Strictness::Lenient, &cancel);
        let rows = got.map_err(|e| e.to_string())?.json();
        Ok::<_, String>(rows[0]["n"].as_i64().unwrap())
    };
    let node = |test: &str| count(&format!("MATCH (a) WHERE {test} RETURN count(*) AS n"));
    // The times are midnights of 1 March and 1 April 2026, in UTC.
    for (test, wanted) in [
        ("a.at > '2026-03-01'", 1),
        ("a.at >= '2026-03-01 00:00:00'", 2),
        ("'2026-03-01T00:00:01' > a.at", 1),
        ("a.at = '2026-03-01T00:00:00Z'", 1),
        ("a.at <> '2026-03-01T01:00:00+01:00'", 1),
        ("a.at IN ['2026-04-01', '2026-05-01']", 1),
        ("a.at > datetime('2026-03-15')", 1),
        ("a.at < date('2026-03-15')", 1),
        ("datetime('2026-03-01') = a.at", 1),
        ("a.there = '2026-03-01T01:00:00'", 1),
        ("a.there < localdatetime('2026-03-01T00:30:00')", 1),
        ("a.day > '2026-03-01'", 1),
        ("a.day >= '2026-03-01' AND a.day < '2026-03-01T12:00'", 1),
        ("CASE a.at WHEN '2026-03-01' THEN true ELSE false END", 1),
    ] {
        assert_eq!(node(test), Ok(wanted), "{test}");
    }
    assert_eq!(count("MATCH (a {at: '2026-03-01'}) RETURN count(*) AS n"), Ok(1));
    assert_eq!(count("MATCH ()-[r {ts: '2026-03-01'}]->() RETURN count(*) AS n"), Ok(1));
    assert_eq!(count("MATCH ()-[r]->() WHERE r.ts > '2026-03-01' RETURN count(*) AS n"), Ok(1));
    for test in ["a.at > 'spring'", "a.at = 'spring'", "a.at IN ['spring']"] {
        let refused = node(test).unwrap_err();
        assert!(refused.contains("\"spring\"") && refused.contains("ISO form"), "{refused}");
    }
}
