//! Ids that are written as texts of digits.

use super::*;
use crate::{NumberIds, parse_text_with};

/// What a query finds where the columns of ids hold whole numbers.
fn told(text: &str) -> Json {
    let edge = vec!["s".to_owned(), "d".to_owned()];
    found(text, &NumberIds { node: Some("id".to_owned()), edge })
}

fn found(text: &str, ids: &NumberIds) -> Json {
    let query = parse_text_with(text, ids).unwrap().into_query().unwrap();
    let cancel = CancelToken::new();
    Json::Array(run(&graph(), &query, &Map::new(), Strictness::Strict, &cancel).unwrap().json())
}

#[test]
fn texts_of_digits_find_ids_that_are_numbers() {
    let two = json!([{"id": 2}]);
    for text in [
        "MATCH (n) WHERE n.id = '2' RETURN n.id AS id",
        "MATCH (n) WHERE '2' = n.id RETURN n.id AS id",
        "MATCH (n) WHERE id(n) = '2' RETURN n.id AS id",
        "MATCH (n {id: '2'}) RETURN n.id AS id",
        "MATCH (n {id: '2', name: 'bob'}) WITH n WHERE n.id = '2' RETURN n.id AS id",
        "MATCH (n) WHERE n.id IN ['2', 'x', 77] RETURN n.id AS id",
        "MATCH (n) WHERE NOT n.id IN ['1', '3', '4', '9'] RETURN n.id AS id",
        "MATCH (n) WHERE n.id <> '1' AND n.id <> '3' AND n.id < 4 RETURN n.id AS id",
        "MATCH (n)<-[e {s: '1'}]-() WHERE e.w = 1 RETURN n.id AS id",
        "MATCH ()-[e]->(n) WHERE e.d = '2' AND e.s = '1' AND e.w = 1 RETURN n.id AS id",
        "MATCH (a {id: '1'}) MATCH (n) WHERE (a)-[{w: 1}]->(n) RETURN n.id AS id",
        "MATCH p = (a {id: '1'})-->(n) WHERE any(x IN nodes(p) WHERE x.id = '2') RETURN DISTINCT n.id AS id",
        "MATCH (a) RETURN CASE WHEN a.id = '1' THEN 2 ELSE 3 END AS id ORDER BY id LIMIT 1",
    ] {
        assert_eq!(told(text), two, "{text}");
    }
    let hops = "MATCH p = shortestPath((a {id: '1'})-[*]->(b {id: '4'})) RETURN length(p) AS hops";
    assert_eq!(told(hops), json!([{"hops": 3}]));
}

#[test]
fn nothing_else_is_read_as_a_number() {
    for text in [
        // Not as a number is written.
        "MATCH (n) WHERE n.id = '02' RETURN n.id",
        "MATCH (n) WHERE n.id = '+2' OR n.id = ' 2' OR n.id = '2.0' RETURN n.id",
        // Not equality.
        "MATCH (n) WHERE n.id > '1' RETURN n.id",
        "MATCH (n) WHERE n.id STARTS WITH '2' RETURN n.id",
        // Not the column, or not that of such an element.
        "MATCH (n) WHERE n.n = '3' RETURN n.id",
        "MATCH (n {n: '3'}) RETURN n.id",
        "MATCH ()-[e]->() WHERE e.w = '1' RETURN e.w",
        "MATCH (n) WITH {id: n.n} AS m WHERE m.id = '3' RETURN m",
        // Not what is written beside it.
        "WITH '2' AS wanted MATCH (n) WHERE n.id = wanted RETURN n.id",
    ] {
        assert_eq!(told(text), json!([]), "{text}");
    }
    assert_eq!(told("RETURN {id: '2'} AS m, ['2'] AS l"), json!([{"m": {"id": "2"}, "l": ["2"]}]));
    assert_eq!(told("RETURN '2' = 2 AS same"), json!([{"same": false}]));
    let asked = "MATCH (n) WHERE n.id = '2' RETURN n.id";
    assert_eq!(found(asked, &NumberIds::default()), json!([]), "as everybody else asks");
}
