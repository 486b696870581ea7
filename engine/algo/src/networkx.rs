//! The names of NetworkX that the interface's Cypher calls as `graphistry.nx.*`, as the client computes them: on the simple
//! graph, whose copies of an edge are one and without weights, with the columns and the stopping rules of NetworkX 3.

use graphlume_graph::Topology;
use graphlume_types::CancelToken;

use crate::centrality::{betweenness_spec, closeness, hits};
use crate::component::{core_number, cores, strong, weak};
use crate::power::{each, gather, sum};
use crate::spec::{
    AlgorithmSpec, Cost, DIRECTED, Dtype, Gives, ParamSpec, extra, ignored, only, output, param,
};
use crate::view::{Copies, GraphView, Loops, Shape};
use crate::{AlgoError, Column, Input, Output, ParamValues, Values};

const LIBRARY: &str = "nx";
/// Iterations at most, whatever a request says.
const ITERATIONS: Option<(f64, f64)> = Some((1.0, 1e6));
const MAX_ITER: ParamSpec =
    param("max_iter", Dtype::Int, "100", ITERATIONS, "iterations at most; more are an error");
const TOL: ParamSpec = param(
    "tol",
    Dtype::Float,
    "1e-6",
    Some((0.0, 1.0)),
    "change of a value, on average, at which the values are final",
);
const LABELS: &str = "component, numbered from 0 by first appearance";

/// A step of an iteration, repeated from `x` on until `is_enough` says so of the change and of `tol` for each value;
/// whether it did, the number of steps, and the change of the last.
fn repeated(
    x: &mut Vec<f64>,
    (max_iter, tol): (u64, f64),
    cancel: &CancelToken,
    mut step: impl FnMut(&[f64], &mut [f64]) -> Result<(), AlgoError>,
    is_enough: impl Fn(f64, f64) -> bool,
) -> Result<(bool, u64, f64), AlgoError> {
    let n = x.len();
    let mut next = vec![0.0; n];
    let mut change = 0.0;
    for iteration in 1..=max_iter {
        cancel.check()?;
        step(x, &mut next)?;
        change = sum(n, |v| (next[v] - x[v]).abs());
        std::mem::swap(x, &mut next);
        if is_enough(change, tol * n as f64) || n == 0 {
            return Ok((true, iteration, change));
        }
        if !change.is_finite() {
            break;
        }
    }
    Ok((false, max_iter, change))
}

/// The same by the parameters of an algorithm that has to converge; the number of steps.
fn converged(
    algorithm: &'static str,
    x: &mut Vec<f64>,
    p: &ParamValues,
    cancel: &CancelToken,
    step: impl FnMut(&[f64], &mut [f64]) -> Result<(), AlgoError>,
) -> Result<u64, AlgoError> {
    let iterations = p.count("max_iter");
    let rule = (iterations, p.float("tol").unwrap_or(1e-6));
    match repeated(x, rule, cancel, step, |change, limit| change < limit)? {
        (true, done, _) => Ok(done),
        (false, _, change) => Err(AlgoError::NotConverged { algorithm, iterations, change }),
    }
}

fn scaled_to_length(x: &mut [f64]) {
    let length = sum(x.len(), |v| x[v] * x[v]).sqrt();
    if length > 0.0 {
        each(x, |_, value| *value /= length);
    }
}

/// NetworkX's `pagerank`.
pub static PAGERANK: AlgorithmSpec = AlgorithmSpec {
    id: "nx_pagerank",
    names: &[extra(LIBRARY, "pagerank")],
    params: &[
        param("alpha", Dtype::Float, "0.85", Some((0.0, 1.0)), "damping"),
        param("max_iter", Dtype::Int, "100", ITERATIONS, "iterations at most"),
        TOL,
        DIRECTED,
    ],
    outputs: &[output("pagerank", Dtype::Float, "rank; all of them sum to 1")],
    doc: "PageRank by the client's own iteration, which gives what it has when the iterations end.",
    paper: "Page et al. 1999",
    cost: Cost::Iterative,
    run: |input, p| {
        let view = input.view(p.bool("directed"), None)?;
        let n = input.num_nodes() as usize;
        let alpha = p.float("alpha").unwrap_or(0.85);
        // In an undirected graph a loop counts twice among the edges of its node.
        let loops = |v: u32| !view.is_directed() && view.out().neighbors(v).contains(&v);
        let leave = (0..n as u32).map(|v| f64::from(view.out().degree(v) + u32::from(loops(v))));
        let leave: Vec<f64> = leave.collect();
        let mut shares = vec![0.0; n];
        let mut x = vec![1.0 / n as f64; n];
        let step = |x: &[f64], next: &mut [f64]| {
            let none = |v: usize| leave[v] == 0.0;
            let dangling = sum(n, |v| if none(v) { x[v] } else { 0.0 });
            each(&mut shares, |v, share| *share = if none(v) { 0.0 } else { x[v] / leave[v] });
            gather(view.incoming(), &shares, next, input.cancel)?;
            let own = (1.0 - alpha + alpha * dangling) / n as f64;
            each(next, |_, value| *value = own + alpha * *value);
            Ok(())
        };
        let rule = (p.count("max_iter"), p.float("tol").unwrap_or(1e-6));
        let (_, done, _) =
            repeated(&mut x, rule, input.cancel, step, |change, limit| change <= limit)?;
        Ok(Output::one("pagerank", Values::F64(x)).after(done))
    },
    ..AlgorithmSpec::BASE
};

/// NetworkX's `betweenness_centrality`.
pub static BETWEENNESS: AlgorithmSpec = AlgorithmSpec {
    id: "nx_betweenness_centrality",
    names: &[extra(LIBRARY, "betweenness_centrality")],
    doc: "Betweenness centrality by shortest paths in steps.",
    accepted: &[only("weight", "[]")],
    ..betweenness_spec::CUGRAPH
};

/// NetworkX's `edge_betweenness_centrality`.
pub static EDGE_BETWEENNESS: AlgorithmSpec = AlgorithmSpec {
    id: "nx_edge_betweenness_centrality",
    names: &[extra(LIBRARY, "edge_betweenness_centrality")],
    outputs: &[output(
        "edge_betweenness_centrality",
        Dtype::Float,
        "share of shortest paths over it",
    )],
    doc: "Betweenness centrality of edges by shortest paths in steps; copies of an edge share the value.",
    accepted: &[only("weight", "[]")],
    run: |input, p| {
        let output = (betweenness_spec::EDGES.run)(input, p)?;
        let renamed = |c: Column| Column { name: "edge_betweenness_centrality", ..c };
        Ok(Output { edges: output.edges.into_iter().map(renamed).collect(), ..output })
    },
    ..betweenness_spec::EDGES
};

/// NetworkX's `closeness_centrality`.
pub static CLOSENESS: AlgorithmSpec = AlgorithmSpec {
    id: "nx_closeness_centrality",
    names: &[extra(LIBRARY, "closeness_centrality")],
    params: &[
        param(
            "wf_improved",
            Dtype::Bool,
            "true",
            None,
            "scale by the share of nodes that reach it (Wasserman and Faust 1994)",
        ),
        DIRECTED,
    ],
    accepted: &[only("u", "[]"), only("distance", "[]")],
    outputs: &[output("closeness_centrality", Dtype::Float, "closeness by the ways to the node")],
    doc: "Closeness: how many nodes reach a node, over the sum of their distances to it.",
    paper: "Freeman 1979; Wasserman and Faust 1994",
    cost: Cost::Searches,
    run: |input, p| {
        let view = input.view(p.bool("directed"), None)?;
        let nodes: Vec<u32> = (0..input.num_nodes()).collect();
        let others = f64::from(input.num_nodes()) - 1.0;
        let found = closeness::by_steps(view.incoming(), &nodes, None, input.cancel)?;
        let improved = p.bool("wf_improved");
        let value = |sums: closeness::Sums| {
            if sums.total <= 0.0 || others <= 0.0 {
                return 0.0;
            }
            let reached = sums.reached as f64;
            reached / sums.total * if improved { reached / others } else { 1.0 }
        };
        let values = found.into_iter().map(value).collect();
        Ok(Output::one("closeness_centrality", Values::F64(values)))
    },
    ..AlgorithmSpec::BASE
};

/// NetworkX's `degree_centrality`.
pub static DEGREE: AlgorithmSpec = AlgorithmSpec {
    id: "nx_degree_centrality",
    names: &[extra(LIBRARY, "degree_centrality")],
    params: &[DIRECTED],
    outputs: &[output("degree_centrality", Dtype::Float, "edges over the number of other nodes")],
    doc: "Edges of a node, in and out, over the number of other nodes. A loop counts twice.",
    paper: "Freeman 1979",
    run: |input, p| {
        let view = input.view(p.bool("directed"), None)?;
        input.cancel.check()?;
        let n = input.num_nodes();
        let edges = |v: u32| match view.is_directed() {
            true => view.out().degree(v) + view.incoming().degree(v),
            false => view.out().degree(v) + u32::from(view.out().neighbors(v).contains(&v)),
        };
        let others = f64::from(n) - 1.0;
        let value = |v| if n > 1 { f64::from(edges(v)) / others } else { 1.0 };
        Ok(Output::one("degree_centrality", Values::F64((0..n).map(value).collect())))
    },
    ..AlgorithmSpec::BASE
};

/// NetworkX's `eigenvector_centrality`.
pub static EIGENVECTOR: AlgorithmSpec = AlgorithmSpec {
    id: "nx_eigenvector_centrality",
    names: &[extra(LIBRARY, "eigenvector_centrality")],
    params: &[MAX_ITER, TOL, DIRECTED],
    accepted: &[only("nstart", "[]"), only("weight", "[]")],
    outputs: &[output("eigenvector_centrality", Dtype::Float, "centrality; the squares sum to 1")],
    doc: "Eigenvector centrality by power iteration on the matrix plus the identity.",
    paper: "Bonacich 1972",
    cost: Cost::Iterative,
    run: |input, p| {
        let view = input.view(p.bool("directed"), None)?;
        let n = input.num_nodes() as usize;
        let mut x = vec![1.0 / n as f64; n];
        let step = |x: &[f64], next: &mut [f64]| {
            gather(view.incoming(), x, next, input.cancel)?;
            each(next, |v, value| *value += x[v]);
            scaled_to_length(next);
            Ok(())
        };
        let done = converged("nx.eigenvector_centrality", &mut x, p, input.cancel, step)?;
        Ok(Output::one("eigenvector_centrality", Values::F64(x)).after(done))
    },
    ..AlgorithmSpec::BASE
};

/// NetworkX's `katz_centrality`.
pub static KATZ: AlgorithmSpec = AlgorithmSpec {
    id: "nx_katz_centrality",
    names: &[extra(LIBRARY, "katz_centrality")],
    params: &[
        param("alpha", Dtype::Float, "0.1", Some((0.0, 1e6)), "what a step along an edge is worth"),
        param("beta", Dtype::Float, "1.0", Some((-1e9, 1e9)), "what every node has of its own"),
        param("max_iter", Dtype::Int, "1000", ITERATIONS, "iterations at most; more are an error"),
        TOL,
        param("normalized", Dtype::Bool, "true", None, "make the squares sum to 1"),
        DIRECTED,
    ],
    accepted: &[only("nstart", "[]"), only("weight", "[]")],
    outputs: &[output("katz_centrality", Dtype::Float, "centrality by the walks that end there")],
    doc: "Katz centrality: x = alpha Aᵀ x + beta.",
    paper: "Katz 1953; Foster et al. 2001",
    cost: Cost::Iterative,
    run: |input, p| {
        let view = input.view(p.bool("directed"), None)?;
        let mut x = vec![0.0; input.num_nodes() as usize];
        let (alpha, beta) = (p.float("alpha").unwrap_or(0.1), p.float("beta").unwrap_or(1.0));
        let step = |x: &[f64], next: &mut [f64]| {
            gather(view.incoming(), x, next, input.cancel)?;
            each(next, |_, value| *value = alpha * *value + beta);
            Ok(())
        };
        let done = converged("nx.katz_centrality", &mut x, p, input.cancel, step)?;
        if p.bool("normalized") {
            scaled_to_length(&mut x);
        }
        Ok(Output::one("katz_centrality", Values::F64(x)).after(done))
    },
    ..AlgorithmSpec::BASE
};

/// NetworkX's `hits`.
pub static HITS: AlgorithmSpec = AlgorithmSpec {
    id: "nx_hits",
    names: &[extra(LIBRARY, "hits")],
    params: &[DIRECTED],
    accepted: &[
        ignored("max_iter"),
        ignored("tol"),
        only("nstart", "[]"),
        only("normalized", "[true]"),
    ],
    outputs: &[
        output("hubs", Dtype::Float, "hub score; all of them sum to 1"),
        output("authorities", Dtype::Float, "authority score; all of them sum to 1"),
    ],
    doc: "Hubs and authorities, iterated until they are exact.",
    paper: "Kleinberg 1999",
    cost: Cost::Iterative,
    run: |input, p| {
        let view = input.view(p.bool("directed"), None)?;
        let (iterations, exact) = (20_000, 1e-12 * f64::from(input.num_nodes()));
        let mut scores = hits::run(&view, None, iterations, exact, input.cancel)?;
        for x in [&mut scores.hubs, &mut scores.authorities] {
            let total = sum(x.len(), |v| x[v]);
            if total > 0.0 {
                each(x, |_, value| *value /= total);
            }
        }
        Ok(Output::nodes(vec![
            Column { name: "hubs", values: Values::F64(scores.hubs) },
            Column { name: "authorities", values: Values::F64(scores.authorities) },
        ])
        .after(scores.iterations))
    },
    ..AlgorithmSpec::BASE
};

/// NetworkX's `connected_components`.
pub static CONNECTED: AlgorithmSpec = AlgorithmSpec {
    id: "nx_connected_components",
    names: &[extra(LIBRARY, "connected_components")],
    accepted: &[ignored("directed")],
    outputs: &[output("labels", Dtype::Int, LABELS)],
    doc: "Connected components: nodes joined by edges in either direction.",
    paper: "Sutton, Ben-Nun and Barak 2018",
    run: |input, _| Ok(Output::labels("labels", &weak::run(input.topology, input.cancel)?)),
    ..AlgorithmSpec::BASE
};

/// NetworkX's `strongly_connected_components`.
pub static STRONG: AlgorithmSpec = AlgorithmSpec {
    id: "nx_strongly_connected_components",
    names: &[extra(LIBRARY, "strongly_connected_components")],
    params: &[DIRECTED],
    outputs: &[output("labels", Dtype::Int, LABELS)],
    doc: "Strongly connected components: nodes that reach each other along edges.",
    paper: "Tarjan 1972",
    run: |input, p| {
        let run = if p.bool("directed") { strong::run } else { weak::run };
        Ok(Output::labels("labels", &run(input.topology, input.cancel)?))
    },
    ..AlgorithmSpec::BASE
};

/// The core numbers of the simple graph; with directions an edge and one against it are two. Loops do not count.
fn core_numbers(input: &Input<'_>, directed: bool) -> Result<Vec<u32>, AlgoError> {
    if !directed {
        return core_number::run(input.topology, false, input.cancel);
    }
    let shape = Shape { directed, copies: Copies::First, loops: Loops::Drop };
    let view: GraphView<'_> = input.shaped(None, shape)?;
    let (mut src, mut dst) = (Vec::new(), Vec::new());
    for v in 0..view.num_nodes() {
        let list = view.out().neighbors(v);
        src.resize(src.len() + list.len(), v);
        dst.extend_from_slice(list);
    }
    let simple = Topology::from_coo(view.num_nodes(), &src, &dst);
    core_number::run(&simple, true, input.cancel)
}

/// NetworkX's `core_number`.
pub static CORE_NUMBER: AlgorithmSpec = AlgorithmSpec {
    id: "nx_core_number",
    names: &[extra(LIBRARY, "core_number")],
    params: &[DIRECTED],
    outputs: &[output("core_number", Dtype::Int, "largest k whose k-core holds the node")],
    doc: "Core numbers; with directions in-edges and out-edges count. Loops, which NetworkX refuses, do not count.",
    paper: "Batagelj and Zaversnik 2003",
    run: |input, p| Ok(Output::labels("core_number", &core_numbers(input, p.bool("directed"))?)),
    ..AlgorithmSpec::BASE
};

/// NetworkX's `k_core`.
pub static K_CORE: AlgorithmSpec = AlgorithmSpec {
    id: "nx_k_core",
    names: &[extra(LIBRARY, "k_core")],
    params: &[
        param("k", Dtype::Int, "null", Some((0.0, 4e9)), "degree at least; null is the largest"),
        DIRECTED,
    ],
    accepted: &[only("core_number", "[]")],
    gives: Gives::Graph,
    doc: "The largest subgraph in which every node has at least k edges. Loops do not count and stay.",
    paper: "Seidman 1983; Batagelj and Zaversnik 2003",
    run: |input, p| {
        let numbers = core_numbers(input, p.bool("directed"))?;
        let most = numbers.iter().copied().max().unwrap_or(0);
        let k = p.limit("k").map_or(most, |k| u32::try_from(k).unwrap_or(u32::MAX));
        Ok(cores::core(input, &numbers, k))
    },
    ..AlgorithmSpec::BASE
};
