//! ForceAtlas2 for the nodes that have edges, and a circle around them for those that have none.

use std::collections::HashMap;

use graphlume_expr::{ErrorCode, QueryError};
use graphlume_store::materialize::take;
use graphlume_store::materialize::{columns, table_of};
use graphlume_store::{CallOp, PropertyGraph};
use graphlume_table::Table;
use serde_json::{Map, Value, json};

use super::circle::{Around, Bounds, CIRCLE_PARAMS, check_order, part, stand};
use super::{cells, ends, floats, numbers, placed, with_all};
use crate::context::CallContext;
use crate::graph::edge_table;
use crate::params::Params;

/// Edges that are looked at between two looks at the cancel token.
const EDGES_PER_CHECK: u32 = 1 << 16;

/// The columns `x` and `y`, in place of those that are there: first the nodes with an edge to another node, then the others
/// in the order of their ids, on a circle around the former, or on a circle for each part of the nodes around its nodes with
/// edges. A loop is no edge to another node, and moves nothing.
pub(crate) fn fa2(
    graph: &PropertyGraph,
    params: &Params<'_>,
    context: CallContext<'_>,
) -> Result<PropertyGraph, QueryError> {
    refused(params)?;
    let own = Map::new();
    let map = match params.get("circle_layout_params") {
        None => &own,
        Some(Value::Object(map)) => map,
        Some(other) => return Err(params.wrong("circle_layout_params", "an object", other)),
    };
    let circle = Params { function: "circle_layout", map };
    let known = circle_params();
    if let Some(other) = map.keys().find(|key| !known.contains(&key.as_str())) {
        let text = format!("\"circle_layout_params\" of call \"fa2_layout\" has {other:?}");
        return Err(QueryError::new(ErrorCode::Call, text)
            .field(format!("params.circle_layout_params.{other}"))
            .suggest(format!("its parameters: {}", known.join(", "))));
    }
    let edges = edge_table(graph)?;
    let nodes = unplaced(&graph.node_table(context.cancel)?)?;
    let graph = graph.replaced(Some(nodes), Some(edges.clone()))?;
    let found = Split::of(&graph, context)?;
    let table = graph.node_table(context.cancel)?;
    let joined = take(&table, found.joined.clone())?;
    let (x, y) = found.laid_out(&graph, &joined, params, context)?;
    let laid = with_all(&joined, vec![("x", floats(x)), ("y", floats(y))])?;
    let nodes = match found.alone.is_empty() {
        true => laid,
        false => {
            with_circle(&graph, &laid, &take(&table, found.alone)?, (params, &circle), context)?
        }
    };
    placed(&graph, nodes, ("x", "y"), 0.into())
}

/// The parameters of `circle_layout` that `circle_layout_params` may have: all but the box, which is that of the layout.
fn circle_params() -> Vec<&'static str> {
    let all = CIRCLE_PARAMS.iter();
    all.copied().filter(|name| *name != "bounding_box").collect()
}

/// Refuses what the client's own call does not take either.
fn refused(params: &Params<'_>) -> Result<(), QueryError> {
    for (name, instead) in [
        ("remove_self_edges", "call \"prune_self_edges\" before the layout"),
        ("featurize", "leave it out, or lay out by \"umap\""),
    ] {
        if let Some(value) = params.get(name).filter(|v| **v != Value::Bool(false)) {
            let text = format!("{name:?} of call \"fa2_layout\" is not available");
            return Err(QueryError::new(ErrorCode::Unsupported, text)
                .field(format!("params.{name}"))
                .value(value)
                .suggest(instead));
        }
    }
    params.text("engine")?;
    Ok(())
}

/// The table without positions.
fn unplaced(table: &Table) -> Result<Table, QueryError> {
    let kept = columns(table).into_iter().filter(|(name, _)| name != "x" && name != "y");
    table_of(kept.collect(), table.num_rows())
}

/// The rows of the nodes by whether they have an edge to another node, and the rows of such edges.
struct Split {
    joined: Vec<u32>,
    alone: Vec<u32>,
    edges: Vec<u32>,
}

impl Split {
    fn of(graph: &PropertyGraph, context: CallContext<'_>) -> Result<Self, QueryError> {
        let topology = graph.topology(context.cancel)?;
        let mut has = vec![false; topology.num_nodes() as usize];
        let mut edges = Vec::new();
        for position in 0..topology.num_edges() {
            if position.is_multiple_of(EDGES_PER_CHECK) {
                context.cancel.check()?;
            }
            let (source, destination, row) = topology.edge(position);
            if source != destination {
                has[source as usize] = true;
                has[destination as usize] = true;
                edges.push(row);
            }
        }
        edges.sort_unstable();
        let row_nodes = graph.row_nodes(context.cancel)?;
        let rows = graph.node_table(context.cancel)?.num_rows() as u32;
        let node = |row: u32| row_nodes.map_or(row, |nodes| nodes[row as usize]);
        let (joined, alone) =
            (0..rows).partition(|row| has.get(node(*row) as usize).copied().unwrap_or(false));
        Ok(Self { joined, alone, edges })
    }

    /// Where ForceAtlas2 puts the nodes that are joined.
    fn laid_out(
        &self,
        graph: &PropertyGraph,
        joined: &Table,
        params: &Params<'_>,
        context: CallContext<'_>,
    ) -> Result<(Vec<f64>, Vec<f64>), QueryError> {
        let given = match params.get("fa2_params") {
            None => json!({"max_iter": 1000, "outbound_attraction_distribution": false,
                "scaling_ratio": 1.0}),
            Some(value @ Value::Object(_)) => value.clone(),
            Some(other) => return Err(params.wrong("fa2_params", "an object", other)),
        };
        let mut map = Map::from_iter([("layout".to_owned(), "force_atlas2".into())]);
        map.insert("params".to_owned(), given);
        let call = CallOp { function: "layout_cugraph".to_owned(), params: map };
        let all = edge_table(graph)?;
        let whole = self.alone.is_empty() && self.edges.len() == all.num_rows();
        let part = match whole {
            true => graph.clone(),
            false => graph.replaced(Some(joined.clone()), Some(take(all, self.edges.clone())?))?,
        };
        let laid = context.call(&part, &call)?.node_table(context.cancel)?;
        Ok((numbers(&laid, "x")?, numbers(&laid, "y")?))
    }
}

/// The nodes that are laid out, and behind them the others on circles.
fn with_circle(
    graph: &PropertyGraph,
    laid: &Table,
    alone: &Table,
    (params, circle): (&Params<'_>, &Params<'_>),
    context: CallContext<'_>,
) -> Result<Table, QueryError> {
    check_order(circle)?;
    let by = part(alone, circle)?;
    let around = match (params.text("partition_key")?, &by) {
        (None, None) => Around::One(bounds(&numbers(laid, "x")?, &numbers(laid, "y")?)),
        (Some(key), Some(_)) => Around::Parts(parts(laid, key)?),
        (key, _) => {
            let (missing, instead) = match key {
                Some(_) => ("circle_layout_params.partition_by", "name the same column there"),
                None => ("partition_key", "name the column whose parts have circles of their own"),
            };
            let text = "\"partition_key\" of call \"fa2_layout\" and \"partition_by\" of its circles \
                go together";
            return Err(QueryError::new(ErrorCode::MissingField, text)
                .field(format!("params.{missing}"))
                .suggest(instead));
        }
    };
    let (order, points) = stand(alone, graph.node_column(), by.as_deref(), &around, context)?;
    let alone = take(alone, order)?;
    let axis = |a: usize| floats(points.iter().map(|p| p[a]));
    let mut alone = with_all(&alone, vec![("x", axis(0)), ("y", axis(1))])?;
    let mut laid = laid.clone();
    if circle.get("sort_by").is_none() {
        // The circle sorts by degrees, which stay as columns; nodes of the layout have none unless they had before.
        for name in ["degree_in", "degree_out", "degree"] {
            let own = laid.column(name).and_then(|own| graphlume_table::to_f64(own.as_ref()));
            let own = own.unwrap_or_else(|| vec![f64::NAN; laid.num_rows()]);
            laid = with_all(&laid, vec![(name, floats(own))])?;
            alone = with_all(&alone, vec![(name, floats(vec![0.0; alone.num_rows()]))])?;
        }
    }
    appended(&laid, &alone)
}

/// The box of some positions; without any it is of size 1 around the middle.
fn bounds(x: &[f64], y: &[f64]) -> Bounds {
    let ends = |values: &[f64]| ends(values.iter().copied());
    match (ends(x), ends(y)) {
        (Some((left, right)), Some((low, high))) => {
            [(left + right) / 2.0, (low + high) / 2.0, right - left, high - low]
        }
        _ => [0.0, 0.0, 1.0, 1.0],
    }
}

/// The box of each part, by the key of its value.
fn parts(laid: &Table, key: &str) -> Result<HashMap<String, Bounds>, QueryError> {
    let (x, y) = (numbers(laid, "x")?, numbers(laid, "y")?);
    let mut of: HashMap<String, (Vec<f64>, Vec<f64>)> = HashMap::new();
    for (row, cell) in cells(laid, key)?.iter().enumerate().filter(|(_, cell)| !cell.is_null()) {
        let (left, low) = of.entry(cell.key()).or_default();
        left.push(x[row]);
        low.push(y[row]);
    }
    Ok(of.into_iter().map(|(key, (x, y))| (key, bounds(&x, &y))).collect())
}

/// Two tables of the same columns below each other.
fn appended(first: &Table, second: &Table) -> Result<Table, QueryError> {
    let joined = columns(first).into_iter().map(|(name, array)| {
        let other = second
            .column(&name)
            .ok_or_else(|| QueryError::no_column(&name, "node", &second.column_names()))?;
        let both = arrow_select::concat::concat(&[array.as_ref(), other.as_ref()])?;
        Ok((name, both))
    });
    let made = joined.collect::<Result<Vec<_>, QueryError>>()?;
    table_of(made, first.num_rows() + second.num_rows())
}
