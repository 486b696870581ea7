//! Places that the nodes of a session are given all at once, by a layout that a viewer names.

use std::sync::Arc;

/// Places of all nodes of an element set.
#[derive(Debug, Clone, PartialEq)]
pub struct Placement {
    /// The element set.
    pub epoch: u32,
    /// By node index; a node whose coordinates are not finite stays where it is.
    pub positions: Vec<[f32; 2]>,
    /// The third coordinate by node index, of a layout in space; not a number where a node has none.
    pub depths: Option<Arc<Vec<f32>>>,
    /// What found them, as viewers read it.
    pub by: String,
}

/// What viewers know of the last placement.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Placed {
    /// What found the places; empty while there was no placement. Forces then keep their size.
    pub(super) by: String,
    /// Placements so far: a page shows everything after each.
    pub(super) count: u32,
    /// The third coordinates that it found, if it did; those of the data hold otherwise.
    pub(super) depths: Option<Arc<Vec<f32>>>,
}
