//! MATCH clauses in a row: they may start anywhere, and find what they find one after the other.

use super::start::{bag_of, start_of, towns};
use super::*;

#[test]
fn clauses_in_a_row_find_what_they_find_one_by_one() {
    let graph = towns();
    let params = json!({"town": "c3", "age": 30});
    for (first, second, rest) in [
        (
            "MATCH (p:Person {age: 21})-[:KNOWS]->(q)",
            "MATCH (p)-[:LIVES_IN]->(:City {name: $town})",
            "p, q",
        ),
        (
            "MATCH (p:Person)-[:KNOWS]->(q)",
            "MATCH (p)-[:KNOWS]->(r) WHERE r.age > $age AND 7 < r.age",
            "p, q, r",
        ),
        // One relationship may stand for two of different clauses.
        ("MATCH (p {id: 5})-[x:KNOWS]->(q)", "MATCH (p)-[y:KNOWS]->(r)", "x, y, q, r"),
        ("MATCH (p {id: 5})-[x]-(q)", "MATCH (q)-[y]-(r {id: 5})", "x, y"),
        // It is the same one here.
        ("MATCH (p {id: 5})-[x:KNOWS]->(q)", "MATCH (r)-[x]->(s)", "x, r, s"),
        ("MATCH (p:City)", "MATCH (c:Country {name: 'land 1'})", "p, c"),
        (
            "MATCH (p:City)-[:IN]->(c)",
            "MATCH (p:City)<-[:LIVES_IN]-(q:Person) WHERE q.name = 'p3'",
            "p, c, q",
        ),
        ("MATCH (p:Nobody)", "MATCH (q:Person {id: 7})", "p, q"),
        ("MATCH (p:Person {id: 7})", "MATCH (p)-[:KNOWS*1..2]->(q)", "q"),
        ("MATCH (p:Person {id: 7})", "OPTIONAL MATCH (p)-[:IN]->(q)", "p, q"),
        (
            "UNWIND [1, 2] AS i MATCH (p:City)",
            "MATCH (q:Country) WHERE q.name = 'land 0'",
            "i, p, q",
        ),
    ] {
        let ask = |between: &str| {
            let query = parse(&format!("{first} {between} {second} RETURN {rest}")).unwrap();
            bag_of(&graph, &query, &params)
        };
        assert_eq!(ask(""), ask("WITH *"), "{first} {second}");
    }
}

#[test]
fn clauses_in_a_row_start_at_the_rarest_node_of_all() {
    let graph = towns();
    let none = json!({});
    let of = |text: &str| start_of(&graph, text, &none);
    let person = "MATCH (p:Person {size: 0.5})-[:KNOWS]->(q:Person)";
    let town = "MATCH (p)-[:LIVES_IN]->(c:City {name: 'c3'})";
    assert_eq!(of(&format!("{person} {town} RETURN q")), "Scan (c:City) by name");
    assert_eq!(of(&format!("{person} WITH * {town} RETURN q")), "Scan (p:Person) by size");
    // What may fail is asked of nobody whom the first clause has left out.
    let fails = "MATCH (p)-[:LIVES_IN]->(c:City {name: 'c3'}) WHERE 1 / c.id > 0";
    assert_eq!(of(&format!("{person} {fails} RETURN q")), "Scan (p:Person) by size");
}

#[test]
fn a_text_of_many_clauses_is_answered() {
    let graph = towns();
    let clauses: String = (0..200).map(|i| format!("MATCH (c{i}:Country {{id: 312}}) ")).collect();
    let query = parse(&format!("{clauses} RETURN count(*) AS n")).unwrap();
    let answer = run(&graph, &query, &Map::new(), Strictness::Strict, &CancelToken::new()).unwrap();
    assert_eq!(answer.json()[0]["n"], 1);
}
