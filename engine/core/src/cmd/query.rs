//! Asks the graph of a dataset.

use std::fmt;
use std::sync::Arc;

use graphlume_expr::{ErrorCode, QueryError, Strictness};
use graphlume_facets::{NodeBytes, Rule};
use graphlume_gfql::{Others, Query, Sizes};
use graphlume_procedures::{TextAnswer, TextSetting, explain_text, profile_text, run_text};
use graphlume_scene::Bits;
use graphlume_store::PropertyGraph;
use graphlume_store::ids::IdSet;
use graphlume_table::Table;
use graphlume_types::{CancelToken, DatasetId, MemoryConsumer, Notice, UserId};
use serde_json::{Map, Value};

use crate::cmd::read::{InTurn, read_in_turns};
use crate::command::{Apply, Call, CommandPriority};
use crate::context::EngineContext;
use crate::engine::Engine;
use crate::residency::Lease;
use crate::session::drawn_picture::DrawnPicture;

/// A query and how to answer it.
#[derive(Clone, Debug)]
pub struct QueryRequest {
    /// What is asked.
    pub ask: ParsedQuery,
    /// Whether operations see the graph that is drawn, in which what only edges name are nodes, too, as texts in
    /// Cypher always do. Without it the rows of a node table are the nodes, as where clients evaluate them.
    pub drawn: bool,
    /// What an absent column means.
    pub strictness: Strictness,
    /// What is wanted of the answer.
    pub mode: ResultMode,
    /// Who asks: users take turns.
    pub user: Option<UserId>,
    /// The other datasets that the query names, by the names it gives them.
    pub others: Vec<(String, DatasetId)>,
}

/// Which part of a result is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultMode {
    /// All of it.
    Rows,
    /// How large it is.
    Sizes,
    /// How it would be found; nothing is evaluated.
    Plan,
    /// How it was found: the query is evaluated, and what each operator did is told instead of the rows.
    Profile,
}

/// A query that has been parsed, in its language.
#[derive(Clone, Debug)]
pub enum ParsedQuery {
    /// Operations, and the name of the binding to return.
    Gfql(Arc<Query>, Option<String>),
    /// A text in Cypher, whose stages may make graphs, and its parameters.
    Cypher(Arc<graphlume_cypher::Text>, Map<String, Value>),
    /// A rule of a session's document: the part of the drawn graph that it means, of a rule about nodes with the edges
    /// among them.
    Rule(Arc<Rule>),
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
    /// The plan or the profile, as text.
    Plan(String),
}

/// The result of a query, and the memory that it takes of the budget while it is held.
#[derive(Clone, Debug)]
pub struct QueryResult {
    /// The answer.
    pub answer: QueryAnswer,
    /// What the query named and the graph does not have, where that was no error.
    pub notices: Vec<Notice>,
    /// Its memory.
    pub memory: MemoryConsumer,
    /// The graphs whose tables it may share: they stay in memory, and counted, until this is dropped.
    pub graphs: GraphsInUse,
}

/// Graphs that are not evicted while this lives.
#[derive(Clone, Default)]
pub struct GraphsInUse(Vec<Lease>);

impl GraphsInUse {
    /// The element set of the graph that was asked first.
    #[must_use]
    pub fn epoch(&self) -> Option<u32> {
        self.0.first().map(|lease| lease.facts.epoch)
    }
}

impl fmt::Debug for GraphsInUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(Lease::key)).finish()
    }
}

pub(crate) struct QueryGraph {
    pub(crate) dataset: DatasetId,
    pub(crate) request: QueryRequest,
}

impl Apply for QueryGraph {
    /// What is wrong with a query is an answer; the engine itself did not fail.
    type Answer = Result<QueryResult, QueryError>;
    type On = Engine;
    const NAME: &'static str = "query";
    const PRIORITY: CommandPriority = CommandPriority::Interactive;

    fn apply(self, engine: &mut Engine, call: Call<Self::Answer>) {
        let request = self.request;
        let others = request.others.iter().map(|(_, id)| *id);
        let wanted: Vec<DatasetId> = std::iter::once(self.dataset).chain(others).collect();
        let (ctx, caller) = (engine.ctx.clone(), request.user.into());
        read_in_turns(engine, wanted, caller, call, move |turn| found(turn, &ctx, &request));
    }
}

/// The answer to a query.
fn found(
    &InTurn { lease, leases, cancel, share }: &InTurn<'_>,
    ctx: &EngineContext,
    request: &QueryRequest,
) -> Result<QueryResult, QueryError> {
    let names = request.others.iter().map(|(name, _)| name.clone());
    let others = leases.iter().skip(1).map(|lease| lease.properties().clone());
    let others = names.zip(others).collect();
    let drawn = request.drawn || !matches!(request.ask, ParsedQuery::Gfql(..));
    let picture = DrawnPicture { lease, ctx, cancel };
    let graph = if drawn { lease.drawn(cancel)? } else { lease.properties() };
    let (answer, notices) = answer((graph, &picture), &others, request, cancel)?;
    let (memory, graphs) = (share.clone(), GraphsInUse(leases.to_vec()));
    Ok(QueryResult { answer, notices, memory, graphs })
}

fn answer(
    (graph, picture): (&PropertyGraph, &DrawnPicture<'_>),
    others: &Others,
    request: &QueryRequest,
    cancel: &CancelToken,
) -> Result<(QueryAnswer, Vec<Notice>), QueryError> {
    let strictness = request.strictness;
    match &request.ask {
        ParsedQuery::Gfql(query, output) => {
            let output = output.as_deref();
            if request.mode == ResultMode::Plan {
                let plan = graphlume_gfql::explain_on(graph, query, strictness, cancel)?;
                return Ok((QueryAnswer::Plan(plan), vec![]));
            }
            if request.mode == ResultMode::Profile {
                let text = "operations have no profile, only texts in Cypher do";
                return Err(QueryError::new(ErrorCode::Unsupported, text)
                    .field("profile")
                    .value("true")
                    .suggest(
                        "send the query as a text, or explain instead of profile for its plan",
                    ));
            }
            if request.mode == ResultMode::Sizes {
                let (sizes, notices) =
                    graphlume_gfql::sizes(graph, others, query, output, strictness, cancel)?;
                return Ok((QueryAnswer::Sizes(sizes), notices));
            }
            let outcome =
                graphlume_gfql::run_with(graph, others, query, output, strictness, cancel)?;
            Ok((QueryAnswer::Graph(outcome.graph), outcome.notices))
        }
        ParsedQuery::Cypher(text, params) => {
            text_answer(graph, text, request.mode, TextSetting { params, strictness, cancel })
        }
        ParsedQuery::Rule(rule) => {
            Ok((rule_answer((graph, picture), rule, request.mode, cancel)?, vec![]))
        }
    }
}

/// The part of the drawn graph that a rule means.
fn rule_answer(
    (graph, picture): (&PropertyGraph, &DrawnPicture<'_>),
    rule: &Arc<Rule>,
    mode: ResultMode,
    cancel: &CancelToken,
) -> Result<QueryAnswer, QueryError> {
    if let ResultMode::Plan | ResultMode::Profile = mode {
        let text = "a rule has neither a plan nor a profile, only queries do";
        return Err(QueryError::new(ErrorCode::Unsupported, text).suggest("ask for its elements"));
    }
    let mut members = picture.members(rule)?;
    if members.edges.is_empty() {
        // A rule about nodes names no edges. As a set of nodes it means those among them, too.
        let nodes = members.nodes.bytes(picture.lease.facts.node_count);
        members = picture.members(&Arc::new(Rule::Nodes(NodeBytes(nodes.into()))))?;
    }
    let set = |bits: &Bits| IdSet::of_words(bits.words().to_vec());
    let part = graphlume_gfql::part(graph, (set(&members.nodes), set(&members.edges)), cancel)?;
    Ok(match mode {
        ResultMode::Sizes => {
            let nodes = part.node_table(cancel)?;
            QueryAnswer::Sizes(sizes_of((nodes.num_rows(), nodes.num_cols()), part.edges()))
        }
        _ => QueryAnswer::Graph(part),
    })
}

/// The answer to a text in Cypher.
fn text_answer(
    graph: &PropertyGraph,
    text: &graphlume_cypher::Text,
    mode: ResultMode,
    setting: TextSetting<'_>,
) -> Result<(QueryAnswer, Vec<Notice>), QueryError> {
    match mode {
        ResultMode::Plan => {
            let plan = explain_text(graph, text, setting.params, setting.cancel)?;
            return Ok((QueryAnswer::Plan(plan), vec![]));
        }
        ResultMode::Profile => {
            let (told, notices) = profile_text(graph, text, setting)?;
            return Ok((QueryAnswer::Plan(told), notices));
        }
        ResultMode::Rows | ResultMode::Sizes => {}
    }
    let sizes_only = mode == ResultMode::Sizes;
    match run_text(graph, text, setting)? {
        TextAnswer::Rows(rows) => {
            let notices = rows.notices().to_vec();
            let sizes = (rows.num_rows(), rows.names().len());
            let answer = match sizes_only {
                true => QueryAnswer::Sizes(sizes_of(sizes, None)),
                false => QueryAnswer::Rows(rows.table()?),
            };
            Ok((answer, notices))
        }
        TextAnswer::Graph(made, notices) => {
            let nodes = made.node_table(setting.cancel)?;
            let answer = match sizes_only {
                true => {
                    QueryAnswer::Sizes(sizes_of((nodes.num_rows(), nodes.num_cols()), made.edges()))
                }
                false => QueryAnswer::Graph(made),
            };
            Ok((answer, notices))
        }
    }
}

fn sizes_of((nodes, node_columns): (usize, usize), edges: Option<&Table>) -> Sizes {
    let (edges, edge_columns) = edges.map_or((0, 0), |t| (t.num_rows(), t.num_cols()));
    Sizes { nodes, node_columns, edges, edge_columns }
}
