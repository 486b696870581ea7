//! Signs before the names of a legend's rows (`shell/web/src/bound/legend-sign.tsx`): swatches, discs and lines of
//! their sizes, and the icons and badges of encodings.

use graphlume_scene::Anchor;

use super::inks::{Inks, SWATCH};
use crate::icons::Spot;
use crate::icons::look::{self, Entry, Look};
use crate::marks::{Mark, Text};
use crate::outlines::text::Face;
use crate::settings::Row;

/// How wide what stands before a name is where a row of its key is more than a swatch, and where one has badges.
const WIDE: f32 = 18.0;
const BADGED: f32 = 28.0;
/// The same where icons of edges stand beside their lines, and from there to the middle of an icon.
const BESIDE: f32 = 40.0;
const ICON_AT: f32 = 31.0;
/// Radius of a disc without a size, of the smallest one, and of a badge.
const DISC: f32 = 8.0;
const DISC_MIN: f32 = 4.0;
const BADGE: f32 = 5.0;
/// Half the diagonal of a glyph without a disc around it, as a share of the radius that one would have.
const FREE: f32 = 0.98;
/// Letters of a text that fit a disc, and the size of those that do not.
const FITTING: usize = 3;
const TEXT: f32 = 8.8;

/// Whether a sign stands at the side of a disc.
pub(crate) fn is_badge(place: Anchor) -> bool {
    !matches!(place, Anchor::Icon | Anchor::Cover)
}

/// What stands before the name of one row.
pub(crate) struct Sign {
    pub(crate) row: Row,
    /// The colour of the row as the theme shows it.
    pub(crate) color: Option<[f32; 3]>,
    pub(crate) is_edge: bool,
    /// Whether all rows of the key show swatches only.
    pub(crate) is_plain: bool,
    /// Whether a row of the key has badges.
    pub(crate) has_badges: bool,
    /// Whether the key has icons of edges and lines, which would hide each other.
    pub(crate) is_beside: bool,
    pub(crate) signs: Vec<(Anchor, Look, Entry)>,
}

impl Sign {
    /// Several colours side by side.
    fn colors(&self, point: [f32; 2]) -> Option<Mark> {
        let rect = [point[0] - SWATCH / 2.0, point[1] - SWATCH / 2.0, SWATCH, SWATCH];
        let unit = |rgb: &[u8; 3]| rgb.map(|c| f32::from(c) / 255.0);
        let colors: Vec<[f32; 3]> = self.row.colors.iter().map(unit).collect();
        (colors.len() > 1).then_some(Mark::Ramp { rect, colors })
    }

    /// A text too long for a disc, which stands there by itself.
    fn text(&self) -> Option<(&Entry, &str)> {
        self.signs.iter().filter(|(place, ..)| !is_badge(*place)).find_map(|(_, _, entry)| {
            match &entry.sign {
                Some(look::Sign::Text(text)) if text.chars().count() > FITTING => {
                    Some((entry, text.as_str()))
                }
                _ => None,
            }
        })
    }

    fn base(&self) -> f32 {
        match (self.is_plain, self.has_badges) {
            (true, _) => SWATCH,
            (false, _) if self.is_beside => BESIDE,
            (false, false) => WIDE,
            (false, true) => BADGED,
        }
    }

    pub(crate) fn width(&self) -> f32 {
        let text = self.text().map_or(0.0, |(_, text)| text_width(text) + 4.0);
        self.base().max(text)
    }

    pub(crate) fn height(&self) -> f32 {
        if self.has_badges { BADGED + 2.0 } else { 0.0 }
    }

    /// Draws it from its left end on its middle line.
    pub(crate) fn draw(&self, marks: &mut Vec<Mark>, [x, y]: [f32; 2], inks: &Inks) {
        let Row { opacity, size, width, .. } = self.row;
        let opacity = opacity.unwrap_or(1.0);
        let at = [x + if self.is_beside { ICON_AT } else { self.width() / 2.0 }, y];
        let color = self.color.unwrap_or(inks.quiet);
        let mut plate = |[wide, high]: [f32; 2], radius| {
            let middle = if self.is_beside { x + WIDE / 2.0 } else { at[0] };
            let rect = [middle - wide / 2.0, at[1] - high / 2.0, wide, high];
            marks.push(Mark::Plate { rect, radius, color, opacity });
        };
        let mut icons: Vec<_> = self.signs.iter().filter(|s| !is_badge(s.0)).collect();
        let badges = self.signs.iter().filter(|s| is_badge(s.0));
        let is_node = !self.is_edge;
        let is_signed = !self.signs.is_empty();
        let on_disc =
            is_node && is_signed && (self.color.is_some() || icons.len() < self.signs.len());
        let disc = size.map(|size| size / 2.0).or(on_disc.then_some(DISC));
        if let Some(width) = width {
            plate([WIDE, width], 0.0);
        }
        if let Some(r) = disc {
            plate([2.0 * r, 2.0 * r], r);
        } else if width.is_none() && (icons.is_empty() || self.is_edge && self.color.is_some()) {
            let long = if icons.is_empty() { SWATCH } else { WIDE };
            let (sides, rim) = if self.is_edge { ([long, 3.0], 1.5) } else { ([SWATCH; 2], 3.0) };
            plate(sides, rim);
            marks.extend(self.colors(at));
        }
        // The cover lies below the icon.
        icons.sort_by_key(|s| std::cmp::Reverse(s.0 as u8));
        let ground = if disc.is_some() { color } else { inks.plate };
        if let Some((entry, text)) = self.text() {
            let [r, g, b] = entry.color.map_or(inks.text, |[r, g, b, _]| [r, g, b]);
            let at = [x + 2.0, y];
            let (size, halo, bold) = (TEXT, None, false);
            let text = text.to_owned();
            marks.push(Mark::Text(Text {
                text,
                at,
                size,
                bold,
                color: [r, g, b],
                opacity,
                halo,
                turn: 0.0,
            }));
            icons.clear();
        }
        let spot = |place, radius: f32, disc, fill| Spot {
            place,
            is_edge: self.is_edge && !is_badge(place),
            at,
            radius,
            alpha: opacity,
            disc,
            back: inks.plate,
            fill,
        };
        for (place, look, entry) in icons {
            // Without a disc around it there is more room for a glyph.
            let is_glyph = matches!(entry.sign, Some(look::Sign::Glyph(_)));
            let is_free = is_glyph && disc.is_none() && entry.back.is_none();
            let radius = disc.unwrap_or(DISC).max(DISC_MIN);
            spot(*place, radius, ground, is_free.then_some(FREE)).draw(marks, look, entry, BADGE);
        }
        for (place, look, entry) in badges {
            spot(*place, DISC, color, None).draw(marks, look, entry, BADGE);
        }
    }
}

fn text_width(text: &str) -> f32 {
    Face::of(false).map_or(0.0, |face| face.width(text) * TEXT)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use graphlume_types::CancelToken;
    use serde_json::json;

    use super::*;
    use crate::tests::NOTHING;
    use crate::{Background, Drawing, Key, Legend, Settings};

    const WIDE: usize = 300;
    const RED: [u8; 3] = [255, 0, 0];
    const GREEN: [u8; 3] = [0, 255, 0];
    const BLUE: [u8; 3] = [0, 0, 255];

    /// A picture of two nodes in the right half with a legend of these rows.
    fn drawn(key: Key) -> Vec<[u8; 4]> {
        let drawing = Drawing {
            positions: &[[0.0, 0.0], [1.0, 0.0]],
            node_rgba: &[[90, 90, 90, 255]; 2],
            node_size: &[8, 8],
            is_given: true,
            sizes_bound: true,
            ..NOTHING
        };
        let settings = Settings {
            width: 300,
            height: 200,
            background: Background::Color([20, 20, 20]),
            legend: Some(Legend { keys: vec![key], scales: Vec::new() }),
            ..Settings::default()
        };
        let bytes = crate::pixels(&drawing, &settings, &CancelToken::new());
        bytes.unwrap().as_chunks::<4>().0.to_vec()
    }

    fn row(color: Option<[u8; 3]>) -> Row {
        Row { name: "a".to_owned(), color, ..Row::default() }
    }

    fn key(entries: Vec<Row>) -> Key {
        Key { title: "kind".to_owned(), entries, ..Key::default() }
    }

    /// Where pixels of about a colour are.
    fn places(pixels: &[[u8; 4]], color: [u8; 3]) -> Vec<[usize; 2]> {
        let near = |p: &[u8; 4]| p.iter().zip(color).all(|(a, b)| a.abs_diff(b) < 24);
        let of = |i: usize| [i % WIDE, i / WIDE];
        (0..pixels.len()).filter(|i| near(&pixels[*i])).map(of).collect()
    }

    #[test]
    fn discs_lines_and_opacities_are_as_bound() {
        let rows = vec![
            Row { size: Some(16.0), ..row(Some(RED)) },
            Row { size: Some(8.0), opacity: Some(0.5), ..row(Some(GREEN)) },
            Row { width: Some(4.0), ..row(Some(BLUE)) },
        ];
        let picture = drawn(key(rows));
        let large = places(&picture, RED).len();
        assert!((160..215).contains(&large), "{large}");
        // Half of green over the plate.
        let small = places(&picture, [10, 137, 10]).len();
        assert!((30..60).contains(&small) && places(&picture, GREEN).is_empty(), "{small}");
        let line = places(&picture, BLUE);
        let rows =
            line.iter().map(|p| p[1]).max().unwrap() - line.iter().map(|p| p[1]).min().unwrap();
        assert!((2..=4).contains(&rows) && line.len() >= 18 * 3, "{rows} {}", line.len());
    }

    #[test]
    fn icons_and_badges_stand_before_the_names() {
        let list = json!({"list": [{"glyph": "\u{f0c8}", "color": "#ff0000"}]});
        let badge = json!({"list": [{"bg": "#0000ff"}]});
        let signs = vec![(Anchor::Icon, list.clone()), (Anchor::TopRight, badge)];
        let signed = Row { signs: vec![1, 1], ..row(Some(GREEN)) };
        let picture = drawn(Key { signs, ..key(vec![signed, row(Some(GREEN))]) });
        let glyph = places(&picture, RED);
        assert!(glyph.len() > 30, "the glyph: {}", glyph.len());
        let middle = |found: &[[usize; 2]], axis: usize| {
            found.iter().map(|p| p[axis] as f32).sum::<f32>() / found.len() as f32
        };
        let blue = places(&picture, BLUE);
        assert!(blue.len() > 40, "the badge: {}", blue.len());
        assert!(
            middle(&blue, 0) > middle(&glyph, 0) + 2.0
                && middle(&blue, 1) < middle(&glyph, 1) - 2.0
        );
        // The row without signs has a swatch; the other a disc below its glyph.
        let green = places(&picture, GREEN);
        assert!(green.len() > 120, "{}", green.len());
        // Without a colour a glyph stands by itself, in an ink of the panel.
        let alone = Row { signs: vec![1], ..row(None) };
        let picture = drawn(Key { signs: vec![(Anchor::Icon, list)], ..key(vec![alone]) });
        assert!(places(&picture, RED).len() > 30 && places(&picture, GREEN).is_empty());
    }

    #[test]
    fn a_text_too_long_for_a_disc_stands_whole_beside_its_name() {
        let texts = json!({"list": [{"text": "VIP account", "color": "#ff0000"}, {"text": "AB", "color": "#ff0000"}]});
        let of = |at| {
            let signed = Row { signs: vec![at], ..row(None) };
            let picture =
                drawn(Key { signs: vec![(Anchor::Icon, texts.clone())], ..key(vec![signed]) });
            // Letters are too thin to have any pixel of the plain colour.
            let reddish = |i: &usize| picture[*i][0] > picture[*i][1].saturating_add(40);
            (0..picture.len()).filter(reddish).map(|i| [i % WIDE, i / WIDE]).collect::<Vec<_>>()
        };
        let across = |found: Vec<[usize; 2]>| {
            found.iter().map(|p| p[0]).max().unwrap() - found.iter().map(|p| p[0]).min().unwrap()
        };
        let (long, short) = (across(of(1)), across(of(2)));
        assert!(long > 35 && short < 18, "{long} {short}");
    }
}
