//! Map of the world under the nodes, where they lie on one.

use graphlume_table::to_f64;
use serde_json::{Value, json};

use crate::bind::Cx;

/// Columns that hold geographic coordinates in degrees where none are bound.
pub const GEOGRAPHIC_COLUMNS: [&str; 2] = ["longitude", "latitude"];
/// By how much of the map's extent a node may lie beside its place on it.
const OFF_MAX: f64 = 2e-3;
/// Nodes that have to lie on it.
const NODES_MIN: usize = 3;

/// How degrees become the coordinates of the nodes, whose positions are in Mercator's projection: `{scale, x, y}` with
/// `place = scale · (longitude, projected latitude) + (x, y)`. `None` where the nodes lie elsewhere.
///
/// Clients project by themselves and send places and degrees (`mercator_layout`), with a radius of their own; so the
/// scale is found by least squares, and every node is asked whether it lies where that says.
pub(crate) fn map_of(cx: &Cx<'_>, places: Option<&Vec<[f32; 2]>>) -> Option<Value> {
    let places = places?;
    let [lon, lat] = degrees(cx)?;
    let known = places.iter().zip(lon.iter().zip(&lat)).filter_map(|(at, (lon, lat))| {
        let place = at.map(f64::from);
        let all = [place[0], place[1], *lon, *lat];
        all.iter().all(|v| v.is_finite()).then(|| (mercator(*lon, *lat), place))
    });
    let known: Vec<([f64; 2], [f64; 2])> = known.collect();
    if known.len() < NODES_MIN {
        return None;
    }
    let n = known.len() as f64;
    let mean = |of: fn(&([f64; 2], [f64; 2])) -> f64| known.iter().map(of).sum::<f64>() / n;
    let (u, v) = (mean(|k| k.0[0]), mean(|k| k.0[1]));
    let (x, y) = (mean(|k| k.1[0]), mean(|k| k.1[1]));
    let (mut with, mut own) = (0.0, 0.0);
    for (degree, place) in &known {
        let d = [degree[0] - u, degree[1] - v];
        with += d[0] * (place[0] - x) + d[1] * (place[1] - y);
        own += d[0] * d[0] + d[1] * d[1];
    }
    let scale = with / own;
    let fits = scale.is_finite() && scale > 0.0 && {
        let spread = (own / n).sqrt() * scale;
        known.iter().all(|(degree, place)| {
            let off = [
                scale * (degree[0] - u) - (place[0] - x),
                scale * (degree[1] - v) - (place[1] - y),
            ];
            off[0].hypot(off[1]) <= OFF_MAX * spread
        })
    };
    fits.then(|| json!({"scale": scale, "x": x - scale * u, "y": y - scale * v}))
}

/// Longitude and latitude of every node, as bound, or of the columns that are called so.
pub(crate) fn degrees(cx: &Cx<'_>) -> Option<[Vec<f64>; 2]> {
    let bound = cx.node.binding("node_longitude").zip(cx.node.binding("node_latitude"));
    let [lon, lat] = GEOGRAPHIC_COLUMNS;
    let is_bound = bound.is_some();
    let (lon, lat) = bound.unwrap_or((lon, lat));
    let of = |name: &str, most: f64| {
        if !is_bound && !cx.nodes?.column(name)?.data_type().is_numeric() {
            return None;
        }
        let source = cx.node_column(name)?;
        let rows = to_f64(source.array.as_ref())?;
        // Columns of this name that hold other numbers are not degrees.
        let fits = |v: &f64| !v.is_finite() || v.abs() <= most;
        (is_bound || rows.iter().all(fits)).then(|| source.gather(&rows, f64::NAN))
    };
    Some([of(lon, 360.0)?, of(lat, 90.0)?])
}

/// Degrees to the plane of web maps, in degrees at the equator; the poles are cut off as maps do.
pub(crate) fn mercator(lon: f64, lat: f64) -> [f64; 2] {
    const LATITUDE_MAX: f64 = 85.051_128_779_806_6;
    let phi = lat.clamp(-LATITUDE_MAX, LATITUDE_MAX).to_radians();
    [lon, phi.tan().asinh().to_degrees()]
}
