//! The one list of algorithms.

use serde_json::Value;

use crate::centrality::pagerank;
use crate::community::louvain;
use crate::component::{core_number, weak};
use crate::path::bfs;
use crate::spec::{
    Accepted, AlgorithmSpec, Column, Dtype, Input, Kind, Name, Output, OutputSpec, ParamSpec,
    Values,
};
use crate::{AlgoError, ParamValues, util};

mod layouts;

pub use layouts::force_atlas2_params;
use layouts::{CIRCLE, FORCE_ATLAS2, GRID, GRID_3D, RANDOM, RANDOM_3D, SPHERE, STAR};

use Dtype::{Bool, Float, Int, Node};
use Kind::{Compute, Layout};

/// Every algorithm, in the order in which they are documented.
pub static ALGORITHMS: &[AlgorithmSpec] = &[
    PAGERANK,
    PAGERANK_IGRAPH,
    LOUVAIN,
    MULTILEVEL,
    COMPONENTS,
    CORE_NUMBER,
    BFS,
    FORCE_ATLAS2,
    CIRCLE,
    STAR,
    GRID,
    GRID_3D,
    SPHERE,
    RANDOM,
    RANDOM_3D,
];

/// The algorithm of `kind` that `library` calls `name`.
#[must_use]
pub fn find(kind: Kind, library: &str, name: &str) -> Option<&'static AlgorithmSpec> {
    ALGORITHMS
        .iter()
        .find(|a| a.kind == kind && a.names.iter().any(|n| n.library == library && n.name == name))
}

/// The algorithm of `kind` called `name`, which may be `library.name`, a name in any library, or our own
/// id; of several the first in the list.
///
/// # Errors
/// [`AlgoError::UnknownAlgorithm`], which lists what there is.
pub fn find_any(kind: Kind, name: &str) -> Result<&'static AlgorithmSpec, AlgoError> {
    if let Some(spec) = name.split_once('.').and_then(|(library, name)| find(kind, library, name)) {
        return Ok(spec);
    }
    let of_kind = || ALGORITHMS.iter().filter(|a| a.kind == kind);
    let found = of_kind()
        .find(|a| a.id == name)
        .or_else(|| of_kind().find(|a| a.names.iter().any(|n| n.name == name)));
    found.ok_or_else(|| {
        let mut known: Vec<&str> = of_kind().flat_map(|a| a.names.iter().map(|n| n.name)).collect();
        known.sort_unstable();
        known.dedup();
        AlgoError::UnknownAlgorithm {
            kind: kind.as_str(),
            name: name.to_owned(),
            hint: util::did_you_mean(name, &known),
            known: known.join(", "),
        }
    })
}

/// Runs `spec` on the current rayon pool.
///
/// # Errors
/// [`AlgoError`]: see the algorithm.
pub fn run(
    spec: &AlgorithmSpec,
    input: &Input<'_>,
    params: &ParamValues,
) -> Result<Output, AlgoError> {
    (spec.run)(input, params)
}

const fn cugraph(name: &'static str) -> Name {
    Name { library: "cugraph", name }
}

const fn igraph(name: &'static str) -> Name {
    Name { library: "igraph", name }
}

const fn param(
    name: &'static str,
    dtype: Dtype,
    default: &'static str,
    range: Option<(f64, f64)>,
    doc: &'static str,
) -> ParamSpec {
    ParamSpec { name, dtype, default, range, doc }
}

/// A parameter that the library takes and does nothing with.
const fn ignored(name: &'static str) -> Accepted {
    Accepted { name, values: None }
}

/// A parameter of the library that has one of these values here, or null.
const fn only(name: &'static str, values: &'static str) -> Accepted {
    Accepted { name, values: Some(values) }
}

const fn output(name: &'static str, dtype: Dtype, doc: &'static str) -> OutputSpec {
    OutputSpec { name, dtype, doc }
}

const SEED: Option<(f64, f64)> = Some((0.0, 9e15));
const LEVELS: Option<(f64, f64)> = Some((1.0, 500.0));
const UNIT: Option<(f64, f64)> = Some((0.0, 1.0));
const DIRECTED: ParamSpec = param("directed", Bool, "true", None, "follow edges one way only");
const RANDOM_STATE: ParamSpec =
    param("random_state", Int, "0", SEED, "seed: equal seeds give equal results");
const XY: &[OutputSpec] = &[output("x", Float, "abscissa"), output("y", Float, "ordinate")];
const XYZ: &[OutputSpec] =
    &[output("x", Float, "abscissa"), output("y", Float, "ordinate"), output("z", Float, "height")];

fn labels(name: &'static str, labels: &[u32]) -> Output {
    Output::one(name, Values::I64(labels.iter().map(|l| i64::from(*l)).collect()))
}

/// The weights of the edges, when there are some and all can be used.
fn weights<'a>(input: &Input<'a>) -> Result<Option<&'a [f32]>, AlgoError> {
    let Some(weights) = input.weights else { return Ok(None) };
    let negative = |row: &&u32| weights.get(**row as usize).is_some_and(|w| *w < 0.0);
    match input.topology.out_row().iter().find(negative) {
        None => Ok(Some(weights)),
        Some(row) => Err(AlgoError::BadValue {
            what: "weight",
            unit: "edge row",
            index: *row as usize,
            value: f64::from(weights[*row as usize]),
            expected: "a number that is not negative",
        }),
    }
}

/// Columns `x`, `y` and perhaps `z`.
fn coordinates<const D: usize>(points: &[[f64; D]]) -> Output {
    let column = |c: usize| Values::F64(points.iter().map(|p| p[c]).collect());
    let names = ["x", "y", "z"];
    let columns = (0..D).map(|c| Column { name: names[c], values: column(c) }).collect();
    Output { columns, iterations: None }
}

/// The value of a parameter that has a default and a range, as a count.
fn count(params: &ParamValues, name: &str) -> u64 {
    params.int(name).unwrap_or(0).max(0).unsigned_abs()
}

/// The node with the most edges, the first of them: where a search begins that is told no start.
#[must_use]
pub fn hub(topology: &graphlume_graph::Topology) -> u32 {
    (0..topology.num_nodes()).rev().max_by_key(|v| topology.degree(*v)).unwrap_or(0)
}

/// The node that a parameter names; without one, the node of largest degree, of several the first.
fn node_or_hub(
    input: &Input<'_>,
    params: &ParamValues,
    algorithm: &'static str,
    name: &str,
) -> Result<u32, AlgoError> {
    let Some(id) = params.node(name) else {
        return Ok(hub(input.topology));
    };
    (input.resolve)(&id).ok_or_else(|| AlgoError::BadParam {
        algorithm,
        name: name.to_owned(),
        value: Value::String(id).to_string(),
        expected: "the id of a node of the graph".to_owned(),
    })
}

const PAGERANK: AlgorithmSpec = AlgorithmSpec {
    id: "pagerank",
    names: &[cugraph("pagerank")],
    kind: Compute,
    params: &[
        param("alpha", Float, "0.85", UNIT, "probability of following an edge"),
        param("max_iter", Int, "100", Some((1.0, 1e6)), "iterations at most"),
        param(
            "tol",
            Float,
            "1e-5",
            Some((0.0, 1.0)),
            "total change at which the ranks are final; at the default, which is cuGraph's, a single \
             rank may be some per cent off: 1e-10 makes all right to a millionth",
        ),
        param("fail_on_nonconvergence", Bool, "true", None, "make not reaching tol an error"),
        DIRECTED,
    ],
    accepted: &[
        ignored("dangling"),
        only("personalization", "[]"),
        only("precomputed_vertex_out_weight", "[]"),
        only("nstart", "[]"),
    ],
    outputs: &[output("pagerank", Float, "rank; the ranks of all nodes sum to 1")],
    doc: "PageRank (Brin and Page 1998) by power iteration, with edge weights when there are some.",
    run: |input, p| {
        let default = pagerank::Options::default();
        let options = pagerank::Options {
            alpha: p.float("alpha").unwrap_or(default.alpha),
            tol: p.float("tol").unwrap_or(default.tol),
            max_iter: count(p, "max_iter"),
            directed: p.bool("directed"),
            must_converge: p.bool("fail_on_nonconvergence"),
        };
        let weights = weights(input)?;
        let done = pagerank::ranks(input.topology, weights, options, input.cancel)?;
        Ok(Output::one("pagerank", Values::F64(done.ranks)).after(done.iterations))
    },
};

const PAGERANK_IGRAPH: AlgorithmSpec = AlgorithmSpec {
    id: "pagerank_igraph",
    names: &[igraph("pagerank")],
    kind: Compute,
    params: &[
        param("damping", Float, "0.85", Some((0.0, 0.9999)), "probability of following an edge"),
        DIRECTED,
    ],
    accepted: &[
        only("vertices", "[]"),
        only("arpack_options", "[]"),
        only("implementation", r#"["prpack"]"#),
    ],
    outputs: &[output("pagerank", Float, "rank; the ranks of all nodes sum to 1")],
    doc: "PageRank (Brin and Page 1998), to a total change of 1e-12.",
    run: |input, p| {
        let options = pagerank::Options {
            alpha: p.float("damping").unwrap_or(0.85),
            tol: 1e-12,
            max_iter: 300_000,
            directed: p.bool("directed"),
            must_converge: false,
        };
        let weights = weights(input)?;
        let done = pagerank::ranks(input.topology, weights, options, input.cancel)?;
        Ok(Output::one("pagerank", Values::F64(done.ranks)).after(done.iterations))
    },
};

const LOUVAIN: AlgorithmSpec = AlgorithmSpec {
    id: "louvain",
    names: &[cugraph("louvain")],
    kind: Compute,
    params: &[
        param(
            "resolution",
            Float,
            "1.0",
            Some((1e-6, 1e6)),
            "larger values give smaller communities",
        ),
        param("max_level", Int, "null", LEVELS, "levels at most; null is 100"),
        param("max_iter", Int, "null", LEVELS, "the former name of max_level"),
        param(
            "threshold",
            Float,
            "1e-7",
            Some((0.0, 1.0)),
            "gain of modularity from one level to the next below which the search ends",
        ),
        RANDOM_STATE,
    ],
    accepted: &[],
    outputs: &[output("louvain", Int, "community, numbered from 0 by first appearance")],
    doc: "Communities by the Louvain method (Blondel et al. 2008) on the undirected graph.",
    run: |input, p| {
        let weights = weights(input)?;
        let found = louvain::find(input.topology, weights, &louvain_options(p)?, input.cancel)?;
        Ok(labels("louvain", &found))
    },
};

const MULTILEVEL: AlgorithmSpec = AlgorithmSpec {
    id: "community_multilevel",
    names: &[igraph("community_multilevel")],
    kind: Compute,
    params: &[
        param("resolution", Float, "1.0", Some((1e-6, 1e6)), "larger gives smaller communities"),
        RANDOM_STATE,
    ],
    accepted: &[only("return_levels", "[false]")],
    outputs: &[output("community_multilevel", Int, "community, numbered by first appearance")],
    doc: "Communities by the Louvain method (Blondel et al. 2008) on the undirected graph.",
    run: |input, p| {
        let options = louvain::Options {
            seed: count(p, "random_state"),
            resolution: p.float("resolution").unwrap_or(1.0),
            ..louvain::Options::default()
        };
        let found = louvain::find(input.topology, weights(input)?, &options, input.cancel)?;
        Ok(labels("community_multilevel", &found))
    },
};

/// The options of Louvain out of the parameters of a request.
///
/// # Errors
/// [`AlgoError::BadParam`] when both names of the number of levels are given.
pub fn louvain_options(p: &ParamValues) -> Result<louvain::Options, AlgoError> {
    let default = louvain::Options::default();
    if let (Some(_), Some(also)) = (p.int("max_level"), p.int("max_iter")) {
        return Err(AlgoError::BadParam {
            algorithm: "louvain",
            name: "max_iter".to_owned(),
            value: also.to_string(),
            expected: "max_level alone: max_iter is its former name".to_owned(),
        });
    }
    let levels = p.int("max_level").or(p.int("max_iter")).and_then(|l| u64::try_from(l).ok());
    Ok(louvain::Options {
        seed: count(p, "random_state"),
        resolution: p.float("resolution").unwrap_or(default.resolution),
        max_level: levels.unwrap_or(default.max_level),
        threshold: p.float("threshold").unwrap_or(default.threshold),
    })
}

const COMPONENTS: AlgorithmSpec = AlgorithmSpec {
    id: "weakly_connected_components",
    names: &[cugraph("connected_components"), cugraph("weakly_connected_components")],
    kind: Compute,
    params: &[],
    accepted: &[only("connection", r#"["weak"]"#)],
    outputs: &[output(
        "connected_components",
        Int,
        "component, numbered from 0 by first appearance",
    )],
    doc: "Weakly connected components: nodes joined by edges in either direction.",
    run: |input, _| Ok(labels("connected_components", &weak::run(input.topology, input.cancel)?)),
};

const CORE_NUMBER: AlgorithmSpec = AlgorithmSpec {
    id: "core_number",
    names: &[cugraph("core_number")],
    kind: Compute,
    params: &[],
    accepted: &[ignored("degree_type")],
    outputs: &[output("core_number", Int, "largest k whose k-core holds the node")],
    doc: "Core numbers (Seidman 1983) of the undirected simple graph; loops do not count.",
    run: |input, _| {
        Ok(labels("core_number", &core_number::run(input.topology, false, input.cancel)?))
    },
};

const BFS: AlgorithmSpec = AlgorithmSpec {
    id: "bfs",
    names: &[cugraph("bfs")],
    kind: Compute,
    params: &[
        param("start", Node, "null", None, "where to start; null is the node of largest degree"),
        param("depth_limit", Int, "null", Some((0.0, 4e9)), "hops at most; null is no limit"),
        DIRECTED,
    ],
    accepted: &[only("return_predecessors", "[true]")],
    outputs: &[
        output("bfs", Int, "hops from the start; null when not reached"),
        output("predecessor", Node, "node before it, the first of several; -1 at the start"),
    ],
    doc: "Breadth-first distances (Moore 1959) from one node.",
    run: |input, p| {
        let source = node_or_hub(input, p, "bfs", "start")?;
        let limit = p.int("depth_limit").and_then(|d| u32::try_from(d).ok());
        let found = bfs::run(input.topology, source, p.bool("directed"), limit, input.cancel)?;
        let column = |v: &[u32]| {
            Values::I64OrNull(
                v.iter().map(|d| (*d != bfs::UNREACHED).then(|| i64::from(*d))).collect(),
            )
        };
        let reached = found.distance.iter().zip(&found.predecessor);
        // The start is reached from no node.
        let before = reached.map(|(d, v)| (*d != bfs::UNREACHED).then_some(*v)).collect::<Vec<_>>();
        Ok(Output {
            columns: vec![
                Column { name: "bfs", values: column(&found.distance) },
                Column { name: "predecessor", values: Values::Nodes(before) },
            ],
            iterations: None,
        })
    },
};

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use graphlume_graph::Topology;
    use graphlume_types::{CancelReason, CancelToken};

    use super::*;
    use crate::testkit;

    fn run_with(
        spec: &AlgorithmSpec,
        t: &Arc<Topology>,
        pairs: &[&str],
    ) -> Result<Output, AlgoError> {
        let resolve = |id: &str| id.parse::<u32>().ok().filter(|v| *v < t.num_nodes());
        let cancel = CancelToken::new();
        let input = Input { topology: t, weights: None, resolve: &resolve, cancel: &cancel };
        run(spec, &input, &ParamValues::from_pairs(spec, pairs)?)
    }

    #[test]
    fn names_are_unique_defaults_are_legal_and_everything_is_documented() {
        let mut ids = BTreeSet::new();
        let mut names = BTreeSet::new();
        for spec in ALGORITHMS {
            assert!(ids.insert(spec.id), "{}", spec.id);
            assert!(!spec.doc.is_empty() && !spec.outputs.is_empty());
            for n in spec.names {
                assert!(["cugraph", "igraph"].contains(&n.library));
                assert!(names.insert((spec.kind, n.library, n.name)), "{n:?}");
                assert_eq!(find(spec.kind, n.library, n.name).unwrap().id, spec.id);
            }
            for p in spec.params {
                assert!(!p.doc.is_empty());
                let pair = format!("{}={}", p.name, p.default);
                let given = ParamValues::from_pairs(spec, &[pair]).unwrap();
                assert_eq!(given, ParamValues::defaults(spec), "{} {}", spec.id, p.name);
            }
        }
    }

    #[test]
    fn every_algorithm_works_on_every_graph_of_the_zoo() {
        for spec in ALGORITHMS {
            for (name, t) in testkit::zoo() {
                let pairs: &[&str] = if spec.id == "force_atlas2" { &["max_iter=40"] } else { &[] };
                let what = format!("{} on {name}", spec.id);
                let results = testkit::at_1_2_3_threads(|| {
                    run_with(spec, &t, pairs).unwrap_or_else(|e| panic!("{what}: {e}"))
                });
                let out = &results[0];
                assert!(*out == results[1] && *out == results[2], "{what}: depends on threads");
                let columns: Vec<&str> = out.columns.iter().map(|c| c.name).collect();
                let declared: Vec<&str> = spec.outputs.iter().map(|o| o.name).collect();
                assert_eq!(columns, declared, "{what}");
                for c in &out.columns {
                    assert_eq!(c.values.len(), t.num_nodes() as usize, "{what}");
                    if let Values::F64(v) = &c.values {
                        assert!(v.iter().all(|x| x.is_finite()), "{what}");
                    }
                }
                assert_eq!(out.positions().is_some(), spec.kind == Layout, "{what}");
            }
        }
    }

    #[test]
    fn a_cancelled_run_ends() {
        let t = testkit::karate();
        let cancel = CancelToken::new();
        cancel.cancel(CancelReason::ClientGone);
        let input = Input { topology: &t, weights: None, resolve: &|_| None, cancel: &cancel };
        for spec in ALGORITHMS.iter().filter(|s| s.kind == Compute || s.id == "force_atlas2") {
            let r = run(spec, &input, &ParamValues::defaults(spec));
            assert!(matches!(r, Err(AlgoError::Cancelled(_))), "{}", spec.id);
        }
    }

    #[test]
    fn wrong_names_and_values_are_refused_with_the_right_ones() {
        let e = find_any(Compute, "pagernk").unwrap_err().to_string();
        assert!(e.contains("did you mean \"pagerank\"?") && e.contains("louvain"), "{e}");
        assert_eq!(find_any(Layout, "cugraph.force_atlas2").unwrap().id, "force_atlas2");
        assert_eq!(find_any(Compute, "igraph.pagerank").unwrap().id, "pagerank_igraph");
        assert!(find_any(Layout, "pagerank").is_err());
        let t = testkit::karate();
        let pagerank = find_any(Compute, "pagerank").unwrap();
        let e = run_with(pagerank, &t, &["alpa=0.5"]).unwrap_err().to_string();
        assert!(
            e.contains("\"alpa\"")
                && e.contains("did you mean \"alpha\"?")
                && e.contains("max_iter"),
            "{e}"
        );
        for bad in [
            "alpha=1.5",
            "alpha=x",
            "alpha=[1]",
            "max_iter=0",
            "max_iter=1.5",
            "directed=7",
            "alpha",
        ] {
            let e = run_with(pagerank, &t, &[bad]).unwrap_err();
            assert!(matches!(e, AlgoError::BadParam { .. }), "{bad}: {e}");
        }
        let e = run_with(find_any(Compute, "bfs").unwrap(), &t, &["start=ghost"])
            .unwrap_err()
            .to_string();
        assert!(e.contains("\"start\"") && e.contains("ghost"), "{e}");
    }

    #[test]
    fn louvain_takes_levels_under_either_name_but_not_both() {
        let t = testkit::planted(600, 12, 0.3, 0.01);
        let louvain = find_any(Compute, "louvain").unwrap();
        let many = |pairs: &[&str]| {
            let out = run_with(louvain, &t, pairs).unwrap();
            match &out.columns[0].values {
                Values::I64(v) => v.iter().max().copied(),
                _ => None,
            }
        };
        assert_eq!(many(&["max_level=1"]), many(&["max_iter=1"]));
        assert_eq!(many(&[]), many(&["max_level=100", "threshold=1e-7"]));
        for bad in [
            &["max_level=0"][..],
            &["max_level=501"],
            &["threshold=-1"],
            &["threshold=nan"],
            &["max_level=5", "max_iter=5"],
        ] {
            let e = run_with(louvain, &t, bad).unwrap_err();
            assert!(matches!(e, AlgoError::BadParam { .. }), "{bad:?}: {e}");
        }
    }

    #[test]
    fn a_search_starts_where_it_is_told_and_else_at_the_largest_hub() {
        let t = testkit::karate();
        let distance = |pairs: &[&str]| {
            let out = run_with(find_any(Compute, "bfs").unwrap(), &t, pairs).unwrap();
            match &out.columns[0].values {
                Values::I64OrNull(v) => v.iter().position(|d| *d == Some(0)),
                _ => None,
            }
        };
        assert_eq!(distance(&["start=5"]), Some(5));
        assert_eq!(distance(&[]), Some(33));
    }
}
