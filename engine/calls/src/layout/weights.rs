//! Edge weights by communities, from which the page's layout makes room between these.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Float64Array};
use graphlume_expr::{ErrorCode, QueryError};
use graphlume_store::materialize::take;
use graphlume_store::materialize::with;
use graphlume_store::{CallOp, PropertyGraph};
use serde_json::{Map, Value};

use super::{cells, setting};
use crate::context::CallContext;
use crate::graph::edge_table;
use crate::params::Params;

/// Weights within a community and between two, and how much the layout follows them.
const SAME: f64 = 2.0;
const CROSS: f64 = 0.3;
const INFLUENCE: f64 = 2.0;
const ALGORITHM: &str = "community_multilevel";

/// The columns `weight` and `same_community` of the edges, by a column of the nodes or by communities that are found first.
/// Edges with an end that the table of nodes has not are left out.
pub(crate) fn modularity_weighted(
    graph: &PropertyGraph,
    params: &Params<'_>,
    context: CallContext<'_>,
) -> Result<PropertyGraph, QueryError> {
    edge_table(graph)?;
    let (graph, column) = match params.text("community_col")? {
        Some(column) => (graph.clone(), column.to_owned()),
        None => with_communities(graph, params, context)?,
    };
    let table = graph.node_table(context.cancel)?;
    // A number for each community, so that edges compare no texts.
    let mut numbers = HashMap::new();
    let communities: Vec<Option<usize>> = cells(&table, &column)?
        .iter()
        .map(|cell| {
            let next = numbers.len();
            (!cell.is_null()).then(|| *numbers.entry(cell.key()).or_insert(next))
        })
        .collect();
    let frame = graph.frame(context.cancel)?;
    let edges = edge_table(&graph)?;
    let of_node = |v: u32| graph.node_row(frame, v).and_then(|row| communities.get(row as usize));
    let mut pairs = vec![None; edges.num_rows()];
    let topology = &frame.topology;
    for p in 0..topology.num_edges() {
        let (src, dst, row) = topology.edge(p);
        if let (Some(a), Some(b)) = (of_node(src), of_node(dst)) {
            pairs[row as usize] = Some(a.is_some() && a == b);
        }
        if p.is_multiple_of(1 << 16) {
            context.cancel.check()?;
        }
    }
    let kept: Vec<u32> =
        (0..pairs.len() as u32).filter(|row| pairs[*row as usize].is_some()).collect();
    let same: Vec<bool> = pairs.into_iter().flatten().collect();
    let within = params.number("same_community_weight")?.unwrap_or(SAME);
    let across = params.number("cross_community_weight")?.unwrap_or(CROSS);
    let weights = same.iter().map(|same| if *same { within } else { across });
    let weights: ArrayRef = Arc::new(weights.collect::<Float64Array>());
    let made = with(&take(edges, kept)?, "weight", weights)?;
    let made = with(&made, "same_community", Arc::new(BooleanArray::from(same)))?;
    let influence = params.number("edge_influence")?.unwrap_or(INFLUENCE);
    let bound = Map::from_iter([("column".to_owned(), Value::from("weight"))]);
    let bound = CallOp { function: "encode_edge_weight".to_owned(), params: bound };
    let graph = graph.replaced(Some(table), Some(made))?.noted(&bound);
    Ok(setting(&graph, "edgeInfluence", influence.into()))
}

/// The graph with a column of communities, and its name.
fn with_communities(
    graph: &PropertyGraph,
    params: &Params<'_>,
    context: CallContext<'_>,
) -> Result<(PropertyGraph, String), QueryError> {
    let asked = params.text("community_alg")?;
    let mut more = match params.get("community_params") {
        None if asked.is_none() => Map::from_iter([("directed".to_owned(), Value::from(false))]),
        None => Map::new(),
        Some(Value::Object(more)) => more.clone(),
        Some(other) => return Err(params.wrong("community_params", "an object", other)),
    };
    let name = asked.unwrap_or(ALGORITHM).to_owned();
    more.insert("alg".to_owned(), name.clone().into());
    let call = CallOp { function: "compute_igraph".to_owned(), params: more };
    let found = context.call(graph, &call)?;
    match found.nodes().is_some_and(|t| t.column(&name).is_some()) {
        true => Ok((found, name)),
        false => {
            let text = format!("{name:?} gives the nodes no column of communities");
            Err(QueryError::new(ErrorCode::CallFailed, text)
                .field("params.community_alg")
                .value(name)
                .suggest("name an algorithm of communities, or a column by community_col"))
        }
    }
}
