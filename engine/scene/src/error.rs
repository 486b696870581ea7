//! The little that can go wrong while a scene is resolved.

use graphlume_types::{Code, Coded};

/// Why no scene could be made. Unusable encodings are warnings of the scene, not errors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SceneError {
    /// The communities belong to another graph.
    #[error("{given} community labels were given for {nodes} nodes: run the community step again")]
    CommunityLength {
        /// Labels given.
        given: usize,
        /// Nodes of the graph.
        nodes: usize,
    },
    /// A community label is not below the number of nodes.
    #[error("community label {label} is not below the {nodes} nodes: run the community step again")]
    CommunityLabel {
        /// The label.
        label: u32,
        /// Nodes of the graph.
        nodes: usize,
    },
    /// The graph and the tables were not built from each other.
    #[error(
        "the graph refers to row {row} of the {table} table, which has {rows} rows: reload the dataset"
    )]
    TableMismatch {
        /// `nodes` or `edges`.
        table: &'static str,
        /// The row referred to.
        row: u64,
        /// Rows that exist.
        rows: u64,
    },
    /// A binary frame is not one.
    #[error("not a frame of this protocol: {0}")]
    Frame(&'static str),
}

impl Coded for SceneError {
    fn code(&self) -> Code {
        match self {
            Self::CommunityLength { .. }
            | Self::CommunityLabel { .. }
            | Self::TableMismatch { .. } => Code::Internal,
            Self::Frame(_) => Code::InvalidArgument,
        }
    }

    fn slug(&self) -> &'static str {
        match self {
            Self::CommunityLength { .. } => "community-length",
            Self::CommunityLabel { .. } => "community-label",
            Self::TableMismatch { .. } => "table-mismatch",
            Self::Frame(_) => "bad-frame",
        }
    }
}
