#![allow(clippy::unwrap_used, clippy::expect_used)]
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::types::Int8Type;
use arrow_array::*;
use graphlume_types::{CancelReason, CancelToken, Code, Coded};
use serde_json::{Value, json};

use super::*;
use crate::{Table, cell_json};

fn table(columns: Vec<(&str, ArrayRef)>) -> Table {
    Table::try_new(
        RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true)))
            .unwrap(),
    )
    .unwrap()
}

fn text(cells: &[Option<&str>]) -> ArrayRef {
    Arc::new(StringArray::from(cells.to_vec()))
}

fn made(table: &Table, options: Value) -> Result<Hypergraph, HypergraphError> {
    let options = Options::from_json(&options, "t[0]")?;
    let cancel = CancelToken::new();
    hypergraph(table, &options, HypergraphCx { cancel: &cancel, first_event: 0 })
}

fn column(table: &Table, name: &str) -> Value {
    let c = table.column(name).unwrap_or_else(|| unreachable!("no column {name}"));
    (0..c.len()).map(|row| cell_json(c.as_ref(), row)).collect()
}

fn small() -> Table {
    table(vec![
        ("ip", text(&[Some("x"), None, Some("y"), Some("x")])),
        ("port", Arc::new(Int64Array::from(vec![80, 80, 22, 80]))),
    ])
}

#[test]
fn every_row_and_every_value_is_a_node() {
    let h = made(&small(), json!({})).unwrap();
    assert_eq!(
        h.edges.column_names(),
        ["EventID", "attribID", "edgeType", "ip", "port"],
        "edges run from the row to the value"
    );
    let ids = ["ip::x", "ip::y", "ip::x", "port::80", "port::80", "port::22", "port::80"];
    assert_eq!(column(&h.edges, "attribID"), json!(ids));
    let rows = [0, 2, 3, 0, 1, 2, 3].map(|i| format!("EventID::{i}"));
    assert_eq!(column(&h.edges, "EventID"), json!(rows));
    let kinds = ["ip", "ip", "ip", "port", "port", "port", "port"];
    assert_eq!(column(&h.edges, "edgeType"), json!(kinds));
    assert_eq!(column(&h.edges, "ip"), json!(["x", "y", "x", "x", null, "y", "x"]));
    assert_eq!(
        h.nodes.column_names(),
        ["ip", "nodeTitle", "type", "category", "nodeID", "port", "EventID"]
    );
    let first = ["ip::x", "ip::y", "port::80", "port::22", "EventID::0"];
    assert_eq!(
        column(&h.nodes, "nodeID").as_array().unwrap()[..5],
        json!(first).as_array().unwrap()[..]
    );
    assert_eq!(column(&h.nodes, "ip"), json!(["x", "y", null, null, "x", null, "y", "x"]));
    // A column of integers without a null stays one.
    assert_eq!(column(&h.nodes, "port"), json!([0, 0, 80, 22, 80, 80, 22, 80]));
    assert_eq!(column(&h.nodes, "type")[4], "EventID");
    assert_eq!(column(&h.nodes, "category")[4], "event");
    assert_eq!(column(&h.nodes, "EventID")[0], Value::Null);
}

#[test]
fn nulls_are_values_when_they_are_not_dropped() {
    let h = made(&small(), json!({"drop_na": false})).unwrap();
    assert_eq!(h.edges.num_rows(), 8);
    assert_eq!(column(&h.edges, "attribID")[1], "ip::null");
    assert_eq!(column(&h.nodes, "nodeID")[1], "ip::null");
    assert_eq!(column(&h.nodes, "ip")[1], Value::Null);
    // A text that says null is the same node as a missing one; the first stands.
    let t = table(vec![("a", text(&[Some("null"), None, Some("b")]))]);
    let h = made(&t, json!({"drop_na": false})).unwrap();
    let ids = column(&h.nodes, "nodeID");
    assert_eq!(ids.as_array().unwrap()[..2], json!(["a::null", "a::b"]).as_array().unwrap()[..]);
    assert_eq!(column(&h.edges, "attribID"), json!(["a::null", "a::null", "a::b"]));
}

#[test]
fn direct_edges_join_values_in_the_order_of_names() {
    let t = table(vec![
        ("b", text(&[Some("1"), Some("2")])),
        ("a", text(&[Some("p"), None])),
        ("c", text(&[Some("q"), Some("r")])),
    ]);
    let h = made(&t, json!({"direct": true})).unwrap();
    assert_eq!(column(&h.edges, "edgeType"), json!(["a::c", "b::a", "b::c", "b::c"]));
    assert_eq!(column(&h.edges, "src"), json!(["a::p", "b::1", "b::1", "b::2"]));
    assert_eq!(column(&h.edges, "dst"), json!(["c::q", "a::p", "c::q", "c::r"]));
    assert_eq!(h.nodes.num_rows(), 5);
    let h =
        made(&t, json!({"direct": true, "drop_edge_attrs": true, "opts": {"EDGES": {"c": ["b"]}}}));
    let h = h.unwrap();
    assert_eq!(column(&h.edges, "edgeType"), json!(["c::b", "c::b"]));
    assert_eq!(h.edges.column_names(), ["src", "dst", "EventID", "edgeType"]);
    // One column has nothing to be joined with.
    let h = made(&t, json!({"direct": true, "entity_types": ["a"]})).unwrap();
    assert_eq!((h.edges.num_rows(), h.nodes.num_rows()), (0, 1));
}

#[test]
fn categories_merge_equal_values_of_their_columns() {
    let t =
        table(vec![("from", text(&[Some("x"), Some("y")])), ("to", text(&[Some("y"), Some("z")]))]);
    let opts = json!({"CATEGORIES": {"host": ["from", "to", "gone"]}});
    let h = made(&t, json!({"opts": opts})).unwrap();
    let ids = column(&h.nodes, "nodeID");
    let values = json!(["host::x", "host::y", "host::z"]);
    assert_eq!(ids.as_array().unwrap()[..3], values.as_array().unwrap()[..]);
    assert_eq!(column(&h.edges, "edgeType"), json!(vec!["host"; 4]));
    assert_eq!(column(&h.edges, "category"), json!(["from", "from", "to", "to"]));
    assert_eq!(h.warnings.len(), 1, "{:?}", h.warnings);
    let mut direct = json!({"direct": true, "opts": opts});
    direct["opts"]["EDGES"] = json!({"host": ["host"]});
    let h = made(&t, direct).unwrap();
    assert_eq!(
        column(&h.edges, "category"),
        json!(["from::to", "from::to", "to::from", "to::from"])
    );
}

#[test]
fn ids_that_columns_share_by_accident_are_one_node() {
    let t = table(vec![("a", text(&[Some("b::c")])), ("a::b", text(&[Some("c")]))]);
    let h = made(&t, json!({})).unwrap();
    assert_eq!(column(&h.nodes, "nodeID"), json!(["a::b::c", "EventID::0"]));
    assert_eq!(column(&h.edges, "attribID"), json!(["a::b::c", "a::b::c"]));
}

#[test]
fn rows_may_be_named_by_a_column() {
    let t = table(vec![
        ("id", Arc::new(Int64Array::from(vec![Some(7), None, Some(7)])) as ArrayRef),
        ("v", text(&[Some("a"), Some("b"), Some("c")])),
    ]);
    let h = made(&t, json!({"opts": {"EVENTID": "id", "DELIM": "/", "NULLVAL": "?"}})).unwrap();
    assert_eq!(column(&h.edges, "id"), json!(["id/7", "id/?", "id/7"]));
    assert_eq!(column(&h.nodes, "nodeID"), json!(["v/a", "v/b", "v/c", "id/7", "id/?", "id/7"]));
    assert_eq!(h.edges.column_names(), ["id", "attribID", "edgeType", "v"]);
}

#[test]
fn columns_that_are_called_like_ours_give_way() {
    let t = table(vec![
        ("type", text(&[Some("t")])),
        ("src", text(&[Some("s")])),
        ("nodeID", text(&[Some("n")])),
    ]);
    let h = made(&t, json!({})).unwrap();
    assert_eq!(h.edges.column_names(), ["EventID", "attribID", "edgeType", "src", "nodeID"]);
    let ids = column(&h.nodes, "nodeID");
    assert_eq!(ids, json!(["type::t", "src::s", "nodeID::n", "EventID::0"]));
    let h = made(&t, json!({"direct": true})).unwrap();
    assert_eq!(h.edges.column_names(), ["src", "dst", "EventID", "edgeType", "nodeID"]);
    assert_eq!(column(&h.edges, "src"), json!(["src::s", "type::t", "type::t"]));
}

#[test]
fn values_are_written_as_a_data_frame_writes_them() {
    let cases: Vec<(ArrayRef, Vec<&str>)> = vec![
        (Arc::new(BooleanArray::from(vec![true, false])), vec!["True", "False"]),
        (
            Arc::new(Float64Array::from(vec![
                1.0,
                0.1,
                1e16,
                1e15,
                123_456_789.123,
                1e-4,
                1e-5,
                f64::INFINITY,
                -2.5e-7,
                1_984_719_785_657_970.0 + 0.25,
                0.0,
            ])),
            vec![
                "1.0",
                "0.1",
                "1e+16",
                "1000000000000000.0",
                "123456789.123",
                "0.0001",
                "1e-05",
                "inf",
                "-2.5e-07",
                "1984719785657970.2",
                "0.0",
            ],
        ),
        (
            Arc::new(Float32Array::from(vec![0.1, 999_999.0, 1e6, 16_777_216.0])),
            vec!["0.1", "999999.0", "1e+06", "1.6777216e+07"],
        ),
        (
            Arc::new(Date32Array::from(vec![0, -719_528, 18_321])),
            vec!["1970-01-01", "0000-01-01", "2020-02-29"],
        ),
        (
            Arc::new(TimestampMicrosecondArray::from(vec![0, 86_400_000_000])),
            vec!["1970-01-01", "1970-01-02"],
        ),
        (
            Arc::new(TimestampMicrosecondArray::from(vec![-1, 1_500_000])),
            vec!["1969-12-31 23:59:59.999999", "1970-01-01 00:00:01.500000"],
        ),
        (
            Arc::new(TimestampMillisecondArray::from(vec![500, 0]).with_timezone("+05:30")),
            vec!["1970-01-01 05:30:00.500+05:30", "1970-01-01 05:30:00.000+05:30"],
        ),
        (
            Arc::new(DurationMicrosecondArray::from(vec![-1, 86_400_000_000])),
            vec!["-1 days +23:59:59.999999", "1 days 00:00:00.000000"],
        ),
        (Arc::new(DurationSecondArray::from(vec![86_400, -86_400])), vec!["1 days", "-1 days"]),
        (
            Arc::new(Time64MicrosecondArray::from(vec![3_723_000_000, 3_723_000_005])),
            vec!["01:02:03", "01:02:03.000005"],
        ),
        (
            Arc::new(Decimal128Array::from(vec![150, 7]).with_precision_and_scale(10, 2).unwrap()),
            vec!["1.50", "0.07"],
        ),
        (Arc::new(BinaryArray::from(vec![b"ab".as_ref(), b"\xff"])), vec!["ab", "ff"]),
        (Arc::new(UInt64Array::from(vec![u64::MAX])), vec!["18446744073709551615"]),
        (
            Arc::new(vec![Some("p"), Some("q")].into_iter().collect::<DictionaryArray<Int8Type>>()),
            vec!["p", "q"],
        ),
    ];
    for (array, want) in cases {
        let dtype = array.data_type().clone();
        let h = made(&table(vec![("v", array)]), json!({"direct": true})).unwrap();
        assert_eq!(column(&h.nodes, "nodeTitle"), json!(want), "{dtype}");
    }
    let mut lists = ListBuilder::new(StringBuilder::new());
    lists.append_value([Some("a")]);
    lists.append_value([Some("a")]);
    let h = made(&table(vec![("v", Arc::new(lists.finish()))]), json!({"direct": true})).unwrap();
    assert_eq!(h.nodes.num_rows(), 1);
}

#[test]
fn wrong_options_are_named_with_what_is_legal() {
    for (options, field, says) in [
        (json!([]), "t[0]", "JSON array"),
        (json!({"entity": []}), "t[0].entity", "entity_types, direct"),
        (json!({"direct": 1}), "t[0].direct", "true or false"),
        (json!({"entity_types": "ip"}), "t[0].entity_types", "array"),
        (json!({"entity_types": ["ip", 3]}), "t[0].entity_types[1]", "column name"),
        (json!({"entity_types": ["ip", "ip"]}), "t[0].entity_types", "more than once"),
        (json!({"entity_types": ["pi"]}), "t[0].entity_types", "ip, port"),
        (json!({"entity_types": []}), "t[0].entity_types", "no column"),
        (json!({"opts": {"SKIP": ["ip", "port"]}}), "t[0].entity_types", "no column"),
        (json!({"opts": {"skip": []}}), "t[0].opts.skip", "SKIP"),
        (json!({"opts": {"DELIM": 1}}), "t[0].opts.DELIM", "string"),
        (json!({"opts": {"CATEGORIES": []}}), "t[0].opts.CATEGORIES", "object"),
        (json!({"opts": {"CATEGORIES": {"c": "ip"}}}), "t[0].opts.CATEGORIES.c", "array"),
        (json!({"opts": {"EVENTID": "nodeID"}}), "t[0].opts", "two columns"),
        (json!({"direct": true, "opts": {"SOURCE": "dst"}}), "t[0].opts", "two columns"),
        (
            json!({"direct": true, "opts": {"EDGES": {"ip": ["no"]}}}),
            "t[0].opts.EDGES.ip",
            "\"no\"",
        ),
    ] {
        let e = made(&small(), options.clone()).unwrap_err();
        assert_eq!((e.code(), e.field()), (Code::InvalidArgument, Some(field)), "{options}");
        assert!(e.to_string().contains(says) && e.to_string().starts_with(field), "{e}");
    }
    // Harmless ones are only mentioned.
    let h = made(&small(), json!({"opts": {"SKIP": ["gone"]}})).unwrap();
    assert!(h.warnings[0].contains("gone"));
    assert!(made(&small(), json!({"entity_types": null, "opts": null, "direct": null})).is_ok());
}

#[test]
fn a_result_over_the_limit_is_refused_before_it_is_made() {
    let wide: Vec<(String, ArrayRef)> = (0..300)
        .map(|i| (format!("c{i}"), Arc::new(Int8Array::from(vec![1; 3_000])) as ArrayRef))
        .collect();
    let t = table(wide.iter().map(|(n, c)| (n.as_str(), Arc::clone(c))).collect());
    let e = made(&t, json!({"direct": true})).unwrap_err();
    assert_eq!((e.code(), e.slug()), (Code::TooLarge, "hypergraph-too-large"));
    let names: Vec<String> = (0..400).map(|i| format!("c{i}")).collect();
    let columns: Vec<&str> = names.iter().map(String::as_str).collect();
    let options = Options { direct: true, ..Options::default() };
    let e = Plan::new(&options, &columns).unwrap_err();
    assert!(e.to_string().contains("65536"), "{e}");
}

#[test]
fn a_stopped_transform_ends() {
    let cancel = CancelToken::new();
    cancel.cancel(CancelReason::Shutdown);
    let cx = HypergraphCx { cancel: &cancel, first_event: 0 };
    let e = hypergraph(&small(), &Options::default(), cx).unwrap_err();
    assert_eq!(e.code(), Code::Cancelled);
}

#[test]
fn several_tables_give_one_graph_whose_rows_stay_apart() {
    let cancel = CancelToken::new();
    let options = Options::default();
    let part = |t: &Table, first_event| {
        hypergraph(t, &options, HypergraphCx { cancel: &cancel, first_event }).unwrap()
    };
    let other = table(vec![("ip", text(&[Some("x")])), ("city", text(&[Some("Ulm")]))]);
    let h = union(vec![part(&small(), 0), part(&other, 4)]).unwrap().unwrap();
    assert_eq!(h.edges.num_rows(), 7 + 2);
    assert_eq!(column(&h.edges, "city")[0], Value::Null);
    assert_eq!(column(&h.edges, "EventID")[7], "EventID::4");
    assert_eq!(column(&h.nodes, "nodeID")[8], "ip::x");
    let port: ArrayRef = Arc::new(Float64Array::from(vec![1.0]));
    let clash = part(&table(vec![("port", port)]), 4);
    let e = union(vec![part(&small(), 0), clash]).unwrap_err();
    assert!(e.to_string().contains("\"port\"") && e.to_string().contains("float64"), "{e}");
}

#[test]
fn what_a_plan_says_of_the_columns_is_what_comes_out() {
    let t = table(vec![
        ("type", text(&[Some("t")])),
        ("EventID", text(&[Some("e")])),
        ("x", text(&[Some("s")])),
    ]);
    for options in [
        json!({}),
        json!({"direct": true}),
        json!({"drop_edge_attrs": true, "opts": {"CATEGORIES": {"c": ["x"]}}}),
        json!({"entity_types": ["x"], "opts": {"EVENTID": "row"}}),
    ] {
        let parsed = Options::from_json(&options, "t").unwrap();
        let columns = t.column_names();
        let plan = Plan::new(&parsed, &columns).unwrap();
        let h = made(&t, options).unwrap();
        let names = |c: Vec<(&str, Option<usize>)>| -> Vec<String> {
            c.into_iter().map(|(n, _)| n.to_owned()).collect()
        };
        assert_eq!(names(plan.edge_columns()), h.edges.column_names());
        assert_eq!(names(plan.node_columns()), h.nodes.column_names());
        assert!(plan.bytes_max(1, 12) > 0);
    }
}
