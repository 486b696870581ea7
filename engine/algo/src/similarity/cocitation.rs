//! Cocitation (Small 1973) and bibliographic coupling (Kessler 1963): how many nodes cite two nodes, and how many two
//! nodes cite, as a row for each node (Gustavson 1978).

use graphlume_types::CancelToken;
use rayon::prelude::*;

use crate::spec::{AlgorithmSpec, Cost, DIRECTED, Dtype, VERTICES, igraph, output};
use crate::view::{GraphView, Lists};
use crate::{AlgoError, Input, Output, ParamValues, Values};

/// Nodes of a graph at most: the answer has a number for every pair of them.
pub const NODES_MAX: u64 = 10_000;

/// For every node how many two-step ways lead to each other node, over `first` and then over `second`. A node has as many
/// to itself as it has pairs of copies of an edge, so that in a simple graph there is 0.
///
/// # Errors
/// [`AlgoError::TooLarge`], [`AlgoError::Cancelled`].
pub fn run(
    algorithm: &'static str,
    first: &Lists<'_>,
    second: &Lists<'_>,
    cancel: &CancelToken,
) -> Result<Vec<Vec<i64>>, AlgoError> {
    let n = first.offsets().len() - 1;
    if n as u64 > NODES_MAX {
        return Err(AlgoError::TooLarge {
            algorithm,
            what: "nodes",
            size: n as u64,
            limit: NODES_MAX,
            instead: "jaccard compares the ends of edges at any size",
        });
    }
    (0..n as u32)
        .into_par_iter()
        .map(|v| {
            cancel.check()?;
            let mut row = vec![0i64; n];
            for w in first.neighbors(v) {
                for u in second.neighbors(*w) {
                    row[*u as usize] += 1;
                }
                // The way back over the same edge is none.
                row[v as usize] -= 1;
            }
            Ok(row)
        })
        .collect()
}

fn rows(input: &Input<'_>, p: &ParamValues, cited: bool) -> Result<Output, AlgoError> {
    let view: GraphView<'_> = input.view(p.bool("directed"), None)?;
    let (name, first, second) = match cited {
        true => ("cocitation", view.incoming(), view.out()),
        false => ("bibcoupling", view.out(), view.incoming()),
    };
    let kept = input.nodes(p, "vertices")?;
    let values = Values::Lists(run(name, first, second, input.cancel)?);
    Ok(Output::one(name, values.only(kept.as_deref())))
}

/// igraph's `cocitation`.
pub static COCITATION: AlgorithmSpec = AlgorithmSpec {
    id: "cocitation",
    names: &[igraph("cocitation")],
    params: &[VERTICES, DIRECTED],
    outputs: &[output("cocitation", Dtype::IntList, "for each node how many nodes lead to both")],
    doc: "Cocitation counts of every pair of nodes.",
    paper: "Small 1973",
    cost: Cost::Quadratic,
    run: |input, p| rows(input, p, true),
    ..AlgorithmSpec::BASE
};

/// igraph's `bibcoupling`.
pub static BIBCOUPLING: AlgorithmSpec = AlgorithmSpec {
    id: "bibcoupling",
    names: &[igraph("bibcoupling")],
    params: &[VERTICES, DIRECTED],
    outputs: &[output("bibcoupling", Dtype::IntList, "for each node how many nodes both lead to")],
    doc: "Bibliographic coupling of every pair of nodes.",
    paper: "Kessler 1963",
    cost: Cost::Quadratic,
    run: |input, p| rows(input, p, false),
    ..AlgorithmSpec::BASE
};
