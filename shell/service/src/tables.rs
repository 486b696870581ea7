//! Parsed tables: in a small cache, as derived blobs, and always again from the uploaded bytes.

use std::collections::HashMap;
use std::fs::File;
use std::sync::Arc;

use graphlume_ingest::{Failed, IngestError, Progress, Recipe, Stage, known_slug, sql_transforms};
use graphlume_storage::{BlobHash, BlobRef, StoreError, TableRec, TableSchema};
use graphlume_table::{Buffer, Table, TableSummary};
use graphlume_types::{CancelToken, Code, Notice, UserId, note};
use parking_lot::Mutex;

use crate::ServiceError;
use crate::parsers::{JobFiles, Watch};
use crate::service::Core;

/// Bytes of a fresh table that is kept for whoever opens it next; longer ones are read again then.
const CACHED_BYTES_MAX: u64 = 64 << 20;

/// The most recently used tables, up to a number of bytes, by the hash of their stored form.
pub(crate) struct TableCache {
    bytes_max: u64,
    inner: Mutex<Lru>,
}

#[derive(Default)]
struct Lru {
    tables: HashMap<BlobHash, Entry>,
    bytes: u64,
    turn: u64,
}

struct Entry {
    table: Table,
    bytes: u64,
    used: u64,
}

impl TableCache {
    pub(crate) fn new(bytes_max: u64) -> Self {
        Self { bytes_max, inner: Mutex::new(Lru::default()) }
    }

    pub(crate) fn get(&self, hash: &BlobHash) -> Option<Table> {
        let mut lru = self.inner.lock();
        lru.turn += 1;
        let turn = lru.turn;
        let entry = lru.tables.get_mut(hash)?;
        entry.used = turn;
        Some(entry.table.clone())
    }

    /// Keeps a table; the least recently used ones make room. One that never fits is not kept.
    pub(crate) fn put(&self, hash: BlobHash, table: &Table) {
        let bytes = table.memory_bytes();
        if bytes > self.bytes_max {
            return;
        }
        let mut lru = self.inner.lock();
        lru.turn += 1;
        let entry = Entry { table: table.clone(), bytes, used: lru.turn };
        lru.bytes += bytes;
        if let Some(old) = lru.tables.insert(hash, entry) {
            lru.bytes -= old.bytes;
        }
        while lru.bytes > self.bytes_max {
            let oldest = lru.tables.iter().min_by_key(|(_, e)| e.used).map(|(h, _)| *h);
            match oldest.and_then(|h| lru.tables.remove(&h)) {
                Some(e) => lru.bytes -= e.bytes,
                None => break,
            }
        }
    }
}

/// The tables of uploaded bytes, stored.
pub(crate) struct TakenTables {
    pub schemas: Vec<TableSchema>,
    pub tables: Vec<BlobRef>,
    pub agent_name: Option<String>,
    pub agent_version: Option<String>,
    pub notices: Vec<Notice>,
}

/// Parses `input`, which is `owner`'s where that is known, and stores its tables in the canonical form. What is wrong with the bytes is a result.
///
/// # Errors
/// A disk that fails, or a parser that answers nonsense.
pub(crate) fn parse_and_store(
    core: &Core,
    owner: Option<UserId>,
    recipe: &Recipe,
    input: Arc<File>,
    cancel: &CancelToken,
    watch: Watch,
) -> Result<Result<TakenTables, Failed>, ServiceError> {
    let blobs = core.store.blobs();
    let draft = blobs.draft()?;
    let files =
        JobFiles { input, output: Arc::clone(draft.file()), scratch: Arc::new(blobs.scratch()?) };
    let done = match core.parsers.run(owner, recipe, files, cancel, Arc::clone(&watch)) {
        Ok(done) => done,
        Err(failed) => {
            let slug = &failed.record.slug;
            tracing::info!(format = %recipe.format, slug, "uploaded bytes did not parse");
            return Ok(Err(failed));
        }
    };
    let parts: Vec<_> = done.tables.iter().map(|t| (t.offset, t.len)).collect();
    let drafted = draft.finish(&parts, CACHED_BYTES_MAX)?;
    let rows = done.tables.iter().map(|t| t.summary.num_rows as u64).sum();
    watch(Progress { stage: Stage::Validating, bytes: 0, rows });
    for part in &drafted {
        if let Some(content) = &part.content {
            // Of another process: nothing in it is believed. Longer ones are checked when they are read.
            core.cache.put(part.blob.hash, &Table::read_arrow(Buffer::from(content.as_slice()))?);
        }
    }
    Ok(Ok(TakenTables {
        schemas: done.tables.into_iter().map(|t| schema_of(t.summary)).collect(),
        tables: drafted.iter().map(|d| d.blob).collect(),
        agent_name: done.agent_name,
        agent_version: done.agent_version,
        notices: of_parse(done.warnings, done.misread),
    }))
}

/// What the parser passed over, and whether the tables are those that were meant.
fn of_parse(warnings: Vec<String>, misread: Vec<String>) -> Vec<Notice> {
    let mut out = Vec::new();
    let passed = warnings.into_iter().map(|text| Notice::new("option-without-effect", text));
    let meant = misread.into_iter().map(|text| Notice::new("file-probably-misread", text));
    // The latter are the ones to be told first.
    meant.chain(passed).for_each(|notice| note(&mut out, notice));
    out
}

/// A failed parse as the answer to a request.
pub(crate) fn unreadable(failed: Failed) -> ServiceError {
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
    core: &Core,
    rec: &TableRec,
    cancel: &CancelToken,
) -> Result<Table, ServiceError> {
    if let Some(table) = core.cache.get(&rec.table.hash) {
        return Ok(table);
    }
    if let Some(table) = read_table(core, &rec.table)? {
        return Ok(table);
    }
    let blob = parse_again(core, rec, cancel)?;
    let table = read_table(core, &blob)?.ok_or_else(|| {
        ServiceError::Internal("a table was lost in the moment it was written".to_owned())
    })?;
    if blob.hash != rec.table.hash {
        // Another version of the parser wrote the record: remember the table under the old name, too.
        core.cache.put(rec.table.hash, &table);
    }
    Ok(table)
}

/// A stored table; `None` when it has to be derived again.
fn read_table(core: &Core, blob: &BlobRef) -> Result<Option<Table>, ServiceError> {
    if let Some(table) = core.cache.get(&blob.hash) {
        return Ok(Some(table));
    }
    let bytes = match core.store.blobs().read(blob) {
        Ok(bytes) => bytes,
        Err(StoreError::BlobMissing { .. }) => return Ok(None),
        Err(e) => return Err(e.into()),
    };
    match Table::read_arrow(Buffer::from_vec(bytes)) {
        Ok(table) => {
            core.cache.put(blob.hash, &table);
            Ok(Some(table))
        }
        Err(e) => {
            tracing::warn!(error = %e, "a stored table is unreadable and is parsed again");
            Ok(None)
        }
    }
}

/// How a table is derived from its uploaded bytes.
fn recipe_of(rec: &TableRec) -> Result<Recipe, IngestError> {
    Ok(Recipe {
        format: rec.format.parse()?,
        compression: rec.compression.parse()?,
        options: rec.parser_options.clone(),
        sql: sql_transforms(&rec.sql_transforms)?,
    })
}

fn parse_again(core: &Core, rec: &TableRec, cancel: &CancelToken) -> Result<BlobRef, ServiceError> {
    let Some(raw) = &rec.raw else {
        return Err(ServiceError::Internal("a table record without uploaded bytes".to_owned()));
    };
    let recipe = recipe_of(rec).map_err(|e| ServiceError::unreadable(&e))?;
    // Verifies the bytes: a damaged upload is never parsed into a plausible table.
    let input = Arc::new(core.store.blobs().open_verified(raw)?);
    let taken = parse_and_store(core, None, &recipe, input, cancel, Arc::new(|_| {}))?;
    let tables = taken.map_err(unreadable)?.tables;
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
