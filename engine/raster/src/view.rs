//! The view of a picture: where places of the graph are on it, and how large nodes are there
//! (`shell/web/src/scene/camera.ts` and `node-size.ts`).

use graphlume_scene::drawn::screen_scale;

use crate::drawing::Drawing;
use crate::settings::Settings;

/// Coordinates from here on are those of nodes without a place.
const FAR: f32 = 1e30;
/// Diameters: the least and the greatest one, and from where they approach the latter.
const DIAMETER_MIN: f64 = 1.5;
const DIAMETER_MAX: f64 = 64.0;
const DIAMETER_SOFT: f64 = 32.0;
/// Zoom at which sizes stand apart most, and by how much then.
const CONTRAST_ZOOM: f64 = 10.0;
const CONTRAST_MAX: f64 = 3.0;

/// Whether a node has a place.
pub(crate) fn is_placed(p: [f32; 2]) -> bool {
    p.iter().all(|x| x.abs() < FAR)
}

/// The camera in pixels of the page: rows count from the top.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    pub(crate) sides: [f64; 2],
    middle: [f64; 2],
    pub(crate) scale: f64,
    /// How far it is zoomed in: 1 where all is in view.
    pub(crate) zoom: f64,
    sizes: SizeRule,
}

/// How sizes become diameters: `contrast` times what they have above `floor`, all in quarter pixels.
#[derive(Debug, Clone, Copy)]
struct SizeRule {
    scale: f64,
    floor: f64,
    contrast: f64,
}

impl View {
    /// The view with this middle and scale, zoomed in so far, and the diameters that nodes of the drawing have there.
    pub(crate) fn new(
        drawing: &Drawing<'_>,
        settings: &Settings,
        (middle, scale): ([f64; 2], f64),
        zoom: f64,
    ) -> Self {
        let sides = [f64::from(settings.width), f64::from(settings.height)];
        let least = drawing.node_size.iter().min().copied().unwrap_or(0);
        let point = settings.look.point_size * screen_scale(sides);
        let sizes = SizeRule {
            scale: point * zoom.max(1e-3).powf(0.55),
            floor: f64::from(least),
            contrast: if drawing.sizes_bound { 1.0 } else { contrast_at(zoom) },
        };
        Self { sides, middle, scale, zoom, sizes }
    }

    /// Where a place of the graph is on the picture, in pixels from its upper left corner.
    pub(crate) fn pixel(&self, p: [f32; 2]) -> [f32; 2] {
        self.pixel64(p.map(f64::from)).map(|x| x as f32)
    }

    /// The same of a place that may be far from it.
    pub(crate) fn pixel64(&self, p: [f64; 2]) -> [f64; 2] {
        let x = self.sides[0] / 2.0 + (p[0] - self.middle[0]) * self.scale;
        let y = self.sides[1] / 2.0 - (p[1] - self.middle[1]) * self.scale;
        [x, y]
    }

    /// The place of the graph that is at a pixel.
    pub(crate) fn place(&self, pixel: [f64; 2]) -> [f64; 2] {
        let x = self.middle[0] + (pixel[0] - self.sides[0] / 2.0) / self.scale;
        let y = self.middle[1] - (pixel[1] - self.sides[1] / 2.0) / self.scale;
        [x, y]
    }

    /// Diameter in pixels of a node with a size on the wire.
    pub(crate) fn diameter(&self, size: u8) -> f32 {
        let SizeRule { scale, floor, contrast } = self.sizes;
        let d = (floor + contrast * (f64::from(size) - floor)) / 4.0 * scale;
        let far = DIAMETER_MAX - DIAMETER_SOFT;
        let soft = if d <= DIAMETER_SOFT {
            d
        } else {
            DIAMETER_MAX - far * ((DIAMETER_SOFT - d) / far).exp()
        };
        soft.max(DIAMETER_MIN) as f32
    }

    /// The length at which a long edge has half of its ink.
    pub(crate) fn fade_length(&self) -> f32 {
        (160.0 * self.zoom * self.sides[0].min(self.sides[1]) / 800.0) as f32
    }

    /// How far a place is beyond the rim of the picture: 0 within, 1 from a quarter of it on.
    pub(crate) fn beyond(&self, point: [f32; 2]) -> f32 {
        let far = |c: usize| (f64::from(point[c]) / self.sides[c] * 2.0 - 1.0).abs();
        let t = ((far(0).max(far(1)) - 1.0) / 0.25).clamp(0.0, 1.0);
        (t * t * (3.0 - 2.0 * t)) as f32
    }
}

/// How far sizes stand apart at a zoom (1: everything is in view).
fn contrast_at(zoom: f64) -> f64 {
    let t = (zoom.max(1.0).ln() / CONTRAST_ZOOM.ln()).clamp(0.0, 1.0);
    1.0 + (CONTRAST_MAX - 1.0) * t
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn sizes_stand_apart_when_zoomed_in_and_approach_the_largest_diameter() {
        assert_eq!(contrast_at(0.5), 1.0);
        assert_eq!(contrast_at(10.0), 3.0);
        assert_eq!(contrast_at(1e6), 3.0);
        let sizes = SizeRule { scale: 1.0, floor: 20.0, contrast: 2.0 };
        let view = View { sides: [780.0; 2], middle: [0.0; 2], scale: 1.0, zoom: 1.0, sizes };
        assert_eq!(view.diameter(20), 5.0);
        assert_eq!(view.diameter(40), 15.0);
        let large = view.diameter(255);
        assert!(large > 60.0 && large < 64.0, "{large}");
        assert_eq!((view.beyond([390.0, 0.0]), view.beyond([390.0, 900.0])), (0.0, 1.0));
    }
}
