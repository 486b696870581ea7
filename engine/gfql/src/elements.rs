//! Elements of a graph that a query keeps, without making tables of them.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::{Field, Schema};
use graphlume_expr::{ErrorCode, QueryError, Strictness};
use graphlume_graph::canon::Column;
use graphlume_store::PropertyGraph;
use graphlume_store::ids::IdSet;
use graphlume_table::Table;
use graphlume_types::CancelToken;

use crate::chain::{Pass, passing, selection};
use crate::scope::Others;
use crate::scope::{NO_ROWS, Scope, Shared};
use crate::select::Selection;
use crate::wire::{Op, Query};

/// Name of the column that carries edge rows through queries that make tables.
const ROW: &str = "__graphlume_edge_row";

/// Elements of a graph, each ascending and distinct.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Elements {
    /// Node indices.
    pub nodes: Vec<u32>,
    /// Edges by position in the outgoing adjacency.
    pub edges: Vec<u32>,
}

/// The nodes and edges of `graph` that are in the result of a query.
///
/// # Errors
/// As [`crate::run`]; [`ErrorCode::Output`] when the result is rows and no part of the graph.
pub fn elements(
    graph: &PropertyGraph,
    query: &Query,
    strictness: Strictness,
    cancel: &CancelToken,
) -> Result<Elements, QueryError> {
    let others = Others::default();
    let shared = Shared::default();
    let scope = Scope { strictness, others: &others, shared: &shared, rows: &NO_ROWS, cancel };
    if let Query::Chain(chain) = query {
        if let ([Op::Node(op)], true) = (chain.ops.as_slice(), chain.clauses.is_empty()) {
            let t = graph.topology(cancel)?;
            let pass = Pass { graph, scope, t };
            let filter = pass.filter(op)?;
            let nodes = match passing(graph, &filter, scope)? {
                Some(nodes) => nodes,
                None => filter.and(&graph.existing(cancel)?, cancel)?,
            };
            return Ok(Elements { nodes: nodes.to_vec(), edges: vec![] });
        }
        if let Some(steps) = crate::pattern(chain) {
            let kept = selection(graph, &steps, &chain.clauses, scope)?;
            let frame = graph.frame(cancel)?;
            let described = |v: &u32| graph.node_row(frame, *v).is_some();
            let nodes = kept.nodes.iter().filter(described).collect();
            return Ok(Elements { nodes, edges: kept.edges.to_vec() });
        }
    }
    let run = |tagged: &PropertyGraph| {
        Ok(crate::run(tagged, query, None, scope.strictness, cancel)?.graph)
    };
    elements_of(graph, cancel, run)
}

/// The part of a graph that has these nodes and, by position in the outgoing adjacency, these edges: their rows with all
/// columns, nodes by index and edges in the order of their table. What is made counts as memory of the query.
///
/// # Errors
/// Those of [`PropertyGraph::frame`], a full memory budget, or because the query was stopped.
pub fn part(
    graph: &PropertyGraph,
    (nodes, edges): (IdSet, IdSet),
    cancel: &CancelToken,
) -> Result<PropertyGraph, QueryError> {
    let (node_columns, edge_columns) = (vec![], vec![]);
    Selection { nodes, edges, node_columns, edge_columns }.gather(graph, cancel)
}

/// The nodes and edges of `graph` that are in a graph that `run` makes of it: it is given the same graph with edges that
/// carry their row, by which they are found again.
///
/// # Errors
/// Those of `run`; [`ErrorCode::Output`] when what it makes is rows and no part of the graph.
pub fn elements_of(
    graph: &PropertyGraph,
    cancel: &CancelToken,
    run: impl FnOnce(&PropertyGraph) -> Result<PropertyGraph, QueryError>,
) -> Result<Elements, QueryError> {
    let result = run(&tagged(graph, cancel)?)?;
    if result.is_rows() {
        return Err(QueryError::new(
            ErrorCode::Output,
            "the expression gives rows, and a collection is a part of the graph",
        )
        .field("gfql_operations")
        .suggest("leave out rows, select and what follows them"));
    }
    let mut out = Elements::default();
    if let Some(ids) = result.nodes().and_then(|t| t.column(result.node_column())) {
        let column = Column::try_new(ids)?;
        for row in 0..column.len() {
            if row % (1 << 16) == 0 {
                cancel.check()?;
            }
            let Some(id) = column.get(row) else { continue };
            out.nodes.extend(graph.find(&id, cancel)?);
        }
    }
    if let Some(rows) = result.edges().and_then(|t| t.column(ROW))
        && let Some(rows) = rows.as_any().downcast_ref::<UInt32Array>()
    {
        let topology = graph.topology(cancel)?;
        let mut kept = vec![false; graph.edges().map_or(0, Table::num_rows)];
        for row in rows.iter().flatten() {
            if let Some(kept) = kept.get_mut(row as usize) {
                *kept = true;
            }
        }
        let positions = topology.out_row().iter().enumerate();
        let positions = positions.filter(|(_, row)| kept.get(**row as usize) == Some(&true));
        out.edges = positions.map(|(position, _)| position as u32).collect();
    }
    out.nodes.sort_unstable();
    out.nodes.dedup();
    Ok(out)
}

/// The same graph with the number of its row beside each edge.
fn tagged(graph: &PropertyGraph, cancel: &CancelToken) -> Result<PropertyGraph, QueryError> {
    let Some(edges) = graph.edges() else { return Ok(graph.clone()) };
    let frame = graph.shared_frame(cancel)?;
    let rows: ArrayRef = Arc::new(UInt32Array::from_iter_values(0..edges.num_rows() as u32));
    let batch = edges.batch();
    let mut fields: Vec<Arc<Field>> = batch.schema_ref().fields().iter().cloned().collect();
    fields.push(Arc::new(Field::new(ROW, rows.data_type().clone(), false)));
    let mut columns = batch.columns().to_vec();
    columns.push(rows);
    let edges = Table::try_new(RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)?)?;
    let nodes = graph.nodes().cloned();
    Ok(PropertyGraph::with_frame(nodes, edges, graph.bindings().clone(), frame))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use arrow_array::{Int64Array, StringArray};
    use graphlume_store::Bindings;
    use serde_json::{Value, json};

    fn graph() -> PropertyGraph {
        graphlume_types::tuning::use_small(true);
        let text = |v: &[&str]| -> ArrayRef { Arc::new(StringArray::from(v.to_vec())) };
        let nodes = RecordBatch::try_from_iter([
            ("id", text(&["a", "b", "c", "d"])),
            ("kind", text(&["x", "y", "x", "y"])),
        ])
        .unwrap();
        let w: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3, 4]));
        let edges = RecordBatch::try_from_iter([
            ("s", text(&["c", "a", "b", "a"])),
            ("d", text(&["d", "b", "c", "c"])),
            ("w", w),
        ])
        .unwrap();
        let bindings = Bindings {
            node: Some("id".to_owned()),
            source: Some("s".to_owned()),
            destination: Some("d".to_owned()),
        };
        let table = |batch| Some(Table::try_new(batch).unwrap());
        PropertyGraph::new(table(nodes), table(edges), bindings).unwrap()
    }

    /// Node letters and edge weights, so that the numbering plays no part.
    fn of(query: &Value) -> Result<(String, Vec<u32>), QueryError> {
        let (graph, cancel) = (graph(), CancelToken::new());
        let query = crate::parse(query)?;
        let found = elements(&graph, &query, Strictness::Strict, &cancel)?;
        let letters = ["a", "b", "c", "d"];
        let nodes = found.nodes.iter().map(|v| letters[*v as usize]).collect();
        let rows = graph.topology(&cancel).unwrap().out_row();
        let mut weights: Vec<u32> = found.edges.iter().map(|e| rows[*e as usize] + 1).collect();
        weights.sort_unstable();
        Ok((nodes, weights))
    }

    #[test]
    fn patterns_and_tables_lead_to_the_same_elements() {
        let node = json!({"type": "Node", "filter_dict": {"kind": "x"}});
        let hop = json!({"type": "Edge", "direction": "forward"});
        assert_eq!(of(&json!([node])).unwrap(), ("ac".to_owned(), vec![]));
        let pattern = json!([node, hop, {"type": "Node"}]);
        let want = ("abcd".to_owned(), vec![1, 2, 4]);
        assert_eq!(of(&pattern).unwrap(), want);
        let chain = json!({"type": "Chain", "chain": pattern});
        let through = json!({"type": "Let", "bindings": {"p": chain}});
        assert_eq!(of(&through).unwrap(), want, "a Let goes through tables");
        let none = json!([{"type": "Node", "filter_dict": {"kind": "z"}}]);
        assert_eq!(of(&none).unwrap(), (String::new(), vec![]));
    }

    #[test]
    fn rows_and_missing_columns_are_refused_by_name() {
        let rows = json!([{"type": "Node"}, {"type": "Call", "function": "rows", "params": {}}]);
        assert_eq!(of(&rows).unwrap_err().error_code(), ErrorCode::Output);
        let absent = json!([{"type": "Node", "filter_dict": {"kin": "x"}}]);
        let error = of(&absent).unwrap_err();
        assert_eq!(error.error_code(), ErrorCode::Column);
        assert_eq!(error.suggestion(), Some("did you mean \"kind\"?"));
    }
}
