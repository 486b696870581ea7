//! The call of a hop: from all nodes, or from those that it names.

use super::graph::in_context;
use crate::chain::Pass;
use crate::chain::{free_name, in_slice};
use crate::hop::{Hops, ends};
use crate::scope::Scope;
use crate::select::{Added, Selection};
use graphlume_calls::graph::named;
use graphlume_calls::params::Params;
use graphlume_expr::{ErrorCode, QueryError};
use graphlume_graph::Direction;
use graphlume_store::PropertyGraph;
use graphlume_store::ids::IdSet;

fn direction_of(params: &Params<'_>) -> Result<Direction, QueryError> {
    Ok(match params.text("direction")?.unwrap_or("forward") {
        "forward" => Direction::Forward,
        "reverse" => Direction::Reverse,
        "undirected" => Direction::Undirected,
        other => {
            return Err(QueryError::new(ErrorCode::Direction, "the direction does not exist")
                .field("direction")
                .value(other)
                .suggest("use \"forward\", \"reverse\" or \"undirected\""));
        }
    })
}

/// Evaluates the call.
pub(super) fn run(
    graph: &PropertyGraph,
    params: &Params<'_>,
    scope: Scope<'_>,
) -> Result<PropertyGraph, QueryError> {
    let direction = direction_of(params)?;
    let op = crate::wire::bounded(params.map, direction)?;
    let pass = Pass { graph, scope, t: graph.topology(scope.cancel)? };
    let bound = pass.bind_edge(&op)?;
    let existing = graph.existing(scope.cancel)?;
    let set = |name: &str| match params.get(name) {
        None => Ok::<_, QueryError>(None),
        Some(_) => Ok(Some(
            in_context(scope, |context| named(graph, params, name, context))?.and(&existing),
        )),
    };
    let (seeds, target) = (set("nodes")?, set("target_wave_front")?);
    if target.is_some() && seeds.is_none() {
        let text = "a hop to \"target_wave_front\" needs the \"nodes\" that it starts from";
        return Err(QueryError::new(ErrorCode::MissingField, text).field("params.nodes"));
    }
    let seeds = seeds.as_ref().unwrap_or(&existing);
    let sliced = op.output_min.is_some() || op.output_max.is_some();
    let mut reached = Hops {
        direction,
        min: op.min,
        max: op.max,
        edge: &bound.edge,
        edges: None,
        existing: &existing,
        source: bound.source.as_ref(),
        destination: bound.destination.as_ref(),
        target: target.as_ref(),
        wavefront: params.flag("return_as_wave_front", false)?,
        labels: op.needs_labels(),
        zero_hop_seed: op.zero_hop_seed,
    }
    .run(pass.t, seeds, scope.cancel)?;
    if op.label_seeds {
        seeds.iter().filter(|v| reached.nodes.contains(*v)).for_each(|v| {
            reached.node_hops.insert(v, 0);
        });
    }
    let (mut nodes, mut edges) = (reached.nodes, reached.edges);
    if sliced {
        let hops = &reached.edge_hops;
        edges = edges.filter(|e| hops.get(&e).is_none_or(|hop| in_slice(&op, *hop)));
        let mut at = Vec::new();
        ends(pass.t, &edges, |_, source, destination| at.extend([source, destination]));
        let (at, hops) = (IdSet::from_vec(at), &reached.node_hops);
        nodes =
            nodes.filter(|v| at.contains(v) || hops.get(&v).is_some_and(|hop| in_slice(&op, *hop)));
    }
    let taken = |table: Option<&graphlume_table::Table>, name: Option<String>| {
        name.map(|n| free_name(n, &table.map(|t| t.column_names()).unwrap_or_default()))
    };
    let column =
        |name: Option<String>, hops| name.map(|n| Added::Hops(n, hops)).into_iter().collect();
    Selection {
        nodes,
        edges,
        node_columns: column(taken(graph.nodes(), op.label_nodes), reached.node_hops),
        edge_columns: column(taken(graph.edges(), op.label_edges), reached.edge_hops),
    }
    .gather(graph, scope.cancel)
}
