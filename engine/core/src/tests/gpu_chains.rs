//! Patterns over a graph that the GPU keeps, which here is the emulator: the same frames as without a GPU.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use graphlume_device::cuda::{Gpu, GpuOptions};
use graphlume_emu::emulator::{self, Counted, Noticed, Times};
use graphlume_emu::{fault_test, gpu_test};
use graphlume_expr::Strictness;
use graphlume_table::Table;
use graphlume_types::DatasetId;
use serde_json::{Value, json};

use super::gpu::{emptied, on, open_gpu, stop};
use super::gpu_tables::{columns, loaded};
use super::kit::{Engine, config, graph, live_engine};
use crate::{
    CollectionRule, Config, Loaded, ParsedQuery, QueryAnswer, QueryRequest, ResultMode, block_on,
};

const NODES: i64 = 260;
const EDGES: i64 = 700;

/// Self-loops, edges that there are several times, nodes without edges, and ten nodes that only edges name.
pub(super) fn sample() -> Loaded {
    let end = |by: i64| {
        (0..EDGES).map(move |i| match i % 9 {
            0 => i / 9 % 40,
            1 => 7,
            _ => (i * by + i * i * 3) % (NODES - 50),
        })
    };
    let strange = |end: i64, i: i64| if i % 37 == 5 { NODES + i % 10 } else { end };
    let ends = |by| end(by).zip(0..).map(move |(end, i)| strange(end, i));
    let mut edges: Vec<(&'static str, ArrayRef)> = vec![
        ("s", Arc::new(Int64Array::from_iter_values(ends(17)))),
        ("d", Arc::new(Int64Array::from_iter_values(ends(101)))),
    ];
    edges.extend(columns(EDGES, 1));
    let mut nodes: Vec<(&'static str, ArrayRef)> =
        vec![("id", Arc::new(Int64Array::from_iter_values(0..NODES)))];
    nodes.extend(columns(NODES, 2));
    loaded(nodes, edges)
}

/// Tests of the columns of either table.
pub(super) fn filters() -> Vec<Value> {
    vec![
        json!({"number": {"type": "GT", "val": 100}}),
        json!({"number": {"type": "LE", "val": -3}, "kind": "fee"}),
        json!({"number": {"type": "Between", "lower": -200, "upper": 300.5}}),
        json!({"number": {"type": "NE", "val": 12.5}}),
        json!({"number": {"type": "IsIn", "options": [1, 5, 77, -20, 300, null]}}),
        json!({"number": {"type": "IsIn", "options": (-40..40).map(|v| v * 7).collect::<Vec<_>>()}}),
        json!({"amount": {"type": "GE", "val": 100}}),
        json!({"amount": {"type": "EQ", "val": 0}}),
        json!({"amount": {"type": "NotNull"}}),
        json!({"amount": {"type": "IsNull"}}),
        json!({"amount": {"type": "LT", "val": -20.125}, "ok": true}),
        json!({"ok": false}),
        json!({"ok": {"type": "IsNull"}}),
        json!({"kind": {"type": "Startswith", "pat": "t"}}),
        json!({"kind": {"type": "Contains", "pat": "a", "na": true}}),
        json!({"kind": {"type": "IsIn", "options": ["gift", "rent", "none"]}}),
        json!({"kind": {"type": "IsNull"}}),
        json!({"wide": {"type": "GE", "val": 9_223_372_036_854_775_805_i64}}),
        json!({"void": {"type": "IsNull"}}),
        json!({"void": 3}),
    ]
}

pub(super) fn node(filter: Value, name: Option<&str>) -> Value {
    json!({"type": "Node", "filter_dict": filter, "name": name})
}

pub(super) fn edge(direction: &str, more: Value) -> Value {
    let mut edge = json!({"type": "Edge", "direction": direction});
    if let (Some(edge), Some(more)) = (edge.as_object_mut(), more.as_object()) {
        edge.extend(more.clone());
    }
    edge
}

/// How far an edge step goes.
pub(super) fn bounds() -> Vec<Value> {
    vec![
        json!({}),
        json!({"hops": 2}),
        json!({"hops": 3}),
        json!({"max_hops": 0}),
        json!({"min_hops": 0, "max_hops": 2}),
        json!({"min_hops": 0, "max_hops": 1, "include_zero_hop_seed": true}),
        json!({"min_hops": 1, "max_hops": 2, "include_zero_hop_seed": true}),
        json!({"min_hops": 2, "max_hops": 2}),
        json!({"min_hops": 2, "max_hops": 3}),
        json!({"min_hops": 3, "max_hops": 6}),
        json!({"to_fixed_point": true}),
    ]
}

pub(super) const DIRECTIONS: [&str; 3] = ["forward", "reverse", "undirected"];

pub(super) fn chains() -> Vec<Value> {
    let tests = filters();
    let mut at = 0;
    let mut test = || {
        at += 7;
        tests[at % tests.len()].clone()
    };
    let mut all: Vec<Value> = filters().into_iter().map(|f| json!([node(f, None)])).collect();
    for filter in filters() {
        // The ends of the edges that pass.
        all.push(json!([edge("forward", json!({"edge_match": filter}))]));
    }
    for direction in DIRECTIONS {
        for bounds in bounds() {
            let with = |more: Value| {
                let mut bounds = bounds.clone();
                bounds
                    .as_object_mut()
                    .expect("an object")
                    .extend(more.as_object().cloned().expect("an object"));
                edge(direction, bounds)
            };
            let few = json!({"id": {"type": "IsIn", "options": [3, 7, 40, 400]}});
            all.push(json!([node(few, None), with(json!({}))]));
            all.push(json!([with(json!({}))]));
            all.push(json!([
                node(test(), None),
                with(json!({"edge_match": test()})),
                node(test(), None)
            ]));
            all.push(json!([
                node(test(), None),
                with(json!({"source_node_match": test(), "destination_node_match": test()})),
            ]));
            all.push(json!([
                node(test(), None),
                with(json!({})),
                node(test(), None),
                edge(DIRECTIONS[all.len() % 3], json!({"name": "then", "edge_match": test()})),
                node(json!({}), None),
            ]));
            if bounds.get("min_hops").is_none() {
                all.push(json!([
                    node(test(), Some("begin")),
                    with(json!({"name": "way"})),
                    node(json!({}), Some("middle")),
                    edge(DIRECTIONS[all.len() % 3], json!({})),
                    node(test(), Some("end")),
                ]));
            }
        }
    }
    // Nothing that passes, nodes twice, and what has no form for a GPU.
    all.extend([
        json!([node(json!({"number": 99_999}), None), edge("forward", json!({}))]),
        json!([
            node(json!({}), None),
            edge("undirected", json!({"edge_match": {"number": 99_999}}))
        ]),
        json!([
            node(json!({"ok": true}), None),
            node(json!({"kind": "fee"}), None),
            edge("reverse", json!({}))
        ]),
        json!([
            node(json!({"ok": true}), None),
            edge("forward", json!({"hops": 2, "label_node_hops": "hop"}))
        ]),
        json!([node(json!({"kind": {"type": "Duplicated"}}), None), edge("forward", json!({}))]),
    ]);
    all
}

fn ask(e: &Engine, data: DatasetId, chain: &Value, drawn: bool, mode: ResultMode) -> QueryAnswer {
    let query = graphlume_gfql::parse(chain).unwrap_or_else(|e| panic!("{chain}: {e}"));
    let request = QueryRequest {
        ask: ParsedQuery::Gfql(Arc::new(query), None),
        drawn,
        strictness: Strictness::Strict,
        mode,
        user: None,
        others: vec![],
    };
    let found = block_on(e.handle.query(data, request)).expect("asked");
    found.unwrap_or_else(|e| panic!("{chain}: {e}")).answer
}

/// The rows of a table, as text, in their order.
fn rows(table: Option<&Table>) -> Vec<String> {
    let Some(table) = table else { return vec![] };
    let cells = |row| {
        let cells = table.batch().columns().iter();
        cells.map(|c| graphlume_table::cell_json(c.as_ref(), row).to_string()).collect::<Vec<_>>()
    };
    let names = table.column_names().join(" ");
    std::iter::once(names).chain((0..table.num_rows()).map(|row| cells(row).join(" "))).collect()
}

/// The frames that a chain gives, and how large they are.
pub(super) fn frames(
    e: &Engine,
    data: DatasetId,
    chain: &Value,
    drawn: bool,
) -> (Vec<String>, Vec<String>, String) {
    let QueryAnswer::Graph(graph) = ask(e, data, chain, drawn, ResultMode::Rows) else {
        panic!("a graph")
    };
    let sizes = ask(e, data, chain, drawn, ResultMode::Sizes);
    (rows(graph.nodes()), rows(graph.edges()), format!("{sizes:?}"))
}

fn plan(e: &Engine, data: DatasetId, chain: &Value) -> String {
    let QueryAnswer::Plan(plan) = ask(e, data, chain, true, ResultMode::Plan) else {
        panic!("a plan")
    };
    plan
}

pub(super) type Frames = Vec<(Vec<String>, Vec<String>, String)>;

/// Without a GPU, over the tables and over the graph that is drawn.
fn by_the_cpu(chains: &[Value]) -> [Frames; 2] {
    let e = live_engine(config());
    let data = e.add(1, sample());
    let found =
        [false, true].map(|drawn| chains.iter().map(|c| frames(&e, data, c, drawn)).collect());
    stop(e);
    found
}

#[test]
fn chains_give_the_same_frames_on_the_gpu() {
    let chains = chains();
    let wanted = by_the_cpu(&chains);
    gpu_test(&["chain_follow", "col_filter"], |gpu| {
        let e = live_engine(on(gpu));
        let data = e.add(1, sample());
        let mut on_gpu = 0;
        for (drawn, wanted) in [false, true].into_iter().zip(&wanted) {
            for (chain, wanted) in chains.iter().zip(wanted) {
                let launches = |gpu: &Gpu| ["col_filter", "chain_follow"].map(|k| gpu.launches(k));
                let before = launches(gpu);
                assert_eq!(frames(&e, data, chain, drawn), *wanted, "drawn {drawn}: {chain}");
                let was_there = launches(gpu) != before;
                if drawn {
                    let said = plan(&e, data, chain);
                    assert_eq!(said.contains("on the GPU"), was_there, "{chain}: {said}");
                }
                on_gpu += usize::from(was_there);
            }
        }
        // All but numbers of hops, and duplicates.
        assert_eq!(on_gpu, 2 * chains.len() - 4);
        stop(e);
    });
}

#[test]
fn walks_that_lead_back_on_themselves_are_cut_alike() {
    let begin = |ids: Value| node(json!({"id": {"type": "IsIn", "options": ids}}), None);
    let then = || edge("forward", json!({"name": "then"}));
    let cases = [
        // Node 1 is met by the first hop from 0, and what it leads to is followed from 1 itself by then: it did not get far
        // enough, and nothing leads on from it.
        (
            vec![(0, 1), (1, 2), (2, 3), (3, 4)],
            json!([
                begin(json!([0, 1])),
                edge("forward", json!({"min_hops": 2, "max_hops": 2})),
                then()
            ]),
        ),
        // The edge from 2 to 3 is the third of a walk and the second before the end, so on no walk of three.
        (
            vec![(0, 1), (1, 2), (2, 3), (0, 3), (3, 4)],
            json!([begin(json!([0])), edge("forward", json!({"hops": 3})), begin(json!([4]))]),
        ),
        // A cycle, a pair of edges, a loop, and a seed that hangs on a cycle.
        (
            vec![(0, 1), (1, 2), (2, 0), (2, 3), (4, 5), (4, 5), (6, 6), (7, 8)],
            json!([begin(json!([3, 4, 6, 7])), edge("undirected", json!({"hops": 3}))]),
        ),
        (
            (0..90).map(|i| (i, i + 1)).collect(),
            json!([begin(json!([0])), edge("forward", json!({"to_fixed_point": true}))]),
        ),
    ];
    let answers = |e: &Engine| -> Frames {
        let each = (1..).zip(&cases).map(|(n, (pairs, chain))| {
            let data = e.add(n, graph(pairs));
            frames(e, data, chain, true)
        });
        each.collect()
    };
    let e = live_engine(config());
    let wanted = answers(&e);
    stop(e);
    // The header, and the edges: all; all but one; those of walks; all.
    assert_eq!(wanted.iter().map(|w| w.1.len()).collect::<Vec<_>>(), [4, 3, 9, 91]);
    gpu_test(&["chain_follow"], |gpu| {
        let e = live_engine(on(gpu));
        assert_eq!(answers(&e), wanted);
        stop(e);
    });
}

#[test]
fn tables_without_rows_are_no_trap() {
    let listed = |pairs: &[(i64, i64)], nodes: i64| {
        let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(0..nodes));
        let table = RecordBatch::try_from_iter([("id", ids)]).expect("ids");
        Loaded {
            nodes: Some(Table::try_new(table).expect("a table")),
            node: Some("id".to_owned()),
            ..graph(pairs)
        }
    };
    // Nothing at all, nodes that no edge names, and edges whose nodes no row describes.
    let graphs = [graph(&[]), listed(&[], 0), listed(&[], 40), listed(&[(0, 1), (1, 1)], 0)];
    let chains = [
        json!([node(json!({"id": {"type": "GE", "val": 0}}), None)]),
        json!([edge("forward", json!({}))]),
        json!([
            node(json!({"id": {"type": "GE", "val": 1}}), None),
            edge("undirected", json!({"hops": 2}))
        ]),
        json!([
            edge("reverse", json!({"min_hops": 2, "max_hops": 3})),
            node(json!({"id": 1}), None)
        ]),
    ];
    let answers = |e: &Engine| -> Frames {
        let mut all = vec![];
        for (n, graph) in (1..).zip(&graphs) {
            let data = e.add(n, graph.clone());
            for chain in &chains {
                all.extend([false, true].map(|drawn| frames(e, data, chain, drawn)));
            }
        }
        all
    };
    let e = live_engine(config());
    let wanted = answers(&e);
    stop(e);
    gpu_test(&["chain_follow"], |gpu| {
        let e = live_engine(on(gpu));
        assert_eq!(answers(&e), wanted);
        stop(e);
    });
}

/// The elements of collections.
fn members(e: &Engine, chains: &[Value]) -> Vec<String> {
    let data = e.add(1, sample());
    let s = e.open("s", data, 0);
    let each = chains.iter().map(|chain| {
        let query = graphlume_gfql::parse(chain).expect("a query");
        let rule = Arc::new(CollectionRule::Query(query, Strictness::Strict));
        let found = block_on(e.handle.evaluate_collection(s.clone(), rule)).expect("asked");
        let found = found.expect("found");
        // The bits of nodes and of edges; the version of the element set is another in each engine.
        let shown = format!("{found:?}");
        let (_, bits) = shown.split_once("members:").expect("its members");
        format!("{} {bits}", found.count())
    });
    each.collect()
}

#[test]
fn collections_hold_the_same_elements_on_the_gpu() {
    let chains: Vec<Value> = chains().into_iter().step_by(4).collect();
    let e = live_engine(config());
    let wanted = members(&e, &chains);
    stop(e);
    gpu_test(&["chain_follow", "col_filter"], |gpu| {
        let e = live_engine(on(gpu));
        for ((found, wanted), chain) in members(&e, &chains).iter().zip(&wanted).zip(&chains) {
            assert_eq!(found, wanted, "{chain}");
        }
        assert!(gpu.launches("chain_follow") > chains.len() as u64);
        stop(e);
    });
}

#[test]
fn a_small_graph_stays_on_the_cpu_and_the_plan_says_why() {
    gpu_test(&[], |gpu| {
        let e = live_engine(Config { gpu_edges_min: 1, ..on(gpu) });
        let data = e.add(1, sample());
        let chain = json!([node(json!({"ok": true}), None), edge("forward", json!({}))]);
        let before = gpu.launches("chain_follow");
        frames(&e, data, &chain, true);
        assert_eq!(gpu.launches("chain_follow"), before);
        let said = plan(&e, data, &chain);
        assert!(said.contains("the pattern on the CPU: the CPU takes"), "{said}");
        let numbered = json!([edge("forward", json!({"hops": 2, "label_node_hops": "hop"}))]);
        let said = plan(&e, data, &numbered);
        assert!(said.contains("the pattern on the CPU: numbers of hops"), "{said}");
        stop(e);
    });
}

#[test]
fn faulty_cards_cost_a_line_and_not_the_frames() {
    let chains = [
        json!([
            node(json!({"ok": true}), None),
            edge("forward", json!({"edge_match": {"number": {"type": "GT", "val": 0}}})),
            node(json!({"kind": "fee"}), None),
        ]),
        json!([
            node(json!({"number": {"type": "LT", "val": 0}}), Some("begin")),
            edge("undirected", json!({"hops": 2})),
            node(json!({"amount": {"type": "GT", "val": 10}}), None),
        ]),
        json!([
            node(json!({"id": {"type": "IsIn", "options": [3, 7, 40]}}), None),
            edge("forward", json!({"min_hops": 2, "max_hops": 2})),
        ]),
    ];
    let wanted = by_the_cpu(&chains);
    fault_test(|| {
        for (chain, wanted) in chains.iter().zip(&wanted[1]) {
            // What an answer without a fault launches and allocates: a fault at each of these.
            let calls = [Counted::Launches, Counted::Allocations].map(|what| {
                let gpu = open_gpu();
                let e = live_engine(on(&gpu));
                let data = e.add(1, sample());
                let before = emulator::count(what);
                ask(&e, data, chain, true, ResultMode::Rows);
                let calls = emulator::count(what) - before;
                stop(e);
                calls
            });
            assert!(calls[0] > 12 && calls[1] > 12, "{calls:?}");
            let faulty = |gpu: &Gpu, order: &dyn Fn()| {
                let e = live_engine(on(gpu));
                let data = e.add(1, sample());
                // The graph is loaded, and the GPU has seen nothing of it.
                plan(&e, data, chain);
                order();
                assert_eq!(frames(&e, data, chain, true), *wanted, "{chain}");
                emulator::clear();
                // The next one is fine, on whichever side.
                assert_eq!(frames(&e, data, chain, true), *wanted, "{chain}");
                stop(e);
            };
            for at in 1..=calls[0] {
                for noticed in [Noticed::AtOnce, Noticed::Later] {
                    let gpu = open_gpu();
                    faulty(&gpu, &|| emulator::fail_launch(at, 700, noticed));
                    emptied(&gpu);
                }
            }
            for at in 1..=calls[1] {
                for times in [Times::Once, Times::FromThenOn] {
                    let gpu = open_gpu();
                    faulty(&gpu, &|| emulator::refuse_memory(at, times));
                    emptied(&gpu);
                }
            }
        }
    });
}

#[test]
fn graphs_and_columns_make_room_for_chains_on_a_small_card() {
    let chains: Vec<Value> = chains().into_iter().step_by(3).collect();
    let wanted = by_the_cpu(&chains);
    gpu_test(&[], |_| {
        // The graph, two columns of eight bytes a row and some of the sets over them.
        let options = GpuOptions { memory_limit: Some(48 << 10), ..GpuOptions::default() };
        let gpu = Gpu::open(&options).expect("the emulator");
        let e = live_engine(on(&gpu));
        let data = e.add(1, sample());
        for (chain, wanted) in chains.iter().zip(&wanted[1]) {
            assert_eq!(frames(&e, data, chain, true), *wanted, "{chain}");
        }
        assert!(gpu.launches("chain_follow") > 0 && gpu.budget().peak() <= 48 << 10);
        stop(e);
        emptied(&gpu);
    });
}
