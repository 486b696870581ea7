//! The specifications of the Louvain method: cuGraph's `louvain` and igraph's `community_multilevel`.

use graphlume_graph::Topology;
use graphlume_types::CancelToken;

use super::{leiden, louvain, searches};
use crate::input::Sign;
use crate::libraries::Seen;
use crate::spec::{
    AlgorithmSpec, Cost, Dtype, RANDOM_STATE, WEIGHTS, cugraph, igraph, only, output, param,
};
use crate::view::{Copies, GraphView, Loops, Shape};
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
        let seen = libraries::seen(input, true, weights.as_deref())?;
        let options = louvain_options(p)?;
        Ok(Output::labels("louvain", &best(&seen, &options, input.cancel)?))
    },
    paper: "Blondel et al. 2008",
    cost: Cost::Iterative,
    ..AlgorithmSpec::BASE
};

/// What igraph's `community_multilevel` asks for, of the CPU and of the GPU.
pub(crate) fn multilevel_options(p: &ParamValues) -> louvain::Options {
    louvain::Options {
        seed: p.count("random_state"),
        resolution: p.float("resolution").unwrap_or(1.0),
        ..louvain::Options::default()
    }
}

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
        let options = multilevel_options(p);
        let weights = input.weights(p, Sign::NotNegative)?;
        let seen = libraries::seen(input, true, weights.as_deref())?;
        Ok(Output::labels("community_multilevel", &best(&seen, &options, input.cancel)?))
    },
    paper: "Blondel et al. 2008",
    cost: Cost::Iterative,
    ..AlgorithmSpec::BASE
};

/// The communities of the best of some searches by modularity. In a small graph the Leiden method searches too.
fn best(
    seen: &Seen,
    options: &louvain::Options,
    cancel: &CancelToken,
) -> Result<Vec<u32>, AlgoError> {
    let (topology, weights) = (&seen.topology, seen.weights.as_deref());
    let arcs = 2 * u64::from(topology.num_edges());
    let found = searches::best(arcs, options.seed, |seed| {
        let found =
            louvain::find(topology, weights, &louvain::Options { seed, ..*options }, cancel)?;
        // Of a large graph, which is searched once, the quality is asked of nothing.
        let reached = if searches::count(arcs) == 1 {
            0.0
        } else {
            quality(topology, weights, &found, options.resolution)
        };
        Ok((reached, found))
    })?;
    if arcs > SMALL_ARCS || options.max_level < louvain::Options::default().max_level {
        return Ok(found);
    }
    let by_row: Option<Vec<f64>> = weights.map(|w| w.iter().map(|w| f64::from(*w)).collect());
    let shape = Shape { directed: false, copies: Copies::Keep, loops: Loops::Twice };
    let view = GraphView::new(topology, by_row.as_deref(), shape)?;
    let refined = searches::best(arcs, options.seed, |seed| {
        let leiden = leiden::Options {
            objective: leiden::Objective::Modularity,
            resolution: options.resolution,
            seed,
            n_iterations: -1,
            ..leiden::Options::default()
        };
        let found = leiden::run(&view, &leiden, cancel)?;
        Ok((quality(topology, weights, &found.labels, options.resolution), found.labels))
    })?;
    let reached = |labels: &[u32]| quality(topology, weights, labels, options.resolution);
    Ok(if reached(&refined) > reached(&found) + 1e-9 { refined } else { found })
}

/// A graph with so many arcs is searched more than once.
const SMALL_ARCS: u64 = 20_000;

/// Modularity (Newman and Girvan 2004) with weights and a resolution.
fn quality(topology: &Topology, weights: Option<&[f32]>, labels: &[u32], resolution: f64) -> f64 {
    let weight = |row: u32| {
        let known = weights.and_then(|w| w.get(row as usize)).copied();
        f64::from(known.filter(|w| !w.is_nan()).unwrap_or(1.0))
    };
    let (mut inside, mut all) = (0.0, 0.0);
    let mut total = vec![0.0; labels.iter().max().map_or(0, |l| *l as usize + 1)];
    for v in 0..topology.num_nodes() {
        let own = labels[v as usize];
        for (to, row) in topology.out_neighbors(v).iter().zip(topology.out_rows(v)) {
            let (w, other) = (weight(*row), labels[*to as usize]);
            all += w;
            total[own as usize] += w;
            total[other as usize] += w;
            inside += if own == other { w } else { 0.0 };
        }
    }
    if all == 0.0 {
        return 0.0;
    }
    let expected = total.iter().map(|t| (t / (2.0 * all)).powi(2)).sum::<f64>();
    inside / all - resolution * expected
}

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
