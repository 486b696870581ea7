//! Trees and other graphs that run mostly one way, level by level.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, UInt32Array};
use graphlume_expr::cell::Cell;
use graphlume_expr::{ErrorCode, QueryError};
use graphlume_store::materialize::table_of;
use graphlume_store::materialize::take;
use graphlume_store::{Bindings, CallOp, PropertyGraph};
use graphlume_table::Table;
use serde_json::{Map, Value, json};

use super::layers::Layers;
use super::{axes, cells, ends, floats, numbers, placed, with_all};
use crate::context::CallContext;
use crate::graph::{edge_table, named};
use crate::levels;
use crate::params::Params;

/// Edges that are looked at between two looks at the cancel token.
const EDGES_PER_CHECK: u32 = 1 << 16;

/// The columns `level`, `x` and `y`: nodes without incoming edges are at level 0 and uppermost, or the node that is named as
/// the root; all lie on the unit square times the width along a level, and levels are `height` apart. The order along a level
/// has few crossings (Sugiyama, Tagawa and Toda 1981), and nodes stand over the middle of those below them (Brandes and Köpf
/// 2002). A node that has no level under a root stands in the corner.
pub(crate) fn tree(
    graph: &PropertyGraph,
    params: &Params<'_>,
    context: CallContext<'_>,
) -> Result<PropertyGraph, QueryError> {
    edge_table(graph)?;
    let (width, height) = (params.number("width")?, params.number("height")?);
    let turn = params.number("rotate")?;
    let graph = graph.replaced(Some(graph.node_table(context.cancel)?), graph.edges().cloned())?;
    let table = graph.node_table(context.cancel)?;
    let level = params.text("level_col")?.unwrap_or("level");
    let by_node = layers(&graph, params, context)?;
    let across = across(&graph, &by_node, context)?;
    let row_nodes = graph.row_nodes(context.cancel)?;
    let node = |row: usize| row_nodes.map_or(row, |nodes| nodes[row] as usize);
    let rows = || (0..table.num_rows()).map(node);
    let layers: Vec<Option<i64>> = rows().map(|v| by_node.get(v).copied().flatten()).collect();
    let across: Vec<f64> = rows().map(|v| across.get(v).copied().unwrap_or(f64::NAN)).collect();
    let (low, high) = ends(across.iter().copied()).unwrap_or((0.0, 0.0));
    let wide = if high > low { high - low } else { 1.0 };
    let last = layers.iter().flatten().copied().max().unwrap_or(0);
    let place = |(x, layer): (&f64, &Option<i64>)| {
        let [x, y] = match layer {
            None => [0.0, 0.0],
            Some(layer) => [
                (x - low) / wide * width.unwrap_or(1.0),
                (last - layer) as f64 * height.unwrap_or(1.0),
            ],
        };
        let Some(degrees) = turn else { return [x, y] };
        let (sin, cos) = degrees.to_radians().sin_cos();
        [x * cos + y * sin, y * cos - x * sin]
    };
    let points: Vec<[f64; 2]> = across.iter().zip(&layers).map(place).collect();
    let axis = |a: usize| floats(points.iter().map(|p| p[a]));
    let levels: ArrayRef = Arc::new(layers.into_iter().collect::<Int64Array>());
    let (x, y) = axes(&graph);
    let nodes = with_all(&table, vec![(level, levels), (&y, axis(1)), (&x, axis(0))])?;
    placed(&graph, sorted(&nodes, params)?, (&x, &y), 0.into())
}

/// The level of each node.
fn layers(
    graph: &PropertyGraph,
    params: &Params<'_>,
    context: CallContext<'_>,
) -> Result<Vec<Option<i64>>, QueryError> {
    if !params.flag("allow_cycles", true)? {
        // Whether there are cycles is asked of the levels by degree, to which a loop is one.
        by_degree(graph, false, context)?;
    }
    let topology = graph.topology(context.cancel)?;
    let found = Layers::of(topology, context.cancel)?;
    let roots = match params.get("root") {
        None => found.without_parents(),
        Some(value) => match named(graph, params, "root", context)?.to_vec().as_slice() {
            [root] if *root < topology.num_nodes() => vec![*root],
            _ => {
                let text = "\"root\" of call \"tree_layout\" is no node of the graph";
                return Err(QueryError::new(ErrorCode::Type, text)
                    .field("params.root")
                    .value(value)
                    .suggest("name the id of a node, or leave it out"));
            }
        },
    };
    let levels = found.levels(&roots)?;
    // Where cycles hide parts from the roots, degrees say where these begin.
    match params.get("root").is_some() || levels.iter().all(Option::is_some) {
        true => Ok(levels),
        false => by_degree(graph, true, context),
    }
}

/// The levels of call `get_topological_levels`, by node.
fn by_degree(
    graph: &PropertyGraph,
    cycles: bool,
    context: CallContext<'_>,
) -> Result<Vec<Option<i64>>, QueryError> {
    let map = object(json!({"allow_cycles": cycles, "remove_self_loops": cycles}));
    let params = Params { function: "get_topological_levels", map: &map };
    let table = levels::run(graph, &params, context)?.node_table(context.cancel)?;
    let column = table.column("level").and_then(|c| c.as_primitive_opt::<Int64Type>().cloned());
    let row_nodes = graph.row_nodes(context.cancel)?;
    let mut levels = vec![None; graph.topology(context.cancel)?.num_nodes() as usize];
    for (row, level) in column.iter().flatten().enumerate() {
        let node = row_nodes.map_or(row, |nodes| nodes[row] as usize);
        if let Some(of_node) = levels.get_mut(node) {
            *of_node = level;
        }
    }
    Ok(levels)
}

/// Where each node stands along its level; nowhere without one.
fn across(
    graph: &PropertyGraph,
    layers: &[Option<i64>],
    context: CallContext<'_>,
) -> Result<Vec<f64>, QueryError> {
    let topology = graph.topology(context.cancel)?;
    // The nodes by the place that they have among those with a level.
    let mut places = vec![u32::MAX; layers.len()];
    let mut kept = 0;
    for v in (0..layers.len()).filter(|v| layers[*v].is_some()) {
        places[v] = kept;
        kept += 1;
    }
    let (mut src, mut dst) = (Vec::new(), Vec::new());
    for position in 0..topology.num_edges() {
        if position.is_multiple_of(EDGES_PER_CHECK) {
            context.cancel.check()?;
        }
        let (a, b, _) = topology.edge(position);
        let ends = (places[a as usize], places[b as usize]);
        if ends.0 != u32::MAX && ends.1 != u32::MAX {
            src.push(ends.0);
            dst.push(ends.1);
        }
    }
    let column = |ends: Vec<u32>| Arc::new(UInt32Array::from(ends)) as ArrayRef;
    let rows = src.len();
    let edges = table_of(vec![("s".to_owned(), column(src)), ("d".to_owned(), column(dst))], rows)?;
    let nodes = table_of(vec![("id".to_owned(), column((0..kept).collect()))], kept as usize)?;
    let bindings = Bindings {
        node: Some("id".to_owned()),
        source: Some("s".to_owned()),
        destination: Some("d".to_owned()),
    };
    let part = PropertyGraph::new(Some(nodes), Some(edges), bindings)?;
    let values: Vec<i64> = layers.iter().flatten().copied().collect();
    let map = object(json!({"layout": "sugiyama", "params": {"layers": values}}));
    let call = CallOp { function: "layout_igraph".to_owned(), params: map };
    let laid = numbers(&context.call(&part, &call)?.node_table(context.cancel)?, "x")?;
    Ok(places.iter().map(|p| laid.get(*p as usize).copied().unwrap_or(f64::NAN)).collect())
}

fn object(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

/// The rows in the order that `level_sort_values_by` asks for.
fn sorted(nodes: &Table, params: &Params<'_>) -> Result<Table, QueryError> {
    let names = match params.get("level_sort_values_by") {
        None => return Ok(nodes.clone()),
        Some(Value::String(one)) => vec![one.clone()],
        Some(_) => params.texts("level_sort_values_by")?,
    };
    let keys = names.iter().map(|name| cells(nodes, name)).collect::<Result<Vec<_>, _>>()?;
    let rising = params.flag("level_sort_values_by_ascending", true)?;
    let mut order: Vec<u32> = (0..nodes.num_rows() as u32).collect();
    order.sort_by(|a, b| {
        let by = |keys: &Vec<Cell>| keys[*a as usize].sort(&keys[*b as usize]);
        let order = keys.iter().map(by).fold(Ordering::Equal, Ordering::then);
        if rising { order } else { order.reverse() }
    });
    take(nodes, order)
}
