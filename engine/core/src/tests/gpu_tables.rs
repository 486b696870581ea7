//! Queries over tables whose columns the GPU keeps, which here is the emulator: the same rows as without a GPU.

use std::sync::Arc;

use arrow_array::types::UInt32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int64Array, RecordBatch, StringArray,
    UInt32Array,
};
use graphlume_device::cuda::{Gpu, GpuOptions};
use graphlume_emu::emulator::{self, Counted, Noticed, Times};
use graphlume_emu::{fault_test, gpu_test};
use graphlume_expr::{QueryError, Strictness};
use graphlume_table::Table;
use graphlume_types::DatasetId;

use super::gpu::{emptied, on, open_gpu, stop};
use super::kit::{Engine, config, graph, live_engine};
use crate::{Config, Loaded, ParsedQuery, QueryAnswer, QueryRequest, ResultMode, block_on};

const NODES: i64 = 700;
const EDGES: i64 = 3_000;

/// Columns of every type, with nulls, zeros of both signs, numbers that floats are too coarse for, and none at all.
pub(super) fn columns(rows: i64, seed: i64) -> Vec<(&'static str, ArrayRef)> {
    let pick = move |i: i64, of: i64| (i * 7_919 + seed * 104_729 + i * i * 31) % of;
    let known = move |i: i64| pick(i, 11) != 3;
    let ints = (0..rows).map(|i| known(i).then(|| pick(i, 2_000) - 1_000));
    let wide = (0..rows).map(|i| Some(i64::MAX - pick(i, 5)));
    let floats = (0..rows).map(|i| match pick(i, 13) {
        4 => Some(f64::NAN),
        5 => Some(-0.0),
        _ => known(i).then(|| pick(i, 4_000) as f64 / 8.0 - 100.0),
    });
    let truths = (0..rows).map(|i| known(i + 1).then(|| pick(i, 3) == 1));
    let keys = (0..rows).map(|i| known(i + 2).then(|| pick(i, 6) as u32));
    let words = StringArray::from(vec!["transfer", "fee", "tax", "gift", "salary", "rent"]);
    let kinds =
        DictionaryArray::<UInt32Type>::try_new(UInt32Array::from_iter(keys), Arc::new(words));
    vec![
        ("number", Arc::new(Int64Array::from_iter(ints))),
        ("wide", Arc::new(Int64Array::from_iter(wide))),
        ("amount", Arc::new(Float64Array::from_iter(floats))),
        ("ok", Arc::new(BooleanArray::from_iter(truths))),
        ("kind", Arc::new(kinds.expect("keys of the dictionary"))),
        ("void", Arc::new(Int64Array::from_iter((0..rows).map(|_| None::<i64>)))),
    ]
}

/// Texts of a dictionary.
fn words(rows: i64, words: [&str; 3]) -> ArrayRef {
    let keys = UInt32Array::from_iter_values((0..rows).map(|i| (i * i % 7 % 3) as u32));
    let words = Arc::new(StringArray::from(words.to_vec()));
    Arc::new(DictionaryArray::<UInt32Type>::try_new(keys, words).expect("keys of the dictionary"))
}

/// Edges name 30 nodes that the table of nodes has not.
pub(super) fn sample() -> Loaded {
    let ends = |by: i64| (0..EDGES).map(move |i| (i * by + i * i) % (NODES + 30));
    let mut edges: Vec<(&'static str, ArrayRef)> = vec![
        ("s", Arc::new(Int64Array::from_iter_values(ends(17)))),
        ("d", Arc::new(Int64Array::from_iter_values(ends(101)))),
    ];
    edges.extend(columns(EDGES, 1));
    edges.push(("type", words(EDGES, ["SENT", "OWES", "KNOWS"])));
    let mut nodes: Vec<(&'static str, ArrayRef)> =
        vec![("id", Arc::new(Int64Array::from_iter_values(0..NODES)))];
    nodes.extend(columns(NODES, 2));
    nodes.push(("type", words(NODES, ["Person", "Firm", "Bank"])));
    loaded(nodes, edges)
}

/// A graph of tables of these columns: `id` of the nodes, `s` and `d` of the edges, and others.
pub(super) fn loaded(
    nodes: Vec<(&'static str, ArrayRef)>,
    edges: Vec<(&'static str, ArrayRef)>,
) -> Loaded {
    let table = |columns| {
        Table::try_new(RecordBatch::try_from_iter(columns).expect("columns")).expect("a table")
    };
    let (edges, nodes) = (table(edges), Some(table(nodes)));
    Loaded { edges, nodes, node: Some("id".to_owned()), ..graph(&[]) }
}

/// Conditions on `x`, a node or a relationship.
const CONDITIONS: &[&str] = &[
    "x.number > 100",
    "x.number <= -3 OR x.amount > 250.5",
    "10 <= x.number < 300 AND NOT x.amount < 20",
    "x.number IN [1, 5, 77, -20, 300]",
    "x.number IN [1.0, 2.5]",
    "x.amount IN [0, 12.5, 7.25]",
    "x.amount = 0",
    "x.amount <> 0.0",
    "x.wide >= 9223372036854775805",
    "x.wide > 9.3e18",
    "NOT (x.number > 0 AND x.ok)",
    "x.ok",
    "NOT x.ok",
    "x.ok OR x.number IS NULL",
    "x.amount IS NOT NULL AND x.kind STARTS WITH 't'",
    "x.kind CONTAINS 'a' OR x.number < -900",
    "NOT x.kind ENDS WITH 't'",
    "x.kind = 'fee'",
    "x.kind IN ['gift', 'rent', 'none']",
    "x.kind IS NULL",
    "x.void > 1",
    "x.void IS NULL AND x.number > 0",
    "3 < x.number",
    "true",
    "false AND x.number > 0",
];

/// What is asked of the rows that pass.
const RESULTS: &[&str] = &[
    "count(*)",
    "count(x.number), sum(x.number), min(x.number), max(x.number)",
    "min(x.amount), max(x.amount), count(x.amount)",
    "sum(x.wide), count(x.void), min(x.void)",
    "x.kind, count(*)",
    "sum(x.amount), avg(x.number)",
    "x.kind, count(x.number), sum(x.number), avg(x.number), min(x.number), max(x.number)",
    "x.kind, min(x.amount), max(x.amount), count(x.void), count(*)",
    "x.kind, sum(x.wide), min(x.void)",
    "count(DISTINCT x.kind), count(*)",
    "percentileCont(x.number, 0.3), percentileDisc(x.amount, 0.9), percentileCont(x.amount, 1.0)",
    "percentileDisc(x.wide, 0.5), percentileCont(x.void, 0.5)",
];

fn texts() -> Vec<String> {
    let mut all = Vec::new();
    for pattern in ["MATCH (x)", "MATCH ()-[x]->()"] {
        for (i, condition) in CONDITIONS.iter().enumerate() {
            for k in 0..3 {
                let result = RESULTS[(i + 5 * k) % RESULTS.len()];
                all.push(format!("{pattern} WHERE {condition} RETURN {result}"));
            }
        }
        all.extend(RESULTS.iter().map(|result| format!("{pattern} RETURN {result}")));
        let rows = CONDITIONS.iter().step_by(2);
        all.extend(rows.map(|c| format!("{pattern} WHERE {c} RETURN x.number, x.kind")));
    }
    let labelled = [
        "MATCH (x:Person) RETURN count(*), sum(x.number)",
        "MATCH (x:Person) WHERE x.number > 3 RETURN x.amount, x.type",
        "MATCH (x:Firm:Bank) WHERE x.ok RETURN count(*)",
        "MATCH (x:None) WHERE x.number > 3 RETURN count(*)",
        "MATCH ()-[x:OWES]->() RETURN x.kind, max(x.number)",
        "MATCH ()-[x:OWES|SENT]->() WHERE x.amount < 90 RETURN x.number, x.type",
        "MATCH (a)-[x:KNOWS]->(b) WHERE x.number < -700 RETURN a.number, x.type, b.number",
        "MATCH (x:Bank) WHERE x.kind = 'tax' WITH x.number AS n WHERE n > 4 RETURN n ORDER BY n",
    ];
    all.extend(labelled.map(str::to_owned));
    all
}

/// What a query over the graph that is drawn gives.
pub(super) fn ask(
    e: &Engine,
    data: DatasetId,
    text: &str,
    mode: ResultMode,
) -> Result<QueryAnswer, QueryError> {
    let query = graphlume_cypher::parse_text(text).expect("a query");
    let request = QueryRequest {
        ask: ParsedQuery::Cypher(Arc::new(query), serde_json::Map::new()),
        drawn: true,
        strictness: Strictness::Lenient,
        mode,
        user: None,
        others: vec![],
    };
    block_on(e.handle.query(data, request)).expect("asked").map(|found| found.answer)
}

/// The plan of a query, as text.
pub(super) fn plan(e: &Engine, data: DatasetId, text: &str) -> String {
    let found = ask(e, data, text, ResultMode::Plan).expect("a plan");
    let QueryAnswer::Plan(plan) = found else { panic!("a plan") };
    plan
}

/// The rows of an answer as JSON, in a fixed order.
pub(super) fn rows(e: &Engine, data: DatasetId, text: &str) -> Vec<String> {
    let found = match ask(e, data, text, ResultMode::Rows) {
        Ok(found) => found,
        // Sums that do not fit are refused on both sides.
        Err(error) => return vec![error.to_string()],
    };
    let QueryAnswer::Rows(table) = found else { panic!("rows") };
    let cells = |row| {
        let cells = table.batch().columns().iter();
        cells.map(|c| graphlume_table::cell_json(c.as_ref(), row).to_string()).collect::<Vec<_>>()
    };
    let mut rows: Vec<String> = (0..table.num_rows()).map(|row| cells(row).join(" ")).collect();
    rows.sort();
    rows
}

/// Without a GPU.
fn by_the_cpu(texts: &[String]) -> Vec<Vec<String>> {
    let e = live_engine(config());
    let data = e.add(1, sample());
    let found = texts.iter().map(|text| rows(&e, data, text)).collect();
    stop(e);
    found
}

#[test]
fn aggregates_of_tables_are_the_same_on_the_gpu() {
    let texts = texts();
    let wanted = by_the_cpu(&texts);
    gpu_test(&["col_filter", "mask_count", "col_reduce", "col_hist_codes"], |gpu| {
        let e = live_engine(on(gpu));
        let data = e.add(1, sample());
        let mut on_gpu = 0;
        for (text, wanted) in texts.iter().zip(&wanted) {
            let launches =
                |gpu: &Gpu| ["col_filter", "col_reduce", "col_hist_codes"].map(|k| gpu.launches(k));
            let before = launches(gpu);
            assert_eq!(rows(&e, data, text), *wanted, "{text}");
            let was_there = launches(gpu) != before;
            assert_eq!(plan(&e, data, text).contains("on the GPU"), was_there, "{text}");
            on_gpu += usize::from(was_there);
        }
        // All but sums of floats, averages, what an index finds, and what no column is read for.
        assert!(on_gpu * 10 > texts.len() * 7, "{on_gpu} of {}", texts.len());
        stop(e);
    });
}

#[test]
fn a_small_table_stays_on_the_cpu() {
    gpu_test(&[], |gpu| {
        let e = live_engine(Config { gpu_edges_min: 1, ..on(gpu) });
        let data = e.add(1, sample());
        let text = "MATCH ()-[x]->() WHERE x.number > 100 RETURN count(*)";
        let before = gpu.launches("col_filter");
        rows(&e, data, text);
        assert_eq!(gpu.launches("col_filter"), before);
        let said = plan(&e, data, text);
        assert!(said.contains("by columns on the CPU: the CPU takes"), "{said}");
        stop(e);
    });
}

#[test]
fn faulty_cards_cost_a_line_and_not_the_answer() {
    let texts = [
        "MATCH ()-[x]->() WHERE x.number > 100 AND x.kind = 'fee' RETURN count(*), sum(x.number)",
        "MATCH (x) WHERE x.amount > 20 RETURN x.kind, count(*)",
        "MATCH ()-[x]->() RETURN x.kind, sum(x.number), max(x.amount)",
        "MATCH ()-[x]->() WHERE x.number > 7 RETURN percentileCont(x.amount, 0.4)",
        "MATCH (x:Person) WHERE x.number > 3 RETURN x.amount, x.type",
        "MATCH (x) WHERE x.number > 3 RETURN count(DISTINCT x.kind)",
    ]
    .map(str::to_owned);
    let wanted = by_the_cpu(&texts);
    fault_test(|| {
        for (text, wanted) in texts.iter().zip(&wanted) {
            let ask = |gpu: &Gpu| {
                let e = live_engine(on(gpu));
                let data = e.add(1, sample());
                assert_eq!(rows(&e, data, text), *wanted, "{text}");
                emulator::clear();
                // The next one is fine, on whichever side.
                assert_eq!(rows(&e, data, text), *wanted, "{text}");
                stop(e);
            };
            // What an answer without a fault launches and allocates, the engine's look at the card included: a fault at each.
            let calls = [Counted::Launches, Counted::Allocations].map(|what| {
                let gpu = open_gpu();
                let before = emulator::count(what);
                let e = live_engine(on(&gpu));
                let data = e.add(1, sample());
                rows(&e, data, text);
                let calls = emulator::count(what) - before;
                stop(e);
                calls
            });
            assert!(calls[0] > 0 && calls[1] > 1, "{text}: {calls:?}");
            for at in 1..=calls[0].max(calls[1]) {
                // Every call fails once at least, the first dozen in each way.
                let is_due = |odd: bool| at <= 12 || (at % 2 == 1) == odd;
                for noticed in [(Noticed::AtOnce, true), (Noticed::Later, false)] {
                    if !is_due(noticed.1) || at > calls[0] {
                        continue;
                    }
                    let gpu = open_gpu();
                    emulator::fail_launch(at, 700, noticed.0);
                    ask(&gpu);
                }
                for times in [(Times::Once, true), (Times::FromThenOn, false)] {
                    if !is_due(times.1) || at > calls[1] {
                        continue;
                    }
                    let gpu = open_gpu();
                    emulator::refuse_memory(at, times.0);
                    ask(&gpu);
                    emptied(&gpu);
                }
            }
        }
    });
}

#[test]
fn columns_make_room_for_each_other_on_a_small_card() {
    let texts: Vec<String> = texts().into_iter().filter(|t| t.contains("-[x]->")).collect();
    let wanted = by_the_cpu(&texts);
    gpu_test(&[], |_| {
        // Two columns of eight bytes a row and the masks over them.
        let options = GpuOptions { memory_limit: Some(64 << 10), ..GpuOptions::default() };
        let gpu = Gpu::open(&options).expect("the emulator");
        let e = live_engine(on(&gpu));
        let data = e.add(1, sample());
        for (text, wanted) in texts.iter().zip(&wanted) {
            assert_eq!(rows(&e, data, text), *wanted, "{text}");
        }
        assert!(gpu.launches("col_filter") > 0 && gpu.budget().peak() <= 64 << 10);
        stop(e);
        emptied(&gpu);
    });
}
