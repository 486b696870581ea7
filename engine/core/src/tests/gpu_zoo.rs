//! Each operator that queries run on the GPU, which here is the emulator, over the graphs that every kernel is tested on. The
//! gate runs this program's tests of that name once more under AddressSanitizer (scripts/unit_tests.py).

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use graphlume_device::cuda::Gpu;
use graphlume_emu::{Zoo, gpu_test};
use serde_json::{Value, json};

use super::gpu::{on, stop};
use super::kit::{Engine, config, live_engine};
use super::{gpu_chains, gpu_tables};
use crate::{Config, Loaded};

/// A graph of the zoo with columns.
fn loaded(zoo: &Zoo) -> Loaded {
    let (n, m) = (zoo.graph.num_nodes(), zoo.graph.num_edges());
    let pairs: Vec<(u32, u32, u32)> = (0..m).map(|p| zoo.graph.edge(p)).collect();
    let ids = |f: fn(&(u32, u32, u32)) -> u32| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(pairs.iter().map(|p| i64::from(f(p)))))
    };
    let mut edges = vec![("s", ids(|p| p.0)), ("d", ids(|p| p.1))];
    edges.extend(gpu_tables::columns(i64::from(m), 1));
    let all: ArrayRef = Arc::new(Int64Array::from_iter_values(0..i64::from(n)));
    let mut nodes = vec![("id", all)];
    nodes.extend(gpu_tables::columns(i64::from(n), 2));
    gpu_tables::loaded(nodes, edges)
}

/// Filters, sums, averages, ends, groups, distinct texts, percentiles and rows, of nodes and of edges.
fn texts() -> Vec<String> {
    let parts = [
        "WHERE x.number > 100 RETURN count(*)",
        "WHERE x.number IN [1, 5, 77, -20] OR x.amount IS NULL RETURN count(*)",
        "WHERE x.kind STARTS WITH 't' AND NOT x.ok RETURN count(*)",
        "WHERE x.number > 7 RETURN sum(x.number), min(x.amount), max(x.wide), count(x.amount)",
        "WHERE x.number < 500 RETURN x.kind, count(*)",
        "RETURN x.kind, sum(x.number), max(x.amount), avg(x.number)",
        "RETURN count(DISTINCT x.kind)",
        "RETURN percentileCont(x.amount, 0.4), percentileDisc(x.number, 0.9)",
        "WHERE x.number < 300 RETURN x.number, x.kind",
    ];
    let patterns = ["MATCH (x)", "MATCH ()-[x]->()"];
    patterns.iter().flat_map(|p| parts.map(|part| format!("{p} {part}"))).collect()
}

/// Hops each way, with bounds, filters and names, and patterns of two.
fn chains() -> Vec<Value> {
    let node = |value: i64| json!({"type": "Node", "filter_dict": {"number": {"type": "GT", "val": value}}});
    let few =
        json!({"type": "Node", "filter_dict": {"id": {"type": "IsIn", "options": [0, 1, 3, 40]}}});
    let mut all = vec![json!([node(100)])];
    for direction in ["forward", "reverse", "undirected"] {
        let edge = |more: Value| {
            let mut edge = json!({"type": "Edge", "direction": direction});
            let fields = edge.as_object_mut().expect("an object");
            fields.extend(more.as_object().expect("an object").clone());
            edge
        };
        let some = json!({"number": {"type": "GT", "val": -500}});
        all.extend([
            json!([edge(json!({"edge_match": some})), node(-300)]),
            json!([few, edge(json!({"hops": 2}))]),
            json!([few, edge(json!({"min_hops": 2, "max_hops": 4})), node(-900)]),
            json!([few, edge(json!({"to_fixed_point": true, "source_node_match": some}))]),
            json!([
                node(500),
                edge(json!({"min_hops": 0, "max_hops": 2, "include_zero_hop_seed": true})),
                node(-900),
                edge(json!({"name": "way", "edge_match": some})),
                {"type": "Node", "name": "end"}
            ]),
        ]);
    }
    all
}

fn answers(config: Config, zoo: &Zoo) -> Vec<Vec<String>> {
    let e: Engine = live_engine(config);
    let data = e.add(1, loaded(zoo));
    let mut all: Vec<Vec<String>> =
        texts().iter().map(|text| gpu_tables::rows(&e, data, text)).collect();
    for chain in chains() {
        let (nodes, edges, sizes) = gpu_chains::frames(&e, data, &chain, true);
        all.push([nodes, edges, vec![sizes]].concat());
    }
    stop(e);
    all
}

#[test]
fn every_operator_gives_the_same_over_every_kind_of_graph() {
    let asked: Vec<String> =
        texts().into_iter().chain(chains().iter().map(Value::to_string)).collect();
    let kernels = [
        "col_filter",
        "mask_count",
        "mask_combine",
        "col_reduce",
        "col_hist_codes",
        "chain_follow",
    ];
    gpu_test(&kernels, |gpu: &Gpu| {
        for zoo in Zoo::all() {
            let wanted = answers(config(), &zoo);
            let found = answers(on(gpu), &zoo);
            for ((found, wanted), asked) in found.iter().zip(&wanted).zip(&asked) {
                assert_eq!(found, wanted, "{}: {asked}", zoo.name);
            }
        }
    });
}
