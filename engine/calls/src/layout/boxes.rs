//! Each group of nodes in a box of its own.

use std::collections::HashMap;

use graphlume_expr::cell::Cell;
use graphlume_expr::{ErrorCode, QueryError};
use graphlume_store::{CallOp, PropertyGraph};
use graphlume_table::Table;
use serde_json::{Map, Value, json};

use super::squarify::{Rect, squarify};
use super::{cells, ends, floats, numbers, placed, setting, with_all};
use crate::context::CallContext;
use crate::params::Params;

/// Groups are found by this where nothing is said of them.
const ALGORITHM: &str = "community_infomap";
/// Columns that are groups where there is one.
const KEYS: [&str; 3] = ["partition", "community", "cluster"];
/// Square units of a node where the size of the whole is not given.
const AREA: f64 = 30.0;
/// ColorBrewer's twelve colours in pairs (Harrower and Brewer 2003).
const PAIRED: [&str; 12] = [
    "#A6CEE3", "#1F78B4", "#B2DF8A", "#33A02C", "#FB9A99", "#E31A1C", "#FDBF6F", "#FF7F00",
    "#CAB2D6", "#6A3D9A", "#FFFF99", "#B15928",
];
/// Opacity of edges, which run through the boxes.
const EDGE_OPACITY: f64 = 0.25;

/// A layout of the whole graph, from which each group is brought into its rectangle of a treemap. Groups are a column, or
/// are found first; the larger ones come first.
pub(crate) fn group_in_a_box(
    graph: &PropertyGraph,
    params: &Params<'_>,
    context: CallContext<'_>,
) -> Result<PropertyGraph, QueryError> {
    let graph = with_nodes(graph, context)?;
    let (graph, key) = grouped(&graph, params, context)?;
    let (laid, layout) = laid_out(&graph, params, context)?;
    let table = laid.node_table(context.cancel)?;
    let groups = Groups::of(&cells(&table, &key)?);
    if groups.sizes.is_empty() {
        let text = format!("no node has a value of {key:?}, by which it would belong to a group");
        let error = QueryError::new(ErrorCode::CallFailed, text).field("params.partition_key");
        return Err(error.value(key).suggest("name another column, or an algorithm"));
    }
    let room = room(params, table.num_rows())?;
    let (order, rects) = groups.rectangles(room);
    let mut of_group = vec![room; groups.sizes.len()];
    order.iter().zip(rects).for_each(|(group, rect)| of_group[*group] = rect);
    context.cancel.check()?;
    let x = groups.within(&numbers(&table, "x")?, |group| (of_group[group].x, of_group[group].w));
    let y = groups.within(&numbers(&table, "y")?, |group| (of_group[group].y, of_group[group].h));
    // The page's ordinate grows upwards.
    let y = y.into_iter().map(|v| -v);
    let kind =
        arrow_array::StringArray::from_iter_values(std::iter::repeat_n(layout, table.num_rows()));
    let columns = vec![
        ("x", floats(x)),
        ("y", floats(y)),
        ("type", std::sync::Arc::new(kind) as arrow_array::ArrayRef),
    ];
    let made = placed(&graph, with_all(&table, columns)?, ("x", "y"), 0.into())?;
    colored(&made, params, &key, &groups)
}

fn with_nodes(
    graph: &PropertyGraph,
    context: CallContext<'_>,
) -> Result<PropertyGraph, QueryError> {
    crate::graph::edge_table(graph)?;
    graph.replaced(Some(graph.node_table(context.cancel)?), graph.edges().cloned())
}

/// The graph with a column of groups, and its name.
fn grouped(
    graph: &PropertyGraph,
    params: &Params<'_>,
    context: CallContext<'_>,
) -> Result<(PropertyGraph, String), QueryError> {
    let has = |name: &str| graph.nodes().is_some_and(|t: &Table| t.column(name).is_some());
    let algorithm = params.text("partition_alg")?;
    let key = match params.text("partition_key")?.or(algorithm) {
        Some(key) => key,
        None => KEYS.into_iter().find(|name| has(name)).unwrap_or(KEYS[0]),
    };
    if has(key) {
        return Ok((graph.clone(), key.to_owned()));
    }
    let mut more = match params.get("partition_params") {
        None if algorithm.is_none_or(|name| name == ALGORITHM) => {
            Map::from_iter([("directed".to_owned(), Value::from(false))])
        }
        None => Map::new(),
        Some(Value::Object(more)) => more.clone(),
        Some(other) => return Err(params.wrong("partition_params", "an object", other)),
    };
    more.insert("alg".to_owned(), algorithm.unwrap_or(ALGORITHM).into());
    more.insert("out_col".to_owned(), key.into());
    let call = CallOp { function: "compute_igraph".to_owned(), params: more };
    Ok((context.call(graph, &call)?, key.to_owned()))
}

/// The graph laid out as a whole, and the name of the layout.
fn laid_out(
    graph: &PropertyGraph,
    params: &Params<'_>,
    context: CallContext<'_>,
) -> Result<(PropertyGraph, String), QueryError> {
    let more = params.get("layout_params").cloned().unwrap_or_else(|| json!({}));
    let (call, name) = match params.text("layout_alg")? {
        None => (json!({"fa2_params": more}), "force_atlas2"),
        Some(name) => (json!({"layout": name, "params": more}), name),
    };
    let function_name =
        if params.get("layout_alg").is_none() { "fa2_layout" } else { "layout_igraph" };
    let Value::Object(map) = call else { return Err(params.missing("layout_alg")) };
    let call = CallOp { function: function_name.to_owned(), params: map };
    Ok((context.call(graph, &call)?, name.to_owned()))
}

/// The rectangle of all groups.
fn room(params: &Params<'_>, nodes: usize) -> Result<Rect, QueryError> {
    let (w, h) = (params.number("w")?, params.number("h")?);
    let whole = (AREA * nodes as f64).sqrt();
    for (name, size) in [("w", w), ("h", h)] {
        if let Some(size) = size.filter(|size| *size <= 0.0) {
            return Err(params.wrong(name, "a number above 0", &Value::from(size)));
        }
    }
    Ok(Rect {
        x: params.number("x")?.unwrap_or(0.0),
        y: params.number("y")?.unwrap_or(0.0),
        w: w.or(h).unwrap_or(whole),
        h: h.or(w).unwrap_or(whole),
    })
}

/// The groups of the rows, by the order in which they appear.
struct Groups {
    /// The group of each row; none for a row without a value.
    of_row: Vec<Option<usize>>,
    values: Vec<Cell>,
    sizes: Vec<usize>,
}

impl Groups {
    fn of(cells: &[Cell]) -> Self {
        let (mut number, mut groups) =
            (HashMap::new(), Self { of_row: vec![], values: vec![], sizes: vec![] });
        for cell in cells {
            if cell.is_null() {
                groups.of_row.push(None);
                continue;
            }
            let group = *number.entry(cell.key()).or_insert_with(|| {
                groups.values.push(cell.clone());
                groups.sizes.push(0);
                groups.sizes.len() - 1
            });
            groups.sizes[group] += 1;
            groups.of_row.push(Some(group));
        }
        groups
    }

    /// The groups by size, the largest first, equal ones by their values; and the rectangle of each.
    fn rectangles(&self, room: Rect) -> (Vec<usize>, Vec<Rect>) {
        let mut order: Vec<usize> = (0..self.sizes.len()).collect();
        order.sort_by(|a, b| {
            self.sizes[*b].cmp(&self.sizes[*a]).then_with(|| self.values[*a].sort(&self.values[*b]))
        });
        let sizes: Vec<f64> = order.iter().map(|group| self.sizes[*group] as f64).collect();
        let rects = squarify(&sizes, room);
        (order, rects)
    }

    /// Positions along one axis brought into the part of it that the group's rectangle has. A row without a group has none.
    fn within(&self, at: &[f64], part: impl Fn(usize) -> (f64, f64)) -> Vec<f64> {
        let mut of: Vec<Vec<f64>> = vec![vec![]; self.sizes.len()];
        for (v, group) in at.iter().zip(&self.of_row) {
            group.iter().for_each(|group| of[*group].push(*v));
        }
        let bounds: Vec<(f64, f64)> =
            of.into_iter().map(|values| ends(values).unwrap_or((0.0, 0.0))).collect();
        let moved = |(v, group): (&f64, &Option<usize>)| {
            let Some(group) = group else { return f64::NAN };
            let ((low, high), (from, length)) = (bounds[*group], part(*group));
            (v - low) / (high - low).max(1.0) * length + from
        };
        at.iter().zip(&self.of_row).map(moved).collect()
    }
}

/// Colours of the groups, and edges that stand back.
fn colored(
    graph: &PropertyGraph,
    params: &Params<'_>,
    key: &str,
    groups: &Groups,
) -> Result<PropertyGraph, QueryError> {
    if !params.flag("encode_colors", true)? {
        return Ok(graph.clone());
    }
    let own = match params.get("colors") {
        None => vec![],
        Some(_) => params.texts("colors")?,
    };
    let color = |i: usize| match own.as_slice() {
        [] => PAIRED[i % PAIRED.len()].to_owned(),
        own => own[i % own.len()].clone(),
    };
    let mapping: Map<String, Value> = groups
        .values
        .iter()
        .enumerate()
        .map(|(i, value)| (value.text(), color(i).into()))
        .collect();
    let colors = json!({"column": key, "categorical_mapping": mapping});
    let Value::Object(map) = colors else { return Ok(graph.clone()) };
    let graph = graph.noted(&CallOp { function: "encode_point_color".to_owned(), params: map });
    Ok(setting(&graph, "edgeOpacity", EDGE_OPACITY.into()))
}
