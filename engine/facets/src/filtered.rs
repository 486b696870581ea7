//! Elements that filters leave of a picture.

use graphlume_expr::QueryError;
use graphlume_scene::Bits;

/// How many elements a filter keeps by itself, or an exclusion hides; absent on an axis that it does not rest on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FilterCount {
    /// Nodes.
    pub nodes: Option<u64>,
    /// Edges.
    pub edges: Option<u64>,
}

/// What filters leave of a picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filtered {
    /// The visible nodes, by index.
    pub nodes: Bits,
    /// The visible edges, in drawn order.
    pub edges: Bits,
    /// Filters by their ids, in the order of the set: what each keeps or hides, or why it does nothing. A query that is
    /// off is not asked and not listed.
    pub filters: Vec<(String, Result<FilterCount, QueryError>)>,
}
