//! Why there is no hypergraph.

use graphlume_types::limits::ROWS_MAX;
use graphlume_types::{Cancelled, Code, Coded};

use crate::TableError;

/// Why a table was not turned into a hypergraph.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HypergraphError {
    /// An option is wrong, or names a column that is not there.
    #[error("{message}")]
    Invalid {
        /// The option at fault, as a path such as `edge_hypergraph_transform[0].opts.SKIP`.
        field: String,
        /// Field, value and what is legal.
        message: String,
    },
    /// The result would exceed [`ROWS_MAX`]; nothing of it has been allocated.
    #[error(
        "the hypergraph would have {rows} {part}, over the limit of {ROWS_MAX}; \
         name fewer columns in entity_types"
    )]
    TooManyRows {
        /// `edges` or `nodes`.
        part: &'static str,
        /// How many at least.
        rows: u64,
    },
    /// The work was stopped.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// The result is no legal table.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A defect of ours.
    #[error("the hypergraph cannot be made: {0}")]
    Internal(String),
}

impl HypergraphError {
    pub(super) fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Invalid { field: field.into(), message: message.into() }
    }
}

impl From<arrow_schema::ArrowError> for HypergraphError {
    fn from(e: arrow_schema::ArrowError) -> Self {
        Self::Internal(e.to_string())
    }
}

impl Coded for HypergraphError {
    fn code(&self) -> Code {
        match self {
            Self::Invalid { .. } => Code::InvalidArgument,
            Self::TooManyRows { .. } => Code::TooLarge,
            Self::Cancelled(_) => Code::Cancelled,
            Self::Table(e) => e.code(),
            Self::Internal(_) => Code::Internal,
        }
    }

    fn slug(&self) -> &'static str {
        match self {
            Self::Invalid { .. } => "hypergraph-option",
            Self::TooManyRows { .. } => "hypergraph-too-large",
            Self::Cancelled(_) => "cancelled",
            Self::Table(e) => e.slug(),
            Self::Internal(_) => "internal",
        }
    }

    fn field(&self) -> Option<&str> {
        match self {
            Self::Invalid { field, .. } => Some(field),
            _ => None,
        }
    }
}
