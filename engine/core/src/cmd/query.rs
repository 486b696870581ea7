//! Asks the graph of a dataset.

use std::sync::Arc;

use graphlume_gfql::{ErrorCode, GfqlError, PropertyGraph, Query, Sizes, Strictness};
use graphlume_table::Table;
use graphlume_types::limits::QUERY_SECS_MAX;
use graphlume_types::{CancelReason, CancelToken, Cancelled, DatasetId, Share, UserId};
use serde_json::{Map, Value};

use crate::command::{Apply, Call};
use crate::core::Core;
use crate::desk::{Progress, Turn};
use crate::error::EngineError;
use crate::lane::Lane;
use crate::reply::Answer;
use crate::store::Lease;

/// A query and how to answer it.
#[derive(Clone, Debug)]
pub struct QueryRequest {
    /// What is asked.
    pub ask: Ask,
    /// What an absent column means.
    pub strictness: Strictness,
    /// Whether only the sizes are wanted.
    pub sizes: bool,
    /// Who asks: users take turns.
    pub user: Option<UserId>,
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

/// An answer, and the memory that it takes of the budget while it is held.
#[derive(Clone, Debug)]
pub struct Answered {
    /// The answer.
    pub answer: QueryAnswer,
    /// Its memory.
    pub memory: Share,
}

pub(crate) struct QueryGraph {
    pub(crate) dataset: DatasetId,
    pub(crate) request: QueryRequest,
}

impl Apply for QueryGraph {
    /// What is wrong with a query is an answer; the engine itself did not fail.
    type Answer = Result<Answered, GfqlError>;
    const LANE: Lane = Lane::Interactive;

    fn apply(self, core: &mut Core, call: Call<Self::Answer>) {
        let Call { reply, cancel } = call;
        let request = self.request;
        let ready = move |core: &mut Core, found: Result<Lease, EngineError>| {
            let room = core.crews.desk.check_room(request.user);
            let lease = match room.and(found) {
                Ok(lease) => lease,
                Err(e) => return reply.send(Err(e)),
            };
            // A turn that is given up gives its memory back, so that the next begins with all of it.
            let mut share = core.query_share();
            let mut next = Some(core.query_share());
            let (user, stop, mut reply) = (request.user, cancel.clone(), Some(reply));
            let work = move |turn| {
                let answer = one_turn(&lease, &request, &cancel, &share, turn);
                let Some(answer) = answer else {
                    if let Some(next) = next.take() {
                        share = next;
                    }
                    return Progress::Overran;
                };
                if let Some(reply) = reply.take() {
                    reply.send(answer);
                }
                Progress::Answered
            };
            core.crews.desk.submit(user, stop, Box::new(work));
        };
        core.with_graph(self.dataset, Box::new(ready));
    }
}

/// The answer to a query; `None` when its turn is over before there is one.
fn one_turn(
    lease: &Lease,
    request: &QueryRequest,
    cancel: &CancelToken,
    share: &Share,
    turn: Turn,
) -> Option<Answer<Result<Answered, GfqlError>>> {
    let cancel = cancel.with_memory(share.clone());
    let cancel = match turn {
        Turn::First(time) => cancel.turn(std::time::Instant::now() + time),
        Turn::Long => cancel,
    };
    let error = match cancel
        .check()
        .map_err(GfqlError::from)
        .and_then(|()| answer(lease.properties(), request, &cancel))
    {
        Ok(answer) => return Some(Ok(Ok(Answered { answer, memory: share.clone() }))),
        Err(error) => error,
    };
    // Why a query was stopped is seen at its token, whatever the step that noticed made of it.
    match cancel.check() {
        Err(Cancelled(CancelReason::TurnOver)) => None,
        Err(Cancelled(CancelReason::Deadline)) => Some(Ok(Err(too_long()))),
        Err(stopped) => Some(Err(stopped.into())),
        Ok(()) => Some(Ok(Err(error))),
    }
}

fn too_long() -> GfqlError {
    let text = format!("the query took more than {QUERY_SECS_MAX} seconds");
    GfqlError::new(ErrorCode::Timeout, text)
        .suggest("ask for less: fewer hops, narrower filters or a limit")
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
