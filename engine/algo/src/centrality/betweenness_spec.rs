//! The specifications of betweenness: cuGraph's two names, which scale it, and igraph's, which does not.

use graphlume_types::hash::h64;

use super::betweenness::{Options, run};
use crate::input::Sign;
use crate::spec::{
    AlgorithmSpec, Cost, DIRECTED, Dtype, Gives, ParamSpec, RANDOM_STATE, VERTICES, WEIGHTS,
    cugraph, ignored, igraph, only, output, param,
};
use crate::{AlgoError, Input, Output, ParamValues, Values};

const K: ParamSpec = param(
    "k",
    Dtype::IntOrNodes,
    "null",
    Some((1.0, 4e9)),
    "sources: how many are drawn, or which; null is all, which is exact",
);
const NORMALIZED: ParamSpec =
    param("normalized", Dtype::Bool, "true", None, "divide by the number of pairs");
const SEED_ALIAS: ParamSpec =
    param("seed", Dtype::Int, "null", crate::spec::SEED, "the former name of random_state");

/// The sources by the parameter `k`: the nodes that it names, or as many as it says, drawn without repetition.
fn sources(input: &Input<'_>, p: &ParamValues) -> Result<Option<Vec<u32>>, AlgoError> {
    let n = input.num_nodes();
    if let Some(named) = input.nodes(p, "k")? {
        return Ok(Some(named));
    }
    let Some(k) = p.limit("k").filter(|k| *k < u64::from(n)) else { return Ok(None) };
    let seed = p.limit("seed").unwrap_or_else(|| p.count("random_state"));
    let mut nodes: Vec<u32> = (0..n).collect();
    nodes.sort_by_key(|v| (h64(seed, 1, u64::from(*v)), *v));
    nodes.truncate(usize::try_from(k).unwrap_or(usize::MAX));
    nodes.sort_unstable();
    Ok(Some(nodes))
}

/// cuGraph's `betweenness_centrality`.
pub static CUGRAPH: AlgorithmSpec = AlgorithmSpec {
    id: "betweenness_centrality",
    names: &[cugraph("betweenness_centrality")],
    params: &[
        K,
        NORMALIZED,
        param("endpoints", Dtype::Bool, "false", None, "count the ends of paths"),
        RANDOM_STATE,
        SEED_ALIAS,
        DIRECTED,
    ],
    accepted: &[only("weight", "[]"), ignored("result_dtype")],
    outputs: &[output(
        "betweenness_centrality",
        Dtype::Float,
        "share of shortest paths through it",
    )],
    doc: "Betweenness centrality by shortest paths in steps.",
    paper: "Freeman 1977; Brandes 2001",
    cost: Cost::Searches,
    run: |input, p| {
        let view = input.view(p.bool("directed"), None)?;
        let n = input.num_nodes();
        let chosen = sources(input, p)?;
        let all: Vec<u32>;
        let from = match &chosen {
            Some(list) => list.as_slice(),
            None => {
                all = (0..n).collect();
                &all
            }
        };
        let endpoints = p.bool("endpoints");
        let options = Options { endpoints, ..Options::default() };
        let mut values = run(&view, from, &options, input.cancel)?;
        let mut is_source = vec![false; n as usize];
        from.iter().for_each(|v| is_source[*v as usize] = true);
        let (n, k) = (f64::from(n), from.len() as f64);
        for (v, value) in values.iter_mut().enumerate() {
            // A source is the inner node of no path that it begins itself.
            let others = if is_source[v] && !endpoints { k - 1.0 } else { k };
            let targets = if endpoints { n - 1.0 } else { n - 2.0 };
            let pairs = match (p.bool("normalized"), chosen.is_some()) {
                (true, false) if endpoints => n * (n - 1.0),
                (true, false) => (n - 1.0) * (n - 2.0),
                (true, true) => others * targets,
                (false, false) if view.is_directed() => 1.0,
                (false, false) => 2.0,
                (false, true) => others / (n - 1.0) * if view.is_directed() { 1.0 } else { 2.0 },
            };
            *value = if pairs > 0.0 { *value / pairs } else { 0.0 };
        }
        Ok(Output::one("betweenness_centrality", Values::F64(values)))
    },
    ..AlgorithmSpec::BASE
};

/// cuGraph's `edge_betweenness_centrality`.
pub static EDGES: AlgorithmSpec = AlgorithmSpec {
    id: "edge_betweenness_centrality",
    names: &[cugraph("edge_betweenness_centrality")],
    params: &[K, NORMALIZED, RANDOM_STATE, SEED_ALIAS, DIRECTED],
    accepted: &[only("weight", "[]"), ignored("result_dtype")],
    gives: Gives::Edges,
    outputs: &[output("betweenness_centrality", Dtype::Float, "share of shortest paths over it")],
    doc: "Betweenness centrality of edges by shortest paths in steps; copies of an edge share the value.",
    paper: "Girvan and Newman 2002; Brandes 2008",
    cost: Cost::Searches,
    run: |input, p| {
        let view = input.view(p.bool("directed"), None)?;
        let n = input.num_nodes();
        let chosen = sources(input, p)?;
        let from = chosen.clone().unwrap_or_else(|| (0..n).collect());
        let options = Options { of_arcs: true, ..Options::default() };
        let mut values = run(&view, &from, &options, input.cancel)?;
        if !view.is_directed() {
            // An edge is passed either way, and has two arcs.
            let out = view.out();
            let back = |v: u32, at: usize| {
                let list = out.neighbors(out.all_neighbors()[at]);
                out.range(out.all_neighbors()[at]).start + list.partition_point(|u| *u < v)
            };
            let both = (0..n).flat_map(|v| out.range(v).map(move |at| (v, at)));
            values = both
                .map(|(v, at)| {
                    let other = back(v, at);
                    if other == at { values[at] } else { values[at] + values[other] }
                })
                .collect();
        }
        let (n, k) = (f64::from(n), from.len() as f64);
        let sampled = if k > 0.0 { n / k } else { 0.0 };
        let scale = match (p.bool("normalized"), view.is_directed()) {
            (true, _) => 1.0 / (n * (n - 1.0)).max(1.0),
            (false, true) => 1.0,
            (false, false) => 0.5,
        };
        values.iter_mut().for_each(|value| *value *= scale * sampled);
        let by_row = view.by_row(input.topology, &values);
        Ok(Output::edges("betweenness_centrality", Values::F64OrNull(by_row)))
    },
    ..AlgorithmSpec::BASE
};

/// igraph's `betweenness`.
pub static IGRAPH: AlgorithmSpec = AlgorithmSpec {
    id: "betweenness",
    names: &[igraph("betweenness")],
    params: &[
        VERTICES,
        DIRECTED,
        param(
            "cutoff",
            Dtype::Float,
            "null",
            Some((-1.0, 1e300)),
            "longest path that counts; null is any",
        ),
        WEIGHTS,
        param("sources", Dtype::Nodes, "null", None, "nodes at which paths begin; null is all"),
        param("targets", Dtype::Nodes, "null", None, "nodes at which paths end; null is all"),
    ],
    outputs: &[output("betweenness", Dtype::Float, "number of shortest paths through it")],
    doc: "Betweenness: every pair of nodes counts 1, shared among its shortest paths. Not normalized.",
    paper: "Freeman 1977; Brandes 2001",
    cost: Cost::Searches,
    run: |input, p| {
        let weights = input.weights(p, Sign::Positive)?;
        let view = input.view(p.bool("directed"), weights.as_deref())?;
        let from = input.nodes(p, "sources")?.unwrap_or_else(|| (0..input.num_nodes()).collect());
        let targets = input.nodes(p, "targets")?.map(|nodes| {
            let mut is_target = vec![false; input.num_nodes() as usize];
            nodes.iter().for_each(|v| is_target[*v as usize] = true);
            is_target
        });
        let options = Options {
            cutoff: p.float("cutoff"),
            targets: targets.as_deref(),
            ..Options::default()
        };
        let mut values = run(&view, &from, &options, input.cancel)?;
        if !view.is_directed() {
            values.iter_mut().for_each(|value| *value /= 2.0);
        }
        let kept = input.nodes(p, "vertices")?;
        Ok(Output::one("betweenness", Values::F64(values).only(kept.as_deref())))
    },
    ..AlgorithmSpec::BASE
};
