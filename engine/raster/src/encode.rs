//! The picture band by band, and as a PNG file.

use graphlume_types::CancelToken;
use rayon::prelude::*;

use crate::band::{Band, Mode};
use crate::curve::{Canvas, Curve, swell};
use crate::ink::Ink;
use crate::lines::{Line, Lines};
use crate::png::Writer;
use crate::view::View;
use crate::{Drawing, RasterError, Settings, nodes, rare, tone};

/// Edges up to which each is drawn with soft rims, curves and arrow heads, as the page does where a GPU draws.
const LINES_MAX: usize = 120_000;
/// Arrow heads only where they can be told apart.
const ARROWS_MAX: usize = 600;
/// Lines from which a curve has fewer pieces.
const MANY: usize = 5_000;
/// Rows of a band.
const ROWS: usize = 64;

/// Draws the picture and writes it as a PNG file with 8 bits a channel.
///
/// # Errors
/// [`RasterError::Side`] for a size out of range, [`RasterError::Cancelled`], and [`RasterError::Length`] or
/// [`RasterError::Node`] for parts that do not belong together.
pub fn png(
    drawing: &Drawing<'_>,
    settings: &Settings,
    cancel: &CancelToken,
) -> Result<Vec<u8>, RasterError> {
    settings.check()?;
    let mut file = Writer::new(settings.width, settings.height, settings.transparent)?;
    rows(drawing, settings, cancel, |pixels| Ok(file.rows(pixels)?))?;
    Ok(file.finish()?)
}

/// Calls `write` with the rows of the picture from the top, four bytes a pixel; colours are not multiplied with opacity.
pub(crate) fn rows(
    drawing: &Drawing<'_>,
    settings: &Settings,
    cancel: &CancelToken,
    mut write: impl FnMut(&[u8]) -> Result<(), RasterError>,
) -> Result<(), RasterError> {
    settings.check()?;
    drawing.check()?;
    let sheet = Sheet::new(drawing, settings)?;
    let height = settings.height as usize;
    let bands: Vec<usize> = (0..height).step_by(ROWS).collect();
    for some in bands.chunks(rayon::current_num_threads().max(1)) {
        let drawn: Vec<Vec<u8>> = some
            .par_iter()
            .map(|first| {
                cancel.check()?;
                sheet.band(*first, ROWS.min(height - first), cancel)
            })
            .collect::<Result<_, RasterError>>()?;
        drawn.iter().try_for_each(|rows| write(rows))?;
    }
    Ok(())
}

/// All that the bands are drawn from.
struct Sheet<'a> {
    canvas: Canvas<'a>,
    settings: Settings,
    ink: Ink,
    /// Lines with soft rims; none where edges are too many.
    lines: Option<Lines>,
    /// Lines of rare colours and how strongly they are drawn once more.
    rare: Option<(Lines, f32)>,
    order: Vec<u32>,
}

/// How lines are drawn.
#[derive(Clone, Copy)]
struct Pen {
    gain: f32,
    width: f32,
    /// Whether long edges fade.
    fades: bool,
    mode: Mode,
}

impl<'a> Sheet<'a> {
    fn new(drawing: &'a Drawing<'a>, settings: &Settings) -> Result<Self, RasterError> {
        let view = View::fit(drawing, settings);
        let m = drawing.ends.len();
        let lines = (m <= LINES_MAX).then(|| Lines::of(0..m as u32, drawing));
        // Parallel edges that share a line cost the ink of one.
        let drawn = lines.as_ref().filter(|_| m > 0).map_or(1.0, |l| l.all.len() as f64 / m as f64);
        let ink = Ink::of(drawing, &view, drawn)?;
        let rare = drawing.edge_rgba.map(rare::edges).filter(|edges| !edges.is_empty());
        let rare = rare.and_then(|edges| {
            let gain = rare::opacity(edges.len()) - ink.alpha;
            (gain > 0.0).then(|| (Lines::of(edges.into_iter(), drawing), gain as f32))
        });
        let canvas = Canvas::new(drawing, view, settings.theme, ink.fade);
        Ok(Self {
            canvas,
            settings: *settings,
            ink,
            lines,
            rare,
            order: nodes::order(drawing.node_size),
        })
    }

    fn band(
        &self,
        first: usize,
        rows: usize,
        cancel: &CancelToken,
    ) -> Result<Vec<u8>, RasterError> {
        let mut band = Band::new(first, rows, self.settings.width as usize);
        let scale = match &self.lines {
            Some(lines) => {
                let pen = Pen {
                    gain: 1.0,
                    width: 1.0 + 0.5 * self.ink.room as f32,
                    fades: true,
                    mode: Mode::Sum,
                };
                self.lines(&mut band, lines, pen);
                let arrows = self.settings.arrows && lines.all.len() <= ARROWS_MAX;
                if arrows {
                    lines.all.iter().for_each(|line| self.arrow(&mut band, *line, pen));
                }
                1.0
            }
            None => self.thin(&mut band, cancel)?,
        };
        let (theme, clear) = (self.settings.theme, self.settings.transparent);
        let height = self.settings.height as usize;
        tone::map(&mut band, height, theme, (self.ink.alpha * scale) as f32, clear);
        if let Some((lines, gain)) = &self.rare {
            self.lines(
                &mut band,
                lines,
                Pen { gain: *gain, width: 1.0, fades: false, mode: Mode::Over },
            );
        }
        cancel.check()?;
        nodes::draw(&mut band, &self.canvas, &self.order, theme.background()[0]);
        Ok(bytes(&band))
    }

    /// Many edges as thin lines, as many as the rule wants; by how much they stand for more.
    fn thin(&self, band: &mut Band, cancel: &CancelToken) -> Result<f64, RasterError> {
        let canvas = &self.canvas;
        let all = canvas.drawing.ends.len();
        let drawn = ((all as f64 * self.ink.share).ceil() as usize).min(all);
        for (e, [s, d]) in (0..).zip(&canvas.drawing.ends[..drawn]) {
            if e % (1 << 16) == 0 {
                cancel.check()?;
            }
            let [a, b] = [*s, *d].map(|v| canvas.at[v as usize]);
            let is_placed = a[0].is_finite() && b[0].is_finite();
            if !is_placed || !band.touches([a[1].min(b[1]), a[1].max(b[1])]) {
                continue;
            }
            let weight = canvas.faded((b[0] - a[0]).hypot(b[1] - a[1])) * canvas.width(e);
            band.thin([a, b], [*s, *d].map(|v| inked(canvas.color(e, v), weight)));
        }
        Ok(if drawn > 0 { all as f64 * self.ink.share / drawn as f64 } else { 1.0 })
    }

    fn lines(&self, band: &mut Band, lines: &Lines, pen: Pen) {
        let pieces = match (lines.are_curved, lines.all.len() > MANY) {
            (false, _) => 1,
            (true, true) => 8,
            (true, false) => 14,
        };
        for line in &lines.all {
            let Some((curve, width)) = self.way(*line, pen) else { continue };
            if !band.touches(curve.rows(width + 1.0)) {
                continue;
            }
            let [s, d] = self.canvas.drawing.ends[line.edge as usize];
            let [from, to] = [s, d].map(|v| self.canvas.color(line.edge, v));
            let fade = if pen.fades { self.canvas.faded(curve.span()) } else { 1.0 };
            for piece in 0..pieces {
                let t = [piece, piece + 1].map(|k| k as f32 / pieces as f32);
                let inks = t.map(|t| {
                    let color = [0, 1, 2, 3].map(|c| from[c] + (to[c] - from[c]) * t);
                    inked(color, fade * pen.gain)
                });
                band.piece(t.map(|t| curve.at(t)), width, inks, pen.mode);
            }
        }
    }

    /// The way of a line and its width in pixels.
    fn way(&self, line: Line, pen: Pen) -> Option<(Curve, f32)> {
        let curve = self.canvas.curve(line)?;
        Some((curve, pen.width * self.canvas.width(line.edge) * swell(line.count)))
    }

    /// An arrow head that touches the disc of the destination.
    fn arrow(&self, band: &mut Band, line: Line, pen: Pen) {
        let [s, d] = self.canvas.drawing.ends[line.edge as usize];
        let Some((curve, width)) = self.way(line, pen).filter(|_| s != d) else { return };
        let span = curve.span();
        let radius = self.canvas.diameter(d) * 0.5 + 1.5;
        let head = 5.5 + 3.5 * self.ink.room as f32;
        let length = head.min(3.0 + radius) + 1.5 * width;
        if span < radius + 2.2 * length || !band.touches(curve.rows(length + radius)) {
            return;
        }
        let back = curve.at(1.0 - (radius + length) / span);
        let run = [0, 1].map(|c| curve.b[c] - (back[c] + (curve.m[c] - back[c]) * 0.15));
        let far = run[0].hypot(run[1]).max(1e-6);
        let dir = run.map(|x| x / far);
        let tip = [0, 1].map(|c| curve.b[c] - dir[c] * radius);
        let grow = length + 1.5;
        let wing = 0.5 * (grow + 1.5);
        let corner =
            |by: f32| [tip[0] - dir[0] * grow - dir[1] * by, tip[1] - dir[1] * grow + dir[0] * by];
        let point = [0, 1].map(|c| tip[c] + dir[c] * 1.5);
        let ink = inked(self.canvas.color(line.edge, d), self.canvas.faded(span) * pen.gain);
        band.shape([point, corner(-wing), corner(wing)], pen.mode, |q| {
            let from = [q[0] - tip[0], q[1] - tip[1]];
            let along = -(from[0] * dir[0] + from[1] * dir[1]);
            let across = (from[1] * dir[0] - from[0] * dir[1]).abs();
            let inside = ((along * 0.42 - across) * 0.92).min(length - along);
            ink.map(|x| x * (inside + 0.5).clamp(0.0, 1.0))
        });
    }
}

/// A colour as ink of some weight.
fn inked([r, g, b, a]: [f32; 4], weight: f32) -> [f32; 4] {
    let w = a * weight;
    [r * w, g * w, b * w, w]
}

/// Pixels as bytes, colours not multiplied with their opacity.
fn bytes(band: &Band) -> Vec<u8> {
    let byte = |x: f32| (x * 255.0).round().clamp(0.0, 255.0) as u8;
    let pixel = |p: &[f32; 4]| {
        let a = p[3].clamp(0.0, 1.0);
        let back = if a > 0.0 { 1.0 / a } else { 0.0 };
        [byte(p[0] * back), byte(p[1] * back), byte(p[2] * back), byte(a)]
    };
    band.pixels.iter().flat_map(pixel).collect()
}
