//! The parts of icons as clients write them: names, colours, borders, filters.

use serde_json::{Map, Value, json};

use super::{flags, names};
use crate::bind::{Cx, Source};
use crate::css;
use crate::elements::Side;
use crate::mapping::{Mapping, NONE, number};
use crate::text::cut;

/// Icons that stand for values which name none; each is told from the others by its outline alone.
pub(super) const SHAPE_NAMES: [&str; 12] = [
    "circle", "star", "square", "heart", "bolt", "cloud", "leaf", "bell", "flag", "cube", "moon-o",
    "asterisk",
];

/// Characters of a text that is drawn as an icon.
const TEXT_CHARS_MAX: usize = 12;
/// Bytes of a picture that is written out in its address.
const DATA_BYTES_MAX: usize = 1 << 17;
/// Bytes of the address of a picture.
const ADDRESS_BYTES_MAX: usize = 2_048;

/// Why something is no icon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refused {
    Unknown,
    Long,
    Address,
}

impl Refused {
    /// All of them with what a notice says about them.
    pub(super) const ALL: [(Self, &'static str); 3] = [
        (
            Self::Unknown,
            "names no icon of Font Awesome 4.7, no country, and no picture; set as_text to have it written",
        ),
        (
            Self::Long,
            "is longer than 128 KiB as a data: address, or than 2,048 bytes as another; make the picture smaller",
        ),
        (Self::Address, "is no http, https or data:image address"),
    ];
}

/// The entries that values stand for, null for those that stand for none, and which are refused.
pub(super) fn entries(values: &[Value], as_text: bool) -> (Vec<Value>, Vec<(usize, Refused)>) {
    let mut refused = Vec::new();
    let mut entry = |(at, value): (usize, &Value)| {
        let text = text_of(value)?;
        if as_text {
            return Some(json!({"text": cut(text.trim(), TEXT_CHARS_MAX)}));
        }
        match icon(&text) {
            Ok(entry) => Some(entry),
            Err(why) => {
                refused.push((at, why));
                None
            }
        }
    };
    let found = values.iter().enumerate().map(|v| entry(v).unwrap_or(Value::Null)).collect();
    (found, refused)
}

/// A value as text; `None` where there is nothing to show.
fn text_of(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(s) => s.clone(),
        Value::Number(n) => n.to_string(),
        Value::Bool(b) => b.to_string(),
        _ => return None,
    };
    Some(text).filter(|t| !t.trim().is_empty())
}

/// A value as a notice quotes it.
pub(super) fn quoted(value: &Value) -> String {
    format!("{:?}", cut(&text_of(value).unwrap_or_default(), 40))
}

/// What an icon's name means. Font Awesome comes first, as in the clients' documents; codes of two capitals are those of
/// countries, of which some are names of icons in small letters.
fn icon(name: &str) -> Result<Value, Refused> {
    let name = name.trim();
    if name.contains(':') {
        return picture(name).map(|address| json!({"image": address}));
    }
    let capitals = name.bytes().all(|b| b.is_ascii_uppercase());
    let glyph = if capitals { None } else { names::glyph(name) };
    if let Some(glyph) = glyph {
        return Ok(json!({"glyph": glyph}));
    }
    match flags::flag(name) {
        Some(code) => Ok(json!({"flag": code})),
        None => Err(Refused::Unknown),
    }
}

/// The address of a picture.
fn picture(address: &str) -> Result<&str, Refused> {
    let starts =
        |scheme: &str| address.get(..scheme.len()).is_some_and(|s| s.eq_ignore_ascii_case(scheme));
    let most = if starts("data:image/") {
        DATA_BYTES_MAX
    } else if starts("http://") || starts("https://") {
        ADDRESS_BYTES_MAX
    } else {
        return Err(Refused::Address);
    };
    if address.len() <= most { Ok(address) } else { Err(Refused::Long) }
}

/// Colours, or pictures, of every element: one for all, or by a mapping of this column or of another. Values that are
/// neither are left out.
pub(super) fn colored(
    cx: &mut Cx<'_>,
    side: Side,
    source: &Source<'_>,
    value: &Value,
    pictures: bool,
) -> Result<(Vec<u32>, Vec<Value>), &'static str> {
    let read = |value: &Value| {
        let text = value.as_str().unwrap_or_default();
        if pictures {
            picture(text.trim()).map_or(Value::Null, |address| json!(address))
        } else {
            css::parse(text).map_or(Value::Null, |rgba| json!(css::to_hex(rgba)))
        }
    };
    if value.is_string() {
        let read = read(value);
        let wrong = if pictures { "is no address of a picture" } else { "is no CSS colour" };
        return if read.is_null() {
            Err(wrong)
        } else {
            Ok((vec![0; source.len as usize], vec![read]))
        };
    }
    let rule = Mapping::parse(value)
        .ok_or("is neither a text nor a mapping of fixed values or bins: it is ignored")?;
    let own = value.get("attribute").and_then(Value::as_str).filter(|name| *name != source.name);
    let other = own.map(|name| cx.column(side, name, "icon colour").ok_or("names no column"));
    let other = other.transpose()?;
    let of = other.as_ref().unwrap_or(source);
    let mapped =
        rule.apply(&of.array).ok_or("has bins for a column without numbers: it is ignored")?;
    let values = mapped.outcomes.iter().map(|(_, v)| read(v)).collect();
    Ok((of.gather(&mapped.codes, NONE), values))
}

/// CSS filters that a style may name, as numbers.
const FILTERS: [&str; 6] =
    ["opacity", "grayscale", "brightness", "contrast", "hueRotate", "saturate"];
const BLENDS: [&str; 14] = [
    "normal",
    "color",
    "color-burn",
    "color-dodge",
    "darken",
    "difference",
    "hue",
    "exclusion",
    "overlay",
    "lighten",
    "luminosity",
    "multiply",
    "saturation",
    "screen",
];
/// Strokes of a border that a line has; the others of CSS are drawn as a solid one.
const STROKES: [&str; 4] = ["dotted", "dashed", "double", "none"];

/// What all entries share: `{shape?, blend?, border?, max?, style?, bg_style?, fg_style?}`, of which only what can be read;
/// `max` is the diameter of a badge at most, in pixels.
pub(super) fn shared(encoding: &Map<String, Value>) -> Map<String, Value> {
    let mut out = Map::new();
    let mut put = |key: &str, value: Value| drop(out.insert(key.to_owned(), value));
    let text = |name: &str| encoding.get(name).and_then(Value::as_str);
    if let Some(shape) = text("shape").filter(|s| ["circle", "none"].contains(s)) {
        put("shape", json!(shape));
    }
    if let Some(blend) = text("blendMode").filter(|b| *b != "normal" && BLENDS.contains(b)) {
        put("blend", json!(blend));
    }
    for (key, style) in [
        ("style", encoding.get("style")),
        ("bg_style", encoding.get("bg").and_then(|bg| bg.get("style"))),
        ("fg_style", encoding.get("fg").and_then(|fg| fg.get("style"))),
    ] {
        let filter = |name: &&str| {
            let value = style?.get(*name)?.as_f64().filter(|v| v.is_finite())?;
            Some(((*name).to_owned(), json!(value)))
        };
        let numbers: Map<String, Value> = FILTERS.iter().filter_map(filter).collect();
        if !numbers.is_empty() {
            put(key, Value::Object(numbers));
        }
    }
    // A badge is round, so that the lesser side bounds it.
    let side = |name: &str| encoding.get("dimensions").and_then(|d| d.get(name)).and_then(number);
    let sides = ["maxWidth", "maxHeight"].into_iter().filter_map(side).filter(|px| *px > 0.0);
    if let Some(max) = sides.reduce(f64::min) {
        put("max", json!(max));
    }
    if let Some(border) = encoding.get("border").and_then(Value::as_object) {
        let width = border.get("width").and_then(Value::as_f64).unwrap_or(1.0).clamp(0.0, 20.0);
        let stroke = border.get("stroke").and_then(Value::as_str).unwrap_or("solid");
        let stroke = if STROKES.contains(&stroke) { stroke } else { "solid" };
        put("border", json!({"width": width, "stroke": stroke}));
    }
    out
}
