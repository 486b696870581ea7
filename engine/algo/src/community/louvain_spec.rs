//! The specifications of the Louvain method: cuGraph's `louvain` and igraph's `community_multilevel`.

use super::louvain;
use crate::input::Sign;
use crate::spec::{
    AlgorithmSpec, Cost, Dtype, RANDOM_STATE, WEIGHTS, cugraph, igraph, only, output, param,
};
use crate::{AlgoError, Output, ParamValues, libraries};

use Dtype::{Float, Int};

const LEVELS: Option<(f64, f64)> = Some((1.0, 500.0));

/// cuGraph's `louvain`.
pub static LOUVAIN: AlgorithmSpec = AlgorithmSpec {
    id: "louvain",
    names: &[cugraph("louvain")],
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
    outputs: &[output("louvain", Int, "community, numbered from 0 by first appearance")],
    doc: "Communities by the Louvain method (Blondel et al. 2008) on the undirected graph.",
    run: |input, p| {
        let weights = input.weights(p, Sign::NotNegative)?;
        let seen = libraries::seen(input, true, weights.as_deref());
        let options = louvain_options(p)?;
        let found = louvain::find(&seen.topology, seen.weights.as_deref(), &options, input.cancel)?;
        Ok(Output::labels("louvain", &found))
    },
    paper: "Blondel et al. 2008",
    cost: Cost::Iterative,
    ..AlgorithmSpec::BASE
};

/// igraph's `community_multilevel`.
pub static MULTILEVEL: AlgorithmSpec = AlgorithmSpec {
    id: "community_multilevel",
    names: &[igraph("community_multilevel")],
    params: &[
        param("resolution", Float, "1.0", Some((1e-6, 1e6)), "larger gives smaller communities"),
        RANDOM_STATE,
        WEIGHTS,
    ],
    accepted: &[only("return_levels", "[false]")],
    outputs: &[output("community_multilevel", Int, "community, numbered by first appearance")],
    doc: "Communities by the Louvain method (Blondel et al. 2008) on the undirected graph.",
    run: |input, p| {
        let options = louvain::Options {
            seed: p.count("random_state"),
            resolution: p.float("resolution").unwrap_or(1.0),
            ..louvain::Options::default()
        };
        let weights = input.weights(p, Sign::NotNegative)?;
        let seen = libraries::seen(input, true, weights.as_deref());
        let found = louvain::find(&seen.topology, seen.weights.as_deref(), &options, input.cancel)?;
        Ok(Output::labels("community_multilevel", &found))
    },
    paper: "Blondel et al. 2008",
    cost: Cost::Iterative,
    ..AlgorithmSpec::BASE
};

/// The options of Louvain out of the parameters of a request.
///
/// # Errors
/// [`AlgoError::BadParam`] when both names of the number of levels are given.
pub fn louvain_options(p: &ParamValues) -> Result<louvain::Options, AlgoError> {
    let default = louvain::Options::default();
    if let (Some(_), Some(also)) = (p.int("max_level"), p.int("max_iter")) {
        let expected = "max_level alone: max_iter is its former name".to_owned();
        return Err(p.bad("max_iter", also.to_string(), expected));
    }
    let levels = p.int("max_level").or(p.int("max_iter")).and_then(|l| u64::try_from(l).ok());
    Ok(louvain::Options {
        seed: p.count("random_state"),
        resolution: p.float("resolution").unwrap_or(default.resolution),
        max_level: levels.unwrap_or(default.max_level),
        threshold: p.float("threshold").unwrap_or(default.threshold),
    })
}
