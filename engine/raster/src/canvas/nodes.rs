//! Discs of the nodes, each with a ring in the colour of the background (`NODES` of the page's shaders).

use super::Canvas;
use crate::band::{Band, Mode};

/// Diameters between which a ring appears.
const RING_FROM: f32 = 4.0;
const RING_TO: f32 = 6.0;

/// What nodes are drawn with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dots {
    /// Colour of the rings: that of the background.
    pub(crate) back: [f32; 3],
    pub(crate) opacity: f32,
    /// Width of the rings in pixels of the page; 0 for the usual one.
    pub(crate) stroke: f32,
    /// Pixels of the picture for each of the page's.
    pub(crate) scale: f32,
    /// Whether all have their full strength: the selected ones drawn once more.
    pub(crate) are_full: bool,
}

impl Dots {
    /// The colour of a node: what is not selected is mixed with the background, so that nothing below shines through it.
    pub(crate) fn color(&self, canvas: &Canvas<'_>, node: u32) -> [f32; 4] {
        let [r, g, b, a] = canvas.colors[node as usize];
        let left = if self.are_full { 1.0 } else { canvas.drawing.dimmed() };
        let [r, g, b] =
            [(r, 0), (g, 1), (b, 2)].map(|(x, c)| self.back[c] + (x - self.back[c]) * left);
        [r, g, b, a]
    }
}

/// The ring around a disc of a diameter, both in pixels of the page.
pub(crate) fn ring_of(wide: f32, stroke: f32) -> f32 {
    if stroke > 0.0 {
        return stroke;
    }
    let t = ((wide - RING_FROM) / (RING_TO - RING_FROM)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// Draws the nodes that are in the band.
pub(crate) fn draw(band: &mut Band, canvas: &Canvas<'_>, order: &[u32], dots: Dots) {
    for v in order {
        let (at, color) = (canvas.at[*v as usize], dots.color(canvas, *v));
        if !at[0].is_finite() || color[3] == 0.0 {
            continue;
        }
        let wide = canvas.diameter(*v);
        let reach = wide * 0.5 + dots.stroke.max(1.0) + 1.0 / dots.scale;
        if !band.touches([at[1] - reach, at[1] + reach]) {
            continue;
        }
        let at = at.map(|x| x * dots.scale);
        let disc = wide * 0.5 * dots.scale;
        let ring = disc + ring_of(wide, dots.stroke) * dots.scale;
        let half = ring + 1.0;
        let corner = |x: f32, y: f32| [at[0] + x * half, at[1] + y * half];
        let corners = [corner(-1.0, -1.0), corner(1.0, -1.0), corner(1.0, 1.0), corner(-1.0, 1.0)];
        let alpha = color[3] * dots.opacity;
        band.shape_of_pixels(corners, Mode::Over, |q| {
            let r = (q[0] - at[0]).hypot(q[1] - at[1]);
            let inner = (disc + 0.5 - r).clamp(0.0, 1.0);
            let outer =
                if ring - disc < 0.05 { inner } else { (ring + 0.5 - r).clamp(0.0, 1.0) * 0.9 };
            let a = inner.max(outer) * alpha;
            let share = inner / inner.max(outer).max(1e-4);
            let back = dots.back;
            let mixed = [0, 1, 2].map(|c| (back[c] + (color[c] - back[c]) * share) * a);
            [mixed[0], mixed[1], mixed[2], a]
        });
    }
}
