//! Turns a picture to lie as the stage does, and evens out how far its nodes are from its middle.
//!
//! A layout by forces has no up: its longer axis (the first principal component) may as well lie along the longer side of
//! the screen. Most of its nodes are in the middle, the more the longer it has run, while the fit is decided by the few
//! that are far out: the distances from the middle are moved towards those of an even disc, whose nodes within `r` are
//! in proportion to `r^2`, as far as is needed for the picture to fill the stage. Angles and the order of distances stay.
//! A picture that is far out in some directions only is then evened out along each axis, where the order of nodes stays.

use graphlume_types::stage::ASPECT;
use rayon::prelude::*;

use super::view::box_share;
use crate::layout::component_packing::Coordinate;

/// The part of the stage that the middle nine tenths of the nodes should take each way.
const SHARE: f64 = 0.6;
/// How much longer one axis may be drawn than the other.
const STRETCH_MAX: f64 = 1.3;
/// Pictures as long as wide up to this have no axis to be turned by.
const ROUND: f64 = 1.08;
/// Steps from the distances that there are to even ones, and how far they go at most.
const STEPS: u32 = 10;
const EVEN_MAX: f64 = 0.9;
/// How far coordinates go at most towards those at which as many nodes lie in each strip of the picture.
const EVEN_AXES_MAX: f64 = 0.6;
/// Nodes that are looked at.
const SAMPLE: usize = 1 << 14;
/// Places at which the distances are told; between them they are interpolated.
const KNOTS: usize = 64;
/// Nodes up to which a picture has no crowd.
const FEW: usize = 12;

/// Middle and directions of the points `of`: the mean, and the direction in which they vary most with how much more they
/// vary there than across.
fn axes<T: Copy + Into<f64>>(points: &[[T; 2]], of: &[u32]) -> ([f64; 2], [f64; 2], f64) {
    let sample: Vec<[f64; 2]> = sampled(of).map(|v| points[v as usize].map(Into::into)).collect();
    let n = sample.len().max(1) as f64;
    let mean = [0, 1].map(|c| sample.iter().map(|p| p[c]).sum::<f64>() / n);
    let [mut xx, mut xy, mut yy] = [0.0; 3];
    for p in &sample {
        let [x, y] = [p[0] - mean[0], p[1] - mean[1]];
        (xx, xy, yy) = (xx + x * x, xy + x * y, yy + y * y);
    }
    let (half, off) = (f64::midpoint(xx, -yy), xy);
    let spread = half.hypot(off);
    let middle = f64::midpoint(xx, yy);
    let angle = 0.5 * off.atan2(half);
    let ratio = ((middle + spread) / (middle - spread).max(1e-12 * middle.max(1e-300))).sqrt();
    (mean, [angle.cos(), angle.sin()], ratio)
}

fn sampled(of: &[u32]) -> impl Iterator<Item = u32> + '_ {
    of.iter().copied().step_by(of.len().div_ceil(SAMPLE).max(1))
}

/// Turns the points `of`, or all of them, about their middle so that the picture is wider than high.
pub(in crate::layout) fn lie_as_the_stage<T>(points: &mut [[T; 2]], of: Option<&[u32]>)
where
    T: Copy + Into<f64> + Coordinate,
{
    let all: Vec<u32>;
    let of = match of {
        Some(of) => of,
        None => {
            all = (0..points.len() as u32).collect();
            &all
        }
    };
    let (mean, [cos, sin], ratio) = axes(points, of);
    if ratio < ROUND || !ratio.is_finite() {
        return;
    }
    for v in of {
        let p = &mut points[*v as usize];
        let [x, y] = [0, 1].map(|c| p[c].into() - mean[c]);
        *p = [mean[0] + x * cos + y * sin, mean[1] + y * cos - x * sin].map(T::of);
    }
}

/// Turns, stretches and evens out the points `of`. `beside` is the part of the picture that others will take next to it.
pub(super) fn fill(points: &mut [[f64; 2]], of: &[u32], beside: f64) {
    if of.len() < FEW {
        return;
    }
    lie_as_the_stage(points, Some(of));
    let (mean, ..) = axes(points, of);
    let mut own: Vec<[f64; 2]> =
        of.par_iter().map(|v| [0, 1].map(|c| points[*v as usize][c] - mean[c])).collect();
    let size = spread(&own);
    if share_of(&own) >= SHARE {
        return;
    }
    stretch(&mut own, ASPECT * (1.0 - beside));
    even_out(&mut own);
    even_axes(&mut own);
    let larger = spread(&own);
    let back = if larger > 0.0 { size / larger } else { 1.0 };
    for (v, p) in of.iter().zip(&own) {
        points[*v as usize] = [0, 1].map(|c| mean[c] + back * p[c]);
    }
}

/// The part of the stage that the middle of a sample of the points takes.
fn share_of(points: &[[f64; 2]]) -> f64 {
    let step = points.len().div_ceil(SAMPLE).max(1);
    box_share(&points.iter().step_by(step).copied().collect::<Vec<_>>())
}

/// The root of the mean square of the distances from the origin.
fn spread(points: &[[f64; 2]]) -> f64 {
    let squares: f64 = points.iter().map(|p| p[0] * p[0] + p[1] * p[1]).sum();
    (squares / points.len() as f64).sqrt()
}

/// Stretches the axes so that the picture is `aspect` times as wide as high, within reason.
fn stretch(points: &mut [[f64; 2]], aspect: f64) {
    let Some(view) = super::ViewBox::of(points) else { return };
    if view.sides.contains(&0.0) {
        return;
    }
    let by = (aspect * view.sides[1] / view.sides[0]).clamp(1.0 / STRETCH_MAX, STRETCH_MAX).sqrt();
    points.iter_mut().for_each(|p| *p = [p[0] * by, p[1] / by]);
}

/// Evens the distances from the origin out, as little as makes the picture fill the stage.
fn even_out(points: &mut [[f64; 2]]) {
    let of: Vec<u32> = (0..points.len() as u32).collect();
    let sample: Vec<[f64; 2]> = sampled(&of).map(|v| points[v as usize]).collect();
    let Some(radii) = Radii::of(&sample) else { return };
    let mut best = (box_share(&sample), 0.0);
    for step in 1..=STEPS {
        if best.0 >= SHARE {
            break;
        }
        let even = EVEN_MAX * f64::from(step) / f64::from(STEPS);
        let tried: Vec<[f64; 2]> = sample.iter().map(|p| radii.moved(*p, even)).collect();
        let share = box_share(&tried);
        if share > best.0 {
            best = (share, even);
        }
    }
    if best.1 > 0.0 {
        points.par_iter_mut().for_each(|p| *p = radii.moved(*p, best.1));
    }
}

/// Evens the coordinates of each axis out, as little as makes the picture fill the stage.
fn even_axes(points: &mut [[f64; 2]]) {
    let of: Vec<u32> = (0..points.len() as u32).collect();
    let sample: Vec<[f64; 2]> = sampled(&of).map(|v| points[v as usize]).collect();
    let axes = [0, 1].map(|c| Strips::of(sample.iter().map(|p| p[c]).collect()));
    let moved = |p: [f64; 2], even: f64| [0, 1].map(|c| axes[c].moved(p[c], even));
    let mut best = (box_share(&sample), 0.0);
    for step in 1..=STEPS {
        if best.0 >= SHARE {
            break;
        }
        let even = EVEN_AXES_MAX * f64::from(step) / f64::from(STEPS);
        let share = box_share(&sample.iter().map(|p| moved(*p, even)).collect::<Vec<_>>());
        if share > best.0 {
            best = (share, even);
        }
    }
    if best.1 > 0.0 {
        points.par_iter_mut().for_each(|p| *p = moved(*p, best.1));
    }
}

/// Coordinates between which equal parts of the nodes lie, but for the few that are farthest out.
struct Strips(Vec<f64>);

impl Strips {
    fn of(mut all: Vec<f64>) -> Self {
        all.sort_unstable_by(f64::total_cmp);
        let last = (all.len() - 1) as f64;
        let at =
            |k: usize| all[(last * (0.002 + 0.996 * k as f64 / KNOTS as f64)).round() as usize];
        let mut knots: Vec<f64> = (0..=KNOTS).map(at).collect();
        knots.dedup();
        Self(knots)
    }

    /// Where a coordinate goes: `even` of the way to where the strips are of one width.
    fn moved(&self, x: f64, even: f64) -> f64 {
        let knots = &self.0;
        let count = knots.len() - 1;
        let (low, high) = (knots[0], knots[count]);
        if count == 0 || x <= low || x >= high {
            return x;
        }
        let k = knots.partition_point(|knot| *knot <= x) - 1;
        let place = (k as f64 + (x - knots[k]) / (knots[k + 1] - knots[k])) / count as f64;
        (1.0 - even) * x + even * (low + place * (high - low))
    }
}

/// How many nodes are how far out. Distances are measured in ellipses that are as wide as the picture.
struct Radii {
    sides: [f64; 2],
    /// Distances within which equal parts of the nodes lie; the last is that of almost all.
    knots: Vec<f64>,
}

impl Radii {
    fn of(sample: &[[f64; 2]]) -> Option<Self> {
        let sides = super::ViewBox::of(sample)?.sides;
        if sides.contains(&0.0) {
            return None;
        }
        let mut all: Vec<f64> =
            sample.iter().map(|p| (p[0] / sides[0]).hypot(p[1] / sides[1])).collect();
        all.sort_unstable_by(f64::total_cmp);
        let last = 0.995 * (all.len() - 1) as f64;
        let at = |k: usize| all[(last * k as f64 / KNOTS as f64).round() as usize];
        let mut knots: Vec<f64> = (1..=KNOTS).map(at).collect();
        knots.dedup();
        (knots.len() > 4 && knots[0] > 0.0).then_some(Self { sides, knots })
    }

    /// Where a point goes: `even` of the way to the distance that it would have in an even disc.
    fn moved(&self, p: [f64; 2], even: f64) -> [f64; 2] {
        let r = (p[0] / self.sides[0]).hypot(p[1] / self.sides[1]);
        let count = self.knots.len();
        let outermost = self.knots[count - 1];
        let inside = |k: usize| if k == 0 { 0.0 } else { self.knots[k - 1] };
        let flat = |k: usize| outermost * (k as f64 / count as f64).sqrt();
        let even_at = if r >= outermost {
            // What is farther out than almost all comes closer, and stays outside.
            outermost + (r - outermost) * (1.0 - even)
        } else {
            let k = self.knots.partition_point(|knot| *knot <= r);
            let share = (r - inside(k)) / (inside(k + 1) - inside(k));
            if k == 0 {
                // As far as to the first distance the disc has no middle to be even about.
                share * flat(1)
            } else {
                flat(k) + share * (flat(k + 1) - flat(k))
            }
        };
        let to = if r >= outermost { even_at } else { (1.0 - even) * r + even * even_at };
        if r > 0.0 { p.map(|x| x * to / r) } else { p }
    }
}
