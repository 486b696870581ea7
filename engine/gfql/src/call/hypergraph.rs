//! The call that makes a graph of the values of a table.

use graphlume_calls::params::Params;
use graphlume_expr::{ErrorCode, QueryError, Scalar};
use graphlume_store::filter::Predicate;
use graphlume_store::{Bindings, CallOp, PropertyGraph};
use graphlume_table::{Hypergraph, HypergraphCx, HypergraphError, HypergraphOptions};
use graphlume_types::{Code, Coded};
use serde_json::{Map, Value};

use crate::scope::Scope;

/// What the transform itself reads.
const OPTIONS: &[&str] = &["entity_types", "opts", "drop_na", "drop_edge_attrs", "direct"];

/// The graph, or one of its tables as rows.
pub(super) fn run(
    graph: &PropertyGraph,
    params: &Params<'_>,
    scope: Scope<'_>,
) -> Result<PropertyGraph, QueryError> {
    let from_edges = params.flag("from_edges", false)?;
    let table = match (from_edges, graph.nodes(), graph.edges()) {
        (true, _, Some(table)) | (false, Some(table), _) => table,
        (true, _, None) => return Err(missing("edge", "leave from_edges out to use the nodes")),
        (false, None, _) => return Err(missing("node", "use the edges: from_edges: true")),
    };
    let wanted = OPTIONS.iter().filter_map(|key| {
        let value = params.get(key)?;
        Some(((*key).to_owned(), value.clone()))
    });
    let options = Value::Object(wanted.collect::<Map<_, _>>());
    let options = HypergraphOptions::from_json(&options, "params").map_err(refused)?;
    let cx = HypergraphCx { cancel: scope.cancel, first_event: 0 };
    let Hypergraph { edges, nodes, .. } =
        graphlume_table::hypergraph(table, &options, cx).map_err(refused)?;
    // The client runs edges from the values to the row, and draws them so.
    let (first, second) = options.ends();
    let (source, destination) = if options.direct { (first, second) } else { (second, first) };
    let bindings = Bindings {
        node: Some(options.names.node_id.clone()),
        source: Some(source.to_owned()),
        destination: Some(destination.to_owned()),
    };
    let made = PropertyGraph::new(Some(nodes.clone()), Some(edges.clone()), bindings)?;
    let title = Map::from_iter([("column".to_owned(), Value::from(options.names.title.as_str()))]);
    let made = made.noted(&CallOp { function: "encode_point_title".to_owned(), params: title });
    let rows = |table| Ok(PropertyGraph::of_rows(table, Some(&edges)));
    let of_kind = |events: bool| {
        // Nodes of rows have the name of the column of their ids for a type, which no column of values has.
        let kind = Predicate::Same(Scalar::text(options.names.event_id.as_str()));
        let filter = vec![(options.names.node_type.clone(), kind)];
        let kinds = crate::bind::bind(&made, &nodes, crate::scope::Side::Nodes, &filter, scope)?;
        let kept = (0..nodes.num_rows() as u32).filter(|row| kinds.passes(*row) == events);
        graphlume_store::materialize::take(&nodes, kept.collect())
    };
    match params.text("return_as")?.unwrap_or("graph") {
        "graph" => Ok(made),
        "nodes" => rows(nodes),
        "edges" => rows(edges.clone()),
        "entities" => rows(of_kind(false)?),
        "events" => rows(of_kind(true)?),
        other => Err(QueryError::new(ErrorCode::Type, "the result has no such part")
            .field("params.return_as")
            .value(other)
            .suggest("use \"graph\", \"nodes\", \"edges\", \"entities\" or \"events\"")),
    }
}

fn missing(kind: &str, instead: &str) -> QueryError {
    QueryError::new(ErrorCode::NoGraph, format!("the graph has no {kind} table to transform"))
        .field("params.from_edges")
        .suggest(instead)
}

pub(super) fn refused(e: HypergraphError) -> QueryError {
    let code = match e.code() {
        Code::InvalidArgument => ErrorCode::Type,
        Code::TooLarge => ErrorCode::Limit,
        Code::Cancelled => ErrorCode::Stopped,
        _ => ErrorCode::CallFailed,
    };
    let error = QueryError::new(code, e.to_string());
    match e.field() {
        Some(field) => error.field(field),
        None => error.field("hypergraph"),
    }
}
