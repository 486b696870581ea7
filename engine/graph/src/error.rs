//! Errors of making a graph of tables.

use graphlume_types::limits::{EDGES_MAX, NODES_MAX};
use graphlume_types::{Cancelled, Code, Coded, nearest};

/// Why no graph could be built.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// A binding names a column that the table does not have.
    #[error(
        "binding {role:?} names column {name:?}, which the {table} table does not have{hint}; \
         it has {columns}"
    )]
    UnknownColumn {
        /// The binding: `source`, `destination` or `node`.
        role: &'static str,
        /// The missing column.
        name: String,
        /// `edges` or `nodes`.
        table: &'static str,
        /// A did-you-mean clause, or nothing.
        hint: String,
        /// The columns that exist, as text.
        columns: String,
    },
    /// More nodes than a node index can count.
    #[error("the graph has {0} nodes; at most {NODES_MAX} fit one graph: upload a smaller table")]
    TooManyNodes(u64),
    /// More edges than an edge position can count.
    #[error("the graph has {0} edges; at most {EDGES_MAX} fit one graph: upload a smaller table")]
    TooManyEdges(u64),
    /// A column of ids has a type whose values cannot be compared or shown.
    #[error(
        "column {name:?} has type {dtype}, which cannot serve as {role}: cast it to text or numbers first"
    )]
    IdType {
        /// The binding.
        role: &'static str,
        /// The column.
        name: String,
        /// Its Arrow type.
        dtype: String,
    },
    /// The work was stopped.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// Arrow refused an operation that should always work: a defect of ours.
    #[error("internal error while building node ids: {0}")]
    Internal(String),
}

impl Coded for GraphError {
    fn code(&self) -> Code {
        match self {
            Self::UnknownColumn { .. } | Self::IdType { .. } => Code::InvalidArgument,
            Self::TooManyNodes(_) | Self::TooManyEdges(_) => Code::TooLarge,
            Self::Cancelled(_) => Code::Cancelled,
            Self::Internal(_) => Code::Internal,
        }
    }

    fn slug(&self) -> &'static str {
        match self {
            Self::UnknownColumn { .. } => "column-not-found",
            Self::IdType { .. } => "id-type-unsupported",
            Self::TooManyNodes(_) => "too-many-nodes",
            Self::TooManyEdges(_) => "too-many-edges",
            Self::Cancelled(_) => "cancelled",
            Self::Internal(_) => "graph-internal",
        }
    }

    fn field(&self) -> Option<&str> {
        match self {
            Self::UnknownColumn { role, .. } | Self::IdType { role, .. } => Some(role),
            _ => None,
        }
    }
}

/// Columns named in an error at most; a table may have thousands.
const COLUMNS_NAMED_MAX: usize = 20;

impl GraphError {
    /// An [`GraphError::UnknownColumn`] with the columns that exist and a did-you-mean.
    pub(crate) fn unknown_column(
        role: &'static str,
        name: &str,
        table: &'static str,
        columns: &[&str],
    ) -> Self {
        let hint =
            nearest(name, columns).map(|n| format!(" (did you mean {n:?}?)")).unwrap_or_default();
        let mut named: Vec<String> =
            columns.iter().take(COLUMNS_NAMED_MAX).map(|c| format!("{c:?}")).collect();
        if columns.len() > COLUMNS_NAMED_MAX {
            named.push(format!("and {} more", columns.len() - COLUMNS_NAMED_MAX));
        }
        let columns = if named.is_empty() { "no columns".to_owned() } else { named.join(", ") };
        Self::UnknownColumn { role, name: name.to_owned(), table, hint, columns }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_column_is_answered_with_the_ones_that_exist_and_the_nearest() {
        let e = GraphError::unknown_column("source", "Sorce", "edges", &["dst", "source"]);
        let text = e.to_string();
        assert!(text.contains("\"Sorce\"") && text.contains("did you mean \"source\"?"), "{text}");
        assert!(text.contains("\"dst\", \"source\""), "{text}");
        assert_eq!((e.slug(), e.field()), ("column-not-found", Some("source")));
        assert_eq!(e.code(), Code::InvalidArgument);
    }

    #[test]
    fn nothing_is_suggested_when_nothing_is_near() {
        let e = GraphError::unknown_column("node", "id", "nodes", &["weight", "colour"]);
        assert!(!e.to_string().contains("did you mean"));
        let many: Vec<String> = (0..100).map(|i| format!("c{i:04}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(
            GraphError::unknown_column("node", "zz", "nodes", &many)
                .to_string()
                .contains("80 more")
        );
        assert!(
            GraphError::unknown_column("node", "zz", "nodes", &[])
                .to_string()
                .contains("no columns")
        );
    }
}
