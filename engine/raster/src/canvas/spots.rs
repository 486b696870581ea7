//! Where icons stand, and texts along lines (`shell/web/src/bound/spots.ts`).

use std::collections::HashMap;

use super::Canvas;
use super::strokes::Stroke;
use crate::occupied::Disc;

/// Radius of a disc from which its icon is shown.
const RADIUS_MIN: f32 = 4.5;
/// Discs, and lines, with icons at most.
const SPOTS_MAX: usize = 4_000;
/// Side of the squares in which discs are looked up.
const CELL: f32 = 32.0;
/// Radius of the plate that carries the icon of an edge.
const EDGE_RADIUS: f32 = 8.0;

/// Discs that were put down so far, from the top one downwards.
#[derive(Default)]
struct Covered(HashMap<[i32; 2], Vec<Disc>>);

impl Covered {
    /// Whether a disc that lies over a place was put down before.
    fn has(&self, point: [f32; 2]) -> bool {
        let near = self.0.get(&point.map(|x| (x / CELL).floor() as i32));
        near.is_some_and(|list| {
            list.iter().any(|d| (d.at[0] - point[0]).hypot(d.at[1] - point[1]) < d.radius)
        })
    }

    fn put(&mut self, disc: Disc) {
        let cells = |c: usize| {
            let cell = |x: f32| (x / CELL).floor() as i32;
            cell(disc.at[c] - disc.radius)..=cell(disc.at[c] + disc.radius)
        };
        for x in cells(0) {
            for y in cells(1) {
                self.0.entry([x, y]).or_default().push(disc);
            }
        }
    }
}

/// Discs in view that have room for an icon and whose middle no other disc covers, the lowest first.
pub(crate) fn discs(canvas: &Canvas<'_>, has_icon: impl Fn(u32) -> bool) -> Vec<Disc> {
    let (mut found, mut covered) = (Vec::new(), Covered::default());
    for node in canvas.order.iter().rev().copied() {
        let radius = canvas.diameter(node) / 2.0;
        if radius < RADIUS_MIN || found.len() == SPOTS_MAX {
            break;
        }
        let (at, alpha) = (canvas.at[node as usize], canvas.colors[node as usize][3]);
        let is_near = |c: usize| (-radius..=canvas.view.sides[c] as f32 + radius).contains(&at[c]);
        if alpha == 0.0 || !is_near(0) || !is_near(1) {
            continue;
        }
        let disc = Disc { node, at, radius };
        if has_icon(node) && !covered.has(at) {
            found.push(disc);
        }
        covered.put(disc);
    }
    found.reverse();
    found
}

/// A place of a line at which something is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OnLine {
    pub(crate) at: [f32; 2],
    /// Direction of the line there, clockwise from the right.
    pub(crate) angle: f32,
    /// Pixels between the ends of the line.
    pub(crate) length: f32,
    /// Of them, what the discs at its ends cover.
    pub(crate) discs: f32,
}

/// How far apart along a bundled way the middles of parallel lines are, which run together there.
const APART: f32 = 0.08;
/// Shares of a bundled way at which a text may stand, beside its middle and in this order.
const ASIDE: [f32; 5] = [0.0, -0.15, 0.15, -0.28, 0.28];

/// The places of a line in the picture at which something may be written, the best one first.
pub(crate) fn places(canvas: &Canvas<'_>, stroke: &Stroke) -> Vec<OnLine> {
    let mut found = all_places(canvas, stroke);
    found.retain(|place| is_in(canvas, place));
    found
}

fn is_in(canvas: &Canvas<'_>, place: &OnLine) -> bool {
    (0..2).all(|c| (0.0..=canvas.view.sides[c]).contains(&f64::from(place.at[c])))
}

/// Where something may be written on a line, the best place first: the middle; of a bundled one, whose neighbours run with
/// it, also other places (`shell/web/src/scene/line-curve.ts` has the same).
fn all_places(canvas: &Canvas<'_>, stroke: &Stroke) -> Vec<OnLine> {
    let curve = &stroke.curve;
    let [s, d] = canvas.drawing.ends[stroke.line.edge as usize];
    let discs = [s, d].map(|v| canvas.diameter(v) / 2.0).iter().sum();
    if let Some(radius) = curve.circle {
        // The far side of a loop, up and to the right.
        let out = [curve.m[0] - curve.a[0], curve.m[1] - curve.a[1]];
        let far = out[0].hypot(out[1]).max(1e-3);
        let at = [0, 1].map(|c| curve.m[c] + out[c] / far * radius);
        return vec![OnLine { at, angle: 0.0, length: std::f32::consts::TAU * radius, discs }];
    }
    let middle = 0.5 + if curve.led.is_some() { APART * stroke.line.rank as f32 } else { 0.0 };
    let aside = if curve.led.is_some() { &ASIDE[..] } else { &ASIDE[..1] };
    let place = |aside: &f32| {
        // Lines of both directions between two nodes are told apart by their ranks.
        let t = if s < d { middle + aside } else { 1.0 - middle - aside };
        let (p, q) = (curve.at(t - 0.01), curve.at(t + 0.01));
        let run = [q[0] - p[0], q[1] - p[1]].map(|x| if s < d { x } else { -x });
        let place =
            OnLine { at: curve.at(t), angle: run[1].atan2(run[0]), length: curve.span(), discs };
        (0.1..=0.9).contains(&t).then_some(place)
    };
    aside.iter().filter_map(place).collect()
}

/// Pixels that a line may leave the straight text along it.
const STRAY: f32 = 3.5;
/// Pieces in which a curve is looked at for that.
const PIECES: u16 = 24;

/// Whether a line keeps to a straight text of a width at one of its places.
pub(crate) fn is_along(stroke: &Stroke, place: OnLine, width: f32) -> bool {
    let (sin, cos) = place.angle.sin_cos();
    let strays = |k: u16| {
        let at = stroke.curve.at(f32::from(k) / f32::from(PIECES));
        let [dx, dy] = [at[0] - place.at[0], at[1] - place.at[1]];
        (dx * cos + dy * sin).abs() < width / 2.0 && (dy * cos - dx * sin).abs() > STRAY
    };
    stroke.curve.led.is_none() || !(0..=PIECES).any(strays)
}

/// Middles of the lines in view that have an icon and room for it; the node is the edge.
pub(crate) fn lines(
    canvas: &Canvas<'_>,
    strokes: &[Stroke],
    has_icon: impl Fn(u32) -> bool,
) -> Vec<Disc> {
    let strokes = strokes.iter().filter(|s| has_icon(s.line.edge));
    let spots = strokes.filter_map(|stroke| {
        // An icon stands in the middle or nowhere.
        let found = *all_places(canvas, stroke).first().filter(|place| is_in(canvas, place))?;
        let has_room = found.length - found.discs >= 3.5 * EDGE_RADIUS;
        has_room.then_some(Disc { node: stroke.line.edge, at: found.at, radius: EDGE_RADIUS })
    });
    spots.take(SPOTS_MAX).collect()
}
