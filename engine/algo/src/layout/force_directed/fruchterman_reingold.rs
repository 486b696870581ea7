//! The layout of Fruchterman and Reingold (1991) with the parameters of python-igraph.

use super::{Attraction, CoolingStep, Forces, Plan, Repulsion, iterations, run};
use crate::input::Sign;
use crate::layout::coordinates::{DIM, XY, XYZ, coordinates, is_3d};
use crate::layout::given::{self, MAXX, MAXY, MAXZ, MINX, MINY, MINZ, START};
use crate::spec::{Cost, RANDOM_STATE, igraph, only, param};
use crate::{AlgoError, AlgorithmSpec, Dtype, Input, Kind, Output, ParamSpec, ParamValues};

const NITER: ParamSpec = param(
    "niter",
    Dtype::Int,
    "500",
    Some((0.0, 1e6)),
    "iterations; from a start of our own, large graphs do a share of them",
);
const START_TEMP: ParamSpec = param(
    "start_temp",
    Dtype::Float,
    "null",
    Some((0.0, 1e9)),
    "farthest move of the first iteration, which falls to 0; null is sqrt(n) / 10",
);
/// The strength of edges, which must be above 0.
pub(super) const WEIGHTS: ParamSpec = param(
    "weights",
    Dtype::EdgeColumn,
    "null",
    None,
    "edge column of the strengths, above 0; null is 1 each",
);

pub(crate) static FRUCHTERMAN_REINGOLD: AlgorithmSpec = AlgorithmSpec {
    id: "fruchterman_reingold",
    names: &[igraph("fr"), igraph("fruchterman_reingold")],
    kind: Kind::Layout,
    params: &[
        WEIGHTS,
        NITER,
        START,
        START_TEMP,
        MINX,
        MAXX,
        MINY,
        MAXY,
        MINZ,
        MAXZ,
        DIM,
        RANDOM_STATE,
    ],
    accepted: &[only("grid", "[\"auto\", \"grid\", \"nogrid\", true, false]")],
    outputs: XY,
    doc: "Nodes push each other with 1/d and edges pull with w d^2 (Fruchterman and Reingold 1991), by a tree at any size. \
          Components lie side by side.",
    paper: "Fruchterman and Reingold 1991; Barnes and Hut 1986",
    cost: Cost::LogLinear,
    run: |input, p| if is_3d(p) { lay_out::<3>(input, p) } else { lay_out::<2>(input, p) },
    ..AlgorithmSpec::BASE
};

pub(crate) static FRUCHTERMAN_REINGOLD_3D: AlgorithmSpec = AlgorithmSpec {
    id: "fruchterman_reingold_3d",
    names: &[igraph("fr_3d"), igraph("fr3d"), igraph("fruchterman_reingold_3d")],
    params: &[WEIGHTS, NITER, START, START_TEMP, MINX, MAXX, MINY, MAXY, MINZ, MAXZ, RANDOM_STATE],
    outputs: XYZ,
    doc: "As `fruchterman_reingold`, in space.",
    run: lay_out::<3>,
    ..FRUCHTERMAN_REINGOLD
};

/// Fruchterman and Reingold's forces at the length 1.
pub(super) const FORCES: Forces = Forces {
    repulsion: Repulsion::Inverse,
    push: 1.0,
    attraction: Attraction::Power(2),
    pull: 1.0,
    confinement: 0.0,
};

fn lay_out<const D: usize>(input: &Input<'_>, p: &ParamValues) -> Result<Output, AlgoError> {
    let weights = input.weights(p, Sign::Positive)?;
    let first = p.float("start_temp").unwrap_or(f64::from(input.num_nodes()).sqrt() / 10.0);
    let steps = |n: usize, own: bool| {
        let count = iterations(p.count("niter"), n, own);
        let falls = |k: u64| first * (1.0 - k as f64 / count as f64);
        (0..count)
            .map(|k| CoolingStep { limit: falls(k) as f32, speed: 1.0, pull: 1.0, cut: None })
            .collect()
    };
    let points = run(
        input,
        &Plan {
            forces: FORCES,
            steps: &steps,
            weights: weights.as_deref(),
            start: given::start::<D>(input, p)?,
            bounds: given::bounds::<D>(input, p)?,
            root: None,
            may_mend: false,
            seed: p.count("random_state"),
        },
    )?;
    Ok(coordinates(&points))
}
