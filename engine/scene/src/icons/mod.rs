//! Icons and badges of nodes and edges: glyphs, flags, texts and pictures, and where each is shown.

mod flags;
mod look;
mod names;

use std::collections::HashMap;

use rayon::prelude::*;
use serde_json::{Map, Value, json};

use crate::bind::{Cx, Source, value_text};
use crate::elements::{Axis, Side};
use crate::encodings::SHAPES;
use crate::layer::{Anchor, IconLayer};
use crate::mapping::{Mapping, NONE};
use crate::notices::{ENCODING_IGNORED, NOT_SHOWN};
use look::Refused;

/// Different icons of one encoding at most; those that most elements have are kept.
pub(crate) const ENTRIES_MAX: usize = 4_096;
/// Names of icons that a notice quotes.
const QUOTED_MAX: usize = 3;

/// One channel of an encoding, such as its icon or the colour of its background: values and who has which.
struct Channel {
    /// Per element the number of its value, or [`NONE`].
    codes: Vec<u32>,
    values: Vec<Value>,
}

/// All icons and badges that are bound.
pub(crate) fn layers(cx: &mut Cx<'_>) -> Vec<IconLayer> {
    let mut found = Vec::new();
    for side in [Side::Node, Side::Edge] {
        for (place, kind) in Anchor::ALL {
            found.extend(layer(cx, side, place, kind));
        }
    }
    found
}

fn layer(cx: &mut Cx<'_>, side: Side, place: Anchor, kind: &str) -> Option<IconLayer> {
    let spec = cx.spec(side);
    for encoding in spec.complex(kind) {
        let Some(name) = encoding.get("attribute").and_then(Value::as_str) else {
            let text = format!("{} {kind} encoding names no attribute: ignored", side.word());
            cx.tell(ENCODING_IGNORED, text);
            continue;
        };
        let Some(source) = cx.column(side, name, "icon") else { continue };
        match encoded(cx, side, place, encoding, &source) {
            Ok(layer) => return Some(layer),
            Err(why) => {
                let side = side.word();
                let text =
                    format!("the {side} {kind} encoding of column {name:?} is ignored: {why}");
                cx.tell(ENCODING_IGNORED, text);
            }
        }
    }
    if place != Anchor::Icon {
        return None;
    }
    let name = spec.binding(if side == Side::Node { "node_icon" } else { "edge_icon" })?;
    let source = cx.column(side, name, "icon")?;
    encoded(cx, side, place, &Map::new(), &source).ok()
}

/// What one encoding shows at a place.
pub(crate) fn encoded(
    cx: &mut Cx<'_>,
    side: Side,
    place: Anchor,
    encoding: &Map<String, Value>,
    source: &Source<'_>,
) -> Result<IconLayer, &'static str> {
    let as_text = encoding.get("asText") == Some(&Value::Bool(true));
    let icon = channel(encoding.get("mapping"), source)?;
    let (mut shown, mut refused) = look::entries(&icon.values, as_text);
    if encoding.get(SHAPES) == Some(&Value::Bool(true)) && 2 * refused.len() > icon.values.len() {
        refused.clear();
        let (shapes, rest) = shapes(&icon);
        shown = shapes;
        if rest > 0 {
            let text = format!(
                "{rest} {}s have no icon: column {:?} has more values than there are shapes; the most frequent {} have one",
                side.word(),
                source.name,
                look::SHAPE_NAMES.len(),
            );
            cx.tell(NOT_SHOWN, text);
        }
    }
    tell_refused(cx, side, source, &icon, &refused);
    let mut channels = vec![("", Channel { codes: icon.codes, values: shown })];
    let member = |path: &[&str]| {
        let first = encoding.get(path[0])?;
        path[1..].iter().try_fold(first, |v, key| v.get(key)).filter(|v| !v.is_null())
    };
    for (key, path) in [
        ("color", &["color"][..]),
        ("bg", &["bg", "color"]),
        ("bg_image", &["bg", "image"]),
        ("border_color", &["border", "color"]),
    ] {
        let Some(value) = member(path) else { continue };
        let found = look::colored(cx, side, source, value, key == "bg_image");
        match found {
            Ok((codes, values)) => channels.push((key, Channel { codes, values })),
            Err(why) => cx.tell(
                ENCODING_IGNORED,
                format!("{key} of the {} icons of column {:?} {why}", side.word(), source.name),
            ),
        }
    }
    let (shown, list, dropped) = combined(source.len as usize, &channels);
    if dropped > 0 {
        let text = format!(
            "the {} icons of column {:?} are of {} kinds, of which at most {ENTRIES_MAX} are drawn: {dropped} \
             elements have none",
            side.word(),
            source.name,
            list.len()
        );
        cx.tell(NOT_SHOWN, text);
    }
    let mut look = look::shared(encoding);
    look.insert("title".to_owned(), json!(source.name));
    look.insert("list".to_owned(), list.into_iter().take(ENTRIES_MAX).collect());
    let axis = if side == Side::Node { Axis::Node } else { Axis::Edge };
    Ok(IconLayer { axis, place, shown, look: Value::Object(look) })
}

/// What a mapping makes of a column, or the column's own values.
fn channel(mapping: Option<&Value>, source: &Source<'_>) -> Result<Channel, &'static str> {
    if let Some(mapping) = mapping.filter(|m| !m.is_null()) {
        let rule =
            Mapping::parse(mapping).ok_or("its mapping has neither fixed values nor bins")?;
        let mapped = rule.apply(&source.array).ok_or("bins need a column of numbers")?;
        let values = mapped.outcomes.into_iter().map(|(_, v)| v).collect();
        return Ok(Channel { codes: source.gather(&mapped.codes, NONE), values });
    }
    let found = graphlume_graph::distinct(&source.array).ok_or("its column cannot be read")?;
    let value = |row: &u32| value_text(source.array.as_ref(), *row as usize);
    let values = found.first_rows.iter().map(|r| value(r).map_or(Value::Null, Value::String));
    Ok(Channel { values: values.collect(), codes: source.gather(&found.codes, NONE) })
}

/// A shape for each of the most frequent values, and how many elements have another one.
fn shapes(icon: &Channel) -> (Vec<Value>, usize) {
    let mut counts = vec![0usize; icon.values.len()];
    for code in &icon.codes {
        if let Some(count) = counts.get_mut(*code as usize) {
            *count += 1;
        }
    }
    let mut order: Vec<usize> = (0..counts.len()).filter(|c| !icon.values[*c].is_null()).collect();
    order.sort_by_key(|c| (std::cmp::Reverse(counts[*c]), *c));
    let mut shown = vec![Value::Null; counts.len()];
    for (code, name) in order.iter().zip(look::SHAPE_NAMES) {
        shown[*code] = names::glyph(name).map_or(Value::Null, |glyph| json!({"glyph": glyph}));
    }
    let rest = order.iter().skip(look::SHAPE_NAMES.len()).map(|c| counts[*c]).sum();
    (shown, rest)
}

/// Says what is no icon, by name, and how many elements have none because of that.
fn tell_refused(
    cx: &mut Cx<'_>,
    side: Side,
    source: &Source<'_>,
    icon: &Channel,
    refused: &[(usize, Refused)],
) {
    for (why, remedy) in Refused::ALL {
        let of: Vec<usize> = refused.iter().filter(|r| r.1 == why).map(|r| r.0).collect();
        if of.is_empty() {
            continue;
        }
        let is_refused: Vec<bool> = {
            let mut all = vec![false; icon.values.len()];
            of.iter().for_each(|code| all[*code] = true);
            all
        };
        let count =
            icon.codes.par_iter().filter(|c| is_refused.get(**c as usize) == Some(&true)).count();
        let quoted: Vec<String> =
            of.iter().take(QUOTED_MAX).map(|c| look::quoted(&icon.values[*c])).collect();
        let more = if of.len() > QUOTED_MAX { ", …" } else { "" };
        let text = format!(
            "{count} {}s have no icon: in column {:?}, {}{more} {remedy}",
            side.word(),
            source.name,
            quoted.join(", "),
        );
        cx.tell(NOT_SHOWN, text);
    }
}

/// For each element the number of its entry, the entries (each a different combination of what the channels say), and how
/// many elements show nothing. Of more than [`ENTRIES_MAX`] combinations those of the most elements are kept.
fn combined(len: usize, channels: &[(&str, Channel)]) -> (Vec<u16>, Vec<Value>, usize) {
    let mut numbers: HashMap<Vec<u32>, u32> = HashMap::new();
    let mut counts: Vec<usize> = Vec::new();
    let mut entries: Vec<Value> = Vec::new();
    let mut key = Vec::with_capacity(channels.len());
    let mut of: Vec<u32> = Vec::with_capacity(len);
    for element in 0..len {
        key.clear();
        key.extend(channels.iter().map(|(_, c)| c.codes.get(element).copied().unwrap_or(NONE)));
        let known = numbers.get(&key).copied();
        let number = known.unwrap_or_else(|| {
            let entry = entry(channels, &key);
            let number = if entry.is_null() { NONE } else { entries.len() as u32 };
            if number != NONE {
                entries.push(entry);
                counts.push(0);
            }
            numbers.insert(key.clone(), number);
            number
        });
        if let Some(count) = counts.get_mut(number as usize) {
            *count += 1;
        }
        of.push(number);
    }
    let mut order: Vec<u32> = (0..entries.len() as u32).collect();
    if entries.len() > ENTRIES_MAX {
        order.sort_by_key(|e| (std::cmp::Reverse(counts[*e as usize]), *e));
    }
    let mut place = vec![0u16; entries.len()];
    for (at, entry) in order.iter().take(ENTRIES_MAX).enumerate() {
        place[*entry as usize] = at as u16 + 1;
    }
    let shown: Vec<u16> = of.iter().map(|e| place.get(*e as usize).copied().unwrap_or(0)).collect();
    let dropped = of.iter().zip(&shown).filter(|(e, s)| **e != NONE && **s == 0).count();
    let list = order.iter().map(|e| entries[*e as usize].clone()).collect();
    (shown, list, dropped)
}

/// What the channels say together; null when there is neither an icon nor a background.
fn entry(channels: &[(&str, Channel)], key: &[u32]) -> Value {
    let mut out = Map::new();
    for ((name, channel), code) in channels.iter().zip(key) {
        match channel.values.get(*code as usize) {
            Some(Value::Object(parts)) => out.extend(parts.clone()),
            Some(Value::Null) | None => {}
            Some(value) => drop(out.insert((*name).to_owned(), value.clone())),
        }
    }
    let seen = ["glyph", "flag", "text", "image", "bg", "bg_image"];
    if seen.iter().any(|k| out.contains_key(*k)) { Value::Object(out) } else { Value::Null }
}
