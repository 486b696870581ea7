//! Node and edge tables uploaded straight into a dataset.

use std::sync::Arc;

use bytes::Bytes;
use graphlume_engine::EngineHandle;
use graphlume_identity::Principal;
use graphlume_identity::authz::Action;
use graphlume_ingest::{Format, IngestError, ParseSpec};
use graphlume_storage::{DatasetRec, StoreError, TableRec};
use graphlume_types::{DatasetId, Notice, note};
use serde_json::Value;

use super::create::{check_edges, check_nodes, with_notices};
use super::encodings::{ElementKind, bound};
use super::{Datasets, News, commit, has_edges, no_dataset, preview, tell_engine};
use crate::claims::Claim;
use crate::data::{DataStore, blocking};
use crate::error::ServiceError;
use crate::files::tables::ParsedTables;
use crate::files::upload_stream::{StoredUpload, UploadStream};
use crate::quotas::Room;
use crate::reply::{DirectData, DirectReply};
use crate::task::to_the_end;

/// A table on its way into a dataset. Dropping it leaves the dataset as it was.
pub struct PartUpload {
    data: Arc<DataStore>,
    engine: EngineHandle,
    stream: UploadStream,
    dataset: DatasetId,
    part: ElementKind,
    spec: ParseSpec,
    claim: Claim,
}

impl Datasets {
    /// Starts the upload of one part of a dataset. `format` is the last part of the address, `query` the
    /// parser options in it, `declared_len` the announced length of the body.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`], [`ServiceError::Forbidden`]; an unknown format or option; a body over
    /// the limit; [`ServiceError::Conflict`] while another upload of the part runs.
    pub async fn begin_part_upload(
        &self,
        who: &Principal,
        id: &str,
        part: ElementKind,
        format: &str,
        query: Vec<(String, String)>,
        declared_len: Option<u64>,
    ) -> Result<PartUpload, ServiceError> {
        let (rec, _) = self.stored_for(who, Action::Write, id).await?;
        let format: Format = format
            .parse()
            .map_err(|e: IngestError| ServiceError::invalid("format", e.to_string()))?;
        let options = graphlume_ingest::options_from_query(format, &query)
            .map_err(|e| ServiceError::unreadable(&e))?;
        let claim = self.ctx.claims.take(format!("the {part} of dataset {}", rec.dataset_id))?;
        let stream =
            UploadStream::begin(&self.ctx, rec.author, declared_len, Arc::new(|_| {})).await?;
        Ok(PartUpload {
            data: Arc::clone(&self.ctx.data),
            engine: self.ctx.engine.clone(),
            stream,
            dataset: rec.dataset_id,
            part,
            spec: ParseSpec { options, ..ParseSpec::plain(format) },
            claim,
        })
    }
}

impl PartUpload {
    /// Takes the next piece of the body.
    ///
    /// # Errors
    /// A body over the limit or over its announced length; a disk that fails.
    pub async fn write(&mut self, piece: Bytes) -> Result<(), ServiceError> {
        self.stream.write(piece).await
    }

    /// Parses the body, checks the bindings against it, and answers once it is durable. The earlier
    /// table of the part, if any, is replaced as a whole or not at all.
    ///
    /// # Errors
    /// Content that does not parse, or that lacks a column that the graph cannot do without; a disk that
    /// fails; a dataset deleted meanwhile.
    pub async fn finish(self) -> Result<DirectReply, ServiceError> {
        let Self { data, engine, stream, dataset, part, spec, claim } = self;
        let ParseSpec { format, compression, options, .. } = spec.clone();
        let StoredUpload { raw, parsed, room, parse_micros } = stream.finish(spec).await?;
        let taken = parsed.tables()?;
        let ParsedTables { mut schemas, mut tables, notices: mut parsed, .. } = taken;
        if schemas.len() > 1 {
            let text = format!("the body has {} tables: the first one was taken", schemas.len());
            note(&mut parsed, Notice::new("tables-not-used", text).about(schemas.len() as u64 - 1));
        }
        let (schema, table) = (schemas.swap_remove(0), tables.swap_remove(0));
        let rec = TableRec {
            schema: schema.clone(),
            table,
            raw: Some(raw),
            format: format.name().to_owned(),
            compression: compression.name().to_owned(),
            parser_options: options,
            sql_transforms: Value::Null,
            table_index: 0,
            file: None,
            uploaded_at: data.clock.unix_micros(),
        };
        let notices = to_the_end(async move {
            let write = move |c: &DataStore| attach(c, dataset, part, rec, parsed, room);
            let (news, notices) = blocking(&data, write).await?;
            tell_engine(&engine, dataset, news).await;
            drop(claim);
            Ok(notices)
        })
        .await?;
        Ok(DirectReply {
            data: DirectData {
                dataset_id: dataset.to_string(),
                dtypes: schema.dtypes,
                num_cols: schema.num_cols,
                num_rows: schema.num_rows,
                time_parsing_s: parse_micros / 1_000_000,
                notices: notices.clone(),
            },
            message: with_notices("Data uploaded", &notices),
            success: true,
        })
    }
}

/// Puts the table into the dataset's record. The part's claim keeps others out; the other part may
/// change meanwhile, hence the loop.
fn attach(
    data: &DataStore,
    dataset: DatasetId,
    part: ElementKind,
    table: TableRec,
    parsed: Vec<Notice>,
    mut room: Option<Room>,
) -> Result<(News, Vec<Notice>), ServiceError> {
    loop {
        let found = data.store.get_tagged::<DatasetRec>(&dataset)?;
        let (mut rec, tag) = found.ok_or_else(|| no_dataset(dataset))?;
        let before = rec.clone();
        let mut notices = parsed.clone();
        let had_edges = has_edges(&rec);
        match part {
            ElementKind::Edges => {
                let makes_nodes = rec.direct_nodes.is_none() && rec.node_tables.is_empty();
                check_edges(&rec, &[&table.schema], makes_nodes, &mut notices)?;
                let is_made = !rec.edge_hypergraph_transform.is_empty();
                rec.edge_count = (!is_made).then_some(table.schema.num_rows);
                rec.direct_edges = Some(table.clone());
            }
            ElementKind::Nodes => {
                check_nodes(&rec, &table.schema, &mut notices)?;
                rec.direct_nodes = Some(table.clone());
            }
        }
        preview::notices_of(data, &rec, &mut notices);
        rec.node_count = None;
        rec.notices = notices.clone();
        rec.data_version += 1;
        rec.updated_at = data.clock.unix_micros();
        room = Some(data.quotas.record_within(&data.store, &rec, Some(&before), room)?);
        match commit(data, &rec, tag) {
            Ok(()) => return Ok((readiness(&rec, part, had_edges), notices)),
            Err(ServiceError::Store(StoreError::Changed { .. })) => {}
            Err(e) => return Err(e),
        }
    }
}

fn readiness(rec: &DatasetRec, part: ElementKind, had_edges: bool) -> News {
    if !has_edges(rec) {
        return News::NotYet;
    }
    // Nodes alone are a picture, which may be what was asked for.
    let had_nodes = rec.direct_nodes.is_some() || !rec.node_tables.is_empty();
    if had_edges || (part == ElementKind::Edges && had_nodes) {
        return News::Again;
    }
    // Clients send the edges first. With a bound node id the node table probably follows at once, and
    // a load now would be for nothing; without one, nothing follows. A transform makes its nodes.
    let nodes_follow = part == ElementKind::Edges
        && rec.edge_hypergraph_transform.is_empty()
        && bound(&rec.node_encodings, "node").is_some()
        && rec.direct_nodes.is_none()
        && rec.node_tables.is_empty();
    if nodes_follow { News::NotYet } else { News::First }
}
