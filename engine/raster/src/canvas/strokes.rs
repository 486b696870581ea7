//! Strokes of the edges, and the arrow heads at their ends.

use super::Canvas;
use crate::edges::bundle::SEGMENTS;
use crate::edges::curve::{Curve, swell};
use crate::edges::lines::{Line, Lines};

/// A line as it is drawn: measured in pixels of the page.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stroke {
    pub(crate) line: Line,
    pub(crate) curve: Curve,
    pub(crate) width: f32,
    /// Share of its ink that is drawn.
    pub(crate) weight: f32,
}

/// An arrow head that touches the disc of the destination.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrow {
    pub(crate) edge: u32,
    pub(crate) tip: [f32; 2],
    /// Unit vector in which it points.
    pub(crate) dir: [f32; 2],
    pub(crate) length: f32,
    pub(crate) weight: f32,
}

/// How lines become strokes.
#[derive(Clone, Copy)]
pub(crate) struct Pen {
    pub(crate) width: f32,
    /// Whether long edges and those that only pass through the view fade.
    pub(crate) fades: bool,
}

impl Canvas<'_> {
    /// Lines as a pen draws them; those without places at both ends are left out.
    pub(crate) fn strokes(&self, lines: &Lines, pen: Pen) -> Vec<Stroke> {
        let stroke = |line: &Line| {
            let curve = self.curve(*line)?;
            let ends = self.drawing.ends[line.edge as usize].map(|v| self.at[v as usize]);
            let weight =
                if pen.fades { self.passing(ends) * self.faded(curve.span()) } else { 1.0 };
            let width = pen.width * self.width(line.edge) * swell(line.count);
            Some(Stroke { line: *line, curve, width, weight })
        };
        lines.all.iter().filter_map(stroke).collect()
    }

    /// The arrow head of a stroke where there is so much room; none where the line is too short for it.
    pub(crate) fn arrow(&self, stroke: &Stroke, room: f64) -> Option<Arrow> {
        let Stroke { line, curve, width, .. } = *stroke;
        let [s, d] = self.drawing.ends[line.edge as usize];
        let span = curve.span();
        let radius = self.diameter(d) * 0.5 + 1.5;
        let head = 5.5 + 3.5 * room as f32;
        let length = head.min(3.0 + radius) + 1.5 * width;
        if s == d || span < radius + 2.2 * length {
            return None;
        }
        let back = if self.bundle.is_some() {
            before(&curve, radius + 0.6 * length)
        } else {
            let back = curve.at(1.0 - (radius + length) / span);
            [0, 1].map(|c| back[c] + (curve.m[c] - back[c]) * 0.15)
        };
        let run = [0, 1].map(|c| curve.b[c] - back[c]);
        let far = run[0].hypot(run[1]).max(1e-6);
        let dir = run.map(|x| x / far);
        let tip = [0, 1].map(|c| curve.b[c] - dir[c] * radius);
        Some(Arrow { edge: line.edge, tip, dir, length, weight: self.faded(span) })
    }
}

/// The place on a curve from which it has so far left to go.
fn before(curve: &Curve, far: f32) -> [f32; 2] {
    let steps = 2 * SEGMENTS;
    let places = (1..steps).map(|n| curve.at(n as f32 / steps as f32));
    let apart = |p: &[f32; 2]| (curve.b[0] - p[0]).hypot(curve.b[1] - p[1]) >= far;
    places.take_while(apart).last().unwrap_or(curve.a)
}
