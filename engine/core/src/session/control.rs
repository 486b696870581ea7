//! What viewers may do to the layout.

use serde_json::{Map, Value};

/// A change to a running session.
#[derive(Debug, Clone, PartialEq)]
pub enum Control {
    /// Starts or stops the layout.
    Play {
        /// Start or stop.
        on: bool,
        /// How long it runs; without it, until it settles.
        for_millis: Option<u64>,
    },
    /// Changes knobs, under the names of [`LayoutSettings`](crate::LayoutSettings).
    Settings(Map<String, Value>),
    /// Holds a node at a place of the layout's coordinates.
    Pin {
        /// Node index.
        node: u32,
        /// Where.
        at: [f32; 2],
    },
    /// Lets a node go.
    Unpin {
        /// Node index.
        node: u32,
    },
}
