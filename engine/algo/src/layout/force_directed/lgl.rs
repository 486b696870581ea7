//! The Large Graph Layout (Adai, Date, Wieland and Marcotte 2004) with the parameters of python-igraph.

use super::{Attraction, CoolingStep, Forces, Plan, Repulsion, iterations, run};
use crate::layout::coordinates::{XY, coordinates};
use crate::spec::{Cost, RANDOM_STATE, igraph, param};
use crate::{AlgoError, AlgorithmSpec, Dtype, Input, Kind, Output, ParamSpec, ParamValues};

/// Up to this many nodes they are held together where nothing is said: longer graphs would be crushed.
const HELD_NODES_MAX: f64 = 1000.0;

const fn or_usual(name: &'static str, doc: &'static str) -> ParamSpec {
    param(name, Dtype::Float, "null", Some((-1e300, 1e300)), doc)
}

pub(crate) static LGL: AlgorithmSpec = AlgorithmSpec {
    id: "large_graph_layout",
    names: &[igraph("lgl"), igraph("large"), igraph("large_graph")],
    kind: Kind::Layout,
    params: &[
        param(
            "maxiter",
            Dtype::Int,
            "150",
            Some((0.0, 1e6)),
            "iterations; large graphs do a share of them",
        ),
        or_usual(
            "maxdelta",
            "farthest move of the first iteration; null or below 0 is the number of nodes",
        ),
        or_usual("area", "area of the picture; null or below 0 is n^2"),
        param("coolexp", Dtype::Float, "1.5", Some((1e-3, 1e3)), "power with which moves shrink"),
        or_usual(
            "repulserad",
            "cube of the distance beyond which nodes pull; null or below 0 is area times n up to 1000 nodes, else none",
        ),
        or_usual("cellsize", "taken as it is: a tree stands in for the cells of the grid"),
        param(
            "root",
            Dtype::Node,
            "null",
            None,
            "node around which its component starts by hops; null starts from a coarse picture",
        ),
        RANDOM_STATE,
    ],
    outputs: XY,
    doc: "Large Graph Layout (Adai et al. 2004): the forces of Fruchterman and Reingold at the scale of the area. Each component is laid out by itself, and they lie side by side.",
    paper: "Adai, Date, Wieland and Marcotte 2004; Fruchterman and Reingold 1991",
    cost: Cost::LogLinear,
    run: lay_out,
    ..AlgorithmSpec::BASE
};

fn lay_out(input: &Input<'_>, p: &ParamValues) -> Result<Output, AlgoError> {
    let n = f64::from(input.num_nodes().max(1));
    let given = |name: &str| p.float(name).filter(|x| *x > 0.0);
    let area = given("area").unwrap_or(n * n);
    // Lengths are computed in those of an edge and its two nodes at rest.
    let unit = (area / n).sqrt();
    let first = given("maxdelta").unwrap_or(n) / unit;
    let usual = (n <= HELD_NODES_MAX).then_some(area * n);
    let beyond = given("repulserad").or(usual).map(|cube| cube / unit.powi(3));
    let power = p.float("coolexp").unwrap_or(1.5);
    let steps = |n: usize, _: bool| {
        let count = iterations(p.count("maxiter"), n, true);
        let falls = |k: u64| first * (1.0 - k as f64 / count as f64).powf(power);
        (0..count)
            .map(|k| CoolingStep { limit: falls(k) as f32, speed: 1.0, pull: 1.0, cut: None })
            .collect()
    };
    let mut points = run::<2>(
        input,
        &Plan {
            forces: Forces {
                repulsion: Repulsion::Inverse,
                push: 1.0,
                attraction: Attraction::Power(2),
                pull: 1.0,
                // The pull of all nodes beyond the radius, as if they stood in the middle.
                confinement: beyond.map_or(0.0, |cube| (n / cube).min(1e6)) as f32,
            },
            steps: &steps,
            weights: None,
            start: None,
            bounds: None,
            root: input.node(p, "root")?,
            may_mend: false,
            seed: p.count("random_state"),
        },
    )?;
    points.iter_mut().flatten().for_each(|x| *x *= unit);
    Ok(coordinates(&points))
}
