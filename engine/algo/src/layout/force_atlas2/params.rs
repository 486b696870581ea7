//! The knobs of ForceAtlas2.

use serde::{Deserialize, Serialize};

use crate::AlgoError;

/// Parameters of [`super::ForceAtlas2`]. The default is what a live session starts with; see
/// [`Params::cugraph`] for the defaults of cuGraph's call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Divides the attraction of an edge by the mass of its source and multiplies it by the mean mass:
    /// nodes with many out-edges drift to the rim.
    pub outbound_attraction_distribution: bool,
    /// Attraction grows with `ln(1 + d)` instead of `d`: tighter clusters.
    pub lin_log_mode: bool,
    /// Measures distances from rim to rim and pushes overlapping nodes apart. Needs radii.
    pub prevent_overlapping: bool,
    /// Strength of the push between overlapping nodes.
    pub overlap_scaling_ratio: f64,
    /// Exponent of the edge weight; 0 ignores weights.
    pub edge_weight_influence: f64,
    /// Swinging that is tolerated; smaller is slower and more precise.
    pub jitter_tolerance: f64,
    /// Approximates the repulsion of far nodes; `false` sums all pairs.
    pub barnes_hut_optimize: bool,
    /// Size over distance up to which a group of nodes counts as far; smaller is more exact.
    pub barnes_hut_theta: f64,
    /// Strength of the repulsion.
    pub scaling_ratio: f64,
    /// Gravity grows with the distance from the origin instead of being constant.
    pub strong_gravity_mode: bool,
    /// Pull towards the origin.
    pub gravity: f64,
    /// Lets every edge attract from both its ends, as cuGraph's symmetric edge list does.
    pub double_attraction: bool,
    /// Keeps every x coordinate.
    pub locked_x: bool,
    /// Keeps every y coordinate.
    pub locked_y: bool,
    /// Keeps every distance from the origin.
    pub locked_r: bool,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            outbound_attraction_distribution: false,
            lin_log_mode: false,
            prevent_overlapping: false,
            overlap_scaling_ratio: 100.0,
            edge_weight_influence: 1.0,
            jitter_tolerance: 1.0,
            barnes_hut_optimize: true,
            barnes_hut_theta: 1.0,
            scaling_ratio: 2.0,
            strong_gravity_mode: false,
            gravity: 1.0,
            double_attraction: false,
            locked_x: false,
            locked_y: false,
            locked_r: false,
        }
    }
}

impl Params {
    /// The defaults of cuGraph's `force_atlas2`.
    #[must_use]
    pub fn cugraph() -> Self {
        Self {
            outbound_attraction_distribution: true,
            barnes_hut_theta: 0.5,
            double_attraction: true,
            ..Self::default()
        }
    }

    /// Refuses values that no layout can be computed with.
    ///
    /// # Errors
    /// [`AlgoError::BadParam`], which names the parameter and its range.
    pub fn validate(&self) -> Result<(), AlgoError> {
        let ranges = [
            ("overlap_scaling_ratio", self.overlap_scaling_ratio, 0.0, 1e6),
            ("edge_weight_influence", self.edge_weight_influence, -10.0, 10.0),
            ("jitter_tolerance", self.jitter_tolerance, 1e-3, 1e3),
            ("barnes_hut_theta", self.barnes_hut_theta, 0.0, 2.0),
            ("scaling_ratio", self.scaling_ratio, 1e-6, 1e6),
            ("gravity", self.gravity, 0.0, 1e6),
        ];
        for (name, value, low, high) in ranges {
            if !(low..=high).contains(&value) {
                return Err(AlgoError::BadParam {
                    algorithm: "force_atlas2",
                    name: name.to_owned(),
                    value: value.to_string(),
                    expected: format!("a number from {low} to {high}"),
                });
            }
        }
        Ok(())
    }
}
