//! Flags: drawings of filled shapes, written in the little of SVG that the package circle-flags uses. The page's build copies
//! the file. A test reads every flag, so that a newer version of it with other elements cannot go unseen.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::outlines::path::{Path, QUARTER, Step};

const FILE: &str = include_str!("../../flags/flags.json");
/// The side of the square in which flags are drawn.
pub(crate) const SIDE: f32 = 512.0;

/// Outlines with the colours that fill them, the lowest first.
pub(crate) type Flag = Vec<(Path, [f32; 3])>;

static FLAGS: LazyLock<HashMap<String, String>> =
    LazyLock::new(|| serde_json::from_str(FILE).unwrap_or_default());

/// A flag by its code, in a square of [`SIDE`] of which its disc is seen; none for one that is not there.
pub(crate) fn flag(code: &str) -> Option<Flag> {
    read(FLAGS.get(code)?)
}

/// The shapes of a drawing behind its mask; none where it has an element that is not known here.
fn read(text: &str) -> Option<Flag> {
    let (_, seen) = text.split_once("</mask>")?;
    let elements = seen.split('<').skip(1).filter(|e| !e.starts_with('/') && !e.starts_with("g "));
    elements.map(element).collect()
}

fn element(text: &str) -> Option<(Path, [f32; 3])> {
    let attribute = |name: &str| {
        let (_, value) = text.split_once(&format!(" {name}=\""))?;
        Some(value.split_once('"')?.0)
    };
    let number = |name: &str| attribute(name).map_or(Some(0.0), |v| v.parse::<f32>().ok());
    let fill = attribute("fill")?.strip_prefix('#')?;
    let digits: Vec<u32> = fill.chars().map(|c| c.to_digit(16)).collect::<Option<_>>()?;
    let color = match digits[..] {
        [r, g, b] => [17 * r, 17 * g, 17 * b],
        [a, b, c, d, e, f] => [16 * a + b, 16 * c + d, 16 * e + f],
        _ => return None,
    };
    let at = [number("cx")?, number("cy")?];
    let path = match text.split(' ').next()? {
        "path" => parse(attribute("d")?)?,
        "circle" => Path::ellipse(at, [number("r")?; 2], false),
        "ellipse" => Path::ellipse(at, [number("rx")?, number("ry")?], false),
        "rect" => {
            let [x, y, w, h] = ["x", "y", "width", "height"].map(number);
            let ([x, y], [w, h]) = ([x?, y?], [w?, h?]);
            let r = number("ry")?.max(number("rx")?).min(w / 2.0).min(h / 2.0);
            rounded([x, y, w, h], r)
        }
        _ => return None,
    };
    Some((path, color.map(|c| c as f32 / 255.0)))
}

fn rounded([x, y, w, h]: [f32; 4], r: f32) -> Path {
    let k = r - QUARTER * r;
    let (right, bottom) = (x + w, y + h);
    Path(vec![
        Step::Move([x + r, y]),
        Step::Line([right - r, y]),
        Step::Cubic([[right - k, y], [right, y + k], [right, y + r]]),
        Step::Line([right, bottom - r]),
        Step::Cubic([[right, bottom - k], [right - k, bottom], [right - r, bottom]]),
        Step::Line([x + r, bottom]),
        Step::Cubic([[x + k, bottom], [x, bottom - k], [x, bottom - r]]),
        Step::Line([x, y + r]),
        Step::Cubic([[x, y + k], [x + k, y], [x + r, y]]),
    ])
}

/// The numbers of a path, one after the other; flags of arcs are single digits.
struct Numbers<'a>(&'a str);

impl Numbers<'_> {
    fn skip(&mut self) {
        self.0 = self.0.trim_start_matches([' ', ',', '\n', '\t']);
    }

    fn next(&mut self) -> Option<f32> {
        self.skip();
        let mut has_point = false;
        let end = self.0.char_indices().find(|(k, c)| match c {
            '0'..='9' => false,
            '-' | '+' => *k > 0,
            '.' => std::mem::replace(&mut has_point, true),
            _ => true,
        });
        let (number, rest) = self.0.split_at(end.map_or(self.0.len(), |(k, _)| k));
        self.0 = rest;
        number.parse().ok()
    }

    fn flag(&mut self) -> Option<bool> {
        self.skip();
        let (flag, rest) = self.0.split_at_checked(1)?;
        self.0 = rest;
        match flag {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        }
    }

    fn more(&mut self) -> bool {
        self.skip();
        self.0.starts_with(|c: char| c.is_ascii_digit() || "-+.".contains(c))
    }
}

/// Reads path data (SVG 2, 9.3).
fn parse(d: &str) -> Option<Path> {
    let mut numbers = Numbers(d);
    let mut steps = Vec::new();
    let (mut at, mut begin) = ([0.0f32; 2], [0.0f32; 2]);
    // The last control point, for curves that go on smoothly.
    let mut last: Option<(bool, [f32; 2])> = None;
    loop {
        numbers.skip();
        let Some(word) = numbers.0.chars().next() else { return Some(Path(steps)) };
        numbers.0 = &numbers.0[word.len_utf8()..];
        let mut kind = word.to_ascii_lowercase();
        if kind == 'z' {
            (at, last) = (begin, None);
            continue;
        }
        loop {
            let from = if word.is_ascii_lowercase() { at } else { [0.0; 2] };
            let mut point = || Some([from[0] + numbers.next()?, from[1] + numbers.next()?]);
            let mirrored = |is_cubic: bool| match last {
                Some((kind, [x, y])) if kind == is_cubic => [2.0 * at[0] - x, 2.0 * at[1] - y],
                _ => at,
            };
            let mut control = None;
            let step = match kind {
                'm' => Step::Move(point()?),
                'l' => Step::Line(point()?),
                'h' => Step::Line([from[0] + numbers.next()?, at[1]]),
                'v' => Step::Line([at[0], from[1] + numbers.next()?]),
                'c' | 's' => {
                    let first = if kind == 'c' { point()? } else { mirrored(true) };
                    let [second, end] = [point()?, point()?];
                    control = Some((true, second));
                    Step::Cubic([first, second, end])
                }
                'q' | 't' => {
                    let middle = if kind == 'q' { point()? } else { mirrored(false) };
                    control = Some((false, middle));
                    Step::Quad([middle, point()?])
                }
                'a' => {
                    let radii = [numbers.next()?, numbers.next()?];
                    let turn = numbers.next()?.to_radians();
                    let [large, sweep] = [numbers.flag()?, numbers.flag()?];
                    let end = [from[0] + numbers.next()?, from[1] + numbers.next()?];
                    let curves = arc([at, end], radii, turn, [large, sweep]);
                    steps.extend_from_slice(&curves[..curves.len() - 1]);
                    curves[curves.len() - 1]
                }
                _ => return None,
            };
            at = match step {
                Step::Move(p) | Step::Line(p) | Step::Quad([_, p]) | Step::Cubic([_, _, p]) => p,
            };
            // Whatever is drawn after a part was closed begins a new one where that began.
            if let Step::Move(p) = step {
                begin = p;
                kind = 'l';
            }
            last = control;
            steps.push(step);
            if !numbers.more() {
                break;
            }
        }
    }
}

/// An arc of an ellipse as curves of at most a quarter each (SVG 2, B.2.4); a line where it has no radius.
fn arc(
    [from, to]: [[f32; 2]; 2],
    [rx, ry]: [f32; 2],
    turn: f32,
    [large, sweep]: [bool; 2],
) -> Vec<Step> {
    let (sin, cos) = turn.sin_cos();
    let (mut rx, mut ry) = (rx.abs(), ry.abs());
    if rx == 0.0 || ry == 0.0 || from == to {
        return vec![Step::Line(to)];
    }
    let half = [0, 1].map(|c| (from[c] - to[c]) / 2.0);
    let p = [cos * half[0] + sin * half[1], cos * half[1] - sin * half[0]];
    let off = (p[0] / rx).powi(2) + (p[1] / ry).powi(2);
    if off > 1.0 {
        (rx, ry) = (rx * off.sqrt(), ry * off.sqrt());
    }
    let square = |x: f32| x * x;
    let below = square(rx * p[1]) + square(ry * p[0]);
    let root = ((square(rx * ry) - below) / below).max(0.0).sqrt();
    let root = if large == sweep { -root } else { root };
    let c = [root * rx * p[1] / ry, -root * ry * p[0] / rx];
    let angle = |s: f32| ((s * p[1] - c[1]) / ry).atan2((s * p[0] - c[0]) / rx);
    let (first, mut sweep_by) = (angle(1.0), angle(-1.0) - angle(1.0));
    if sweep && sweep_by < 0.0 {
        sweep_by += std::f32::consts::TAU;
    } else if !sweep && sweep_by > 0.0 {
        sweep_by -= std::f32::consts::TAU;
    }
    let middle = [0, 1].map(|k| f32::midpoint(from[k], to[k]));
    let place = |u: f32, v: f32| {
        let (x, y) = (c[0] + rx * u, c[1] + ry * v);
        [middle[0] + cos * x - sin * y, middle[1] + sin * x + cos * y]
    };
    let count = (sweep_by.abs() / std::f32::consts::FRAC_PI_2 - 1e-3).ceil().max(1.0) as usize;
    let each = sweep_by / count as f32;
    let k = 4.0 / 3.0 * (each / 4.0).tan();
    let curve = |n: usize| {
        let [(s0, c0), (s1, c1)] = [n, n + 1].map(|n| (first + each * n as f32).sin_cos());
        let end = if n + 1 == count { to } else { place(c1, s1) };
        Step::Cubic([place(c0 - k * s0, s0 + k * c0), place(c1 + k * s1, s1 - k * c1), end])
    };
    (0..count).map(curve).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_is_read_and_fills_its_disc() {
        assert!(FLAGS.len() > 240, "{}", FLAGS.len());
        for (code, text) in FLAGS.iter() {
            let shapes = read(text);
            assert!(shapes.as_ref().is_some_and(|s| !s.is_empty()), "{code}: {text}");
            for (path, _) in shapes.unwrap() {
                let [l, t, r, b] = path.bounds().unwrap();
                let is_near = [l, t, r, b].into_iter().all(|x| (-300.0..=812.0).contains(&x));
                assert!(is_near && r >= l && b >= t, "{code}: {path:?}");
            }
        }
        assert!(flag("nowhere").is_none());
        let bands: Vec<[f32; 3]> = flag("de").unwrap().into_iter().map(|s| s.1).collect();
        assert_eq!(bands.len(), 3);
        assert!(bands[0][0] > 0.9 && bands[0][1] > 0.8 && bands[2] == [0.2; 3]);
    }

    #[test]
    fn paths_are_read_as_they_are_written() {
        let path = parse("m1 2 3-4h5v6H0V.5.5z").unwrap();
        let ends: Vec<_> = path.0.iter().map(|s| format!("{s:?}")).collect();
        assert_eq!(ends[1], "Line([4.0, -2.0])");
        assert_eq!(ends.last().unwrap(), "Line([0.0, 0.5])");
        // Half a circle of radius 5 from the left to the right, over the top.
        let path = parse("M0 0a5 5 0 0110 0").unwrap();
        let [_, top, right, _] = path.bounds().unwrap();
        assert!((right - 10.0).abs() < 1e-3 && top < -4.9, "{path:?}");
        assert!(parse("M0 0x").is_none() && parse("M0").is_none());
    }
}
