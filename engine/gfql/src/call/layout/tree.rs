//! Trees and other graphs that run mostly one way, level by level.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use graphlume_expr::QueryError;
use graphlume_store::{CallOp, PropertyGraph};
use serde_json::{Map, Value, json};

use super::{cells, ends, floats, placed, with_all};
use crate::call::{Params, function, graph::edge_table, levels};
use crate::expr::Cell;
use crate::scope::Scope;
use crate::select::take;

/// The columns `level`, `x` and `y`: nodes without incoming edges are at level 0 and uppermost, all lie on the unit square
/// times the width along a level, and levels are `height` apart. The order along a level has few crossings (Sugiyama, Tagawa
/// and Toda 1981), and nodes stand over the middle of those below them (Brandes and Köpf 2002).
pub(in crate::call) fn tree(
    graph: &PropertyGraph,
    params: &Params<'_>,
    scope: Scope<'_>,
) -> Result<PropertyGraph, QueryError> {
    edge_table(graph)?;
    let (width, height) = (params.number("width")?, params.number("height")?);
    let turn = params.number("rotate")?;
    let level = params.text("level_col")?.unwrap_or("level");
    let column = json!({"level_col": level, "allow_cycles": params.flag("allow_cycles", true)?});
    let graph = graph.replaced(Some(graph.node_table(scope.cancel)?), graph.edges().cloned())?;
    if params.get("root").is_some() {
        return Err(params
            .wrong("root", "left out", params.get("root").unwrap_or(&Value::Null))
            .suggest("call layout_igraph with \"rt\" and its root"));
    }
    let object = |value: Value| value.as_object().cloned().unwrap_or_default();
    let map: Map<String, Value> = object(column);
    let levelled =
        levels::run(&graph, &Params { function: "get_topological_levels", map: &map }, scope)?;
    let table = levelled.node_table(scope.cancel)?;
    let layers: Vec<i64> =
        match table.column(level).and_then(|c| c.as_primitive_opt::<Int64Type>().cloned()) {
            Some(cells) => cells.iter().map(|v| v.unwrap_or(0)).collect(),
            None => vec![0; table.num_rows()],
        };
    let node = levelled.node_column().to_owned();
    let ids: Vec<String> = cells(&table, &node)?.iter().map(Cell::text).collect();
    let call = json!({"layout": "sugiyama", "bind_position": false,
        "params": {"layers": {"vertex": ids, "values": layers}}});
    let call = CallOp { function: "layout_igraph".to_owned(), params: object(call) };
    let laid = function(&levelled, &levelled, &call, scope)?.node_table(scope.cancel)?;
    let x: Vec<f64> =
        match laid.column("x").and_then(|c| c.as_primitive_opt::<Float64Type>().cloned()) {
            Some(cells) => cells.iter().map(|v| v.unwrap_or(f64::NAN)).collect(),
            None => vec![f64::NAN; laid.num_rows()],
        };
    let (low, high) = ends(x.iter().copied()).unwrap_or((0.0, 0.0));
    let wide = if high > low { high - low } else { 1.0 };
    let last = layers.iter().copied().max().unwrap_or(0);
    let place = |(x, layer): (&f64, &i64)| {
        let x = (x - low) / wide * width.unwrap_or(1.0);
        let y = (last - layer) as f64 * height.unwrap_or(1.0);
        let Some(degrees) = turn else { return [x, y] };
        let (sin, cos) = degrees.to_radians().sin_cos();
        [x * cos + y * sin, y * cos - x * sin]
    };
    let points: Vec<[f64; 2]> = x.iter().zip(&layers).map(place).collect();
    let axis = |a: usize| floats(points.iter().map(|p| p[a]));
    let nodes = with_all(&table, vec![("y", axis(1)), ("x", axis(0))])?;
    let nodes = match params.text("level_sort_values_by")? {
        None => nodes,
        Some(by) => {
            let keys = cells(&nodes, by)?;
            let rising = params.flag("level_sort_values_by_ascending", true)?;
            let mut order: Vec<u32> = (0..nodes.num_rows() as u32).collect();
            order.sort_by(|a, b| {
                let order = keys[*a as usize].sort(&keys[*b as usize]);
                if rising { order } else { order.reverse() }
            });
            take(&nodes, order)?
        }
    };
    placed(&graph, nodes, ("x", "y"), 0.into())
}
