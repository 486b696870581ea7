//! A picture: the graph as it is drawn, on which rules are evaluated.

use std::sync::Arc;

use bytes::Bytes;
use graphlume_expr::QueryError;
use graphlume_scene::EdgeOrder;
use graphlume_store::PropertyGraph;
use graphlume_types::CancelToken;

/// A graph as it is drawn: what rules are evaluated on.
pub trait Picture: Sync {
    /// The graph, in which every node has a row.
    ///
    /// # Errors
    /// When it cannot be made.
    fn graph(&self, cancel: &CancelToken) -> Result<&PropertyGraph, QueryError>;

    /// The order in which edges are drawn.
    fn order(&self) -> EdgeOrder;

    /// Source and destination of every edge in drawn order, as pairs of little-endian `u32`.
    fn ends(&self) -> Bytes;

    /// The community of every node, as the picture is coloured by them.
    ///
    /// # Errors
    /// When they cannot be found in time.
    fn communities(&self, cancel: &CancelToken) -> Result<Arc<Vec<u32>>, QueryError>;
}
