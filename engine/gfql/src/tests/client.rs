//! Operations into which unchanged clients compile a text in Cypher, with the names that they make up for it.

use super::*;

fn call(function: &str, params: Value) -> Value {
    json!({"type": "Call", "function": function, "params": params})
}

fn node(name: &str) -> Value {
    json!({"type": "Node", "filter_dict": {}, "name": name})
}

fn edge() -> Value {
    json!({"type": "Edge", "direction": "forward", "hops": 1})
}

fn rows(pattern: &[Value]) -> Value {
    call("rows", json!({"table": "nodes", "binding_ops": pattern}))
}

/// A graph with two triangles, a loop, a parallel edge and a node that nothing leads to.
fn triangles() -> PropertyGraph {
    graphlume_types::tuning::use_small(true);
    let ids = Int64Array::from_iter_values(0..7);
    let kinds = StringArray::from(vec!["h", "u", "h", "u", "h", "f", "f"]);
    let names = StringArray::from(vec![Some("ann"), None, Some("b,c"), None, None, None, None]);
    let nodes = RecordBatch::try_from_iter([
        ("id", Arc::new(ids) as ArrayRef),
        (
            "label__P",
            Arc::new(BooleanArray::from(vec![true, false, true, false, false, true, true])),
        ),
        ("kind", Arc::new(kinds)),
        ("name", Arc::new(names)),
    ]);
    let ends = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 2), (2, 3), (5, 5)];
    let (s, d): (Vec<i64>, Vec<i64>) = ends.into_iter().unzip();
    let types = StringArray::from(vec!["K", "K", "L", "L", "K", "L", "K", "K"]);
    let edges = RecordBatch::try_from_iter([
        ("s", Arc::new(Int64Array::from(s)) as ArrayRef),
        ("d", Arc::new(Int64Array::from(d))),
        ("type", Arc::new(types)),
        ("w", Arc::new(Int64Array::from_iter_values(1..9))),
    ]);
    let table = |batch: Result<RecordBatch, _>| Some(Table::try_new(batch.unwrap()).unwrap());
    let name = |n: &str| Some(n.to_owned());
    let bindings = Bindings { node: name("id"), source: name("s"), destination: name("d") };
    PropertyGraph::new(table(nodes), table(edges), bindings).unwrap()
}

fn answer(ops: &[Value], strictness: Strictness) -> Result<PropertyGraph, QueryError> {
    let query = parse(&Value::Array(ops.to_vec()))?;
    Ok(run(&triangles(), &query, None, strictness, &CancelToken::new())?.graph)
}

fn found(ops: &[Value], name: &str) -> String {
    column(answer(ops, Strictness::Lenient).unwrap().nodes(), name)
}

fn counted(pattern: &[Value], expr: Option<&str>) -> String {
    let mut ops = vec![rows(pattern)];
    ops.extend(expr.map(|expr| call("where_rows", json!({"expr": expr}))));
    ops.push(call("with_", json!({"items": [["__cypher_group__", 1]]})));
    let count = json!([["count(*)", "count"]]);
    ops.push(call("group_by", json!({"keys": ["__cypher_group__"], "aggregations": count})));
    ops.push(call("select", json!({"items": [["count(*)", "count(*)"]]})));
    found(&ops, "count(*)")
}

const CLOSES: &str = "a.__gfql_node_id__ = __cypher_aliasdup_a.__gfql_node_id__";

fn triangle() -> Vec<Value> {
    let first = node("__cypher_aliasdup_a");
    vec![first, edge(), node("b"), edge(), node("c"), edge(), node("a")]
}

#[test]
fn cycles_are_matched_whatever_the_strictness() {
    // Three turns of the first triangle, and of the second with either of its parallel edges.
    assert_eq!(counted(&triangle(), Some(CLOSES)), "9");
    let mut both_ways = triangle();
    for step in [1, 3, 5] {
        both_ways[step]["direction"] = "undirected".into();
    }
    assert_eq!(counted(&both_ways, Some(CLOSES)), "18");
    let mut against = triangle();
    against[5]["direction"] = "reverse".into();
    assert_eq!(counted(&against, Some(CLOSES)), "0");
    let ops = [rows(&triangle()), call("where_rows", json!({"expr": CLOSES}))];
    let strict = answer(&ops, Strictness::Strict).unwrap();
    let names = strict.nodes().unwrap().column_names().join(" ");
    assert!(!names.contains("__gfql_"), "{names}");
    // A step of several hops closes as well, and so do nodes beside each other.
    let hops = json!({"type": "Edge", "direction": "forward", "min_hops": 1, "max_hops": 3});
    let walk = [node("x"), hops, node("y")];
    assert_eq!(counted(&walk, Some("x = y")), "10");
    assert_eq!(counted(&[node("x"), node("y")], Some("x.id = y.id AND x.kind = 'h'")), "3");
}

#[test]
fn a_pattern_that_closes_takes_no_more_than_its_matches() {
    graphlume_types::tuning::use_small(true);
    // Each node leads to each: a million and a half walks of three steps, and most do not close.
    let n = 110_u32;
    let (s, d): (Vec<i64>, Vec<i64>) = (0..n)
        .flat_map(|a| (0..n).map(move |b| (i64::from(a), i64::from(b))))
        .filter(|(a, b)| a != b)
        .unzip();
    let batch = RecordBatch::try_from_iter([
        ("s", Arc::new(Int64Array::from(s)) as ArrayRef),
        ("d", Arc::new(Int64Array::from(d))),
    ]);
    let name = |n: &str| Some(n.to_owned());
    let bindings = Bindings { node: None, source: name("s"), destination: name("d") };
    let edges = Table::try_new(batch.unwrap()).unwrap();
    let graph = PropertyGraph::new(None, Some(edges), bindings).unwrap();
    let mut ops = vec![rows(&triangle()), call("where_rows", json!({"expr": CLOSES}))];
    ops.push(call("select", json!({"items": [["n", 1]]})));
    let query = parse(&Value::Array(ops)).unwrap();
    let found = run(&graph, &query, None, Strictness::Lenient, &CancelToken::new()).unwrap();
    let want = (n * (n - 1) * (n - 2)) as usize;
    assert_eq!(found.graph.nodes().unwrap().num_rows(), want);
}

#[test]
fn an_aggregate_over_nothing_is_a_row() {
    let nobody = json!({"type": "Node", "filter_dict": {"id": 99}, "name": "a"});
    assert_eq!(counted(&[nobody.clone(), edge(), node("b")], None), "0");
    let aggregates =
        json!([["n", "count", "k"], ["s", "sum", "k"], ["m", "max", "k"], ["l", "collect", "k"],]);
    let group = |key: &str| {
        vec![
            nobody.clone(),
            call("rows", json!({"table": "nodes", "source": "a"})),
            call("with_", json!({"items": [[key, 1], ["k", "a.id"]]})),
            call("group_by", json!({"keys": [key], "aggregations": aggregates})),
        ]
    };
    let ops = group("__cypher_group__1");
    let cells: Vec<String> = ["n", "s", "m", "l"].iter().map(|name| found(&ops, name)).collect();
    assert_eq!(cells, ["0", "0", "-", "[]"]);
    assert_eq!(found(&group("key"), "n"), "", "groups of a key that is there have a row each");
}

#[test]
fn groups_keep_the_columns_of_their_key() {
    let with = call(
        "with_",
        json!({"extend": true,
        "items": [["__cypher_group_key__", "a.__gfql_node_id__"], ["__cypher_agg__", "b"]]}),
    );
    let group = call(
        "group_by",
        json!({"keys": ["__cypher_group_key__"],
        "aggregations": [["n", "count", "__cypher_agg__"]], "key_prefixes": ["a."]}),
    );
    let drop = call("drop_cols", json!({"cols": ["__cypher_group_key__"]}));
    let ops = [rows(&[node("a"), edge(), node("b")]), with, group, drop];
    assert_eq!(
        (found(&ops, "a.kind").as_str(), found(&ops, "n").as_str()),
        ("h u h u h f", "1 1 3 1 1 1")
    );
}

#[test]
fn edges_are_told_apart() {
    let steps =
        [node("a"), json!({"type": "Edge", "direction": "forward", "hops": 1, "name": "r"})];
    let mut ops = steps.to_vec();
    ops.push(node("b"));
    ops.push(call("rows", json!({"table": "edges", "source": "r"})));
    ops.push(call(
        "with_",
        json!({"items": [["__cypher_group__", 1], ["e", "__gfql_edge_index_0__"]]}),
    ));
    let count = json!([["n", "count_distinct", "e"]]);
    ops.push(call("group_by", json!({"keys": ["__cypher_group__"], "aggregations": count})));
    assert_eq!(found(&ops, "n"), "8");
    let rows = rows(&[node("a"), steps[1].clone(), node("b")]);
    let select = call("select", json!({"items": [["e", "r.__gfql_edge_id__"], ["t", "type(r)"]]}));
    let ops = [rows, select];
    assert_eq!(found(&ops, "t"), "K K L L K K L K");
}

#[test]
fn a_name_of_the_client_that_means_nothing_is_an_error() {
    let pattern = rows(&[node("a"), edge(), node("b")]);
    for expr in
        ["a.__gfql_nothing__ = 1", "b.v = b.__cypher_reentry_v__", "__gfql_node_ident__ IS NULL"]
    {
        let ops = [pattern.clone(), call("where_rows", json!({"expr": expr}))];
        let error = answer(&ops, Strictness::Lenient).unwrap_err().to_string();
        assert!(error.starts_with("[column-not-found]") && error.contains("gfql_query"), "{error}");
    }
    let filter = json!([{"type": "Node", "filter_dict": {"__cypher_x": 1}}]);
    assert!(ask_with(filter, Strictness::Lenient).is_err());
}

#[test]
fn functions_tell_of_nodes_and_edges() {
    let of_nodes = |expr: &str| {
        let ops = [
            node("n"),
            call("rows", json!({"table": "nodes", "source": "n"})),
            call("limit", json!({"value": 2})),
            call("select", json!({"items": [["x", expr]]})),
        ];
        found(&ops, "x")
    };
    assert_eq!(of_nodes("labels(n)"), "[P] []");
    assert_eq!(of_nodes("__node_keys__(n)"), "[id, kind, name] [id, kind]");
    assert_eq!(of_nodes("properties(n).kind"), "h u");
    assert_eq!(of_nodes("n['kind']"), "h u");
    assert_eq!(of_nodes("id(n)"), "0 1");
    assert_eq!(of_nodes("size(keys({x: n.kind, y: null}))"), "2 2");
    assert_eq!(
        of_nodes("__node_entity__(n)"),
        "(:P {id: 0, kind: 'h', name: 'ann'}) ({id: 1, kind: 'u'})"
    );
    assert_eq!(of_nodes("searchany(n, 'AN')"), "true false");
    assert_eq!(of_nodes("split(n.name, 'n')"), "[a, , ] -");
    assert_eq!(
        of_nodes("CASE WHEN __cypher_case_eq__(n.name, 'ann') THEN 'x' ELSE 'y' END"),
        "x y"
    );
    assert_eq!(of_nodes("[x IN [{v: n.id}] | x.v + 1]"), "[1] [2]");
    assert_eq!(of_nodes("exists(n.name)"), "true false");
    let of_edges = |expr: &str| {
        let ops = [
            node("a"),
            json!({"type": "Edge", "direction": "forward", "hops": 1, "name": "r"}),
            node("b"),
            call("rows", json!({"table": "edges", "source": "r"})),
            call("limit", json!({"value": 2})),
            call("select", json!({"items": [["x", expr]]})),
        ];
        found(&ops, "x")
    };
    assert_eq!(of_edges("type(r)"), "K K");
    assert_eq!(of_edges("keys(r)"), "[w] [w]");
    assert_eq!(
        (of_edges("startnode(r)"), of_edges("endnode(r)")),
        ("0 1".to_owned(), "1 2".to_owned())
    );
}

#[test]
fn maps_keep_their_fields_from_call_to_call() {
    let ops = [
        node("n"),
        call("rows", json!({"table": "nodes", "source": "n"})),
        call("with_", json!({"items": [["m", "{x: n.id, y: {z: n.kind}}"]]})),
        call("select", json!({"items": [["x", "m.x"], ["z", "m.y.z"], ["k", "keys(m)"]]})),
        call("limit", json!({"value": 2})),
    ];
    assert_eq!((found(&ops, "x").as_str(), found(&ops, "z").as_str()), ("0 1", "h u"));
    assert_eq!(found(&ops, "k"), "[x, y] [x, y]");
}

#[test]
fn a_path_that_the_client_has_lost_is_an_error() {
    for expr in ["nodes(p)", "relationships(p)", "length(p)", "labels(p)"] {
        let ops = [
            node("a"),
            call("rows", json!({"table": "nodes", "source": "a"})),
            call("select", json!({"items": [["x", expr]]})),
        ];
        let error = answer(&ops, Strictness::Lenient).unwrap_err().to_string();
        assert!(error.contains("gfql_query"), "{expr}: {error}");
    }
}

#[test]
fn shortest_paths_have_their_hops() {
    let hops = |from: i64, direction: &str, min: u32, max: Option<u32>| {
        let end = |id: Option<i64>, name: &str| match id {
            Some(id) => json!({"type": "Node", "filter_dict": {"id": id}, "name": name}),
            None => node(name),
        };
        let step = json!({
            "type": "Edge", "direction": direction, "min_hops": min, "max_hops": max,
            "to_fixed_point": max.is_none(), "label_node_hops": "__cypher_shortest_path_hops__p",
        });
        let ops = [
            rows(&[end(Some(from), "a"), step, end(None, "b")]),
            call("select", json!({"items": [["l", "b.__cypher_shortest_path_hops__p"]]})),
        ];
        found(&ops, "l")
    };
    assert_eq!(hops(0, "forward", 0, None), "0 1 2 3 4 - -");
    assert_eq!(hops(0, "undirected", 0, None), "0 1 1 2 2 - -");
    assert_eq!(hops(0, "reverse", 1, Some(2)), "- 2 1 - 2 - -");
    assert_eq!(hops(5, "forward", 1, Some(3)), "- - - - - 1 -");
    // Without that name the column has the hops of each walk.
    let step = json!({"type": "Edge", "direction": "forward", "min_hops": 0, "max_hops": 2,
        "label_node_hops": "far"});
    let from = json!({"type": "Node", "filter_dict": {"id": 3}, "name": "a"});
    let ops = [rows(&[from, step, node("b")]), call("order_by", json!({"keys": [["far", "asc"]]}))];
    assert_eq!((found(&ops, "b").as_str(), found(&ops, "b.far").as_str()), ("3 4 2", "0 1 2"));
}

#[test]
fn rows_of_edges_name_their_ends() {
    let ops = [
        call("rows", json!({"alias_endpoints": {"a": "src", "b": "dst", "r": "edge"}})),
        call(
            "select",
            json!({"items": [["x", "a.kind"], ["y", "b.id"], ["z", "r.w"], ["w", "w"]]}),
        ),
    ];
    assert_eq!(found(&ops, "x"), "h u h h h u h f");
    assert_eq!(found(&ops, "z"), found(&ops, "w"));
    let wrong = call("rows", json!({"alias_endpoints": {"a": "source"}}));
    assert!(answer(&[wrong], Strictness::Lenient).is_err());
}

#[test]
fn a_hop_starts_and_ends_where_it_is_told() {
    let hop = |params: Value| answer(&[call("hop", params)], Strictness::Lenient).unwrap();
    let found = hop(json!({"nodes": [0], "hops": 2}));
    assert_eq!((ids_of(&found).as_str(), ws(&found).as_str()), ("0 1 2", "1 2"));
    let found = hop(json!({"nodes": [2], "hops": 1, "target_wave_front": {"kind": "u"}}));
    assert_eq!((ids_of(&found).as_str(), ws(&found).as_str()), ("2 3", "4 7"));
    let found =
        hop(json!({"nodes": [0], "max_hops": 3, "output_min_hops": 2, "output_max_hops": 2,
        "label_node_hops": "hop", "label_edge_hops": "hop"}));
    assert_eq!((ids_of(&found).as_str(), ws(&found).as_str()), ("1 2", "2"));
    let found =
        hop(json!({"nodes": [0], "hops": 2, "label_node_hops": "far", "label_seeds": true}));
    assert_eq!(column(found.nodes(), "far"), "0 1 2");
    let error = answer(&[call("hop", json!({"target_wave_front": [1]}))], Strictness::Lenient);
    assert!(error.unwrap_err().to_string().contains("params.nodes"));
}

/// A query as a client sends it, with its columns, and whether something is said beside the answer.
fn told(ops: &[Value]) -> (String, Vec<String>) {
    let query = parse(&Value::Array(ops.to_vec())).unwrap();
    let found = run(&triangles(), &query, None, Strictness::Lenient, &CancelToken::new()).unwrap();
    let nodes = found.graph.nodes().unwrap();
    let name = nodes.column_names()[0].to_owned();
    let slugs = found.notices.iter().map(|n| n.slug.clone().into_owned()).collect();
    (column(Some(nodes), &name), slugs)
}

#[test]
fn a_text_without_a_pattern_begins_with_one_row() {
    let all = call("rows", json!({"table": "nodes"}));
    let unwind = |list: Value, name: &str| call("unwind", json!({"expr": list, "as_": name}));
    let select = |text: &str| call("select", json!({"items": [["x", text]]}));
    let sum = [
        all.clone(),
        unwind(json!("[1, 2, 3]"), "i"),
        call("with_", json!({"items": [["__cypher_group__", 1], ["__cypher_agg__", "i"]]})),
        call(
            "group_by",
            json!({"keys": ["__cypher_group__"],
                "aggregations": [["sum(i)", "sum", "__cypher_agg__"]]}),
        ),
        call("select", json!({"items": [["sum(i)", "sum(i)"]]})),
    ];
    let twice = [
        all.clone(),
        unwind(json!([1, 2]), "a"),
        unwind(json!("[v IN [a, 3] WHERE v > 0 | v * 2]"), "b"),
        select("a * 10 + b"),
    ];
    let fields = [all.clone(), unwind(json!("[{v: 1}, {v: 2}]"), "m"), select("m.v")];
    let then = [
        all.clone(),
        unwind(json!("[3, 1, 2]"), "i"),
        call("with_", json!({"items": [["i", "i"]]})),
        call("order_by", json!({"keys": [["i", "asc"]]})),
        call("limit", json!({"value": 2})),
        select("i"),
    ];
    let constant = [all.clone(), call("select", json!({"items": [["x", 7]]}))];
    let cases: [(&[Value], &str); 6] = [
        (&sum, "6"),
        (&twice, "12 16 24 26"),
        (&fields, "1 2"),
        (&then, "1 2"),
        (&constant, "7"),
        (&[all, select("size([1, 2])")], "2"),
    ];
    for (ops, want) in cases {
        assert_eq!(told(ops), (want.to_owned(), vec!["rows-of-no-pattern".to_owned()]), "{ops:?}");
    }
}

#[test]
fn rows_of_nodes_that_are_asked_for_are_rows_of_nodes() {
    let all = || call("rows", json!({"table": "nodes"}));
    let unwind = |list: &str| call("unwind", json!({"expr": list, "as_": "i"}));
    let select = |text: &str| call("select", json!({"items": [["x", text]]}));
    let grouped = [
        all(),
        call("with_", json!({"items": [["k", 1]]})),
        call("group_by", json!({"keys": ["k"], "aggregations": [["n", "count"]]})),
        call("select", json!({"items": [["n", "n"]]})),
    ];
    let named =
        [all(), unwind("[1, 2]"), select("id * 10 + i"), call("limit", json!({"value": 3}))];
    let listed = [all(), unwind("[id]"), select("i")];
    let kept = [all(), unwind("[1, 2]"), call("limit", json!({"value": 2}))];
    let first = [node("n"), call("rows", json!({"table": "nodes", "source": "n"})), select("1")];
    let narrowed = [all(), call("where_rows", json!({"expr": "id > 4"})), select("1")];
    let cases: [(&[Value], &str); 6] = [
        (&grouped, "7"),
        (&named, "1 2 11"),
        (&listed, "0 1 2 3 4 5 6"),
        (&kept, "0 0"),
        (&first, "1 1 1 1 1 1 1"),
        (&narrowed, "1 1"),
    ];
    for (ops, want) in cases {
        assert_eq!(told(ops), (want.to_owned(), vec![]), "{ops:?}");
    }
}

#[test]
fn a_query_without_steps_is_everything_and_says_so() {
    let (ids, said) = told(&[]);
    assert_eq!((ids.as_str(), said), ("0 1 2 3 4 5 6", vec!["query-without-steps".to_owned()]));
    let query = parse(&json!([])).unwrap();
    let cancel = CancelToken::new();
    let others = crate::scope::Others::default();
    let size = |query: &crate::Query| {
        crate::sizes(&triangles(), &others, query, None, Strictness::Lenient, &cancel).unwrap()
    };
    let (sizes, said) = size(&query);
    assert_eq!((sizes.nodes, sizes.edges, said.len()), (7, 8, 1));
    // A part of a larger query may be everything.
    let part = parse(&json!({"type": "Let", "bindings": {"a": [], "b": {"type": "Ref", "ref": "a",
        "chain": []}}}));
    assert_eq!(size(&part.unwrap()).1, []);
    // What was named in vain is told where only sizes are asked for as well.
    let vain = json!([{"type": "Node", "filter_dict": {"knid": "h"}}, edge(), node("b")]);
    assert_eq!(size(&parse(&vain).unwrap()).1[0].slug, "column-not-found");
}
