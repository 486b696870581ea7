//! The picture as shapes and texts, for files that are drawn anew at any size. Up to [`ELEMENTS_MAX`] nodes and edges: such
//! a file has a line for each, and its readers stop being of use beyond that.
//!
//! Two things are others than in pixels: an edge has the mean of the colours of its ends and not their transition, and the
//! ink of edges that cross adds up as any transparent lines do.

use graphlume_types::CancelToken;

use crate::canvas::nodes::{Dots, ring_of};
use crate::canvas::strokes::{Arrow, Stroke};
use crate::drawing::Drawing;
use crate::edges::curve::Curve;
use crate::error::RasterError;
use crate::limits::ELEMENTS_MAX;
use crate::marks::{Mark, Paint, Shape, Text};
use crate::occupied::Rect;
use crate::settings::Settings;
use crate::sheet::Sheet;
use crate::tone;
use crate::underlay::Under;

/// Rings around discs, and halos around letters, let a little of what is below through.
pub(crate) const RING_OPACITY: f32 = 0.9;

/// The way of a line, in pixels of the page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Way {
    Line([[f32; 2]; 2]),
    /// A quadratic curve: start, control point, end.
    Curve([[f32; 2]; 3]),
    /// A cubic curve: start, control points, end.
    Cubic([[f32; 2]; 4]),
    Circle([f32; 2], f32),
}

/// A disc with a ring around it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Dot {
    pub(crate) at: [f32; 2],
    pub(crate) radius: f32,
    pub(crate) paint: Paint,
    pub(crate) ring: f32,
}

/// What writes shapes into a file, in the order in which they lie on one another.
pub(crate) trait Pen {
    /// The whole background, from its middle to its corners.
    fn ground(&mut self, back: [[f32; 3]; 2]);
    /// Lines under the edges follow.
    fn unders(&mut self) {}
    fn under(&mut self, line: &Under);
    /// Edges follow.
    fn edges(&mut self) {}
    fn line(&mut self, way: Way, width: f32, paint: Paint);
    fn head(&mut self, corners: [[f32; 2]; 3], paint: Paint);
    /// Edges and discs that are selected follow.
    fn selected(&mut self) {}
    /// Discs follow, with rings of this colour.
    fn dots(&mut self, ring: Paint);
    fn dot(&mut self, dot: Dot);
    /// Names, title and legend follow.
    fn marks(&mut self) {}
    fn plate(&mut self, rect: Rect, radius: f32, paint: Paint);
    fn ramp(&mut self, rect: Rect, colors: &[[f32; 3]]);
    fn shape(&mut self, shape: &Shape);
    fn text(&mut self, text: &Text);
}

/// Finds out what is drawn, and refuses more than [`ELEMENTS_MAX`].
pub(crate) fn sheet<'a>(
    drawing: &'a Drawing<'a>,
    settings: &'a Settings,
    cancel: &CancelToken,
) -> Result<Sheet<'a>, RasterError> {
    settings.check()?;
    drawing.check()?;
    let [nodes, edges] = [drawing.positions.len(), drawing.ends.len()];
    let visible = drawing.visible.map(|both| both.map(|bits| bits.len() as usize));
    let [nodes, edges] = visible.unwrap_or([nodes, edges]);
    if nodes + edges > ELEMENTS_MAX {
        return Err(RasterError::Elements { nodes, edges });
    }
    Sheet::new(drawing, settings, cancel)
}

/// Draws a sheet with a pen.
pub(crate) fn draw(sheet: &Sheet<'_>, pen: &mut impl Pen) {
    let tone = sheet.tone(1.0);
    if !tone.clear {
        pen.ground(sheet.canvas.back);
    }
    if !sheet.under.is_empty() {
        pen.unders();
        sheet.under.iter().for_each(|line| pen.under(line));
    }
    let inked = |weight: f32| tone::cover(weight, tone.scale) * tone.opacity;
    pen.edges();
    for stroke in sheet.strokes.iter().flatten() {
        line(sheet, stroke, inked, pen);
    }
    sheet.arrows.iter().for_each(|arrow| head(sheet, arrow, inked, pen));
    for stroke in &sheet.rare {
        line(sheet, stroke, |weight| weight * sheet.rare_gain, pen);
    }
    discs(sheet, &sheet.canvas.order, sheet.dots(false), pen);
    if let Some(selected) = &sheet.selected {
        let inked = |weight: f32| weight * selected.gain;
        pen.selected();
        selected.strokes.iter().for_each(|stroke| line(sheet, stroke, inked, pen));
        selected.arrows.iter().for_each(|arrow| head(sheet, arrow, inked, pen));
        discs(sheet, &selected.order, sheet.dots(true), pen);
    }
    pen.marks();
    for mark in &sheet.marks {
        match mark {
            Mark::Plate { rect, radius, color, opacity } => {
                pen.plate(*rect, *radius, Paint { color: *color, opacity: *opacity });
            }
            Mark::Ramp { rect, colors } => pen.ramp(*rect, colors),
            Mark::Shape(shape) => pen.shape(shape),
            Mark::Blob(blob) => blob.shapes().iter().for_each(|shape| pen.shape(shape)),
            Mark::Text(text) => pen.text(text),
        }
    }
}

fn head(sheet: &Sheet<'_>, arrow: &Arrow, opacity: impl Fn(f32) -> f32, pen: &mut impl Pen) {
    let [_, d] = sheet.canvas.drawing.ends[arrow.edge as usize];
    let [r, g, b, a] = sheet.canvas.color(arrow.edge, d);
    let paint = Paint { color: [r, g, b], opacity: opacity(a * arrow.weight) };
    pen.head(corners(arrow), paint);
}

/// The discs of some nodes.
fn discs(sheet: &Sheet<'_>, order: &[u32], dots: Dots, pen: &mut impl Pen) {
    pen.dots(Paint { color: dots.back, opacity: RING_OPACITY * dots.opacity });
    for v in order {
        let (at, [r, g, b, a]) = (sheet.canvas.at[*v as usize], dots.color(&sheet.canvas, *v));
        let wide = sheet.canvas.diameter(*v);
        let ring = ring_of(wide, dots.stroke);
        let radius = wide / 2.0;
        let sides = sheet.canvas.view.sides;
        let far = radius + ring;
        let is_in = (0..2).all(|c| (-far..=sides[c] as f32 + far).contains(&at[c]));
        if a > 0.0 && is_in {
            let paint = Paint { color: [r, g, b], opacity: a * dots.opacity };
            pen.dot(Dot { at, radius, paint, ring });
        }
    }
}

fn line(sheet: &Sheet<'_>, stroke: &Stroke, opacity: impl Fn(f32) -> f32, pen: &mut impl Pen) {
    let canvas = &sheet.canvas;
    let edge = stroke.line.edge;
    let ends = canvas.drawing.ends[edge as usize];
    let [from, to] = ends.map(|v| canvas.color(edge, v));
    let [r, g, b, a] = [0, 1, 2, 3].map(|c| f32::midpoint(from[c], to[c]));
    let paint = Paint { color: [r, g, b], opacity: opacity(a * stroke.weight) };
    if paint.opacity > 0.0 && is_near(sheet, &stroke.curve, stroke.width) {
        pen.line(way(&stroke.curve), stroke.width, paint);
    }
}

/// Whether a line may be in the picture.
fn is_near(sheet: &Sheet<'_>, curve: &Curve, width: f32) -> bool {
    (0..2).all(|c| {
        let [low, high] = curve.reach(c);
        high + width >= 0.0 && low - width <= sheet.canvas.view.sides[c] as f32
    })
}

fn way(curve: &Curve) -> Way {
    let Curve { a, m, b, circle, led } = *curve;
    if let Some([p, q]) = led {
        return Way::Cubic([a, p, q, b]);
    }
    if let Some(radius) = circle {
        return Way::Circle(m, radius);
    }
    let off = [0, 1].map(|c| m[c] - f32::midpoint(a[c], b[c]));
    if off[0].hypot(off[1]) < 0.05 { Way::Line([a, b]) } else { Way::Curve([a, m, b]) }
}

fn corners(arrow: &Arrow) -> [[f32; 2]; 3] {
    let Arrow { tip, dir, length, .. } = *arrow;
    let wing = 0.42 * length;
    let corner =
        |by: f32| [tip[0] - dir[0] * length - dir[1] * by, tip[1] - dir[1] * length + dir[0] * by];
    [tip, corner(-wing), corner(wing)]
}
