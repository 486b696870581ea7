//! The router of the GPU against the driver, which here is the emulator: kernels and bytes of a query are counted before it
//! runs, and while it does.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};
use graphlume_device::cuda::Gpu;
use graphlume_emu::emulator::{self, Counted};
use graphlume_emu::gpu_test;
use graphlume_expr::Strictness;
use graphlume_store::{Bindings, PropertyGraph};
use graphlume_types::{CancelToken, DatasetId};
use serde_json::{Value, json};

use super::gpu::{on, stop};
use super::kit::live_engine;
use super::{gpu_chains, gpu_tables, gpu_tallies};
use crate::Loaded;
use crate::residency::chains::ResidentChains;
use crate::residency::tables::ResidentTables;
use crate::residency::tallies::ResidentTallies;

fn key() -> (DatasetId, u32) {
    (DatasetId::from_bytes([9; 16]), 1)
}

/// A graph without the scheduler of queries, which would begin a slow query again after its turn.
fn without_scheduler(loaded: Loaded) -> PropertyGraph {
    let Loaded { edges, nodes, source, destination, node, .. } = loaded;
    let bindings = Bindings { node, source: Some(source), destination: Some(destination) };
    let graph = PropertyGraph::new(nodes, Some(edges), bindings).expect("a graph");
    graph.with_every_node(&CancelToken::new()).expect("every node")
}

/// Kernels and bytes that come back, as the driver counts them.
fn taken(run: &dyn Fn()) -> [u64; 2] {
    // The first time copies the graph and the columns.
    run();
    let counted = || [Counted::Launches, Counted::DownloadedBytes].map(emulator::count);
    let asked = (0..3).map(|_| {
        let before = counted();
        run();
        let after = counted();
        [after[0] - before[0], after[1] - before[1]]
    });
    // The engine asks the card now and then whether it is well.
    asked.min().expect("three runs")
}

/// The same, as the router tells it in a plan.
fn known(plan: &str) -> [u64; 2] {
    let said = plan.split("on the GPU: ").nth(1).unwrap_or_else(|| panic!("on the CPU: {plan}"));
    let number = |at: usize| said.split(' ').nth(at)?.parse::<u64>().ok();
    [0, 2].map(|at| number(at).expect("a number"))
}

/// Adds a line to the table; whether both are within a tenth.
fn line(table: &mut String, text: &str, known: [u64; 2], taken: [u64; 2]) -> bool {
    table.push_str(&format!("{text}: {known:?} by the router, {taken:?} counted\n"));
    known.iter().zip(&taken).all(|(a, b)| a.abs_diff(*b) * 10 <= *a.max(b))
}

#[test]
#[allow(clippy::print_stdout, reason = "the table of bench/results")]
fn the_router_knows_the_kernels_and_the_bytes_of_a_query() {
    // Each part of a pattern that is left out here runs on the card as it is written.
    let texts = [
        "WHERE x.number > 100 RETURN count(*)",
        "WHERE x.number > 100 AND x.amount < 9 RETURN count(*), sum(x.number), min(x.amount)",
        "RETURN sum(x.number), max(x.wide)",
        "WHERE x.number > 100 RETURN x.amount, x.kind",
        "RETURN x.kind, count(*)",
        "WHERE x.number < 500 RETURN x.kind, count(*)",
        "WHERE x.number < 500 RETURN x.type, count(*), sum(x.number), max(x.amount)",
        "RETURN x.type, max(x.wide)",
        "RETURN x.type, min(x.number), max(x.number)",
        "WHERE x.amount > 3 RETURN x.type, count(x.amount), min(x.amount)",
        "WHERE x.ok RETURN count(DISTINCT x.kind)",
        "RETURN percentileCont(x.number, 0.3)",
        "WHERE x.number > 7 RETURN percentileDisc(x.amount, 0.5), count(*)",
        "RETURN percentileDisc(x.wide, 1.0)",
    ];
    gpu_test(&[], |gpu| {
        let e = live_engine(on(gpu));
        let ctx = e.handle.remains().upgrade().expect("a context");
        let device = ResidentTables::of(&ctx, key(), 0, true);
        let graph = without_scheduler(gpu_tables::sample()).with_table_device(device);
        let none = serde_json::Map::new();
        let (mut table, mut wrong) = (String::new(), 0);
        for text in texts {
            for pattern in ["MATCH (x)", "MATCH ()-[x]->()"] {
                let text = format!("{pattern} {text}");
                let query = graphlume_cypher::parse(&text).expect("a query");
                let cancel = CancelToken::new();
                let taken = taken(&|| {
                    graphlume_cypher::run(&graph, &query, &none, Strictness::Lenient, &cancel)
                        .expect("rows");
                });
                let plan = graphlume_cypher::explain_on(&graph, &query, &none, &cancel);
                let plan = plan.expect("a plan");
                let known = known(&plan);
                wrong += usize::from(!line(&mut table, &text, known, taken));
            }
        }
        println!("{table}");
        assert_eq!(wrong, 0, "kernels and bytes\n{table}");
        drop((graph, ctx));
        stop(e);
    });
}

#[test]
#[allow(clippy::print_stdout, reason = "the table of bench/results")]
fn the_router_knows_the_kernels_and_the_bytes_of_a_count() {
    let more = [
        "MATCH (a)-[:FOLLOWS]->(b) RETURN count(*)",
        "MATCH (a)-[:FOLLOWS]->(b)-[:LIVES_IN]->(c)-[:CITY_IN]->(d:State) RETURN count(*)",
        "MATCH (a)-[:FOLLOWS]->(b) RETURN b.id, count(*)",
        "MATCH (a)<-[:FOLLOWS]-(b) WHERE a.age > 3 RETURN b.id, count(*)",
        "MATCH (a:Person)-[:FOLLOWS]->(b)-[:LIVES_IN]->(c:City) RETURN c.name, count(*)",
        "MATCH (a)-[:FOLLOWS]->(b)-[:FOLLOWS]->(c) RETURN c.id, count(*) AS n ORDER BY n DESC LIMIT 20",
        "MATCH (t:City)<-[:LIVES_IN]-(p:Person) RETURN t.name, avg(p.height), sum(p.height)",
        "MATCH (p:Person)-[:FOLLOWS]->(q) RETURN p.gender, sum(q.balance)",
        "MATCH (i:Interest)<-[:HAS_INTEREST]-(p:Person) MATCH (p)-[:FOLLOWS]->(q:Person) RETURN p.id, sum(q.age)",
    ];
    let questions = gpu_tallies::QUESTIONS;
    gpu_test(&[], |gpu| {
        let e = live_engine(on(gpu));
        let ctx = e.handle.remains().upgrade().expect("a context");
        let (mut table, mut wrong) = (String::new(), 0);
        // Lists of many persons come back in two parts.
        for (version, persons) in [(1, gpu_tallies::PERSONS), (2, 5_000)] {
            let device = ResidentTallies::of(&ctx, (key().0, version), 0, true);
            let graph = without_scheduler(gpu_tallies::social(persons)).with_tally_device(device);
            let none = serde_json::Map::new();
            for text in questions.iter().chain(&more) {
                let query = graphlume_cypher::parse(text).expect("a query");
                let cancel = CancelToken::new();
                let taken = taken(&|| {
                    graphlume_cypher::run(&graph, &query, &none, Strictness::Lenient, &cancel)
                        .expect("rows");
                });
                let plan = graphlume_cypher::explain_on(&graph, &query, &none, &cancel);
                let known = known(&plan.expect("a plan"));
                wrong += usize::from(!line(&mut table, text, known, taken));
            }
        }
        println!("{table}");
        assert_eq!(wrong, 0, "kernels and bytes\n{table}");
        drop(ctx);
        stop(e);
    });
}

/// Edges lead a little further, so that walks go on for as long as they may; three for each of 4,000 nodes.
fn long_graph() -> Loaded {
    const NODES: i64 = 4_000;
    let ends: Vec<(i64, i64)> =
        (0..3 * NODES).map(|i| (i / 3, (i / 3 + 1 + i * i % 5) % NODES)).collect();
    let ids = |f: fn(&(i64, i64)) -> i64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(ends.iter().map(f)))
    };
    let mut edges = vec![("s", ids(|e| e.0)), ("d", ids(|e| e.1))];
    edges.extend(gpu_tables::columns(3 * NODES, 1));
    let all: ArrayRef = Arc::new(Int64Array::from_iter_values(0..NODES));
    let mut nodes = vec![("id", all)];
    nodes.extend(gpu_tables::columns(NODES, 2));
    gpu_tables::loaded(nodes, edges)
}

/// Chains whose walks go on for as long as they may over [`long_graph`].
fn long_chains() -> Vec<Value> {
    let few = json!({"type": "Node", "filter_dict": {"id": {"type": "IsIn", "options": [3, 7, 1_040, 2_000]}}});
    let test = |value: i64| json!({"type": "Node", "filter_dict": {"number": {"type": "GT", "val": value}}});
    let mut all = vec![json!([test(100)]), json!([few])];
    for direction in ["forward", "reverse", "undirected"] {
        let edge = |more: Value| {
            let mut edge = json!({"type": "Edge", "direction": direction});
            let fields = edge.as_object_mut().expect("an object");
            fields.extend(more.as_object().expect("an object").clone());
            edge
        };
        for bounds in [
            json!({}),
            json!({"hops": 2}),
            json!({"hops": 3}),
            json!({"max_hops": 0}),
            json!({"min_hops": 0, "max_hops": 2}),
            json!({"min_hops": 1, "max_hops": 2, "include_zero_hop_seed": true}),
            json!({"min_hops": 2, "max_hops": 2}),
            json!({"min_hops": 2, "max_hops": 3}),
            json!({"hops": 2, "edge_match": {"number": {"type": "GT", "val": -900}}}),
            json!({"hops": 2, "source_node_match": {"number": {"type": "GT", "val": -900}}}),
        ] {
            all.push(json!([few, edge(bounds.clone())]));
            all.push(json!([few, edge(bounds), test(200)]));
        }
        all.push(json!([edge(json!({})), test(400)]));
        all.push(json!([test(900), edge(json!({})), test(-900), edge(json!({"name": "way"}))]));
    }
    all
}

/// Of each chain that the GPU would answer: what the router says, and what the driver counts.
fn chains_counted(gpu: &Gpu, loaded: Loaded, chains: &[Value]) -> Vec<(Value, [u64; 2], [u64; 2])> {
    let e = live_engine(on(gpu));
    let ctx = e.handle.remains().upgrade().expect("a context");
    let cancel = CancelToken::new();
    let graph = without_scheduler(loaded);
    let topology = graph.frame(&cancel).expect("a frame").topology.clone();
    let graph = graph.with_chain_device(ResidentChains::of(&ctx, key(), 0, &topology, true));
    let mut all = vec![];
    for chain in chains {
        let query = graphlume_gfql::parse(chain).expect("a query");
        let plan = graphlume_gfql::explain_on(&graph, &query, Strictness::Strict, &cancel);
        let plan = plan.expect("a plan");
        if plan.contains("on the CPU") {
            continue;
        }
        let taken = taken(&|| {
            graphlume_gfql::run(&graph, &query, None, Strictness::Strict, &cancel).expect("frames");
        });
        // Once everything is there, nothing is copied first.
        let plan = graphlume_gfql::explain_on(&graph, &query, Strictness::Strict, &cancel);
        all.push((chain.clone(), known(&plan.expect("a plan")), taken));
    }
    drop((graph, ctx));
    stop(e);
    all
}

#[test]
#[allow(clippy::print_stdout, reason = "the table of bench/results")]
fn the_router_knows_the_kernels_and_the_bytes_of_a_chain() {
    gpu_test(&[], |gpu| {
        let chains = long_chains();
        let counted = chains_counted(gpu, long_graph(), &chains);
        let (mut table, mut wrong) = (String::new(), 0);
        for (chain, known, taken) in &counted {
            wrong += usize::from(!line(&mut table, &chain.to_string(), *known, *taken));
        }
        println!("{table}");
        assert_eq!((counted.len(), wrong), (chains.len(), 0), "kernels and bytes\n{table}");
    });
}

#[test]
fn walks_that_end_early_take_fewer_kernels_than_the_router_says() {
    gpu_test(&[], |gpu| {
        let counted = chains_counted(gpu, gpu_chains::sample(), &gpu_chains::chains());
        assert!(counted.len() > 200, "{}", counted.len());
        for (chain, known, taken) in counted {
            assert!(
                taken[0] * 10 <= known[0] * 11,
                "{chain}: {known:?} by the router, {taken:?} counted"
            );
        }
    });
}
