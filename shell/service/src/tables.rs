//! Parsed tables: in a small cache, as derived blobs, and always again from the uploaded bytes.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use graphlume_ingest::{FileError, Format, IngestError, ParseCx, Parsed, Source, parse};
use graphlume_storage::{BlobHash, BlobRef, Store, StoreError, TableRec, TableSchema};
use graphlume_table::{Buffer, Table};
use graphlume_types::{CancelToken, Code, Coded};
use parking_lot::Mutex;
use serde_json::{Map, Value};

use crate::ServiceError;

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

/// Why uploaded bytes did not become tables: the parser's verdict, or a parser that fell over.
#[derive(Debug)]
pub(crate) struct ParseFailure {
    pub record: Box<FileError>,
    pub code: Code,
    pub slug: &'static str,
}

impl From<IngestError> for ParseFailure {
    fn from(e: IngestError) -> Self {
        Self { record: Box::new(e.to_record()), code: e.code(), slug: e.slug() }
    }
}

impl ParseFailure {
    fn new(slug: &'static str, message: &str) -> Self {
        let record = Box::new(FileError {
            message: message.to_owned(),
            slug: slug.to_owned(),
            table: None,
            row: None,
            column: None,
        });
        Self { record, code: Code::InvalidArgument, slug }
    }

    /// Whether the failure says something about the bytes, not about this moment.
    pub(crate) fn is_final(&self) -> bool {
        !self.code.is_transient() && self.code != Code::Cancelled
    }

    pub(crate) fn into_error(self) -> ServiceError {
        if self.code == Code::Internal {
            return ServiceError::Internal(self.record.message);
        }
        ServiceError::Unreadable { message: self.record.message, slug: self.slug, code: self.code }
    }
}

/// What is to be parsed, and how.
#[derive(Debug, Clone)]
pub(crate) struct Recipe {
    pub format: Format,
    pub options: Map<String, Value>,
}

/// [`parse`] that also survives a defect of a parser. Work spreads over the current rayon pool.
pub(crate) fn parse_guarded(
    recipe: &Recipe,
    source: &Source,
    cancel: &CancelToken,
) -> Result<Parsed, ParseFailure> {
    let cx = ParseCx { cancel: cancel.clone() };
    let run = || parse(recipe.format, source, &recipe.options, &cx);
    match catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(parsed)) if parsed.tables.is_empty() => {
            Err(ParseFailure::new("no-table", "the data hold no table; send at least one"))
        }
        Ok(outcome) => Ok(outcome?),
        Err(_) => {
            tracing::error!(format = %recipe.format, "a parser panicked on uploaded bytes");
            Err(ParseFailure::new(
                "parser-defect",
                "the parser failed on these bytes, which is a defect of the server; \
                 another file type may work",
            ))
        }
    }
}

/// The shape of a table as records keep it.
pub(crate) fn schema_of(name: &str, table: &Table) -> TableSchema {
    let s = table.summary(name);
    TableSchema {
        name: s.name,
        dtypes: s.dtypes,
        num_cols: s.num_cols as u64,
        num_rows: s.num_rows as u64,
    }
}

/// Writes the canonical form as a derived blob and remembers the table.
pub(crate) fn store_table(
    store: &Store,
    cache: &TableCache,
    table: &Table,
) -> Result<BlobRef, ServiceError> {
    let mut writer = store.blobs().derived()?;
    table.write_arrow(&mut writer)?;
    let blob = writer.finish()?;
    cache.put(blob.hash, table);
    Ok(blob)
}

/// The table of a record: cached, else read and verified, else parsed again from the uploaded bytes.
pub(crate) fn load_table(
    store: &Store,
    cache: &TableCache,
    rec: &TableRec,
    cancel: &CancelToken,
) -> Result<Table, ServiceError> {
    if let Some(table) = cache.get(&rec.table.hash) {
        return Ok(table);
    }
    match store.blobs().read(&rec.table) {
        Ok(bytes) => match Table::read_arrow(Buffer::from_vec(bytes)) {
            Ok(table) => {
                cache.put(rec.table.hash, &table);
                return Ok(table);
            }
            Err(e) => {
                tracing::warn!(error = %e, "a stored table is unreadable and is parsed again")
            }
        },
        Err(StoreError::BlobMissing { .. }) => {}
        Err(e) => return Err(e.into()),
    }
    let table = parse_again(store, rec, cancel)?;
    let blob = store_table(store, cache, &table)?;
    if blob.hash != rec.table.hash {
        // Another version of the parser wrote the record: remember the table under the old name, too.
        cache.put(rec.table.hash, &table);
    }
    Ok(table)
}

fn parse_again(store: &Store, rec: &TableRec, cancel: &CancelToken) -> Result<Table, ServiceError> {
    let Some(raw) = &rec.raw else {
        return Err(ServiceError::Internal("a table record without uploaded bytes".to_owned()));
    };
    let format = rec.format.parse().map_err(|e: IngestError| ServiceError::unreadable(&e))?;
    let recipe = Recipe { format, options: rec.parser_options.clone() };
    // Verifies the bytes: a damaged upload is never parsed into a plausible table.
    drop(store.blobs().open_verified(raw)?);
    let source = Source::Path(store.blobs().path(raw));
    let parsed = parse_guarded(&recipe, &source, cancel).map_err(ParseFailure::into_error)?;
    let index = rec.table_index as usize;
    parsed.tables.into_iter().nth(index).map(|(_, t)| t).ok_or_else(|| {
        ServiceError::Internal(format!("table {index} is no longer in the uploaded bytes"))
    })
}

/// Several tables of one schema below each other.
pub(crate) fn stack(mut tables: Vec<Table>) -> Result<Option<Table>, ServiceError> {
    if tables.len() < 2 {
        return Ok(tables.pop());
    }
    let schema = tables[0].batch().schema();
    let batches: Vec<_> = tables.iter().map(|t| t.batch().clone()).collect();
    Ok(Some(Table::concat(schema, &batches)?))
}
