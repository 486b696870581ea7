//! Eigenvector centrality (Bonacich 1972): Lanczos' method where edges have no direction, else power iteration on the
//! matrix plus the identity, which also converges where the graph is bipartite.

use graphlume_types::CancelToken;

use crate::input::Sign;
use crate::lanczos::dominant;
use crate::power::{each, gather, largest, sum};
use crate::spec::{
    AlgorithmSpec, Cost, DIRECTED, Dtype, WEIGHTS, ignored, igraph, only, output, param,
};
use crate::view::{GraphView, Lists};
use crate::{AlgoError, Output, Values};

/// Iterations at most.
const ITERATIONS_MAX: u64 = 50_000;
/// Residual over the eigenvalue that will do when there were that many.
const RESIDUAL_MAX: f64 = 1e-8;
/// A value below this, where the largest is 1, is rounding.
const ROUNDING: f64 = 1e-13;
/// Change of a value, on average, at which the values are final.
const EXACT: f64 = 1e-13;

/// The dominant eigenvector, by the edges that enter a node, with a largest value of 1. A directed graph without cycles
/// has none: there the nodes that no edge leaves have 1, the others 0, as igraph tells.
///
/// # Errors
/// [`AlgoError::NotConverged`], [`AlgoError::Cancelled`].
pub fn run(view: &GraphView<'_>, cancel: &CancelToken) -> Result<Vec<f64>, AlgoError> {
    let n = view.num_nodes() as usize;
    cancel.check()?;
    if view.is_directed() && is_acyclic(view, cancel)? {
        return Ok((0..n as u32).map(|v| f64::from(view.out().degree(v) == 0)).collect());
    }
    let incoming = view.incoming();
    if !view.is_directed() {
        return symmetric(incoming, n, cancel);
    }
    let (mut x, mut next) = (vec![1.0; n], vec![0.0; n]);
    // A shift of the size of the matrix: what is added along edges and what stays weigh alike.
    let shift =
        (0..n as u32).map(|v| incoming.strength(v).abs()).fold(0.0, f64::max).sqrt().max(1.0);
    let tol = EXACT * n as f64;
    let mut change = f64::INFINITY;
    for _ in 0..ITERATIONS_MAX {
        gather(incoming, &x, &mut next, cancel)?;
        each(&mut next, |v, value| *value += shift * x[v]);
        let most = largest(&next);
        if most == 0.0 {
            return Ok(next);
        }
        each(&mut next, |_, value| *value /= most);
        change = sum(n, |v| (next[v] - x[v]).abs());
        std::mem::swap(&mut x, &mut next);
        if change <= tol {
            return Ok(x);
        }
    }
    if n == 0 || change < 1e-8 * n as f64 {
        return Ok(x);
    }
    Err(AlgoError::NotConverged {
        algorithm: "eigenvector_centrality",
        iterations: ITERATIONS_MAX,
        change,
    })
}

/// The dominant eigenvector of lists that are those of a symmetric matrix.
fn symmetric(lists: &Lists<'_>, n: usize, cancel: &CancelToken) -> Result<Vec<f64>, AlgoError> {
    let apply = |x: &[f64], y: &mut [f64]| gather(lists, x, y, cancel);
    let found = dominant(vec![1.0; n], ITERATIONS_MAX as usize, apply, cancel)?;
    if !found.is_exact && found.residual > RESIDUAL_MAX {
        return Err(AlgoError::NotConverged {
            algorithm: "eigenvector_centrality",
            iterations: ITERATIONS_MAX,
            change: found.residual,
        });
    }
    let mut x = found.vector;
    let most = x.iter().copied().max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(0.0);
    if most != 0.0 {
        // Where no weight is negative no entry is, but for rounding.
        let is_rounding = |value: f64| value.abs() < ROUNDING;
        each(&mut x, |_, value| {
            *value /= most;
            *value = if is_rounding(*value) { value.abs() } else { *value };
        });
    }
    Ok(x)
}

/// Whether no way along edges leads back, by taking nodes away that no edge enters.
fn is_acyclic(view: &GraphView<'_>, cancel: &CancelToken) -> Result<bool, AlgoError> {
    let n = view.num_nodes();
    let mut left: Vec<u32> = (0..n).map(|v| view.incoming().degree(v)).collect();
    let mut open: Vec<u32> = (0..n).filter(|v| left[*v as usize] == 0).collect();
    let mut gone = 0;
    while let Some(v) = open.pop() {
        gone += 1;
        if gone % (1 << 14) == 0 {
            cancel.check()?;
        }
        for u in view.out().neighbors(v) {
            left[*u as usize] -= 1;
            if left[*u as usize] == 0 {
                open.push(*u);
            }
        }
    }
    Ok(gone == n)
}

/// igraph's `eigenvector_centrality`.
pub static EIGENVECTOR: AlgorithmSpec = AlgorithmSpec {
    id: "eigenvector_centrality",
    names: &[igraph("eigenvector_centrality")],
    params: &[
        DIRECTED,
        param("scale", Dtype::Bool, "true", None, "make the largest 1; else the squares sum to 1"),
        WEIGHTS,
    ],
    accepted: &[ignored("arpack_options"), only("return_eigenvalue", "[false]")],
    outputs: &[output("eigenvector_centrality", Dtype::Float, "centrality; the largest is 1")],
    doc: "Eigenvector centrality: a node is important when important nodes lead to it.",
    paper: "Bonacich 1972; Lanczos 1950",
    cost: Cost::Iterative,
    run: |input, p| {
        let weights = input.weights(p, Sign::NotNegative)?;
        let view = input.view(p.bool("directed"), weights.as_deref())?;
        let mut x = run(&view, input.cancel)?;
        if !p.bool("scale") {
            let length = sum(x.len(), |v| x[v] * x[v]).sqrt();
            if length > 0.0 {
                each(&mut x, |_, value| *value /= length);
            }
        }
        Ok(Output::one("eigenvector_centrality", Values::F64(x)))
    },
    ..AlgorithmSpec::BASE
};
