//! Axes: the way of their lines, and the places where their labels may stand (`shell/web/src/bound/axes.ts`).

use std::f64::consts::{FRAC_PI_2, PI};

use crate::drawing::{AxisKind, AxisPlace, AxisRow};
use crate::occupied::Rect;
use crate::view::View;

/// Pixels between a line and its label, and between label and rim.
const GAP: f64 = 4.0;
const RIM: f64 = 12.0;
/// Places along a ring.
const AROUND: u32 = 48;
/// Pixels from one place along a line to the next.
const STEP: f64 = 24.0;

/// The ends in pixels of a row that is no ring, beyond the picture where it has none.
pub(crate) fn line(row: &AxisRow, view: &View) -> [[f64; 2]; 2] {
    let [w, h] = view.sides;
    let low = view.place([-RIM, h + RIM]);
    let high = view.place([w + RIM, -RIM]);
    let [first, last] = row.ends;
    let ends = match row.at {
        AxisPlace::Y(y) => [[first.unwrap_or(low[0]), y], [last.unwrap_or(high[0]), y]],
        AxisPlace::X(x) => [[x, first.unwrap_or(low[1])], [x, last.unwrap_or(high[1])]],
        AxisPlace::Ring(_) => [[0.0; 2]; 2],
    };
    ends.map(|p| view.pixel64(p))
}

/// Where the label of a row of so many pixels may stand, the best places first: at the top of a ring, above it when the row
/// is external and below when it is internal; at the left end of a line, or at its lower end.
pub(crate) fn places(row: &AxisRow, view: &View, size: [f32; 2]) -> Vec<Rect> {
    let [w, h] = size.map(f64::from);
    let rect = |x: f64, y: f64| [x as f32, y as f32, size[0], size[1]];
    if let AxisPlace::Ring(r) = row.at {
        let off = match row.kind {
            AxisKind::External => GAP + h / 2.0,
            AxisKind::Internal => -GAP - h / 2.0,
            AxisKind::Plain | AxisKind::Space => 0.0,
        };
        let place = |k: u32| {
            // From the top to both sides.
            let side = if k.is_multiple_of(2) { 1.0 } else { -1.0 };
            let angle = FRAC_PI_2 + side * f64::from(k.div_ceil(2)) * PI / 24.0;
            let (sin, cos) = angle.sin_cos();
            let [x, y] = view.pixel64([r * cos, r * sin]);
            rect(x + off * cos - w / 2.0, y - off * sin - h / 2.0)
        };
        return (0..AROUND).map(place).collect();
    }
    let [a, b] = line(row, view);
    let is_inside = row.kind == AxisKind::Internal;
    let steps = |room: f64| 0..(room / STEP).ceil().max(0.0) as u32;
    if let AxisPlace::Y(_) = row.at {
        let up = if is_inside { GAP } else { -GAP - h };
        let (from, to) = (a[0].max(RIM), b[0].min(view.sides[0] - RIM) - w);
        return steps(to - from).map(|k| rect(from + STEP * f64::from(k), a[1] + up)).collect();
    }
    let aside = if is_inside { -GAP - w } else { GAP };
    let (from, to) = (a[1].min(view.sides[1] - RIM) - h, b[1].max(RIM));
    steps(from - to).map(|k| rect(a[0] + aside, from - STEP * f64::from(k))).collect()
}
