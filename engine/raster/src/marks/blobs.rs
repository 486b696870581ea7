//! Soft discs over the picture and lines between them (`shell/web/src/afar/blob-shaders.ts`), in pixels of the page.

use super::shape::{Paint, Shape};
use crate::band::{Band, Mode};
use crate::outlines::path::{Path, Segment};

/// A disc or a line; opacities are 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Blob {
    Disc { at: [f32; 2], r: f32, inside: [f32; 3], around: [f32; 3], fill: f32, rim: f32 },
    Line { ends: [[f32; 2]; 2], colors: [[f32; 3]; 2], opacity: f32, width: f32 },
}

/// Width of a rim, and how far it is within the disc.
const RIM: f32 = 1.7;
const WITHIN: f32 = 0.6;
/// How much of the colour of its rim a disc has at it.
const TINT: f32 = 0.16;
/// Opacities from which something is seen.
const LEAST: f32 = 0.002;

fn mixed(a: [f32; 3], b: [f32; 3], share: f32) -> [f32; 3] {
    [0, 1, 2].map(|c| a[c] + (b[c] - a[c]) * share)
}

/// A colour multiplied with its opacity.
fn ink([r, g, b]: [f32; 3], a: f32) -> [f32; 4] {
    if a <= LEAST { [0.0; 4] } else { [r * a, g * a, b * a, a] }
}

impl Blob {
    /// Draws what of it is in a band.
    pub(crate) fn draw(&self, band: &mut Band) {
        match *self {
            Self::Disc { at: [x, y], r, inside, around, fill, rim } => {
                let half = r * 1.18 + 3.0;
                let corners = [[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]
                    .map(|[i, j]: [f32; 2]| [x + i * half, y + j * half]);
                band.shape(corners, Mode::Over, |q| {
                    let far = (q[0] - x).hypot(q[1] - y);
                    let d = far - r;
                    let cover = (0.5 - d).clamp(0.0, 1.0);
                    let middle = (far / r) * (far / r);
                    let line = (1.35 - (d + WITHIN).abs()).clamp(0.0, 1.0) * rim;
                    let reach = d.max(0.0) / (0.07 * r).max(1.0);
                    let glow = 0.3 * (-reach * reach).exp() * (1.0 - cover);
                    let edge = line.max(fill * glow);
                    let a = (fill * cover).max(edge);
                    let tinted = mixed(inside, around, TINT * middle);
                    ink(mixed(tinted, around, edge / a.max(1e-3)), a)
                });
            }
            Self::Line { ends, colors, opacity, width } => {
                let [p, q] = ends;
                let (dir, length) = direction(ends);
                band.shape(quad(ends, width * 0.5 + 1.0), Mode::Over, |at| {
                    let from = [at[0] - p[0], at[1] - p[1]];
                    let off = (from[1] * dir[0] - from[0] * dir[1]).abs();
                    let t = (from[0] * dir[0] + from[1] * dir[1]) / length.max(1e-4);
                    let color = if p == q { colors[0] } else { mixed(colors[0], colors[1], t) };
                    ink(color, opacity * (width * 0.5 + 0.5 - off).clamp(0.0, 1.0))
                });
            }
        }
    }

    /// The same as filled outlines, without the glow; a line has the mean of its colours.
    pub(crate) fn shapes(&self) -> Vec<Shape> {
        let shape = |path: Path, color, opacity| Shape {
            path,
            paint: Paint { color, opacity },
            disc: None,
        };
        match *self {
            Self::Disc { at, r, inside, around, fill, rim } => {
                let inner = mixed(inside, around, TINT / 2.0);
                vec![
                    shape(Path::ellipse(at, [r; 2], false), inner, fill),
                    shape(Path::ring(at, (r - WITHIN).max(0.0), RIM), around, rim),
                ]
            }
            Self::Line { ends, colors, opacity, width } => {
                let [a, b, c, d] = quad(ends, width / 2.0);
                let path =
                    vec![Segment::Move(a), Segment::Line(b), Segment::Line(c), Segment::Line(d)];
                vec![shape(Path(path), mixed(colors[0], colors[1], 0.5), opacity)]
            }
        }
    }
}

/// The direction of a line, and how long it is.
fn direction([p, q]: [[f32; 2]; 2]) -> ([f32; 2], f32) {
    let run = [q[0] - p[0], q[1] - p[1]];
    let length = run[0].hypot(run[1]);
    (run.map(|x| x / length.max(1e-4)), length)
}

/// The corners of a line with half its width.
fn quad(ends: [[f32; 2]; 2], half: f32) -> [[f32; 2]; 4] {
    let ([dx, dy], [p, q]) = (direction(ends).0, ends);
    let corner = |p: [f32; 2], by: f32| [p[0] - by * dy, p[1] + by * dx];
    [corner(p, -half), corner(q, -half), corner(q, half), corner(p, half)]
}
