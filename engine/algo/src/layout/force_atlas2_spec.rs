//! The specification of ForceAtlas2: the parameters of cuGraph's, and the run from a request.

use crate::layout::component_packing::ComponentPacking;
use crate::layout::coordinates::{XY, coordinates};
use crate::layout::force_atlas2::{ForceAtlas2, Params, tables};
use crate::layout::random::random;
use crate::layout::{initial_layout, overlap};
use crate::spec::{RANDOM_STATE, cugraph, ignored, only, param};
use crate::{AlgoError, AlgorithmSpec, Dtype, Input, Kind, Output, ParamValues};

const ANY_SCALE: Option<(f64, f64)> = Some((0.0, 1e6));

/// ForceAtlas2, as a request names it.
pub(crate) static FORCE_ATLAS2: AlgorithmSpec = AlgorithmSpec {
    id: "force_atlas2",
    names: &[cugraph("force_atlas2")],
    kind: Kind::Layout,
    params: &[
        param("max_iter", Dtype::Int, "500", Some((0.0, 1e6)), "iterations"),
        param(
            "outbound_attraction_distribution",
            Dtype::Bool,
            "true",
            None,
            "push hubs to the rim",
        ),
        param(
            "lin_log_mode",
            Dtype::Bool,
            "false",
            None,
            "logarithmic attraction: tighter clusters",
        ),
        param("prevent_overlapping", Dtype::Bool, "false", None, "push overlapping nodes apart"),
        tables::RADII,
        param(
            "overlap_scaling_ratio",
            Dtype::Float,
            "100.0",
            ANY_SCALE,
            "push between overlapping nodes",
        ),
        param(
            "edge_weight_influence",
            Dtype::Float,
            "1.0",
            Some((-10.0, 10.0)),
            "exponent of the edge weight",
        ),
        param(
            "jitter_tolerance",
            Dtype::Float,
            "1.0",
            Some((1e-3, 1e3)),
            "swinging that is tolerated",
        ),
        param("barnes_hut_optimize", Dtype::Bool, "true", None, "approximate the far field"),
        param("barnes_hut_theta", Dtype::Float, "0.5", Some((0.0, 2.0)), "smaller is more exact"),
        param("scaling_ratio", Dtype::Float, "2.0", Some((1e-6, 1e6)), "strength of the repulsion"),
        param("strong_gravity_mode", Dtype::Bool, "false", None, "gravity grows with the distance"),
        param("gravity", Dtype::Float, "1.0", ANY_SCALE, "pull to the origin"),
        param(
            "double_attraction",
            Dtype::Bool,
            "true",
            None,
            "attract from both ends of each edge, as cuGraph does",
        ),
        param(
            "multilevel_start",
            Dtype::Bool,
            "true",
            None,
            "start from a coarse picture instead of at random",
        ),
        tables::POSITIONS,
        tables::MASSES,
        tables::MOBILITIES,
        RANDOM_STATE,
    ],
    accepted: &[ignored("verbose"), only("callback", "[]")],
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

/// The layout that a request asks for, before its first iteration. `start` replaces the start that its parameters choose.
///
/// # Errors
/// As [`ForceAtlas2::new`], and [`AlgoError::Cancelled`].
pub fn force_atlas2_start(
    input: &Input<'_>,
    p: &ParamValues,
    start: Option<Vec<[f32; 2]>>,
) -> Result<ForceAtlas2, AlgoError> {
    let n = input.num_nodes() as usize;
    let seed = p.count("random_state");
    let begin = match start {
        Some(start) => start,
        None => match tables::start(input, p)? {
            Some(start) => start,
            None if p.bool("multilevel_start") => {
                initial_layout::place(input.topology, seed, input.cancel)?
            }
            None => random(n, seed).iter().map(|q| q.map(|v| 100.0 * v as f32)).collect(),
        },
    };
    let radii: Vec<f32> = tables::radii(input, p)?.iter().map(|r| *r as f32).collect();
    let mass = tables::masses(input, p)?;
    let mobility = tables::mobilities(input, p)?;
    let weights: Option<Vec<f32>> = input.weights.map(|w| w.iter().map(|w| *w as f32).collect());
    ForceAtlas2::new(
        input.topology,
        weights.as_deref(),
        force_atlas2_params(p),
        &begin,
        Some(&radii),
        mass.as_deref(),
        mobility.as_deref(),
    )
}

/// The positions after the last iteration. Small components that nothing holds are packed around the main one, as a live
/// session shows them, unless their places were `given`: the forces drive them away for ever, so that the picture of a
/// longer run would have more emptiness in it. Where overlap is to be prevented, what the forces left of it is undone.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub fn force_atlas2_end(
    input: &Input<'_>,
    p: &ParamValues,
    layout: &ForceAtlas2,
    given: bool,
) -> Result<Output, AlgoError> {
    let mut out = Vec::new();
    layout.positions(&mut out);
    let mobility = tables::mobilities(input, p)?;
    let held = |v: usize| mobility.as_ref().is_some_and(|factors| factors[v] == 0.0);
    let given = given || p.is_given(tables::POSITIONS.name);
    if !given && let Some(rim) = ComponentPacking::new(input.topology, &out, input.cancel)? {
        rim.place(&mut out, |v| held(v as usize));
    }
    let mut points: Vec<[f64; 2]> = out.iter().map(|q| q.map(f64::from)).collect();
    if p.bool("prevent_overlapping") {
        let radii = tables::radii(input, p)?;
        overlap::remove(&mut points, &radii, held, p.count("random_state"), input.cancel)?;
    }
    Ok(coordinates(&points))
}

fn force_atlas2(input: &Input<'_>, p: &ParamValues) -> Result<Output, AlgoError> {
    let mut layout = force_atlas2_start(input, p, None)?;
    for _ in 0..p.count("max_iter") {
        layout.iterate(input.cancel)?;
    }
    force_atlas2_end(input, p, &layout, false)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use graphlume_types::CancelToken;

    use super::*;
    use crate::input::Unnamed;
    use crate::{Values, testkit};

    /// The part of the picture that the middle nine tenths of the nodes take, both ways.
    fn filled(iterations: u32) -> f64 {
        let planted = testkit::planted(400, 8, 0.2, 0.01);
        let mut edges: Vec<(u32, u32)> =
            (0..400).flat_map(|v| planted.out_neighbors(v).iter().map(move |u| (v, *u))).collect();
        // Pairs and lone nodes, which nothing holds.
        edges.extend([(400, 401), (402, 403)]);
        let t = testkit::from_edges(406, &edges);
        let (data, cancel) = (Unnamed(406), CancelToken::new());
        let max_iter = format!("max_iter={iterations}");
        let p = ParamValues::from_pairs(&FORCE_ATLAS2, &[max_iter.as_str()]).unwrap();
        let out = force_atlas2(&Input::plain(&t, &data, &cancel), &p).unwrap();
        let side = |axis: &str| {
            let column = out.columns.iter().find(|c| c.name == axis).unwrap();
            let Values::F64(values) = &column.values else { panic!("{axis}") };
            let mut values = values.clone();
            values.sort_by(f64::total_cmp);
            let at = |share: f64| values[(values.len() as f64 * share) as usize];
            (at(0.95) - at(0.05)) / (at(0.999) - at(0.0))
        };
        side("x") * side("y")
    }

    #[test]
    fn a_longer_run_leaves_no_more_of_the_picture_empty() {
        let (short, long) = (filled(200), filled(2_000));
        assert!(short > 0.25 && long > 0.9 * short, "{short} {long}");
    }
}
