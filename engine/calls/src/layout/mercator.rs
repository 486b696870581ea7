//! Positions on a map.

use graphlume_expr::QueryError;
use graphlume_store::PropertyGraph;

use super::{axes, floats, numbers, placed, with_all};
use crate::context::CallContext;
use crate::params::Params;

/// Radius of the earth in metres (WGS 84), and what the page shows instead.
const EARTH_METRES: f64 = 6_378_137.0;
const EARTH_SHOWN: f64 = 637.8137;

/// Web Mercator (Snyder, Map Projections: A Working Manual, USGS 1987) of the columns that
/// are bound to latitude and longitude, else `latitude` and `longitude`, in degrees.
/// At the poles and beyond there is no position.
pub(crate) fn mercator(
    graph: &PropertyGraph,
    params: &Params<'_>,
    context: CallContext<'_>,
) -> Result<PropertyGraph, QueryError> {
    let radius = match params.flag("scale_for_graphistry", true)? {
        true => EARTH_SHOWN,
        false => EARTH_METRES,
    };
    let table = graph.node_table(context.cancel)?;
    let bound = graph.positions();
    let column = |name: &Option<String>, usual| numbers(&table, name.as_deref().unwrap_or(usual));
    let latitude = column(&bound.latitude, "latitude")?;
    let longitude = column(&bound.longitude, "longitude")?;
    let x = longitude.iter().map(|v| radius * v.to_radians());
    let y = latitude.iter().map(|v| {
        let y = radius * (std::f64::consts::FRAC_PI_4 + v.to_radians() / 2.0).tan().ln();
        if y.is_finite() { y } else { f64::NAN }
    });
    let (across, upwards) = axes(graph);
    let nodes = with_all(&table, vec![(&across, floats(x)), (&upwards, floats(y))])?;
    placed(graph, nodes, (&across, &upwards), 0.into())
}
