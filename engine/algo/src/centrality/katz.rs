//! Katz centrality (Katz 1953) in the form of Foster et al. (2001): x = alpha Aᵀ x + beta, scaled to length 1.

use graphlume_types::CancelToken;

use crate::input::Sign;
use crate::power::{each, gather, sum};
use crate::spec::{AlgorithmSpec, Cost, DIRECTED, Dtype, cugraph, ignored, output, param};
use crate::view::GraphView;
use crate::{AlgoError, Output, Values};

/// How the iteration runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// What one step along an edge is worth; `None` is 1 over the largest number of edges of a node, in and out.
    pub alpha: Option<f64>,
    /// What every node has of its own.
    pub beta: f64,
    /// Iterations at most.
    pub max_iter: u64,
    /// Total change at which the values are final.
    pub tol: f64,
}

/// The values of all nodes, and the iterations that they took. A node is important by the edges that enter it.
///
/// # Errors
/// [`AlgoError::NotConverged`], also when alpha is too large for the graph; [`AlgoError::Cancelled`].
pub fn run(
    view: &GraphView<'_>,
    options: &Options,
    beta: Option<&[Option<f64>]>,
    cancel: &CancelToken,
) -> Result<(Vec<f64>, u64), AlgoError> {
    let n = view.num_nodes() as usize;
    let degree = |v: u32| view.out().degree(v) + view.incoming().degree(v);
    let most = (0..n as u32).map(degree).max().unwrap_or(0);
    let alpha = options.alpha.unwrap_or(1.0 / f64::from(most.max(1)));
    let own = |v: usize| beta.map_or(options.beta, |b| b[v].unwrap_or(options.beta));
    let (mut x, mut next) = (vec![0.0; n], vec![0.0; n]);
    let mut change = f64::INFINITY;
    for iteration in 1..=options.max_iter {
        cancel.check()?;
        gather(view.incoming(), &x, &mut next, cancel)?;
        each(&mut next, |v, value| *value = alpha * *value + own(v));
        change = sum(n, |v| (next[v] - x[v]).abs());
        std::mem::swap(&mut x, &mut next);
        if change < options.tol {
            let length = sum(n, |v| x[v] * x[v]).sqrt();
            if length > 0.0 {
                each(&mut x, |_, value| *value /= length);
            }
            return Ok((x, iteration));
        }
        if !change.is_finite() {
            break;
        }
    }
    if n == 0 {
        return Ok((x, 0));
    }
    Err(AlgoError::NotConverged {
        algorithm: "katz_centrality (alpha must be below 1 over the largest eigenvalue)",
        iterations: options.max_iter,
        change,
    })
}

/// cuGraph's `katz_centrality`.
pub static KATZ: AlgorithmSpec = AlgorithmSpec {
    id: "katz_centrality",
    names: &[cugraph("katz_centrality")],
    params: &[
        param(
            "alpha",
            Dtype::Float,
            "null",
            Some((0.0, 1e6)),
            "worth of a step; null is 1 over the largest number of edges of a node, in and out",
        ),
        param("beta", Dtype::Float, "1.0", Some((0.0, 1e9)), "worth of every node by itself"),
        param("max_iter", Dtype::Int, "100", Some((1.0, 1e6)), "iterations at most"),
        param(
            "tol",
            Dtype::Float,
            "1e-6",
            Some((0.0, 1.0)),
            "total change at which values are final",
        ),
        param("nstart", Dtype::NodeValues, "null", None, "beta of single nodes"),
        DIRECTED,
    ],
    accepted: &[ignored("normalized")],
    outputs: &[output("katz_centrality", Dtype::Float, "centrality; the squares sum to 1")],
    doc: "Katz centrality: paths into a node count, the shorter the more.",
    paper: "Katz 1953; Foster et al. 2001",
    cost: Cost::Iterative,
    run: |input, p| {
        let weights = input.weights(p, Sign::NotNegative)?;
        let view = input.view(p.bool("directed"), weights.as_deref())?;
        let options = Options {
            alpha: p.float("alpha"),
            beta: p.float("beta").unwrap_or(1.0),
            max_iter: p.count("max_iter"),
            tol: p.float("tol").unwrap_or(1e-6),
        };
        let own = input.node_values(p, "nstart")?;
        let (values, iterations) = run(&view, &options, own.as_deref(), input.cancel)?;
        Ok(Output::one("katz_centrality", Values::F64(values)).after(iterations))
    },
    ..AlgorithmSpec::BASE
};
