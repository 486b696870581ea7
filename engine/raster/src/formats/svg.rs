//! The picture as an SVG file (W3C Scalable Vector Graphics 2): texts are texts, and lines may be changed one by one.

use std::fmt::Write as _;

use graphlume_types::CancelToken;

use super::vector::{self, Dot, Pen, Way};
use crate::drawing::Drawing;
use crate::error::RasterError;
use crate::marks::{Paint, Shape, Text};
use crate::occupied::Rect;
use crate::outlines::text::{BASELINE, Face};
use crate::settings::Settings;
use crate::underlay::{Under, UnderWay};

/// Writes the picture as an SVG file.
///
/// # Errors
/// [`RasterError::Elements`] for more than [`ELEMENTS_MAX`](crate::ELEMENTS_MAX) nodes and edges; otherwise as
/// [`crate::png()`].
pub fn svg(
    drawing: &Drawing<'_>,
    settings: &Settings,
    cancel: &CancelToken,
) -> Result<Vec<u8>, RasterError> {
    let mut settings = settings.clone();
    // Whoever shows the file has fonts of his own.
    settings.labels.any_script = true;
    let sheet = vector::sheet(drawing, &settings, cancel)?;
    let mut writer = Writer {
        out: String::new(),
        ramps: 0,
        groups: 0,
        discs: 0,
        disc: None,
        nodes: "nodes",
        sides: [settings.width, settings.height],
    };
    let [w, h] = writer.sides;
    let name = settings.title.as_deref().unwrap_or("Graph");
    writer.write(format_args!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" \
         font-family=\"'DejaVu Sans', Verdana, sans-serif\">\n<title>{}</title>\n",
        escaped(name)
    ));
    vector::draw(&sheet, &mut writer);
    writer.write(format_args!("</g>\n</svg>\n"));
    Ok(writer.out.into_bytes())
}

struct Writer {
    out: String,
    /// Scales of colours so far.
    ramps: usize,
    /// Groups that are open.
    groups: usize,
    /// Discs that shapes are cut to so far, and the one of the last shape.
    discs: usize,
    disc: Option<[f32; 3]>,
    /// Name of the group of the discs that follow.
    nodes: &'static str,
    sides: [u32; 2],
}

/// A colour as six digits.
fn hex(color: [f32; 3]) -> String {
    let [r, g, b] = color.map(|c| (c.clamp(0.0, 1.0) * 255.0).round() as u8);
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// A number with at most two digits behind its point.
fn num(x: f32) -> String {
    let text = format!("{x:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0" } else { text }.to_owned()
}

/// A text between tags or in an attribute; what XML 1.0 cannot hold is left out.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => {}
            c if c.is_control() && !matches!(c, '\t' | '\n' | '\r') => {}
            c => out.push(c),
        }
    }
    out
}

impl Writer {
    fn write(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing into a text does not fail.
        let _ = self.out.write_fmt(text);
    }
}

impl Pen for Writer {
    fn ground(&mut self, [center, edge]: [[f32; 3]; 2]) {
        let [w, h] = self.sides;
        if center == edge {
            self.write(format_args!(
                "<rect width=\"{w}\" height=\"{h}\" fill=\"{}\"/>\n",
                hex(center)
            ));
            return;
        }
        let [x, y] = self.sides.map(|side| side as f32 / 2.0);
        self.write(format_args!(
            "<radialGradient id=\"ground\" gradientUnits=\"userSpaceOnUse\" cx=\"{}\" cy=\"{}\" r=\"{}\">",
            num(x),
            num(y),
            num(x.hypot(y))
        ));
        for step in 0..=8u8 {
            let d = f32::from(step) / 8.0;
            let t = d * d * (3.0 - 2.0 * d);
            let color = [0, 1, 2].map(|c| center[c] + (edge[c] - center[c]) * t);
            self.write(format_args!("<stop offset=\"{}\" stop-color=\"{}\"/>", num(d), hex(color)));
        }
        self.write(format_args!(
            "</radialGradient>\n<rect width=\"{w}\" height=\"{h}\" fill=\"url(#ground)\"/>\n"
        ));
    }

    fn unders(&mut self) {
        self.write(format_args!("<g id=\"underlay\" fill=\"none\">\n"));
        self.groups += 1;
    }

    fn under(&mut self, line: &Under) {
        let mut shape = match &line.way {
            UnderWay::Ring([x, y], r) => {
                format!("<circle cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"{r:.2}\"")
            }
            UnderWay::Lines(parts) if parts.is_empty() => return,
            UnderWay::Lines(parts) => {
                let mut d = String::new();
                for corners in parts.iter().map(|(corners, _)| corners) {
                    for (k, [x, y]) in corners.iter().enumerate() {
                        let word = if k == 0 { "M" } else { "L" };
                        let _ = write!(d, "{word}{} {}", num(*x), num(*y));
                    }
                }
                format!("<path d=\"{d}\"")
            }
        };
        if line.dash > 0.0 {
            let _ = write!(shape, " stroke-dasharray=\"{0} {0}\"", num(line.dash));
        }
        let Paint { color, opacity } = line.paint;
        self.write(format_args!(
            "{shape} stroke=\"{}\" stroke-width=\"{}\" stroke-opacity=\"{}\"/>\n",
            hex(color),
            num(line.width),
            num(opacity)
        ));
    }

    fn edges(&mut self) {
        if self.groups > 0 {
            self.write(format_args!("</g>\n"));
        }
        self.write(format_args!("<g id=\"edges\" fill=\"none\" stroke-linecap=\"butt\">\n"));
    }

    fn line(&mut self, way: Way, width: f32, paint: Paint) {
        let at = |p: [f32; 2]| format!("{} {}", num(p[0]), num(p[1]));
        match way {
            Way::Line([a, b]) => self.write(format_args!("<path d=\"M{}L{}\"", at(a), at(b))),
            Way::Curve([a, m, b]) => {
                self.write(format_args!("<path d=\"M{}Q{} {}\"", at(a), at(m), at(b)));
            }
            Way::Cubic([a, p, q, b]) => {
                let [a, p, q, b] = [a, p, q, b].map(at);
                self.write(format_args!("<path d=\"M{a}C{p} {q} {b}\""));
            }
            Way::Circle([x, y], r) => {
                self.write(format_args!(
                    "<circle cx=\"{}\" cy=\"{}\" r=\"{}\"",
                    num(x),
                    num(y),
                    num(r)
                ));
            }
        }
        let Paint { color, opacity } = paint;
        self.write(format_args!(
            " stroke=\"{}\" stroke-width=\"{}\" stroke-opacity=\"{}\"/>\n",
            hex(color),
            num(width),
            num(opacity)
        ));
    }

    fn head(&mut self, corners: [[f32; 2]; 3], paint: Paint) {
        let points = corners.map(|[x, y]| format!("{},{}", num(x), num(y))).join(" ");
        self.write(format_args!(
            "<polygon points=\"{points}\" fill=\"{}\" fill-opacity=\"{}\"/>\n",
            hex(paint.color),
            num(paint.opacity)
        ));
    }

    fn selected(&mut self) {
        self.write(format_args!(
            "</g>\n<g id=\"selected-edges\" fill=\"none\" stroke-linecap=\"butt\">\n"
        ));
        self.nodes = "selected-nodes";
    }

    fn dots(&mut self, ring: Paint) {
        let name = self.nodes;
        self.write(format_args!(
            "</g>\n<g id=\"{}\" stroke=\"{}\" stroke-opacity=\"{}\" paint-order=\"stroke\">\n",
            name,
            hex(ring.color),
            num(ring.opacity)
        ));
    }

    fn dot(&mut self, dot: Dot) {
        let Dot { at: [x, y], radius, paint, ring } = dot;
        self.write(format_args!(
            "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\"",
            num(x),
            num(y),
            num(radius),
            hex(paint.color)
        ));
        if paint.opacity < 1.0 {
            self.write(format_args!(" fill-opacity=\"{}\"", num(paint.opacity)));
        }
        // Half of the line lies under the disc.
        self.write(format_args!(" stroke-width=\"{}\"/>\n", num(2.0 * ring)));
    }

    fn marks(&mut self) {
        self.write(format_args!("</g>\n<g id=\"names\">\n"));
    }

    fn plate(&mut self, [x, y, w, h]: Rect, radius: f32, paint: Paint) {
        self.write(format_args!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"{}\" fill=\"{}\" fill-opacity=\"{}\"/>\n",
            num(x),
            num(y),
            num(w),
            num(h),
            num(radius),
            hex(paint.color),
            num(paint.opacity)
        ));
    }

    fn ramp(&mut self, [x, y, w, h]: Rect, colors: &[[f32; 3]]) {
        self.ramps += 1;
        let id = self.ramps;
        self.write(format_args!("<linearGradient id=\"ramp{id}\">"));
        let last = (colors.len().max(2) - 1) as f32;
        for (k, color) in colors.iter().enumerate() {
            let place = num(k as f32 / last);
            self.write(format_args!("<stop offset=\"{place}\" stop-color=\"{}\"/>", hex(*color)));
        }
        self.write(format_args!(
            "</linearGradient>\n<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"url(#ramp{id})\"/>\n",
            num(x),
            num(y),
            num(w),
            num(h)
        ));
    }

    fn shape(&mut self, Shape { path, paint, disc }: &Shape) {
        let cut = disc.map(|([x, y], r)| [x, y, r]);
        if let Some([x, y, r]) = cut.filter(|_| self.disc != cut) {
            self.discs += 1;
            let id = self.discs;
            self.write(format_args!(
                "<clipPath id=\"disc{}\"><circle cx=\"{}\" cy=\"{}\" r=\"{}\"/></clipPath>\n",
                id,
                num(x),
                num(y),
                num(r)
            ));
        }
        self.disc = cut;
        self.write(format_args!("<path d=\"{}\" fill=\"{}\"", path.d(num), hex(paint.color)));
        if paint.opacity < 1.0 {
            self.write(format_args!(" fill-opacity=\"{}\"", num(paint.opacity)));
        }
        if cut.is_some() {
            let id = self.discs;
            self.write(format_args!(" clip-path=\"url(#disc{id})\""));
        }
        self.write(format_args!("/>\n"));
    }

    fn text(&mut self, text: &Text) {
        let [x, y] = text.at;
        self.write(format_args!(
            "<text x=\"{}\" y=\"{}\" font-size=\"{}\"",
            num(x),
            num(y + BASELINE * text.size),
            num(text.size)
        ));
        if text.turn != 0.0 {
            let [x, y] = text.middle();
            let turn = num(text.turn.to_degrees());
            self.write(format_args!(" transform=\"rotate({turn} {} {})\"", num(x), num(y)));
        }
        if text.bold {
            self.write(format_args!(" font-weight=\"bold\""));
        }
        // As wide as it was placed, whatever the font; but not letters whose width is not known here.
        let known = Face::of(text.bold)
            .filter(|face| face.drawable(&text.text).as_deref() == Some(text.text.as_str()));
        if let Some(face) = known {
            let wide = num(face.width(&text.text) * text.size);
            self.write(format_args!(" textLength=\"{wide}\" lengthAdjust=\"spacingAndGlyphs\""));
        }
        self.write(format_args!(" fill=\"{}\"", hex(text.color)));
        if text.opacity < 1.0 {
            self.write(format_args!(" opacity=\"{}\"", num(text.opacity)));
        }
        if let Some(halo) = text.halo {
            self.write(format_args!(
                " stroke=\"{}\" stroke-width=\"{}\" stroke-opacity=\"{}\" stroke-linejoin=\"round\" \
                 paint-order=\"stroke\"",
                hex(halo.color),
                num(2.0 * halo.width),
                num(halo.opacity)
            ));
        }
        self.write(format_args!(">{}</text>\n", escaped(&text.text)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_numbers_are_written_as_xml_wants_them() {
        assert_eq!(escaped("<a & \"b\">\u{0}\u{7}"), "&lt;a &amp; &quot;b&quot;&gt;");
        assert_eq!(
            (num(1.0), num(-0.001), num(12.345), num(0.1)),
            ("1".to_owned(), "0".to_owned(), "12.35".to_owned(), "0.1".to_owned())
        );
        assert_eq!(hex([1.0, 0.0, 0.5]), "#ff0080");
    }
}
