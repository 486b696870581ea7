//! Nodes on circles in the order of their ids.

use std::collections::HashMap;
use std::f64::consts::TAU;

use graphlume_expr::cell::Cell;
use graphlume_expr::{ErrorCode, QueryError};
use graphlume_store::PropertyGraph;
use graphlume_store::materialize::columns;
use graphlume_store::materialize::take;
use graphlume_table::Table;
use serde_json::{Map, Value};

use super::{cells, ends, floats, numbers, placed, with_all};
use crate::context::CallContext;
use crate::graph::get_degrees;
use crate::params::Params;

/// A circle's radius as a part of half the diagonal of its box.
const RADIUS: f64 = 1.05;

/// The middle of a box, its width and its height.
pub(super) type Bounds = [f64; 4];

/// What circles stand around.
pub(super) enum Around {
    /// One box.
    One(Bounds),
    /// A box for each part of the nodes, by the key of its value.
    Parts(HashMap<String, Bounds>),
}

/// The parameters of `circle_layout`.
pub(crate) const CIRCLE_PARAMS: &[&str] = &[
    "bounding_box",
    "ring_spacing",
    "point_spacing",
    "partition_by",
    "sort_by",
    "ascending",
    "na_position",
    "ignore_index",
    "engine",
];

/// One circle around a box, or one for each part of the nodes around a box of its own. Each has its nodes in the order of
/// their ids, at equal angles. What the parameters say of sorting and spacing makes no difference, as in the client.
pub(crate) fn circle(
    graph: &PropertyGraph,
    params: &Params<'_>,
    context: CallContext<'_>,
) -> Result<PropertyGraph, QueryError> {
    check_order(params)?;
    let mut graph = graph.clone();
    if params.get("sort_by").is_none() && graph.edges().is_some() {
        graph =
            get_degrees(&graph, &Params { function: "get_degrees", map: &Map::new() }, context)?;
    }
    let table = graph.node_table(context.cancel)?;
    if table.num_rows() == 0 {
        return Ok(graph);
    }
    let part = part(&table, params)?;
    let around = match (&part, params.get("bounding_box")) {
        (None, _) => Around::One(one_box(&table, params)?),
        (Some(column), Some(_)) => Around::Parts(boxes(column, params)?),
        (Some(_), None) => return Err(params.missing("bounding_box")),
    };
    let (order, points) = stand(&table, graph.node_column(), part.as_deref(), &around, context)?;
    let nodes = take(&table, order)?;
    let column = |c: usize| floats(points.iter().map(|p| p[c]));
    placed(
        &graph,
        with_all(&nodes, vec![("x", column(0)), ("y", column(1))])?,
        ("x", "y"),
        0.into(),
    )
}

/// Checks what says how to sort and to space, which makes no difference.
pub(crate) fn check_order(params: &Params<'_>) -> Result<(), QueryError> {
    for name in ["ring_spacing", "point_spacing"] {
        params.number(name)?;
    }
    params.flag("ignore_index", true)?;
    params.text("na_position")?;
    Ok(())
}

/// The column that `partition_by` names; `sort_by` names columns that are there.
pub(crate) fn part(table: &Table, params: &Params<'_>) -> Result<Option<String>, QueryError> {
    check_columns(table, params, "sort_by")?;
    let mut names = check_columns(table, params, "partition_by")?;
    if names.len() > 1 {
        return Err(several(params));
    }
    Ok(names.pop())
}

/// The rows of a table in the order of their ids within their part, and where each stands.
///
/// # Errors
/// Nodes without a part where there are parts; a cancelled query.
pub(crate) fn stand(
    table: &Table,
    node: &str,
    part: Option<&str>,
    around: &Around,
    context: CallContext<'_>,
) -> Result<(Vec<u32>, Vec<[f64; 2]>), QueryError> {
    let ids = cells(table, node)?;
    let keys = match part {
        None => vec![Cell::NULL; table.num_rows()],
        Some(column) => with_values(cells(table, column)?, column)?,
    };
    let mut order: Vec<u32> = (0..table.num_rows() as u32).collect();
    let at = |row: u32| (&keys[row as usize], &ids[row as usize]);
    order.sort_by(|a, b| {
        let ((p, a), (q, b)) = (at(*a), at(*b));
        p.sort(q).then_with(|| a.sort(b))
    });
    context.cancel.check()?;
    let named: Vec<String> = order.iter().map(|row| keys[*row as usize].key()).collect();
    let mut sizes: HashMap<&str, usize> = HashMap::new();
    named.iter().for_each(|key| *sizes.entry(key).or_default() += 1);
    let mut place: HashMap<&str, usize> = HashMap::new();
    let mut points = Vec::with_capacity(named.len());
    for key in &named {
        let i = place.entry(key).or_default();
        let [x, y, w, h] = match around {
            Around::One(bounds) => *bounds,
            Around::Parts(boxes) => boxes.get(key).copied().unwrap_or([0.0, 0.0, 1.0, 1.0]),
        };
        let radius = RADIUS * w.hypot(h) / 2.0;
        let (sin, cos) = (TAU * *i as f64 / sizes[key.as_str()] as f64).sin_cos();
        points.push([x + radius * cos, y + radius * sin]);
        *i += 1;
    }
    Ok((order, points))
}

/// The columns that a parameter names, which is a text or a list of texts.
fn check_columns(
    table: &Table,
    params: &Params<'_>,
    name: &str,
) -> Result<Vec<String>, QueryError> {
    let names = match params.get(name) {
        None => return Ok(vec![]),
        Some(Value::String(one)) => vec![one.clone()],
        Some(_) => params.texts(name)?,
    };
    match names.iter().find(|n| table.column(n).is_none()) {
        Some(absent) => Err(QueryError::no_column(absent, "node", &table.column_names())),
        None => Ok(names),
    }
}

fn several(params: &Params<'_>) -> QueryError {
    let text = "\"partition_by\" of call \"circle_layout\" is one column";
    let error = QueryError::new(ErrorCode::Type, text).field("params.partition_by");
    let error = error.value(params.get("partition_by").unwrap_or(&Value::Null));
    error.suggest("make one column of them first")
}

/// The box that is given, or that of the positions.
fn one_box(table: &Table, params: &Params<'_>) -> Result<Bounds, QueryError> {
    if let Some(value) = params.get("bounding_box") {
        let wrong = || params.wrong("bounding_box", "[cx, cy, width, height], four numbers", value);
        let numbers: Option<Vec<f64>> =
            value.as_array().ok_or_else(wrong)?.iter().map(Value::as_f64).collect();
        return numbers.and_then(|v| v.try_into().ok()).ok_or_else(wrong);
    }
    let is_there = |name| columns(table).iter().any(|(n, _)| n == name);
    if !is_there("x") || !is_there("y") {
        let text = "call \"circle_layout\" needs a box to stand around";
        return Err(QueryError::new(ErrorCode::MissingField, text)
            .field("params.bounding_box")
            .suggest("give bounding_box as [cx, cy, width, height], or lay the nodes out before"));
    }
    let ends = |name| Ok::<_, QueryError>(ends(numbers(table, name)?).unwrap_or((0.0, 0.0)));
    let ((left, right), (top, bottom)) = (ends("x")?, ends("y")?);
    Ok([(left + right) * 0.5, (top + bottom) * 0.5, right - left, bottom - top])
}

/// The values of a column of parts, which no node may be without.
fn with_values(keys: Vec<Cell>, column: &str) -> Result<Vec<Cell>, QueryError> {
    if keys.iter().any(Cell::is_null) {
        let text = format!("nodes without a value of {column:?} belong to no circle");
        return Err(QueryError::new(ErrorCode::Type, text)
            .field("params.partition_by")
            .value(column)
            .suggest("give them a value, or leave them out"));
    }
    Ok(keys)
}

/// A box for each part: rows of `partition_key`, `cx`, `cy`, `w` and `h`.
fn boxes(column: &str, params: &Params<'_>) -> Result<HashMap<String, Bounds>, QueryError> {
    let mut boxes = HashMap::new();
    for row in params.list("bounding_box")? {
        let wrong = || {
            let want = "rows with partition_key, cx, cy, w and h, where there is partition_by";
            params.wrong("bounding_box", want, row)
        };
        let key = row.get("partition_key").or_else(|| row.get(column)).and_then(Cell::from_json);
        let number = |name| row.get(name).and_then(Value::as_f64);
        let bounds = [number("cx"), number("cy"), number("w"), number("h")];
        let bounds: Option<Vec<f64>> = bounds.into_iter().collect();
        let bounds: Option<Bounds> = bounds.and_then(|v| v.try_into().ok());
        let (Some(key), Some(bounds)) = (key, bounds) else { return Err(wrong()) };
        if boxes.insert(key.key(), bounds).is_some() {
            let text = "\"bounding_box\" of call \"circle_layout\" has several rows of one part";
            let error = QueryError::new(ErrorCode::Type, text).field("params.bounding_box");
            return Err(error.value(row).suggest("give each part one row"));
        }
    }
    Ok(boxes)
}
