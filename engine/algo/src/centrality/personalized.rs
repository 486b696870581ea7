//! PageRank with a restart vector (Page, Brin, Motwani and Winograd 1999; Haveliwala 2002): where a walk begins again, and
//! where it goes on from a node that no edge leaves.

use graphlume_types::CancelToken;

use super::pagerank;
use crate::input::Sign;
use crate::power::{each, gather, sum};
use crate::spec::{
    AlgorithmSpec, Cost, DIRECTED, Dtype, WEIGHTS, extra, ignored, only, output, param,
};
use crate::view::GraphView;
use crate::{AlgoError, Input, Output, ParamValues, Values};

/// How a walk goes.
#[derive(Clone, Debug)]
pub struct Walk {
    /// Probability of following an edge.
    pub alpha: f64,
    /// Total change at which the ranks are final.
    pub tol: f64,
    /// Iterations at most.
    pub max_iter: u64,
    /// Whether not reaching `tol` is an error.
    pub must_converge: bool,
    /// Where it begins again: probabilities by node.
    pub restart: Vec<f64>,
    /// Where it goes from a node that no edge leaves; `None` is anywhere, evenly.
    pub dangling: Option<Vec<f64>>,
    /// Ranks to begin with; `None` is the same for all.
    pub start: Option<Vec<f64>>,
    /// Weight of the edges that leave each node, where it is known already.
    pub out_weight: Option<Vec<f64>>,
}

/// The ranks of all nodes, which sum to 1, and the iterations that they took.
///
/// # Errors
/// [`AlgoError::NotConverged`], [`AlgoError::Cancelled`].
pub fn run(
    view: &GraphView<'_>,
    walk: &Walk,
    cancel: &CancelToken,
) -> Result<(Vec<f64>, u64), AlgoError> {
    let n = view.num_nodes() as usize;
    cancel.check()?;
    if n == 0 {
        return Ok((Vec::new(), 0));
    }
    let even = 1.0 / n as f64;
    let strength: Vec<f64> = match &walk.out_weight {
        Some(given) => given.clone(),
        None => (0..n as u32).map(|v| view.out().strength(v)).collect(),
    };
    let mut x = walk.start.clone().unwrap_or_else(|| vec![even; n]);
    let total = sum(n, |v| x[v]);
    each(&mut x, |_, value| *value /= total);
    let (mut sent, mut next) = (vec![0.0; n], vec![0.0; n]);
    let mut change = f64::INFINITY;
    for iteration in 1..=walk.max_iter {
        let of = |v: usize| if strength[v] > 0.0 { x[v] / strength[v] } else { 0.0 };
        each(&mut sent, |v, value| *value = of(v));
        let stuck = sum(n, |v| if strength[v] > 0.0 { 0.0 } else { x[v] });
        gather(view.incoming(), &sent, &mut next, cancel)?;
        each(&mut next, |v, value| {
            let lost = stuck * walk.dangling.as_ref().map_or(even, |d| d[v]);
            *value = walk.alpha * (*value + lost) + (1.0 - walk.alpha) * walk.restart[v];
        });
        change = sum(n, |v| (next[v] - x[v]).abs());
        std::mem::swap(&mut x, &mut next);
        if change < walk.tol {
            return Ok((x, iteration));
        }
    }
    if walk.must_converge {
        let algorithm = "pagerank";
        return Err(AlgoError::NotConverged { algorithm, iterations: walk.max_iter, change });
    }
    Ok((x, walk.max_iter))
}

/// Values of a table as probabilities.
fn shares(p: &ParamValues, name: &str, given: Vec<Option<f64>>) -> Result<Vec<f64>, AlgoError> {
    let values: Vec<f64> = given.into_iter().map(|v| v.unwrap_or(0.0)).collect();
    let total: f64 = values.iter().sum();
    if values.iter().any(|v| *v < 0.0) || total <= 0.0 {
        let expected = "numbers that are not negative, one of them above 0".to_owned();
        return Err(p.bad(name, format!("with a sum of {total}"), expected));
    }
    Ok(values.into_iter().map(|v| v / total).collect())
}

/// The ranks by cuGraph's parameters `personalization`, `nstart` and `precomputed_vertex_out_weight`; `None` when none of
/// them is given.
///
/// # Errors
/// Those of the parameters and of [`run`].
pub(super) fn cugraph(input: &Input<'_>, p: &ParamValues) -> Result<Option<Output>, AlgoError> {
    let restart = input.node_values(p, "personalization")?;
    let start = input.node_values(p, "nstart")?;
    let known = input.node_values(p, "precomputed_vertex_out_weight")?;
    if restart.is_none() && start.is_none() && known.is_none() {
        return Ok(None);
    }
    let weights = input.weights(p, Sign::NotNegative)?;
    let view = input.view(p.bool("directed"), weights.as_deref())?;
    let n = input.num_nodes();
    let restart = restart.map(|r| shares(p, "personalization", r)).transpose()?;
    let strength = |v: u32| view.out().strength(v);
    let options = pagerank::cugraph_options(p);
    let walk = Walk {
        alpha: options.alpha,
        tol: options.tol,
        max_iter: options.max_iter,
        must_converge: options.must_converge,
        dangling: restart.clone(),
        restart: restart.unwrap_or_else(|| vec![1.0 / f64::from(n.max(1)); n as usize]),
        start: start.map(|s| shares(p, "nstart", s)).transpose()?,
        out_weight: known.map(|w| {
            w.into_iter().zip(0..).map(|(w, v)| w.unwrap_or_else(|| strength(v))).collect()
        }),
    };
    let (ranks, iterations) = run(&view, &walk, input.cancel)?;
    Ok(Some(Output::one("pagerank", Values::F64(ranks)).after(iterations)))
}

/// igraph's `personalized_pagerank`, which the client knows and the interface does not list.
pub static PERSONALIZED: AlgorithmSpec = AlgorithmSpec {
    id: "personalized_pagerank",
    names: &[extra("igraph", "personalized_pagerank")],
    params: &[
        param(
            "damping",
            Dtype::Float,
            "0.85",
            Some((0.0, 0.9999)),
            "probability of following an edge",
        ),
        param(
            "reset",
            Dtype::NodeValues,
            "null",
            None,
            "where a walk begins again; null is anywhere",
        ),
        param("reset_vertices", Dtype::Nodes, "null", None, "nodes at which a walk begins again"),
        crate::spec::VERTICES,
        DIRECTED,
        WEIGHTS,
    ],
    accepted: &[ignored("arpack_options"), only("implementation", r#"["prpack", "arpack"]"#)],
    outputs: &[output("personalized_pagerank", Dtype::Float, "rank; the ranks sum to 1")],
    doc: "PageRank with a restart vector, at which a walk goes on from a node that no edge leaves, too; to a total change of 1e-12.",
    paper: "Haveliwala 2002",
    cost: Cost::Iterative,
    run: |input, p| {
        let weights = input.weights(p, Sign::NotNegative)?;
        let view = input.view(p.bool("directed"), weights.as_deref())?;
        let n = input.num_nodes() as usize;
        let mut reset = input.node_values(p, "reset")?;
        if let Some(nodes) = input.nodes(p, "reset_vertices")? {
            let mut counts = vec![None; n];
            for v in nodes {
                counts[v as usize] = Some(counts[v as usize].unwrap_or(0.0) + 1.0);
            }
            reset = Some(counts);
        }
        let reset = reset.map(|r| shares(p, "reset", r)).transpose()?;
        let walk = Walk {
            alpha: p.float("damping").unwrap_or(0.85),
            tol: 1e-12,
            max_iter: 300_000,
            must_converge: false,
            dangling: reset.clone(),
            restart: reset.unwrap_or_else(|| vec![1.0 / n.max(1) as f64; n]),
            start: None,
            out_weight: None,
        };
        let (ranks, iterations) = run(&view, &walk, input.cancel)?;
        let kept = input.nodes(p, "vertices")?;
        let ranks = Values::F64(ranks).only(kept.as_deref());
        Ok(Output::one("personalized_pagerank", ranks).after(iterations))
    },
    ..AlgorithmSpec::BASE
};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::centrality::pagerank;
    use crate::testkit;
    use crate::view::{Copies, Loops, Shape};

    #[test]
    fn an_even_restart_gives_the_plain_ranks() {
        for (name, t) in testkit::zoo().into_iter().filter(|(_, t)| t.num_nodes() > 0) {
            let shape = Shape { directed: true, copies: Copies::Keep, loops: Loops::Once };
            let view = GraphView::new(&t, None, shape).unwrap();
            let n = t.num_nodes() as usize;
            let walk = Walk {
                alpha: 0.85,
                tol: 1e-13,
                max_iter: 10_000,
                must_converge: true,
                restart: vec![1.0 / n as f64; n],
                dangling: None,
                start: None,
                out_weight: None,
            };
            let cancel = CancelToken::new();
            let [found, two, three] =
                testkit::at_1_2_3_threads(|| run(&view, &walk, &cancel).unwrap().0);
            assert!(found == two && found == three, "{name}");
            let options = pagerank::Options { tol: 1e-12, max_iter: 10_000, ..Default::default() };
            let plain = pagerank::run(&t, None, options, &cancel).unwrap();
            assert!(found.iter().zip(&plain).all(|(a, b)| (a - b).abs() < 1e-9), "{name}");
        }
    }
}
