//! Opacity of edges (`shell/web/src/scene/ink.ts`), so that a sparse graph stays visible and a dense one does
//! not drown.

use crate::drawing::Drawing;
use crate::view::{View, is_placed};

const ALPHA_MIN: f64 = 0.03;
const ALPHA_MAX: f64 = 0.55;
/// Edges whose lengths are looked at.
const SAMPLES: usize = 2_000;

/// The rule for one picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ink {
    /// Opacity of one edge when all are drawn.
    pub(crate) alpha: f64,
    /// Share of the edges that is drawn; the rest is scaled up.
    pub(crate) share: f64,
    /// How much long edges fade: 0 not at all, 1 by the whole rule.
    pub(crate) fade: f64,
    /// How much room there is: 0 none, 1 a handful of edges that may be wide and strong.
    pub(crate) room: f64,
}

/// Zooms between which edges without an end in view fade, and what is left of them.
const PASSING_FROM: f64 = 1.5;
const PASSING_TO: f64 = 4.0;
const PASSING_LEFT: f64 = 1.0 / 3.0;

/// Strength of edges that only pass through the view, at a zoom (1: everything is in view).
pub(crate) fn passing_at(zoom: f64) -> f64 {
    let t = (zoom.max(PASSING_FROM) / PASSING_FROM).ln() / (PASSING_TO / PASSING_FROM).ln();
    1.0 - (1.0 - PASSING_LEFT) * t.min(1.0)
}

impl Ink {
    /// The rule for a drawing of which `drawn` lines stand for each edge.
    pub(crate) fn of(drawing: &Drawing<'_>, view: &View, drawn: f64) -> Self {
        let area = view.sides[0] * view.sides[1];
        let length = length(drawing, view) * drawn;
        let raw = if length > 0.0 { 0.7 * area / length } else { f64::INFINITY };
        let room = ((raw / ALPHA_MAX).ln() / 30f64.ln()).clamp(0.0, 1.0);
        Self {
            alpha: raw.clamp(ALPHA_MIN, ALPHA_MAX) + room * 0.75,
            share: (raw / ALPHA_MIN).min(1.0),
            fade: 1.0 - room,
            room,
        }
    }
}

/// The length in pixels of all visible edges inside the picture, estimated from a spread sample; edges without an end in it
/// count less where they are drawn so.
fn length(drawing: &Drawing<'_>, view: &View) -> f64 {
    let known = drawing.ends.len();
    let step = (known / SAMPLES).max(1);
    let passing = passing_at(view.zoom);
    let (mut sum, mut sampled) = (0.0, 0.0f64);
    for (e, ends) in drawing.ends.iter().enumerate().step_by(step) {
        sampled += 1.0;
        let [a, b] = ends.map(|v| drawing.positions[v as usize]);
        if is_placed(a) && is_placed(b) && drawing.shows_edge(e as u32) {
            let [a, b] = [a, b].map(|p| view.pixel(p));
            let is_in =
                |p: [f32; 2]| (0..2).all(|c| (0.0..=view.sides[c]).contains(&f64::from(p[c])));
            let weight = if is_in(a) || is_in(b) { 1.0 } else { passing };
            sum += weight * clipped(view.sides, a, b);
        }
    }
    if sampled > 0.0 { sum / sampled * known as f64 } else { 0.0 }
}

/// Length of the part of a segment inside the picture (Liang and Barsky).
pub(crate) fn clipped(sides: [f64; 2], a: [f32; 2], b: [f32; 2]) -> f64 {
    let [a, b] = [a, b].map(|p| p.map(f64::from));
    let d = [b[0] - a[0], b[1] - a[1]];
    let (mut t0, mut t1) = (0.0f64, 1.0f64);
    for c in 0..2 {
        for (p, q) in [(-d[c], a[c]), (d[c], sides[c] - a[c])] {
            if p == 0.0 {
                if q < 0.0 {
                    return 0.0;
                }
            } else if p < 0.0 {
                t0 = t0.max(q / p);
            } else {
                t1 = t1.min(q / p);
            }
        }
    }
    if t0 < t1 { d[0].hypot(d[1]) * (t1 - t0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_that_pass_through_fade_to_a_third() {
        assert_eq!(passing_at(1.0), 1.0);
        assert_eq!(passing_at(1.5), 1.0);
        assert!((passing_at(4.0) - PASSING_LEFT).abs() < 1e-12);
        assert!((passing_at(100.0) - PASSING_LEFT).abs() < 1e-12);
        assert!((passing_at(6f64.sqrt()) - 2.0 / 3.0).abs() < 1e-12);
    }
}
