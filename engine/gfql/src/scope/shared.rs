//! Parts that a query has more than once, and that are evaluated once: the tests of steps.

use std::sync::{Arc, Mutex, PoisonError};

use graphlume_calls::context::Notices;
use graphlume_expr::QueryError;
use graphlume_store::PropertyGraph;
use graphlume_store::filter::RowFilter;

use super::Side;
use crate::wire::{Filter, NodeOp};

/// Different tests of one query that are remembered.
const FILTERS_MAX: usize = 256;

/// Tests that a query has asked for so far, whose answers stay as long as the query and count to its memory, and what
/// the query named without a match.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    tests: Mutex<Vec<Entry>>,
    /// What the query named without a match, and what else there is to say.
    pub(crate) notices: Notices,
}

#[derive(Debug)]
struct Entry {
    /// Held, so that no other graph can come to lie where it is.
    graph: PropertyGraph,
    side: Side,
    filter: Filter,
    query: Option<String>,
    made: Arc<RowFilter>,
}

impl Shared {
    /// The tests of a step on a table of a graph, made by `make` at the first question.
    pub(crate) fn filter(
        &self,
        graph: &PropertyGraph,
        side: Side,
        op: &NodeOp,
        make: impl FnOnce() -> Result<RowFilter, QueryError>,
    ) -> Result<Arc<RowFilter>, QueryError> {
        if op.filter.is_empty() && op.query.is_none() {
            return make().map(Arc::new);
        }
        let same = |e: &&Entry| {
            e.side == side && e.graph.is_same(graph) && e.filter == op.filter && e.query == op.query
        };
        let entries = || self.tests.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = entries().iter().find(same).map(|e| Arc::clone(&e.made)) {
            return Ok(found);
        }
        let made = Arc::new(make()?);
        let mut entries = entries();
        if entries.len() < FILTERS_MAX {
            entries.push(Entry {
                graph: graph.clone(),
                side,
                filter: op.filter.clone(),
                query: op.query.clone(),
                made: Arc::clone(&made),
            });
        }
        Ok(made)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use arrow_array::{Int64Array, RecordBatch};
    use graphlume_table::Table;
    use serde_json::{Value, json};

    use super::*;
    use crate::wire::{Op, Query};
    use graphlume_store::Bindings;

    fn graph() -> PropertyGraph {
        graphlume_types::tuning::use_small(true);
        let ids: arrow_array::ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
        let table = Table::try_new(RecordBatch::try_from_iter([("id", ids)]).unwrap()).unwrap();
        let bindings = Bindings { node: Some("id".to_owned()), ..Bindings::default() };
        PropertyGraph::new(Some(table), None, bindings).unwrap()
    }

    fn step(filter: Value) -> NodeOp {
        let query = crate::parse(&json!([{"type": "Node", "filter_dict": filter}])).unwrap();
        let Query::Chain(chain) = query else { panic!("a chain") };
        let Some(Op::Node(op)) = chain.ops.into_iter().next() else { panic!("a node step") };
        op
    }

    #[test]
    fn what_is_the_same_is_made_once_and_what_differs_is_not() {
        let shared = Shared::default();
        let (one, other) = (graph(), graph());
        let text = |flags: u32| json!({"id": {"type": "Match", "pat": "a", "flags": flags}});
        let steps = [
            (&one, Side::Nodes, step(json!({"id": 1}))),
            (&one, Side::Nodes, step(json!({"id": 1.0}))),
            (&one, Side::Edges, step(json!({"id": 1}))),
            (&other, Side::Nodes, step(json!({"id": 1}))),
            (&one, Side::Nodes, step(json!({"id": {"type": "GT", "val": 1}}))),
            (&one, Side::Nodes, step(json!({"id": {"type": "GE", "val": 1}}))),
            (&one, Side::Nodes, step(text(0))),
            (&one, Side::Nodes, step(text(2))),
        ];
        let ask = |at: usize| {
            let (graph, side, op) = &steps[at];
            shared.filter(graph, *side, op, || Ok(RowFilter::default())).unwrap()
        };
        let made: Vec<Arc<RowFilter>> = (0..steps.len()).map(ask).collect();
        for a in 0..steps.len() {
            for (b, filter) in made.iter().enumerate() {
                assert_eq!(Arc::ptr_eq(&ask(a), filter), a == b, "{a}, {b}");
            }
        }
    }
}
