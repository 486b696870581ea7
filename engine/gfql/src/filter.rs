//! Filters of steps: asked row by row, or known for all nodes.

use std::sync::Arc;

use graphlume_expr::QueryError;
use graphlume_store::PropertyGraph;
use graphlume_store::filter::RowFilter;
use graphlume_store::ids::IdSet;
use graphlume_table::Table;
use graphlume_types::CancelToken;

use crate::bind::bind;
use crate::scope::{Scope, Side};
use crate::tuning::tuning;
use crate::wire::NodeOp;

/// The filter and the query of a step, bound to a table of the graph.
pub(crate) fn row_filter(
    graph: &PropertyGraph,
    table: &Table,
    side: Side,
    op: &NodeOp,
    scope: Scope<'_>,
) -> Result<Arc<RowFilter>, QueryError> {
    scope.shared.filter(graph, side, op, || bound(graph, table, side, op, scope))
}

fn bound(
    graph: &PropertyGraph,
    table: &Table,
    side: Side,
    op: &NodeOp,
    scope: Scope<'_>,
) -> Result<RowFilter, QueryError> {
    let filter = bind(graph, table, side, &op.filter, scope)?;
    let mut filter = filter.until(scope.cancel);
    if let Some(query) = &op.query {
        filter.and_rows(crate::expr::query(table, query, scope)?);
    }
    if !filter.is_trivial() {
        // The answers of all rows.
        scope.cancel.take(table.num_rows() as u64)?;
    }
    scope.cancel.check()?;
    Ok(filter)
}

/// Nodes of the graph that pass a step's filter, asked one by one or known all together.
pub(crate) enum NodeFilter<'a> {
    Any,
    Rows(Arc<RowFilter>, &'a PropertyGraph),
    Set(IdSet),
}

impl NodeFilter<'_> {
    pub(crate) fn and(&self, nodes: &IdSet, cancel: &CancelToken) -> Result<IdSet, QueryError> {
        Ok(match self {
            Self::Any => nodes.clone(),
            Self::Set(set) => nodes.and(set),
            Self::Rows(filter, graph) => {
                if filter.is_never() {
                    return Ok(IdSet::empty());
                }
                let frame = graph.frame(cancel)?;
                if nodes.len() > tuning().filter_all {
                    let answers = filter.run();
                    cancel.check()?;
                    if nodes.is_many() && graph.rows_are_nodes(frame) {
                        return Ok(nodes.and(&IdSet::of_words(answers.to_vec())));
                    }
                }
                nodes.filter(|v| graph.node_row(frame, v).is_some_and(|row| filter.passes(row)))
            }
        })
    }
}
