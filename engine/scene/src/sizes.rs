//! Sizes of nodes: by a column that is bound, else by their degrees.

use rayon::prelude::*;
use serde_json::{Value, json};

use crate::bind::Cx;
use crate::crowding;
use crate::elements::Side;
use crate::measure::{self, Measured};

/// How large nodes are.
pub(crate) struct Sized {
    /// Sizes on the wire.
    pub(crate) wire: Vec<u8>,
    pub(crate) importance: Vec<f32>,
    pub(crate) legend: Value,
    /// Whether they come from a size that a client bound (`node_size` or `pointSizeEncoding`) and not from degrees;
    /// [`Self::among`] leaves these as they are.
    are_bound: bool,
}

impl Sized {
    /// The same with discs that give way where these positions, which came with the data, crowd them; bound sizes stay.
    pub(crate) fn among(mut self, positions: Option<&[[f32; 2]]>) -> Self {
        if let Some(positions) = positions.filter(|_| !self.are_bound) {
            crowding::make_room(&mut self.wire, positions);
        }
        self
    }
}

/// Sizes on the wire, importance, and the size legend.
pub(crate) fn sizes(cx: &mut Cx<'_>, degrees: &[f32]) -> Sized {
    if let Some(bound) = measure::bound(cx, Side::Node, "Size", "node_size") {
        let finite = |v: &f64| if v.is_finite() { *v as f32 } else { 0.0 };
        let importance = bound.values.iter().map(finite).collect();
        let mut shares = bound.shares();
        // A mapping says outright how large nodes are to each other; a column is read as an area.
        let (base, scale) = if bound.mapped { (0.0, "linear") } else { (2.0, "sqrt") };
        if !bound.mapped {
            shares.par_iter_mut().for_each(|s| *s = s.sqrt());
        }
        let (wire, legend) = (measure::node_sizes(&shares, base), size_entry(&bound, scale));
        return Sized { wire, importance, legend, are_bound: true };
    }
    let most = degrees.iter().copied().fold(0.0, f32::max).max(1.0);
    let least = degrees.iter().copied().fold(most, f32::min);
    let legend = json!({
        "title": "degree", "kind": "continuous", "min": least, "max": most, "scale": "sqrt",
    });
    Sized { wire: degree_sizes(degrees), importance: degrees.to_vec(), legend, are_bound: false }
}

/// Sizes on the wire of nodes by their degrees, as they are where nothing is bound.
#[must_use]
pub fn degree_sizes(degrees: &[f32]) -> Vec<u8> {
    let most = degrees.iter().copied().fold(0.0, f32::max).max(1.0);
    let shares: Vec<f64> = degrees.par_iter().map(|d| f64::from(d / most).sqrt()).collect();
    measure::node_sizes(&shares, 2.0)
}

/// The legend of sizes or widths by a column.
pub(crate) fn size_entry(measured: &Measured, scale: &str) -> Value {
    let (min, max) = measured.range();
    json!({"title": measured.title, "kind": "continuous", "min": min, "max": max, "scale": scale})
}
