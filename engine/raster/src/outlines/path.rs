//! Outlines: of icons, flags, letters and borders, in pixels of the page; and which pixels they cover.

use std::fmt::Write as _;

use ab_glyph::{Font as _, FontRef, OutlineCurve};
use ab_glyph_rasterizer::{Point, Rasterizer, point};

/// How far the control points of a quarter of a circle are from its ends, as a share of its radius.
pub(crate) const QUARTER: f32 = 0.552_285;

/// A part of an outline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Segment {
    /// Begins a closed part.
    Move([f32; 2]),
    Line([f32; 2]),
    /// Control point and end.
    Quad([[f32; 2]; 2]),
    /// Control points and end.
    Cubic([[f32; 2]; 3]),
}

/// Closed outlines that are filled where they turn round (parts that turn the other way round are holes).
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Path(pub(crate) Vec<Segment>);

impl Path {
    /// An ellipse; the other way round for a hole.
    pub(crate) fn ellipse([x, y]: [f32; 2], [rx, ry]: [f32; 2], is_hole: bool) -> Self {
        let s = if is_hole { -1.0 } else { 1.0 };
        let at = |u: f32, v: f32| [x + rx * u, y + ry * v * s];
        let k = QUARTER;
        Self(vec![
            Segment::Move(at(1.0, 0.0)),
            Segment::Cubic([at(1.0, k), at(k, 1.0), at(0.0, 1.0)]),
            Segment::Cubic([at(-k, 1.0), at(-1.0, k), at(-1.0, 0.0)]),
            Segment::Cubic([at(-1.0, -k), at(-k, -1.0), at(0.0, -1.0)]),
            Segment::Cubic([at(k, -1.0), at(1.0, -k), at(1.0, 0.0)]),
        ])
    }

    /// The line of a circle between two angles, of so many radians clockwise from the right.
    pub(crate) fn arc(at: [f32; 2], radius: f32, width: f32, [from, to]: [f32; 2]) -> Self {
        let steps = (((to - from) / 0.12).ceil() as usize).max(1);
        let on = |k: usize, r: f32| {
            let (sin, cos) = (from + (to - from) * k as f32 / steps as f32).sin_cos();
            [at[0] + r * cos, at[1] + r * sin]
        };
        let outer = (0..=steps).map(|k| on(k, radius + width / 2.0));
        let inner = (0..=steps).rev().map(|k| on(k, radius - width / 2.0));
        let mut steps: Vec<Segment> = outer.chain(inner).map(Segment::Line).collect();
        if let Some(first) = steps.first_mut() {
            *first = Segment::Move(on(0, radius + width / 2.0));
        }
        Self(steps)
    }

    /// The line of a whole circle.
    pub(crate) fn ring(at: [f32; 2], radius: f32, width: f32) -> Self {
        let mut path = Self::ellipse(at, [radius + width / 2.0; 2], false);
        let inner = (radius - width / 2.0).max(0.0);
        path.0.extend(Self::ellipse(at, [inner; 2], true).0);
        path
    }

    /// The outline of a letter or an icon of size 1, from where it begins on its line; none for one that is not there.
    pub(crate) fn of_letter(font: &FontRef<'_>, letter: char) -> Option<Self> {
        let glyph = font.glyph_id(letter);
        let em = font.units_per_em().filter(|em| *em > 0.0 && glyph.0 != 0)?;
        let mut path = Self::default();
        let mut last = None;
        let at = |p: ab_glyph::Point| [p.x / em, -p.y / em];
        for curve in font.outline(glyph)?.curves {
            let (start, step) = match curve {
                OutlineCurve::Line(a, b) => (at(a), Segment::Line(at(b))),
                OutlineCurve::Quad(a, m, b) => (at(a), Segment::Quad([at(m), at(b)])),
                OutlineCurve::Cubic(a, m, n, b) => (at(a), Segment::Cubic([at(m), at(n), at(b)])),
            };
            if last != Some(start) {
                path.0.push(Segment::Move(start));
            }
            last = Some(step.end());
            path.0.push(step);
        }
        Some(path)
    }

    pub(crate) fn map(&self, at: impl Fn([f32; 2]) -> [f32; 2]) -> Self {
        let step = |step: &Segment| match *step {
            Segment::Move(p) => Segment::Move(at(p)),
            Segment::Line(p) => Segment::Line(at(p)),
            Segment::Quad(all) => Segment::Quad(all.map(&at)),
            Segment::Cubic(all) => Segment::Cubic(all.map(&at)),
        };
        Self(self.0.iter().map(step).collect())
    }

    /// Left, top, right and bottom of its points; `None` without any.
    pub(crate) fn bounds(&self) -> Option<[f32; 4]> {
        let points = self.0.iter().flat_map(|step| match step {
            Segment::Move(p) | Segment::Line(p) => vec![*p],
            Segment::Quad(all) => all.to_vec(),
            Segment::Cubic(all) => all.to_vec(),
        });
        points.fold(None, |found: Option<[f32; 4]>, [x, y]| {
            let [l, t, r, b] = found.unwrap_or([x, y, x, y]);
            Some([l.min(x), t.min(y), r.max(x), b.max(y)])
        })
    }

    /// As the attribute `d` of an SVG path.
    pub(crate) fn d(&self, number: impl Fn(f32) -> String) -> String {
        let mut out = String::new();
        for (k, step) in self.0.iter().enumerate() {
            let (word, points) = match step {
                Segment::Move(p) => (if k == 0 { "M" } else { "ZM" }, &[*p][..]),
                Segment::Line(p) => ("L", &[*p][..]),
                Segment::Quad(all) => ("Q", &all[..]),
                Segment::Cubic(all) => ("C", &all[..]),
            };
            out.push_str(word);
            let points: Vec<String> =
                points.iter().map(|[x, y]| format!("{} {}", number(*x), number(*y))).collect();
            let _ = write!(out, "{}", points.join(" "));
        }
        out.push('Z');
        out
    }

    /// How much of each pixel it covers in some rows of a picture with `scale` pixels for each of the page's.
    pub(crate) fn cover(&self, scale: f32, first: usize, rows: usize) -> Option<Cover> {
        let [left, top, right, bottom] = self.bounds()?.map(|x| x * scale);
        let wide = [right, left, bottom, top].into_iter().all(|x| x.abs() < 1e6);
        let low = (top.floor().max(first as f32)) as usize;
        let high = (bottom.ceil().max(0.0) as usize).min(first + rows);
        if !wide || low >= high {
            return None;
        }
        let left = left.floor() - 1.0;
        let columns = (right.ceil() - left) as usize + 2;
        let mut raster = Rasterizer::new(columns, high - low);
        let local = |p: [f32; 2]| point(p[0] * scale - left, p[1] * scale - low as f32);
        let (mut begin, mut last): (Point, Point) = (point(0.0, 0.0), point(0.0, 0.0));
        for step in &self.0 {
            match *step {
                Segment::Move(p) => {
                    raster.draw_line(last, begin);
                    begin = local(p);
                }
                Segment::Line(p) => raster.draw_line(last, local(p)),
                Segment::Quad([m, p]) => raster.draw_quad(last, local(m), local(p)),
                Segment::Cubic([m, n, p]) => raster.draw_cubic(last, local(m), local(n), local(p)),
            }
            last = local(step.end());
        }
        raster.draw_line(last, begin);
        let mut cover = vec![0.0; columns * (high - low)];
        raster.for_each_pixel(|at, share| {
            if let Some(pixel) = cover.get_mut(at) {
                *pixel = share.min(1.0);
            }
        });
        Some(Cover { left: left as i64, top: low as i64, columns, cover })
    }
}

impl Segment {
    fn end(self) -> [f32; 2] {
        match self {
            Self::Move(p) | Self::Line(p) => p,
            Self::Quad([_, p]) => p,
            Self::Cubic([_, _, p]) => p,
        }
    }
}

/// How much of some pixels of the picture is covered, 0 to 1.
pub(crate) struct Cover {
    pub(crate) left: i64,
    pub(crate) top: i64,
    pub(crate) columns: usize,
    pub(crate) cover: Vec<f32>,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn area(path: &Path) -> f32 {
        [0, 64, 128].iter().filter_map(|row| path.cover(1.0, *row, 64)).flat_map(|c| c.cover).sum()
    }

    #[test]
    fn outlines_cover_their_area_band_by_band_and_holes_stay_open() {
        let disc = Path::ellipse([64.0, 64.0], [50.0, 50.0], false);
        assert!((area(&disc) - 7_854.0).abs() < 12.0, "{}", area(&disc));
        let ring = Path::ring([64.0, 64.0], 45.0, 10.0);
        assert!((area(&ring) - 2_827.0).abs() < 12.0, "{}", area(&ring));
        let part = Path::arc([64.0, 64.0], 45.0, 10.0, [0.0, std::f32::consts::PI]);
        assert!((area(&part) - 1_414.0).abs() < 12.0, "{}", area(&part));
        assert!(disc.cover(1.0, 400, 64).is_none() && Path::default().bounds().is_none());
        assert!(ring.d(|x| format!("{x:.0}")).starts_with("M114 64C"));
    }
}
