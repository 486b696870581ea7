//! The canvas of a picture: a drawing as its view shows it, and the way and the ink that each line has there (`CURVE` and
//! `EDGE` of the page's shaders). Rows count from the top here, so that normals have the other sign.

pub(crate) mod nodes;
pub(crate) mod spots;
pub(crate) mod strokes;

use crate::drawing::Drawing;
use crate::edges::bundle::Bundle;
use crate::edges::curve::Curve;
use crate::edges::ink::passing_at;
use crate::edges::lines::Line;
use crate::settings::{Background, Settings, Theme};
use crate::view::{View, is_placed};

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
    pub(crate) settings: &'a Settings,
    pub(crate) view: View,
    /// Colour of the background in its middle and in its corners.
    pub(crate) back: [[f32; 3]; 2],
    /// The nodes, the smallest first.
    pub(crate) order: Vec<u32>,
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
    /// A drawing as a view shows it, with long edges that fade so far.
    pub(crate) fn new(
        drawing: &'a Drawing<'a>,
        settings: &'a Settings,
        view: View,
        fade: f64,
    ) -> Self {
        let theme = settings.theme;
        let place = |p: &[f32; 2]| if is_placed(*p) { view.pixel(*p) } else { [f32::NAN; 2] };
        let color = |v: usize| {
            let [r, g, b, a] = drawing.node_color(v, theme).map(|x| f32::from(x) / 255.0);
            [r, g, b, if drawing.shows_node(v as u32) { a } else { 0.0 }]
        };
        // Edges run together where they join communities.
        let along = drawing.groups.first().filter(|_| settings.bundle);
        Self {
            order: by_size(drawing.node_size),
            back: back(settings),
            at: drawing.positions.iter().map(place).collect(),
            colors: (0..drawing.node_rgba.len()).map(color).collect(),
            brightness: if theme == Theme::Light { 0.94 } else { 0.82 },
            fade: fade as f32,
            passing: passing_at(view.zoom) as f32,
            curvature: settings.look.curvature as f32,
            bundle: along.map(|of| Bundle::new(of, drawing, &view)),
            drawing,
            settings,
            view,
        }
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

/// Node indices in ascending size, so that hubs end on top.
fn by_size(sizes: &[u8]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..sizes.len() as u32).collect();
    order.sort_by_key(|v| sizes[*v as usize]);
    order
}

fn back(settings: &Settings) -> [[f32; 3]; 2] {
    match settings.background {
        Background::Color(rgb) => [rgb.map(|x| f32::from(x) / 255.0); 2],
        Background::Theme | Background::Clear => settings.theme.background(),
    }
}
