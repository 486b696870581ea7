//! The specification of the exact method, by its name in the client's table of igraph.

use crate::Output;
use crate::community::leiden::spec::leiden_labels;
use crate::community::leiden::{self, Objective};
use crate::community::specs::{BASE, RESOLUTION, label};
use crate::input::Sign;
use crate::spec::{AlgorithmSpec, Cost, DIRECTED, WEIGHTS, extra};

/// igraph's `community_optimal_modularity`.
pub static OPTIMAL_MODULARITY: AlgorithmSpec = AlgorithmSpec {
    id: "community_optimal_modularity",
    names: &[extra("igraph", "community_optimal_modularity")],
    params: &[WEIGHTS, RESOLUTION, DIRECTED],
    outputs: &[label("community_optimal_modularity")],
    doc: "Communities of the largest modularity there is, and the proof that there is no better: for small graphs, of at \
          most 200 nodes that are connected, where it takes from milliseconds to minutes.",
    paper: "Brandes et al. 2008; Grötschel and Wakabayashi 1989",
    cost: Cost::Quadratic,
    run: |input, p| {
        let weights = input.weights(p, Sign::NotNegative)?;
        let view = input.view(p.bool("directed"), weights.as_deref())?;
        let resolution = p.float("resolution").unwrap_or(1.0);
        let options = leiden::Options {
            objective: Objective::Modularity,
            resolution,
            n_iterations: -1,
            ..leiden::Options::default()
        };
        let guess = || leiden_labels(input, &view, &options);
        let labels = super::run(&view, resolution, guess, input.cancel)?;
        Ok(Output::labels("community_optimal_modularity", &labels))
    },
    ..BASE
};
