//! Asks the graph of a dataset.

use std::sync::Arc;

use graphlume_gfql::{GfqlError, PropertyGraph, Query, Sizes, Strictness};
use graphlume_table::Table;
use graphlume_types::{CancelToken, DatasetId};
use serde_json::{Map, Value};

use crate::cmd::read::read_dataset;
use crate::command::{Apply, Call};
use crate::core::Core;
use crate::lane::Lane;

/// A query and how to answer it.
#[derive(Clone, Debug)]
pub struct QueryRequest {
    /// What is asked.
    pub ask: Ask,
    /// What an absent column means.
    pub strictness: Strictness,
    /// Whether only the sizes are wanted.
    pub sizes: bool,
}

/// What is asked.
#[derive(Clone, Debug)]
pub enum Ask {
    /// Operations, and the name of the binding to return.
    Gfql(Arc<Query>, Option<String>),
    /// A Cypher query, and its parameters.
    Cypher(Arc<graphlume_cypher::Query>, Map<String, Value>),
}

/// What a query yields.
#[derive(Clone, Debug)]
pub enum QueryAnswer {
    /// A graph; of a row result the rows are its nodes.
    Graph(PropertyGraph),
    /// Rows, in their order.
    Rows(Table),
    /// Sizes.
    Sizes(Sizes),
}

pub(crate) struct QueryGraph {
    pub(crate) dataset: DatasetId,
    pub(crate) request: QueryRequest,
}

impl Apply for QueryGraph {
    /// What is wrong with a query is an answer; the engine itself did not fail.
    type Answer = Result<QueryAnswer, GfqlError>;
    const LANE: Lane = Lane::Interactive;

    fn apply(self, core: &mut Core, call: Call<Self::Answer>) {
        let request = self.request;
        read_dataset(core, "query", self.dataset, call, move |lease, cancel| {
            let answer = answer(lease.properties(), &request, cancel);
            // A stopped query is the engine's to report, whatever the step that noticed made of it.
            cancel.check()?;
            Ok(answer)
        });
    }
}

fn answer(
    graph: &PropertyGraph,
    request: &QueryRequest,
    cancel: &CancelToken,
) -> Result<QueryAnswer, GfqlError> {
    let strictness = request.strictness;
    match &request.ask {
        Ask::Gfql(query, output) => {
            let output = output.as_deref();
            if request.sizes {
                let sizes = graphlume_gfql::sizes(graph, query, output, strictness, cancel)?;
                return Ok(QueryAnswer::Sizes(sizes));
            }
            let outcome = graphlume_gfql::run(graph, query, output, strictness, cancel)?;
            Ok(QueryAnswer::Graph(outcome.graph))
        }
        Ask::Cypher(query, params) => {
            let rows = graphlume_cypher::run(graph, query, params, strictness, cancel)?;
            if request.sizes {
                let (nodes, node_columns) = (rows.num_rows(), rows.names().len());
                let sizes = Sizes { nodes, node_columns, edges: 0, edge_columns: 0 };
                return Ok(QueryAnswer::Sizes(sizes));
            }
            Ok(QueryAnswer::Rows(rows.table()?))
        }
    }
}
