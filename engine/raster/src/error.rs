use graphlume_types::{Cancelled, Code, Coded};

use crate::{SIDE_MAX, SIDE_MIN};

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
            Self::Side { .. } => Code::InvalidArgument,
            Self::Length { .. } | Self::Node { .. } | Self::Encode(_) => Code::Internal,
            Self::Cancelled(_) => Code::Cancelled,
        }
    }

    fn slug(&self) -> &'static str {
        match self {
            Self::Side { .. } => "picture-size",
            Self::Length { .. } | Self::Node { .. } => "picture-parts",
            Self::Encode(_) => "picture-encoding",
            Self::Cancelled(_) => "cancelled",
        }
    }
}
