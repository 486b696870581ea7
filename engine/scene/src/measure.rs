//! Columns to numbers: sizes, widths, opacities, weights and positions.

use graphlume_table::{Table, to_f64};
use graphlume_types::{Notice, note};
use rayon::prelude::*;
use serde_json::{Map, Value};

use crate::bind::{Cx, Source};
use crate::centre::{Places, tell_together};
use crate::elements::Side;
use crate::far::tell_far;
use crate::map::{self, mercator};
use crate::mapping::{Mapping, NONE, number};
use crate::notices::{ENCODING_IGNORED, NO_NUMBERS};

/// Numbers of elements; NaN where there is none.
#[derive(Debug, Clone)]
pub(crate) struct Measured {
    /// The column.
    pub(crate) title: String,
    pub(crate) values: Vec<f64>,
    /// Whether a mapping chose the numbers, so that they mean what they say.
    pub(crate) mapped: bool,
}

/// The numbers of a channel such as `Size` with its simple binding; `None` when nothing usable is bound.
pub(crate) fn bound(cx: &mut Cx<'_>, side: Side, kind: &str, binding: &str) -> Option<Measured> {
    let (spec, purpose) = (cx.spec(side), kind.to_lowercase());
    for encoding in spec.complex(kind) {
        let Some(name) = encoding.get("attribute").and_then(Value::as_str) else {
            let text = format!("a {} {purpose} encoding names no attribute: ignored", side.word());
            cx.tell(ENCODING_IGNORED, text);
            continue;
        };
        let Some(source) = cx.column(side, name, &purpose) else { continue };
        let found = encoded(encoding, &source);
        match found {
            Ok(measured) => return Some(measured),
            Err(why) => {
                let text = format!(
                    "the {} {purpose} encoding of column {name:?} is ignored: {why}",
                    side.word()
                );
                cx.tell(ENCODING_IGNORED, text);
            }
        }
    }
    let source = cx.column(side, spec.binding(binding)?, &purpose)?;
    let measured = plain(&source);
    if measured.is_none() {
        let text = format!(
            "{} {purpose} column {:?} has type {}, which holds no number: the default is shown",
            side.word(),
            source.name,
            graphlume_table::pandas_dtype(source.array.data_type())
        );
        cx.tell(NO_NUMBERS, text);
    }
    measured
}

/// A complex encoding: what a `mapping` makes of a column, or the column's own numbers.
pub(crate) fn encoded(
    encoding: &Map<String, Value>,
    source: &Source<'_>,
) -> Result<Measured, &'static str> {
    match encoding.get("mapping").filter(|m| !m.is_null()) {
        Some(mapping) => mapped(mapping, source),
        None => plain(source).ok_or("its column holds no number"),
    }
}

/// The column's own numbers.
pub(crate) fn plain(source: &Source<'_>) -> Option<Measured> {
    let rows = to_f64(source.array.as_ref())?;
    let values = source.gather(&rows, f64::NAN);
    let any = values.iter().any(|v| v.is_finite());
    any.then(|| Measured { title: source.name.clone(), values, mapped: false })
}

fn mapped(mapping: &Value, source: &Source<'_>) -> Result<Measured, &'static str> {
    let rule = Mapping::parse(mapping).ok_or("its mapping has neither fixed values nor bins")?;
    let mapped = rule.apply(&source.array).ok_or("bins need a column of numbers")?;
    let numbers: Option<Vec<f64>> = mapped.outcomes.iter().map(|(_, v)| number(v)).collect();
    let numbers = numbers.ok_or("one of its outcomes is no number")?;
    let value = |c: &u32| numbers.get(*c as usize).copied().unwrap_or(f64::NAN);
    let values = source.gather(&mapped.codes, NONE).par_iter().map(value).collect();
    Ok(Measured { title: source.name.clone(), values, mapped: true })
}

impl Measured {
    /// The smallest and largest finite value.
    pub(crate) fn range(&self) -> (f64, f64) {
        let finite = self.values.iter().copied().filter(|v| v.is_finite());
        finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), v| (lo.min(v), hi.max(v)))
    }

    /// Every value as a share of the largest, 0 to 1: measured from zero, or from the smallest value when
    /// that is negative. What has no value gets 0.
    pub(crate) fn shares(&self) -> Vec<f64> {
        let (low, high) = self.range();
        let floor = low.min(0.0);
        let width = high - floor;
        let share = |v: &f64| {
            if !v.is_finite() || !width.is_finite() {
                0.0
            } else if width > 0.0 {
                (v - floor) / width
            } else {
                1.0
            }
        };
        self.values.par_iter().with_min_len(1 << 12).map(share).collect()
    }

    /// Opacities 0 to 255. Values above 1 are taken as percent, and above 100 as bytes. What has no value
    /// is opaque.
    pub(crate) fn opacities(&self) -> Vec<u8> {
        let whole = match self.range().1 {
            high if high <= 1.0 => 1.0,
            high if high <= 100.0 => 100.0,
            _ => 255.0,
        };
        let byte = |v: &f64| {
            if v.is_finite() { (v / whole * 255.0).round().clamp(0.0, 255.0) as u8 } else { 255 }
        };
        self.values.par_iter().with_min_len(1 << 12).map(byte).collect()
    }
}

/// Quarter pixels per pixel of a node's diameter.
const NODE_UNITS: f64 = 4.0;
/// Sixteenths per pixel of an edge's width.
const EDGE_UNITS: f64 = 16.0;

/// The smallest diameter in pixels.
const NODE_MIN: f64 = 1.5;
/// Square pixels that all discs together may cover beyond their smallest size: about a tenth of a screen.
const NODE_INK: f64 = 90_000.0;

/// Node diameters on the wire. `share` is the square root of degree over largest degree, or whatever
/// else decides; more nodes make each one smaller, and so do many large ones, which would hide each other.
pub(crate) fn node_sizes(shares: &[f64], base: f64) -> Vec<u8> {
    let n = shares.len().max(1) as f64;
    let density = (9_000.0 / n).sqrt().clamp(0.45, 1.25);
    let pixels = |share: &f64| 1.15 * (base + (22.0 - base) * share) * density;
    let disc = |share: &f64| (pixels(share).powi(2) - NODE_MIN * NODE_MIN).max(0.0);
    // Summed in pieces of a fixed size, so that the threads do not decide the last bits.
    let pieces: Vec<f64> = shares.par_chunks(1 << 12).map(|c| c.iter().map(disc).sum()).collect();
    let ink = std::f64::consts::FRAC_PI_4 * pieces.iter().sum::<f64>();
    let room = (NODE_INK / ink.max(1.0)).sqrt().clamp(0.3, 1.0);
    let size =
        |share: &f64| ((pixels(share) * room).clamp(NODE_MIN, 63.75) * NODE_UNITS).round() as u8;
    shares.par_iter().with_min_len(1 << 12).map(size).collect()
}

/// Pixels of an edge's width by its share of the largest number.
pub(crate) fn line_width(share: f64) -> f64 {
    0.5 + 3.5 * share
}

/// Edge widths on the wire: half a pixel to four.
pub(crate) fn edge_widths(measured: &Measured) -> Vec<u8> {
    let width = |share: &f64| {
        let share = if measured.mapped { *share } else { share.sqrt() };
        (line_width(share) * EDGE_UNITS).round() as u8
    };
    measured.shares().par_iter().with_min_len(1 << 12).map(width).collect()
}

/// Bound coordinates; `around_zero` says that rings lie around their zero, which so stays where it is.
pub(crate) fn positions(cx: &mut Cx<'_>, around_zero: bool) -> Option<Places> {
    let (exact, [x, y]) = exact_positions(cx)?;
    let places = Places::new(&exact, around_zero);
    drop(exact);
    told(cx, &places, &x, &y);
    Some(places)
}

/// Coordinates of every node, NaN where there are none, and the columns that they come from.
type Exact = (Vec<[f64; 2]>, [String; 2]);

fn exact_positions(cx: &mut Cx<'_>) -> Option<Exact> {
    let spec = cx.node;
    let pair = |a: &str, b: &str| spec.binding(a).zip(spec.binding(b));
    if let Some((x, y)) = pair("node_x", "node_y") {
        let places = coordinates(cx, x, y).map(|[x, y]| paired(&x, &y, |x, y| [x, y]));
        return Some((places?, [x, y].map(str::to_owned)));
    }
    if spec.binding("node_x").or(spec.binding("node_y")).is_some() {
        let text = "only one of node_x and node_y is bound: positions need both";
        cx.tell("positions-incomplete", text.to_owned());
    }
    let bound = ["node_x", "node_y", "node_longitude", "node_latitude"];
    if bound.into_iter().all(|name| spec.binding(name).is_none()) {
        return of_columns(cx);
    }
    let (lon, lat) = pair("node_longitude", "node_latitude")?;
    let places = coordinates(cx, lon, lat).map(|[lon, lat]| paired(&lon, &lat, mercator));
    Some((places?, [lon, lat].map(str::to_owned)))
}

/// Says how many nodes of the node table have no place of their own, and which are far from the others.
fn told(cx: &mut Cx<'_>, places: &Places, x: &str, y: &str) {
    let known = cx.graph.nodes_in_table as usize;
    let of_table = places.at.iter().take(known);
    let lost = of_table.filter(|at| at[0].is_nan()).count() as u64;
    if lost > 0 {
        let text = format!(
            "{lost} of {known} nodes have no usable number in position column {x:?} or {y:?}; fill the missing values in"
        );
        note(&mut cx.notices, Notice::new("nodes-without-a-place", text).about(lost));
    }
    tell_far(cx, &places.at);
    tell_together(cx, places, x, y);
}

/// The columns that are taken for positions where none are bound, as clients leave them that compute a layout.
pub const POSITION_COLUMNS: [&str; 2] = ["x", "y"];

fn of_columns(cx: &mut Cx<'_>) -> Option<Exact> {
    let axis = |name: &str| {
        let numbers = cx.nodes?.column(name)?.data_type().is_numeric();
        plain(&cx.node_column(name).filter(|_| numbers)?)
    };
    let [x, y] = POSITION_COLUMNS.map(axis);
    let Some((x, y)) = x.zip(y) else { return of_geography(cx) };
    let text = "positions are taken from the node columns \"x\" and \"y\", since none are bound; \
                give the columns other names to have them left alone";
    cx.tell("positions-from-columns", text.to_owned());
    let places = paired(&x.values, &y.values, |x, y| [x, y]);
    Some((places, POSITION_COLUMNS.map(str::to_owned)))
}

/// Columns of degrees by their names, which clients leave to the server to project.
fn of_geography(cx: &mut Cx<'_>) -> Option<Exact> {
    let [lon, lat] = map::degrees(cx)?;
    if !lon.iter().zip(&lat).any(|(lon, lat)| lon.is_finite() && lat.is_finite()) {
        return None;
    }
    let [x, y] = map::GEOGRAPHIC_COLUMNS;
    let text = format!(
        "positions are taken from the node columns {x:?} and {y:?} as degrees on a map, since none are bound; give the \
         columns other names to have them left alone"
    );
    cx.tell("positions-from-columns", text);
    Some((paired(&lon, &lat, mercator), [x, y].map(str::to_owned)))
}

fn coordinates(cx: &mut Cx<'_>, x: &str, y: &str) -> Option<[Vec<f64>; 2]> {
    let mut axis = |name: &str| {
        let source = cx.column(Side::Node, name, "position")?;
        let measured = plain(&source);
        if measured.is_none() {
            let text =
                format!("position column {name:?} holds no number: the layout places the nodes");
            cx.tell(NO_NUMBERS, text);
        }
        measured.map(|m| m.values)
    };
    let (x, y) = (axis(x), axis(y));
    Some([x?, y?])
}

fn paired(x: &[f64], y: &[f64], f: impl Fn(f64, f64) -> [f64; 2] + Sync) -> Vec<[f64; 2]> {
    x.par_iter().zip(y).with_min_len(1 << 12).map(|(x, y)| f(*x, *y)).collect()
}

/// The least weight of a node as a share of the mean.
const MASS_MIN: f64 = 0.01;

/// What every node counts for in a layout by forces, as bound: (degree + 1) times its weight as a share of the mean of all, so that
/// weights of any unit leave the picture its size. What has no weight has the mean; less than a hundredth of it counts as that.
pub(crate) fn node_masses(cx: &mut Cx<'_>) -> Option<Vec<f32>> {
    let measured = bound(cx, Side::Node, "Weight", "node_weight")?;
    let low = measured.values.iter().filter(|v| **v <= 0.0).count() as u64;
    if low > 0 {
        let text = format!(
            "node weight column {:?} has {low} values of 0 and less, which no layout can use: they count as a hundredth of the \
             mean",
            measured.title
        );
        note(&mut cx.notices, Notice::new("negative-weights", text).about(low));
    }
    let known = || measured.values.iter().filter(|v| v.is_finite()).map(|v| v.max(0.0));
    let (sum, count) = known().fold((0.0, 0u64), |(sum, count), v| (sum + v, count + 1));
    let mean = sum / count.max(1) as f64;
    if !(mean.is_finite() && mean > 0.0) {
        let text = format!(
            "node weight column {:?} has no mean above 0: the layout weighs nodes by their degree alone",
            measured.title
        );
        cx.tell(NO_NUMBERS, text);
        return None;
    }
    let t = &cx.graph.topology;
    let mass = |(v, weight): (usize, &f64)| {
        let share = if weight.is_finite() { (weight / mean).max(MASS_MIN) } else { 1.0 };
        ((f64::from(t.degree(v as u32)) + 1.0) * share) as f32
    };
    Some(measured.values.iter().enumerate().map(mass).collect())
}

/// Bound edge weights by edge table row, and as they are bound. What has no weight weighs 1; a negative weight weighs 0.
pub(crate) fn edge_weights(cx: &mut Cx<'_>) -> Option<(Vec<f32>, Measured)> {
    let measured = bound(cx, Side::Edge, "Weight", "edge_weight")?;
    if measured.values.iter().any(|v| *v < 0.0) {
        let negative = measured.values.iter().filter(|v| **v < 0.0).count() as u64;
        let text = format!(
            "edge weight column {:?} has negative values, which attract nothing: they count as 0",
            measured.title
        );
        note(&mut cx.notices, Notice::new("negative-weights", text).about(negative));
    }
    let mut rows = vec![1.0; cx.edges.map_or(0, Table::num_rows)];
    for (row, v) in cx.graph.topology.out_row().iter().zip(&measured.values) {
        if v.is_finite() {
            rows[*row as usize] = (*v as f32).clamp(0.0, f32::MAX);
        }
    }
    Some((rows, measured))
}
