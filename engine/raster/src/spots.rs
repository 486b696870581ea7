//! Where icons stand, and texts along lines (`shell/web/src/bound/spots.ts`).

use std::collections::HashMap;

use crate::labels::Disc;
use crate::sheet::{Sheet, Stroke};

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
    fn has(&self, at: [f32; 2]) -> bool {
        let near = self.0.get(&at.map(|x| (x / CELL).floor() as i32));
        near.is_some_and(|list| {
            list.iter().any(|d| (d.at[0] - at[0]).hypot(d.at[1] - at[1]) < d.radius)
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
pub(crate) fn discs(sheet: &Sheet<'_>, has_icon: impl Fn(u32) -> bool) -> Vec<Disc> {
    let canvas = &sheet.canvas;
    let (mut found, mut covered) = (Vec::new(), Covered::default());
    for node in sheet.order.iter().rev().copied() {
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

/// The middle of a line as it is drawn.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Middle {
    pub(crate) at: [f32; 2],
    /// Direction of the line there, clockwise from the right.
    pub(crate) angle: f32,
    pub(crate) length: f32,
    /// Of it, what the discs at its ends cover.
    pub(crate) discs: f32,
}

/// The middle of a line, where it is in the picture.
pub(crate) fn middle(sheet: &Sheet<'_>, stroke: &Stroke) -> Option<Middle> {
    let curve = &stroke.curve;
    let [s, d] = sheet.canvas.drawing.ends[stroke.line.edge as usize];
    let at = curve.at(0.5);
    let at = match curve.circle {
        // The far side of a loop, up and to the right.
        Some(radius) => {
            let out = [curve.m[0] - curve.a[0], curve.m[1] - curve.a[1]];
            let far = out[0].hypot(out[1]).max(1e-3);
            [0, 1].map(|c| curve.m[c] + out[c] / far * radius)
        }
        None => at,
    };
    let sides = sheet.canvas.view.sides;
    let is_in = (0..2).all(|c| (0.0..=sides[c]).contains(&f64::from(at[c])));
    let run = [curve.b[0] - curve.a[0], curve.b[1] - curve.a[1]];
    let run = if s < d { run } else { run.map(|x| -x) };
    let (angle, length) = match curve.circle {
        Some(radius) => (0.0, std::f32::consts::TAU * radius),
        None => (run[1].atan2(run[0]), curve.span()),
    };
    let discs = [s, d].map(|v| sheet.canvas.diameter(v) / 2.0).iter().sum();
    is_in.then_some(Middle { at, angle, length, discs })
}

/// Middles of the lines in view that have an icon and room for it; the node is the edge.
pub(crate) fn lines(sheet: &Sheet<'_>, has_icon: impl Fn(u32) -> bool) -> Vec<Disc> {
    let strokes = sheet.strokes.iter().flatten().filter(|s| has_icon(s.line.edge));
    let spots = strokes.filter_map(|stroke| {
        let found = middle(sheet, stroke)?;
        let has_room = found.length - found.discs >= 3.5 * EDGE_RADIUS;
        has_room.then_some(Disc { node: stroke.line.edge, at: found.at, radius: EDGE_RADIUS })
    });
    spots.take(SPOTS_MAX).collect()
}
