//! Icons and badges on discs and on the middles of lines (`shell/web/src/bound/icons.ts` and `pictures.ts`), as outlines:
//! they are sharp at any size, and filters and blend modes, which act on plain colours, give plain colours. Entries with
//! an `image` are not drawn: `https:` ones would make the server fetch what a dataset names, and `data:` ones need a
//! decoder of pictures, which the server does not have.

pub(crate) mod look;
mod shapes;

use std::f32::consts::{FRAC_1_SQRT_2, TAU};
use std::sync::LazyLock;

use ab_glyph::FontRef;
use graphlume_scene::wire::Axis;
use graphlume_scene::{Anchor, IconLayer, backdrop};

use crate::canvas::strokes::Stroke;
use crate::canvas::{Canvas, spots};
use crate::marks::{Mark, Paint, Shape};
use crate::occupied::Disc;
use crate::outlines::path::Path;
use crate::outlines::text::Face;
use look::{Entry, Look, Sign, blended, filtered};

/// Font Awesome 4.7, the font of the page's build, in the container that is read here (`fonts/LICENSE-FontAwesome`).
static FONT: LazyLock<Option<FontRef<'static>>> =
    LazyLock::new(|| FontRef::try_from_slice(include_bytes!("../../fonts/FontAwesome.ttf")).ok());

pub(crate) const DARK: [f32; 3] = [16.0 / 255.0, 19.0 / 255.0, 26.0 / 255.0];
pub(crate) const LIGHT: [f32; 3] = [1.0; 3];
/// Half the diagonal that a sign may have, as a share of its disc's radius.
pub(crate) const FILL: f32 = 0.78;
pub(crate) const FILL_BADGE: f32 = 0.8;
/// Radius of a badge as a share of that of its disc, its least and greatest one, and from which disc on it is shown.
pub(crate) const BADGE: f32 = 0.46;
pub(crate) const BADGE_MIN: f32 = 4.0;
pub(crate) const BADGE_MAX: f32 = 15.0;
pub(crate) const BADGE_DISC_MIN: f32 = 7.0;
/// Letters smaller than this cannot be read.
pub(crate) const TEXT_MIN: f32 = 5.0;

/// Where a badge lies, as shares of the radius, y down.
pub(crate) fn side(place: Anchor) -> [f32; 2] {
    const H: f32 = FRAC_1_SQRT_2;
    match place {
        Anchor::Icon | Anchor::Cover => [0.0, 0.0],
        Anchor::Top => [0.0, -1.0],
        Anchor::TopRight => [H, -H],
        Anchor::Right => [1.0, 0.0],
        Anchor::BottomRight => [H, H],
        Anchor::Bottom => [0.0, 1.0],
        Anchor::BottomLeft => [-H, H],
        Anchor::Left => [-1.0, 0.0],
        Anchor::TopLeft => [-H, -H],
    }
}

/// One thing to draw: an entry of a layer on a disc.
struct Item<'a> {
    look: &'a Look,
    entry: &'a Entry,
    is_edge: bool,
    is_badge: bool,
    at: [f32; 2],
    r: f32,
    /// Half the diagonal of its sign as a share of the radius, where that is not the usual one.
    fill: Option<f32>,
    alpha: f32,
    /// What is left of its colours, in that of the background.
    left: f32,
    /// The colour of the disc below.
    disc: [f32; 3],
    /// That of the background.
    back: [f32; 3],
}

/// The marks of all layers, each over the one before; those of edges are the lowest.
pub(crate) fn marks(canvas: &Canvas<'_>, strokes: &[Stroke], layers: &[IconLayer]) -> Vec<Mark> {
    let mut marks = Vec::new();
    for axis in [Axis::Edge, Axis::Node] {
        let mut own: Vec<&IconLayer> = layers.iter().filter(|l| l.axis == axis).collect();
        // The cover lies below the icon, and badges above it.
        own.sort_by_key(|l| if l.place == Anchor::Cover { -1 } else { l.place as i32 });
        let number = |layer: &IconLayer, k: u32| layer.shown.get(k as usize).copied().unwrap_or(0);
        let has_icon = |k: u32| own.iter().any(|layer| number(layer, k) > 0);
        let spots = match axis {
            _ if own.is_empty() => continue,
            Axis::Edge => spots::lines(canvas, strokes, has_icon),
            Axis::Node => spots::discs(canvas, has_icon),
        };
        for layer in own {
            let look = Look::read(&layer.look);
            let entry = |spot: &Disc| {
                look.entries.get(usize::from(number(layer, spot.node)).checked_sub(1)?)
            };
            let items: Vec<Item<'_>> = spots
                .iter()
                .filter_map(|spot| item(canvas, layer, &look, entry(spot)?, spot))
                .collect();
            items.iter().for_each(|item| item.back(&mut marks));
            items.iter().for_each(|item| item.front(&mut marks));
        }
    }
    marks
}

fn item<'a>(
    canvas: &Canvas<'_>,
    layer: &IconLayer,
    look: &'a Look,
    entry: &'a Entry,
    spot: &Disc,
) -> Option<Item<'a>> {
    let is_edge = layer.axis == Axis::Edge;
    let side = side(layer.place);
    let is_badge = side != [0.0; 2];
    if is_badge && !is_edge && spot.radius < BADGE_DISC_MIN {
        return None;
    }
    let bounded = |r: f32| look.bounded(layer.place, r);
    let badge = bounded((spot.radius * BADGE).clamp(BADGE_MIN, BADGE_MAX));
    // Beside the icon of an edge, which has no disc to sit on the rim of.
    let off = if is_edge { spot.radius + badge } else { spot.radius * 0.92 };
    let back = canvas.back[0];
    let (disc, alpha) = if is_edge {
        (back, 1.0)
    } else {
        let [r, g, b, a] = canvas.colors[spot.node as usize];
        ([r, g, b], a * canvas.settings.look.point_opacity as f32)
    };
    let drawing = canvas.drawing;
    let left =
        if is_edge { drawing.left_of_edge(spot.node) } else { drawing.left_of_node(spot.node) };
    Some(Item {
        left,
        look,
        entry,
        is_edge,
        is_badge,
        at: [0, 1].map(|c| spot.at[c] + side[c] * off),
        r: if is_badge { badge } else { bounded(spot.radius) },
        fill: None,
        alpha,
        disc,
        back,
    })
}

/// A sign of the legend on a disc of a colour, or beside a line where it `is_edge`; `back` is what is behind the legend.
pub(crate) struct Spot {
    pub(crate) place: Anchor,
    pub(crate) is_edge: bool,
    pub(crate) at: [f32; 2],
    pub(crate) radius: f32,
    pub(crate) alpha: f32,
    pub(crate) disc: [f32; 3],
    pub(crate) back: [f32; 3],
    /// Half the diagonal that the sign may have, as a share of the radius, where it has more room than on a disc.
    pub(crate) fill: Option<f32>,
}

impl Spot {
    /// The marks of an icon, or of a badge at its side, of which `badge` is the radius.
    pub(crate) fn draw(&self, marks: &mut Vec<Mark>, look: &Look, entry: &Entry, badge: f32) {
        let side = side(self.place);
        let is_badge = side != [0.0; 2];
        let Self { is_edge, alpha, disc, back, .. } = *self;
        let at = [0, 1].map(|c| self.at[c] + side[c] * self.radius * 0.92);
        let r = look.bounded(self.place, if is_badge { badge } else { self.radius });
        let left = 1.0;
        let fill = self.fill;
        let item = Item { look, entry, is_edge, is_badge, at, r, fill, alpha, left, disc, back };
        item.back(marks);
        item.front(marks);
    }
}

fn rgb([r, g, b, _]: [f32; 4]) -> [f32; 3] {
    [r, g, b]
}

/// The ink that can be read on a colour.
fn ink_on(color: [f32; 3]) -> [f32; 4] {
    let bytes = color.map(|c| (c * 255.0).round() as u8);
    let [r, g, b] = if backdrop::is_light(bytes) { DARK } else { LIGHT };
    [r, g, b, 1.0]
}

impl Look {
    /// A radius, no larger than the encoding lets a badge be.
    fn bounded(&self, place: Anchor, r: f32) -> f32 {
        self.radius_max.filter(|_| place != Anchor::Icon).map_or(r, |most| r.min(most))
    }
}

impl Item<'_> {
    /// A colour, as faint as the item is.
    fn faint(&self, color: [f32; 4]) -> [f32; 3] {
        [0, 1, 2].map(|c| self.back[c] + (color[c] - self.back[c]) * self.left)
    }

    fn plate(&self, r: f32, color: [f32; 4]) -> Mark {
        let rect = [self.at[0] - r, self.at[1] - r, 2.0 * r, 2.0 * r];
        Mark::Plate { rect, radius: r, color: self.faint(color), opacity: color[3] * self.alpha }
    }

    fn shape(&self, path: Path, color: [f32; 4], is_cut: bool) -> Mark {
        let paint = Paint { color: self.faint(color), opacity: color[3] * self.alpha };
        Mark::Shape(Shape { path, paint, disc: is_cut.then_some((self.at, self.r)) })
    }

    /// The plate behind an icon, and its border.
    fn back(&self, marks: &mut Vec<Mark>) {
        let needs_plate = self.is_badge || self.is_edge;
        let opaque = |[r, g, b]: [f32; 3]| [r, g, b, 1.0];
        let color = self.entry.back.or(needs_plate.then_some(opaque(self.back)));
        if let Some(color) = color.filter(|_| self.look.back_style.is_empty()) {
            if self.is_badge {
                // A badge keeps off the disc by a rim in the colour of the background.
                marks.push(self.plate(self.r + 1.0, opaque(self.back)));
            }
            let badge = self.is_badge.then_some(opaque(self.disc));
            marks.push(self.plate(self.r, self.entry.back.or(badge).unwrap_or(color)));
        }
        if let Some((width, _)) = self.look.border.as_ref().filter(|b| b.1 == "solid") {
            let line = self.entry.border.unwrap_or_else(|| ink_on(color.map_or(self.disc, rgb)));
            let width = width.min(0.5 * self.r);
            let ring = Path::ring(self.at, self.r - width / 2.0, width);
            marks.push(self.shape(ring, line, false));
        }
    }

    /// The colour below the sign.
    fn ground(&self) -> [f32; 4] {
        let [r, g, b] = if self.is_edge { self.back } else { self.disc };
        self.entry.back.unwrap_or([r, g, b, 1.0])
    }

    fn ink(&self) -> [f32; 4] {
        self.entry.color.unwrap_or_else(|| ink_on(rgb(self.ground())))
    }

    /// The sign, mixed with what is below where it is, and borders that are no plain lines.
    fn front(&self, marks: &mut Vec<Mark>) {
        let Self { look, entry, .. } = self;
        if entry.has_image {
            return;
        }
        let is_mixed = look.blend.is_some() || !look.back_style.is_empty();
        let under = is_mixed.then(|| filtered(self.ground(), &look.back_style));
        if let Some(under) = under {
            marks.push(if look.is_round {
                self.plate(self.r - self.r / 128.0, under)
            } else {
                let ([x, y], r) = (self.at, self.r);
                let rect = [x - r, y - r, 2.0 * r, 2.0 * r];
                let opacity = under[3] * self.alpha;
                Mark::Plate { rect, radius: 0.0, color: self.faint(under), opacity }
            });
        }
        let style = if look.front_style.is_empty() { &look.style } else { &look.front_style };
        let painted = |color: [f32; 4]| {
            let color = filtered(color, style);
            let Some(mode) = &look.blend else { return color };
            let [r, g, b] = blended(rgb(under.unwrap_or(self.ground())), color, mode);
            [r, g, b, 1.0]
        };
        match &entry.sign {
            Some(Sign::Flag(code)) => {
                let by = 2.0 * self.r / shapes::SIDE;
                let corner = self.at.map(|x| x - self.r);
                for (path, [r, g, b]) in shapes::flag(code).into_iter().flatten() {
                    let path = path.map(|p| [0, 1].map(|c| corner[c] + by * p[c]));
                    marks.push(self.shape(path, painted([r, g, b, 1.0]), true));
                }
            }
            Some(Sign::Glyph(letter)) => {
                let path = FONT.as_ref().and_then(|font| Path::of_letter(font, *letter));
                marks.extend(path.and_then(|path| self.letters(&path, painted(self.ink()), 0.0)));
            }
            Some(Sign::Text(text)) => {
                let path = Face::of(false).map(|face| face.path(text)).unwrap_or_default();
                let least = if look.is_painted() { 0.0 } else { TEXT_MIN };
                marks.extend(self.letters(&path, painted(self.ink()), least));
            }
            None => {}
        }
        let border = look.border.as_ref().filter(|b| b.1 != "solid");
        if let Some((width, stroke)) = border {
            let share = (20.0 * (width / self.r).min(0.5)).round() / 20.0;
            let line = entry.border.unwrap_or_else(|| self.ink());
            for path in strokes(self.at, self.r, share * self.r, stroke) {
                marks.push(self.shape(path, line, false));
            }
        }
    }

    /// An outline of size 1 in the middle of the disc, as large as fits; none where that is less than `least`.
    fn letters(&self, path: &Path, color: [f32; 4], least: f32) -> Option<Mark> {
        let [left, top, right, bottom] = path.bounds()?;
        let usual = if self.is_badge && !self.look.is_painted() { FILL_BADGE } else { FILL };
        let share = self.fill.unwrap_or(usual);
        let size = size_for([right - left, bottom - top], self.r, share);
        let middle = [f32::midpoint(left, right), f32::midpoint(top, bottom)];
        let place = |p: [f32; 2]| [0, 1].map(|c| self.at[c] + size * (p[c] - middle[c]));
        (size >= least).then(|| self.shape(path.map(place), color, false))
    }
}

/// The size in which the diagonal of an outline, which has these sides at size 1, fills its share of a disc.
pub(crate) fn size_for([w, h]: [f32; 2], r: f32, share: f32) -> f32 {
    (2.0 * share * r / w.hypot(h).max(1e-3)).min(1.4 * r)
}

/// The line of a border of so many pixels that is dotted, dashed or double.
fn strokes(point: [f32; 2], r: f32, width: f32, stroke: &str) -> Vec<Path> {
    let outer = r - width / 2.0 - r / 64.0;
    if width <= 0.0 || outer <= 0.0 {
        return Vec::new();
    }
    if stroke == "double" {
        let third = width / 3.0;
        return [third, -third].map(|by| Path::ring(point, outer + by, third)).to_vec();
    }
    // A whole number of dashes, so that the last meets the first.
    let length = if stroke == "dotted" { width } else { 2.5 * width };
    let count = (TAU * outer / (2.0 * length)).round().max(3.0) as usize;
    let step = TAU / count as f32;
    let dash = |k: usize| {
        let from = step * k as f32;
        Path::arc(point, outer, width, [from, from + step / 2.0])
    };
    (0..count).map(dash).collect()
}
