//! Stages against what they should keep, and against each other.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray};
use graphlume_cypher::parse_text;
use graphlume_store::Bindings;
use graphlume_table::cell_json;

use super::*;

/// Six people of two kinds, who know each other or like something.
fn people() -> PropertyGraph {
    let numbers = |list: &[i64]| Arc::new(Int64Array::from(list.to_vec())) as ArrayRef;
    let texts = |list: &[&str]| Arc::new(StringArray::from(list.to_vec())) as ArrayRef;
    let label = [true, true, false, false, true, false];
    let nodes = RecordBatch::try_from_iter([
        ("id", numbers(&[0, 1, 2, 3, 4, 5])),
        ("label__A", Arc::new(BooleanArray::from(label.to_vec())) as ArrayRef),
        ("v", numbers(&[1, 5, 3, 9, 2, 7])),
        ("s", texts(&["ann", "bob", "cy", "ann", "Bo", "x"])),
    ]);
    let edges = RecordBatch::try_from_iter([
        ("from", numbers(&[0, 1, 2, 0, 4, 4, 3, 5])),
        ("to", numbers(&[1, 2, 3, 2, 0, 4, 4, 5])),
        ("type", texts(&["K", "K", "L", "L", "K", "K", "L", "K"])),
        ("w", numbers(&[1, 2, 3, 4, 5, 6, 7, 8])),
    ]);
    let table = |batch| Table::try_new(batch).unwrap();
    let name = |n: &str| Some(n.to_owned());
    let bindings = Bindings { node: name("id"), source: name("from"), destination: name("to") };
    PropertyGraph::new(Some(table(nodes.unwrap())), Some(table(edges.unwrap())), bindings).unwrap()
}

fn ask(text: &str, params: &Json) -> Result<TextAnswer, QueryError> {
    let Json::Object(params) = params else { panic!("params") };
    let (strictness, cancel) = (Strictness::Lenient, CancelToken::new());
    let text = parse_text(text)?;
    run_text(&people(), &text, TextSetting { params, strictness, cancel: &cancel })
}

fn made(text: &str) -> PropertyGraph {
    match ask(text, &json!({})) {
        Ok(TextAnswer::Graph(graph, _)) => graph,
        other => panic!("{text}: {other:?}"),
    }
}

/// The rows of a table in which a column is true, or all, as the values of another column.
fn marked(table: &Table, column: &str, mark: Option<&str>) -> Vec<i64> {
    let cell = |name: &str, row: usize| cell_json(table.column(name).unwrap().as_ref(), row);
    let rows =
        (0..table.num_rows()).filter(|row| mark.is_none_or(|m| cell(m, *row) == json!(true)));
    rows.map(|row| cell(column, row).as_i64().unwrap()).collect()
}

/// Ids of the nodes, and weights of the edges, each once.
fn kept(text: &str) -> (Vec<i64>, Vec<i64>) {
    let graph = made(text);
    (marked(graph.nodes().unwrap(), "id", None), marked(graph.edges().unwrap(), "w", None))
}

fn rows(text: &str) -> Json {
    match ask(text, &json!({})) {
        Ok(TextAnswer::Rows(rows)) => rows.json().into(),
        other => panic!("{text}: {other:?}"),
    }
}

fn refused(text: &str) -> String {
    ask(text, &json!({})).unwrap_err().to_string()
}

#[test]
fn a_stage_keeps_what_its_pattern_finds() {
    for (pattern, nodes, edges) in [
        ("(a:A)", vec![0, 1, 4], vec![]),
        ("(a:A)-[r:K]->(b)", vec![0, 1, 2, 4], vec![1, 2, 5, 6]),
        ("(a {v: 9})--(b)", vec![2, 3, 4], vec![3, 7]),
        ("(a:A) WHERE a.v > 1 OR a.s = 'ann'", vec![0, 1, 4], vec![]),
        ("(a)-[r]->(b) WHERE r.w > 6 OR r.w < 2", vec![0, 1, 3, 4, 5], vec![1, 7, 8]),
        ("(a)-[r]->(b) WHERE toUpper(a.s) = 'ANN'", vec![0, 1, 2, 3, 4], vec![1, 4, 7]),
        ("(a)-->(b) WHERE a.v < b.v", vec![0, 1, 2, 3], vec![1, 3, 4]),
        ("(a)-[r:K]->(b)<-[q:L]-(c)", vec![0, 1, 2, 3, 4], vec![2, 4, 6, 7]),
        ("(a {v: 1})-[*]->(b {v: 9})", vec![0, 1, 2, 3, 4], vec![1, 2, 3, 4, 5, 6, 7]),
        ("(a {v: 1})-[*1..2]->(b {v: 9})", vec![0, 2, 3], vec![3, 4]),
        ("(a)-[*0..1]->(b {v: 9})", vec![2, 3], vec![3]),
        ("(a) WHERE NOT (a)-[:L]->()", vec![1, 4, 5], vec![]),
        ("(a) WHERE EXISTS { MATCH (a)-[:L]->(b) WHERE b.v = 9 }", vec![2], vec![]),
        ("(a) WHERE a.nope = 3", vec![], vec![]),
        ("(a)-->(b) WHERE a.nope = b.v", vec![], vec![]),
        ("(a)-[r]->(b) WHERE a.v > r.w", vec![1, 2, 3, 4], vec![2, 7]),
    ] {
        let text = format!("GRAPH {{ MATCH {pattern} }}");
        assert_eq!(kept(&text), (nodes, edges), "{text}");
    }
}

#[test]
fn what_concerns_several_elements_is_found_row_by_row() {
    for (clauses, nodes, edges) in [
        ("MATCH (a)-->(a)", vec![4, 5], vec![6, 8]),
        ("MATCH (a)-->(b) WHERE a.v + b.v = 8", vec![1, 2], vec![2]),
        (
            "MATCH (a)-->(b) WHERE a.v > b.v OR a.s = b.s",
            vec![0, 1, 2, 3, 4, 5],
            vec![2, 5, 6, 7, 8],
        ),
        ("MATCH (a)-[r:K]->(b), (a)-[q:L]->(c)", vec![0, 1, 2], vec![1, 4]),
        ("MATCH (a)-[r:K]->(b) MATCH (b)-[q:L]->(c)", vec![0, 1, 2, 3, 4], vec![2, 3, 4, 5]),
        ("MATCH (a:A), (b {v: 9})", vec![0, 1, 3, 4], vec![]),
        ("MATCH (a {v: 9}) OPTIONAL MATCH (a)-[:K]->(b)", vec![3], vec![]),
        (
            "MATCH p = (a)-[*1..3]->(b) WHERE length(p) = 3 AND a.v = 1 AND b.v = 2",
            vec![0, 2, 3, 4],
            vec![3, 4, 7],
        ),
        ("MATCH p = shortestPath((a {v: 1})-[*]->(b {v: 9}))", vec![0, 2, 3], vec![3, 4]),
    ] {
        let text = format!("GRAPH {{ {clauses} }}");
        assert_eq!(kept(&text), (nodes, edges), "{text}");
    }
}

#[test]
fn both_ways_to_find_a_pattern_keep_and_mark_the_same() {
    for pattern in [
        "(a:A)-[r:K]->(b)",
        "(a)-[r]-(b)-[q]-(c)",
        "(a)-[r:K]->(b)-[q:K]->(c)",
        "(a)<-[r]-(b {v: 1})-[q]->(c)",
        "(a)-[r {w: 3}]-(b)",
        "(a)-[r]->(b) WHERE a.v < b.v",
    ] {
        let chain = format!("GRAPH {{ MATCH {pattern} }}");
        // What names two variables at once is no test of one of them.
        let word = if pattern.contains("WHERE") { "AND" } else { "WHERE" };
        let by_rows = format!("GRAPH {{ MATCH {pattern} {word} (a.v + b.v >= 0 OR a.v = b.v) }}");
        assert!(plan(&chain).contains("as a chain") && plan(&by_rows).contains("row by row"));
        assert_eq!(kept(&chain), kept(&by_rows), "{pattern}");
        let (one, other) = (made(&chain), made(&by_rows));
        for (name, of) in [("a", "id"), ("b", "id"), ("r", "w")] {
            let table = |graph: &PropertyGraph| match of {
                "id" => graph.nodes().unwrap().clone(),
                _ => graph.edges().unwrap().clone(),
            };
            let marks = |graph| marked(&table(graph), of, Some(name));
            assert_eq!(marks(&one), marks(&other), "{name} of {pattern}");
            assert!(!marks(&one).is_empty(), "{name} of {pattern}");
        }
    }
}

fn plan(text: &str) -> String {
    let (params, cancel) = (Map::new(), CancelToken::new());
    explain_text(&people(), &parse_text(text).unwrap(), &params, &cancel).unwrap()
}

#[test]
fn stages_build_on_each_other_and_rows_on_them() {
    let text = "GRAPH g = GRAPH { MATCH (a:A)-[:K]->(b) } GRAPH h = GRAPH { USE G MATCH (x)-->(y {v: 5}) } \
                USE h MATCH (n) RETURN n.id AS id, n.a AS a, n.y AS y ORDER BY id";
    assert_eq!(
        rows(text),
        json!([{"id": 0, "a": true, "y": false}, {"id": 1, "a": true, "y": true}])
    );
    let text = "GRAPH g = GRAPH { MATCH (a:A) } MATCH (n) RETURN count(*) AS n";
    assert_eq!(rows(text), json!([{"n": 6}]));
    let text = "GRAPH g = GRAPH { CALL graphistry.degree.write() } USE g MATCH (n) WHERE n.degree > 2 \
                RETURN n.id AS id ORDER BY id";
    assert_eq!(rows(text), json!([{"id": 0}, {"id": 2}, {"id": 4}]));
    let text =
        "GRAPH { CALL graphistry.degree.write() MATCH (a)-->(b) WHERE a.degree > b.degree };";
    assert_eq!(kept(text), (vec![0, 1, 2, 3, 4], vec![1, 3, 5]));
    let text =
        "CALL graphistry.degree.write() MATCH (n {degree_in: 2}) RETURN n.id AS id ORDER BY id";
    assert_eq!(rows(text), json!([{"id": 2}, {"id": 4}]));
    assert!(made("CALL graphistry.degree.write()").nodes().unwrap().column("degree").is_some());
    let text = "CALL graphistry.igraph.pagerank.write({out_col: $name}) RETURN 1";
    assert!(ask(text, &json!({"name": "rank"})).is_ok());
    let text = "GRAPH { CALL graphistry.igraph.pagerank.write({out_col: $name}) }";
    let Ok(TextAnswer::Graph(graph, _)) = ask(text, &json!({"name": "rank"})) else { panic!() };
    assert!(graph.nodes().unwrap().column("rank").is_some());
}

#[test]
fn mistakes_are_told_by_name_and_place() {
    for (text, said) in [
        ("GRAPH { }", "[empty-graph-constructor]"),
        ("GRAPH g = GRAPH { MATCH (a) }\nGRAPH h = GRAPH { USE g }", "line 2, column 17"),
        ("GRAPH { MATCH (a) RETURN a }", "[disallowed-graph-constructor-clause] RETURN makes rows"),
        ("GRAPH { MATCH (a) WITH a MATCH (a)-->(b) }", "[disallowed-graph-constructor-clause]"),
        ("GRAPH { CALL graphistry.degree() }", "write graphistry.degree.write(...)"),
        ("GRAPH { CALL graphistry.degree.write() YIELD nodeId }", "leave YIELD out"),
        (
            "GRAPH g = GRAPH { MATCH (a) } GRAPH G = GRAPH { MATCH (a) } USE g MATCH (n) RETURN n",
            "[duplicate-graph-binding]",
        ),
        ("GRAPH { USE x MATCH (a) }", "[unresolved-graph-reference]"),
        ("GRAPH left = GRAPH { MATCH (a) } USE lefd MATCH (n) RETURN n", "did you mean \"left\"?"),
        ("USE x MATCH (n) RETURN n", "[unresolved-graph-reference]"),
        (
            "GRAPH g = GRAPH { USE g MATCH (a) } USE g MATCH (n) RETURN n",
            "[circular-graph-reference]",
        ),
        (
            "GRAPH g = GRAPH { USE h MATCH (a) } GRAPH h = GRAPH { MATCH (a) } USE g MATCH (n) RETURN n",
            "[forward-graph-reference]",
        ),
        ("GRAPH g = GRAPH { MATCH (a) }", "expected a clause"),
        ("GRAPH { MATCH (a) } MATCH (b) RETURN b", "the end of the query"),
        ("GRAPH { MATCH (a) USE g }", "USE begins a stage"),
        ("MATCH (n) USE g RETURN n", "expected a clause"),
        ("GRAPH { MATCH (a) WHERE b.v = 1 }", "the variable \"b\" is not defined"),
        ("GRAPH { MATCH (a)-[a]->() }", "[invalid-cypher-syntax]"),
        ("GRAPH { MATCH (id)-->(b) }", "\"id\""),
        ("GRAPH { MATCH (a)-[to]->(b) }", "\"to\""),
        ("GRAPH { MATCH (id)-->(b) WHERE id.v + b.v = 8 }", "call the variable otherwise"),
        ("GRAPH { CALL graphistry.igraph.pagerang.write() }", "did you mean"),
        ("GRAPH { MATCH (a) WHERE a.v = $x }", "the parameter $x has no value"),
    ] {
        let found = refused(text);
        assert!(found.contains(said), "{text}: {found}");
    }
    let many: String = (0..300).map(|i| format!("GRAPH g{i} = GRAPH {{ MATCH (a) }} ")).collect();
    assert!(refused(&format!("{many} MATCH (n) RETURN n")).contains("more than 256 stages"));
}

#[test]
fn plans_and_profiles_tell_the_stages() {
    let text = "GRAPH g = GRAPH { MATCH (a:A)-[r:K]->(b) } GRAPH h = GRAPH { USE g CALL graphistry.degree.write() } \
                USE h MATCH (n) RETURN n.degree";
    let told = plan(text);
    let stages = "Graph g of the dataset\n  MATCH (a:A)-[r:K]->(b) as a chain\nGraph h of graph g\n  \
                  CALL graphistry.degree.write()\nRows of graph h\nResult [n.degree]\n";
    assert!(told.starts_with(stages), "{told}");
    let (params, cancel) = (Map::new(), CancelToken::new());
    let setting = TextSetting { params: &params, strictness: Strictness::Lenient, cancel: &cancel };
    let (told, _) = profile_text(&people(), &parse_text(text).unwrap(), setting).unwrap();
    assert!(told.contains("(b) as a chain (nodes 4, edges 4)"), "{told}");
    assert!(told.contains("Result [n.degree] (rows 4)"), "{told}");
}

#[test]
fn a_text_that_is_stopped_ends_with_what_stopped_it() {
    let cancel = CancelToken::new();
    cancel.cancel(graphlume_types::CancelReason::ClientGone);
    let (params, strictness) = (Map::new(), Strictness::Lenient);
    let text = parse_text("GRAPH { MATCH (a)-->(b) WHERE a.v + b.v > 1 }").unwrap();
    let setting = TextSetting { params: &params, strictness, cancel: &cancel };
    let found = run_text(&people(), &text, setting).unwrap_err();
    assert_eq!(found.error_code().slug(), "query-stopped");
}
