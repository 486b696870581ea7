//! Rings and lines that layouts are read by, as clients bind them with `encode_axis`.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::bind::{Cx, value_word};
use crate::elements::Side;
use crate::map;
use crate::mapping::number;
use crate::notices::{ENCODING_IGNORED, NOT_SHOWN};
use crate::text::cut;

/// Rows that are drawn.
pub const AXIS_ROWS_MAX: usize = 500;
/// Characters of a label.
const LABEL_CHARS_MAX: usize = 80;
/// Characters from which a number is rounded.
const ROUNDED_CHARS: usize = 8;
/// The widest line, in pixels.
const WIDTH_MAX: f64 = 40.0;

/// The rows that can be drawn: `[{r | x | y, label?, kind: plain|internal|external|space, width?, min?, max?}]` in the
/// coordinates of the nodes; a ring lies around the origin, `width` is in pixels, and `min` and `max` bound a line.
pub(crate) fn rows(cx: &mut Cx<'_>) -> Vec<Value> {
    let spec = cx.spec(Side::Node);
    for encoding in spec.complex("Axis") {
        if let Some(rows) = encoded(cx, encoding) {
            return rows;
        }
    }
    Vec::new()
}

/// What lies under the edges: axes, the map of the world, and the origin of the places where it is not zero.
pub(crate) fn underlay(
    cx: &Cx<'_>,
    axes: Value,
    positions: Option<&Vec<[f32; 2]>>,
    origin: [f64; 2],
) -> Value {
    let mut underlay = json!({"axes": axes, "map": map::map_of(cx, positions)});
    if origin != [0.0; 2] {
        underlay["origin"] = json!(origin);
    }
    underlay
}

/// The rows of one encoding; a notice and `None` where it has no list of rows.
pub(crate) fn encoded(cx: &mut Cx<'_>, encoding: &Map<String, Value>) -> Option<Vec<Value>> {
    let Some(rows) = encoding.get("rows").and_then(Value::as_array) else {
        let text = "the axis encoding has no list of rows: ignored".to_owned();
        cx.tell(ENCODING_IGNORED, text);
        return None;
    };
    let found: Vec<Option<Value>> = rows.iter().take(AXIS_ROWS_MAX).map(row).collect();
    let unread: Vec<usize> =
        found.iter().enumerate().filter(|(_, r)| r.is_none()).map(|(at, _)| at).collect();
    if let Some(first) = unread.first() {
        let text = format!(
            "{} of {} axis rows are not drawn: row {first} is {}, which has no number in r, x or y; give it one",
            unread.len(),
            rows.len(),
            value_word(&rows[*first]),
        );
        cx.tell(NOT_SHOWN, text);
    }
    if rows.len() > AXIS_ROWS_MAX {
        let text = format!("of {} axis rows the first {AXIS_ROWS_MAX} are drawn", rows.len());
        cx.tell(NOT_SHOWN, text);
    }
    Some(found.into_iter().flatten().collect())
}

/// Checks that each of the rows that a script binds can be drawn.
///
/// # Errors
/// What is wrong where, as in `rows[3] is an object, which has no number in r, x or y; give it one`.
pub fn check_axis_rows(encoding: &Value) -> Result<(), String> {
    let rows = encoding.get("rows").and_then(Value::as_array).ok_or_else(|| {
        "rows is missing or no list; give a list of rows with a number in r, x or y".to_owned()
    })?;
    if rows.len() > AXIS_ROWS_MAX {
        return Err(format!("rows has {} entries; at most {AXIS_ROWS_MAX} are drawn", rows.len()));
    }
    match rows.iter().position(|given| row(given).is_none()) {
        Some(at) => Err(format!(
            "rows[{at}] is {}, which has no number in r, x or y; give it one",
            value_word(&rows[at])
        )),
        None => Ok(()),
    }
}

/// A number with all the digits that arithmetic left of it, as layouts of clients label their rings, with four of them.
fn rounded(text: &str) -> Cow<'_, str> {
    let number = text.parse::<f64>().ok().filter(|v| v.is_finite() && *v != 0.0);
    match number.filter(|_| text.len() > ROUNDED_CHARS) {
        Some(v) => {
            let unit = 10f64.powi(3 - v.abs().log10().floor() as i32);
            Cow::Owned(((v * unit).round() / unit).to_string())
        }
        None => Cow::Borrowed(text),
    }
}

/// Whether a row is a ring, which lies around zero.
pub(crate) fn is_ring(row: &Value) -> bool {
    row.get("r").is_some()
}

/// Moves a line with the nodes, whose coordinates are less an origin.
pub(crate) fn centre(row: &mut Value, origin: [f64; 2]) {
    let [x, y] = origin;
    // The ends of a line lie on the other axis.
    let (name, at, ends) = if row.get("x").is_some() { ("x", x, y) } else { ("y", y, x) };
    for (member, less) in [(name, at), ("min", ends), ("max", ends)] {
        if let Some(v) = row.get(member).and_then(Value::as_f64).filter(|_| less != 0.0) {
            row[member] = json!(v - less);
        }
    }
}

fn row(row: &Value) -> Option<Value> {
    let member = |name: &str| row.get(name).and_then(number);
    let (name, at) = ["r", "x", "y"].into_iter().find_map(|name| Some((name, member(name)?)))?;
    let mut out = Map::new();
    let at = if name == "r" { at.abs() } else { at };
    out.insert(name.to_owned(), json!(at));
    let label = match row.get("label") {
        Some(Value::String(s)) => cut(&rounded(s.trim()), LABEL_CHARS_MAX),
        Some(Value::Number(n)) => rounded(&n.to_string()).into_owned(),
        _ => String::new(),
    };
    if !label.is_empty() {
        out.insert("label".to_owned(), json!(label));
    }
    let is = |name: &&str| row.get(*name) == Some(&Value::Bool(true));
    let kind = ["external", "internal", "space"].into_iter().find(is).unwrap_or("plain");
    out.insert("kind".to_owned(), json!(kind));
    if let Some(width) = member("width") {
        out.insert("width".to_owned(), json!(width.clamp(0.0, WIDTH_MAX)));
    }
    if let Some(bounds) = row.get("bounds") {
        for side in ["min", "max"] {
            if let Some(end) = bounds.get(side).and_then(number) {
                out.insert(side.to_owned(), json!(end));
            }
        }
    }
    Some(Value::Object(out))
}
