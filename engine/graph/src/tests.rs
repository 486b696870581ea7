//! Behaviour of [`build`] over all kinds of id columns, against a plain hash map.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::*;
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use graphlume_table::Table;
use graphlume_types::hash::h64;
use graphlume_types::{CancelReason, CancelToken, Code, Coded};

use crate::canon::Column;
use crate::{Graph, GraphError, GraphSpec, build};

fn table(columns: &[(&str, ArrayRef)]) -> Table {
    let fields: Vec<Field> =
        columns.iter().map(|(n, a)| Field::new(*n, a.data_type().clone(), true)).collect();
    let arrays = columns.iter().map(|(_, a)| ArrayRef::clone(a)).collect();
    Table::try_new(RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap()).unwrap()
}

fn graph(src: ArrayRef, dst: ArrayRef, nodes: Option<ArrayRef>) -> Graph {
    let edges = table(&[("s", src), ("d", dst)]);
    let nodes = nodes.map(|n| table(&[("id", n)]));
    let spec = GraphSpec {
        edges: &edges,
        source: "s",
        destination: "d",
        nodes: nodes.as_ref(),
        node: Some("id"),
    };
    build(&spec, &CancelToken::new()).unwrap()
}

fn strings(v: &[Option<&str>]) -> ArrayRef {
    Arc::new(StringArray::from(v.to_vec()))
}

fn ints(v: &[Option<i64>]) -> ArrayRef {
    Arc::new(Int64Array::from(v.to_vec()))
}

fn ids(g: &Graph) -> Vec<String> {
    (0..g.topology.num_nodes()).map(|v| g.id_text(v)).collect()
}

/// Edges as pairs of id texts with their row, in row order.
fn edges(g: &Graph) -> Vec<(String, String, u32)> {
    let t = &g.topology;
    let mut all: Vec<_> = (0..t.num_edges()).map(|p| t.edge(p)).collect();
    all.sort_by_key(|e| e.2);
    all.into_iter().map(|(s, d, row)| (g.id_text(s), g.id_text(d), row)).collect()
}

fn edge(s: &str, d: &str, row: u32) -> (String, String, u32) {
    (s.to_owned(), d.to_owned(), row)
}

#[test]
fn nodes_come_in_table_order_then_sources_then_destinations() {
    let g = graph(
        strings(&[Some("x"), Some("b"), Some("y")]),
        strings(&[Some("a"), Some("z"), Some("x")]),
        Some(strings(&[Some("b"), Some("a"), Some("lonely")])),
    );
    assert_eq!(ids(&g), ["b", "a", "lonely", "x", "y", "z"]);
    assert_eq!((g.nodes_in_table, g.row_of(2), g.row_of(3)), (3, Some(2), None));
    assert_eq!(edges(&g), [edge("x", "a", 0), edge("b", "z", 1), edge("y", "x", 2)]);
    assert_eq!(g.topology.degree(2), 0);
}

#[test]
fn of_equal_node_rows_the_first_wins_and_null_ids_are_no_nodes() {
    let nodes = ints(&[Some(5), None, Some(5), Some(7)]);
    let g = graph(ints(&[Some(7)]), ints(&[Some(9)]), Some(nodes));
    assert_eq!(ids(&g), ["5", "7", "9"]);
    assert_eq!(g.node_row, Some(vec![0, 3, u32::MAX]));
    assert_eq!((g.row_of(0), g.row_of(1), g.row_of(2)), (Some(0), Some(3), None));
    assert_eq!(g.nodes_in_table, 2);
}

#[test]
fn a_row_with_a_null_end_is_no_edge_but_its_other_end_is_a_node() {
    let g = graph(
        strings(&[Some("a"), None, Some("c"), Some("a")]),
        strings(&[Some("b"), Some("d"), None, Some("b")]),
        None,
    );
    assert_eq!(ids(&g), ["a", "c", "b", "d"]);
    assert_eq!(edges(&g), [edge("a", "b", 0), edge("a", "b", 3)]);
    assert_eq!((g.nodes_in_table, g.row_of(0)), (0, None));
}

#[test]
fn self_loops_and_parallel_edges_stay() {
    let g = graph(ints(&[Some(1), Some(1), Some(1)]), ints(&[Some(1), Some(2), Some(2)]), None);
    assert_eq!(g.topology.out_neighbors(0), [0, 1, 1]);
    assert_eq!(g.topology.out_rows(0), [0, 1, 2]);
    assert_eq!(g.topology.degree(0), 4);
}

#[test]
fn numbers_of_all_types_match_by_value() {
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![1.0, 2.5, -0.0, f64::NAN]));
    let small: ArrayRef = Arc::new(UInt8Array::from(vec![1, 2, 0, 3]));
    let decimals = Decimal128Array::from(vec![250, 100]).with_precision_and_scale(5, 2).unwrap();
    let g = graph(floats, small, Some(Arc::new(decimals)));
    assert_eq!(ids(&g), ["2.50", "1", "0", "2", "3"]);
    assert_eq!(edges(&g), [edge("1", "1", 0), edge("2.50", "2", 1), edge("0", "0", 2)]);
}

#[test]
fn integers_beyond_the_signed_range_keep_their_identity() {
    let big = u64::MAX;
    let g = graph(Arc::new(UInt64Array::from(vec![big, 7])), ints(&[Some(-1), Some(7)]), None);
    assert_eq!(ids(&g), [big.to_string(), "7".to_owned(), "-1".to_owned()]);
    let f: ArrayRef = Arc::new(Float64Array::from(vec![9_223_372_036_854_775_808.0, 1e300]));
    let u: ArrayRef = Arc::new(UInt64Array::from(vec![1u64 << 63, 3]));
    assert_eq!(graph(f, u, None).topology.num_nodes(), 3);
}

#[test]
fn decimals_beyond_64_bits_are_the_texts_of_their_digits() {
    let far = [10_i128.pow(37) + 1, 10_i128.pow(37) + 2];
    let decimals = Decimal128Array::from(far.to_vec()).with_precision_and_scale(38, 0).unwrap();
    let [first, second] = far.map(|v| v.to_string());
    let g = graph(Arc::new(decimals), strings(&[Some(&second), Some(&first)]), None);
    assert_eq!(ids(&g), [first.clone(), second.clone()]);
    assert_eq!(edges(&g), [edge(&first, &second, 0), edge(&second, &first, 1)]);
}

#[test]
fn text_of_every_representation_is_the_same_id_and_never_a_number() {
    let view: ArrayRef = Arc::new(StringViewArray::from(vec!["1", "a rather long identifier"]));
    let dict: DictionaryArray<types::Int8Type> =
        vec!["a rather long identifier", "1"].into_iter().collect();
    let large: ArrayRef =
        Arc::new(LargeStringArray::from(vec!["unused", "1", "a rather long identifier"]));
    let g = graph(view, Arc::new(dict), Some(large));
    assert_eq!(ids(&g), ["unused", "1", "a rather long identifier"]);
    let g = graph(ints(&[Some(1)]), strings(&[Some("1")]), None);
    assert_eq!(ids(&g), ["1", "1"]);
    assert_eq!(g.topology.edge(0), (0, 1, 0));
}

#[test]
fn booleans_match_each_other_only() {
    let b: ArrayRef = Arc::new(BooleanArray::from(vec![true, false, true]));
    let g = graph(b, ints(&[Some(1), Some(0), Some(1)]), None);
    assert_eq!(ids(&g), ["true", "false", "1", "0"]);
}

#[test]
fn dates_and_timestamps_of_every_unit_match_by_instant() {
    let days: ArrayRef = Arc::new(Date32Array::from(vec![1, 2]));
    let micros: ArrayRef =
        Arc::new(TimestampMicrosecondArray::from(vec![86_400_000_000, 86_400_000_001]));
    let g = graph(days, micros, None);
    assert_eq!(g.topology.num_nodes(), 3);
    assert_eq!(g.topology.edge(0), (0, 0, 0));
    let zoned = TimestampSecondArray::from(vec![86_400, -1]).with_timezone("Europe/Berlin");
    let nanos = TimestampNanosecondArray::from(vec![86_400_000_000_000, -1_000_000_000]);
    assert_eq!(graph(Arc::new(zoned), Arc::new(nanos), None).topology.num_nodes(), 2);
}

#[test]
fn lists_bytes_and_durations_can_be_ids() {
    let list = ListArray::from_iter_primitive::<types::Int32Type, _, _>(vec![
        Some(vec![Some(1), None]),
        Some(vec![Some(1), None]),
        None,
    ]);
    let bytes: ArrayRef = Arc::new(BinaryArray::from(vec![&b"ab"[..], b"ab", b"c"]));
    assert_eq!(graph(Arc::new(list), bytes, None).topology.num_nodes(), 3);
    let s: ArrayRef = Arc::new(DurationSecondArray::from(vec![1, -1]));
    let ms: ArrayRef = Arc::new(DurationMillisecondArray::from(vec![1000, -1000]));
    assert_eq!(graph(s, ms, None).topology.num_nodes(), 2);
    let t: ArrayRef = Arc::new(Time32SecondArray::from(vec![1]));
    let ns: ArrayRef = Arc::new(Time64NanosecondArray::from(vec![1_000_000_000]));
    assert_eq!(graph(t, ns, None).topology.num_nodes(), 1);
}

#[test]
fn columns_of_nulls_and_empty_tables_make_empty_graphs() {
    let g = graph(Arc::new(NullArray::new(3)), ints(&[None, None, None]), None);
    assert_eq!((g.topology.num_nodes(), g.topology.num_edges(), g.ids.len()), (0, 0, 0));
    let g = graph(strings(&[]), strings(&[]), Some(strings(&[Some("a")])));
    assert_eq!((g.topology.num_nodes(), g.topology.num_edges()), (1, 0));
    assert_eq!(g.node_row, None);
}

#[test]
fn a_dictionary_with_repeated_null_and_unused_values_counts_each_value_once() {
    let values: ArrayRef =
        Arc::new(StringArray::from(vec![Some("a"), None, Some("a"), Some("never")]));
    let keys = Int32Array::from(vec![Some(2), Some(0), Some(1), None, Some(2)]);
    let src: ArrayRef = Arc::new(DictionaryArray::new(keys, values));
    let dst = strings(&[Some("b"), Some("a"), Some("b"), Some("b"), Some("b")]);
    let g = graph(src, dst, None);
    assert_eq!(ids(&g), ["a", "b"]);
    assert_eq!(edges(&g), [edge("a", "b", 0), edge("a", "a", 1), edge("a", "b", 4)]);
    assert_eq!(g.ids.data_type(), &DataType::Utf8);
}

#[test]
fn ids_keep_their_type_when_the_columns_agree() {
    let at =
        |v: Vec<i64>| -> ArrayRef { Arc::new(TimestampSecondArray::from(v).with_timezone("UTC")) };
    let g = graph(at(vec![5, 6]), at(vec![6, 7]), None);
    assert_eq!(g.ids.data_type(), &DataType::Timestamp(TimeUnit::Second, Some("UTC".into())));
    let floats: ArrayRef = Arc::new(Float64Array::from(vec![Some(3.0), None]));
    let g = graph(floats, ints(&[Some(4), Some(5)]), None);
    assert_eq!(g.ids.data_type(), &DataType::Int64);
    assert_eq!(ids(&g), ["3", "4", "5"]);
}

#[test]
fn distinct_values_are_numbered_in_order_and_nulls_are_left_out() {
    let column = strings(&[Some("b"), None, Some("a"), Some("b")]);
    let found = crate::distinct(&column).unwrap();
    assert_eq!((found.codes, found.first_rows), (vec![0, u32::MAX, 1, 0], vec![0, 2]));
    let dict: ArrayRef = Arc::new(
        arrow_cast::cast(
            &column,
            &DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8)),
        )
        .unwrap(),
    );
    assert_eq!(crate::distinct(&dict), crate::distinct(&column));
}

#[test]
fn an_unknown_column_names_the_role_and_the_columns() {
    let edges = table(&[("from", ints(&[Some(1)])), ("to", ints(&[Some(2)]))]);
    let spec =
        GraphSpec { edges: &edges, source: "frmo", destination: "to", nodes: None, node: None };
    let e = build(&spec, &CancelToken::new()).unwrap_err();
    assert!(matches!(&e, GraphError::UnknownColumn { role: "source", .. }), "{e}");
    assert!(e.to_string().contains("did you mean \"from\"?"), "{e}");
    assert!(e.to_string().contains("\"from\", \"to\""), "{e}");
    let nodes = table(&[("id", ints(&[Some(1)]))]);
    let spec = GraphSpec { source: "from", nodes: Some(&nodes), node: Some("key"), ..spec };
    let e = build(&spec, &CancelToken::new()).unwrap_err();
    assert!(e.to_string().contains("nodes table"), "{e}");
    assert_eq!((e.code(), e.field()), (Code::InvalidArgument, Some("node")));
}

#[test]
fn a_cancelled_build_stops() {
    let edges = table(&[("s", ints(&[Some(1)])), ("d", ints(&[Some(2)]))]);
    let spec = GraphSpec { edges: &edges, source: "s", destination: "d", nodes: None, node: None };
    let cancel = CancelToken::new();
    cancel.cancel(CancelReason::Shutdown);
    assert!(matches!(build(&spec, &cancel), Err(GraphError::Cancelled(_))));
}

/// Renumbering with a hash map, which [`build`] must reproduce.
fn naive(
    src: &[Option<u64>],
    dst: &[Option<u64>],
    nodes: &[Option<u64>],
) -> (Vec<u64>, Vec<[u32; 3]>) {
    let mut number = HashMap::new();
    let mut order = Vec::new();
    for v in nodes.iter().chain(src).chain(dst).flatten() {
        number.entry(*v).or_insert_with(|| {
            order.push(*v);
            order.len() as u32 - 1
        });
    }
    let mut edges = Vec::new();
    for (row, (s, d)) in src.iter().zip(dst).enumerate() {
        if let (Some(s), Some(d)) = (s, d) {
            edges.push([number[s], number[d], row as u32]);
        }
    }
    edges.sort_unstable();
    (order, edges)
}

/// One of the ways to write the values of a column.
fn encode(kind: u64, v: &[Option<u64>]) -> ArrayRef {
    let text = |v: &u64| format!("node-{v}");
    match kind {
        0 => Arc::new(v.iter().map(|v| v.map(|v| v as i64)).collect::<Int64Array>()),
        1 => Arc::new(v.iter().map(|v| v.map(|v| v as f64)).collect::<Float64Array>()),
        2 => Arc::new(v.iter().map(|v| v.map(|v| v as i64 * 1_000_003)).collect::<Int64Array>()),
        3 => Arc::new(v.iter().map(|v| v.as_ref().map(text)).collect::<StringArray>()),
        4 => Arc::new(v.iter().map(|v| v.as_ref().map(text)).collect::<LargeStringArray>()),
        _ => {
            let rows: Vec<Option<String>> = v.iter().map(|v| v.as_ref().map(text)).collect();
            let rows = rows.iter().map(Option::as_deref);
            Arc::new(rows.collect::<DictionaryArray<types::Int32Type>>())
        }
    }
}

fn compare(seed: u64, m: usize, n: u64, kinds: [u64; 3]) {
    let draw = |stream: u64, len: usize| -> Vec<Option<u64>> {
        let value = |i| Some(h64(seed, stream, i)).filter(|h| h % 17 != 0).map(|h| (h >> 8) % n);
        (0..len as u64).map(value).collect()
    };
    let (src, dst, nodes) = (draw(0, m), draw(1, m), draw(2, m / 3));
    let g = graph(encode(kinds[0], &src), encode(kinds[1], &dst), Some(encode(kinds[2], &nodes)));
    let (order, want) = naive(&src, &dst, &nodes);
    let t = &g.topology;
    let got: Vec<[u32; 3]> = (0..t.num_edges()).map(|p| t.edge(p).into()).collect();
    assert_eq!(got, want, "seed {seed} kinds {kinds:?}");
    let want = encode(kinds[0], &order.iter().map(|v| Some(*v)).collect::<Vec<_>>());
    let (want, got) = (Column::try_new(&want).unwrap(), Column::try_new(&g.ids).unwrap());
    assert_eq!(got.len(), want.len());
    assert!((0..got.len()).all(|i| got.get(i) == want.get(i)), "seed {seed} kinds {kinds:?}");
}

#[test]
fn random_tables_of_every_id_type_match_a_hash_map() {
    for seed in 0..60 {
        let m = h64(seed, 9, 0) as usize % 200;
        let n = 1 + h64(seed, 9, 1) % 60;
        let texts = |i| 3 + h64(seed, 8, i) % 3;
        let numbers = |i| h64(seed, 8, i) % 2;
        compare(seed, m, n, [texts(0), texts(1), texts(2)]);
        compare(seed, m, n, [numbers(0), numbers(1), numbers(2)]);
        compare(seed, m, n, [2, 2, 2]);
    }
}

#[test]
fn large_tables_use_every_partition_and_still_match() {
    for kinds in [[0, 0, 1], [2, 2, 2], [3, 4, 5], [5, 5, 5]] {
        compare(1, 150_000, 90_000, kinds);
    }
}

#[test]
fn the_number_of_threads_does_not_show() {
    let column = |stream| {
        encode(3, &(0..120_000).map(|i| Some(h64(5, stream, i) % 70_000)).collect::<Vec<_>>())
    };
    let (src, dst) = (column(0), column(1));
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let g = pool.install(|| graph(ArrayRef::clone(&src), ArrayRef::clone(&dst), None));
        (g.topology, g.ids)
    };
    let one = on(1);
    assert!([2, 7].into_iter().all(|t| on(t) == one));
}

/// `cargo test -p graphlume-graph -- --ignored --nocapture timing`
#[test]
#[ignore = "a measurement, not a check"]
fn timing_of_a_million_edges() {
    let (m, n) = (1_000_000, 250_000);
    for (kind, name) in
        ["dense integers", "floats", "sparse integers", "text", "large text", "dictionary"]
            .into_iter()
            .enumerate()
    {
        let column = |stream| {
            encode(kind as u64, &(0..m).map(|i| Some(h64(5, stream, i) % n)).collect::<Vec<_>>())
        };
        let edges = table(&[("s", column(0)), ("d", column(1))]);
        let spec =
            GraphSpec { edges: &edges, source: "s", destination: "d", nodes: None, node: None };
        for _ in 0..3 {
            let start = std::time::Instant::now();
            let g = build(&spec, &CancelToken::new()).unwrap();
            let per_edge = g.topology.memory_bytes() as f64 / m as f64;
            eprintln!("{name}: {:?}, {per_edge:.1} B/edge", start.elapsed());
        }
    }
}
