//! Structural constraint (Burt 1992): how far the contacts of a node are tied to each other.

use graphlume_types::CancelToken;
use rayon::prelude::*;

use crate::input::Sign;
use crate::spec::{AlgorithmSpec, Cost, DIRECTED, Dtype, VERTICES, WEIGHTS, igraph, output};
use crate::view::{Copies, GraphView, Loops, Shape};
use crate::{AlgoError, Output, Values};

/// Nodes of one unit of parallel work.
const NODES: usize = 64;
/// A list that is so many times longer is searched instead of walked.
const LONGER: usize = 8;
/// The place of a node that is no contact.
const NOWHERE: u32 = u32::MAX;

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
    let of_chunk = |places: &mut Vec<u32>, first: usize| -> Result<Vec<Option<f64>>, AlgoError> {
        let mut values = Vec::with_capacity(NODES);
        let mut own = Vec::new();
        for v in first as u32..n.min(first + NODES) as u32 {
            cancel.check()?;
            let contacts = out.neighbors(v);
            if contacts.is_empty() {
                values.push(None);
                continue;
            }
            // `own[i]`: the share of v that goes to its contact i, directly and by way of another contact.
            own.clear();
            own.extend(out.weighted(v).map(|(_, w)| share(v, w)));
            for (place, u) in contacts.iter().enumerate() {
                places[*u as usize] = place as u32;
            }
            for (q, w) in out.weighted(v) {
                let through = share(v, w);
                let theirs = out.neighbors(q);
                if theirs.len() > LONGER * contacts.len() {
                    // Few contacts are looked for in a long list.
                    let start = out.range(q).start;
                    for (i, j) in contacts.iter().enumerate() {
                        if let Ok(at) = theirs.binary_search(j) {
                            own[i] += through * share(q, out.weight(start + at));
                        }
                    }
                    continue;
                }
                for (j, by) in out.weighted(q) {
                    let place = places[j as usize];
                    if place != NOWHERE {
                        own[place as usize] += through * share(q, by);
                    }
                }
            }
            values.push(Some(own.iter().map(|p| p * p).sum()));
            contacts.iter().for_each(|u| places[*u as usize] = NOWHERE);
        }
        Ok(values)
    };
    let parts = chunks.into_par_iter().map_init(|| vec![NOWHERE; n], of_chunk);
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
