//! Marks over the picture: names, plates, dots and scales of colours, in pixels of the page.

mod blobs;
mod shape;

use crate::band::{Band, Mode};
use crate::occupied::Rect;
use crate::outlines::path::Path;
use crate::outlines::text::{BASELINE, Face, Mask};

pub(crate) use blobs::Blob;
pub(crate) use shape::{Paint, Shape};

/// Something over the picture; the first is the lowest.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Mark {
    /// A rectangle with round corners.
    Plate { rect: Rect, radius: f32, color: [f32; 3], opacity: f32 },
    /// A rectangle whose colours change from left to right.
    Ramp { rect: Rect, colors: Vec<[f32; 3]> },
    /// A filled outline.
    Shape(Shape),
    /// A soft disc or line of the view from afar.
    Blob(Blob),
    /// A line of text.
    Text(Text),
}

/// A line of text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Text {
    pub(crate) text: String,
    /// Left end and middle line.
    pub(crate) at: [f32; 2],
    pub(crate) size: f32,
    pub(crate) bold: bool,
    pub(crate) color: [f32; 3],
    pub(crate) opacity: f32,
    /// What surrounds the letters; none without.
    pub(crate) halo: Option<Halo>,
    /// Angle by which it is turned around its middle, clockwise, in radians.
    pub(crate) turn: f32,
}

impl Text {
    /// The middle around which it is turned.
    pub(crate) fn middle(&self) -> [f32; 2] {
        let width = Face::of(self.bold).map_or(0.0, |face| face.width(&self.text) * self.size);
        [self.at[0] + width / 2.0, self.at[1]]
    }

    /// A place as the text turns it.
    pub(crate) fn turned(&self, p: [f32; 2]) -> [f32; 2] {
        let (sin, cos) = self.turn.sin_cos();
        let middle = self.middle();
        let off = [p[0] - middle[0], p[1] - middle[1]];
        [middle[0] + off[0] * cos - off[1] * sin, middle[1] + off[0] * sin + off[1] * cos]
    }

    /// The outline of its letters, in pixels of the page.
    fn outline(&self, face: Face, shown: &str) -> Path {
        let start = [self.at[0], self.at[1] + BASELINE * self.size];
        face.path(shown).map(|p| self.turned([0, 1].map(|c| start[c] + self.size * p[c])))
    }
}

/// What surrounds the letters of a text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Halo {
    pub(crate) color: [f32; 3],
    /// Half of what it adds to the width of a letter's line, in pixels of the page.
    pub(crate) width: f32,
    /// As a share of that of the letters.
    pub(crate) opacity: f32,
}

impl Halo {
    /// The halo of names.
    pub(crate) const fn of(color: [f32; 3]) -> Self {
        Self { color, width: 1.75, opacity: 0.85 }
    }
}

/// A mark as it is put on the rows of a picture.
pub(crate) enum Stamp<'a> {
    Shape(&'a Mark),
    Letters(Box<Mask>, &'a Text),
}

/// The pixels of the letters, made once for all rows.
pub(crate) fn stamps<'a>(marks: &'a [Mark], scale: f32) -> Vec<Stamp<'a>> {
    let stamp = |mark: &'a Mark| match mark {
        Mark::Text(text) => {
            let face = Face::of(text.bold)?;
            let shown = face.drawable(&text.text)?;
            let halo = text.halo.map_or(0.0, |halo| halo.width * scale);
            let [x, y] = [text.at[0], text.at[1] + BASELINE * text.size].map(|c| c * scale);
            let mask = if text.turn == 0.0 {
                Mask::new(face, &shown, [x, y], text.size * scale, halo)
            } else {
                Mask::of_path(&text.outline(face, &shown), scale, halo)?
            };
            Some(Stamp::Letters(Box::new(mask), text))
        }
        shape => Some(Stamp::Shape(shape)),
    };
    marks.iter().filter_map(stamp).collect()
}

impl Stamp<'_> {
    /// Puts the part of the mark on a band that is in it.
    pub(crate) fn put(&self, band: &mut Band) {
        match self {
            Self::Letters(mask, text) => {
                if let Some(halo) = text.halo {
                    put(band, mask, &mask.halo, halo.color, halo.opacity * text.opacity);
                }
                put(band, mask, &mask.letters, text.color, text.opacity);
            }
            Self::Shape(Mark::Plate { rect, radius, color, opacity }) => {
                let middle = [rect[0] + rect[2] / 2.0, rect[1] + rect[3] / 2.0];
                let half = [rect[2] / 2.0 - radius, rect[3] / 2.0 - radius];
                let scale = band.scale();
                band.shape(corners(*rect, 1.0), Mode::Over, |q| {
                    let far = [0, 1].map(|c| (q[c] - middle[c]).abs() - half[c]);
                    let d = far[0].max(0.0).hypot(far[1].max(0.0)) + far[0].max(far[1]).min(0.0)
                        - radius;
                    let a = (0.5 - d * scale).clamp(0.0, 1.0) * opacity;
                    [color[0] * a, color[1] * a, color[2] * a, a]
                });
            }
            Self::Shape(Mark::Ramp { rect, colors }) => {
                band.shape(corners(*rect, 0.0), Mode::Over, |q| {
                    let [r, g, b] = along(colors, (q[0] - rect[0]) / rect[2].max(1e-3));
                    [r, g, b, 1.0]
                });
            }
            Self::Shape(Mark::Shape(shape)) => fill(band, shape),
            Self::Shape(Mark::Blob(blob)) => blob.draw(band),
            Self::Shape(Mark::Text(_)) => {}
        }
    }
}

/// Fills the part of an outline that is in a band.
fn fill(band: &mut Band, Shape { path, paint, disc }: &Shape) {
    let scale = band.scale();
    let [first, rows] = band.span();
    let Some(found) = path.cover(scale, first, rows) else { return };
    let Paint { color: [r, g, b], opacity } = *paint;
    for (row, line) in (found.top..).zip(found.cover.chunks_exact(found.columns)) {
        for (column, cover) in (found.left..).zip(line) {
            if *cover <= 0.0 {
                continue;
            }
            let inside = disc.map_or(1.0, |([x, y], radius)| {
                let off = [column as f32 + 0.5 - x * scale, row as f32 + 0.5 - y * scale];
                (radius * scale + 0.5 - off[0].hypot(off[1])).clamp(0.0, 1.0)
            });
            let a = cover * inside * opacity;
            band.over([column, row], [r * a, g * a, b * a, a]);
        }
    }
}

fn corners([x, y, w, h]: Rect, by: f32) -> [[f32; 2]; 4] {
    let [left, top, right, bottom] = [x - by, y - by, x + w + by, y + h + by];
    [[left, top], [right, top], [right, bottom], [left, bottom]]
}

/// The colour of a scale at a share of its length.
pub(crate) fn along(colors: &[[f32; 3]], share: f32) -> [f32; 3] {
    let Some(last) = colors.len().checked_sub(1) else { return [0.0; 3] };
    let place = share.clamp(0.0, 1.0) * last as f32;
    let low = (place as usize).min(last);
    let (a, b) = (colors[low], colors[(low + 1).min(last)]);
    [0, 1, 2].map(|c| a[c] + (b[c] - a[c]) * (place - low as f32))
}

fn put(band: &mut Band, mask: &Mask, cover: &[f32], color: [f32; 3], opacity: f32) {
    for (row, cover) in (mask.top..).zip(cover.chunks_exact(mask.columns)) {
        for (column, cover) in (mask.left..).zip(cover) {
            let a = cover * opacity;
            if a > 0.0 {
                band.over([column, row], [color[0] * a, color[1] * a, color[2] * a, a]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_of_colours_goes_from_one_to_the_next() {
        let colors = [[0.0; 3], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]];
        assert_eq!(along(&colors, 0.0), [0.0; 3]);
        assert_eq!(along(&colors, 0.25), [0.5, 0.0, 0.0]);
        assert_eq!(along(&colors, 0.75), [1.0, 0.5, 0.0]);
        assert_eq!(along(&colors, 2.0), [1.0, 1.0, 0.0]);
        assert_eq!(along(&[], 0.5), [0.0; 3]);
    }
}
