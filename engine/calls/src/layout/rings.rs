//! Nodes on rings: a column of the nodes says how far out each stands.

use std::collections::{HashMap, HashSet};

use graphlume_expr::cell::Cell;
use graphlume_expr::{ErrorCode, QueryError};
use graphlume_store::{CallOp, PropertyGraph};
use graphlume_table::Table;
use serde_json::{Map, Value, json};

use super::{cells, ends, floats, is_number, numbers, placed, setting, with_all};
use crate::context::CallContext;
use crate::params::Params;

/// Radii of the first and the last ring.
const MIN_R: f64 = 100.0;
const MAX_R: f64 = 1_000.0;
/// Rings where nothing says how many.
const RINGS: usize = 5;
/// Rings that an axis may have.
const RINGS_MAX: usize = 10_000;
/// A light grey behind labels that are dark.
const BACKGROUND: &str = "%23E2E2E2";

/// A ring that is drawn.
pub(super) struct Ring {
    pub(super) label: String,
    pub(super) r: f64,
}

/// The radii of the first and the last ring.
pub(crate) fn radii(params: &Params<'_>) -> Result<(f64, f64), QueryError> {
    let low = params.number("min_r")?.unwrap_or(MIN_R);
    Ok((low, params.number("max_r")?.unwrap_or(MAX_R)))
}

/// Nodes at radii, their columns `x`, `y` and `r`, and rings behind them. The angle of a node is the number of its row in
/// radians, as in the client: neighbours in the table stand apart. A node without a radius has no position.
pub(crate) fn on_rings(
    graph: &PropertyGraph,
    table: &Table,
    radii: &[f64],
    rings: Vec<Ring>,
    play_ms: Value,
) -> Result<PropertyGraph, QueryError> {
    let at =
        |f: fn(f64) -> f64| floats(radii.iter().enumerate().map(move |(i, r)| r * f(i as f64)));
    let columns =
        vec![("x", at(f64::cos)), ("y", at(f64::sin)), ("r", floats(radii.iter().copied()))];
    let nodes = with_all(table, columns)?;
    let rows =
        rings.into_iter().map(|ring| json!({"label": ring.label, "r": ring.r, "internal": true}));
    let rows: Vec<Value> = rows.collect();
    let axis = CallOp {
        function: "encode_axis".to_owned(),
        params: Map::from_iter([("rows".to_owned(), Value::from(rows))]),
    };
    let graph = placed(graph, nodes, ("x", "y"), play_ms)?.noted(&axis);
    let graph = setting(&graph, "lockedR", true.into());
    Ok(setting(&graph, "bg", BACKGROUND.into()))
}

/// The milliseconds that the page lays out for.
pub(crate) fn play_ms(params: &Params<'_>, default: u64) -> Result<Value, QueryError> {
    match params.get("play_ms") {
        None => Ok(default.into()),
        Some(_) => params.count("play_ms").map(|ms| (ms as u64).into()),
    }
}

/// Rings of a column of numbers, from the least in the middle to the greatest at the rim.
pub(crate) fn continuous(
    graph: &PropertyGraph,
    params: &Params<'_>,
    context: CallContext<'_>,
) -> Result<PropertyGraph, QueryError> {
    params.no_functions(&["format_axis", "format_labels"])?;
    let table = graph.node_table(context.cancel)?;
    let column = match params.text("ring_col")? {
        Some(name) => name.to_owned(),
        None => first_numbers(&table)?,
    };
    let values = numbers(&table, &column)?;
    let (low, high) = ends(values.iter().copied()).unwrap_or((0.0, 0.0));
    let start = params.number("v_start")?.unwrap_or(low);
    let end = params.number("v_end")?.unwrap_or(high);
    let (inner, outer) = radii(params)?;
    let mut at: Vec<f64> = if params.flag("normalize_ring_col", true)? {
        let scale = if end == start { 0.0 } else { (outer - inner) / (end - start) };
        values.iter().map(|v| (v - start) * scale + inner).collect()
    } else {
        // The values are the radii.
        values
    };
    let reverse = params.flag("reverse", false)?;
    if reverse {
        at.iter_mut().for_each(|r| *r = inner + outer - *r);
    }
    let rings = steps(params, (start, end), (inner, outer))?;
    let axis = axis(params, &rings, (start, inner), reverse)?;
    on_rings(graph, &table, &at, axis, play_ms(params, 0)?)
}

fn first_numbers(table: &Table) -> Result<String, QueryError> {
    let names = table.column_names();
    let found = names.iter().find(|n| table.column(n).is_some_and(|c| is_number(c.as_ref())));
    found.map(|name| (*name).to_owned()).ok_or_else(|| {
        let text = "no column of the nodes has numbers";
        QueryError::new(ErrorCode::ColumnType, text)
            .field("params.ring_col")
            .suggest(format!("the columns are: {}", names.join(", ")))
    })
}

/// How many rings there are beyond the first, and what lies between two of them: in the values, and on the page.
struct Steps {
    count: usize,
    value: f64,
    radius: f64,
}

fn steps(
    params: &Params<'_>,
    (start, end): (f64, f64),
    (inner, outer): (f64, f64),
) -> Result<Steps, QueryError> {
    let labels = match params.get("axis") {
        Some(Value::Array(labels)) => Some(labels.len()),
        Some(Value::Object(labels)) => Some(labels.len()),
        Some(other) => {
            return Err(params.wrong("axis", "a list of labels, or labels by radius", other));
        }
        None => None,
    };
    let given = match params.get("num_rings") {
        Some(_) => Some(params.count("num_rings")?),
        None => labels.map(|n| n.saturating_sub(1)),
    };
    let (radius, value) = (params.number("ring_step")?, params.number("v_step")?);
    let count = match (given, value, radius) {
        (Some(count), ..) => count as f64,
        (None, Some(step), _) => (end - start) / step,
        (None, None, Some(step)) => (outer - inner) / step,
        (None, None, None) => RINGS as f64,
    };
    if !(1.0..=RINGS_MAX as f64).contains(&count.trunc()) {
        let text = format!("the rings of call {:?} are {count}", params.function);
        return Err(QueryError::new(ErrorCode::Type, text)
            .field("params.num_rings")
            .value(count)
            .suggest(format!("ask for 1 to {RINGS_MAX} rings by num_rings, ring_step or v_step")));
    }
    if let (Some(labels), Some(given)) = (labels, given)
        && labels != given + 1
    {
        let text = format!("\"axis\" has {labels} labels for {} rings", given + 1);
        let error = QueryError::new(ErrorCode::Type, text).field("params.axis").value(labels);
        return Err(error.suggest("give a label for each ring, the first one included"));
    }
    let count = count as usize;
    let of = |whole: f64| whole / count as f64;
    Ok(Steps {
        count,
        value: value.unwrap_or_else(|| of(end - start)),
        radius: radius
            .filter(|_| given.is_some() || value.is_none())
            .unwrap_or_else(|| of(outer - inner)),
    })
}

fn axis(
    params: &Params<'_>,
    steps: &Steps,
    (start, inner): (f64, f64),
    reverse: bool,
) -> Result<Vec<Ring>, QueryError> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if let Some(Value::Object(labels)) = params.get("axis") {
        let ring = |(radius, label): (&String, &Value)| {
            let r = radius.parse().map_err(|_| {
                params.wrong(
                    "axis",
                    "labels by radius, which is a number",
                    &Value::from(radius.as_str()),
                )
            })?;
            Ok(Ring { label: text(label), r })
        };
        return labels.iter().map(ring).collect();
    }
    let labels = params.get("axis").and_then(Value::as_array);
    let ring = |step: usize| {
        let value = start + steps.value * step as f64;
        let label = labels.and_then(|l| l.get(step)).map_or_else(|| format!("{value:?}"), text);
        let place = if reverse { steps.count - step } else { step };
        Ring { label, r: inner + place as f64 * steps.radius }
    };
    Ok((0..=steps.count).map(ring).collect())
}

/// A ring for each value of a column.
pub(crate) fn categorical(
    graph: &PropertyGraph,
    params: &Params<'_>,
    context: CallContext<'_>,
) -> Result<PropertyGraph, QueryError> {
    params.no_functions(&["format_axis", "format_labels"])?;
    let column = params.text("ring_col")?.ok_or_else(|| params.missing("ring_col"))?;
    let table = graph.node_table(context.cancel)?;
    let values = cells(&table, column)?;
    context.cancel.check()?;
    let keys: Vec<String> = values.iter().map(Cell::key).collect();
    let mut seen = HashSet::new();
    let found: Vec<&Cell> = values
        .iter()
        .zip(&keys)
        .filter(|(_, key)| seen.insert(key.as_str()))
        .map(|(v, _)| v)
        .collect();
    if found.len() > RINGS_MAX {
        let text = format!("{column:?} has {} values, each of which would be a ring", found.len());
        return Err(QueryError::new(ErrorCode::CallFailed, text)
            .field("params.ring_col")
            .value(column)
            .suggest(format!("name a column of at most {RINGS_MAX} values")));
    }
    let order = Order::of(params, &found)?;
    let (inner, outer) = radii(params)?;
    let rings: HashSet<usize> = order.rings.values().copied().collect();
    // A single ring is the innermost.
    let step = match rings.len() {
        0 | 1 => 0.0,
        many => (outer - inner) / (many - 1) as f64,
    };
    let radius =
        |key: &str| order.rings.get(key).map_or(f64::NAN, |ring| *ring as f64 * step + inner);
    let at: Vec<f64> = keys.iter().map(|key| radius(key)).collect();
    let mut axis = Vec::new();
    for cell in &order.shown {
        axis.push(Ring { label: order.label(params, cell)?, r: radius(&cell.key()) });
    }
    if let Some(other) = &order.combined {
        axis.push(Ring { label: "Other".to_owned(), r: radius(other) });
    }
    on_rings(graph, &table, &at, axis, play_ms(params, 0)?)
}

/// Which value has which ring.
struct Order {
    /// Values with a ring of their own.
    shown: Vec<Cell>,
    /// The ring of each value, by its key.
    rings: HashMap<String, usize>,
    /// The key of one of those that share a ring.
    combined: Option<String>,
}

impl Order {
    fn of(params: &Params<'_>, found: &[&Cell]) -> Result<Self, QueryError> {
        let there: HashSet<String> = found.iter().map(|cell| cell.key()).collect();
        let mut shown: Vec<Cell> = match params.get("order") {
            None => found.iter().map(|cell| (*cell).clone()).collect(),
            Some(_) => {
                let cell = |v: &Value| {
                    Cell::from_json(v).ok_or_else(|| params.wrong("order", "a list of values", v))
                };
                params.list("order")?.iter().map(cell).collect::<Result<_, _>>()?
            }
        };
        let mut once = HashSet::new();
        if let Some(again) = shown.iter().find(|cell| !once.insert(cell.key())) {
            let text = "\"order\" names a value twice";
            let error = QueryError::new(ErrorCode::Type, text).field("params.order");
            return Err(error.value(again.text()).suggest("name each value once"));
        }
        if params.flag("drop_empty", true)? {
            shown.retain(|cell| there.contains(&cell.key()));
        }
        let known: HashSet<String> = shown.iter().map(Cell::key).collect();
        let others: Vec<Cell> = found
            .iter()
            .filter(|cell| !known.contains(&cell.key()))
            .map(|c| (*c).clone())
            .collect();
        let combine = params.flag("combine_unhandled", false)?;
        let append = params.flag("append_unhandled", true)?;
        let reverse = params.flag("reverse", false)?;
        if !combine {
            shown = if append {
                [shown, others.clone()].concat()
            } else {
                [others.clone(), shown].concat()
            };
        }
        let count = shown.len();
        let ring = |i: usize| if reverse { count - i - 1 } else { i };
        let mut rings: HashMap<String, usize> =
            shown.iter().enumerate().map(|(i, cell)| (cell.key(), ring(i))).collect();
        let mut combined = None;
        if combine && let Some(first) = others.first() {
            let last = append != reverse;
            if !last {
                rings.values_mut().for_each(|ring| *ring += 1);
            }
            let own = if last { count } else { 0 };
            rings.extend(others.iter().map(|cell| (cell.key(), own)));
            combined = Some(first.key());
        }
        Ok(Self { shown, rings, combined })
    }

    /// What is written beside the ring of a value.
    fn label(&self, params: &Params<'_>, cell: &Cell) -> Result<String, QueryError> {
        let Some(axis) = params.get("axis") else { return Ok(cell.text()) };
        let Some(labels) = axis.as_object() else {
            return Err(params.wrong("axis", "labels by value", axis));
        };
        let label = labels.get(&cell.text()).ok_or_else(|| {
            let text = format!("\"axis\" has no label for {:?}", cell.text());
            QueryError::new(ErrorCode::MissingField, text)
                .field("params.axis")
                .suggest("label every value, or leave the axis out")
        })?;
        Ok(label.as_str().map_or_else(|| label.to_string(), str::to_owned))
    }
}
