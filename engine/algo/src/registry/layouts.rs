//! The specifications of the layouts.

use crate::layout::closed;
use crate::layout::force_atlas2::{ForceAtlas2, Params};
use crate::layout::initial_layout;
use crate::spec::{OutputSpec, RANDOM_STATE, cugraph, ignored, igraph, only, output, param};
use crate::{AlgoError, AlgorithmSpec, Column, Dtype, Input, Kind, Output, ParamValues, Values};

use Dtype::{Bool, Float, Int, Node};
use Kind::Layout;

const XY: &[OutputSpec] = &[output("x", Float, "abscissa"), output("y", Float, "ordinate")];
const XYZ: &[OutputSpec] =
    &[output("x", Float, "abscissa"), output("y", Float, "ordinate"), output("z", Float, "height")];

/// Columns `x`, `y` and perhaps `z`.
fn coordinates<const D: usize>(points: &[[f64; D]]) -> Output {
    let column = |c: usize| Values::F64(points.iter().map(|p| p[c]).collect());
    let names = ["x", "y", "z"];
    Output::nodes((0..D).map(|c| Column { name: names[c], values: column(c) }).collect())
}

const ANY_SCALE: Option<(f64, f64)> = Some((0.0, 1e6));

pub(super) static FORCE_ATLAS2: AlgorithmSpec = AlgorithmSpec {
    id: "force_atlas2",
    names: &[cugraph("force_atlas2")],
    kind: Layout,
    params: &[
        param("max_iter", Int, "500", Some((0.0, 1e6)), "iterations"),
        param("outbound_attraction_distribution", Bool, "true", None, "push hubs to the rim"),
        param("lin_log_mode", Bool, "false", None, "logarithmic attraction: tighter clusters"),
        param("prevent_overlapping", Bool, "false", None, "push overlapping nodes apart"),
        param(
            "vertex_radius",
            Float,
            "1.0",
            ANY_SCALE,
            "radius of every node, for prevent_overlapping",
        ),
        param("overlap_scaling_ratio", Float, "100.0", ANY_SCALE, "push between overlapping nodes"),
        param(
            "edge_weight_influence",
            Float,
            "1.0",
            Some((-10.0, 10.0)),
            "exponent of the edge weight",
        ),
        param("jitter_tolerance", Float, "1.0", Some((1e-3, 1e3)), "swinging that is tolerated"),
        param("barnes_hut_optimize", Bool, "true", None, "approximate the far field"),
        param("barnes_hut_theta", Float, "0.5", Some((0.0, 2.0)), "smaller is more exact"),
        param("scaling_ratio", Float, "2.0", Some((1e-6, 1e6)), "strength of the repulsion"),
        param("strong_gravity_mode", Bool, "false", None, "gravity grows with the distance"),
        param("gravity", Float, "1.0", ANY_SCALE, "pull to the origin"),
        param(
            "double_attraction",
            Bool,
            "true",
            None,
            "attract from both ends of each edge, as cuGraph does",
        ),
        param(
            "multilevel_start",
            Bool,
            "true",
            None,
            "start from a coarse picture instead of at random",
        ),
        RANDOM_STATE,
    ],
    accepted: &[
        ignored("verbose"),
        only("pos_list", "[]"),
        only("callback", "[]"),
        only("vertex_mobility", "[]"),
        only("vertex_mass", "[]"),
    ],
    outputs: XY,
    doc: "ForceAtlas2 (Jacomy et al. 2014).",
    run: force_atlas2,
    ..AlgorithmSpec::BASE
};

/// The layout's own parameters out of those of a request.
#[must_use]
pub fn force_atlas2_params(p: &ParamValues) -> Params {
    let default = Params::cugraph();
    let number = |name, default| p.float(name).unwrap_or(default);
    Params {
        outbound_attraction_distribution: p.bool("outbound_attraction_distribution"),
        lin_log_mode: p.bool("lin_log_mode"),
        prevent_overlapping: p.bool("prevent_overlapping"),
        overlap_scaling_ratio: number("overlap_scaling_ratio", default.overlap_scaling_ratio),
        edge_weight_influence: number("edge_weight_influence", default.edge_weight_influence),
        jitter_tolerance: number("jitter_tolerance", default.jitter_tolerance),
        barnes_hut_optimize: p.bool("barnes_hut_optimize"),
        barnes_hut_theta: number("barnes_hut_theta", default.barnes_hut_theta),
        scaling_ratio: number("scaling_ratio", default.scaling_ratio),
        strong_gravity_mode: p.bool("strong_gravity_mode"),
        gravity: number("gravity", default.gravity),
        double_attraction: p.bool("double_attraction"),
        ..default
    }
}

fn force_atlas2(input: &Input<'_>, p: &ParamValues) -> Result<Output, AlgoError> {
    let params = force_atlas2_params(p);
    let n = input.num_nodes() as usize;
    let seed = p.count("random_state");
    let begin = if p.bool("multilevel_start") {
        initial_layout::place(input.topology, seed, input.cancel)?
    } else {
        closed::random(n, seed).iter().map(|q| q.map(|v| 100.0 * v as f32)).collect()
    };
    let radii = vec![p.float("vertex_radius").unwrap_or(1.0) as f32; n];
    let weights: Option<Vec<f32>> = input.weights.map(|w| w.iter().map(|w| *w as f32).collect());
    let weights = weights.as_deref();
    let mut layout =
        ForceAtlas2::new(input.topology, weights, params, &begin, Some(&radii), None, None)?;
    for _ in 0..p.count("max_iter") {
        layout.iterate(input.cancel)?;
    }
    let mut out = Vec::new();
    layout.positions(&mut out);
    Ok(coordinates(&out.iter().map(|q| q.map(f64::from)).collect::<Vec<_>>()))
}

pub(super) static CIRCLE: AlgorithmSpec = AlgorithmSpec {
    id: "circle",
    names: &[igraph("circle"), igraph("circular")],
    kind: Layout,
    outputs: XY,
    doc: "The unit circle, counter-clockwise from (1, 0).",
    run: |input, _| Ok(coordinates(&closed::circle(input.num_nodes() as usize))),
    ..AlgorithmSpec::BASE
};

pub(super) static STAR: AlgorithmSpec = AlgorithmSpec {
    id: "star",
    names: &[igraph("star")],
    kind: Layout,
    params: &[param("center", Node, "null", None, "node in the middle; null is the first")],
    outputs: XY,
    doc: "One node in the origin, the others on the unit circle.",
    run: |input, p| {
        let center = input.node(p, "center")?.unwrap_or(0);
        Ok(coordinates(&closed::star(input.num_nodes() as usize, center as usize)))
    },
    ..AlgorithmSpec::BASE
};

pub(super) static GRID: AlgorithmSpec = AlgorithmSpec {
    id: "grid",
    names: &[igraph("grid")],
    kind: Layout,
    params: &[param(
        "width",
        Int,
        "0",
        Some((0.0, 4e9)),
        "nodes of a row; 0 is the root of their number",
    )],
    outputs: XY,
    doc: "A square grid, row by row.",
    run: |input, p| {
        Ok(coordinates(&closed::grid(input.num_nodes() as usize, p.count("width") as usize)))
    },
    ..AlgorithmSpec::BASE
};

pub(super) static GRID_3D: AlgorithmSpec = AlgorithmSpec {
    id: "grid_3d",
    names: &[igraph("grid_3d")],
    kind: Layout,
    params: &[
        param("width", Int, "0", Some((0.0, 4e9)), "nodes of a row; 0 chooses"),
        param("height", Int, "0", Some((0.0, 4e9)), "rows of a layer; 0 chooses"),
    ],
    outputs: XYZ,
    doc: "A cubic grid, layer by layer.",
    run: |input, p| {
        let n = input.num_nodes() as usize;
        let (width, height) = (p.count("width") as usize, p.count("height") as usize);
        Ok(coordinates(&closed::grid_3d(n, width, height)))
    },
    ..AlgorithmSpec::BASE
};

pub(super) static SPHERE: AlgorithmSpec = AlgorithmSpec {
    id: "sphere",
    names: &[igraph("sphere"), igraph("spherical"), igraph("circle_3d"), igraph("circular_3d")],
    kind: Layout,
    outputs: XYZ,
    doc: "Nearly even points on the unit sphere (Saff and Kuijlaars 1997).",
    run: |input, _| Ok(coordinates(&closed::sphere(input.num_nodes() as usize))),
    ..AlgorithmSpec::BASE
};

pub(super) static RANDOM: AlgorithmSpec = AlgorithmSpec {
    id: "random",
    names: &[igraph("random")],
    kind: Layout,
    params: &[RANDOM_STATE],
    outputs: XY,
    doc: "Uniform points of the square from -1 to 1.",
    run: |input, p| {
        Ok(coordinates(&closed::random(input.num_nodes() as usize, p.count("random_state"))))
    },
    ..AlgorithmSpec::BASE
};

pub(super) static RANDOM_3D: AlgorithmSpec = AlgorithmSpec {
    id: "random_3d",
    names: &[igraph("random_3d")],
    kind: Layout,
    params: &[RANDOM_STATE],
    outputs: XYZ,
    doc: "Uniform points of the cube from -1 to 1.",
    run: |input, p| {
        Ok(coordinates(&closed::random_3d(input.num_nodes() as usize, p.count("random_state"))))
    },
    ..AlgorithmSpec::BASE
};
