//! Columns to colours, and the legend that explains them.

use std::cmp::{Ordering, Reverse};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;
use graphlume_graph::{Distinct, distinct};
use rayon::prelude::*;
use serde_json::{Map, Value, json};

use crate::bind::{Cx, Source, value_text};
use crate::collection::Bits;
use crate::css::{self, Rgba, to_hex};
use crate::elements::Side;
use crate::gradient::ramp;
use crate::hues::{HUES, OTHER, RAMP, is_built_in};
use crate::mapping::{Mapping, NONE};
use crate::notices::ENCODING_IGNORED;
use crate::painted::{Listed, Painted};
use crate::palette::Kind;
use crate::palettes;

/// Rows of a column in classes of one colour each.
struct Classes {
    /// Per row its class, or [`NONE`].
    codes: Vec<u32>,
    colors: Vec<Rgba>,
    words: Words,
    /// Whether classes that the legend does not list share the neutral colour.
    lumped: bool,
    /// Classes that are listed by name, or all up to [`ENTRIES_MAX`].
    named: Option<Vec<u32>>,
    /// Whether the legend lists classes by their numbers, and not the most frequent first.
    in_order: bool,
    /// Whether the upload or a user gave the colours, by a mapping, a colour column or a palette, instead of their being taken
    /// from the built-in hues.
    is_chosen: bool,
}

/// The names of classes.
enum Words {
    Texts(Vec<String>),
    /// Values at these rows.
    Values(ArrayRef, Vec<u32>),
}

impl Words {
    fn get(&self, class: usize) -> String {
        match self {
            Self::Texts(texts) => texts.get(class).cloned().unwrap_or_default(),
            Self::Values(array, rows) => {
                let row = rows.get(class).map(|r| *r as usize);
                row.and_then(|r| value_text(array.as_ref(), r)).unwrap_or_default()
            }
        }
    }
}

/// Entries of a legend at most.
pub(crate) const ENTRIES_MAX: usize = 24;
/// Up to this many distinct values are ordered by value; a legend of more is not read.
const ORDERED_MAX: usize = 10_000;

/// Colours of the elements of `side` as bound; `None` when nothing usable is bound.
pub(crate) fn bound(cx: &mut Cx<'_>, side: Side) -> Option<Painted> {
    let spec = cx.spec(side);
    for encoding in spec.complex("Color") {
        let Some(name) = encoding.get("attribute").and_then(Value::as_str) else {
            let text = format!("a {} colour encoding names no attribute: ignored", side.word());
            cx.tell(ENCODING_IGNORED, text);
            continue;
        };
        let Some(source) = cx.column(side, name, "colour") else { continue };
        match encoded(encoding, &source) {
            Ok(painted) => return Some(painted),
            Err(why) => {
                let text = format!(
                    "the {} colour encoding of column {name:?} is ignored: {why}",
                    side.word()
                );
                cx.tell(ENCODING_IGNORED, text);
            }
        }
    }
    let name = spec.binding(if side == Side::Node { "node_color" } else { "edge_color" })?;
    let source = cx.column(side, name, "colour")?;
    let painted = automatic(&source);
    if painted.is_none() {
        let side = side.word();
        let text = format!("{side} colour column {name:?} holds no value: the default is shown");
        cx.tell("column-without-values", text);
    }
    painted
}

/// A complex encoding: `colors` with a variation, or a `mapping`.
pub(crate) fn encoded(
    encoding: &Map<String, Value>,
    source: &Source<'_>,
) -> Result<Painted, &'static str> {
    if let Some(mapping) = encoding.get("mapping").filter(|m| !m.is_null()) {
        return mapped(mapping, source);
    }
    let colors = encoding.get("colors").filter(|c| !c.is_null());
    let colors = colors.ok_or("it has neither colors nor a mapping")?;
    let palette = colors.as_str().and_then(palettes::by_name);
    let stops: Vec<Rgba> = match (palette, colors.as_array()) {
        (Some(palette), _) => palette.largest(),
        (None, Some(list)) => list
            .iter()
            .map(|c| c.as_str().and_then(css::parse))
            .collect::<Option<_>>()
            .ok_or("one of its colors is no CSS colour")?,
        (None, None) => {
            return Err(
                "colors must be a list of CSS colours or the name of a palette, such as viridis or Set1",
            );
        }
    };
    if stops.is_empty() {
        return Err("its list of colors is empty");
    }
    let categorical = match encoding.get("variation").and_then(Value::as_str) {
        Some("continuous") => false,
        Some(_) => true,
        None => palette.is_none_or(|p| p.kind == Kind::Qualitative),
    };
    if categorical {
        round_robin(source, &stops).ok_or("its column holds no value")
    } else {
        ramp(source, &stops, false).ok_or("its column holds no number")
    }
}

/// Whether the outcomes of a mapping are bins, which a legend lists in their order.
const fn is_bins(rule: &Mapping) -> bool {
    matches!(rule, Mapping::Continuous { .. })
}

fn mapped(mapping: &Value, source: &Source<'_>) -> Result<Painted, &'static str> {
    let rule = Mapping::parse(mapping).ok_or("its mapping has neither fixed values nor bins")?;
    let mapped = rule.apply(&source.array).ok_or("bins need a column of numbers")?;
    let color = |v: &Value| match v {
        Value::String(s) => css::parse(s),
        Value::Number(n) => n.as_u64().map(|v| {
            let [_, r, g, b] = (v as u32).to_be_bytes();
            [r, g, b, u8::MAX]
        }),
        _ => None,
    };
    let colors: Option<Vec<Rgba>> = mapped.outcomes.iter().map(|(_, v)| color(v)).collect();
    let colors = colors.ok_or("one of its outcomes is no CSS colour")?;
    let words = Words::Texts(mapped.outcomes.into_iter().map(|(w, _)| w).collect());
    let in_order = is_bins(&rule);
    let classes =
        Classes { in_order, is_chosen: true, ..Classes::new(mapped.codes, colors, words) };
    Ok(classes.paint(source))
}

/// Colours by the type of the column.
pub(crate) fn automatic(source: &Source<'_>) -> Option<Painted> {
    let array = &source.array;
    if array.null_count() == array.len() {
        return None;
    }
    match array.data_type() {
        DataType::Int64 | DataType::UInt64 => packed(source),
        DataType::Int8
        | DataType::Int16
        | DataType::Int32
        | DataType::UInt8
        | DataType::UInt16
        | DataType::UInt32 => codes(source),
        DataType::Float16
        | DataType::Float32
        | DataType::Float64
        | DataType::Decimal32(..)
        | DataType::Decimal64(..)
        | DataType::Decimal128(..)
        | DataType::Decimal256(..)
        | DataType::Date32
        | DataType::Date64
        | DataType::Timestamp(..)
        | DataType::Time32(_)
        | DataType::Time64(_)
        | DataType::Duration(_) => ramp(source, &RAMP, true),
        _ => literal(source).or_else(|| categorical(source)),
    }
}

fn int64(array: &ArrayRef) -> Option<Vec<Option<i64>>> {
    let ints = arrow_cast::cast(array, &DataType::Int64).ok()?;
    Some(ints.as_primitive::<Int64Type>().iter().collect())
}

/// Packed `0xRRGGBBAA`; palette codes when the values are small, which untyped formats cannot tell; and
/// plain numbers when they are neither.
fn packed(source: &Source<'_>) -> Option<Painted> {
    let values = int64(&source.array)?;
    let in_range = |max: i64| values.iter().flatten().all(|v| (0..max).contains(v));
    if in_range(palettes::CODES + 1_000) {
        return codes(source);
    }
    if !in_range(1 << 32) {
        let few = distinct(&source.array).is_some_and(|d| d.first_rows.len() <= HUES.len());
        return if few { categorical(source) } else { ramp(source, &RAMP, true) };
    }
    // Published examples leave the opacity byte at 0 and mean opaque.
    let opaque = values.iter().flatten().all(|v| v & 0xFF == 0);
    let color = |v: i64| {
        let [r, g, b, a] = (v as u32).to_be_bytes();
        [r, g, b, if opaque { u8::MAX } else { a }]
    };
    by_value(source, true, |row| values[row].map_or(OTHER, color), |_, c| to_hex(c))
}

/// Palette codes.
fn codes(source: &Source<'_>) -> Option<Painted> {
    let values = int64(&source.array)?;
    let small = values.iter().flatten().all(|v| (0..1_000).contains(v));
    let color = |row: usize| values[row].map_or(OTHER, |v| palettes::color_of_code(v, small));
    by_value(source, true, color, |word, _| word)
}

/// Text that is colours throughout.
fn literal(source: &Source<'_>) -> Option<Painted> {
    let texts = graphlume_table::TextColumn::try_new(&source.array)?;
    // Most columns of text are not colours, and the first value says so.
    css::parse(texts.iter().flatten().next()?)?;
    let found = distinct(&source.array)?;
    let color = |row: &u32| css::parse(texts.get(*row as usize)?);
    let colors: Option<Vec<Rgba>> = found.first_rows.iter().map(color).collect();
    let words = Words::Values(ArrayRef::clone(&source.array), found.first_rows);
    let classes = Classes { is_chosen: true, ..Classes::new(found.codes, colors?, words) };
    Some(classes.paint(source))
}

/// The distinct values as a legend lists them, without colours; `None` where there is no value.
pub(crate) fn values(source: &Source<'_>) -> Option<Painted> {
    by_value(source, false, |_| OTHER, |word, _| word)
        .filter(|p| p.legend["entries"][0].is_object())
}

/// The outcomes of a mapping as a legend lists them, without colours; `None` where bins meet a column without numbers.
pub(crate) fn outcomes(rule: &Mapping, source: &Source<'_>) -> Option<Painted> {
    let mapped = rule.apply(&source.array)?;
    let colors = vec![OTHER; mapped.outcomes.len()];
    let words = Words::Texts(mapped.outcomes.into_iter().map(|(w, _)| w).collect());
    let in_order = is_bins(rule);
    Some(Classes { in_order, ..Classes::new(mapped.codes, colors, words) }.paint(source))
}

/// One class for every distinct value, coloured by `color` of a row that has it.
fn by_value(
    source: &Source<'_>,
    is_chosen: bool,
    color: impl Fn(usize) -> Rgba,
    word: impl Fn(String, Rgba) -> String,
) -> Option<Painted> {
    let found = distinct(&source.array)?;
    let colors: Vec<Rgba> = found.first_rows.iter().map(|r| color(*r as usize)).collect();
    let values = Words::Values(ArrayRef::clone(&source.array), found.first_rows);
    let words = if colors.len() <= ENTRIES_MAX {
        Words::Texts(colors.iter().enumerate().map(|(i, c)| word(values.get(i), *c)).collect())
    } else {
        values
    };
    let classes = Classes { is_chosen, ..Classes::new(found.codes, colors, words) };
    Some(classes.paint(source))
}

/// Ascending by number where both are numbers, else by text.
fn by_word(a: &str, b: &str) -> Ordering {
    match (a.parse::<f64>(), b.parse::<f64>()) {
        (Ok(x), Ok(y)) => x.total_cmp(&y).then_with(|| a.cmp(b)),
        (Ok(_), Err(_)) => Ordering::Less,
        (Err(_), Ok(_)) => Ordering::Greater,
        (Err(_), Err(_)) => a.cmp(b),
    }
}

/// Class numbers in the order of their values, or of first appearance when there are too many.
fn ordered(words: &Words, found: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..found as u32).collect();
    if found <= ORDERED_MAX {
        let texts: Vec<String> = (0..found).map(|c| words.get(c)).collect();
        order.sort_by(|a, b| by_word(&texts[*a as usize], &texts[*b as usize]));
    }
    order
}

/// The given colours in turn, by the order of the values.
fn round_robin(source: &Source<'_>, stops: &[Rgba]) -> Option<Painted> {
    let Distinct { codes, first_rows } = distinct(&source.array)?;
    if first_rows.is_empty() {
        return None;
    }
    let found = first_rows.len();
    let words = Words::Values(ArrayRef::clone(&source.array), first_rows);
    let mut colors = vec![OTHER; found];
    for (turn, class) in ordered(&words, found).into_iter().enumerate() {
        colors[class as usize] = stops[turn % stops.len()];
    }
    Some(Classes { is_chosen: true, ..Classes::new(codes, colors, words) }.paint(source))
}

/// The twelve hues; with more values than that, eleven for the most frequent and a neutral for the rest.
pub(crate) fn categorical(source: &Source<'_>) -> Option<Painted> {
    let Distinct { codes, first_rows } = distinct(&source.array)?;
    if first_rows.is_empty() {
        return None;
    }
    let found = first_rows.len();
    let words = Words::Values(ArrayRef::clone(&source.array), first_rows);
    let mut rank = ordered(&words, found);
    let lumped = found > HUES.len();
    if lumped {
        let mut counts = vec![0u32; found];
        codes.iter().filter(|c| **c != NONE).for_each(|c| counts[*c as usize] += 1);
        // Stable, so equally frequent values stay in the order of their values.
        let mut frequent = rank.clone();
        frequent.sort_by_key(|c| Reverse(counts[*c as usize]));
        frequent.truncate(HUES.len() - 1);
        rank.retain(|c| frequent.contains(c));
    }
    let mut colors = vec![OTHER; found];
    for (class, hue) in rank.iter().zip(HUES) {
        colors[*class as usize] = hue;
    }
    Some(
        Classes {
            codes,
            colors,
            words,
            lumped,
            named: Some(rank),
            in_order: false,
            is_chosen: false,
        }
        .paint(source),
    )
}

impl Classes {
    /// Classes in built-in hues, which the legend lists by falling number of rows; callers set what is otherwise.
    const fn new(codes: Vec<u32>, colors: Vec<Rgba>, words: Words) -> Self {
        let (lumped, named, in_order, is_chosen) = (false, None, false, false);
        Self { codes, colors, words, lumped, named, in_order, is_chosen }
    }

    /// Colours and legend; the legend counts elements, not rows.
    fn paint(self, source: &Source<'_>) -> Painted {
        let codes = source.gather(&self.codes, NONE);
        let color = |c: &u32| self.colors.get(*c as usize).copied().unwrap_or(OTHER);
        let rgba = codes.par_iter().with_min_len(1 << 13).map(color).collect();
        let kept: Vec<bool> =
            self.colors.iter().map(|c| self.is_chosen && is_built_in(*c)).collect();
        let is_kept = |class: u32| kept.get(class as usize).copied().unwrap_or(false);
        let chosen = if kept.contains(&true) {
            Bits::of_flags(codes.iter().map(|class| is_kept(*class)))
        } else {
            Bits::default()
        };
        let mut counts = vec![0u32; self.colors.len()];
        let mut without = 0u32;
        for code in &codes {
            match counts.get_mut(*code as usize) {
                Some(count) => *count += 1,
                None => without += 1,
            }
        }
        let mut listed = match &self.named {
            Some(named) => named.clone(),
            None => (0..self.colors.len() as u32).filter(|c| counts[*c as usize] > 0).collect(),
        };
        listed.sort_by_key(|c| Reverse(counts[*c as usize]));
        let all = listed.len();
        listed.truncate(ENTRIES_MAX);
        if self.in_order {
            listed.sort_unstable();
        }
        let entry = |label: &str, color: Rgba, count: u32| {
            let color = to_hex(color);
            json!({"label": label, "color": color, "count": count})
        };
        let named_entry = |class: u32| {
            let c = class as usize;
            let mut entry = entry(&self.words.get(c), self.colors[c], counts[c]);
            if is_kept(class) {
                entry["chosen"] = json!(true);
            }
            entry
        };
        let mut entries: Vec<Value> = listed.iter().map(|c| named_entry(*c)).collect();
        let named: u32 = listed.iter().map(|c| counts[*c as usize]).sum();
        let rest = counts.iter().sum::<u32>() - named;
        let mut rests = [NONE; 2];
        let rest = if self.lumped { rest } else { 0 };
        for (at, (label, count)) in [("other", rest), ("no value", without)].into_iter().enumerate()
        {
            if count > 0 {
                rests[at] = entries.len() as u32;
                entries.push(entry(label, OTHER, count));
            }
        }
        let more = if self.lumped { 0 } else { all - listed.len() };
        let legend = json!({
            "title": source.name, "kind": "categorical", "entries": entries, "stops": [], "more": more,
        });
        Painted {
            rgba,
            chosen,
            legend,
            listed: Some(Listed { codes, classes: listed, rest: rests }),
        }
    }
}
