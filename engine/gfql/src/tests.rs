//! Behaviour of whole queries: refusals, bindings, rows, hop numbers, size of the work.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray};
use graphlume_expr::{QueryError, Strictness};
use graphlume_graph::canon::Canon;
use graphlume_store::{Bindings, PropertyGraph};
use graphlume_table::{Table, cell_text};
use graphlume_types::CancelToken;
use serde_json::{Value, json};

use crate::{parse, run};

mod client;
mod times;
mod umap;

fn graph() -> PropertyGraph {
    graphlume_types::tuning::use_small(true);
    let nodes = RecordBatch::try_from_iter([
        ("id", Arc::new(StringArray::from(vec!["a", "b", "c", "d"])) as ArrayRef),
        ("kind", Arc::new(StringArray::from(vec![Some("p"), Some("q"), None, Some("p")]))),
        ("n", Arc::new(Int64Array::from(vec![3, 1, 4, 1]))),
        ("ok", Arc::new(BooleanArray::from(vec![true, false, true, true]))),
    ]);
    let edges = RecordBatch::try_from_iter([
        ("s", Arc::new(StringArray::from(vec!["a", "b", "c", "a", "d", "d"])) as ArrayRef),
        ("d", Arc::new(StringArray::from(vec!["b", "c", "d", "b", "d", "x"]))),
        ("w", Arc::new(Int64Array::from(vec![1, 2, 3, 4, 5, 6]))),
    ]);
    let table = |batch: Result<RecordBatch, _>| Some(Table::try_new(batch.unwrap()).unwrap());
    let name = |n: &str| Some(n.to_owned());
    let bindings = Bindings { node: name("id"), source: name("s"), destination: name("d") };
    PropertyGraph::new(table(nodes), table(edges), bindings).unwrap()
}

fn ask_with(query: Value, strictness: Strictness) -> Result<PropertyGraph, QueryError> {
    let query = parse(&query)?;
    Ok(run(&graph(), &query, None, strictness, &CancelToken::new())?.graph)
}

fn ask(query: Value) -> PropertyGraph {
    ask_with(query, Strictness::Lenient).unwrap()
}

fn refusal(query: Value) -> String {
    ask_with(query, Strictness::Strict).unwrap_err().to_string()
}

/// A column as texts joined by spaces; null is `-`.
fn column(table: Option<&Table>, name: &str) -> String {
    let table = table.unwrap();
    let array = table.column(name).unwrap();
    let cell = |row| cell_text(array.as_ref(), row).unwrap_or_else(|| "-".to_owned());
    (0..table.num_rows()).map(cell).collect::<Vec<_>>().join(" ")
}

fn ids_of(g: &PropertyGraph) -> String {
    column(g.nodes(), "id")
}

fn ws(g: &PropertyGraph) -> String {
    column(g.edges(), "w")
}

/// The reference goes on from `b` as well, which it neither marks nor keeps when the chain ends there: `b` is met
/// again from `a`, but only after one hop.
#[test]
fn a_step_leads_on_from_what_got_far_enough() {
    let found = ask(json!([
        {"type": "Node", "filter_dict": {"id": {"type": "IsIn", "options": ["a", "b"]}}},
        {"type": "Edge", "direction": "forward", "min_hops": 2, "max_hops": 3},
        {"type": "Node", "name": "middle"},
        {"type": "Edge", "direction": "forward", "hops": 1},
        {"type": "Node", "name": "last"},
    ]));
    assert_eq!(ids_of(&found), "b c d");
    assert_eq!(column(found.nodes(), "middle"), "false false true");
    assert_eq!(column(found.nodes(), "last"), "false false true");
    assert_eq!(ws(&found), "2 3 5");
}

/// The reference keeps `b`, unmarked and without an edge: it is met again from `a`, but only after one hop.
#[test]
fn a_step_does_not_end_at_what_was_met_too_early() {
    let found = ask(json!([
        {"type": "Node", "filter_dict": {"id": {"type": "IsIn", "options": ["a", "b"]}}},
        {"type": "Edge", "direction": "forward", "min_hops": 2, "max_hops": 3},
        {"type": "Node", "filter_dict": {"id": "b"}, "name": "last"},
    ]));
    assert_eq!((ids_of(&found).as_str(), ws(&found).as_str()), ("", ""));
}

#[test]
fn refusals_name_the_field_and_what_to_write() {
    let cases = [
        (json!(3), "[invalid-chain-type]"),
        (json!({"type": "Node"}), "put it into an array"),
        (json!([{"type": "Nod"}]), "did you mean \"Node\"?"),
        (json!([{"filter_dict": {}}]), "[missing-required-field]"),
        (json!([{"type": "Edge"}]), "[missing-required-field] the edge has no direction"),
        (json!([{"type": "Edge", "direction": "up"}]), "[invalid-direction]"),
        (json!([{"type": "Edge", "direction": "forward", "hops": 0}]), "[invalid-hops-value]"),
        (
            json!([{"type": "Edge", "direction": "forward", "min_hops": 3, "max_hops": 2}]),
            "[invalid-hops-value]",
        ),
        (json!([{"type": "Node", "filter_dict": 1}]), "[type-mismatch]"),
        (json!([{"type": "Node", "name": 1}]), "[invalid-name-type]"),
        (json!([{"type": "Node", "query": 1}]), "[invalid-query-type]"),
        (
            json!([{"type": "Node", "filter_dict": {"n": {"type": "GR", "val": 1}}}]),
            "did you mean \"GT\"?",
        ),
        (
            json!([{"type": "Node", "filter_dict": {"n": {"type": "GT"}}}]),
            "[invalid-predicate-value]",
        ),
        (json!([{"type": "Node", "filter_dict": {"kin": "p"}}]), "[column-not-found]"),
        (json!([{"type": "Node", "filter_dict": {"kin": "p"}}]), "did you mean \"kind\"?"),
        (json!([{"type": "Node", "filter_dict": {"n": "p"}}]), "[incompatible-column-type]"),
        (json!([{"type": "Node", "name": "id"}]), "[unsupported-cypher-query]"),
        (
            json!([{"type": "Node", "name": "a"}, {"type": "Node", "name": "a"}]),
            "operation_index: 1",
        ),
        (json!([{"type": "Call", "function": "get_degree"}]), "did you mean \"get_degrees\"?"),
        (
            json!({"type": "Let", "bindings": {"a": {"type": "Ref", "ref": "b"}}}),
            "[unresolved-graph-reference]",
        ),
        (
            json!({"type": "Let", "bindings": {"a": {"type": "Ref", "ref": "b"}, "b": {"type": "Ref", "ref": "a"}}}),
            "[circular-graph-reference]",
        ),
        (json!([{"type": "Node", "query": "n >"}]), "[invalid-cypher-syntax]"),
    ];
    for (query, want) in cases {
        let text = refusal(query.clone());
        assert!(text.contains(want), "{query}: {text}");
    }
}

#[test]
fn absent_columns_are_null_unless_strictness_is_asked_for() {
    let by = |test: Value| ids_of(&ask(json!([{"type": "Node", "filter_dict": {"absent": test}}])));
    assert_eq!((by(json!(1)), by(json!({"type": "IsNA"}))), (String::new(), "a b c d".to_owned()));
}

#[test]
fn edges_without_a_node_at_an_end_are_not_followed() {
    let g = ask(
        json!([{"type": "Node", "filter_dict": {"id": "d"}}, {"type": "Edge", "direction": "forward"}]),
    );
    assert_eq!((ids_of(&g), ws(&g)), ("d".to_owned(), "5".to_owned()));
}

#[test]
fn hop_numbers_are_written_and_slices_cut_by_them() {
    let g = ask(json!([
        {"type": "Node", "filter_dict": {"id": "a"}},
        {"type": "Edge", "direction": "forward", "min_hops": 1, "max_hops": 3,
         "label_node_hops": "at", "label_edge_hops": "by"},
        {"type": "Node", "name": "end"}
    ]));
    assert_eq!((ids_of(&g), column(g.nodes(), "at")), ("a b c d".to_owned(), "- 1 2 3".to_owned()));
    assert_eq!((ws(&g), column(g.edges(), "by")), ("1 2 3 4".to_owned(), "1 2 3 1".to_owned()));
    let g = ask(json!([
        {"type": "Node", "filter_dict": {"id": "a"}},
        {"type": "Edge", "direction": "forward", "min_hops": 1, "max_hops": 3,
         "output_min_hops": 2, "output_max_hops": 2},
        {"type": "Node"}
    ]));
    assert_eq!((ids_of(&g), ws(&g)), ("b c".to_owned(), "2".to_owned()));
}

#[test]
fn bindings_are_made_in_the_order_of_need() {
    let g = ask(json!({"type": "Let", "bindings": {
        "last": {"type": "Ref", "ref": "start", "chain": [{"type": "Node", "filter_dict": {"n": 1}}]},
        "start": [{"type": "Node", "filter_dict": {"kind": "p"}}]
    }}));
    assert_eq!(ids_of(&g), "d");
}

#[test]
fn query_texts_filter_by_the_rules_of_data_frames() {
    let by = |text: &str| ids_of(&ask(json!([{"type": "Node", "query": text}])));
    assert_eq!(by("n >= 3 and kind != 'p'"), "c");
    assert_eq!(by("1 < n < 4 | kind == 'q'"), "a b");
    assert_eq!(by("n in [1, 4] & ~(`id` == \"b\")"), "c d");
}

#[test]
fn rows_are_filtered_projected_grouped_and_ordered() {
    let call = |function: &str, params: Value| json!({"type": "Call", "function": function, "params": params});
    let g = ask(json!([
        {"type": "Node", "name": "z"},
        call("rows", json!({"table": "nodes", "source": "z"})),
        call("where_rows", json!({"expr": "n < 4 OR kind IS NULL"})),
        call("select", json!({"items": [["k", "kind"], ["m", "CASE WHEN ok THEN n * 10 ELSE n / 2 END"], ["l", "[x IN [1, 2] WHERE x < n | x]"]]})),
        call("order_by", json!({"keys": [["m", "desc"]]})),
    ]));
    assert_eq!(column(g.nodes(), "k"), "- p p q");
    assert_eq!(column(g.nodes(), "m"), "40 30 10 0");
    assert_eq!(column(g.nodes(), "l"), "[1, 2] [1, 2] [] []");
    let g = ask(json!([
        {"type": "Node", "name": "z"},
        call("rows", json!({"table": "nodes", "source": "z"})),
        call("group_by", json!({"keys": ["kind"], "aggregations": [["c", "count"], ["s", "sum", "n"], ["a", "avg", "n"]]})),
    ]));
    assert_eq!(column(g.nodes(), "kind"), "p q -");
    assert_eq!(
        (column(g.nodes(), "c"), column(g.nodes(), "s")),
        ("2 1 1".to_owned(), "4 1 4".to_owned())
    );
}

#[test]
fn calls_describe_and_cut_the_graph() {
    let call = |function: &str, params: Value| {
        ask(json!([{"type": "Call", "function": function, "params": params}]))
    };
    let g = call("get_degrees", json!({}));
    assert_eq!(column(g.nodes(), "degree_in"), "0 2 1 2");
    assert_eq!(column(g.nodes(), "degree_out"), "2 1 1 2");
    assert_eq!(column(g.nodes(), "degree"), "2 3 2 4");
    assert_eq!(ws(&call("prune_self_edges", json!({}))), "1 2 3 4 6");
    let g = call("drop_nodes", json!({"nodes": ["b"]}));
    assert_eq!((ids_of(&g), ws(&g)), ("a c d".to_owned(), "3 5 6".to_owned()));
    let g = call("keep_nodes", json!({"nodes": {"kind": ["p", "q"]}}));
    assert_eq!((ids_of(&g), ws(&g)), ("a b d".to_owned(), "1 4 5".to_owned()));
    let notes = call("encode_point_color", json!({"column": "kind"}));
    assert_eq!(notes.notes()[0].function, "encode_point_color");
}

#[test]
fn rows_of_paths_have_a_row_for_each_match_and_use_an_edge_once() {
    let call = |function: &str, params: Value| json!({"type": "Call", "function": function, "params": params});
    let node = |name: &str| json!({"type": "Node", "name": name});
    let edge =
        |direction: &str, name: &str| json!({"type": "Edge", "direction": direction, "name": name});
    let items = json!({"items": [["p", "a.id"], ["q", "c.id"], ["w", "e.w"]]});
    let steps = [node("a"), edge("forward", "e"), node("b"), edge("forward", "f"), node("c")];
    let bare: Vec<Value> = steps
        .iter()
        .cloned()
        .chain([call("rows", json!({"table": "nodes"})), call("select", items.clone())])
        .collect();
    let g = ask(json!(bare));
    let found = |g: &PropertyGraph| {
        (column(g.nodes(), "p"), column(g.nodes(), "q"), column(g.nodes(), "w"))
    };
    let want = ("a a b c".to_owned(), "c c d d".to_owned(), "1 4 2 3".to_owned());
    assert_eq!(found(&g), want);
    let g = ask(json!([
        call("rows", json!({"table": "nodes", "binding_ops": steps})),
        call("select", items)
    ]));
    assert_eq!(found(&g), want);
    let g = ask(json!([
        call("rows", json!({"binding_ops": [node("x"), node("y")]})),
        call("where_rows", json!({"expr": "x.n > y.n"}))
    ]));
    assert_eq!(
        (column(g.nodes(), "x"), column(g.nodes(), "y")),
        ("a a c c c".to_owned(), "b d a b d".to_owned())
    );
}

#[test]
fn a_stopped_query_says_so() {
    let query =
        parse(&json!([{"type": "Node"}, {"type": "Edge", "direction": "forward"}])).unwrap();
    let cancel = CancelToken::new();
    let graph = graph();
    graph.frame(&cancel).unwrap();
    cancel.cancel(graphlume_types::CancelReason::Deadline);
    let error = run(&graph, &query, None, Strictness::Lenient, &cancel).unwrap_err();
    assert_eq!(error.error_code().slug(), "query-stopped");
}

#[test]
fn ids_are_found_with_and_without_an_index() {
    let (graph, cancel) = (graph(), CancelToken::new());
    for _ in 0..40 {
        let found = |id: &str| graph.find(&Canon::Text(id), &cancel).unwrap();
        assert_eq!((found("c"), found("nobody")), (Some(2), None));
    }
}

#[test]
fn calls_refuse_what_they_do_not_know() {
    let refusal = |function: &str, params: Value| {
        refusal(json!([{"type": "Call", "function": function, "params": params}]))
    };
    let starts = |text: String, slug: &str| assert!(text.starts_with(slug), "{text}");
    starts(refusal("get_degree", json!({})), "[invalid-node-reference]");
    starts(refusal("get_degrees", json!({"colm": "x"})), "[invalid-node-reference]");
    starts(refusal("limit", json!({})), "[missing-required-field]");
    starts(refusal("umap", json!({"feature_engine": "torch"})), "[unsupported-operation]");
    starts(refusal("encode_point_color", json!({"column": "nope"})), "[column-not-found]");
    let palette = json!({"column": "kind", "palette": ["red"]});
    starts(refusal("encode_point_color", palette), "[missing-required-field]");
    let misspelt = refusal("graphistry.nx.pageranc.write", json!({}));
    assert!(misspelt.contains("did you mean \"pagerank\"?"), "{misspelt}");
    starts(misspelt, "[type-mismatch]");
    let two = refusal("graphistry.nx.hits.write", json!({"out_col": "one"}));
    starts(two, "[type-mismatch]");
    starts(refusal("graphistry.dgree", json!({})), "[unsupported-cypher-query]");
    let loops = json!({"allow_cycles": false, "remove_self_loops": false});
    starts(refusal("get_topological_levels", loops), "[call-execution-error]");
}

#[test]
fn levels_run_from_nodes_without_incoming_edges_and_break_cycles() {
    let call = |params: Value| {
        ask(json!([{"type": "Call", "function": "get_topological_levels", "params": params}]))
    };
    assert_eq!(column(call(json!({})).nodes(), "level"), "0 1 2 3");
    let kept = json!({"level_col": "at", "remove_self_loops": false});
    assert_eq!(column(call(kept).nodes(), "at"), "0 1 2 3");
}

#[test]
fn procedures_are_calls_and_enrich_the_graph_or_make_rows() {
    let call = |name: &str, options: Value| {
        ask(json!([{"type": "Call", "function": name, "params": options}]))
    };
    let written = call("graphistry.degree.write", json!({}));
    assert_eq!(column(written.nodes(), "degree"), "2 3 2 4");
    assert_eq!(ws(&written), "1 2 3 4 5 6");
    let rows = call("graphistry.degree", json!({}));
    assert_eq!(
        rows.nodes().unwrap().column_names(),
        ["nodeId", "degree", "degree_in", "degree_out"]
    );
    let ranked = call("graphistry.cugraph.pagerank", json!({"out_col": "rank", "alpha": 0.5}));
    assert_eq!(ranked.nodes().unwrap().column_names(), ["nodeId", "rank"]);
    let placed = call("graphistry.layout.circle", json!({"x_out_col": "at", "order": ["b", "a"]}));
    assert_eq!(placed.nodes().unwrap().column_names(), ["nodeId", "at", "y"]);
    let placed = call("graphistry.layout.random.write", json!({"dim": 3}));
    let columns = placed.nodes().unwrap().column_names();
    assert!(["x", "y", "z"].iter().all(|axis| columns.contains(axis)), "{columns:?}");
}

#[test]
fn other_datasets_are_read_where_they_are_given() {
    let query = parse(&json!({"type": "Let", "bindings": {
        "far": {"type": "RemoteGraph", "dataset_id": "d1"},
        "some": {"type": "Ref", "ref": "far", "chain": [{"type": "Node", "filter_dict": {"id": "b"}}]},
    }}))
    .unwrap();
    assert_eq!(query.datasets(), ["d1"]);
    let cancel = CancelToken::new();
    let at = |others: &crate::scope::Others| {
        crate::run_with(&graph(), others, &query, None, Strictness::Strict, &cancel)
    };
    let refused = at(&crate::scope::Others::new()).unwrap_err().to_string();
    assert!(refused.starts_with("[graph-not-bound]"), "{refused}");
    let others = [("d1".to_owned(), graph())].into();
    assert_eq!(ids_of(&at(&others).unwrap().graph), "b");
    let token = json!({"a": {"type": "RemoteGraph", "dataset_id": "d1", "token": "t"}});
    assert!(parse(&token).unwrap_err().to_string().starts_with("[unsupported-operation]"));
}

#[test]
fn two_hops_from_a_named_node_find_its_neighbourhood() {
    graphlume_types::tuning::use_small(true);
    let n = 400_000_i64;
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..n));
    let next: ArrayRef = Arc::new(Int64Array::from_iter_values((0..n).map(|v| (v * 7 + 1) % n)));
    let table = |columns: Vec<(&str, ArrayRef)>| {
        Some(Table::try_new(RecordBatch::try_from_iter(columns).unwrap()).unwrap())
    };
    let name = |n: &str| Some(n.to_owned());
    let bindings = Bindings { node: name("id"), source: name("s"), destination: name("d") };
    let nodes = table(vec![("id", ids.clone())]);
    let graph = PropertyGraph::new(nodes, table(vec![("s", ids), ("d", next)]), bindings).unwrap();
    let query = json!([{"type": "Node", "filter_dict": {"id": 5}},
        {"type": "Edge", "direction": "forward", "hops": 2}, {"type": "Node"}]);
    let query = parse(&query).unwrap();
    let found = run(&graph, &query, None, Strictness::Strict, &CancelToken::new()).unwrap().graph;
    assert_eq!((ids_of(&found), found.edges().unwrap().num_rows()), ("5 36 253".to_owned(), 2));
}

#[test]
fn hostile_expressions_end_at_limits() {
    let rows = |expr: String| {
        json!([{"type": "Call", "function": "rows", "params": {"table": "nodes"}},
            {"type": "Call", "function": "with_", "params": {"items": [["x", expr]]}}])
    };
    let limited = "[query-too-large]";
    for hostile in [
        format!("n{}", " + n".repeat(6_000)),
        format!("n{}", " IS NULL".repeat(2_000)),
        format!("{}true", "NOT ".repeat(4_000)),
        format!("labels{}", "[0]".repeat(5_000)),
        "[a IN range(1, 2000) | range(1, 2000)]".to_owned(),
        "any(a IN range(1, 900000) WHERE any(b IN range(1, 900000) WHERE b < 0))".to_owned(),
        "[a IN range(1, 999999) | 'a long text that is made again and again']".to_owned(),
    ] {
        let refused = refusal(rows(hostile.clone()));
        assert!(refused.starts_with(limited), "{}: {refused}", &hostile[..20]);
    }
    let doubled = json!({"type": "Call", "function": "with_",
        "params": {"items": [["kind", "kind + kind"]], "extend": true}});
    let mut chain = vec![json!({"type": "Call", "function": "rows", "params": {"table": "nodes"}})];
    chain.extend(std::iter::repeat_n(doubled, 40));
    assert!(refusal(json!(chain)).starts_with(limited));
    let long = json!({"type": "Call", "function": "unwind",
        "params": {"expr": "range(1, 100000)", "as_": "i"}});
    let mut chain = vec![json!({"type": "Call", "function": "rows", "params": {"table": "nodes"}})];
    chain.extend(std::iter::repeat_n(long, 2));
    assert!(refusal(json!(chain)).starts_with(limited));
}

#[test]
fn a_long_expression_is_stopped() {
    let query = parse(&json!([{"type": "Call", "function": "rows", "params": {"table": "nodes"}},
        {"type": "Call", "function": "where_rows",
            "params": {"expr": "any(a IN range(1, 900000) WHERE a < 0)"}}]))
    .unwrap();
    let graph = graph();
    graph.frame(&CancelToken::new()).unwrap();
    let cancel = CancelToken::new();
    cancel.cancel(graphlume_types::CancelReason::Deadline);
    let error = run(&graph, &query, None, Strictness::Lenient, &cancel).unwrap_err();
    assert_eq!(error.error_code(), crate::ErrorCode::Stopped, "{error}");
}

#[test]
fn a_query_takes_its_memory_from_a_share() {
    let query = parse(
        &json!([{"type": "Node"}, {"type": "Edge", "direction": "forward"}, {"type": "Node"},
        {"type": "Call", "function": "rows", "params": {"table": "edges"}},
        {"type": "Call", "function": "unwind", "params": {"expr": "range(1, 2000)", "as_": "i"}}]),
    )
    .unwrap();
    let budget = graphlume_types::Budget::new("host", 10 << 20);
    let ask = |limit: u64| {
        let share = graphlume_types::MemoryConsumer::new(budget.clone(), limit, None);
        let cancel = CancelToken::new().with_memory(share.clone());
        let answer = run(&graph(), &query, None, Strictness::Lenient, &cancel);
        (answer.map(|_| share.used()), share)
    };
    let used = ask(10 << 20).0.unwrap();
    assert!(used > 8_000 * 32, "{used}");
    ask(used).0.expect("what it takes is enough");
    let (refused, _) = ask(used - 1);
    let refused = refused.unwrap_err().to_string();
    assert!(refused.starts_with("[query-out-of-memory]"), "{refused}");
    assert!(refused.contains(&format!("of the {} bytes", used - 1)), "{refused}");
    assert_eq!(budget.used(), 0, "the memory is back");
}

#[test]
fn maps_of_many_keys_become_texts_and_pay_for_their_fields_before_they_are_made() {
    let unwound = |keys: usize, rows: usize| {
        let maps: Vec<Value> = (0..rows).map(|i| json!({format!("k{}", i % keys): 1})).collect();
        let query =
            parse(&json!([{"type": "Call", "function": "rows", "params": {"table": "nodes"}},
            {"type": "Call", "function": "limit", "params": {"value": 1}},
            {"type": "Call", "function": "unwind", "params": {"expr": maps, "as_": "m"}}]))
            .unwrap();
        let budget = graphlume_types::Budget::new("host", 1 << 30);
        let share = graphlume_types::MemoryConsumer::new(budget, 1 << 30, None);
        let cancel = CancelToken::new().with_memory(share.clone());
        let answer = run(&graph(), &query, None, Strictness::Lenient, &cancel).unwrap().graph;
        (answer.nodes().unwrap().column("m").unwrap().data_type().is_nested(), share.used())
    };
    let (nested, few) = unwound(1, 4_000);
    assert!(nested);
    let (nested, many) = unwound(256, 4_000);
    assert!(nested && many - few >= 255 * 4_000 * 9, "{few} {many}");
    // One more and each is a text of its own.
    let (nested, texts) = unwound(257, 4_000);
    assert!(!nested && texts < few + 4_000 * 64, "{few} {texts}");
}

#[test]
fn a_walk_of_no_hops_counts_only_where_the_step_says_so() {
    let chain = |zero: bool| {
        json!({"chain": [{"type": "Node", "filter_dict": {"id": "a"}, "name": "m"},
            {"type": "Edge", "direction": "forward", "min_hops": 0, "max_hops": 1,
                "include_zero_hop_seed": zero},
            {"type": "Node", "name": "n"}],
            "where": [{"eq": {"left": "m.n", "right": "m.n"}}]})
    };
    assert_eq!(column(ask(chain(false)).nodes(), "n"), "false true");
    assert_eq!(column(ask(chain(true)).nodes(), "n"), "true true");
}
