//! The picture as a PDF file (ISO 32000) of one page, with its fonts, so that it looks alike everywhere and its texts can be
//! searched and copied. A pixel of the page that shows the same is 0.75 points: 96 to an inch.

use std::collections::{BTreeMap, BTreeSet};

use flate2::Compression;
use flate2::write::ZlibEncoder;
use graphlume_types::CancelToken;
use pdf_writer::types::{
    CidFontType, FontFlags, LineJoinStyle, SystemInfo, TextRenderingMode, UnicodeCmap,
};
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect as Box4, Ref, Str};
use std::io::Write as _;

use super::vector::{self, Dot, Pen, Way};
use crate::drawing::Drawing;
use crate::error::RasterError;
use crate::marks::{Paint, Shape, Text, along};
use crate::occupied::Rect;
use crate::outlines::path::Segment;
use crate::outlines::text::{BASELINE, FILES, Face};
use crate::settings::Settings;
use crate::underlay::{Under, UnderWay};

/// Points a pixel.
const POINTS: f32 = 0.75;
/// How far the control points of a quarter of a circle are from its ends, as a share of its radius.
const QUARTER: f32 = 0.552_285;
/// Names of the fonts in the file, plain and bold.
const FONTS: [Name<'static>; 2] = [Name(b"F0"), Name(b"F1")];
const NAMES: [&[u8]; 2] = [b"DejaVuSans", b"DejaVuSans-Bold"];
const REGISTRY: SystemInfo<'static> =
    SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"Identity"), supplement: 0 };
/// Steps in which opacities are told apart.
const STEPS: f32 = 100.0;
/// Stripes of a scale of colours.
const STRIPES: usize = 48;

/// Writes the picture as a PDF file.
///
/// # Errors
/// [`RasterError::Elements`] for more than [`ELEMENTS_MAX`](crate::ELEMENTS_MAX) nodes and edges; otherwise as
/// [`crate::png()`].
pub fn pdf(
    drawing: &Drawing<'_>,
    settings: &Settings,
    cancel: &CancelToken,
) -> Result<Vec<u8>, RasterError> {
    let sheet = vector::sheet(drawing, settings, cancel)?;
    let sides = [settings.width, settings.height].map(|side| side as f32);
    let mut writer = Writer {
        content: Content::new(),
        sides,
        ring: Paint { color: [0.0; 3], opacity: 1.0 },
        opacities: BTreeSet::new(),
        letters: [BTreeMap::new(), BTreeMap::new()],
    };
    // Rows count from the top.
    writer.content.transform([POINTS, 0.0, 0.0, -POINTS, 0.0, sides[1] * POINTS]);
    vector::draw(&sheet, &mut writer);
    cancel.check()?;
    writer.file(settings.title.as_deref())
}

struct Writer {
    content: Content,
    sides: [f32; 2],
    ring: Paint,
    /// Opacities that occur, in hundredths.
    opacities: BTreeSet<u16>,
    /// The letters of each font that occur, by their glyph.
    letters: [BTreeMap<u16, char>; 2],
}

fn packed(bytes: &[u8]) -> Result<Vec<u8>, RasterError> {
    let mut writer = ZlibEncoder::new(Vec::new(), Compression::new(6));
    writer.write_all(bytes)?;
    Ok(writer.finish()?)
}

impl Writer {
    fn opacity(&mut self, opacity: f32) {
        let step = (opacity.clamp(0.0, 1.0) * STEPS).round() as u16;
        self.opacities.insert(step);
        self.content.set_parameters(Name(format!("O{step}").as_bytes()));
    }

    fn fill(&mut self, paint: Paint) {
        let [r, g, b] = paint.color;
        self.content.set_fill_rgb(r, g, b);
        self.opacity(paint.opacity);
    }

    fn stroke(&mut self, width: f32, paint: Paint) {
        let [r, g, b] = paint.color;
        self.content.set_stroke_rgb(r, g, b).set_line_width(width);
        self.opacity(paint.opacity);
    }

    fn circle(&mut self, [x, y]: [f32; 2], r: f32) {
        let k = QUARTER * r;
        self.content
            .move_to(x + r, y)
            .cubic_to(x + r, y + k, x + k, y + r, x, y + r)
            .cubic_to(x - k, y + r, x - r, y + k, x - r, y)
            .cubic_to(x - r, y - k, x - k, y - r, x, y - r)
            .cubic_to(x + k, y - r, x + r, y - k, x + r, y)
            .close_path();
    }

    /// The whole file: a page, its opacities, and the fonts that occur.
    fn file(self, title: Option<&str>) -> Result<Vec<u8>, RasterError> {
        let [catalog, tree, page, content, info] = [1, 2, 3, 4, 5].map(Ref::new);
        let font_at = |k: usize, part: i32| Ref::new(10 + 10 * k as i32 + part);
        let mut pdf = Pdf::new();
        pdf.catalog(catalog).pages(tree);
        pdf.pages(tree).kids([page]).count(1);
        let used: Vec<usize> = (0..2).filter(|k| !self.letters[*k].is_empty()).collect();
        let mut leaf = pdf.page(page);
        let [w, h] = self.sides.map(|side| side * POINTS);
        leaf.media_box(Box4::new(0.0, 0.0, w, h)).parent(tree).contents(content);
        let mut resources = leaf.resources();
        let mut fonts = resources.fonts();
        for k in &used {
            fonts.pair(FONTS[*k], font_at(*k, 0));
        }
        fonts.finish();
        let mut states = resources.ext_g_states();
        for step in &self.opacities {
            let opacity = f32::from(*step) / STEPS;
            let mut state = states
                .insert(Name(format!("O{step}").as_bytes()))
                .start::<pdf_writer::writers::ExtGraphicsState<'_>>();
            state.non_stroking_alpha(opacity).stroking_alpha(opacity);
        }
        states.finish();
        resources.finish();
        leaf.finish();
        pdf.stream(content, &packed(&self.content.finish())?).filter(Filter::FlateDecode);
        for k in used {
            font(&mut pdf, k, &self.letters[k], |part| font_at(k, part))?;
        }
        let mut about = pdf.document_info(info);
        about.producer(pdf_writer::TextStr("Graphlume"));
        if let Some(title) = title {
            about.title(pdf_writer::TextStr(title));
        }
        about.finish();
        Ok(pdf.finish())
    }
}

/// Writes a font with all its letters; their widths and what they say, of those that occur.
fn font(
    pdf: &mut Pdf,
    which: usize,
    letters: &BTreeMap<u16, char>,
    at: impl Fn(i32) -> Ref,
) -> Result<(), RasterError> {
    let Some(face) = Face::of(which == 1) else { return Ok(()) };
    let [root, cid, about, data, meaning] = [0, 1, 2, 3, 4].map(at);
    let name = Name(NAMES[which]);
    pdf.type0_font(root)
        .base_font(name)
        .encoding_predefined(Name(b"Identity-H"))
        .descendant_font(cid)
        .to_unicode(meaning);
    let mut font = pdf.cid_font(cid);
    font.subtype(CidFontType::Type2).base_font(name).system_info(REGISTRY).font_descriptor(about);
    font.default_width(600.0).cid_to_gid_map_predefined(Name(b"Identity"));
    let mut widths = font.widths();
    for glyph in letters.keys() {
        widths.consecutive(*glyph, [1_000.0 * face.advance(ab_glyph::GlyphId(*glyph))]);
    }
    widths.finish();
    font.finish();
    let [above, below] = face.reach().map(|share| 1_000.0 * share);
    pdf.font_descriptor(about)
        .name(name)
        .flags(FontFlags::NON_SYMBOLIC)
        .bbox(Box4::new(-1_100.0, -500.0, 2_200.0, 1_300.0))
        .italic_angle(0.0)
        .ascent(above)
        .descent(-below)
        .cap_height(730.0)
        .stem_v(if which == 1 { 160.0 } else { 90.0 })
        .font_file2(data);
    let file = FILES[which];
    pdf.stream(data, &packed(file)?)
        .filter(Filter::FlateDecode)
        .pair(Name(b"Length1"), file.len() as i32);
    let mut map = UnicodeCmap::new(Name(b"Letters"), REGISTRY);
    letters.iter().for_each(|(glyph, letter)| map.pair(*glyph, *letter));
    pdf.cmap(meaning, &map.finish());
    Ok(())
}

impl Pen for Writer {
    fn ground(&mut self, [center, _]: [[f32; 3]; 2]) {
        let [w, h] = self.sides;
        self.fill(Paint { color: center, opacity: 1.0 });
        self.content.rect(0.0, 0.0, w, h).fill_nonzero();
    }

    fn under(&mut self, line: &Under) {
        self.stroke(line.width, line.paint);
        if line.dash > 0.0 {
            self.content.set_dash_pattern([line.dash, line.dash], 0.0);
        }
        match &line.way {
            UnderWay::Ring(at, r) => self.circle(at.map(|x| x as f32), *r as f32),
            UnderWay::Lines(parts) => {
                for (corners, _) in parts {
                    for (k, [x, y]) in corners.iter().enumerate() {
                        if k == 0 {
                            self.content.move_to(*x, *y);
                        } else {
                            self.content.line_to(*x, *y);
                        }
                    }
                }
            }
        }
        self.content.stroke();
        if line.dash > 0.0 {
            self.content.set_dash_pattern([], 0.0);
        }
    }

    fn line(&mut self, way: Way, width: f32, paint: Paint) {
        self.stroke(width, paint);
        match way {
            Way::Line([a, b]) => {
                self.content.move_to(a[0], a[1]).line_to(b[0], b[1]);
            }
            Way::Curve([a, m, b]) => {
                let near = |p: [f32; 2]| [0, 1].map(|c| p[c] + (m[c] - p[c]) * 2.0 / 3.0);
                let [p, q] = [near(a), near(b)];
                self.content.move_to(a[0], a[1]).cubic_to(p[0], p[1], q[0], q[1], b[0], b[1]);
            }
            Way::Cubic([a, p, q, b]) => {
                self.content.move_to(a[0], a[1]).cubic_to(p[0], p[1], q[0], q[1], b[0], b[1]);
            }
            Way::Circle(at, r) => self.circle(at, r),
        }
        self.content.stroke();
    }

    fn head(&mut self, [a, b, c]: [[f32; 2]; 3], paint: Paint) {
        self.fill(paint);
        self.content.move_to(a[0], a[1]).line_to(b[0], b[1]).line_to(c[0], c[1]);
        self.content.close_path().fill_nonzero();
    }

    fn dots(&mut self, ring: Paint) {
        self.ring = ring;
    }

    fn dot(&mut self, Dot { at, radius, paint, ring }: Dot) {
        if ring > 0.0 {
            self.fill(self.ring);
            self.circle(at, radius + ring);
            self.content.fill_nonzero();
        }
        self.fill(paint);
        self.circle(at, radius);
        self.content.fill_nonzero();
    }

    fn plate(&mut self, [x, y, w, h]: Rect, radius: f32, paint: Paint) {
        self.fill(paint);
        let r = radius.min(w / 2.0).min(h / 2.0);
        let k = r - QUARTER * r;
        let (right, bottom) = (x + w, y + h);
        self.content
            .move_to(x + r, y)
            .line_to(right - r, y)
            .cubic_to(right - k, y, right, y + k, right, y + r)
            .line_to(right, bottom - r)
            .cubic_to(right, bottom - k, right - k, bottom, right - r, bottom)
            .line_to(x + r, bottom)
            .cubic_to(x + k, bottom, x, bottom - k, x, bottom - r)
            .line_to(x, y + r)
            .cubic_to(x, y + k, x + k, y, x + r, y)
            .close_path()
            .fill_nonzero();
    }

    fn ramp(&mut self, [x, y, w, h]: Rect, colors: &[[f32; 3]]) {
        let wide = w / STRIPES as f32;
        for k in 0..STRIPES {
            let color = along(colors, (k as f32 + 0.5) / STRIPES as f32);
            self.fill(Paint { color, opacity: 1.0 });
            // A little wider, or a line of the background shows between two.
            let left = x + k as f32 * wide;
            self.content.rect(left, y, (wide + 0.3).min(x + w - left), h).fill_nonzero();
        }
    }

    fn shape(&mut self, Shape { path, paint, disc }: &Shape) {
        self.content.save_state();
        if let Some((at, r)) = disc {
            self.circle(*at, *r);
            self.content.clip_nonzero().end_path();
        }
        self.fill(*paint);
        let mut last = [0.0; 2];
        for step in &path.0 {
            match *step {
                Segment::Move(p) => {
                    self.content.move_to(p[0], p[1]);
                    last = p;
                }
                Segment::Line(p) => {
                    self.content.line_to(p[0], p[1]);
                    last = p;
                }
                Segment::Quad([m, p]) => {
                    let near = |p: [f32; 2]| [0, 1].map(|c| p[c] + (m[c] - p[c]) * 2.0 / 3.0);
                    let [a, b] = [near(last), near(p)];
                    self.content.cubic_to(a[0], a[1], b[0], b[1], p[0], p[1]);
                    last = p;
                }
                Segment::Cubic([a, b, p]) => {
                    self.content.cubic_to(a[0], a[1], b[0], b[1], p[0], p[1]);
                    last = p;
                }
            }
        }
        self.content.fill_nonzero().restore_state();
    }

    fn text(&mut self, text: &Text) {
        let which = usize::from(text.bold);
        let Some(face) = Face::of(text.bold) else { return };
        let Some(shown) = face.drawable(&text.text) else { return };
        let mut glyphs = Vec::with_capacity(2 * shown.len());
        for letter in shown.chars() {
            let glyph = face.glyph(letter).0;
            glyphs.extend_from_slice(&glyph.to_be_bytes());
            self.letters[which].entry(glyph).or_insert(letter);
        }
        let [x, y] = text.turned([text.at[0], text.at[1] + BASELINE * text.size]);
        let (sin, cos) = text.turn.sin_cos();
        let write = |this: &mut Self, mode: TextRenderingMode| {
            let content = &mut this.content;
            content.begin_text().set_font(FONTS[which], text.size).set_text_rendering_mode(mode);
            content.set_text_matrix([cos, sin, sin, -cos, x, y]).show(Str(&glyphs)).end_text();
        };
        if let Some(halo) = text.halo {
            self.content.set_line_join(LineJoinStyle::RoundJoin);
            let opacity = halo.opacity * text.opacity;
            self.stroke(2.0 * halo.width, Paint { color: halo.color, opacity });
            write(self, TextRenderingMode::Stroke);
        }
        self.fill(Paint { color: text.color, opacity: text.opacity });
        write(self, TextRenderingMode::Fill);
    }
}
