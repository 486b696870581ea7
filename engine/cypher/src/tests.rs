//! Behaviour of whole queries.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray};
use arrow_schema::ArrowError;
use graphlume_expr::{Scalar, Strictness};
use graphlume_store::{Bindings, PropertyGraph};
use graphlume_table::Table;
use graphlume_types::{CancelReason, CancelToken};
use serde_json::{Map, Value as Json, json};

use crate::{Answer, explain, parse, run};

/// A graph of nodes with the column `id` and edges from `s` to `d`.
fn graph_of(
    nodes: Result<RecordBatch, ArrowError>,
    edges: Result<RecordBatch, ArrowError>,
) -> PropertyGraph {
    graphlume_types::tuning::use_small(true);
    let table = |batch: Result<RecordBatch, _>| Some(Table::try_new(batch.unwrap()).unwrap());
    let name = |n: &str| Some(n.to_owned());
    let bindings = Bindings { node: name("id"), source: name("s"), destination: name("d") };
    PropertyGraph::new(table(nodes), table(edges), bindings).unwrap()
}

/// The rows of an answer as texts, in the order in which they came.
fn rows_of(graph: &PropertyGraph, text: &str, strictness: Strictness) -> Vec<String> {
    let query = parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
    let answer = run(graph, &query, &Map::new(), strictness, &CancelToken::new());
    let answer = answer.unwrap_or_else(|e| panic!("{text}: {e}"));
    answer.json().iter().map(Json::to_string).collect()
}

mod funnel;
mod ids;
mod join;
mod profile;
mod properties;
mod relation;
mod start;
mod tally;

fn graph() -> PropertyGraph {
    graphlume_types::tuning::use_small(true);
    let nodes = RecordBatch::try_from_iter([
        ("id", Arc::new(Int64Array::from(vec![1, 2, 3, 4])) as ArrayRef),
        ("type", Arc::new(StringArray::from(vec![Some("P"), Some("Q"), None, Some("P")]))),
        ("name", Arc::new(StringArray::from(vec!["ann", "bob", "cy", "dee"]))),
        ("n", Arc::new(Int64Array::from(vec![Some(3), Some(1), None, Some(1)]))),
        ("ok", Arc::new(BooleanArray::from(vec![true, false, true, true]))),
    ]);
    let edges = RecordBatch::try_from_iter([
        ("s", Arc::new(Int64Array::from(vec![1, 2, 3, 1, 4, 4])) as ArrayRef),
        ("d", Arc::new(Int64Array::from(vec![2, 3, 4, 2, 4, 9]))),
        ("type", Arc::new(StringArray::from(vec!["K", "K", "L", "L", "K", "K"]))),
        ("w", Arc::new(Int64Array::from(vec![1, 2, 3, 4, 5, 6]))),
    ]);
    let table = |batch: Result<RecordBatch, _>| Some(Table::try_new(batch.unwrap()).unwrap());
    let name = |n: &str| Some(n.to_owned());
    let bindings = Bindings { node: name("id"), source: name("s"), destination: name("d") };
    PropertyGraph::new(table(nodes), table(edges), bindings).unwrap()
}

fn answer(text: &str, params: Json) -> Result<Answer, String> {
    let params: Map<String, Json> = params.as_object().unwrap().clone();
    let query = parse(text).map_err(|e| e.to_string())?;
    let cancel = CancelToken::new();
    run(&graph(), &query, &params, Strictness::Strict, &cancel).map_err(|e| e.to_string())
}

fn ask(text: &str) -> Json {
    Json::Array(answer(text, json!({})).unwrap().json())
}

/// The one value of the one row.
fn value(text: &str) -> Json {
    let row = ask(text);
    row[0].as_object().unwrap().values().next().unwrap().clone()
}

fn refusal(text: &str) -> String {
    answer(text, json!({})).unwrap_err()
}

#[test]
fn labels_are_types_where_there_is_nothing_better() {
    assert_eq!(value("MATCH (n:P) RETURN collect(n.name)"), json!(["ann", "dee"]));
    assert_eq!(value("MATCH (n {id: 2}) RETURN labels(n)"), json!(["Q"]));
    assert_eq!(
        value("MATCH (n {id: 1}) RETURN n"),
        json!("(:P {id: 1, type: 'P', name: 'ann', n: 3, ok: true})")
    );
    assert_eq!(ask("MATCH (n:Nothing) RETURN n"), json!([]));
}

#[test]
fn edges_to_nodes_that_are_not_in_the_table_are_not_seen() {
    assert_eq!(value("MATCH ()-[r]->() RETURN count(r)"), json!(5));
    assert_eq!(value("MATCH (n {id: 4})--() RETURN count(*)"), json!(2));
    assert_eq!(value("MATCH (n) RETURN count(*)"), json!(4));
}

#[test]
fn ids_can_be_asked_for() {
    assert_eq!(value("MATCH (n {id: 3}) RETURN id(n)"), json!(3));
    assert_eq!(value("MATCH (n) WHERE id(n) IN [2, 3, 99] RETURN collect(n.id)"), json!([2, 3]));
    assert_eq!(value("MATCH (n {id: 3}) RETURN keys(n)"), json!(["id", "name", "ok"]));
    assert_eq!(value("MATCH ()-[r {w: 4}]->() RETURN properties(r)"), json!({"w": 4}));
}

#[test]
fn parallel_edges_and_loops_are_matched_once_each() {
    assert_eq!(value("MATCH (a {id: 1})--(b) RETURN count(*)"), json!(2));
    assert_eq!(value("MATCH (a {id: 4})-[r]-(a) RETURN count(*)"), json!(1));
    assert_eq!(value("MATCH (a {id: 2})<--(b) RETURN count(*)"), json!(2));
    assert_eq!(value("MATCH (a {id: 1})-->(b)<--(c) RETURN count(*)"), json!(2));
    assert_eq!(value("MATCH p = (a {id: 1})-[:K|L*]->(b {id: 4}) RETURN count(p)"), json!(4));
}

#[test]
fn shortest_paths_are_found_from_both_ends() {
    let text = "MATCH p = shortestPath((a {id: 1})-[*]->(b {id: 4})) RETURN length(p)";
    assert_eq!(value(text), json!(3));
    let text = "MATCH p = allShortestPaths((a {id: 1})-[*]->(b {id: 4})) RETURN count(p)";
    assert_eq!(value(text), json!(2));
    let text =
        "MATCH (a {id: 1}), (b {id: 3}) RETURN [n IN nodes(shortestPath((a)-[*..5]-(b))) | n.id]";
    assert_eq!(value(text), json!([1, 2, 3]));
    assert_eq!(ask("MATCH p = shortestPath((a {id: 4})-[*]->(b {id: 1})) RETURN p"), json!([]));
}

#[test]
fn a_query_without_procedures_says_so() {
    let text = refusal("CALL graphistry.degree() YIELD nodeId RETURN nodeId");
    assert!(text.contains("\"graphistry.degree\" cannot be called here"), "{text}");
}

#[test]
fn zero_has_no_sign() {
    for text in ["-0.0", "-.0", "-(0.0)", "-(1.5 - 1.5)"] {
        assert_eq!(value(&format!("RETURN {text} AS x")).to_string(), "0.0", "{text}");
    }
    assert_eq!(value("RETURN -(1.5) AS x"), json!(-1.5));
}

#[test]
fn refusals_say_where_and_what_instead() {
    let text = refusal("MATCH (n) RETURN n.nmae");
    assert!(
        text.starts_with("[column-not-found]") && text.contains("did you mean \"name\"?"),
        "{text}"
    );
    let text = refusal("MATCH (node) RETURN nod");
    assert!(text.contains("did you mean \"node\"?") && text.contains("character 20"), "{text}");
    let text = refusal("RETURN tolowr('A')");
    assert!(text.contains("did you mean toLower?"), "{text}");
    assert!(refusal("RETURN $x").contains("[missing-required-field]"));
    assert!(refusal("CALL no.such() YIELD x RETURN x").contains("[unsupported-cypher-query]"));
    assert!(refusal("MATCH (n) DETACH DELETE n").contains("DETACH"));
    assert!(refusal("RETURN 9223372036854775807 + 1").contains("64 bits"));
}

#[test]
fn parameters_are_values_and_not_text() {
    let params = json!({"ids": [1, 4], "n": 1});
    let text = "MATCH (n) WHERE n.id IN $ids RETURN n.id AS id ORDER BY id DESC LIMIT $n";
    assert_eq!(Json::Array(answer(text, params).unwrap().json()), json!([{"id": 4}]));
}

#[test]
fn tables_have_types_where_the_values_agree() {
    let text = "UNWIND [1, 2] AS i RETURN i, i * 0.5 AS f, 't' AS t, [i] AS l, {a: i} AS m, \
                CASE i WHEN 1 THEN 'x' ELSE 2 END AS mixed, date('2020-01-02') AS d, null AS z";
    let table = answer(text, json!({})).unwrap().table().unwrap();
    let types: Vec<String> =
        table.batch().columns().iter().map(|c| c.data_type().to_string()).collect();
    assert_eq!(types[..3], ["Int64", "Float64", "Utf8"]);
    assert!(types[3].starts_with("List"), "{types:?}");
    assert_eq!(types[4..], ["Utf8", "Utf8", "Date32", "Utf8"]);
    let cell = |name: &str| graphlume_table::cell_text(table.column(name).unwrap().as_ref(), 0);
    assert_eq!(cell("m").unwrap(), "{a: 1}");
    assert_eq!(cell("d").unwrap(), "2020-01-02");
    assert_eq!(cell("mixed").unwrap(), "x");
    assert_eq!(cell("z"), None);
}

#[test]
fn limits_end_the_work_early() {
    let text = "UNWIND range(1, 1000000) AS a UNWIND range(1, 1000000) AS b RETURN a, b LIMIT 3";
    assert_eq!(ask(text).as_array().unwrap().len(), 3);
    let text = "MATCH (n) WITH n LIMIT 1 MATCH (n)-->(m) RETURN count(m) AS c";
    assert_eq!(value(text), json!(2));
}

#[test]
fn a_stopped_query_says_so() {
    let cancel = CancelToken::new();
    cancel.cancel(CancelReason::ClientGone);
    let query = parse("UNWIND range(1, 100000) AS a RETURN count(a)").unwrap();
    let e = run(&graph(), &query, &Map::new(), Strictness::Lenient, &cancel).unwrap_err();
    assert!(e.to_string().starts_with("[query-stopped]"));
}

#[test]
fn plans_start_where_it_is_cheapest() {
    let plan = |text: &str| explain(&parse(text).unwrap());
    assert_eq!(
        plan(
            "MATCH (a)-[r:K]->(b:Q {id: 2}) WHERE a.n > 1 RETURN a.name, count(*) ORDER BY a.name LIMIT 2"
        ),
        "Result [a.name, count(*)]\n  Limit 2\n  Sort asc top\n  Aggregate [a.name] CountRows\n  \
         CountPaths (b)<-[r:K]-(a)\n  Filter\n  Scan (b:Q) by id\n"
    );
    assert_eq!(
        plan("MATCH (a:P) OPTIONAL MATCH (a)-->(b) RETURN a, b"),
        "Result [a, b]\n  Optional b, #2\n    Inner\n      Expand (a)-[#2]->(b)\n  Scan (a:P)\n"
    );
}

/// Rows in one order, so that bags can be compared.
fn bag(text: &str) -> Vec<String> {
    let mut rows: Vec<String> =
        ask(text).as_array().unwrap().iter().map(ToString::to_string).collect();
    rows.sort();
    rows
}

#[test]
fn shared_out_work_gives_what_one_thread_gives() {
    // A list to unwind first keeps the scan from being shared out.
    let queries = [
        "MATCH (a)-[r]->(b) RETURN b.name AS k, count(*), sum(r.w), avg(r.w), min(r.w), max(r.w)",
        "MATCH (a)-[r]->(b) RETURN a.type AS k, b.type AS l, stDev(r.w), stDevP(r.w), count(b.n)",
        "MATCH (a)-[r]->(b) RETURN r.type AS k, percentileDisc(r.w, 0.5), percentileCont(r.w, 0.5)",
        "MATCH (a)-[r]->(b) RETURN a AS k, collect(r.w)",
        "MATCH (a)--(b) RETURN DISTINCT b.n AS n, a.ok AS ok",
        "MATCH (a)--(b) RETURN a.id AS a, b.id AS b",
        "MATCH (a) OPTIONAL MATCH (a)-[:L]->(b) RETURN a.id AS a, b.id AS b",
    ];
    for text in queries {
        let alone = format!("UNWIND [1] AS one {text}");
        assert_eq!(bag(text), bag(&alone), "{text}");
    }
    let sorted = "MATCH (a)--(b) RETURN a.id AS a, b.id AS b ORDER BY a DESC, b LIMIT 5";
    assert_eq!(ask(sorted), ask(&format!("UNWIND [1] AS one {sorted}")));
}

#[test]
fn the_deepest_expressions_do_not_overflow_the_stack() {
    let nest = |open: &str, inner: &str, close: &str, n: usize| {
        format!("RETURN {}{inner}{} AS x", open.repeat(n), close.repeat(n))
    };
    let mut accepted = 0;
    for n in [10, 20, 30, 39, 58, 100, 110, 118] {
        for (open, inner, close) in [
            ("[x IN [1] | ", "1", "]"),
            ("CASE WHEN true THEN ", "1", " END"),
            ("NOT ", "true", ""),
            ("abs(", "1", ")"),
            ("{a: ", "1", "}"),
            ("-(", "1", ")"),
            ("(1 + ", "1", ")"),
            ("any(x IN [true] WHERE ", "true", ")"),
            ("reduce(a = 0, x IN [1] | ", "1", ")"),
            ("EXISTS { MATCH (n) WHERE ", "true", "}"),
            ("EXISTS { WITH 1 AS n WHERE ", "true", " RETURN n}"),
            ("[(a {id: 3})-[:L]->(b) | ", "1", "]"),
        ] {
            let text = nest(open, inner, close, n);
            accepted += usize::from(answer(&text, json!({})).is_ok());
        }
    }
    assert!(accepted > 30, "{accepted}");
    let text = format!("RETURN {} AS x", vec!["1"; 119].join(" + "));
    assert_eq!(value(&text), json!(119));
}

#[test]
fn the_longest_patterns_do_not_overflow_the_stack() {
    let text = format!("MATCH (a {{id: 4}}){} RETURN count(*)", "-[*0..0]-(a)".repeat(250));
    assert_eq!(value(&text), json!(1));
    let text = format!("{} RETURN count(*)", "MATCH (a {id: 4})-[:K]->(a) ".repeat(200));
    assert_eq!(value(&text), json!(1));
    let one = format!("MATCH (a {{id: 4}}){} ", "-[*0..0]-(a)".repeat(250));
    let text = format!("{} RETURN count(*)", one.repeat(20));
    assert!(refusal(&text).starts_with("[query-too-large]"));
}

#[test]
fn long_lists_of_in_answer_like_short_ones() {
    let list = |n: i64| (0..n).map(|i| i.to_string()).collect::<Vec<_>>().join(", ");
    let text = format!(
        "WITH [{}] AS l RETURN 3 IN l, 3.0 IN l, '3' IN l, 99 IN l, null IN l, 99 IN l + [null]",
        list(20)
    );
    let fixed = format!(
        "UNWIND [1] AS x RETURN 3 IN [{0}], 3.0 IN [{0}], '3' IN [{0}], 99 IN [{0}], null IN [{0}], \
         99 IN [{0}, null]",
        list(20)
    );
    let values = |t: &str| ask(t)[0].as_object().unwrap().values().cloned().collect::<Vec<_>>();
    assert_eq!(values(&text), values(&fixed));
    let wanted = json!([true, true, false, false, null, null]);
    assert_eq!(Json::from(values(&fixed)), wanted);
}

struct Degrees;

impl crate::Procedures for Degrees {
    fn call(
        &self,
        graph: &PropertyGraph,
        name: &str,
        args: &[crate::Value],
        cancel: &CancelToken,
    ) -> Result<crate::ProcedureTable, graphlume_expr::QueryError> {
        assert_eq!((name, args.len()), ("graphistry.degree", 0));
        let frame = graph.frame(cancel)?;
        let row = |v: u32| {
            let degree = i64::from(frame.topology.degree(v));
            vec![crate::Value::int(i64::from(v) + 1), crate::Value::int(degree)]
        };
        let columns = vec!["nodeId".to_owned(), "degree".to_owned()];
        Ok(crate::ProcedureTable { columns, rows: (0..4).map(row).collect() })
    }
}

#[test]
fn procedures_are_the_callers_and_their_results_are_rows() {
    let call = |text: &str| {
        let query = parse(text).unwrap();
        let (params, cancel) = (Map::new(), CancelToken::new());
        let strict = Strictness::Strict;
        let answer = crate::run_with(&graph(), &query, &params, strict, &Degrees, &cancel);
        answer.map(|a| Json::Array(a.json())).map_err(|e| e.to_string())
    };
    let whole = call("CALL graphistry.degree()").unwrap();
    assert_eq!(
        (whole[0].clone(), whole.as_array().unwrap().len()),
        (json!({"nodeId": 1, "degree": 2}), 4)
    );
    let joined = "CALL graphistry.degree() YIELD nodeId, degree AS d WHERE d > 2 \
                  MATCH (n {id: nodeId}) RETURN n.name AS name, d ORDER BY name";
    assert_eq!(call(joined).unwrap(), json!([{"name": "bob", "d": 3}, {"name": "dee", "d": 4}]));
    let wrong = call("CALL graphistry.degree() YIELD degre RETURN degre").unwrap_err();
    assert!(wrong.contains("its results: nodeId, degree"), "{wrong}");
}

#[test]
fn values_that_grow_beyond_all_bounds_are_refused() {
    let loops = [
        "RETURN reduce(s = 'x', i IN range(1, 60) | s + s) AS x",
        "RETURN size(reduce(l = [1], i IN range(1, 60) | l + l)) AS x",
        "RETURN reduce(l = [1], i IN range(1, 60) | [l, l]) AS x",
        "RETURN reduce(l = [1], i IN range(1, 100000) | [l]) AS x",
        "RETURN reduce(l = {a: 1}, i IN range(1, 100000) | {a: l}) AS x",
        "RETURN reduce(s = 'aaaa', i IN range(1, 60) | replace(s, 'a', s)) AS x",
        "RETURN range(1, 100000000) AS x",
    ];
    for text in loops {
        let refused = refusal(text);
        assert!(refused.starts_with("[query-too-large]"), "{text}: {refused}");
    }
    let text = format!("WITH 1 AS x {} RETURN x", "WITH [x, x] AS x ".repeat(60));
    assert!(refusal(&text).starts_with("[query-too-large]"));
}

#[test]
fn no_function_panics_whatever_its_arguments() {
    use crate::Value as V;
    let graph = graph();
    let view = crate::graph_view::GraphView::new(&graph, (0, 0), &CancelToken::new()).unwrap();
    let of = |text: &str| {
        let query = parse(&format!("RETURN {text} AS x")).unwrap();
        let cancel = CancelToken::new();
        let answer = run(&graph, &query, &Map::new(), Strictness::Lenient, &cancel).unwrap();
        answer.columns()[0][0].clone()
    };
    let mut values: Vec<V> = [
        "null",
        "true",
        "0",
        "-1",
        "9223372036854775807",
        "-9223372036854775808",
        "0.5",
        "-1e308",
        "0.0 / 0.0",
        "''",
        "'é𝄞x'",
        "'P1Y2M3DT4H5M6.7S'",
        "'2020-W53-7T23:59:59.999999999[Europe/Paris]'",
        "'year'",
        "[]",
        "[1, null, 'a']",
        "{}",
        "{year: 9223372036854775807}",
        "{week: 99999999999}",
        "{year: 2020, week: 54, dayOfWeek: 9}",
        "{hours: 9223372036854775807}",
        "{months: 1e300}",
        "date('-999999999-01-01')",
        "date('+999999999-12-31')",
        "time('23:59:59+18:00')",
        "localtime('00:00')",
        "localdatetime('2020-02-29T12:00')",
        "datetime('2020-03-29T02:30[Europe/Stockholm]')",
        "duration({years: 1000000000})",
        "duration({seconds: -9223372036854775807})",
    ]
    .into_iter()
    .map(of)
    .collect();
    values.push(V::Node(0));
    values.push(V::Node(u32::MAX));
    let mut calls = 0u64;
    for name in crate::func::names() {
        let f = crate::func::find(name).unwrap();
        let most = f.max.min(3);
        for n in f.min..=most {
            let combinations = values.len().pow(n as u32);
            // Of the many triples a part is enough.
            for i in (0..combinations).step_by(if n == 3 { 7 } else { 1 }) {
                let at = |k: u32| values[i / values.len().pow(k) % values.len()].clone();
                let args: Vec<V> = (0..n as u32).map(at).collect();
                if name == "range"
                    && matches!(
                        args.as_slice(),
                        [V::Scalar(Scalar::Int(_)), V::Scalar(Scalar::Int(_)), ..]
                    )
                {
                    continue;
                }
                if let Ok(value) = (f.run)(&view, &args) {
                    crate::render::text_of(&view, &value);
                }
                calls += 1;
            }
        }
    }
    assert!(calls > 50_000, "{calls}");
    let texts = ["+", "-", "*", "/", "%", "^", "=", "<", "IN", "STARTS WITH", "=~", "AND"];
    for op in texts {
        let query = parse(&format!("UNWIND $v AS a UNWIND $v AS b RETURN a {op} b AS x"));
        let params =
            json!({"v": [1, -1, 0, i64::MIN, i64::MAX, 1.5, "a(", [], [1], {"a": 1}, null, true]});
        let params = params.as_object().unwrap().clone();
        let cancel = CancelToken::new();
        let _ = run(&graph, &query.unwrap(), &params, Strictness::Lenient, &cancel);
    }
}

#[test]
fn a_graph_may_lack_a_table_and_columns_may_be_dictionaries() {
    graphlume_types::tuning::use_small(true);
    use arrow_array::DictionaryArray;
    use arrow_array::types::Int8Type;
    let name = |n: &str| Some(n.to_owned());
    let kinds: DictionaryArray<Int8Type> = vec![Some("K"), None, Some("L")].into_iter().collect();
    let edges = RecordBatch::try_from_iter([
        ("s", Arc::new(StringArray::from(vec!["a", "b", "a"])) as ArrayRef),
        ("d", Arc::new(StringArray::from(vec!["b", "c", "c"]))),
        ("type", Arc::new(kinds)),
    ]);
    let edges = Table::try_new(edges.unwrap()).unwrap();
    let bindings = Bindings { node: None, source: name("s"), destination: name("d") };
    let only_edges = PropertyGraph::new(None, Some(edges), bindings).unwrap();
    let ask = |graph: &PropertyGraph, text: &str| {
        let (query, cancel) = (parse(text).unwrap(), CancelToken::new());
        let answer = run(graph, &query, &Map::new(), Strictness::Strict, &cancel);
        Json::Array(answer.unwrap().json())
    };
    assert_eq!(
        ask(&only_edges, "MATCH (n {id: 'a'})-[r:K|L]->(m) RETURN n, id(m) AS m, r ORDER BY m"),
        json!([{"n": "({id: 'a'})", "m": "b", "r": "[:K]"}, {"n": "({id: 'a'})", "m": "c", "r": "[:L]"}])
    );
    assert_eq!(
        ask(&only_edges, "MATCH (n) RETURN collect(n.id) AS c"),
        json!([{"c": ["a", "b", "c"]}])
    );
    assert_eq!(ask(&only_edges, "MATCH (n:X) RETURN n"), json!([]));
    let nodes =
        RecordBatch::try_from_iter([("id", Arc::new(Int64Array::from(vec![7])) as ArrayRef)]);
    let nodes = Table::try_new(nodes.unwrap()).unwrap();
    let bindings = Bindings { node: name("id"), source: None, destination: None };
    let only_nodes = PropertyGraph::new(Some(nodes), None, bindings).unwrap();
    assert_eq!(
        ask(&only_nodes, "MATCH (n) OPTIONAL MATCH (n)-[r]-(m) RETURN n.id, r, m"),
        json!([{"n.id": 7, "r": null, "m": null}])
    );
}
