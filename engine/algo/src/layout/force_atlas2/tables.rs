//! Parameters of single nodes in a request: start, radius, mass, and mobility.

use graphlume_types::hash::unit_f64;

use crate::layout::given;
use crate::spec::param;
use crate::{AlgoError, Dtype, Input, ParamSpec, ParamValues};

const RADIUS: f64 = 1.0;
/// Streams of the places of nodes that a table of positions leaves out.
const STREAM: u64 = 44;

pub(in crate::layout) const POSITIONS: ParamSpec = param(
    "pos_list",
    Dtype::PositionTable,
    "null",
    None,
    "where nodes start; those that it leaves out start at random among the others",
);
pub(in crate::layout) const RADII: ParamSpec = param(
    "vertex_radius",
    Dtype::FloatOrNodeValues,
    "1.0",
    Some((0.0, 1e6)),
    "radius of every node, for prevent_overlapping; 1 of a node that a table leaves out",
);
pub(in crate::layout) const MASSES: ParamSpec = param(
    "vertex_mass",
    Dtype::FloatOrNodeValues,
    "null",
    Some((1e-6, 1e9)),
    "mass of every node; degree + 1 of a node that a table leaves out",
);
pub(in crate::layout) const MOBILITIES: ParamSpec = param(
    "vertex_mobility",
    Dtype::FloatOrNodeValues,
    "null",
    Some((0.0, 1e3)),
    "factor of every step of a node, 0 holds it; 1 of a node that a table leaves out",
);

/// The radius of every node.
///
/// # Errors
/// As [`Input::float_or_node_values`].
pub(in crate::layout) fn radii(input: &Input<'_>, p: &ParamValues) -> Result<Vec<f64>, AlgoError> {
    let values = input.float_or_node_values(p, RADII.name)?.unwrap_or_default();
    Ok(values.into_iter().map(|radius| radius.unwrap_or(RADIUS)).collect())
}

/// The mass of every node; `None` when the request gives none.
///
/// # Errors
/// As [`Input::float_or_node_values`].
pub(in crate::layout) fn masses(
    input: &Input<'_>,
    p: &ParamValues,
) -> Result<Option<Vec<f32>>, AlgoError> {
    let usual = |v: usize| f64::from(input.topology.degree(v as u32)) + 1.0;
    let values = input.float_or_node_values(p, MASSES.name)?;
    let all = |values: Vec<Option<f64>>| {
        (0..).zip(values).map(|(v, mass)| mass.unwrap_or_else(|| usual(v)) as f32).collect()
    };
    Ok(values.map(all))
}

/// The factor of every node's steps; `None` when the request gives none.
///
/// # Errors
/// As [`Input::float_or_node_values`].
pub(in crate::layout) fn mobilities(
    input: &Input<'_>,
    p: &ParamValues,
) -> Result<Option<Vec<f32>>, AlgoError> {
    let values = input.float_or_node_values(p, MOBILITIES.name)?;
    let all = |values: Vec<Option<f64>>| {
        values.into_iter().map(|factor| factor.unwrap_or(1.0) as f32).collect()
    };
    Ok(values.map(all))
}

/// Where the table of positions has the nodes start; `None` when the request gives none.
///
/// # Errors
/// As [`given::positions`].
pub(in crate::layout) fn start(
    input: &Input<'_>,
    p: &ParamValues,
) -> Result<Option<Vec<[f32; 2]>>, AlgoError> {
    let Some(places) = given::positions(input, p, POSITIONS.name)? else { return Ok(None) };
    let (mut low, mut high) = ([f64::INFINITY; 2], [f64::NEG_INFINITY; 2]);
    for at in places.iter().flatten() {
        for c in 0..2 {
            (low[c], high[c]) = (low[c].min(at[c]), high[c].max(at[c]));
        }
    }
    if low[0] > high[0] {
        (low, high) = ([-100.0; 2], [100.0; 2]);
    }
    let seed = p.count("random_state");
    let drawn =
        |v: u64| [0, 1].map(|c| low[c] + (high[c] - low[c]) * unit_f64(seed, STREAM + c as u64, v));
    let all = (0..).zip(places).map(|(v, at)| at.unwrap_or_else(|| drawn(v)).map(|x| x as f32));
    Ok(Some(all.collect()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use graphlume_types::CancelToken;
    use serde_json::{Value, json};

    use crate::input::Unnamed;
    use crate::layout::force_atlas2_spec::FORCE_ATLAS2;
    use crate::{AlgoError, Input, ParamValues, Values, testkit};

    /// x and y of the nodes of a ring of twelve, which a request with these parameters lays out.
    fn lay_out(params: Value) -> Result<Vec<[f64; 2]>, AlgoError> {
        let ring: Vec<(u32, u32)> = (0..12).map(|v| (v, (v + 1) % 12)).collect();
        let (t, data, cancel) = (testkit::from_edges(12, &ring), Unnamed(12), CancelToken::new());
        let p = ParamValues::from_json(&FORCE_ATLAS2, params.as_object().unwrap())?;
        let out = (FORCE_ATLAS2.run)(&Input::plain(&t, &data, &cancel), &p)?;
        let axis = |name: &str| match &out.columns.iter().find(|c| c.name == name).unwrap().values {
            Values::F64(values) => values.clone(),
            other => panic!("{other:?}"),
        };
        Ok(axis("x").into_iter().zip(axis("y")).map(|(x, y)| [x, y]).collect())
    }

    #[test]
    fn a_node_starts_where_the_table_says_and_one_without_mobility_stays_there() {
        let table = json!({"vertex": [3, 5], "x": [1e3, -40.0], "y": [-7.0, 2e3]});
        let start = lay_out(json!({"pos_list": table.clone(), "max_iter": 0})).unwrap();
        assert_eq!([start[3], start[5]], [[1e3, -7.0], [-40.0, 2e3]]);
        assert!(start.iter().all(|at| (-40.0..=1e3).contains(&at[0])), "{start:?}");
        let rows = json!([{"vertex": 3, "x": 1e3, "y": -7.0}, {"vertex": 5, "x": -40.0, "y": 2e3}]);
        assert_eq!(lay_out(json!({"pos_list": rows, "max_iter": 0})).unwrap(), start);
        let held = json!({"vertex": [3], "mobility": [0]});
        let end = lay_out(json!({"pos_list": table, "vertex_mobility": held})).unwrap();
        assert_eq!(end[3], start[3]);
        assert!(end[5] != start[5] && end[4] != start[4]);
    }

    #[test]
    fn a_heavy_node_pushes_the_others_and_large_ones_keep_their_room() {
        let far = |points: &[[f64; 2]], v: usize, u: usize| {
            (points[v][0] - points[u][0]).hypot(points[v][1] - points[u][1])
        };
        let usual = lay_out(json!({})).unwrap();
        let heavy = lay_out(json!({"vertex_mass": [[0, 60.0]]})).unwrap();
        assert!(far(&heavy, 0, 1) > 1.5 * far(&usual, 0, 1), "{heavy:?} {usual:?}");
        let radii: Vec<f64> = (0..12).map(|v| if v == 4 { 30.0 } else { 2.0 }).collect();
        let room =
            lay_out(json!({"prevent_overlapping": true, "vertex_radius": radii.clone()})).unwrap();
        for v in 0..12 {
            for u in 0..v {
                assert!(far(&room, v, u) >= radii[v] + radii[u], "{v} {u} {room:?}");
            }
        }
    }

    #[test]
    fn what_no_table_may_hold_is_refused_by_name() {
        for (params, wanted) in [
            (json!({"pos_list": {"vertex": [1], "x": [0]}}), "pos_list"),
            (json!({"pos_list": {"vertex": [1, 2], "x": [0], "y": [0]}}), "2 ids, 1 x and 1 y"),
            (json!({"pos_list": [{"vertex": 99, "x": 0, "y": 0}]}), "99"),
            (json!({"pos_list": [{"vertex": 1, "x": null, "y": 0}]}), "null for 1"),
            (json!({"pos_list": 4}), "table of node ids, x and y"),
            (json!({"vertex_mass": [[0, 0.0]]}), "numbers from 0.000001 to 1000000000"),
            (json!({"vertex_mobility": [[0, -1.0]]}), "vertex_mobility"),
            (json!({"vertex_radius": -1.0}), "vertex_radius"),
            (json!({"vertex_radius": {"vertex": [0, 0], "radius": [1, 2]}}), "twice"),
            (json!({"vertex_radius": true}), "vertex_radius"),
        ] {
            let error = lay_out(params.clone()).unwrap_err().to_string();
            assert!(error.contains(wanted), "{params}: {error}");
        }
    }
}
