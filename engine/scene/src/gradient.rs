//! Columns of numbers to colours along a gradient.

use arrow_array::Array;
use arrow_schema::DataType;
use rayon::prelude::*;
use serde_json::{Value, json};

use crate::bind::Source;
use crate::collection::Bits;
use crate::css::{self, Rgba, to_hex};
use crate::hues::{OTHER, is_built_in};
use crate::painted::Painted;

/// A column of positive numbers whose largest exceeds the median by this factor is shown on a log scale.
const LOG_RATIO: f64 = 50.0;

/// A gradient from the smallest to the largest value. `free` lets skewed values have a log scale; the
/// stops that a user gave are spaced evenly by value.
pub(crate) fn ramp(source: &Source<'_>, stops: &[Rgba], free: bool) -> Option<Painted> {
    let rows = graphlume_table::to_f64(source.array.as_ref())?;
    let values = source.gather(&rows, f64::NAN);
    let mut finite: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    if finite.is_empty() {
        return None;
    }
    let middle = finite.len() / 2;
    let median = *finite.select_nth_unstable_by(middle, f64::total_cmp).1;
    let low = finite.iter().copied().fold(f64::INFINITY, f64::min);
    let high = finite.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let temporal = is_temporal(source.array.data_type());
    let log = free && !temporal && low > 0.0 && high / median > LOG_RATIO;
    let place = |v: f64| if log { v.ln() } else { v };
    // Halves, because the difference of two doubles may exceed the largest double.
    let (from, width) = (place(low) / 2.0, place(high) / 2.0 - place(low) / 2.0);
    let at = |v: f64| if width > 0.0 { (place(v) / 2.0 - from) / width } else { 0.5 };
    let color = |v: &f64| if v.is_finite() { css::ramp(stops, at(*v)) } else { OTHER };
    let rgba: Vec<Rgba> = values.par_iter().with_min_len(1 << 12).map(color).collect();
    let kept = |(c, v): (&Rgba, &f64)| v.is_finite() && is_built_in(*c);
    let chosen = if stops.iter().copied().any(is_built_in) {
        Bits::of_flags(rgba.iter().zip(&values).map(kept))
    } else {
        Bits::default()
    };
    let shown = |v: f64| {
        let row = rows.iter().position(|r| *r == v).filter(|_| temporal);
        let text = row.and_then(|r| graphlume_table::cell_text(source.array.as_ref(), r));
        text.map_or(json!(v), Value::String)
    };
    let last = (stops.len() - 1).max(1) as f64;
    let stop = |(i, color): (usize, &Rgba)| json!({"at": i as f64 / last, "color": to_hex(*color)});
    let legend = json!({
        "title": source.name, "kind": "continuous", "entries": [],
        "stops": stops.iter().enumerate().map(stop).collect::<Vec<_>>(),
        "min": shown(low), "max": shown(high), "scale": if log { "log" } else { "linear" },
    });
    Some(Painted { rgba, chosen, legend, listed: None })
}

fn is_temporal(dtype: &DataType) -> bool {
    match dtype {
        DataType::Dictionary(_, values) => is_temporal(values),
        other => other.is_temporal(),
    }
}
