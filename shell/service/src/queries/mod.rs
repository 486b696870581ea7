//! Queries over a dataset's graph, answered in the shapes that clients of the remote endpoint read.

mod keep;
mod parse;
mod render;
mod selection;
mod stream;

use std::sync::Arc;

use bytes::Bytes;
use graphlume_engine::{
    GraphsInUse, ParsedQuery, QueryAnswer, QueryRequest, QueryResult, ResultMode, give_back_freed,
};
use graphlume_expr::{ErrorCode, QueryError};
use graphlume_gfql::no_dataset;
use graphlume_identity::Principal;
use graphlume_identity::authz::Action;
use graphlume_identity::body::object;
use graphlume_ingest::ExportFormat;
use graphlume_store::PropertyGraph;
use graphlume_types::limits::QUERY_DATASETS_MAX;
use graphlume_types::{Code, Coded, DatasetId, MemoryConsumer, Notice, UserId};
use serde_json::{Map, Value};

use crate::context::Context;
use crate::datasets::{Datasets, known_for};
use crate::error::ServiceError;
use crate::files::Files;
use keep::Keep;
pub(crate) use parse::parse_query;
use parse::{
    check_engine, check_export_args, columns_of, flag_of, format_of, query_of, strictness_of,
};
use render::{Rendered, render, sized};
pub use selection::SelectionFile;
pub use stream::AnswerStream;

/// Queries over the graphs of datasets.
#[derive(Clone)]
pub struct Queries {
    ctx: Arc<Context>,
    files: Files,
    datasets: Datasets,
}

/// What a query's answer holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryOutput {
    /// Nodes and edges.
    All,
    /// Nodes, or the rows of a row result.
    Nodes,
    /// Edges.
    Edges,
    /// How many rows and columns there are.
    Shape,
}

impl QueryOutput {
    /// The name that requests give it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Nodes => "nodes",
            Self::Edges => "edges",
            Self::Shape => "shape",
        }
    }

    /// The output of a name.
    ///
    /// # Errors
    /// [`ServiceError::Invalid`] for any other name.
    pub fn parse(name: &str) -> Result<Self, ServiceError> {
        Ok(match name {
            "all" => Self::All,
            "nodes" => Self::Nodes,
            "edges" => Self::Edges,
            "shape" => Self::Shape,
            other => {
                let message =
                    format!("output type {other:?} does not exist; use all, nodes, edges or shape");
                return Err(ServiceError::invalid("output_type", message));
            }
        })
    }
}

/// An answer, ready to be sent.
#[derive(Debug)]
pub struct QueryReply {
    /// The media type of the body.
    pub media_type: &'static str,
    /// The tables in the format that was asked for; their memory is counted until the last byte is gone.
    pub body: QueryBody,
    /// Names in the query that matched nothing, where that was no error.
    pub notices: Vec<Notice>,
}

/// The body of an answer.
#[derive(Debug)]
pub enum QueryBody {
    /// All of it.
    Whole(Bytes),
    /// Rendered while it is sent.
    Stream(AnswerStream),
}

/// Media type of a plan and of a profile.
const PLAN_TYPE: &str = "text/plain; charset=utf-8";

/// A result, how it is to be written, what it was kept as, what is said beside it, and the memory that it holds.
type Answer = (PropertyGraph, ResponseOptions, Option<Value>, Vec<Notice>, MemoryConsumer);

/// The request beside the query itself.
struct ResponseOptions {
    output: QueryOutput,
    format: ExportFormat,
    node_columns: Option<Vec<String>>,
    edge_columns: Option<Vec<String>>,
}

impl ResponseOptions {
    fn of(body: &Map<String, Value>, output: QueryOutput) -> Result<Self, ServiceError> {
        let format = format_of(body, output)?;
        check_engine(body)?;
        check_export_args(body, format)?;
        Ok(Self {
            output,
            format,
            node_columns: columns_of(body, "node_col_subset")?,
            edge_columns: columns_of(body, "edge_col_subset")?,
        })
    }

    /// Whether nothing of the tables but their sizes is needed. Columns that are left out count, too.
    const fn are_sizes_enough(&self) -> bool {
        matches!(self.output, QueryOutput::Shape)
            && self.node_columns.is_none()
            && self.edge_columns.is_none()
    }
}

impl Queries {
    pub(crate) fn new(ctx: Arc<Context>, files: Files, datasets: Datasets) -> Self {
        Self { ctx, files, datasets }
    }

    /// Answers a query over a dataset that the caller may read. `output` is `all`, `nodes`, `edges` or
    /// `shape`; the body has `gfql_query` (operations, or a text in Cypher with its `params`) or
    /// `gfql_operations`, and may have `gfql_output`, `format`, `strictness`, `node_col_subset` and
    /// `edge_col_subset`. With `explain` the answer is the plan as text, and nothing is evaluated; with
    /// `profile` the query is evaluated, and the answer is the plan with what each operator did.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`]; a body field that is missing or wrong; [`ServiceError::Query`] for a
    /// query that is refused, with its slug.
    pub async fn query(
        &self,
        who: &Principal,
        id: &str,
        output: &str,
        body: &[u8],
    ) -> Result<QueryReply, ServiceError> {
        let dataset = known_for(&self.ctx.data, who, Action::Read, id)?.id();
        self.ctx.engine.note_request();
        let output = QueryOutput::parse(output)?;
        let body = object(body)?;
        let options = ResponseOptions::of(&body, output)?;
        let keep = keep_of(&body, output)?;
        let ask = query_of(&body)?;
        let request = QueryRequest {
            drawn: false,
            others: self.others_of(who, &ask)?,
            ask,
            strictness: strictness_of(&body)?,
            user: who.user(),
            mode: mode_of(&body, &options)?,
        };
        let user = who.user();
        self.ctx.answer_budget.check(user, self.ctx.engine.query_memory_max())?;
        let QueryResult { answer, memory, notices, graphs } =
            self.ctx.engine.query(dataset, request).await??;
        let graph = match answer {
            QueryAnswer::Sizes(sizes) => return sized(sizes, options.format, notices),
            QueryAnswer::Plan(plan) => {
                let body = QueryBody::Whole(plan.into_bytes().into());
                return Ok(QueryReply { media_type: PLAN_TYPE, body, notices });
            }
            QueryAnswer::Graph(graph) => graph,
            QueryAnswer::Rows(rows) => PropertyGraph::of_rows(rows, None),
        };
        let kept = match &keep {
            None => None,
            Some(keep) => {
                // Boxed, for most queries keep nothing and need no room for it.
                let made = self.keep_result(who, "query result", &graph, keep.checked()?, &memory);
                let made = Box::pin(made).await?;
                Some(keep.told(made, options.format))
            }
        };
        let (media_type, body, notices) =
            self.written(user, graphs, (graph, options, kept, notices, memory)).await?;
        Ok(QueryReply { media_type, body, notices })
    }

    /// The body of an answer: written out, or begun.
    async fn written(
        &self,
        user: Option<UserId>,
        graphs: GraphsInUse,
        (graph, options, kept, notices, memory): Answer,
    ) -> Result<(&'static str, QueryBody, Vec<Notice>), ServiceError> {
        let limit = self.ctx.engine.query_memory_max();
        // Writing an answer out takes a core, and what waits for one is counted already.
        let place = Arc::clone(&self.ctx.renders).acquire_owned().await;
        let (media_type, rendered, notices) = self
            .ctx
            .blocking(move |_| {
                let _place = place;
                let rendered = render(&graph, &options, kept, &notices, &memory);
                // The tables are counted until they are gone, what was written until it is sent.
                let had = memory.kept();
                drop(graph);
                if !matches!(rendered, Ok((_, Rendered::Parts(..)))) {
                    give_back_freed(had);
                }
                drop(memory);
                let (media_type, rendered) = rendered?;
                Ok((media_type, rendered, notices))
            })
            .await?;
        let body = match rendered {
            Rendered::Whole(body) => {
                QueryBody::Whole(self.ctx.answer_budget.hold(user, body, limit)?)
            }
            Rendered::Parts(parts, memory) => {
                let mut answer = Box::pin(AnswerStream::begin(parts, memory, graphs)).await?;
                answer.keep(self.ctx.answer_budget.enter(user, answer.held_bytes(), limit)?);
                QueryBody::Stream(answer)
            }
        };
        Ok((media_type, body, notices))
    }

    /// The other datasets that a query names, when the caller may read them all. One that does not exist
    /// and one that is not for the caller are told apart by nothing.
    pub(crate) fn others_of(
        &self,
        who: &Principal,
        ask: &ParsedQuery,
    ) -> Result<Vec<(String, DatasetId)>, ServiceError> {
        let ParsedQuery::Gfql(query, _) = ask else { return Ok(vec![]) };
        let names = query.datasets();
        if names.len() > QUERY_DATASETS_MAX {
            let text = format!(
                "the query reads {} other datasets; the limit is {QUERY_DATASETS_MAX}",
                names.len()
            );
            return Err(QueryError::new(ErrorCode::Limit, text)
                .field("dataset_id")
                .suggest("ask in several queries")
                .into());
        }
        let found = names.into_iter().map(|name| {
            match known_for(&self.ctx.data, who, Action::Read, name) {
                Ok(found) => Ok((name.to_owned(), found.id())),
                Err(e) if e.code() == Code::Internal => Err(e),
                Err(_) => Err(no_dataset(name).into()),
            }
        });
        found.collect()
    }
}

/// Which part of the result is wanted.
fn mode_of(
    body: &Map<String, Value>,
    options: &ResponseOptions,
) -> Result<ResultMode, ServiceError> {
    match (flag_of(body, "explain")?, flag_of(body, "profile")?) {
        (true, true) => {
            let message = "profile is true beside explain: send profile alone to evaluate the query, or explain alone for \
                           the plan without evaluating it";
            Err(ServiceError::invalid("profile", message))
        }
        (true, false) => Ok(ResultMode::Plan),
        (false, true) => Ok(ResultMode::Profile),
        (false, false) if options.are_sizes_enough() => Ok(ResultMode::Sizes),
        (false, false) => Ok(ResultMode::Rows),
    }
}

/// Whether the result is to be kept as a dataset, and how.
fn keep_of(body: &Map<String, Value>, output: QueryOutput) -> Result<Option<Keep>, ServiceError> {
    match flag_of(body, "persist")? {
        true if output == QueryOutput::All => Ok(Some(Keep::of(body)?)),
        true => {
            let message = "persist keeps whole graphs: ask for the output type all";
            Err(ServiceError::invalid("persist", message))
        }
        false => Ok(None),
    }
}
