//! Asks the graph of a dataset.

use std::sync::Arc;

use graphlume_gfql::{GfqlError, Outcome, Query, Strictness};
use graphlume_types::DatasetId;

use crate::cmd::read::read_dataset;
use crate::command::{Apply, Call};
use crate::core::Core;
use crate::lane::Lane;

/// A query and how to answer it.
#[derive(Clone, Debug)]
pub struct QueryRequest {
    /// What is asked.
    pub query: Arc<Query>,
    /// Name of the binding to return, of a query with bindings.
    pub output: Option<String>,
    /// What an absent column means.
    pub strictness: Strictness,
}

pub(crate) struct QueryGraph {
    pub(crate) dataset: DatasetId,
    pub(crate) request: QueryRequest,
}

impl Apply for QueryGraph {
    /// What is wrong with a query is an answer; the engine itself did not fail.
    type Answer = Result<Outcome, GfqlError>;
    const LANE: Lane = Lane::Interactive;

    fn apply(self, core: &mut Core, call: Call<Self::Answer>) {
        let QueryRequest { query, output, strictness } = self.request;
        read_dataset(core, "query", self.dataset, call, move |lease, cancel| {
            let graph = lease.properties();
            let answer = graphlume_gfql::run(graph, &query, output.as_deref(), strictness, cancel);
            // A stopped query is the engine's to report, whatever the step that noticed made of it.
            cancel.check()?;
            Ok(answer)
        });
    }
}
