//! The underlay, which lies beneath the edges: a map of the world, and the rings and lines that a layout is read by
//! (`shell/web/src/bound/underlay.ts`).

pub(crate) mod axes;
pub(crate) mod world;

use crate::band::{Band, Mode};
use crate::canvas::Canvas;
use crate::drawing::{AxisKind, AxisPlace, Underlay};
use crate::marks::{Halo, Mark, Paint, Text};
use crate::occupied::{Rect, Taken};
use crate::outlines::text::Face;
use crate::settings::Theme;
use crate::view::View;

/// Opacities that are seen and do not shout, on dark and on light.
pub(crate) const COAST: [f32; 2] = [0.26, 0.34];
pub(crate) const BORDER: [f32; 2] = [0.11, 0.16];
pub(crate) const GRATICULE: [f32; 2] = [0.06, 0.09];
pub(crate) const FIRM: [f32; 2] = [0.34, 0.42];
pub(crate) const LINE: [f32; 2] = [0.2, 0.26];
pub(crate) const SPACE: [f32; 2] = [0.15, 0.2];
pub(crate) const LABEL: [f32; 2] = [0.62, 0.72];
/// A wide band is laid on thinner than a line.
pub(crate) const BAND: f32 = 3.0;
/// Pixels of a dash, and of the gap behind it.
pub(crate) const DASH: f32 = 3.0;
/// Size of a label's letters, and of its line.
pub(crate) const SIZE: f32 = 11.5;
const HIGH: f32 = SIZE * 1.2;
const LABEL_HALO: f32 = 2.0;
const LABEL_HALO_OPACITY: f32 = 0.9;
/// Pixels beyond the picture from which lines are cut off.
const BEYOND: f64 = 64.0;

/// A line of the underlay in pixels of the page.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Under {
    pub(crate) way: UnderWay,
    pub(crate) width: f32,
    /// Pixels of a dash and of the gap behind it; 0 for a whole line.
    pub(crate) dash: f32,
    pub(crate) paint: Paint,
}

/// The way of such a line.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum UnderWay {
    Ring([f64; 2], f64),
    /// Parts that are in the picture: corners, and how far from the line's start the first one is.
    Lines(Vec<(Vec<[f32; 2]>, f32)>),
}

/// The ink of lines and labels: its colour, and the opacity for what it draws.
pub(crate) fn ink(theme: Theme, strength: [f32; 2]) -> Paint {
    let (rgb, opacity) = match theme {
        Theme::Dark => ([223.0, 230.0, 242.0], strength[0]),
        Theme::Light => ([40.0, 50.0, 70.0], strength[1]),
    };
    Paint { color: rgb.map(|c: f32| c / 255.0), opacity }
}

/// The lines of an underlay, the lowest first.
pub(crate) fn lines(under: &Underlay, view: &View, theme: Theme) -> Vec<Under> {
    let mut found = Vec::new();
    if let Some(place) = under.map {
        let world = world::lines();
        for (all, strength) in
            [(&world::graticule(), GRATICULE), (&world.borders, BORDER), (&world.coasts, COAST)]
        {
            let placed = all.iter().map(|line| {
                let at = |p: &[f64; 2]| [0, 1].map(|c| place.scale * p[c] + place.shift[c]);
                line.iter().map(|p| view.pixel64(at(p))).collect::<Vec<_>>()
            });
            let parts = placed.flat_map(|line| cut(&line, view.sides)).collect();
            let paint = ink(theme, strength);
            found.push(Under { way: UnderWay::Lines(parts), width: 1.0, dash: 0.0, paint });
        }
    }
    found.extend(under.axes.iter().map(|row| {
        let strength = match row.kind {
            AxisKind::External => FIRM,
            AxisKind::Space => SPACE,
            AxisKind::Plain | AxisKind::Internal => LINE,
        };
        let mut paint = ink(theme, strength);
        paint.opacity *= (BAND / row.width.max(BAND)).min(1.0);
        let way = match row.at {
            AxisPlace::Ring(r) => UnderWay::Ring(view.pixel64([0.0; 2]), r * view.scale),
            _ => UnderWay::Lines(cut(&axes::line(row, view), view.sides)),
        };
        let dash = if row.kind == AxisKind::Space { DASH } else { 0.0 };
        Under { way, width: row.width, dash, paint }
    }));
    found
}

/// The parts of a line that may be in the picture, so that no coordinate is far from it.
fn cut(line: &[[f64; 2]], sides: [f64; 2]) -> Vec<(Vec<[f32; 2]>, f32)> {
    let mut parts: Vec<(Vec<[f32; 2]>, f32)> = Vec::new();
    let mut start = 0.0;
    let mut open = false;
    for pair in line.windows(2) {
        let [a, b] = [pair[0], pair[1]];
        let run = [b[0] - a[0], b[1] - a[1]];
        let length = run[0].hypot(run[1]);
        match within(a, run, sides) {
            Some([from, to]) => {
                let at = |t: f64| [0, 1].map(|c| (a[c] + run[c] * t) as f32);
                match parts.last_mut().filter(|_| open && from == 0.0) {
                    Some((corners, _)) => corners.push(at(to)),
                    None => parts.push((vec![at(from), at(to)], (start + from * length) as f32)),
                }
                open = to == 1.0;
            }
            None => open = false,
        }
        start += length;
    }
    parts
}

/// Between which shares of its length a segment is near the picture (Liang and Barsky).
fn within(a: [f64; 2], run: [f64; 2], sides: [f64; 2]) -> Option<[f64; 2]> {
    let (mut from, mut to) = (0.0f64, 1.0f64);
    for c in 0..2 {
        for (p, q) in [(-run[c], a[c] + BEYOND), (run[c], sides[c] + BEYOND - a[c])] {
            if p == 0.0 {
                if q < 0.0 {
                    return None;
                }
            } else if p < 0.0 {
                from = from.max(q / p);
            } else {
                to = to.min(q / p);
            }
        }
    }
    (from < to).then_some([from, to])
}

/// The labels of the axes that find a place off panels and large discs, and where these are.
pub(crate) fn labels(
    canvas: &Canvas<'_>,
    under: &Underlay,
    taken: &mut Taken,
) -> (Vec<Mark>, Vec<Rect>) {
    let Some(face) = Face::of(false) else { return Default::default() };
    let mut paint = ink(canvas.settings.theme, LABEL);
    paint.opacity = paint.opacity.min(1.0);
    let (mut marks, mut places) = (Vec::new(), Vec::new());
    for row in &under.axes {
        let Some(text) = face.drawable(row.label.trim()) else { continue };
        let sides = [face.width(&text) * SIZE, HIGH];
        let free = |rect: &Rect| {
            let is_in = (0..2)
                .all(|c| rect[c] >= 0.0 && rect[c] + rect[c + 2] <= canvas.view.sides[c] as f32);
            is_in && !taken.meets(*rect)
        };
        let Some(rect) = axes::places(row, &canvas.view, sides).into_iter().find(free) else {
            continue;
        };
        taken.add(rect);
        places.push(rect);
        let halo = Halo { color: canvas.back[0], width: LABEL_HALO, opacity: LABEL_HALO_OPACITY };
        marks.push(Mark::Text(Text {
            text,
            at: [rect[0], rect[1] + HIGH / 2.0],
            size: SIZE,
            bold: false,
            color: paint.color,
            opacity: paint.opacity,
            halo: Some(halo),
            turn: 0.0,
        }));
    }
    (marks, places)
}

impl Under {
    /// Draws what of the line is in a band.
    pub(crate) fn draw(&self, band: &mut Band) {
        let Paint { color: [r, g, b], opacity } = self.paint;
        let ink = |cover: f32| [r, g, b, 1.0].map(|c| c * opacity * cover);
        match &self.way {
            UnderWay::Ring(at, radius) => self.ring(band, *at, *radius, ink),
            UnderWay::Lines(parts) => {
                for (corners, start) in parts {
                    let mut start = *start;
                    for pair in corners.windows(2) {
                        start += self.piece(band, [pair[0], pair[1]], start, ink);
                    }
                }
            }
        }
    }

    /// How much of a pixel is covered that is so far from the middle line, and so far along it.
    fn cover(&self, off: f32, along: f32) -> f32 {
        let on = self.dash <= 0.0 || (along / (2.0 * self.dash)).rem_euclid(1.0) <= 0.5;
        if on { (self.width * 0.5 + 0.5 - off).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// A straight piece that begins so far from the line's start; how long it is.
    fn piece(
        &self,
        band: &mut Band,
        [p, q]: [[f32; 2]; 2],
        start: f32,
        ink: impl Fn(f32) -> [f32; 4],
    ) -> f32 {
        let run = [q[0] - p[0], q[1] - p[1]];
        let length = run[0].hypot(run[1]);
        let half = self.width * 0.5 + 0.75;
        if !band.touches([p[1].min(q[1]) - half, p[1].max(q[1]) + half]) {
            return length;
        }
        let dir = run.map(|x| x / length.max(1e-4));
        let side = [-dir[1] * half, dir[0] * half];
        let corner = |p: [f32; 2], by: f32| [p[0] + by * side[0], p[1] + by * side[1]];
        let corners = [corner(p, -1.0), corner(q, -1.0), corner(q, 1.0), corner(p, 1.0)];
        band.shape(corners, Mode::Over, |at| {
            let from = [at[0] - p[0], at[1] - p[1]];
            let off = (from[1] * dir[0] - from[0] * dir[1]).abs();
            ink(self.cover(off, start + from[0] * dir[0] + from[1] * dir[1]))
        });
        length
    }

    fn ring(&self, band: &mut Band, point: [f64; 2], radius: f64, ink: impl Fn(f32) -> [f32; 4]) {
        let half = f64::from(self.width) * 0.5 + 0.5;
        band.each_row(|y, across| {
            let up = f64::from(y) - point[1];
            let reach = |r: f64| (r > up.abs()).then(|| (r * r - up * up).sqrt());
            let Some(outer) = reach(radius + half) else { return };
            let inner = reach(radius - half);
            let spans = match inner {
                Some(inner) => [[-outer, -inner], [inner, outer]],
                None => [[-outer, outer], [0.0, 0.0]],
            };
            for [from, to] in spans.map(|s| s.map(|x| (x + point[0]) as f32)) {
                across([from, to], &mut |x| {
                    let side = f64::from(x) - point[0];
                    let off = (side.hypot(up) - radius).abs() as f32;
                    // Rings begin on the right and go up, as angles do.
                    let turn = (-up).atan2(side).rem_euclid(std::f64::consts::TAU);
                    ink(self.cover(off, (turn * radius) as f32))
                });
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_to_what_is_near_the_picture_and_keep_their_dashes() {
        let sides = [100.0, 100.0];
        let parts = cut(&[[-1e9, 50.0], [1e9, 50.0], [1e9, 1e9]], sides);
        assert_eq!(parts.len(), 1);
        let (corners, start) = &parts[0];
        assert!(corners.iter().all(|p| p[0].abs() < 200.0), "{corners:?}");
        assert!((f64::from(*start) - (1e9 - BEYOND)).abs() < 100.0);
        assert!(cut(&[[-500.0, -500.0], [500.0, -400.0]], sides).is_empty());
        let whole = cut(&[[10.0, 10.0], [20.0, 10.0], [20.0, 30.0]], sides);
        assert_eq!((whole.len(), whole[0].0.len()), (1, 3));
    }
}
