//! The specifications of the Leiden method: cuGraph's `leiden` and igraph's `community_leiden`.

use super::{Objective, Options, run};
use crate::community::searches;
use crate::community::specs::{BASE, RESOLUTION, label, membership, node_weights, undirected};
use crate::input::Sign;
use crate::spec::{AlgorithmSpec, DIRECTED, Dtype, RANDOM_STATE, WEIGHTS, cugraph, igraph, param};
use crate::view::GraphView;
use crate::{AlgoError, Input, Output};

use Dtype::{Choice, Float, Int, NodeValues};

pub(in crate::community) fn leiden_labels(
    input: &Input<'_>,
    view: &GraphView<'_>,
    options: &Options,
) -> Result<Vec<u32>, AlgoError> {
    searches::best(view.num_arcs() as u64, options.seed, |seed| {
        let options = Options { seed, ..options.clone() };
        let found = run(view, &options, input.cancel)?;
        Ok((found.quality, found.labels))
    })
}

/// cuGraph's `leiden`.
pub static LEIDEN: AlgorithmSpec = AlgorithmSpec {
    id: "leiden",
    names: &[cugraph("leiden")],
    params: &[
        param("max_iter", Int, "100", Some((1.0, 1e6)), "iterations at most"),
        RESOLUTION,
        RANDOM_STATE,
        param("theta", Float, "1.0", Some((1e-9, 1e9)), "how freely the refinement draws"),
    ],
    outputs: &[label("leiden")],
    doc: "Communities by the Leiden method for modularity; each is connected.",
    paper: "Traag, Waltman and van Eck 2019",
    run: |input, p| {
        let view = undirected(input, p, Sign::NotNegative)?;
        let options = Options {
            objective: Objective::Modularity,
            resolution: p.float("resolution").unwrap_or(1.0),
            beta: p.float("theta").unwrap_or(1.0) * 0.01,
            seed: p.count("random_state"),
            n_iterations: p.int("max_iter").unwrap_or(100),
            ..Options::default()
        };
        Ok(Output::labels("leiden", &leiden_labels(input, &view, &options)?))
    },
    ..BASE
};

/// igraph's `community_leiden`.
pub static COMMUNITY_LEIDEN: AlgorithmSpec = AlgorithmSpec {
    id: "community_leiden",
    names: &[igraph("community_leiden")],
    params: &[
        param(
            "objective_function",
            Choice(&["CPM", "modularity"]),
            "\"CPM\"",
            None,
            "what is made as large as possible; with CPM and resolution 1 a graph without weights falls into single nodes",
        ),
        WEIGHTS,
        RESOLUTION,
        param("beta", Float, "0.01", Some((1e-12, 1e9)), "how freely the refinement draws"),
        param("initial_membership", NodeValues, "null", None, "communities to begin with"),
        param(
            "n_iterations",
            Int,
            "2",
            Some((-1e6, 1e6)),
            "iterations; below 0 until nothing changes",
        ),
        param("node_weights", NodeValues, "null", None, "what a node counts for with CPM"),
        param(
            "node_in_weights",
            NodeValues,
            "null",
            None,
            "the same as the target of edges, where they lead one way; null is node_weights",
        ),
        DIRECTED,
        RANDOM_STATE,
    ],
    outputs: &[label("community_leiden")],
    doc: "Communities by the Leiden method for the constant Potts model or modularity, with the directions of edges unless \
          told otherwise; each is connected.",
    paper: "Traag, Waltman and van Eck 2019",
    run: |input, p| {
        let by_modularity = p.text("objective_function").as_deref() == Some("modularity");
        let weights =
            input.weights(p, if by_modularity { Sign::NotNegative } else { Sign::Any })?;
        let view = input.view(p.bool("directed"), weights.as_deref())?;
        let initial = membership(input, p, "initial_membership")?;
        let options = Options {
            objective: if by_modularity { Objective::Modularity } else { Objective::Cpm },
            resolution: p.float("resolution").unwrap_or(1.0),
            beta: p.float("beta").unwrap_or(0.01),
            seed: p.count("random_state"),
            n_iterations: p.int("n_iterations").unwrap_or(2),
            node_weights: node_weights(input, p, "node_weights")?,
            node_in_weights: node_weights(input, p, "node_in_weights")?,
            initial_membership: initial.map(|labels| known(&labels)),
            ..Options::default()
        };
        Ok(Output::labels("community_leiden", &leiden_labels(input, &view, &options)?))
    },
    ..BASE
};

/// Labels of 32 bits: nodes without one get a label each of their own.
fn known(labels: &[i64]) -> Vec<u32> {
    let mut numbers = std::collections::BTreeMap::new();
    let mut next = 0u32;
    let mut fresh = || {
        next += 1;
        next - 1
    };
    labels
        .iter()
        .map(|l| if *l < 0 { fresh() } else { *numbers.entry(*l).or_insert_with(&mut fresh) })
        .collect()
}
