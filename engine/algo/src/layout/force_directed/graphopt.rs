//! The layout graphopt (Schmuhl) with the parameters of python-igraph.

use super::{Attraction, CoolingStep, Forces, Plan, Repulsion, iterations, run};
use crate::layout::coordinates::{XY, coordinates};
use crate::layout::given::{self, START};
use crate::spec::{Cost, RANDOM_STATE, igraph, param};
use crate::{AlgoError, AlgorithmSpec, Dtype, Input, Kind, Output, ParamValues};

use Dtype::{Float, Int};

/// Coulomb's constant, in newtons times square metres over square coulombs.
const COULOMB: f64 = 8_987_500_000.0;
/// The mass with which a node goes a usual step.
const USUAL_MASS: f64 = 30.0;
const POSITIVE: Option<(f64, f64)> = Some((1e-9, 1e9));

pub(crate) static GRAPHOPT: AlgorithmSpec = AlgorithmSpec {
    id: "graphopt",
    names: &[igraph("graphopt")],
    kind: Kind::Layout,
    params: &[
        param(
            "niter",
            Int,
            "500",
            Some((0.0, 1e6)),
            "iterations; from a start of our own, large graphs do a share of them",
        ),
        param("node_charge", Float, "0.001", Some((0.0, 1e6)), "charge of a node, in coulombs"),
        param("node_mass", Float, "30.0", POSITIVE, "a heavier node goes smaller steps"),
        param("spring_length", Float, "0.0", Some((0.0, 1e9)), "length of an edge at rest"),
        param("spring_constant", Float, "1.0", POSITIVE, "pull of an edge by its length"),
        param("max_sa_movement", Float, "5.0", Some((0.0, 1e9)), "farthest move of an iteration"),
        START,
        RANDOM_STATE,
    ],
    outputs: XY,
    doc: "Charged nodes and springs (Schmuhl's graphopt): the push falls with the square of the distance, by a tree at any \
          size. Components lie side by side.",
    paper: "Schmuhl's graphopt; Barnes and Hut 1986",
    cost: Cost::LogLinear,
    run: lay_out,
    ..AlgorithmSpec::BASE
};

fn lay_out(input: &Input<'_>, p: &ParamValues) -> Result<Output, AlgoError> {
    let number = |name: &str| p.float(name).unwrap_or(0.0);
    let speed = (USUAL_MASS / number("node_mass")).min(1.5) as f32;
    let limit = number("max_sa_movement") as f32;
    let steps = |n: usize, own: bool| {
        let count = iterations(p.count("niter"), n, own);
        (0..count).map(|_| CoolingStep { limit, speed, pull: 1.0, cut: None }).collect()
    };
    let points = run(
        input,
        &Plan {
            forces: Forces {
                repulsion: Repulsion::InverseSquare,
                push: (COULOMB * number("node_charge").powi(2)) as f32,
                attraction: Attraction::Spring(number("spring_length") as f32),
                pull: number("spring_constant") as f32,
                confinement: 0.0,
            },
            steps: &steps,
            weights: None,
            start: given::start::<2>(input, p)?,
            bounds: None,
            root: None,
            may_mend: false,
            seed: p.count("random_state"),
        },
    )?;
    Ok(coordinates(&points))
}
