//! Surroundings in which a call runs: what the language that calls gives it.

use std::sync::{Mutex, PoisonError};

use graphlume_expr::QueryError;
use graphlume_store::{CallOp, PropertyGraph};
use graphlume_types::{CancelToken, Notice, note};
use serde_json::{Map, Value};

use crate::params::Params;

/// The function of a call, which makes a graph of a graph.
pub type GraphFunction =
    fn(&PropertyGraph, &Params<'_>, CallContext<'_>) -> Result<PropertyGraph, QueryError>;

/// The nodes that a filter of columns selects, by their number in the graph. The text is the parameter that has the filter.
pub type NodeFilter<'a> =
    dyn Fn(&PropertyGraph, &Map<String, Value>, &str) -> Result<Vec<u32>, QueryError> + Sync + 'a;

/// What is said of a query beside its answer.
#[derive(Debug, Default)]
pub struct Notices(Mutex<Vec<Notice>>);

impl Notices {
    /// Remembers a notice.
    pub fn note(&self, notice: Notice) {
        note(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner), notice);
    }

    /// The notices, in the order in which they came.
    #[must_use]
    pub fn into_vec(self) -> Vec<Notice> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a call has besides the graph and its parameters.
#[derive(Clone, Copy)]
pub struct CallContext<'a> {
    /// Where the call says what its user should know.
    pub notices: &'a Notices,
    /// Ends the call, and pays for its memory.
    pub cancel: &'a CancelToken,
    /// How the language finds the nodes of a filter.
    pub filter: &'a NodeFilter<'a>,
    /// Runs another call by its name.
    pub(crate) run:
        fn(&PropertyGraph, &CallOp, CallContext<'_>) -> Result<PropertyGraph, QueryError>,
}

impl CallContext<'_> {
    /// Runs another call.
    ///
    /// # Errors
    /// [`QueryError`] when there is no such call, or it refuses.
    pub(crate) fn call(
        self,
        graph: &PropertyGraph,
        call: &CallOp,
    ) -> Result<PropertyGraph, QueryError> {
        (self.run)(graph, call, self)
    }
}
