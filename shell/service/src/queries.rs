//! Queries over a dataset's graph, answered in the shapes that clients of the remote endpoint read.

use std::io::Write;
use std::sync::Arc;

use bytes::Bytes;
use graphlume_engine::{Answered, Ask, QueryAnswer, QueryRequest, Want, give_back_freed};
use graphlume_gfql::{ErrorCode, GfqlError, PropertyGraph, Sizes, Strictness, no_dataset, shown};
use graphlume_ingest::{ExportFormat, archive, export};
use graphlume_table::Table;
use graphlume_types::limits::QUERY_DATASETS_MAX;
use graphlume_types::{Code, Coded, Counted, DatasetId, Notice, Share};
use serde_json::{Map, Value, json};

use crate::authz::Action;
use crate::body::object;
use crate::datasets::known_for;
use crate::persist::Keep;
use crate::principal::Principal;
use crate::{Service, ServiceError};

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
    pub body: Bytes,
    /// What the query named in vain, where that was no error.
    pub notices: Vec<Notice>,
}

/// The request beside the query itself.
struct Wish {
    output: QueryOutput,
    format: ExportFormat,
    node_columns: Option<Vec<String>>,
    edge_columns: Option<Vec<String>>,
}

impl Service {
    /// Answers a query over a dataset that the caller may read. `output` is `all`, `nodes`, `edges` or
    /// `shape`; the body has `gfql_query` (operations, or a text in Cypher with its `params`) or
    /// `gfql_operations`, and may have `gfql_output`, `format`, `strictness`, `node_col_subset` and
    /// `edge_col_subset`. With `explain` the answer is the plan as text, and nothing is evaluated.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`]; a body field that is missing or wrong; [`ServiceError::Query`] for a
    /// query that is refused, with its slug.
    pub async fn query_dataset(
        &self,
        who: &Principal,
        id: &str,
        output: &str,
        body: &[u8],
    ) -> Result<QueryReply, ServiceError> {
        let dataset = known_for(&self.core, who, Action::Read, id)?.id();
        self.engine.note_request();
        let output = QueryOutput::parse(output)?;
        let body = object(body)?;
        let wish = Wish {
            output,
            format: format_of(&body, output)?,
            node_columns: columns_of(&body, "node_col_subset")?,
            edge_columns: columns_of(&body, "edge_col_subset")?,
        };
        let keep = match flag_of(&body, "persist")? {
            true if output == QueryOutput::All => Some(Keep::of(&body)?),
            true => {
                let message = "persist keeps whole graphs: ask for the output type all";
                return Err(ServiceError::invalid("persist", message));
            }
            false => None,
        };
        let ask = ask_of(&body)?;
        // Columns that are left out count, too.
        let sizes = output == QueryOutput::Shape
            && wish.node_columns.is_none()
            && wish.edge_columns.is_none();
        let request = QueryRequest {
            drawn: false,
            others: self.others_of(who, &ask)?,
            ask,
            strictness: strictness_of(&body)?,
            user: who.user(),
            want: match flag_of(&body, "explain")? {
                true => Want::Plan,
                false if sizes => Want::Sizes,
                false => Want::Rows,
            },
        };
        let (user, limit) = (who.user(), self.engine.query_memory_max());
        self.unread.check(user, limit)?;
        let Answered { answer, memory, notices } = self.engine.query(dataset, request).await??;
        let graph = match answer {
            QueryAnswer::Sizes(sizes) => return sized(sizes, wish.format, notices),
            QueryAnswer::Plan(plan) => {
                let body = plan.into_bytes().into();
                return Ok(QueryReply { media_type: PLAN_TYPE, body, notices });
            }
            QueryAnswer::Graph(graph) => graph,
            QueryAnswer::Rows(rows) => PropertyGraph::of_rows(rows, None),
        };
        let kept = match &keep {
            None => None,
            Some(keep) => {
                let made = self.keep_result(who, "query result", &graph, keep, &memory).await?;
                let mut said = json!({
                    "dataset_id": made.to_string(), "persist": true, "format": wish.format.name(),
                });
                if let Some(privacy) = keep.privacy() {
                    said["privacy"] = privacy;
                }
                Some(said)
            }
        };
        // Writing an answer out takes a core, and what waits for one is counted already.
        let place = Arc::clone(&self.renders).acquire_owned().await;
        let mut reply = self
            .blocking(move |_| {
                let _place = place;
                let reply = render(&graph, &wish, kept, notices, &memory);
                // The tables are counted until they are gone, what was written until it is sent.
                let had = memory.kept();
                drop(graph);
                give_back_freed(had);
                drop(memory);
                reply
            })
            .await?;
        reply.body = self.unread.hold(user, reply.body, limit)?;
        Ok(reply)
    }
}

impl Service {
    /// The other datasets that a query names, when the caller may read them all. One that does not exist
    /// and one that is not for the caller are told apart by nothing.
    pub(crate) fn others_of(
        &self,
        who: &Principal,
        ask: &Ask,
    ) -> Result<Vec<(String, DatasetId)>, ServiceError> {
        let Ask::Gfql(query, _) = ask else { return Ok(vec![]) };
        let names = query.datasets();
        if names.len() > QUERY_DATASETS_MAX {
            let text = format!(
                "the query reads {} other datasets; the limit is {QUERY_DATASETS_MAX}",
                names.len()
            );
            return Err(GfqlError::new(ErrorCode::Limit, text)
                .field("dataset_id")
                .suggest("ask in several queries")
                .into());
        }
        let found =
            names.into_iter().map(|name| match known_for(&self.core, who, Action::Read, name) {
                Ok(found) => Ok((name.to_owned(), found.id())),
                Err(e) if e.code() == Code::Internal => Err(e),
                Err(_) => Err(no_dataset(name).into()),
            });
        found.collect()
    }
}

fn text_of(body: &Map<String, Value>, field: &'static str) -> Result<Option<String>, ServiceError> {
    match body.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => {
            Err(ServiceError::invalid(field, format!("{field} is {other}; it has to be a text")))
        }
    }
}

/// Media type of a plan.
const PLAN_TYPE: &str = "text/plain; charset=utf-8";

fn flag_of(body: &Map<String, Value>, field: &'static str) -> Result<bool, ServiceError> {
    match body.get(field) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(v)) => Ok(*v),
        Some(other) => Err(ServiceError::invalid(
            field,
            format!("{field} is {other}; it has to be true or false"),
        )),
    }
}

fn columns_of(
    body: &Map<String, Value>,
    field: &'static str,
) -> Result<Option<Vec<String>>, ServiceError> {
    let wrong =
        || ServiceError::invalid(field, format!("{field} has to be a list of column names"));
    match body.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(items)) => {
            let names = items.iter().map(|v| v.as_str().map(str::to_owned).ok_or_else(wrong));
            Ok(Some(names.collect::<Result<_, _>>()?))
        }
        Some(_) => Err(wrong()),
    }
}

fn format_of(body: &Map<String, Value>, output: QueryOutput) -> Result<ExportFormat, ServiceError> {
    let Some(name) = text_of(body, "format")? else {
        let shape = output == QueryOutput::Shape;
        return Ok(if shape { ExportFormat::Json } else { ExportFormat::Parquet });
    };
    name.parse().map_err(|()| {
        let names = ExportFormat::NAMES.join(", ");
        ServiceError::invalid(
            "format",
            format!("format {name:?} does not exist; use one of {names}"),
        )
    })
}

fn strictness_of(body: &Map<String, Value>) -> Result<Strictness, ServiceError> {
    match text_of(body, "strictness")?.as_deref() {
        None | Some("warn" | "quiet") => Ok(Strictness::Lenient),
        Some("strict") => Ok(Strictness::Strict),
        Some(other) => {
            let message = format!("strictness {other:?} does not exist; use strict, warn or quiet");
            Err(ServiceError::invalid("strictness", message))
        }
    }
}

/// The query: `gfql_query` where it is given, else `gfql_operations`.
fn ask_of(body: &Map<String, Value>) -> Result<Ask, ServiceError> {
    let given = |field: &str| body.get(field).filter(|v| !v.is_null());
    let query = given("gfql_query").or_else(|| given("gfql_operations")).ok_or_else(|| {
        let message = "send the query as gfql_query, or a list of operations as gfql_operations";
        ServiceError::invalid("gfql_query", message)
    })?;
    let output = text_of(body, "gfql_output")?;
    if let Value::String(text) = query {
        if let Some(output) = output {
            return Err(GfqlError::new(ErrorCode::Output, "only a Let has named results")
                .field("gfql_output")
                .value(output)
                .suggest("leave gfql_output out")
                .into());
        }
        let params = match body.get("params") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(params)) => params.clone(),
            Some(_) => return Err(ServiceError::invalid("params", "params has to be an object")),
        };
        return Ok(Ask::Cypher(Arc::new(graphlume_cypher::parse(text)?), params));
    }
    Ok(Ask::Gfql(Arc::new(graphlume_gfql::parse(query)?), output))
}

/// The tables of a graph, with a node table in every case.
fn tables(graph: &PropertyGraph) -> Result<(Table, Option<Table>), ServiceError> {
    let nodes = graph.node_table(&graphlume_types::CancelToken::new())?;
    Ok((nodes, graph.edges().cloned()))
}

fn render(
    graph: &PropertyGraph,
    wish: &Wish,
    kept_as: Option<Value>,
    notices: Vec<Notice>,
    memory: &Share,
) -> Result<QueryReply, ServiceError> {
    let bindings = graph.bindings();
    let (nodes, edges) = tables(graph)?;
    let rows = bindings.node.is_none() && graph.nodes().is_some();
    let node_id = (!rows).then(|| graph.node_column());
    let nodes = kept(nodes, wish.node_columns.as_deref(), &[node_id], "node_col_subset")?;
    let ends = [bindings.source.as_deref(), bindings.destination.as_deref()];
    let edges = edges
        .map(|edges| kept(edges, wish.edge_columns.as_deref(), &ends, "edge_col_subset"))
        .transpose()?;
    let format = wish.format;
    let media_type = format.media_type();
    let mut out = Counted::new(memory.clone());
    match (wish.output, format) {
        (QueryOutput::Shape, _) => {
            let parts = [("nodes", size_of(Some(&nodes))), ("edges", size_of(edges.as_ref()))];
            write(Some(&graphlume_table::shape(&parts)?), format, &mut out)?;
        }
        (QueryOutput::Nodes, _) => write(Some(&nodes), format, &mut out)?,
        (QueryOutput::Edges, _) => write(edges.as_ref(), format, &mut out)?,
        (QueryOutput::All, ExportFormat::Json) => {
            put(&mut out, br#"{"nodes":"#)?;
            write(Some(&nodes), format, &mut out)?;
            put(&mut out, br#","edges":"#)?;
            write(edges.as_ref(), format, &mut out)?;
            put(&mut out, br#","metadata":"#)?;
            let mut look = shown(graph);
            if !notices.is_empty() {
                look["notices"] = json!(notices);
            }
            put(&mut out, look.to_string().as_bytes())?;
            if let Some(kept) = kept_as {
                put(&mut out, br#","dataset_id":"#)?;
                put(&mut out, kept["dataset_id"].to_string().as_bytes())?;
            }
            put(&mut out, b"}")?;
        }
        (QueryOutput::All, _) => {
            let mut meta = kept_as.unwrap_or_else(|| json!({}));
            let mut look = shown(graph);
            if meta["persist"] == json!(true) {
                look = kept_look(&look);
            }
            meta["gfql_metadata"] = look;
            if !notices.is_empty() {
                meta["notices"] = json!(notices);
            }
            let meta = meta.to_string().into_bytes();
            let member = |table: Option<&Table>| {
                let mut out = Counted::new(memory.clone());
                write(table, format, &mut out)?;
                Ok::<_, ServiceError>(out.done())
            };
            let (nodes, edges) = (member(Some(&nodes))?, member(edges.as_ref())?);
            let members = [
                (format!("nodes.{}", format.name()), nodes.as_ref()),
                (format!("edges.{}", format.name()), edges.as_ref()),
                ("metadata.json".to_owned(), meta.as_slice()),
            ];
            archive(&members, &mut out).map_err(|e| unwritten(&mut out, &e))?;
            let body = Bytes::from_owner(out.done());
            return Ok(QueryReply { media_type: "application/zip", body, notices });
        }
    }
    Ok(QueryReply { media_type, body: Bytes::from_owner(out.done()), notices })
}

/// What the answer says of the look of a result that is kept. Clients forget the id of the new dataset when
/// they bind a column, so what they would bind is left out: the dataset itself has it.
fn kept_look(look: &Value) -> Value {
    let complex = &look["encodings"]["complex_encodings"];
    if complex.is_null() {
        return json!({});
    }
    json!({ "encodings": { "complex_encodings": complex } })
}

fn sized(
    sizes: Sizes,
    format: ExportFormat,
    notices: Vec<Notice>,
) -> Result<QueryReply, ServiceError> {
    let Sizes { nodes, node_columns, edges, edge_columns } = sizes;
    let shape = graphlume_table::shape(&[
        ("nodes", (nodes, node_columns)),
        ("edges", (edges, edge_columns)),
    ])?;
    let mut body = Vec::new();
    export(&shape, format, &mut body)
        .map_err(|e| ServiceError::invalid("format", e.to_string()))?;
    Ok(QueryReply { media_type: format.media_type(), body: body.into(), notices })
}

fn size_of(table: Option<&Table>) -> (usize, usize) {
    table.map_or((0, 0), |t| (t.num_rows(), t.num_cols()))
}

/// Writes a table in its format; no table is an empty list or an empty file.
fn write(
    table: Option<&Table>,
    format: ExportFormat,
    out: &mut Counted,
) -> Result<(), ServiceError> {
    match table {
        Some(table) if table.num_cols() > 0 => {
            export(table, format, out).map_err(|e| unwritten(out, &e))
        }
        _ if format == ExportFormat::Json => put(out, b"[]"),
        _ => Ok(()),
    }
}

fn put(out: &mut Counted, bytes: &[u8]) -> Result<(), ServiceError> {
    out.write_all(bytes).map_err(|e| unwritten(out, &e))
}

fn unwritten(out: &mut Counted, e: &dyn std::error::Error) -> ServiceError {
    match out.refused() {
        Some(refused) => graphlume_engine::EngineError::from(refused).into(),
        None => ServiceError::invalid("format", e.to_string()),
    }
}

/// The columns that were asked for. Those that make the graph are kept in any case: clients refuse a
/// result without them.
fn kept(
    table: Table,
    wanted: Option<&[String]>,
    bound: &[Option<&str>],
    field: &'static str,
) -> Result<Table, ServiceError> {
    let Some(wanted) = wanted else { return Ok(table) };
    let names = table.column_names();
    if let Some(missing) = wanted.iter().find(|w| !names.contains(&w.as_str())) {
        let names = names.join(", ");
        let message = format!("{field} names column {missing:?}; the result has {names}");
        return Err(ServiceError::invalid(field, message));
    }
    let keep = |name: &str| wanted.iter().any(|w| w == name) || bound.contains(&Some(name));
    let places: Vec<usize> =
        names.iter().enumerate().filter(|(_, n)| keep(n)).map(|(i, _)| i).collect();
    let batch = table.batch().project(&places);
    let batch = batch.map_err(|e| ServiceError::Internal(e.to_string()))?;
    Ok(Table::try_new(batch)?)
}

impl From<GfqlError> for ServiceError {
    fn from(e: GfqlError) -> Self {
        if e.code() == Code::Internal {
            return Self::Internal(e.to_string());
        }
        Self::Query(Box::new(e))
    }
}
