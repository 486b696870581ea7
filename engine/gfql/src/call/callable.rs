//! Callable functions: what a row of the list of calls says of one.

use graphlume_calls::params::Params;
use graphlume_calls::signature::Signature;
use graphlume_expr::QueryError;
use graphlume_store::PropertyGraph;
use graphlume_table::Table;

use crate::scope::Scope;

/// The function that makes a graph of a graph.
pub(super) type OfGraph =
    fn(&PropertyGraph, &Params<'_>, Scope<'_>) -> Result<PropertyGraph, QueryError>;
/// The function that makes rows of rows.
pub(super) type OfRows = fn(&Table, &Params<'_>, Scope<'_>) -> Result<Table, QueryError>;

/// Runs a call that cuts a graph by a filter or a pattern, or makes another graph.
#[derive(Clone, Copy, Debug)]
pub struct FilteringCall(pub(super) OfGraph);

/// Runs a call that changes rows.
#[derive(Clone, Copy, Debug)]
pub struct RowsCall(pub(super) OfRows);

/// What a call does.
#[derive(Clone, Copy, Debug)]
pub enum Does {
    /// Chooses or counts the rows of a table.
    Choose,
    /// Changes rows.
    Rows(RowsCall),
    /// Compares rows with the matches of a pattern.
    Match,
    /// Cuts a graph by a filter or a pattern, or makes another graph.
    Graph(FilteringCall),
}

/// A function that a query may call.
#[derive(Clone, Copy, Debug)]
pub struct Callable {
    /// Its name and its parameters.
    pub signature: Signature,
    /// What it does.
    pub does: Does,
    /// Whether it makes another graph: what stands behind it in a chain sees that one.
    pub(super) makes_graph: bool,
    /// Whether a result has the columns that it names.
    pub projects: bool,
}

impl Callable {
    pub(super) const fn making_graph(self) -> Self {
        Self { makes_graph: true, ..self }
    }

    pub(super) const fn projecting(self) -> Self {
        Self { projects: true, ..self }
    }
}

/// A row without anything special.
pub(super) const fn entry(
    name: &'static str,
    does: Does,
    required: &'static [&'static str],
    optional: &'static [&'static str],
) -> Callable {
    let signature = Signature { name, required, optional, engines: &[] };
    Callable { signature, does, makes_graph: false, projects: false }
}

/// Of a graph.
pub(super) const fn of_graph(run: OfGraph) -> Does {
    Does::Graph(FilteringCall(run))
}

/// Of rows.
pub(super) const fn of_rows(run: OfRows) -> Does {
    Does::Rows(RowsCall(run))
}
