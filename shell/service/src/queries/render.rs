//! Answers written out.

use std::io::Write;

use bytes::Bytes;
use graphlume_gfql::{Sizes, shown};
use graphlume_ingest::{ExportFormat, archive, export};
use graphlume_store::PropertyGraph;
use graphlume_table::Table;
use graphlume_types::{Counted, MemoryConsumer, Notice};
use serde_json::{Value, json};

use super::{QueryOutput, QueryReply, ResponseOptions};
use crate::error::ServiceError;

/// The tables of a graph, with a node table in every case.
fn tables(graph: &PropertyGraph) -> Result<(Table, Option<Table>), ServiceError> {
    let nodes = graph.node_table(&graphlume_types::CancelToken::new())?;
    Ok((nodes, graph.edges().cloned()))
}

pub(super) fn render(
    graph: &PropertyGraph,
    options: &ResponseOptions,
    kept_as: Option<Value>,
    notices: Vec<Notice>,
    memory: &MemoryConsumer,
) -> Result<QueryReply, ServiceError> {
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
    let media_type = format.media_type();
    let mut out = Counted::new(memory.clone());
    match (options.output, format) {
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
            zipped((&nodes, edges.as_ref()), &meta, format, memory, &mut out)?;
            let body = Bytes::from_owner(out.done());
            return Ok(QueryReply { media_type: "application/zip", body, notices });
        }
    }
    Ok(QueryReply { media_type, body: Bytes::from_owner(out.done()), notices })
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
