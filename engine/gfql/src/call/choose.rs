//! The table that `rows` chooses: of one kind of element, or of all matches of a pattern.

use graphlume_calls::params::Params;
use graphlume_expr::{QueryError, Scalar};
use graphlume_graph::Direction;
use graphlume_store::PropertyGraph;
use graphlume_store::materialize::take;
use graphlume_store::materialize::{columns, table_of};
use graphlume_table::Table;
use serde_json::{Map, Value};

use super::paths;
use super::rows::table_of_side;
use crate::expr::{Cell, Reader};
use crate::scope::{Scope, Step};
use crate::wire::NodeOp;

/// The table that `rows` chooses: of the graph as it is now, or of all matches of a pattern in
/// `base`.
pub(super) fn choose(
    graph: &PropertyGraph,
    base: &PropertyGraph,
    params: &Params<'_>,
    same: &[(String, String)],
    scope: Scope<'_>,
) -> Result<Table, QueryError> {
    if let Some(value) = params.get("alias_endpoints") {
        return ends(base, &endpoints(value, params)?, same, scope);
    }
    if let Some(ops) = params.get("binding_ops") {
        let found = paths::run(base, &paths::pattern(ops, params)?, same, scope)?;
        return super::prefilter::passing(found, params, scope);
    }
    table_of_side(graph, params, scope)
}

/// The name of an edge that has none.
const EDGE_ROW: &str = "__gfql_edge_row__";

/// Rows of edges, with the columns of their ends behind their names.
fn ends(
    base: &PropertyGraph,
    steps: &[Step],
    same: &[(String, String)],
    scope: Scope<'_>,
) -> Result<Table, QueryError> {
    let found = paths::run(base, steps, same, scope)?;
    let name = steps.iter().find_map(|step| match step {
        Step::Edge(op) => op.name.as_deref(),
        Step::Node(_) => None,
    });
    let places = name.and_then(|name| found.column(name)).and_then(Reader::new);
    let (Some(places), Some(edges)) = (places, base.edges()) else { return Ok(found) };
    let place = |row| match places.get(row) {
        Cell::Scalar(Scalar::Int(place)) => u32::try_from(place).ok(),
        _ => None,
    };
    let edges = take(edges, (0..found.num_rows()).filter_map(place).collect())?;
    let own = |name: &str| name.starts_with(EDGE_ROW);
    let mut out = columns(&edges);
    out.extend(columns(&found).into_iter().filter(|(name, _)| !own(name)));
    table_of(out, found.num_rows())
}

/// One edge and its ends, by the names that `alias_endpoints` gives them.
fn endpoints(value: &Value, params: &Params<'_>) -> Result<Vec<Step>, QueryError> {
    let want = "an object of names, each with \"src\", \"dst\" or \"edge\"";
    let wrong = || params.wrong("alias_endpoints", want, value);
    let names = value.as_object().ok_or_else(wrong)?;
    let named = |end: &str| {
        let mut found = names.iter().filter(|(_, v)| v.as_str() == Some(end)).map(|(n, _)| n);
        let name = found.next().cloned();
        if found.next().is_some() { Err(wrong()) } else { Ok(name) }
    };
    if !names.values().all(|v| matches!(v.as_str(), Some("src" | "dst" | "edge"))) {
        return Err(wrong());
    }
    let node = |name| Step::Node(NodeOp { name, ..NodeOp::default() });
    let mut edge = crate::wire::bounded(&Map::new(), Direction::Forward)?;
    edge.name = Some(named("edge")?.unwrap_or_else(|| EDGE_ROW.to_owned()));
    Ok(vec![node(named("src")?), Step::Edge(Box::new(edge)), node(named("dst")?)])
}
