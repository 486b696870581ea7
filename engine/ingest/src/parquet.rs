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

use arrow_array::cast::AsArray as _;
use arrow_array::{Array as _, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, FieldRef, Fields};
use bytes::Bytes;
use graphlume_table::Table;
use graphlume_types::limits::{DECOMPRESSED_BYTES_MAX, ROWS_MAX};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::file::metadata::ParquetMetaDataReader;
use rayon::prelude::*;
use serde_json::Value;

use crate::error::one_line;
use crate::format::{FormatSpec, by_signature};
use crate::gather::{self, NEAR_ROWS, Rest, Texts, Valid, Values};
use crate::memory::Memory;
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
    let viewed = viewed(&metadata);
    let job = Job { viewed: viewed.as_ref(), ..Job::new(bytes, &metadata, cx) };
    let schema = Arc::new(metadata.schema().project(&roots).map_err(bad)?);
    if roots.is_empty() || groups.is_empty() {
        let options = RecordBatchOptions::new().with_row_count(Some(rows as usize));
        if roots.is_empty() {
            let batch = RecordBatch::try_new_with_options(schema, Vec::new(), &options);
            return Ok((Table::try_new(batch.map_err(bad)?)?, cut));
        }
        return Ok((Table::concat(schema, &[])?, cut));
    }
    let columns = job.columns(&groups, &roots, schema.fields())?;
    let batch = RecordBatch::try_new(schema, columns).map_err(bad)?;
    Ok((Table::try_new(batch)?, cut))
}

/// What the parts of one file share.
struct Job<'a> {
    bytes: &'a Bytes,
    metadata: &'a ArrowReaderMetadata,
    /// As which texts are read.
    viewed: Option<&'a ArrowReaderMetadata>,
    /// Bytes of all arrays so far.
    spent: AtomicU64,
    cx: &'a ParseCx,
    meter: Meter<'a>,
}

impl<'a> Job<'a> {
    fn new(bytes: &'a Bytes, metadata: &'a ArrowReaderMetadata, cx: &'a ParseCx) -> Self {
        let meter = Meter::new(cx);
        Self { bytes, metadata, viewed: None, spent: AtomicU64::new(0), cx, meter }
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

    /// All columns at `roots`.
    fn columns(
        &self,
        groups: &[usize],
        roots: &[usize],
        fields: &Fields,
    ) -> Result<Vec<ArrayRef>, IngestError> {
        let rows: Vec<usize> = groups.iter().map(|group| self.rows(*group)).collect();
        let memory = |field: &FieldRef| gather::memory(field.data_type(), rows.iter().sum());
        let mut memories = fields.iter().map(memory).collect::<Result<Vec<_>, _>>()?;
        // Each column of each group is read by itself, so that a file of one group keeps all threads busy.
        let mut work = Vec::with_capacity(groups.len() * roots.len());
        for ((root, memory), field) in roots.iter().zip(&mut memories).zip(fields) {
            let width = gather::width(field.data_type());
            let mut rest = memory.as_mut().map(Memory::values_mut::<u8>).unwrap_or_default();
            for (group, rows) in groups.iter().zip(&rows) {
                let (place, tail) = rest.split_at_mut(rows * width.unwrap_or(0));
                rest = tail;
                let values = width.map(|width| Values::new(Format::Parquet, place, width));
                work.push((*group, *root, values));
            }
        }
        let parts = work.into_par_iter().map(|(group, root, values)| {
            self.check_pages(group, root)?;
            match values {
                Some(values) => self.values(group, root, values).map(Rest::Placed),
                None => self.arrays(group, root).map(Rest::Arrays),
            }
        });
        let mut parts = parts.collect::<Result<Vec<_>, IngestError>>()?.into_iter();
        let parts = roots.iter().map(|_| parts.by_ref().take(groups.len()).collect::<Vec<_>>());
        let work: Vec<_> = parts.zip(memories).zip(fields).collect();
        let columns = work.into_par_iter();
        let columns = columns.map(|((parts, memory), field)| gather::joined(field, memory, parts));
        columns.collect()
    }

    /// How many rows a row group says it has.
    fn rows(&self, group: usize) -> usize {
        usize::try_from(self.metadata.metadata().row_group(group).num_rows()).unwrap_or(0)
    }

    /// The column at `root` in a row group.
    fn part(&self, group: usize, root: usize) -> Result<Vec<ArrayRef>, IngestError> {
        self.check_pages(group, root)?;
        self.arrays(group, root)
    }

    fn reader(
        &self,
        metadata: &ArrowReaderMetadata,
        group: usize,
        root: usize,
        rows: usize,
    ) -> Result<ParquetRecordBatchReader, IngestError> {
        let mask = ProjectionMask::roots(metadata.parquet_schema(), [root]);
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(
            self.bytes.clone(),
            metadata.clone(),
        );
        let builder =
            builder.with_projection(mask).with_row_groups(vec![group]).with_batch_size(rows);
        builder.build().map_err(bad)
    }

    /// A column of values of one width.
    fn values(
        &self,
        group: usize,
        root: usize,
        mut values: Values<'_>,
    ) -> Result<Valid, IngestError> {
        for batch in self.reader(self.metadata, group, root, NEAR_ROWS)? {
            self.cx.cancel.check()?;
            let batch = batch.map_err(bad)?;
            for array in batch.columns() {
                values.append(array)?;
                self.count(root, array)?;
            }
        }
        values.finish()
    }

    fn arrays(&self, group: usize, root: usize) -> Result<Vec<ArrayRef>, IngestError> {
        if let Some(viewed) = self.viewed
            && *self.metadata.schema().field(root).data_type() == DataType::Utf8
        {
            return self.texts(viewed, group, root);
        }
        let mut arrays = Vec::new();
        for batch in self.reader(self.metadata, group, root, BATCH_ROWS)? {
            self.cx.cancel.check()?;
            let batch = batch.map_err(bad)?;
            for array in batch.columns() {
                self.count(root, array)?;
                arrays.push(Arc::clone(array));
            }
        }
        Ok(arrays)
    }

    /// A column of texts.
    fn texts(
        &self,
        viewed: &ArrowReaderMetadata,
        group: usize,
        root: usize,
    ) -> Result<Vec<ArrayRef>, IngestError> {
        let (mut arrays, mut left) = (Vec::new(), self.rows(group));
        let mut texts = Texts::new(Format::Parquet, left.min(BATCH_ROWS))?;
        for batch in self.reader(viewed, group, root, NEAR_ROWS)? {
            self.cx.cancel.check()?;
            let batch = batch.map_err(bad)?;
            let Some(views) = batch.columns().first().and_then(|c| c.as_string_view_opt()) else {
                return Err(bad("a column is not of its type"));
            };
            texts.append_views(views)?;
            left = left.saturating_sub(views.len());
            if texts.rows() >= BATCH_ROWS {
                let more = Texts::new(Format::Parquet, left.min(BATCH_ROWS))?;
                arrays.push(std::mem::replace(&mut texts, more).finish()?);
                self.count(root, &arrays[arrays.len() - 1])?;
            }
        }
        if texts.rows() > 0 {
            let last = texts.finish()?;
            self.count(root, &last)?;
            arrays.push(last);
        }
        Ok(arrays)
    }

    /// Counts the bytes and rows of an array.
    fn count(&self, root: usize, array: &ArrayRef) -> Result<(), IngestError> {
        let bytes = array.get_array_memory_size() as u64;
        if self.spent.fetch_add(bytes, Ordering::Relaxed) + bytes > DECOMPRESSED_BYTES_MAX {
            let message = format!(
                "the Parquet data expands to more than {DECOMPRESSED_BYTES_MAX} bytes, the limit"
            );
            return Err(IngestError::too_large(message));
        }
        self.meter.add(bytes, if root == 0 { array.len() as u64 } else { 0 });
        Ok(())
    }
}

/// The metadata by which the texts among the columns are read as views; none where there are no texts.
fn viewed(of: &ArrowReaderMetadata) -> Option<ArrowReaderMetadata> {
    let fields = of.schema().fields();
    if !fields.iter().any(|f| *f.data_type() == DataType::Utf8) {
        return None;
    }
    let viewed = fields.iter().map(|field| match field.data_type() {
        DataType::Utf8 => Arc::new(field.as_ref().clone().with_data_type(DataType::Utf8View)),
        _ => Arc::clone(field),
    });
    // What the reader does not take as views, it takes as it is.
    int96::with_fields(of, viewed.collect()).ok()
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
