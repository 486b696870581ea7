//! Title and legend of a picture.

mod inks;
mod rows;

use graphlume_scene::Anchor;

use crate::icons::look::Look;
use crate::marks::{Halo, Mark, Text};
use crate::occupied::Rect;
use crate::outlines::text::{Face, shorten};
use crate::settings::{Background, Key, Legend, Row, Settings, Side, text_color, unit};
use inks::Inks;

/// Entries of a key that are shown.
const ENTRIES_MAX: usize = 12;
/// Lines of what else is bound.
const SCALES_MAX: usize = 6;
/// Sizes of letters, heights of lines and distances in pixels of the page.
const SIZE: f32 = 11.0;
const LINE: f32 = 18.0;
const PAD: f32 = 10.0;
const RIM: f32 = 12.0;
const TITLE_SIZE: f32 = 18.0;
const WIDTH_MIN: f32 = 96.0;
/// Letters of a line, beyond which it is cut in its middle.
const LETTERS_MAX: usize = 32;
const TITLE_LETTERS_MAX: usize = 120;

/// Title and legend, and what of the picture they cover.
#[derive(Debug, Default)]
pub(crate) struct Panels {
    pub(crate) marks: Vec<Mark>,
    pub(crate) covered: Vec<Rect>,
}

impl Panels {
    pub(crate) fn of(settings: &Settings) -> Self {
        let text = text_color(settings.theme);
        let plate = match settings.background {
            Background::Color(rgb) => unit(rgb),
            _ => settings.theme.background()[0],
        };
        let quiet = [0, 1, 2].map(|c| text[c] + (plate[c] - text[c]) * 0.4);
        let inks = Inks { text, quiet, plate };
        let mut panels = Self::default();
        if let Some(title) = settings.title.as_deref().filter(|t| !t.trim().is_empty()) {
            panels.title(title, settings, &inks);
        }
        if let Some(legend) = &settings.legend {
            panels.legend(legend, settings, &inks);
        }
        panels
    }

    fn title(&mut self, title: &str, settings: &Settings, inks: &Inks) {
        let Some(face) = Face::of(true) else { return };
        let line = title.split_whitespace().collect::<Vec<_>>().join(" ");
        // Narrow pictures have smaller titles, down to that of the legend.
        let fits = (settings.width as f32 - 2.0 * RIM).max(1.0);
        let mut text = shorten(&line, TITLE_LETTERS_MAX);
        let size = (fits / face.width(&text).max(1e-3)).clamp(SIZE, TITLE_SIZE);
        let mut letters = text.chars().count();
        while face.width(&text) * size > fits && letters > 3 {
            letters -= 1;
            text = shorten(&line, letters);
        }
        let width = face.width(&text) * size;
        let at = [RIM, RIM + size * 0.6];
        let halo = Some(Halo::of(inks.plate)).filter(|_| settings.background != Background::Clear);
        self.marks.push(Mark::Text(Text {
            text,
            at,
            size,
            bold: true,
            color: inks.text,
            opacity: 1.0,
            halo,
            turn: 0.0,
        }));
        self.covered.push([0.0, 0.0, width + 2.0 * RIM, RIM + 1.5 * size]);
    }

    fn legend(&mut self, legend: &Legend, settings: &Settings, inks: &Inks) {
        let lines = lines(legend, settings);
        let width = lines.iter().map(Line::width).fold(WIDTH_MIN, f32::max) + 2.0 * PAD;
        let height: f32 = lines.iter().map(Line::height).sum::<f32>() + 2.0 * PAD - 4.0;
        if lines.is_empty() {
            return;
        }
        let (x, y) = (RIM, (settings.height as f32 - RIM - height).max(0.0));
        let rect = [x, y, width, height];
        let plate = |rect, radius, color, opacity| Mark::Plate { rect, radius, color, opacity };
        let rim = [x - 1.0, y - 1.0, width + 2.0, height + 2.0];
        self.marks.push(plate(rim, 9.0, inks.quiet, 0.25));
        self.marks.push(plate(rect, 8.0, inks.plate, 0.92));
        let mut middle = y + PAD - 2.0;
        for line in &lines {
            let half = line.height() / 2.0;
            middle += half;
            line.draw(&mut self.marks, [x + PAD, middle], width - 2.0 * PAD, inks);
            middle += half;
        }
        self.covered.push(rim);
    }
}

/// A line of a legend.
enum Line {
    Title(String, String),
    Entry { name: String, count: String, sign: rows::Sign },
    Ramp(Vec<[f32; 3]>),
    Ends(String, String),
    Quiet(String),
    Gap,
}

/// How wide a text is.
fn width(text: &str, bold: bool) -> f32 {
    Face::of(bold).map_or(0.0, |face| face.width(text) * SIZE)
}

impl Line {
    fn height(&self) -> f32 {
        match self {
            Self::Ramp(_) => 12.0,
            Self::Gap => 8.0,
            Self::Entry { sign, .. } => sign.height().max(LINE),
            _ => LINE,
        }
    }

    fn width(&self) -> f32 {
        match self {
            Self::Title(a, b) => width(a, true) + 12.0 + width(b, false),
            Self::Entry { name, count, sign } => {
                sign.width() + 8.0 + width(name, false) + 14.0 + width(count, false)
            }
            Self::Ends(a, b) => width(a, false) + 20.0 + width(b, false),
            Self::Quiet(text) => width(text, false),
            Self::Ramp(_) | Self::Gap => 0.0,
        }
    }

    fn draw(&self, marks: &mut Vec<Mark>, [x, y]: [f32; 2], wide: f32, inks: &Inks) {
        let mut write = |text: &str, at: f32, bold: bool, color: [f32; 3]| {
            let text = text.to_owned();
            let (size, opacity, halo) = (SIZE, 1.0, None);
            let text = Text { text, at: [at, y], size, bold, color, opacity, halo, turn: 0.0 };
            marks.push(Mark::Text(text));
        };
        let right = |text: &str| x + wide - width(text, false);
        match self {
            Self::Title(a, b) => {
                write(a, x, true, inks.text);
                write(b, right(b), false, inks.quiet);
            }
            Self::Entry { name, count, sign } => {
                write(name, x + sign.width() + 8.0, false, inks.text);
                write(count, right(count), false, inks.quiet);
                sign.draw(marks, [x, y], inks);
            }
            Self::Ramp(colors) => {
                let rect = [x, y - 4.0, wide, 8.0];
                marks.push(Mark::Ramp { rect, colors: colors.clone() });
            }
            Self::Ends(a, b) => {
                write(a, x, false, inks.quiet);
                write(b, right(b), false, inks.quiet);
            }
            Self::Quiet(text) => write(text, x, false, inks.quiet),
            Self::Gap => {}
        }
    }
}

fn lines(legend: &Legend, settings: &Settings) -> Vec<Line> {
    let themed = |[r, g, b]: [u8; 3]| {
        let [r, g, b, _] = settings.theme.shown([r, g, b, 255]);
        unit([r, g, b])
    };
    // What a low picture has no room for is counted with the values beyond.
    let room = ((settings.height as f32 * 0.6 / LINE) as usize / legend.keys.len().max(1)).max(3);
    let mut lines: Vec<Line> = Vec::new();
    let height = |lines: &[Line]| lines.iter().map(Line::height).sum::<f32>();
    // Besides its rims a legend ends with what it leaves out and what else is bound.
    let scales = legend.scales.len().min(SCALES_MAX) as f32;
    let free = settings.height as f32 - 2.0 * (RIM + PAD) - LINE * (1.0 + scales);
    let mut left_out = 0;
    for key in &legend.keys {
        let own = key_lines(key, room, &themed);
        if !lines.is_empty() && height(&lines) + 8.0 + height(&own) > free {
            left_out += 1;
            continue;
        }
        if !lines.is_empty() {
            lines.push(Line::Gap);
        }
        lines.extend(own);
    }
    if left_out > 0 {
        let columns = if left_out == 1 { "column" } else { "columns" };
        lines.push(Line::Quiet(format!("{left_out} more {columns}")));
    }
    if !lines.is_empty() && !legend.scales.is_empty() {
        lines.push(Line::Gap);
        let scales = legend.scales.iter().take(SCALES_MAX);
        lines.extend(scales.map(|scale| Line::Quiet(shorten(scale, LETTERS_MAX))));
    }
    lines
}

/// The lines of one key, of which `room` may be rows.
fn key_lines(key: &Key, room: usize, themed: &dyn Fn([u8; 3]) -> [f32; 3]) -> Vec<Line> {
    let mut lines = Vec::new();
    let is_edge = key.side == Side::Edges;
    let of = match key.side {
        Side::Nodes => "nodes",
        Side::Edges => "edges",
        Side::Elements => "elements",
    };
    lines.push(Line::Title(shorten(&key.title, LETTERS_MAX), of.to_owned()));
    if let Some((colors, low, high)) = &key.ramp {
        lines.push(Line::Ramp(colors.iter().map(|c| unit(*c)).collect()));
        let cut = |text: &str| shorten(text, LETTERS_MAX / 2);
        lines.push(Line::Ends(cut(low), cut(high)));
    }
    let shown = key.entries.len().min(ENTRIES_MAX).min(room);
    let looks: Vec<(Anchor, Look)> =
        key.signs.iter().map(|(place, look)| (*place, Look::read(look))).collect();
    let is_plain = key.entries.iter().all(Row::is_plain);
    let has_lines = key.entries.iter().any(|row| row.color.is_some() || row.width.is_some());
    let has_icons = looks.iter().any(|(place, _)| !rows::is_badge(*place));
    let sign = |row: &Row| {
        // Edges have their own colours in every theme.
        let is_kept = is_edge || row.chosen;
        let color = row.color.map(|c| if is_kept { unit(c) } else { themed(c) });
        let own = row.signs.iter().zip(&looks).filter_map(|(at, (place, look))| {
            let entry = look.entries.get(usize::from(*at).checked_sub(1)?)?;
            Some((*place, look.clone(), entry.clone()))
        });
        let has_badges = looks.iter().any(|(place, _)| rows::is_badge(*place));
        rows::Sign {
            row: row.clone(),
            color,
            is_edge,
            is_plain,
            has_badges,
            is_beside: is_edge && has_lines && has_icons,
            signs: own.collect(),
        }
    };
    lines.extend(key.entries[..shown].iter().map(|row| Line::Entry {
        name: shorten(&row.name, LETTERS_MAX),
        count: row.count.map_or_else(String::new, thousands),
        sign: sign(row),
    }));
    let more = key.more + (key.entries.len() - shown) as u64;
    if more > 0 {
        lines.push(Line::Quiet(format!("{} more", thousands(more))));
    }
    let texts = key.lines.iter().take(ENTRIES_MAX);
    lines.extend(texts.map(|text| Line::Quiet(shorten(text, LETTERS_MAX))));
    lines
}

/// A number with commas.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let head = digits.len() % 3;
    let mut out = digits[..head].to_owned();
    for group in digits.as_bytes()[head..].chunks(3) {
        if !out.is_empty() {
            out.push(',');
        }
        out.extend(group.iter().map(|digit| char::from(*digit)));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_commas() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(1_234), "1,234");
        assert_eq!(thousands(123_456), "123,456");
        assert_eq!(thousands(12_345_678), "12,345,678");
    }

    #[test]
    fn a_legend_says_what_it_leaves_out_and_fits_the_picture() {
        let row = |k| Row {
            name: format!("value {k}"),
            color: Some([k, 0, 0]),
            count: Some(1_000),
            ..Row::default()
        };
        let entries = (0..40).map(row).collect();
        let key = Key { title: "kind".to_owned(), entries, more: 5, ..Key::default() };
        let legend = Some(Legend { keys: vec![key], scales: vec!["Size: degree".to_owned()] });
        for height in [100, 900] {
            let settings = Settings { height, legend: legend.clone(), ..Settings::default() };
            let panels = Panels::of(&settings);
            let texts: Vec<&str> = panels
                .marks
                .iter()
                .filter_map(|m| if let Mark::Text(t) = m { Some(t.text.as_str()) } else { None })
                .collect();
            let shown = if height == 900 { 12 } else { 3 };
            assert!(texts.contains(&format!("{} more", 45 - shown).as_str()), "{texts:?}");
            assert!(texts.contains(&"Size: degree") && texts.contains(&"1,000"));
            let [_, top, _, high] = panels.covered[0];
            assert!(top >= -1.0 && (height < 900 || top + high < 900.0), "{top} {high}");
        }
    }

    #[test]
    fn columns_for_which_a_picture_is_too_low_are_counted() {
        let key = |k: u8| {
            let row =
                |v: u8| Row { name: format!("{k} {v}"), color: Some([v, 0, 0]), ..Row::default() };
            Key {
                title: format!("column {k}"),
                entries: (0..9).map(row).collect(),
                ..Key::default()
            }
        };
        let legend = Some(Legend { keys: (0..12).map(key).collect(), scales: Vec::new() });
        for (height, more) in [(300, 10), (4_000, 0)] {
            let settings = Settings { height, legend: legend.clone(), ..Settings::default() };
            let panels = Panels::of(&settings);
            let has = |text: &str| {
                panels.marks.iter().any(|m| matches!(m, Mark::Text(t) if t.text == text))
            };
            assert_eq!(has(&format!("{more} more columns")), more > 0, "{height}");
            assert!(has("column 0") && has("column 11") == (more == 0));
            let [_, top, _, high] = panels.covered[0];
            assert!(top > 0.0 && top + high <= height as f32, "{top} {high}");
        }
    }

    #[test]
    fn a_long_title_becomes_smaller_and_then_shorter() {
        let title = Some("A title that says a great deal about what is to be seen".to_owned());
        let found = |width| {
            let settings = Settings { width, title: title.clone(), ..Settings::default() };
            match Panels::of(&settings).marks.pop() {
                Some(Mark::Text(text)) => (text.text, text.size),
                _ => (String::new(), 0.0),
            }
        };
        let (whole, size) = found(1_440);
        assert_eq!((Some(whole), size), (title.clone(), TITLE_SIZE));
        let (cut, size) = found(200);
        assert!(cut.contains('…') && size == SIZE, "{cut} {size}");
    }
}
