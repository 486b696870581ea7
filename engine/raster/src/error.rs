//! Errors of a picture.

use graphlume_types::{Cancelled, Code, Coded};

use crate::limits::{ELEMENTS_MAX, PIXELS_MAX, SIDE_MAX, SIDE_MIN};

/// Why there is no picture.
#[derive(Debug, thiserror::Error)]
pub enum RasterError {
    /// A side of the picture.
    #[error(
        "{name}={value}: a picture has from {SIDE_MIN} to {SIDE_MAX} pixels a side; give a {name} in this range"
    )]
    Side {
        /// `width` or `height`.
        name: &'static str,
        /// What was asked for.
        value: u32,
    },
    /// Pixels for each of the page's.
    #[error("scale={0}: give a scale from 0.25 to 8")]
    Scale(f64),
    /// The whole picture.
    #[error(
        "scale makes a picture of {columns} by {rows} pixels; it has at most {SIDE_MAX} a side and {PIXELS_MAX} \
         altogether: give a smaller width, height or scale"
    )]
    Pixels {
        /// Of a row.
        columns: u32,
        /// Rows.
        rows: u32,
    },
    /// A window without area.
    #[error("left has to be less than right, and bottom less than top")]
    Window,
    /// Too many nodes and edges for a picture of shapes.
    #[error(
        "format: a picture of shapes has at most {ELEMENTS_MAX} nodes and edges, and {nodes} nodes and {edges} edges are \
         visible; ask for a PNG, or hide some by a filter"
    )]
    Elements {
        /// Visible nodes.
        nodes: usize,
        /// Visible edges.
        edges: usize,
    },
    /// Parts that do not belong together.
    #[error("{what} has {given} entries where there are {expected}")]
    Length {
        /// The part.
        what: &'static str,
        /// Its entries.
        given: usize,
        /// How many it should have.
        expected: usize,
    },
    /// An edge to a node that there is not.
    #[error("an edge ends at node {node} of {nodes}")]
    Node {
        /// The index.
        node: u32,
        /// Nodes that there are.
        nodes: usize,
    },
    /// A selected node that there is not.
    #[error("selected names node {node}; the nodes have numbers below {nodes}")]
    Selected {
        /// The number.
        node: u32,
        /// Nodes that there are.
        nodes: u32,
    },
    /// The picture could not be compressed.
    #[error("the picture could not be written: {0}")]
    Encode(#[from] std::io::Error),
    /// It was stopped.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl Coded for RasterError {
    fn code(&self) -> Code {
        match self {
            Self::Side { .. }
            | Self::Scale(_)
            | Self::Pixels { .. }
            | Self::Window
            | Self::Selected { .. }
            | Self::Elements { .. } => Code::InvalidArgument,
            Self::Length { .. } | Self::Node { .. } | Self::Encode(_) => Code::Internal,
            Self::Cancelled(_) => Code::Cancelled,
        }
    }

    fn slug(&self) -> &'static str {
        match self {
            Self::Side { .. } | Self::Scale(_) | Self::Pixels { .. } | Self::Window => {
                "picture-size"
            }
            Self::Elements { .. } => "picture-elements",
            Self::Selected { .. } => "picture-selected",
            Self::Length { .. } | Self::Node { .. } => "picture-parts",
            Self::Encode(_) => "picture-encoding",
            Self::Cancelled(_) => "cancelled",
        }
    }
}
