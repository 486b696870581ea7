//! Scope of a query: all that its evaluation needs besides the query, at every step.

mod shared;

use graphlume_expr::{QueryError, Strictness};
use graphlume_store::PropertyGraph;
use graphlume_types::CancelToken;

use crate::wire::{EdgeOp, NodeOp};
pub(crate) use shared::Shared;

/// The graphs of other datasets, by the names under which a query asks for them.
pub type Others = std::collections::BTreeMap<String, PropertyGraph>;

/// Which table of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Nodes,
    Edges,
}

impl Side {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Nodes => "node",
            Self::Edges => "edge",
        }
    }
}

/// A step of a pattern.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Node(NodeOp),
    Edge(Box<EdgeOp>),
}

/// What evaluation needs besides the query.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) strictness: Strictness,
    pub(crate) others: &'a Others,
    pub(crate) shared: &'a Shared,
    /// What is known of the rows that calls work on.
    pub(crate) rows: &'a RowSchema,
    pub(crate) cancel: &'a CancelToken,
}

impl Scope<'_> {
    /// A column is not there: an error, or null in every row and said beside the answer.
    pub(crate) fn absent(self, error: QueryError) -> Result<(), QueryError> {
        match self.strictness {
            Strictness::Strict => Err(error),
            Strictness::Lenient => {
                self.shared.notices.note(error.taken_for_null());
                Ok(())
            }
        }
    }
}

/// What is known of the rows besides their columns.
#[derive(Clone, Debug)]
pub(crate) struct RowSchema {
    /// Column of the node ids.
    pub(crate) node: String,
    /// Columns of the edges' ends.
    pub(crate) ends: [Option<String>; 2],
    /// Columns that mark the elements of named steps.
    pub(crate) markers: Vec<String>,
    /// Whether rows carry the identity of their nodes and edges.
    pub(crate) identities: bool,
}

/// Rows of which nothing is known but their columns.
pub(crate) static NO_ROWS: RowSchema =
    RowSchema { node: String::new(), ends: [None, None], markers: Vec::new(), identities: false };
