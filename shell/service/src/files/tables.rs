//! Parsed tables: in a small cache, as derived blobs, and always again from the uploaded bytes.

use std::fs::File;
use std::sync::Arc;

use graphlume_ingest::{
    Failed, IngestError, ParseSpec, Progress, Stage, known_slug, sql_transforms,
};
use graphlume_storage::{BlobRef, StoreError, TableRec, TableSchema};
use graphlume_table::{Buffer, Table, TableSummary};
use graphlume_types::{CancelToken, Code, Notice, UserId, note};
use graphlume_workers::{JobFiles, Watch};

use crate::data::DataStore;
use crate::error::ServiceError;

/// Bytes of a fresh table that is kept for the next load; longer ones are read again then.
const CACHED_BYTES_MAX: u64 = 64 << 20;

/// The tables of uploaded bytes, stored.
pub(crate) struct ParsedTables {
    pub schemas: Vec<TableSchema>,
    pub tables: Vec<BlobRef>,
    pub agent_name: Option<String>,
    pub agent_version: Option<String>,
    pub notices: Vec<Notice>,
}

/// The outcome of parsing uploaded bytes.
pub(crate) enum ParseOutcome {
    /// Their tables are stored.
    Parsed(ParsedTables),
    /// Something is wrong with them, and will be at every further attempt.
    Refused(Failed),
}

impl ParseOutcome {
    /// Whether something is wrong with the bytes.
    pub(crate) const fn is_refused(&self) -> bool {
        matches!(self, Self::Refused(_))
    }

    /// The tables, where there have to be some.
    ///
    /// # Errors
    /// [`ServiceError::Unreadable`].
    pub(crate) fn tables(self) -> Result<ParsedTables, ServiceError> {
        match self {
            Self::Parsed(tables) => Ok(tables),
            Self::Refused(failed) => Err(unreadable(failed)),
        }
    }
}

/// Parses `input`, which is `owner`'s where that is known, and stores its tables in the canonical form. What is wrong
/// with the bytes is an outcome.
///
/// # Errors
/// A disk that fails, a parser that answers nonsense, a parse that was stopped and says nothing about the bytes.
pub(crate) fn parse_and_store(
    data: &DataStore,
    owner: Option<UserId>,
    spec: &ParseSpec,
    input: Arc<File>,
    cancel: &CancelToken,
    watch: Watch,
) -> Result<ParseOutcome, ServiceError> {
    let blobs = data.store.blobs();
    let draft = blobs.draft()?;
    let files =
        JobFiles { input, output: Arc::clone(draft.file()), scratch: Arc::new(blobs.scratch()?) };
    let done = match data.parsers.run(owner, spec, files, cancel, Arc::clone(&watch)) {
        Ok(done) => done,
        Err(failed) => {
            let slug = &failed.record.slug;
            tracing::info!(format = %spec.format, slug, "uploaded bytes did not parse");
            if !failed.is_final() {
                return Err(unreadable(failed));
            }
            return Ok(ParseOutcome::Refused(failed));
        }
    };
    let parts: Vec<_> = done.tables.iter().map(|t| (t.offset, t.len)).collect();
    let drafted = draft.finish(&parts, CACHED_BYTES_MAX)?;
    let rows = done.tables.iter().map(|t| t.summary.num_rows as u64).sum();
    watch(Progress { stage: Stage::Validating, bytes: 0, rows });
    for part in &drafted {
        if let Some(content) = &part.content {
            // Of another process: nothing in it is believed. Longer ones are checked when they are read.
            data.cache.put(part.blob.hash, &Table::read_arrow(Buffer::from(content.as_slice()))?);
        }
    }
    Ok(ParseOutcome::Parsed(ParsedTables {
        schemas: done.tables.into_iter().map(|t| schema_of(t.summary)).collect(),
        tables: drafted.iter().map(|d| d.blob).collect(),
        agent_name: done.agent_name,
        agent_version: done.agent_version,
        notices: of_parse(done.warnings, done.cut, done.misread),
    }))
}

/// What the parser passed over, and whether the tables are those that were meant.
fn of_parse(warnings: Vec<String>, cut: Vec<String>, misread: Vec<String>) -> Vec<Notice> {
    let mut out = Vec::new();
    let passed = warnings.into_iter().map(|text| Notice::new("option-without-effect", text));
    let meant = misread.into_iter().map(|text| Notice::new("file-probably-misread", text));
    let cut = cut.into_iter().map(|text| Notice::new("values-not-exact", text));
    // What changes the meaning is told first.
    meant.chain(cut).chain(passed).for_each(|notice| note(&mut out, notice));
    out
}

/// A failed parse as the answer to a request.
fn unreadable(failed: Failed) -> ServiceError {
    let Failed { record, code } = failed;
    if code == Code::Internal {
        return ServiceError::Internal(record.message);
    }
    ServiceError::Unreadable { message: record.message, slug: known_slug(&record.slug), code }
}

/// A shape as records keep it.
pub(crate) fn schema_of(s: TableSummary) -> TableSchema {
    TableSchema {
        name: s.name,
        dtypes: s.dtypes,
        num_cols: s.num_cols as u64,
        num_rows: s.num_rows as u64,
    }
}

/// The table of a record: cached, else read and verified, else parsed again from the uploaded bytes.
pub(crate) fn load_table(
    data: &DataStore,
    rec: &TableRec,
    cancel: &CancelToken,
) -> Result<Table, ServiceError> {
    if let Some(table) = data.cache.get(&rec.table.hash) {
        return Ok(table);
    }
    if let Some(table) = read_table(data, &rec.table)? {
        return Ok(table);
    }
    let blob = parse_again(data, rec, cancel)?;
    let table = read_table(data, &blob)?.ok_or_else(|| {
        ServiceError::Internal("a table was lost in the moment it was written".to_owned())
    })?;
    if blob.hash != rec.table.hash {
        // Another version of the parser wrote the record: remember the table under the old name, too.
        data.cache.put(rec.table.hash, &table);
    }
    Ok(table)
}

/// A stored table; `None` when it has to be derived again.
fn read_table(data: &DataStore, blob: &BlobRef) -> Result<Option<Table>, ServiceError> {
    if let Some(table) = data.cache.get(&blob.hash) {
        return Ok(Some(table));
    }
    let bytes = match data.store.blobs().read(blob) {
        Ok(bytes) => bytes,
        Err(StoreError::BlobMissing { .. }) => return Ok(None),
        Err(e) => return Err(e.into()),
    };
    match Table::read_arrow(Buffer::from_vec(bytes)) {
        Ok(table) => {
            data.cache.put(blob.hash, &table);
            Ok(Some(table))
        }
        Err(e) => {
            tracing::warn!(error = %e, "a stored table is unreadable and is parsed again");
            Ok(None)
        }
    }
}

/// How a table is derived from its uploaded bytes.
fn spec_of(rec: &TableRec) -> Result<ParseSpec, IngestError> {
    Ok(ParseSpec {
        format: rec.format.parse()?,
        compression: rec.compression.parse()?,
        options: rec.parser_options.clone(),
        sql: sql_transforms(&rec.sql_transforms)?,
    })
}

fn parse_again(
    data: &DataStore,
    rec: &TableRec,
    cancel: &CancelToken,
) -> Result<BlobRef, ServiceError> {
    let Some(raw) = &rec.raw else {
        return Err(ServiceError::Internal("a table record without uploaded bytes".to_owned()));
    };
    let spec = spec_of(rec).map_err(|e| ServiceError::unreadable(&e))?;
    // Verifies the bytes: a damaged upload is never parsed into a plausible table.
    let input = Arc::new(data.store.blobs().open_verified(raw)?);
    let taken = parse_and_store(data, None, &spec, input, cancel, Arc::new(|_| {}))?;
    let tables = taken.tables()?.tables;
    let index = rec.table_index as usize;
    tables.get(index).copied().ok_or_else(|| {
        ServiceError::Internal(format!("table {index} is no longer in the uploaded bytes"))
    })
}

/// Several tables with the same columns below each other.
pub(crate) fn stack(mut tables: Vec<Table>) -> Result<Option<Table>, ServiceError> {
    if tables.len() < 2 {
        return Ok(tables.pop());
    }
    Ok(Some(Table::stack(&tables)?))
}
