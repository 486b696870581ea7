//! The error of this crate.

use graphlume_types::limits::{COLUMNS_MAX, JSON_DEPTH_MAX, ROWS_MAX};
use graphlume_types::{Code, Coded};

/// Why a table was refused, or could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TableError {
    /// Two columns have the same name, so that a binding could not say which one it means.
    #[error("column {name:?} occurs more than once; give every column its own name")]
    DuplicateColumn {
        /// The repeated name.
        name: String,
    },
    /// More rows than [`ROWS_MAX`].
    #[error("the table has {rows} rows; the limit is {ROWS_MAX}")]
    TooManyRows {
        /// Rows found.
        rows: u64,
    },
    /// More columns than [`COLUMNS_MAX`].
    #[error("the table has {columns} columns; the limit is {COLUMNS_MAX}")]
    TooManyColumns {
        /// Columns found.
        columns: usize,
    },
    /// A column type nested deeper than [`JSON_DEPTH_MAX`].
    #[error("column {name:?} is nested more than {JSON_DEPTH_MAX} levels deep; flatten it")]
    TooDeep {
        /// The column.
        name: String,
    },
    /// Batches of one table disagree, or do not fit into one batch.
    #[error("the parts of the table cannot be joined: {0}")]
    Join(String),
    /// Bytes that are not a stored table.
    #[error("the stored table cannot be read: {0}")]
    Corrupt(String),
    /// The table could not be written.
    #[error("the table cannot be written: {0}")]
    Write(String),
}

impl Coded for TableError {
    fn code(&self) -> Code {
        match self {
            Self::DuplicateColumn { .. } | Self::Join(_) => Code::InvalidArgument,
            Self::TooManyRows { .. } | Self::TooManyColumns { .. } | Self::TooDeep { .. } => {
                Code::TooLarge
            }
            Self::Corrupt(_) => Code::Corrupt,
            Self::Write(_) => Code::Internal,
        }
    }

    fn slug(&self) -> &'static str {
        match self {
            Self::DuplicateColumn { .. } => "duplicate-column",
            Self::TooManyRows { .. } => "too-many-rows",
            Self::TooManyColumns { .. } => "too-many-columns",
            Self::TooDeep { .. } => "too-deep",
            Self::Join(_) => "table-parts-differ",
            Self::Corrupt(_) => "table-corrupt",
            Self::Write(_) => "table-write",
        }
    }
}
