//! The way of a line between two nodes, and the ink that it has there (`CURVE` and `EDGE` of the page's shaders). Rows count
//! from the top here, so that normals have the other sign.

use crate::afar::bundle::Bundle;
use crate::ink::passing_at;
use crate::lines::Line;
use crate::view::{View, is_placed};
use crate::{Drawing, Theme};

/// How far the control point of a parallel edge may lie from its line: a share of its length, and pixels.
const BEND_STEP: f32 = 0.11;
const BEND_STEP_PIXELS: f32 = 6.5;
const BEND_SHARE: f32 = 0.22;
const BEND_PIXELS: f32 = 26.0;
/// Saturation of an edge without a colour of its own, in that of its ends.
const SATURATION: f32 = 0.82;

/// A drawing with what does not change from line to line.
pub(crate) struct Canvas<'a> {
    pub(crate) drawing: &'a Drawing<'a>,
    pub(crate) view: View,
    /// Places of the nodes in pixels; NaN without one.
    pub(crate) at: Vec<[f32; 2]>,
    /// Colours of the nodes in this theme, 0 to 1; those of hidden nodes have no opacity.
    pub(crate) colors: Vec<[f32; 4]>,
    /// How much long edges fade.
    fade: f32,
    /// Strength of edges without an end in view.
    passing: f32,
    brightness: f32,
    curvature: f32,
    /// What edges are bundled along.
    pub(crate) bundle: Option<Bundle<'a>>,
}

impl<'a> Canvas<'a> {
    pub(crate) fn new(drawing: &'a Drawing<'a>, view: View, theme: Theme, fade: f64) -> Self {
        let place = |p: &[f32; 2]| if is_placed(*p) { view.pixel(*p) } else { [f32::NAN; 2] };
        let color = |v: usize| {
            let [r, g, b, a] = drawing.node_color(v, theme).map(|x| f32::from(x) / 255.0);
            [r, g, b, if drawing.shows_node(v as u32) { a } else { 0.0 }]
        };
        Self {
            at: drawing.positions.iter().map(place).collect(),
            colors: (0..drawing.node_rgba.len()).map(color).collect(),
            brightness: if theme == Theme::Light { 0.94 } else { 0.82 },
            fade: fade as f32,
            passing: passing_at(view.zoom) as f32,
            curvature: 0.0,
            bundle: None,
            drawing,
            view,
        }
    }

    /// With edges that bend so far, 0 to 1, or that run together where they join communities.
    pub(crate) fn bent(self, curvature: f64, bundle: bool) -> Self {
        let along = self.drawing.groups.first().filter(|_| bundle);
        let bundle = along.map(|of| Bundle::new(of, self.drawing, &self.view));
        Self { curvature: curvature as f32, bundle, ..self }
    }

    pub(crate) fn diameter(&self, node: u32) -> f32 {
        self.view.diameter(self.drawing.node_size[node as usize])
    }

    /// What is left of an edge between two places because it has no end in view.
    pub(crate) fn passing(&self, [a, b]: [[f32; 2]; 2]) -> f32 {
        1.0 + (self.passing - 1.0) * self.view.beyond(a) * self.view.beyond(b)
    }

    /// The colour of an edge at one of its ends.
    pub(crate) fn color(&self, edge: u32, node: u32) -> [f32; 4] {
        if let Some(own) = self.drawing.own_color(edge, node) {
            return own.map(|x| f32::from(x) / 255.0);
        }
        let [r, g, b, a] = self.colors[node as usize];
        let grey = 0.299 * r + 0.587 * g + 0.114 * b;
        let tint = |c: f32| (grey + (c - grey) * SATURATION) * self.brightness;
        [tint(r), tint(g), tint(b), a]
    }

    /// The width of an edge in pixels, before the room there is makes it wider.
    pub(crate) fn width(&self, edge: u32) -> f32 {
        let own = |w: &[u8]| (f32::from(w[edge as usize].max(1)) / 16.0).max(0.25);
        self.drawing.edge_width.map_or(1.0, own)
    }

    /// What is left of the ink of an edge of this length.
    pub(crate) fn faded(&self, length: f32) -> f32 {
        let full = 1.0 / (1.0 + length / self.view.fade_length());
        1.0 + (full - 1.0) * self.fade
    }

    /// The way of a line; `None` unless both its ends have a place.
    pub(crate) fn curve(&self, line: Line) -> Option<Curve> {
        let [s, d] = self.drawing.ends[line.edge as usize];
        let [a, b] = [s, d].map(|v| self.at[v as usize]);
        if !(a[0].is_finite() && b[0].is_finite()) {
            return None;
        }
        if s == d {
            // A circle through the node's disc, which is drawn over the part that it covers; of several each is larger.
            let wide = self.diameter(s);
            let step = 2 * line.rank.abs() - i32::from(line.rank > 0);
            let size = 4.0 + wide * 0.32 + 4.0 * step as f32;
            let far = wide * 0.3 + size;
            return Some(Curve {
                a,
                m: [a[0] + 0.5 * far, a[1] - 0.866 * far],
                b,
                circle: Some(size),
                led: None,
            });
        }
        let run = if s < d { [b[0] - a[0], b[1] - a[1]] } else { [a[0] - b[0], a[1] - b[1]] };
        let span = run[0].hypot(run[1]).max(1.0);
        let far = line.rank.unsigned_abs() as f32 * BEND_STEP.min(BEND_STEP_PIXELS / span);
        let bend = self.curvature * 0.4
            + line.rank.signum() as f32 * far.min(BEND_SHARE.min(BEND_PIXELS / span));
        let middle = [0, 1].map(|c| f32::midpoint(a[c], b[c]));
        let m = [middle[0] + run[1] * bend, middle[1] - run[0] * bend];
        let led = self.bundle.as_ref().and_then(|bundle| bundle.led([s, d], [a, b]));
        Some(Curve { a, m, b, circle: None, led })
    }
}

/// A quadratic curve, or a circle, or a cubic curve.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Curve {
    pub(crate) a: [f32; 2],
    pub(crate) m: [f32; 2],
    pub(crate) b: [f32; 2],
    /// The radius, where it is a circle around `m`.
    pub(crate) circle: Option<f32>,
    /// The inner control points, where it is a cubic curve.
    pub(crate) led: Option<[[f32; 2]; 2]>,
}

impl Curve {
    pub(crate) fn at(&self, t: f32) -> [f32; 2] {
        if let Some(radius) = self.circle {
            let (sin, cos) = (t * std::f32::consts::TAU).sin_cos();
            return [self.m[0] + radius * sin, self.m[1] - radius * cos];
        }
        let u = 1.0 - t;
        if let Some([p, q]) = self.led {
            let [b0, b1, b2, b3] = [u * u * u, 3.0 * u * u * t, 3.0 * u * t * t, t * t * t];
            return [0, 1].map(|c| b0 * self.a[c] + b1 * p[c] + b2 * q[c] + b3 * self.b[c]);
        }
        [0, 1].map(|c| u * u * self.a[c] + 2.0 * u * t * self.m[c] + t * t * self.b[c])
    }

    /// The length between its ends, as the crow flies.
    pub(crate) fn span(&self) -> f32 {
        (self.b[0] - self.a[0]).hypot(self.b[1] - self.a[1])
    }

    /// First and last row that it may touch when it is so wide.
    pub(crate) fn rows(&self, wide: f32) -> [f32; 2] {
        let [low, high] = self.reach(1);
        [low - wide, high + wide]
    }

    /// Least and greatest coordinate on an axis that it may have.
    pub(crate) fn reach(&self, axis: usize) -> [f32; 2] {
        let inner = self.led.unwrap_or([self.m; 2]);
        let far = self.circle.unwrap_or(0.0);
        let all = [self.a, inner[0], inner[1], self.b].map(|p| p[axis]);
        let [low, high] = [all.map(|x| x - far), all.map(|x| x + far)];
        [low.into_iter().fold(f32::MAX, f32::min), high.into_iter().fold(f32::MIN, f32::max)]
    }
}

/// A line that stands for many edges is wider, by the logarithm of their number.
pub(crate) fn swell(count: u32) -> f32 {
    (1.0 + 0.5 * (count.max(1) as f32).log2()).min(6.0)
}
