//! Labels of edges (`shell/web/src/bound/edge-labels.ts`): where the picture has few of them, each beside the
//! middle of its line, off names, discs and each other.

use std::f32::consts::PI;

use super::labels::Placed;
use crate::canvas::strokes::Stroke;
use crate::canvas::{Canvas, spots};
use crate::drawing::EdgeNames;
use crate::marks::{Halo, Mark, Text};
use crate::occupied::{Disc, Rect, Taken};
use crate::outlines::text::Face;
use crate::settings::text_color;
use crate::view::is_placed;

/// Lines that are named at most; where more have their middle in the picture none is.
const NAMED_MAX: usize = 200;
const SIZE: f32 = 10.5;
/// From the middle of a line to that of its text.
const ASIDE: f32 = 7.5;
/// Pixels of a line that stay free at either end of its text.
const FREE: f32 = 5.0;
const OPACITY: f32 = 0.82;
const HALO: Halo = Halo { color: [0.0; 3], width: 2.0, opacity: 0.85 / OPACITY };

/// Where a text lies: its middle and its direction.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Along {
    at: [f32; 2],
    angle: f32,
    width: f32,
}

impl Along {
    /// A text beside a place of its line, which would run through the gaps between words.
    fn beside(place: spots::OnLine, width: f32) -> Self {
        // Never upside down.
        let angle = place.angle + if place.angle.cos() < 0.0 { PI } else { 0.0 };
        let at = [place.at[0] + ASIDE * angle.sin(), place.at[1] - ASIDE * angle.cos()];
        Self { at, angle, width }
    }

    /// Squares of its height, which is near enough for keeping apart.
    fn squares(self) -> Vec<Rect> {
        let h = SIZE * 1.2;
        let count = (self.width / h).ceil().max(1.0) as usize;
        let (sin, cos) = self.angle.sin_cos();
        let square = |k: usize| {
            let off = ((k as f32 + 0.5) / count as f32 - 0.5) * self.width;
            [self.at[0] + off * cos - h / 2.0, self.at[1] + off * sin - h / 2.0, h, h]
        };
        (0..count).map(square).collect()
    }
}

/// The lines whose ends have their middle in the picture, where these are few.
fn wanted<'a>(canvas: &Canvas<'_>, strokes: &'a [Stroke]) -> Vec<&'a Stroke> {
    let is_in = |stroke: &&Stroke| {
        let ends = canvas.drawing.ends[stroke.line.edge as usize];
        let [a, b] = ends.map(|v| canvas.drawing.positions[v as usize]);
        let middle = view_middle(canvas, [a, b]);
        is_placed(a)
            && is_placed(b)
            && (0..2).all(|c| (0.0..=canvas.view.sides[c] as f32).contains(&middle[c]))
    };
    let found: Vec<&Stroke> = strokes.iter().filter(is_in).take(NAMED_MAX + 1).collect();
    if found.len() > NAMED_MAX { Vec::new() } else { found }
}

fn view_middle(canvas: &Canvas<'_>, [a, b]: [[f32; 2]; 2]) -> [f32; 2] {
    canvas.view.pixel([0, 1].map(|c| f32::midpoint(a[c], b[c])))
}

/// The texts that find room, with `names` of nodes and `obstacles` in their places.
pub(crate) fn marks(
    canvas: &Canvas<'_>,
    strokes: &[Stroke],
    names: &dyn EdgeNames,
    placed: &[Placed],
    obstacles: &[Rect],
    discs: &[Disc],
) -> Vec<Mark> {
    let Some(face) = Face::of(false) else { return Vec::new() };
    let style = &canvas.settings.labels;
    let drawing = canvas.drawing;
    let lines = wanted(canvas, strokes);
    let texts = names.of(&lines.iter().map(|s| s.line.edge).collect::<Vec<_>>());
    let around = |p: &Placed| {
        let h = p.candidate.size;
        [p.at[0] - 2.0, p.at[1] - 0.6 * h, p.width + 4.0, 1.2 * h]
    };
    let mut taken = Taken::new(placed.iter().map(around).chain(obstacles.iter().copied()));
    let discs = Discs::new(discs);
    let sides = canvas.view.sides.map(|side| side as f32);
    let mut marks = Vec::new();
    for (stroke, text) in lines.into_iter().zip(texts) {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = if style.any_script { Some(text) } else { face.drawable(&text) };
        // The number of edges that a line stands for is written there.
        let Some(text) = text.filter(|t| !t.is_empty() && stroke.line.count == 1) else { continue };
        let width = face.width(&text) * SIZE;
        let is_loop = stroke.curve.circle.is_some();
        let is_free = |r: &Rect| {
            (0..2).all(|c| r[c] >= 0.0 && r[c] + r[c + 2] <= sides[c])
                && !taken.meets(*r)
                && !discs.meet(*r)
        };
        let has_room =
            |place: &spots::OnLine| is_loop || width <= place.length - place.discs - 2.0 * FREE;
        let places = spots::places(canvas, stroke).into_iter().filter(has_room);
        let along = places.filter(|place| spots::is_along(stroke, *place, width));
        let mut placed = along.map(|place| Along::beside(place, width));
        let Some(found) = placed.find(|along| along.squares().iter().all(is_free)) else {
            continue;
        };
        let (at, angle, squares) = (found.at, found.angle, found.squares());
        squares.into_iter().for_each(|square| taken.add(square));
        marks.push(Mark::Text(Text {
            text,
            at: [at[0] - width / 2.0, at[1]],
            size: SIZE,
            bold: false,
            color: style.color.unwrap_or_else(|| text_color(canvas.settings.theme)),
            opacity: OPACITY * style.opacity * drawing.left_of_edge(stroke.line.edge),
            halo: Some(Halo { color: canvas.back[0], ..HALO }),
            turn: angle,
        }));
    }
    marks
}

/// Discs that texts keep off, by their squares first.
struct Discs<'a> {
    squares: Taken,
    all: &'a [Disc],
}

impl<'a> Discs<'a> {
    fn new(all: &'a [Disc]) -> Self {
        let square = |d: &Disc| {
            let r = d.radius;
            [d.at[0] - r, d.at[1] - r, 2.0 * r, 2.0 * r]
        };
        Self { squares: Taken::new(all.iter().map(square)), all }
    }

    fn meet(&self, [x, y, w, h]: Rect) -> bool {
        let touches = |d: &Disc| {
            let off = [d.at[0] - d.at[0].clamp(x, x + w), d.at[1] - d.at[1].clamp(y, y + h)];
            off[0].hypot(off[1]) < d.radius
        };
        self.squares.meets([x, y, w, h]) && self.all.iter().any(touches)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_along_a_line_is_covered_by_squares() {
        let flat = Along { at: [50.0, 20.0], angle: 0.0, width: 63.0 }.squares();
        assert_eq!(flat.len(), 5);
        assert!(flat.iter().all(|r| (r[1] - (20.0 - 6.3)).abs() < 1e-3));
        let steep = Along { at: [50.0, 50.0], angle: PI / 2.0, width: 63.0 }.squares();
        assert!(steep[0][1] < steep[4][1] && (steep[0][0] - steep[4][0]).abs() < 1e-3);
        let disc = [Disc { node: 0, at: [0.0, 0.0], radius: 10.0 }];
        let discs = Discs::new(&disc);
        assert!(discs.meet([5.0, 5.0, 4.0, 4.0]) && !discs.meet([8.5, 8.5, 4.0, 4.0]));
    }
}
