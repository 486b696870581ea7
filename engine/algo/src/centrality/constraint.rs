//! Structural constraint (Burt 1992): how far the contacts of a node are tied to each other.

use graphlume_types::CancelToken;
use rayon::prelude::*;

use crate::input::Sign;
use crate::spec::{AlgorithmSpec, Cost, DIRECTED, Dtype, VERTICES, WEIGHTS, igraph, output};
use crate::view::{Copies, GraphView, Loops, Shape};
use crate::{AlgoError, Output, Values};

/// Nodes of one unit of parallel work.
const NODES: usize = 64;

/// The constraint of every node; none for a node without contacts. `view` is undirected, copies summed, without loops:
/// the tie of two nodes is the weight of all edges between them, whichever way they lead.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub fn run(view: &GraphView<'_>, cancel: &CancelToken) -> Result<Vec<Option<f64>>, AlgoError> {
    let n = view.num_nodes() as usize;
    let out = view.out();
    let strength: Vec<f64> = (0..n as u32).into_par_iter().map(|v| out.strength(v)).collect();
    let share = |v: u32, w: f64| w / strength[v as usize];
    let chunks: Vec<usize> = (0..n).step_by(NODES).collect();
    let of_chunk = |own: &mut Vec<f64>, first: usize| -> Result<Vec<Option<f64>>, AlgoError> {
        let mut values = Vec::with_capacity(NODES);
        for v in first as u32..n.min(first + NODES) as u32 {
            cancel.check()?;
            if out.degree(v) == 0 {
                values.push(None);
                continue;
            }
            // `own[j]`: the share of v that goes to j, directly and by way of a contact of v.
            for (u, w) in out.weighted(v) {
                own[u as usize] += share(v, w);
            }
            for (q, w) in out.weighted(v) {
                cancel.check()?;
                for (j, by) in out.weighted(q).filter(|(j, _)| *j != v) {
                    // Only contacts of v are asked for; the rest of the list is cleared below.
                    own[j as usize] += share(v, w) * share(q, by);
                }
            }
            values.push(Some(out.neighbors(v).iter().map(|j| own[*j as usize].powi(2)).sum()));
            for q in out.neighbors(v) {
                own[*q as usize] = 0.0;
                out.neighbors(*q).iter().for_each(|j| own[*j as usize] = 0.0);
            }
        }
        Ok(values)
    };
    let parts = chunks.into_par_iter().map_init(|| vec![0f64; n], of_chunk);
    Ok(parts.collect::<Result<Vec<_>, _>>()?.concat())
}

/// igraph's `constraint`.
pub static CONSTRAINT: AlgorithmSpec = AlgorithmSpec {
    id: "constraint",
    names: &[igraph("constraint")],
    params: &[VERTICES, WEIGHTS, DIRECTED],
    outputs: &[output("constraint", Dtype::Float, "constraint; null for a node without edges")],
    doc: "Burt's structural constraint. Loops do not count, copies of edges are summed.",
    paper: "Burt 1992",
    cost: Cost::Wedges,
    run: |input, p| {
        let weights = input.weights(p, Sign::Any)?;
        let shape = Shape { directed: false, copies: Copies::Sum, loops: Loops::Drop };
        // Without weights the ties of several edges are as many.
        let ones = vec![1.0; input.topology.out_row().iter().max().map_or(0, |r| *r as usize + 1)];
        let weights = weights.as_deref().unwrap_or(&ones);
        let view = input.shaped(Some(weights), shape)?;
        let mut values = run(&view, input.cancel)?;
        for (v, value) in values.iter_mut().enumerate() {
            // A node with nothing but loops is not tied to anyone; one without edges has no constraint.
            if value.is_none() && input.topology.degree(v as u32) > 0 {
                *value = Some(0.0);
            }
        }
        let kept = input.nodes(p, "vertices")?;
        Ok(Output::one("constraint", Values::F64OrNull(values).only(kept.as_deref())))
    },
    ..AlgorithmSpec::BASE
};
