//! Hubs and authorities (Kleinberg 1999): as cuGraph scales them, each summing to 1, and as igraph does, the largest 1.

use graphlume_types::CancelToken;

use super::eigenvector;
use crate::input::Sign;
use crate::power::{each, gather, largest, sum};
use crate::spec::{
    AlgorithmSpec, Cost, DIRECTED, Dtype, WEIGHTS, cugraph, ignored, igraph, only, output, param,
};
use crate::view::GraphView;
use crate::{AlgoError, Column, Input, Output, ParamValues, Values};

/// Hubs and authorities of all nodes, and the iterations that they took.
#[derive(Clone, Debug)]
pub struct Scores {
    /// How far a node leads to authorities.
    pub hubs: Vec<f64>,
    /// How far hubs lead to a node.
    pub authorities: Vec<f64>,
    /// Iterations.
    pub iterations: u64,
}

/// Alternating products with the matrix and its transpose, scaled to a largest value of 1 after each, until the hubs
/// change by less than `tol` in all.
///
/// # Errors
/// [`AlgoError::NotConverged`], [`AlgoError::Cancelled`].
pub fn run(
    view: &GraphView<'_>,
    start: Option<&[Option<f64>]>,
    max_iter: u64,
    tol: f64,
    cancel: &CancelToken,
) -> Result<Scores, AlgoError> {
    let n = view.num_nodes() as usize;
    cancel.check()?;
    let begin = |v: usize| start.map_or(1.0, |s| s[v].unwrap_or(0.0));
    let mut hubs: Vec<f64> = (0..n).map(begin).collect();
    let (mut authorities, mut next) = (vec![0.0; n], vec![0.0; n]);
    let scaled = |x: &mut [f64]| {
        let most = largest(x);
        if most > 0.0 {
            each(x, |_, value| *value /= most);
        }
    };
    scaled(&mut hubs);
    let mut change = f64::INFINITY;
    for iteration in 1..=max_iter {
        gather(view.incoming(), &hubs, &mut authorities, cancel)?;
        scaled(&mut authorities);
        gather(view.out(), &authorities, &mut next, cancel)?;
        scaled(&mut next);
        change = sum(n, |v| (next[v] - hubs[v]).abs());
        std::mem::swap(&mut hubs, &mut next);
        if change <= tol || n == 0 {
            return Ok(Scores { hubs, authorities, iterations: iteration });
        }
    }
    Err(AlgoError::NotConverged { algorithm: "hits", iterations: max_iter, change })
}

/// cuGraph's `hits`.
pub static HITS: AlgorithmSpec = AlgorithmSpec {
    id: "hits",
    names: &[cugraph("hits")],
    params: &[
        param("max_iter", Dtype::Int, "100", Some((1.0, 1e6)), "iterations at most"),
        param(
            "tol",
            Dtype::Float,
            "1e-5",
            Some((0.0, 1.0)),
            "change of a hub, on average, at which the scores are final",
        ),
        param("nstart", Dtype::NodeValues, "null", None, "hubs to begin with; null is all alike"),
        param("normalized", Dtype::Bool, "true", None, "make each sum to 1; else the largest is 1"),
        DIRECTED,
    ],
    outputs: &[
        output("hits", Dtype::Float, "hub score"),
        output("authorities", Dtype::Float, "authority score"),
    ],
    doc: "Hubs and authorities. Weights make no difference.",
    paper: "Kleinberg 1999",
    cost: Cost::Iterative,
    run: |input, p| {
        let view = input.view(p.bool("directed"), None)?;
        let n = input.num_nodes() as usize;
        let start = input.node_values(p, "nstart")?;
        let tol = p.float("tol").unwrap_or(1e-5) * n as f64;
        let mut scores = run(&view, start.as_deref(), p.count("max_iter"), tol, input.cancel)?;
        if p.bool("normalized") {
            for x in [&mut scores.hubs, &mut scores.authorities] {
                let total = sum(n, |v| x[v]);
                if total > 0.0 {
                    each(x, |_, value| *value /= total);
                }
            }
        }
        Ok(Output::nodes(vec![
            Column { name: "hits", values: Values::F64(scores.hubs) },
            Column { name: "authorities", values: Values::F64(scores.authorities) },
        ])
        .after(scores.iterations))
    },
    ..AlgorithmSpec::BASE
};

/// Iterations of igraph's scores at most; the solver of igraph does not tell either.
const ITERATIONS_MAX: u64 = 20_000;
/// Change of a score, on average, at which igraph's scores are final.
const EXACT: f64 = 1e-12;

fn kleinberg(input: &Input<'_>, p: &ParamValues, hubs: bool) -> Result<Vec<f64>, AlgoError> {
    let weights = input.weights(p, Sign::Any)?;
    let view = input.view(p.bool("directed"), weights.as_deref())?;
    let mut x = if view.is_directed() {
        let tol = EXACT * f64::from(input.num_nodes());
        let scores = run(&view, None, ITERATIONS_MAX, tol, input.cancel)?;
        if hubs { scores.hubs } else { scores.authorities }
    } else {
        // Of a symmetric matrix both are the eigenvectors of the matrix itself, which are unique more often.
        eigenvector::run(&view, input.cancel)?
    };
    if !p.bool("scale") {
        let length = sum(x.len(), |v| x[v] * x[v]).sqrt();
        if length > 0.0 {
            each(&mut x, |_, value| *value /= length);
        }
    }
    Ok(x)
}

const SCALE: crate::ParamSpec =
    param("scale", Dtype::Bool, "true", None, "make the largest 1; else the squares sum to 1");

/// igraph's `authority_score`.
pub static AUTHORITY: AlgorithmSpec = AlgorithmSpec {
    id: "authority_score",
    names: &[igraph("authority_score")],
    params: &[WEIGHTS, SCALE, DIRECTED],
    accepted: &[ignored("arpack_options"), only("return_eigenvalue", "[false]")],
    outputs: &[output("authority_score", Dtype::Float, "authority score")],
    doc: "Authorities: the dominant eigenvector of the adjacency matrix's transpose times the matrix.",
    paper: "Kleinberg 1999",
    cost: Cost::Iterative,
    run: |input, p| Ok(Output::one("authority_score", Values::F64(kleinberg(input, p, false)?))),
    ..AlgorithmSpec::BASE
};

/// igraph's `hub_score`.
pub static HUB: AlgorithmSpec = AlgorithmSpec {
    id: "hub_score",
    names: &[igraph("hub_score")],
    params: &[WEIGHTS, SCALE, DIRECTED],
    accepted: &[ignored("arpack_options"), only("return_eigenvalue", "[false]")],
    outputs: &[output("hub_score", Dtype::Float, "hub score")],
    doc: "Hubs: the dominant eigenvector of the adjacency matrix times its transpose.",
    paper: "Kleinberg 1999",
    cost: Cost::Iterative,
    run: |input, p| Ok(Output::one("hub_score", Values::F64(kleinberg(input, p, true)?))),
    ..AlgorithmSpec::BASE
};
