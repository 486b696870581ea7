//! A drawing and what is seen of it, as both sides read it from a sample.

use graphlume_scene::Bits;
use serde_json::{Value, json};

use super::{Dice, exact, exacts};
use crate::Drawing;
use crate::canvas::Canvas;
use crate::settings::{Look, Settings};
use crate::tests::NOTHING;
use crate::view::View;

/// A graph, and the view in which it is looked at.
#[derive(Clone)]
pub(super) struct Seen {
    pub(super) positions: Vec<[f32; 2]>,
    pub(super) rgba: Vec<[u8; 4]>,
    pub(super) sizes: Vec<u8>,
    pub(super) ends: Vec<[u32; 2]>,
    pub(super) hidden: [Vec<u32>; 2],
    pub(super) groups: Vec<Vec<u16>>,
    pub(super) given: bool,
    pub(super) bound: bool,
    pub(super) point_size: f64,
    pub(super) curvature: f64,
    pub(super) bundle: bool,
    /// Sides of the picture, the middle of the view, pixels a unit, and how far that is zoomed in.
    pub(super) size: [u32; 2],
    pub(super) middle: [f64; 2],
    pub(super) scale: f64,
    pub(super) zoom: f64,
}

impl Default for Seen {
    fn default() -> Self {
        Self {
            positions: Vec::new(),
            rgba: Vec::new(),
            sizes: Vec::new(),
            ends: Vec::new(),
            hidden: [Vec::new(), Vec::new()],
            groups: Vec::new(),
            given: false,
            bound: false,
            point_size: 1.0,
            curvature: 0.0,
            bundle: false,
            size: [800, 600],
            middle: [0.0; 2],
            scale: 1.0,
            zoom: 1.0,
        }
    }
}

/// Coordinates of nodes in turn; null for those without a place.
pub(super) fn flat(positions: &[[f32; 2]]) -> Value {
    let one = |x: &f32| if x.is_nan() { Value::Null } else { exact(*x) };
    positions.iter().flatten().map(one).collect()
}

/// Bits of so many, without those that are hidden.
fn left(count: usize, hidden: &[u32]) -> Bits {
    Bits::of_flags((0..count as u32).map(|k| !hidden.contains(&k)))
}

impl Seen {
    /// Nodes here and there within a square of so many units a side, with some size each.
    pub(super) fn scattered(dice: &mut Dice, nodes: usize, edges: usize, side: f32) -> Self {
        let positions = (0..nodes).map(|_| dice.point([-side / 2.0; 2], [side / 2.0; 2])).collect();
        let sizes = dice.bytes(nodes, 120).into_iter().map(|size| size + 6).collect();
        let mut node = || dice.below(nodes.max(1) as u32);
        let ends = (0..edges).map(|_| [node(), node()]).collect();
        let rgba = vec![[90, 120, 200, 255]; nodes];
        Self { positions, rgba, sizes, ends, ..Self::default() }
    }

    /// Calls with the drawing.
    pub(super) fn drawn<T>(&self, look: impl FnOnce(&Drawing<'_>) -> T) -> T {
        let [nodes, edges] =
            [left(self.positions.len(), &self.hidden[0]), left(self.ends.len(), &self.hidden[1])];
        let is_whole = self.hidden.iter().all(Vec::is_empty);
        look(&Drawing {
            positions: &self.positions,
            node_rgba: &self.rgba,
            node_size: &self.sizes,
            ends: &self.ends,
            visible: (!is_whole).then_some([&nodes, &edges]),
            is_given: self.given,
            sizes_bound: self.bound,
            groups: &self.groups,
            ..NOTHING
        })
    }

    pub(super) fn settings(&self) -> Settings {
        let look =
            Look { point_size: self.point_size, curvature: self.curvature, ..Look::default() };
        let [width, height] = self.size;
        Settings { width, height, look, bundle: self.bundle, ..Settings::default() }
    }

    pub(super) fn sides(&self) -> [f64; 2] {
        self.size.map(f64::from)
    }

    pub(super) fn view(&self, drawing: &Drawing<'_>) -> View {
        View::new(drawing, &self.settings(), (self.middle, self.scale), self.zoom)
    }

    /// Calls with the canvas.
    pub(super) fn seen<T>(&self, look: impl FnOnce(&Canvas<'_>) -> T) -> T {
        let settings = self.settings();
        self.drawn(|drawing| look(&Canvas::new(drawing, &settings, self.view(drawing), 0.5)))
    }

    /// The same as the page's tests read it.
    pub(super) fn told(&self) -> Value {
        let mut told = json!({
            "xy": flat(&self.positions), "sizes": self.sizes, "ends": self.ends.as_flattened(),
            "size": self.size, "view": exacts([self.middle[0], self.middle[1], self.scale]), "zoom": exact(self.zoom),
            "pointSize": exact(self.point_size), "bound": self.bound,
        });
        let faint: Vec<usize> = (0..self.rgba.len()).filter(|v| self.rgba[*v][3] == 0).collect();
        let also = [
            ("hidden", json!(self.hidden), self.hidden.iter().any(|h| !h.is_empty())),
            ("faint", json!(faint), !faint.is_empty()),
            ("groups", json!(self.groups.first()), self.bundle),
            ("curvature", exact(self.curvature), self.curvature != 0.0),
        ];
        for (name, value, _) in also.into_iter().filter(|(.., is_told)| *is_told) {
            told[name] = value;
        }
        told
    }
}
