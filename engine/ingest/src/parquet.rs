//! Parquet, with the options `columns` and `row_groups`.

mod footer;
#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::SchemaRef;
use bytes::Bytes;
use graphlume_table::Table;
use graphlume_types::limits::{DECOMPRESSED_BYTES_MAX, ROWS_MAX};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Map, Value};

use crate::error::one_line;
use crate::options::Options;
use crate::{Format, IngestError, ParseCx, Parsed};

const BATCH_ROWS: usize = 65_536;

fn bad(e: impl std::fmt::Display) -> IngestError {
    let message = format!("the Parquet data cannot be read: {}", one_line(e));
    IngestError::malformed(Format::Parquet, message)
}

/// Reads the chosen columns and row groups into one table.
pub fn parse(
    bytes: &Bytes,
    options: &Map<String, Value>,
    cx: &ParseCx,
) -> Result<Parsed, IngestError> {
    let options = Options(options);
    let columns = options.texts("columns")?;
    let groups = row_groups(options)?;
    let read = || read(bytes, columns.as_deref(), groups, cx);
    let (schema, batches) = catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(bad("its metadata contradicts its pages")))?;
    Ok(Parsed::one(Table::concat(schema, &batches)?, Vec::new()))
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
) -> Result<(SchemaRef, Vec<RecordBatch>), IngestError> {
    footer::check(bytes)?;
    let mut builder = ParquetRecordBatchReaderBuilder::try_new(bytes.clone()).map_err(bad)?;
    let rows = builder.metadata().file_metadata().num_rows();
    if groups.is_none() && rows.max(0).unsigned_abs() > ROWS_MAX {
        let message = format!("the Parquet data has {rows} rows; the limit is {ROWS_MAX}");
        return Err(IngestError::too_large(message));
    }
    if let Some(columns) = columns {
        let mask = projection(&builder, columns)?;
        builder = builder.with_projection(mask);
    }
    if let Some(groups) = groups {
        let have = builder.metadata().num_row_groups();
        if let Some(wrong) = groups.iter().find(|g| **g >= have) {
            let message = format!("row group {wrong} does not exist; the data has {have}, from 0");
            return Err(IngestError::option("row_groups", message));
        }
        builder = builder.with_row_groups(groups);
    }
    let reader = builder.with_batch_size(BATCH_ROWS).build().map_err(bad)?;
    let schema = reader.schema();
    let mut batches = Vec::new();
    let (mut bytes, mut rows) = (0u64, 0u64);
    for batch in reader {
        cx.cancel.check()?;
        let batch = batch.map_err(bad)?;
        bytes += batch.get_array_memory_size() as u64;
        rows += batch.num_rows() as u64;
        if bytes > DECOMPRESSED_BYTES_MAX || rows > ROWS_MAX {
            let message = format!(
                "the Parquet data expands to more than {ROWS_MAX} rows or \
                 {DECOMPRESSED_BYTES_MAX} bytes"
            );
            return Err(IngestError::too_large(message));
        }
        batches.push(batch);
    }
    Ok((schema, batches))
}

fn projection(
    builder: &ParquetRecordBatchReaderBuilder<Bytes>,
    columns: &[String],
) -> Result<ProjectionMask, IngestError> {
    let have: Vec<&str> = builder.schema().fields().iter().map(|f| f.name().as_str()).collect();
    let mut roots = Vec::with_capacity(columns.len());
    for name in columns {
        let Some(root) = have.iter().position(|h| h == name) else {
            let message = format!("column {name:?} does not exist; the columns are {have:?}");
            return Err(IngestError::option("columns", message));
        };
        roots.push(root);
    }
    Ok(ProjectionMask::roots(builder.parquet_schema(), roots))
}
