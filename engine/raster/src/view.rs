//! Where the picture lies: the fit of the page (`shell/web/src/scene/camera.ts`), without anything that covers it.

use graphlume_scene::drawn::{DIAMETER_MAX, DIAMETER_MIN, screen_scale};

use crate::{Drawing, Settings};

/// Positions that are looked at.
const SAMPLE_MAX: usize = 20_000;
/// How many times as wide as most of the nodes a box of given positions may be for the sake of all of them.
const WHOLE_MAX: f32 = 10.0;
/// Coordinates from here on are those of nodes without a place.
const FAR: f32 = 1e30;

/// Whether a node has a place.
pub(crate) fn is_placed(p: [f32; 2]) -> bool {
    p.iter().all(|x| x.abs() < FAR)
}

/// Least and greatest x and y.
type Box2 = [[f32; 2]; 2];

/// The camera in pixels: rows count from the top.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    pub(crate) sides: [f64; 2],
    middle: [f64; 2],
    pub(crate) scale: f64,
    /// Pixels of a diameter per pixel on the wire.
    size_scale: f64,
}

impl View {
    /// The view that shows the whole drawing.
    pub(crate) fn fit(drawing: &Drawing<'_>, settings: &Settings) -> Self {
        let sides = [f64::from(settings.width), f64::from(settings.height)];
        let size_scale = screen_scale(sides);
        let found = if drawing.is_given {
            given_box(drawing.positions)
        } else {
            percentile_box(drawing.positions)
        };
        let Some([x, y]) = found.map(|b| b.map(|s| s.map(f64::from))) else {
            return Self { sides, middle: [0.0; 2], scale: 1.0, size_scale };
        };
        let margin = (sides[0].min(sides[1]) * 0.045).clamp(12.0, 40.0);
        let part = (0.36 + 0.1 * (drawing.positions.len() as f64).sqrt()).min(1.0);
        let free = sides.map(|side| (side - 2.0 * margin).max(40.0).min(side) * part);
        let (w, h) = (x[1] - x[0], y[1] - y[0]);
        let scale = (free[0] / w.max(1e-9)).min(free[1] / h.max(1e-9));
        let scale = if w <= 0.0 && h <= 0.0 { 1.0 } else { scale.clamp(1e-12, 1e12) };
        let middle = [f64::midpoint(x[0], x[1]), f64::midpoint(y[0], y[1])];
        Self { sides, middle, scale, size_scale }
    }

    /// Where a place of the graph is on the picture, in pixels from its upper left corner.
    pub(crate) fn pixel(&self, p: [f32; 2]) -> [f32; 2] {
        let x = self.sides[0] / 2.0 + (f64::from(p[0]) - self.middle[0]) * self.scale;
        let y = self.sides[1] / 2.0 - (f64::from(p[1]) - self.middle[1]) * self.scale;
        [x as f32, y as f32]
    }

    /// Diameter in pixels of a node with a size on the wire.
    pub(crate) fn diameter(&self, size: u8) -> f32 {
        (f64::from(size) / 4.0 * self.size_scale).clamp(DIAMETER_MIN, DIAMETER_MAX) as f32
    }

    /// The length at which a long edge has half of its ink.
    pub(crate) fn fade_length(&self) -> f32 {
        (160.0 * self.sides[0].min(self.sides[1]) / 800.0) as f32
    }
}

/// Every so manieth place that there is.
fn sample(positions: &[[f32; 2]]) -> Vec<[f32; 2]> {
    let step = (positions.len() / SAMPLE_MAX).max(1);
    positions.iter().step_by(step).copied().filter(|p| is_placed(*p)).collect()
}

fn axis(sample: &[[f32; 2]], c: usize) -> Vec<f32> {
    let mut all: Vec<f32> = sample.iter().map(|p| p[c]).collect();
    all.sort_unstable_by(f32::total_cmp);
    all
}

/// The box between the 0.2 and 99.8 percentiles of each axis, or of all when the far ones cost little.
fn percentile_box(positions: &[[f32; 2]]) -> Option<Box2> {
    let sample = sample(positions);
    let last = sample.len().checked_sub(1)?;
    Some([0, 1].map(|c| {
        let all = axis(&sample, c);
        let low = all[(0.002 * last as f64).floor() as usize];
        let high = all[(0.998 * last as f64).ceil() as usize];
        let far = all[last] - all[0];
        if far <= (high - low) * 1.12 { [all[0], all[last]] } else { [low, high] }
    }))
}

/// The box that [`View::fit`] takes where the dataset binds the positions, for these have to be seen to the last one: only
/// nodes farther than [`WHOLE_MAX`] times the longer side of the middle 99.6 % from it are left out, as one wild coordinate
/// would otherwise shrink all others to a point.
fn given_box(positions: &[[f32; 2]]) -> Option<Box2> {
    let sample = sample(positions);
    let last = sample.len().checked_sub(1)?;
    let cut = if sample.len() < 4 { 0 } else { ((0.002 * sample.len() as f64) as usize).max(1) };
    let core = [0, 1].map(|c| {
        let all = axis(&sample, c);
        [all[cut], all[last - cut]]
    });
    let long = (core[0][1] - core[0][0]).max(core[1][1] - core[1][0]) * WHOLE_MAX;
    let reach = if long > 0.0 { long } else { f32::INFINITY };
    let mut found = [[f32::INFINITY, f32::NEG_INFINITY]; 2];
    for p in positions.iter().filter(|p| is_placed(**p)) {
        if (0..2).all(|c| (core[c][0] - reach..=core[c][1] + reach).contains(&p[c])) {
            for c in 0..2 {
                found[c] = [found[c][0].min(p[c]), found[c][1].max(p[c])];
            }
        }
    }
    Some(found)
}
