//! The picture band by band, and as a PNG file.

use graphlume_types::CancelToken;
use rayon::prelude::*;

use super::png::Writer;
use crate::band::{Band, Mode};
use crate::canvas::nodes;
use crate::canvas::strokes::{Arrow, Stroke};
use crate::drawing::Drawing;
use crate::edges::bundle::SEGMENTS;
use crate::edges::curve::Curve;
use crate::error::RasterError;
use crate::marks::stamps;
use crate::settings::{Background, Settings};
use crate::sheet::{Selected, Sheet};
use crate::tone::Tone;

/// Rows of a band.
const ROWS: usize = 64;
/// Edges between two looks at whether the caller still waits.
const CHECKED: u32 = 1 << 16;

/// Draws the picture and writes it as a PNG file with 8 bits a channel.
///
/// # Errors
/// [`RasterError::Side`], [`RasterError::Scale`], [`RasterError::Pixels`] or [`RasterError::Window`] for what no picture can
/// have, [`RasterError::Cancelled`], and [`RasterError::Length`] or [`RasterError::Node`] for parts that do not belong together.
pub fn png(
    drawing: &Drawing<'_>,
    settings: &Settings,
    cancel: &CancelToken,
) -> Result<Vec<u8>, RasterError> {
    settings.check()?;
    let [columns, rows] = settings.pixels();
    let mut file = Writer::new(columns, rows, settings.background == Background::Clear)?;
    self::rows(drawing, settings, cancel, |pixels| Ok(file.rows(pixels)?))?;
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
    let sheet = Sheet::new(drawing, settings, cancel)?;
    let over = stamps(&sheet.marks, settings.scale as f32);
    let height = settings.pixels()[1] as usize;
    let bands: Vec<usize> = (0..height).step_by(ROWS).collect();
    // Memory of bands that were written, for the next: fresh pages cost as much as drawing what has no ink.
    let mut spare: Vec<Vec<[f32; 4]>> = Vec::new();
    for some in bands.chunks(rayon::current_num_threads().max(1)) {
        spare.resize_with(some.len(), Vec::new);
        let drawn: Vec<(Vec<u8>, Vec<[f32; 4]>)> = some
            .par_iter()
            .zip(std::mem::take(&mut spare))
            .map(|(first, pixels)| {
                cancel.check()?;
                let rows = ROWS.min(height - first);
                let mut band = sheet.band(*first, rows, pixels, cancel)?;
                over.iter().for_each(|stamp| stamp.put(&mut band));
                Ok((bytes(&band), band.pixels))
            })
            .collect::<Result<_, RasterError>>()?;
        for (rows, pixels) in drawn {
            write(&rows)?;
            spare.push(pixels);
        }
    }
    Ok(())
}

impl Sheet<'_> {
    /// Draws some rows; `pixels` is memory that they may have.
    fn band(
        &self,
        first: usize,
        rows: usize,
        pixels: Vec<[f32; 4]>,
        cancel: &CancelToken,
    ) -> Result<Band, RasterError> {
        let columns = self.canvas.settings.pixels()[0] as usize;
        let mut band =
            Band::within(pixels, [first, rows], columns, self.canvas.settings.scale as f32);
        let scale = match &self.strokes {
            Some(strokes) => {
                self.draw(&mut band, strokes, self.pieces, 1.0, Mode::Sum);
                self.arrows.iter().for_each(|arrow| self.head(&mut band, arrow, 1.0, Mode::Sum));
                1.0
            }
            None => self.thin(&mut band, cancel)?,
        };
        let tone = self.tone(scale);
        if self.under.is_empty() {
            tone.map(&mut band);
        } else {
            // Background, the lines on it, and the edges over both.
            let mut ground = Band::new(first, rows, columns, self.canvas.settings.scale as f32);
            tone.map(&mut ground);
            self.under.iter().for_each(|line| line.draw(&mut ground));
            Tone { clear: true, ..tone }.map(&mut band);
            ground.lay(&band);
            band = ground;
        }
        self.draw(&mut band, &self.rare, self.rare_pieces, self.rare_gain, Mode::Over);
        cancel.check()?;
        nodes::draw(&mut band, &self.canvas, &self.canvas.order, self.dots(false));
        if let Some(Selected { strokes, pieces, arrows, gain, order }) = &self.selected {
            self.draw(&mut band, strokes, *pieces, *gain, Mode::Over);
            arrows.iter().for_each(|arrow| self.head(&mut band, arrow, *gain, Mode::Over));
            nodes::draw(&mut band, &self.canvas, order, self.dots(true));
        }
        Ok(band)
    }

    /// Many edges as thin lines, as many as the rule wants; by how much they stand for more.
    fn thin(&self, band: &mut Band, cancel: &CancelToken) -> Result<f64, RasterError> {
        let canvas = &self.canvas;
        let all = canvas.drawing.ends.len();
        let drawn = ((all as f64 * self.ink.share).ceil() as usize).min(all);
        // A line is one pixel wide whatever the resolution; its ink is the same.
        let gain = (1.0 / self.canvas.settings.scale.min(1.5).sqrt()) as f32;
        for (e, [s, d]) in (0..).zip(&canvas.drawing.ends[..drawn]) {
            if e % CHECKED == 0 {
                cancel.check()?;
            }
            let ends = [*s, *d].map(|v| canvas.at[v as usize]);
            let [a, b] = ends;
            let is_placed = a[0].is_finite() && b[0].is_finite();
            let led = canvas.bundle.as_ref().and_then(|bundle| bundle.led([*s, *d], ends));
            let curve = Curve { a, m: a, b, circle: None, led };
            if !is_placed || !band.touches(curve.rows(0.0)) || !canvas.drawing.shows_edge(e) {
                continue;
            }
            let faded = canvas.faded((b[0] - a[0]).hypot(b[1] - a[1])) * canvas.passing(ends);
            let weight = gain * faded * canvas.width(e);
            let colors = [*s, *d].map(|v| canvas.color(e, v));
            if led.is_none() {
                band.thin(ends, colors.map(|color| inked(color, weight)));
                continue;
            }
            for piece in 0..SEGMENTS {
                let t = [piece, piece + 1].map(|k| k as f32 / SEGMENTS as f32);
                let ink = |t: f32| {
                    let [from, to] = colors;
                    inked([0, 1, 2, 3].map(|c| from[c] + (to[c] - from[c]) * t), weight)
                };
                band.thin(t.map(|t| curve.at(t)), t.map(ink));
            }
        }
        Ok(if drawn > 0 { all as f64 * self.ink.share / drawn as f64 } else { 1.0 })
    }

    fn draw(&self, band: &mut Band, strokes: &[Stroke], pieces: usize, gain: f32, mode: Mode) {
        for Stroke { line, curve, width, weight } in strokes {
            if !band.touches(curve.rows(width + 1.0)) {
                continue;
            }
            let [s, d] = self.canvas.drawing.ends[line.edge as usize];
            let [from, to] = [s, d].map(|v| self.canvas.color(line.edge, v));
            for piece in 0..pieces {
                let t = [piece, piece + 1].map(|k| k as f32 / pieces as f32);
                let inks = t.map(|t| {
                    let color = [0, 1, 2, 3].map(|c| from[c] + (to[c] - from[c]) * t);
                    inked(color, weight * gain)
                });
                band.piece(t.map(|t| curve.at(t)), *width, inks, mode);
            }
        }
    }

    fn head(&self, band: &mut Band, arrow: &Arrow, gain: f32, mode: Mode) {
        let Arrow { edge, tip, dir, length, weight } = *arrow;
        let grow = length + 1.5;
        if !band.touches([tip[1] - 2.0 * grow, tip[1] + 2.0 * grow]) {
            return;
        }
        let [_, d] = self.canvas.drawing.ends[edge as usize];
        let wing = 0.5 * (grow + 1.5);
        let corner =
            |by: f32| [tip[0] - dir[0] * grow - dir[1] * by, tip[1] - dir[1] * grow + dir[0] * by];
        let point = [0, 1].map(|c| tip[c] + dir[c] * 1.5);
        let ink = inked(self.canvas.color(edge, d), weight * gain);
        band.shape([point, corner(-wing), corner(wing)], mode, |q| {
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
    // The cast ends at 0 and 255.
    let byte = |x: f32| (x * 255.0 + 0.5) as u8;
    let mut bytes = vec![255; 4 * band.pixels.len()];
    for (to, [r, g, b, a]) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(&band.pixels) {
        if *a == 1.0 {
            *to = [byte(*r), byte(*g), byte(*b), 255];
            continue;
        }
        let a = a.clamp(0.0, 1.0);
        let back = if a > 0.0 { 1.0 / a } else { 0.0 };
        *to = [byte(r * back), byte(g * back), byte(b * back), byte(a)];
    }
    bytes
}
