//! The columns that a dataset binds to the positions of its nodes.

use std::sync::Arc;

use super::PropertyGraph;

/// The columns of the nodes that are bound to their positions; layouts of the client write and read them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PositionColumns {
    /// Across.
    pub x: Option<String>,
    /// Upwards.
    pub y: Option<String>,
    /// Degrees east.
    pub longitude: Option<String>,
    /// Degrees north.
    pub latitude: Option<String>,
}

impl PropertyGraph {
    /// The graph, with the columns of its nodes' positions. Only for a graph that is not shared yet.
    #[must_use]
    pub fn with_positions(mut self, positions: PositionColumns) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.positions = positions;
        }
        self
    }

    /// The columns that are bound to the nodes' positions.
    #[must_use]
    pub fn positions(&self) -> &PositionColumns {
        &self.inner.positions
    }
}
