//! From a predicate to the test of a column: by number where values repeat, by interval where they are numbers.

use std::sync::Arc;

use graphlume_graph::canon::{Canon, Column};
use graphlume_types::CancelToken;

use super::{ColumnTest, Members, Predicate, Range, buckets, small, small_set};
use crate::property_graph::PropertyGraph;

/// Where a column stands, so that what makes its tests faster is kept with the graph.
#[derive(Clone, Copy, Debug)]
pub struct ColumnPlace<'a> {
    /// The graph.
    pub graph: &'a PropertyGraph,
    /// Whether the column is one of the edge table.
    pub edges: bool,
    /// Its name.
    pub name: &'a str,
    /// Stops the work, and counts its memory.
    pub cancel: &'a CancelToken,
}

impl ColumnTest {
    /// The test of a column for a predicate that looks at one cell at a time ([`Predicate::needs_column`] is false). With a
    /// place, bytes that make later tests of the same column faster are kept with the graph.
    #[must_use]
    pub fn of(column: &Arc<Column>, predicate: Predicate, place: Option<&ColumnPlace<'_>>) -> Self {
        let truth = matches!(column.as_ref(), Column::Bool(_));
        let members = Members::new(&predicate);
        let holds = |cell: Option<&Canon<'_>>| match &members {
            Some(members) => members.holds(cell),
            None => predicate.holds(cell, truth),
        };
        let column = Arc::clone(column);
        if let Column::Text(text) = column.as_ref()
            && let Some((_, values)) = text.dictionary()
            && values.len() <= text.len()
        {
            let answers: Vec<bool> =
                values.iter().map(|v| holds(v.map(Canon::Text).as_ref())).collect();
            let null = holds(None);
            let set = small_set(&answers, null);
            let codes = place.and_then(|p| small(p.graph, p.edges, p.name, &column, p.cancel));
            let small = codes.map(|codes| (codes, set));
            return Self::Codes { column, answers, null, small };
        }
        if let Some(range) = Range::new(&column, &predicate) {
            let buckets = place.and_then(|p| buckets(p.graph, p.edges, p.name, &column, p.cancel));
            let buckets = buckets.and_then(|b| Some((Arc::clone(&b), b.sure(range)?)));
            return Self::Range { column, range, buckets };
        }
        if let Some(members) = members {
            return Self::Members { column, members };
        }
        Self::Cells { column, predicate, truth }
    }
}
