//! Answers written out.

use bytes::Bytes;
use graphlume_calls::show::shown;
use graphlume_gfql::Sizes;
use graphlume_ingest::{ExportFormat, archive, export};
use graphlume_store::PropertyGraph;
use graphlume_table::Table;
use graphlume_types::{Counted, MemoryConsumer, Notice};
use serde_json::{Value, json};

use super::stream::AnswerPart;
use super::{QueryBody, QueryOutput, QueryReply, ResponseOptions};
use crate::error::ServiceError;

/// The tables of a graph, with a node table in every case.
fn tables(graph: &PropertyGraph) -> Result<(Table, Option<Table>), ServiceError> {
    let nodes = graph.node_table(&graphlume_types::CancelToken::new())?;
    Ok((nodes, graph.edges().cloned()))
}

/// An answer that is written out, or what it is made of.
pub(super) enum Rendered {
    Whole(Bytes),
    /// Many rows, to be rendered while they are sent, with the memory that their tables hold.
    Parts(Vec<AnswerPart>, MemoryConsumer),
}

/// Rows from which an answer is rendered while it is sent; fewer leave as a body of known length.
const STREAMED_ROWS_MIN: usize = 1 << 16;

pub(super) fn render(
    graph: &PropertyGraph,
    options: &ResponseOptions,
    kept_as: Option<Value>,
    notices: &[Notice],
    memory: &MemoryConsumer,
) -> Result<(&'static str, Rendered), ServiceError> {
    let bindings = graph.bindings();
    let (nodes, edges) = tables(graph)?;
    let rows = bindings.node.is_none() && graph.nodes().is_some();
    let node_id = (!rows).then(|| graph.node_column());
    let nodes = kept(nodes, options.node_columns.as_deref(), &[node_id], "node_col_subset")?;
    let ends = [bindings.source.as_deref(), bindings.destination.as_deref()];
    let edges = edges
        .map(|edges| kept(edges, options.edge_columns.as_deref(), &ends, "edge_col_subset"))
        .transpose()?;
    let format = options.format;
    let parts = match (options.output, format) {
        (QueryOutput::Shape, _) => {
            let parts = [("nodes", size_of(Some(&nodes))), ("edges", size_of(edges.as_ref()))];
            vec![AnswerPart::of(Some(graphlume_table::shape(&parts)?), format)]
        }
        (QueryOutput::Nodes, _) => vec![AnswerPart::of(Some(nodes), format)],
        (QueryOutput::Edges, _) => vec![AnswerPart::of(edges, format)],
        (QueryOutput::All, ExportFormat::Json) => {
            let mut look = shown(graph);
            if !notices.is_empty() {
                look["notices"] = json!(notices);
            }
            let mut rest = format!(r#","metadata":{look}"#);
            if let Some(kept) = kept_as {
                rest += &format!(r#","dataset_id":{}"#, kept["dataset_id"]);
            }
            rest.push('}');
            vec![
                AnswerPart::Text(Bytes::from_static(br#"{"nodes":"#)),
                AnswerPart::of(Some(nodes), format),
                AnswerPart::Text(Bytes::from_static(br#","edges":"#)),
                AnswerPart::of(edges, format),
                AnswerPart::Text(rest.into()),
            ]
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
            let mut out = Counted::new(memory.clone());
            zipped((&nodes, edges.as_ref()), &meta, format, memory, &mut out)?;
            return Ok(("application/zip", Rendered::Whole(Bytes::from_owner(out.done()))));
        }
    };
    if rows_of(&parts).is_some_and(|rows| rows >= STREAMED_ROWS_MIN) {
        return Ok((format.media_type(), Rendered::Parts(parts, memory.clone())));
    }
    let mut out = Counted::new(memory.clone());
    parts.iter().try_for_each(|part| part.write(&mut out)).map_err(|e| unwritten(&mut out, &e))?;
    Ok((format.media_type(), Rendered::Whole(Bytes::from_owner(out.done()))))
}

/// How many rows there are in parts that can be rendered while they are sent.
fn rows_of(parts: &[AnswerPart]) -> Option<usize> {
    let rows = |part: &AnswerPart| match part {
        AnswerPart::Text(_) => Some(0),
        AnswerPart::Rows(rows) => Some(rows.num_rows()),
        AnswerPart::Table(..) => None,
    };
    parts.iter().map(rows).sum()
}

/// Nodes, edges and what is said of them as the members of one archive.
fn zipped(
    (nodes, edges): (&Table, Option<&Table>),
    meta: &Value,
    format: ExportFormat,
    memory: &MemoryConsumer,
    out: &mut Counted,
) -> Result<(), ServiceError> {
    let meta = meta.to_string().into_bytes();
    let member = |table: Option<&Table>| {
        let mut out = Counted::new(memory.clone());
        write(table, format, &mut out)?;
        Ok::<_, ServiceError>(out.done())
    };
    let (nodes, edges) = (member(Some(nodes))?, member(edges)?);
    let members = [
        (format!("nodes.{}", format.name()), nodes.as_ref()),
        (format!("edges.{}", format.name()), edges.as_ref()),
        ("metadata.json".to_owned(), meta.as_slice()),
    ];
    archive(&members, out).map_err(|e| unwritten(out, &e))
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

pub(super) fn sized(
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
    Ok(QueryReply { media_type: format.media_type(), body: QueryBody::Whole(body.into()), notices })
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
    AnswerPart::of(table.cloned(), format).write(out).map_err(|e| unwritten(out, &e))
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
