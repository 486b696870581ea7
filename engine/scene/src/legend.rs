//! Legend encodings: how the legend shows the values of a column, whatever the picture shows of them.
//!
//! Clients send them as complex encodings whose keys have `Legend`, `LegendType` (the legend of the column `type`) or
//! `LegendPivot` (that of the column `pivot`) before the kind, such as `pointLegendTypeColorEncoding`. All of them on one
//! column, and the icons that are drawn by it, share rows: those of the colours where these are drawn by that column, or else
//! the column's distinct values, the most frequent first, or the bins of a mapping in their order.
//!
//! What they add to a scene's legend, to its colours or as one of its `blocks`:
//! `{side: node|edge, title, kind, entries: [{label, count, color?, look?: {color?, opacity?, size?, width?}, signs?,
//! range?}], more, stops?, min?, max?, scale?, signs?: [{place, ...}], lines?: [text]}`. `size` is the diameter of a disc and
//! `width` that of a line, in pixels; the numbers in an entry's `signs` are the entries of the lists of the block's `signs`,
//! counted from 1, each of which is the look of an [`IconLayer`] with its place; `range` has the least and greatest number
//! of a bin, null where it has no end.

use std::collections::HashMap;
use std::hash::Hash;

use serde_json::{Map, Value, json};

use crate::axes;
use crate::bind::{Cx, Source};
use crate::css::{Rgba, to_hex};
use crate::elements::Side;
use crate::icons;
use crate::layer::{Anchor, IconLayer};
use crate::mapping::{Mapping, NONE};
use crate::measure::{self, Measured};
use crate::notices::ENCODING_IGNORED;
use crate::paint;
use crate::painted::{Listed, Painted};

/// Words before the kind in the keys of legend encodings, and the column that each is about where it names none.
const PREFIXES: [(&str, Option<&str>); 3] =
    [("LegendType", Some("type")), ("LegendPivot", Some("pivot")), ("Legend", None)];
/// Lines of text of a block at most.
const LINES_MAX: usize = 24;
/// Bytes of what stands for one sign; a larger one (a picture that is written out in its address) is left out.
const SIGN_BYTES_MAX: usize = 8_192;
/// Diameter of the largest and of the smallest disc, in pixels.
const DISC_MAX: f64 = 16.0;
const DISC_MIN: f64 = 3.0;

/// The kind in the middle of a key: `Color` for `LegendTypeColor` and for `Color`.
pub(crate) fn kind_of(key: &str) -> &str {
    PREFIXES.iter().find_map(|(prefix, _)| key.strip_prefix(prefix)).unwrap_or(key)
}

/// Kinds of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Number {
    Opacity,
    Size,
    Weight,
}

/// What one encoding says about the elements.
enum Channel {
    Color(Painted),
    Number(Number, Measured),
    Sign(IconLayer),
    Lines(Vec<String>),
}

impl Channel {
    /// Whether another one shows the same part of a row.
    fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Color(_), Self::Color(_)) | (Self::Lines(_), Self::Lines(_)) => true,
            (Self::Number(a, _), Self::Number(b, _)) => a == b,
            (Self::Sign(a), Self::Sign(b)) => a.place == b.place,
            _ => false,
        }
    }
}

/// All that is said about one column.
struct Block<'a> {
    name: String,
    source: Option<Source<'a>>,
    channels: Vec<Channel>,
    /// How the channels come from the column: `None` for its own values or a gradient.
    rules: Vec<Option<Mapping>>,
}

/// Adds what legend encodings say to the legend of the colours that are drawn, with the entries of the elements (`listed`, of
/// nodes and of edges), or as further `blocks`; and the icons that are drawn, likewise.
pub(crate) fn extend(
    cx: &mut Cx<'_>,
    legend: &mut Value,
    listed: [Option<&Listed>; 2],
    icons: &[IconLayer],
) {
    let mut others = Vec::new();
    for (side, listed) in [Side::Node, Side::Edge].into_iter().zip(listed) {
        let mut blocks = asked(cx, side);
        drawn_icons(cx, side, icons, &mut blocks);
        let [color, icon] = ["color", "icon"].map(|what| format!("{}_{what}", side.word()));
        for block in &blocks {
            let is_same = |drawn: &&mut Value| {
                drawn["title"] == block.name.as_str()
                    && (listed.is_some() || drawn["kind"] == "continuous")
            };
            if let Some(drawn) = legend.get_mut(&color).filter(is_same) {
                block.add_to(drawn, listed);
            } else {
                let mut own =
                    json!({"side": side.word(), "title": block.name, "kind": "categorical"});
                block.add_to(&mut own, None);
                others.push(own);
            }
            let has_icon = |c: &Channel| matches!(c, Channel::Sign(l) if l.place == Anchor::Icon);
            let icon = legend.get_mut(&icon).filter(|icon| icon["title"] == block.name.as_str());
            if let Some(icon) = icon.filter(|_| block.channels.iter().any(has_icon)) {
                // Its rows say more than its name.
                icon["kind"] = json!("categorical");
            }
        }
    }
    if !others.is_empty() {
        legend["blocks"] = others.into();
    }
}

/// What the legend encodings of one side say, by column; what shows now goes before what "reset" goes back to, and the first
/// of a kind before the others.
fn asked<'a>(cx: &mut Cx<'a>, side: Side) -> Vec<Block<'a>> {
    let spec = cx.spec(side);
    let mut blocks = Vec::new();
    for (prefix, usual) in PREFIXES {
        let kinds =
            ["Color", "Opacity", "Size", "Weight", "Axis"].into_iter().map(|kind| (kind, None));
        for (kind, place) in kinds.chain(Anchor::ALL.map(|(place, kind)| (kind, Some(place)))) {
            for encoding in spec.complex(&format!("{prefix}{kind}")) {
                if read(cx, side, (prefix, kind, place, usual), encoding, &mut blocks) {
                    break;
                }
            }
        }
    }
    blocks
}

/// Reads one encoding; whether it could be read.
fn read<'a>(
    cx: &mut Cx<'a>,
    side: Side,
    (prefix, kind, place, usual): (&str, &str, Option<Anchor>, Option<&str>),
    encoding: &Map<String, Value>,
    blocks: &mut Vec<Block<'a>>,
) -> bool {
    let usual = if kind == "Axis" { Some("degree") } else { usual };
    let Some(name) = encoding.get("attribute").and_then(Value::as_str).or(usual) else {
        let text = format!("{} {prefix}{kind} encoding names no attribute: ignored", side.word());
        cx.tell(ENCODING_IGNORED, text);
        return false;
    };
    if kind == "Axis" {
        let Some(rows) = axes::encoded(cx, encoding) else { return false };
        let label = |row: &Value| row["label"].as_str().map(str::to_owned);
        let lines = rows.iter().filter_map(label).collect();
        put(blocks, name, None, Channel::Lines(lines), None);
        return true;
    }
    let Some(source) = cx.column(side, name, "legend") else { return false };
    let number = |kind| measure::encoded(encoding, &source).map(|m| Channel::Number(kind, m));
    let found = match (kind, place) {
        (_, Some(place)) => icons::encoded(cx, side, place, encoding, &source).map(Channel::Sign),
        ("Opacity", _) => number(Number::Opacity),
        ("Size", _) => number(Number::Size),
        ("Weight", _) => number(Number::Weight),
        _ => paint::encoded(encoding, &source).map(Channel::Color),
    };
    match found {
        Ok(channel) => {
            let rule = encoding.get("mapping").and_then(Mapping::parse);
            put(blocks, name, Some(source), channel, rule);
            true
        }
        Err(why) => {
            let side = side.word();
            let text =
                format!("the {side} {prefix}{kind} encoding of column {name:?} is ignored: {why}");
            cx.tell(ENCODING_IGNORED, text);
            false
        }
    }
}

fn put<'a>(
    blocks: &mut Vec<Block<'a>>,
    name: &str,
    source: Option<Source<'a>>,
    channel: Channel,
    rule: Option<Mapping>,
) {
    let at = blocks.iter().position(|b| b.name == name).unwrap_or_else(|| {
        let name = name.to_owned();
        blocks.push(Block { name, source: None, channels: Vec::new(), rules: Vec::new() });
        blocks.len() - 1
    });
    let block = &mut blocks[at];
    block.source = block.source.take().or(source);
    if !block.channels.iter().any(|known| known.is_like(&channel)) {
        block.channels.push(channel);
        block.rules.push(rule);
    }
}

/// Adds the icons that are drawn to the block of their column, unless the legend has its own.
fn drawn_icons<'a>(cx: &Cx<'a>, side: Side, icons: &[IconLayer], blocks: &mut Vec<Block<'a>>) {
    let is_icon = |l: &&IconLayer| l.axis == side.axis() && l.place == Anchor::Icon;
    let Some(layer) = icons.iter().find(is_icon) else { return };
    let Some(name) = layer.look["title"].as_str() else { return };
    if layer.look["list"].as_array().is_none_or(Vec::is_empty) {
        return;
    }
    let spec = cx.spec(side);
    let mut of = spec.complex("Icon").filter(|e| e.get("attribute").is_some_and(|a| a == name));
    let rule = of.find_map(|e| e.get("mapping").and_then(Mapping::parse));
    put(blocks, name, cx.find(side, name), Channel::Sign(layer.clone()), rule);
}

impl Block<'_> {
    /// The rows of a column whose colours are not drawn: its values, the outcomes of a mapping where it has too many of them or
    /// only bins say anything, or none where all is said by gradients.
    fn rows(&self) -> Option<(Painted, Option<&Mapping>)> {
        let source = self.source.as_ref()?;
        let is_bins = |rule: &Mapping| matches!(rule, Mapping::Continuous { .. });
        let ruled = |bins: bool| self.rules.iter().flatten().find(|rule| is_bins(rule) == bins);
        let mut by_value =
            self.channels.iter().zip(&self.rules).filter(|(channel, rule)| match channel {
                Channel::Lines(_) | Channel::Number(..) => {
                    rule.as_ref().is_some_and(|r| !is_bins(r))
                }
                Channel::Color(painted) => {
                    rule.as_ref().map_or(painted.legend["kind"] == "categorical", |r| !is_bins(r))
                }
                Channel::Sign(_) => rule.as_ref().is_none_or(|r| !is_bins(r)),
            });
        let of_rule = |rule| Some((paint::outcomes(rule, source)?, Some(rule)));
        if by_value.next().is_none() {
            return of_rule(ruled(true)?);
        }
        let values = paint::values(source)?;
        match ruled(false) {
            Some(rule) if values.legend["more"].as_u64() > Some(0) => of_rule(rule),
            _ => Some((values, None)),
        }
    }

    /// Adds rows and what they show to the legend of a column; `listed` has the entries of the elements where it lists values.
    fn add_to(&self, out: &mut Value, listed: Option<&Listed>) {
        let own = if listed.is_none() { self.rows() } else { None };
        let mut entry_of = listed.map(Listed::entries).unwrap_or_default();
        if let Some((rows, rule)) = &own {
            entry_of = rows.listed.as_ref().map(Listed::entries).unwrap_or_default();
            out["entries"] = without_colors(rows, *rule);
            out["more"] = rows.legend["more"].clone();
        } else if out["entries"].is_null() {
            out["entries"] = json!([]);
        }
        let count = out["entries"].as_array().map_or(0, Vec::len);
        let mut signs = Vec::new();
        for channel in &self.channels {
            match channel {
                Channel::Color(painted) if painted.legend["kind"] == "continuous" => {
                    for member in ["kind", "stops", "min", "max", "scale"] {
                        out[member] = painted.legend[member].clone();
                    }
                }
                Channel::Color(painted) => {
                    let of = |e: usize| painted.rgba.get(e).copied();
                    show(out, &most(&entry_of, count, of), |look, rgba: Rgba| {
                        look["color"] = json!(to_hex(rgba));
                        if rgba[3] < u8::MAX && look["opacity"].is_null() {
                            look["opacity"] = share(f64::from(rgba[3]) / 255.0);
                        }
                    });
                }
                Channel::Number(kind, measured) => {
                    number(out, *kind, measured, &entry_of, count);
                }
                Channel::Sign(layer) => {
                    let of = |e: usize| layer.shown.get(e).copied();
                    signs.push(sign(out, layer, &most(&entry_of, count, of)));
                }
                Channel::Lines(lines) => {
                    write(out, lines);
                }
            }
        }
        if !signs.is_empty() {
            out["signs"] = signs.into();
        }
    }
}

/// The rows that a listing has, without the neutral colour in which it is made; with the range of each that is a bin.
fn without_colors(rows: &Painted, rule: Option<&Mapping>) -> Value {
    let mut entries = rows.legend["entries"].clone();
    let classes = rows.listed.as_ref().map_or(&[][..], |listed| &listed.classes);
    for (at, entry) in entries.as_array_mut().into_iter().flatten().enumerate() {
        entry.as_object_mut().map(|entry| entry.remove("color"));
        if let (Some(Mapping::Continuous { bins, inclusive, .. }), Some(class)) =
            (rule, classes.get(at))
            && let Some((upper, _)) = bins.get(*class as usize)
        {
            let lower = (*class as usize).checked_sub(1).and_then(|i| bins[i].0);
            // Both ends belong to a brush.
            let [low, high] = if *inclusive {
                [lower.map(f64::next_up), *upper]
            } else {
                [lower, upper.map(f64::next_down)]
            };
            entry["range"] = json!([low, high]);
        }
    }
    entries
}

/// Of every row what most of its elements have; `None` for a row of none that has anything.
fn most<T: Copy + Ord + Hash>(
    entry_of: &[u32],
    count: usize,
    of: impl Fn(usize) -> Option<T>,
) -> Vec<Option<T>> {
    let mut found: HashMap<(u32, T), u32> = HashMap::new();
    for (element, entry) in entry_of.iter().enumerate().filter(|(_, e)| **e != NONE) {
        if let Some(value) = of(element) {
            *found.entry((*entry, value)).or_default() += 1;
        }
    }
    let mut best: Vec<Option<(u32, T)>> = vec![None; count];
    for ((entry, value), times) in found {
        // Of two as frequent ones the least, whatever the order of the table.
        let better = |known: &(u32, T)| (times, known.1) > (known.0, value);
        if let Some(best) = best.get_mut(entry as usize)
            && best.as_ref().is_none_or(better)
        {
            *best = Some((times, value));
        }
    }
    best.into_iter().map(|b| b.map(|(_, value)| value)).collect()
}

/// Changes the looks of the rows that have a value.
fn show<T: Copy>(out: &mut Value, values: &[Option<T>], change: impl Fn(&mut Value, T)) {
    let entries = out["entries"].as_array_mut().into_iter().flatten();
    for (entry, value) in entries.zip(values) {
        if let Some(value) = value {
            if entry["look"].is_null() {
                entry["look"] = json!({});
            }
            change(&mut entry["look"], *value);
        }
    }
}

/// A share with two decimals.
fn share(value: f64) -> Value {
    json!((value * 100.0).round() / 100.0)
}

/// Sizes, opacities and widths of rows, as the picture would draw them; of a column's own numbers without rows, a line.
fn number(out: &mut Value, kind: Number, measured: &Measured, entry_of: &[u32], count: usize) {
    let shares: Vec<f64> = match kind {
        Number::Opacity => measured.opacities().iter().map(|o| f64::from(*o) / 255.0).collect(),
        _ if measured.mapped => measured.shares(),
        _ => measured.shares().iter().map(|s| s.sqrt()).collect(),
    };
    let of = |e: usize| {
        let known = measured.values.get(e).is_some_and(|v| v.is_finite());
        // Shares are not negative, so that their bits are in their order.
        shares.get(e).filter(|_| known).map(|s| s.to_bits())
    };
    let (member, word) = match kind {
        Number::Opacity => ("opacity", "opacity"),
        Number::Size => ("size", "size"),
        Number::Weight => ("width", "weight"),
    };
    show(out, &most(entry_of, count, of), |look, bits| {
        let value = f64::from_bits(bits);
        look[member] = share(match kind {
            Number::Opacity => value,
            Number::Size => (DISC_MAX * value).max(DISC_MIN),
            Number::Weight => measure::line_width(value),
        });
    });
    if !measured.mapped && count == 0 {
        let (low, high) = measured.range();
        write(out, &[format!("{word} {low}–{high}")]);
    }
}

/// Adds lines of text, as far as there is room.
fn write(out: &mut Value, lines: &[String]) {
    let mut all = out["lines"].as_array().cloned().unwrap_or_default();
    all.extend(lines.iter().map(|line| json!(line)));
    all.truncate(LINES_MAX);
    out["lines"] = all.into();
}

/// The signs of one place as the block lists them: only those that a row has.
fn sign(out: &mut Value, layer: &IconLayer, shown: &[Option<u16>]) -> Value {
    let mut look = layer.look.clone();
    let all = look["list"].as_array().cloned().unwrap_or_default();
    let mut list: Vec<Value> = Vec::new();
    for (entry, shown) in out["entries"].as_array_mut().into_iter().flatten().zip(shown) {
        let number = shown.and_then(|s| usize::from(s).checked_sub(1));
        let sign =
            number.and_then(|at| all.get(at)).filter(|s| s.to_string().len() <= SIGN_BYTES_MAX);
        let at = sign.map_or(0, |sign| {
            list.iter().position(|known| known == sign).unwrap_or_else(|| {
                list.push(sign.clone());
                list.len() - 1
            }) + 1
        });
        match entry["signs"].as_array_mut() {
            Some(signs) => signs.push(json!(at)),
            None => entry["signs"] = json!([at]),
        }
    }
    look["list"] = list.into();
    look["place"] = json!(layer.place as u8);
    if let Some(look) = look.as_object_mut() {
        look.remove("title");
    }
    look
}
