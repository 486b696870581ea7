//! Checks of what a layout is given, and its defaults.

use graphlume_graph::Topology;

use super::COORDINATE_MAX;
use crate::AlgoError;

/// Refuses arrays that do not fit `n` nodes and values that no layout can be computed with.
pub(crate) fn check_inputs(
    n: usize,
    start: &[[f32; 2]],
    radii: Option<&[f32]>,
    mass: Option<&[f32]>,
    mobility: Option<&[f32]>,
) -> Result<(), AlgoError> {
    AlgoError::check_len("start", start.len(), n, "node")?;
    let usable = |v: &f32| v.is_finite() && v.abs() <= COORDINATE_MAX;
    if let Some(at) = start.as_flattened().iter().position(|v| !usable(v)) {
        return Err(AlgoError::BadValue {
            what: "start",
            unit: "node",
            index: at / 2,
            value: f64::from(start.as_flattened()[at]),
            expected: "a finite number between -1e15 and 1e15",
        });
    }
    check_values("radii", radii, n, 0.0)?;
    check_values("mass", mass, n, f32::MIN_POSITIVE)?;
    check_values("mobility", mobility, n, 0.0)
}

/// The masses given, or degree + 1.
pub(crate) fn masses(topology: &Topology, mass: Option<&[f32]>) -> Vec<f32> {
    match mass {
        Some(m) => m.to_vec(),
        None => (0..topology.num_nodes()).map(|v| topology.degree(v) as f32 + 1.0).collect(),
    }
}

fn check_values(
    what: &'static str,
    values: Option<&[f32]>,
    n: usize,
    least: f32,
) -> Result<(), AlgoError> {
    let Some(values) = values else { return Ok(()) };
    AlgoError::check_len(what, values.len(), n, "node")?;
    match values.iter().position(|v| !(least..=1e12).contains(v)) {
        None => Ok(()),
        Some(index) => Err(AlgoError::BadValue {
            what,
            unit: "node",
            index,
            value: f64::from(values[index]),
            expected: if least > 0.0 {
                "a number above 0, at most 1e12"
            } else {
                "a number from 0 to 1e12"
            },
        }),
    }
}
