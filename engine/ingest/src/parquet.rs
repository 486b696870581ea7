//! Parquet, with the options `columns` and `row_groups`.

mod dialect;
mod footer;
mod int96;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::Schema;
use bytes::Bytes;
use graphlume_table::Table;
use graphlume_types::limits::{DECOMPRESSED_BYTES_MAX, ROWS_MAX};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use parquet::file::metadata::ParquetMetaDataReader;
use rayon::prelude::*;
use serde_json::Value;

use crate::error::one_line;
use crate::format::{FormatSpec, by_signature};
use crate::meter::Meter;
use crate::options::{OptionKind, Options, on};
use crate::{Format, IngestError, ParseCx, Parsed};

/// Rows of one column that are read between two looks around: as many as a row group usually has, so
/// that its columns need not be joined from pieces, and few enough to take milliseconds.
const BATCH_ROWS: usize = 1 << 20;

fn bad(e: impl std::fmt::Display) -> IngestError {
    let message = format!("the Parquet data cannot be read: {}", one_line(e));
    IngestError::malformed(Format::Parquet, message)
}

/// Parquet in the list of formats.
pub(crate) const FORMAT: FormatSpec = FormatSpec {
    name: "parquet",
    malformed: "malformed-parquet",
    options: &[on("columns", OptionKind::List), on("row_groups", OptionKind::Json)],
    signatures: &[b"PAR1"],
    resembles: by_signature,
    parse,
};

/// Reads the chosen columns and row groups into one table.
pub fn parse(bytes: &Bytes, options: Options<'_>, cx: &ParseCx) -> Result<Parsed, IngestError> {
    let columns = options.texts("columns")?;
    let groups = row_groups(options)?;
    let read = || read(bytes, columns.as_deref(), groups, cx);
    let (table, cut) = catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(bad("its metadata contradicts its pages")))?;
    Ok(Parsed { cut, ..Parsed::one(table, Vec::new()) })
}

fn row_groups(options: Options<'_>) -> Result<Option<Vec<usize>>, IngestError> {
    let index = |v: &Value| {
        let index = v.as_u64().and_then(|i| usize::try_from(i).ok());
        index.ok_or_else(|| {
            let message = "must be the index of a row group, from 0, or a list of such";
            IngestError::option("row_groups", message)
        })
    };
    match options.get("row_groups") {
        None => Ok(None),
        Some(Value::Array(list)) => list.iter().map(index).collect::<Result<_, _>>().map(Some),
        Some(one) => Ok(Some(vec![index(one)?])),
    }
}

fn read(
    bytes: &Bytes,
    columns: Option<&[String]>,
    groups: Option<Vec<usize>>,
    cx: &ParseCx,
) -> Result<(Table, Vec<String>), IngestError> {
    let options = ArrowReaderOptions::new();
    let metadata = match dialect::mended(footer::check(bytes)?) {
        None => ArrowReaderMetadata::load(bytes, options),
        Some(footer) => ParquetMetaDataReader::decode_metadata(&footer)
            .and_then(|metadata| ArrowReaderMetadata::try_new(Arc::new(metadata), options)),
    };
    let metadata = metadata.map_err(bad)?;
    let have = metadata.metadata().num_row_groups();
    let groups = groups.unwrap_or_else(|| (0..have).collect());
    if let Some(wrong) = groups.iter().find(|g| **g >= have) {
        let message = format!("row group {wrong} does not exist; the data has {have}, from 0");
        return Err(IngestError::option("row_groups", message));
    }
    let rows = groups.iter().map(|g| metadata.metadata().row_group(*g).num_rows());
    let rows = rows.fold(0u64, |sum, n| sum.saturating_add(n.max(0).unsigned_abs()));
    if rows > ROWS_MAX {
        let message = format!("the Parquet data has {rows} rows; the limit is {ROWS_MAX}");
        return Err(IngestError::too_large(message));
    }
    let roots = roots(&metadata, columns)?;
    let (metadata, cut) = int96::fitted(&Job::new(bytes, &metadata, cx), &groups, &roots)?;
    let job = Job::new(bytes, &metadata, cx);
    let schema = Arc::new(metadata.schema().project(&roots).map_err(bad)?);
    if roots.is_empty() || groups.is_empty() {
        let options = RecordBatchOptions::new().with_row_count(Some(rows as usize));
        if roots.is_empty() {
            let batch = RecordBatch::try_new_with_options(schema, Vec::new(), &options);
            return Ok((Table::try_new(batch.map_err(bad)?)?, cut));
        }
        return Ok((Table::concat(schema, &[])?, cut));
    }
    // Each column of each group is read by itself, so that a file of one group keeps all threads busy.
    let count = roots.len();
    let parts = (0..groups.len() * count).into_par_iter();
    let parts = parts.map(|i| job.part(groups[i / count], roots[i % count]));
    let parts = parts.collect::<Result<Vec<_>, _>>()?;
    let mut pieces: Vec<Vec<ArrayRef>> = (0..count).map(|_| Vec::new()).collect();
    for (i, part) in parts.into_iter().enumerate() {
        pieces[i % count].extend(part);
    }
    let columns = pieces.into_par_iter().zip(schema.fields().par_iter());
    let columns = columns.map(|(pieces, field)| {
        let schema = Arc::new(Schema::new(vec![Arc::clone(field)]));
        let batch = |array| RecordBatch::try_new(Arc::clone(&schema), vec![array]).map_err(bad);
        let batches = pieces.into_iter().map(batch).collect::<Result<Vec<_>, _>>()?;
        let table = Table::concat(Arc::clone(&schema), &batches)?;
        Ok(Arc::clone(table.batch().column(0)))
    });
    let columns = columns.collect::<Result<Vec<_>, IngestError>>()?;
    let batch = RecordBatch::try_new(schema, columns).map_err(bad)?;
    Ok((Table::try_new(batch)?, cut))
}

/// What the parts of one file share.
struct Job<'a> {
    bytes: &'a Bytes,
    metadata: &'a ArrowReaderMetadata,
    /// Bytes of all arrays so far.
    spent: AtomicU64,
    cx: &'a ParseCx,
    meter: Meter<'a>,
}

impl<'a> Job<'a> {
    fn new(bytes: &'a Bytes, metadata: &'a ArrowReaderMetadata, cx: &'a ParseCx) -> Self {
        Self { bytes, metadata, spent: AtomicU64::new(0), cx, meter: Meter::new(cx) }
    }

    /// Looks at the page headers of the column at `root` before the reader does.
    fn check_pages(&self, group: usize, root: usize) -> Result<(), IngestError> {
        let schema = self.metadata.parquet_schema();
        for (leaf, column) in self.metadata.metadata().row_group(group).columns().iter().enumerate()
        {
            if schema.get_column_root_idx(leaf) != root {
                continue;
            }
            let place = |v: i64| usize::try_from(v).ok();
            let start = place(column.dictionary_page_offset().unwrap_or(column.data_page_offset()));
            let end =
                start.zip(place(column.compressed_size())).and_then(|(s, n)| s.checked_add(n));
            let chunk = start.zip(end).and_then(|(start, end)| self.bytes.get(start..end));
            let chunk = chunk.ok_or_else(|| bad("a column is cut off"))?;
            footer::check_pages(chunk, footer::ratio_max(column.compression()))?;
        }
        Ok(())
    }

    /// The column at `root` in a row group.
    fn part(&self, group: usize, root: usize) -> Result<Vec<ArrayRef>, IngestError> {
        self.check_pages(group, root)?;
        let mask = ProjectionMask::roots(self.metadata.parquet_schema(), [root]);
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(
            self.bytes.clone(),
            self.metadata.clone(),
        );
        let reader = builder
            .with_projection(mask)
            .with_row_groups(vec![group])
            .with_batch_size(BATCH_ROWS)
            .build()
            .map_err(bad)?;
        let mut arrays = Vec::new();
        for batch in reader {
            self.cx.cancel.check()?;
            let batch = batch.map_err(bad)?;
            let bytes = batch.get_array_memory_size() as u64;
            if self.spent.fetch_add(bytes, Ordering::Relaxed) + bytes > DECOMPRESSED_BYTES_MAX {
                let message = format!(
                    "the Parquet data expands to more than {DECOMPRESSED_BYTES_MAX} bytes, the limit"
                );
                return Err(IngestError::too_large(message));
            }
            let rows = if root == 0 { batch.num_rows() as u64 } else { 0 };
            self.meter.add(bytes, rows);
            arrays.extend(batch.columns().first().cloned());
        }
        Ok(arrays)
    }
}

/// The positions of the chosen columns, in the order of the file.
fn roots(
    metadata: &ArrowReaderMetadata,
    columns: Option<&[String]>,
) -> Result<Vec<usize>, IngestError> {
    let have: Vec<&str> = metadata.schema().fields().iter().map(|f| f.name().as_str()).collect();
    let Some(columns) = columns else { return Ok((0..have.len()).collect()) };
    let mut roots = BTreeSet::new();
    for name in columns {
        let Some(root) = have.iter().position(|h| h == name) else {
            let message = format!("column {name:?} does not exist; the columns are {have:?}");
            return Err(IngestError::option("columns", message));
        };
        roots.insert(root);
    }
    Ok(roots.into_iter().collect())
}
