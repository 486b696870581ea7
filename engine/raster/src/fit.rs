//! The fit of a view to what is drawn: that of the page (`shell/web/src/scene/camera.ts`), without anything that covers it.

use crate::afar;
use crate::drawing::Drawing;
use crate::occupied::Rect;
use crate::settings::{Settings, Window};
use crate::view::{View, is_placed};

/// Positions that are looked at.
const SAMPLE_MAX: usize = 20_000;
/// How many times as wide as most of the nodes a box of given positions may be for the sake of all of them.
const WHOLE_MAX: f32 = 10.0;
/// The room that discs take is found anew until the scale changes by less than this share, at most so often.
const STEADY: f64 = 1e-3;
const DISC_TURNS_MAX: usize = 8;

/// Least and greatest x and y.
type Box2 = [[f32; 2]; 2];

impl View {
    /// The view that the settings ask for, or that shows all that is visible of the drawing, out of
    /// the way of what covers parts of the picture.
    pub(crate) fn of(drawing: &Drawing<'_>, settings: &Settings, covered: &[Rect]) -> Self {
        let sides = [f64::from(settings.width), f64::from(settings.height)];
        let whole = fit(drawing, sides, covered, None);
        let hides = match drawing.collapsed {
            Some(collapsed) => collapsed.is_filtered(),
            None => drawing.visible.is_some(),
        };
        let (middle, scale) = match settings.window {
            Some(window) => shown(window, sides),
            None if hides => fit(drawing, sides, covered, Some(whole.1)),
            None => whole,
        };
        let zoom = settings.zoom.unwrap_or(scale / whole.1);
        Self::new(drawing, settings, (middle, scale), zoom)
    }
}

/// Middle and scale of the view that shows a window.
fn shown(window: Window, sides: [f64; 2]) -> ([f64; 2], f64) {
    let Window { left, right, top, bottom } = window;
    let scale = (sides[0] / (right - left)).min(sides[1] / (top - bottom)).clamp(1e-12, 1e12);
    ([f64::midpoint(left, right), f64::midpoint(bottom, top)], scale)
}

/// Middle and scale of the view that shows the whole drawing beside what is covered, or, where the scale of that is given,
/// what is visible of it (`shell/web/src/afar/disc-fit.ts` has the same).
pub(crate) fn fit(
    drawing: &Drawing<'_>,
    sides: [f64; 2],
    covered: &[Rect],
    whole: Option<f64>,
) -> ([f64; 2], f64) {
    // A disc is seen where what it stands for was gathered.
    let seen = |v: u32| drawing.collapsed.map_or_else(|| drawing.shows_node(v), |c| c.leaves(v));
    let there = |v: usize| whole.is_none() || seen(v as u32);
    let found = if drawing.is_given {
        given_box(drawing.positions, there)
    } else {
        percentile_box(drawing.positions, there)
    };
    let Some(found) = found.map(|b| b.map(|s| s.map(f64::from))) else {
        return ([0.0; 2], 1.0);
    };
    // A few nodes look lost at the rims of the picture; they are kept together in its middle.
    let part = (0.36 + 0.1 * (drawing.positions.len() as f64).sqrt()).min(1.0);
    let mut view = fit_box(found, sides, covered, part);
    // Discs of collapsed nodes reach by pixels beyond their places, which takes the more room the smaller the scale.
    let discs = afar::places(drawing);
    // One place fits at any scale.
    let is_point = found.iter().all(|[low, high]| high <= low);
    for _ in 0..if discs.is_empty() || is_point { 0 } else { DISC_TURNS_MAX } {
        let scale = view.1;
        let zoom = whole.map_or(1.0, |whole| scale / whole);
        let mut all = found;
        for (at, count) in &discs {
            let far = afar::reach(*count, drawing.positions.len(), sides, zoom) / scale;
            all = [0, 1].map(|c| [all[c][0].min(at[c] - far), all[c][1].max(at[c] + far)]);
        }
        view = fit_box(all, sides, covered, part);
        if (view.1 / scale - 1.0).abs() < STEADY {
            break;
        }
    }
    view
}

/// Middle and scale of the view that shows a box beside what is covered, by a part of what is free.
pub(crate) fn fit_box(
    [x, y]: [[f64; 2]; 2],
    sides: [f64; 2],
    covered: &[Rect],
    part: f64,
) -> ([f64; 2], f64) {
    let (w, h) = (x[1] - x[0], y[1] - y[0]);
    let scale_in = |free: [f64; 4]| (free[2] / w.max(1e-9)).min(free[3] / h.max(1e-9));
    let margin = (sides[0].min(sides[1]) * 0.036).clamp(12.0, 32.0);
    let free = free_rect(sides, covered, margin, scale_in);
    let scale = if w <= 0.0 && h <= 0.0 { 1.0 } else { scale_in(free) * part };
    let off = [0, 1].map(|c| (free[c] + free[c + 2] / 2.0 - sides[c] / 2.0) / scale);
    ([f64::midpoint(x[0], x[1]) - off[0], f64::midpoint(y[0], y[1]) + off[1]], scale)
}

/// The part of the picture to fit into, as left, top, width and height: the whole minus a margin and minus what is covered.
/// That can be avoided on either axis; the way that shows the box larger wins.
fn free_rect(
    sides: [f64; 2],
    covered: &[Rect],
    margin: f64,
    scale_in: impl Fn([f64; 4]) -> f64,
) -> [f64; 4] {
    const LEAST: f64 = 40.0;
    const GAP: f64 = 8.0;
    let inner = sides.map(|side| (side - 2.0 * margin).max(LEAST).min(side));
    let mut free = [(sides[0] - inner[0]) / 2.0, (sides[1] - inner[1]) / 2.0, inner[0], inner[1]];
    for [ox, oy, ow, oh] in covered.iter().map(|rect| rect.map(f64::from)) {
        let [x, y, w, h] = free;
        let (right, bottom) = (x + w, y + h);
        if ox >= right || oy >= bottom || ox + ow <= x || oy + oh <= y {
            continue;
        }
        let (left, top) = (ox + ow + GAP, oy + oh + GAP);
        let cuts = [
            [x, y, w, oy - GAP - y],
            [x, top, w, bottom - top],
            [left, y, right - left, h],
            [x, y, ox - GAP - x, h],
        ];
        let fine = cuts.into_iter().filter(|cut| cut[2] >= LEAST && cut[3] >= LEAST);
        if let Some(best) =
            fine.reduce(|a, b| if scale_in(b) > scale_in(a) * 1.001 { b } else { a })
        {
            free = best;
        }
    }
    free
}

/// Every so manieth place that there is.
fn sample(positions: &[[f32; 2]], there: impl Fn(usize) -> bool) -> Vec<[f32; 2]> {
    let step = (positions.len() / SAMPLE_MAX).max(1);
    let some = (0..positions.len()).step_by(step);
    some.filter(|v| is_placed(positions[*v]) && there(*v)).map(|v| positions[v]).collect()
}

fn axis(sample: &[[f32; 2]], c: usize) -> Vec<f32> {
    let mut all: Vec<f32> = sample.iter().map(|p| p[c]).collect();
    all.sort_unstable_by(f32::total_cmp);
    all
}

/// The box between the 0.2 and 99.8 percentiles of each axis, or of all when the far ones cost little.
pub(crate) fn percentile_box(
    positions: &[[f32; 2]],
    there: impl Fn(usize) -> bool,
) -> Option<Box2> {
    let sample = sample(positions, there);
    let last = sample.len().checked_sub(1)?;
    Some([0, 1].map(|c| {
        let all = axis(&sample, c);
        let low = all[(0.002 * last as f64).floor() as usize];
        let high = all[(0.998 * last as f64).ceil() as usize];
        let far = all[last] - all[0];
        if far <= (high - low) * 1.12 { [all[0], all[last]] } else { [low, high] }
    }))
}

/// The box that [`fit`] takes where the dataset binds the positions, for these have to be seen to the last one: only
/// nodes farther than [`WHOLE_MAX`] times the longer side of the middle 99.6 % from it are left out, as one wild coordinate
/// would otherwise shrink all others to a point.
pub(crate) fn given_box(positions: &[[f32; 2]], there: impl Fn(usize) -> bool) -> Option<Box2> {
    let sample = sample(positions, &there);
    let last = sample.len().checked_sub(1)?;
    let cut = if sample.len() < 4 { 0 } else { ((0.002 * sample.len() as f64) as usize).max(1) };
    let core = [0, 1].map(|c| {
        let all = axis(&sample, c);
        [all[cut], all[last - cut]]
    });
    let long = (core[0][1] - core[0][0]).max(core[1][1] - core[1][0]) * WHOLE_MAX;
    let reach = if long > 0.0 { long } else { f32::INFINITY };
    let mut found = [[f32::INFINITY, f32::NEG_INFINITY]; 2];
    for (_, p) in positions.iter().enumerate().filter(|(v, p)| is_placed(**p) && there(*v)) {
        if (0..2).all(|c| (core[c][0] - reach..=core[c][1] + reach).contains(&p[c])) {
            for c in 0..2 {
                found[c] = [found[c][0].min(p[c]), found[c][1].max(p[c])];
            }
        }
    }
    Some(found)
}
