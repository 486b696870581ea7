//! Apache ORC, with the options `columns`, `skiprows` and `num_rows`.
//!
//! `orc-rust` believes what a file says about itself: it allocates claimed lengths, follows its types
//! wherever they lead, and unpacks without end. It is therefore shown the file through `view`, which
//! checks all of that and unpacks on its behalf.

mod codec;
mod rle;
mod tail;
#[cfg(test)]
mod tests;
mod view;

use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::{RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow_schema::FieldRef;
use bytes::Bytes;
use graphlume_table::Table;
use graphlume_types::limits::{DECOMPRESSED_BYTES_MAX, ROWS_MAX};
use orc_rust::projection::ProjectionMask;
use orc_rust::{ArrowReaderBuilder, TimestampPrecision};

use crate::error::one_line;
use crate::format::{FormatSpec, by_signature};
use crate::gather::{self, Column, NEAR_ROWS};
use crate::options::{OptionKind, Options, on};
use crate::{Format, IngestError, ParseCx, Parsed, Stage};
use tail::Tail;
use view::View;

fn bad(e: impl std::fmt::Display) -> IngestError {
    let message = format!("the ORC data cannot be read: {}", one_line(e));
    IngestError::malformed(Format::Orc, message)
}

/// ORC in the list of formats.
pub(crate) const FORMAT: FormatSpec = FormatSpec {
    name: "orc",
    malformed: "malformed-orc",
    options: &[
        on("columns", OptionKind::List),
        on("num_rows", OptionKind::Int),
        on("skiprows", OptionKind::Int),
    ],
    signatures: &[b"ORC"],
    resembles: by_signature,
    parse,
};

/// Reads the chosen columns and rows into one table.
pub fn parse(bytes: &Bytes, options: Options<'_>, cx: &ParseCx) -> Result<Parsed, IngestError> {
    let columns = options.texts("columns")?;
    let skip = options.count("skiprows")?.unwrap_or(0);
    let rows = options.count("num_rows")?.unwrap_or(u64::MAX);
    let (tail, rows) = Tail::read(bytes)?.cut(skip, rows);
    let read = |precision| {
        let read = || read(bytes, &tail, &rows, columns.as_deref(), precision, cx);
        catch_unwind(AssertUnwindSafe(read))
            .unwrap_or_else(|_| Err(bad("its metadata contradicts its stripes")))
    };
    let table = match read(TimestampPrecision::Nanosecond) {
        // Nanoseconds reach from 1677 to 2262 only.
        Err(IngestError::Malformed { .. }) if tail.has_timestamps() => {
            read(TimestampPrecision::Microsecond)?
        }
        done => done?,
    };
    Ok(Parsed::one(table, Vec::new()))
}

/// Reads `rows` of the stripes that are left in `tail`.
fn read(
    bytes: &Bytes,
    tail: &Tail,
    rows: &std::ops::Range<u64>,
    columns: Option<&[String]>,
    precision: TimestampPrecision,
    cx: &ParseCx,
) -> Result<Table, IngestError> {
    let view = View::new(bytes.clone(), tail);
    let failure = view.failure();
    // What the view refuses comes back through the reader in other words.
    let refused = |e: &dyn std::fmt::Display| failure.take().unwrap_or_else(|| bad(e));
    let mut builder = ArrowReaderBuilder::try_new(view).map_err(|e| refused(&e))?;
    if let Some(columns) = columns {
        let root = builder.file_metadata().root_data_type();
        let have: Vec<&str> = root.children().iter().map(|c| c.name()).collect();
        if let Some(missing) = columns.iter().find(|name| !have.contains(&name.as_str())) {
            let message = format!("column {missing:?} does not exist; the columns are {have:?}");
            return Err(IngestError::option("columns", message));
        }
        let mask = ProjectionMask::named_roots(root, columns);
        builder = builder.with_projection(mask);
    }
    let builder = builder.with_batch_size(NEAR_ROWS).with_timestamp_precision(precision);
    let reader = builder.build();
    let schema = reader.schema();
    let wanted = usize::try_from(rows.end.min(tail.rows()).saturating_sub(rows.start)).unwrap_or(0);
    let memory = |field: &FieldRef| gather::memory(field.data_type(), wanted);
    let mut memories = schema.fields().iter().map(memory).collect::<Result<Vec<_>, _>>()?;
    let making = schema.fields().iter().zip(&mut memories);
    let making = making.map(|(field, memory)| {
        Column::new(Format::Orc, field.data_type(), memory.as_mut(), wanted)
    });
    let mut columns = making.collect::<Result<Vec<_>, _>>()?;
    let (mut at, mut bytes_read) = (0u64, 0u64);
    for batch in reader {
        cx.cancel.check()?;
        let batch = batch.map_err(|e| refused(&e))?;
        let range = at..at + batch.num_rows() as u64;
        at = range.end;
        let from = rows.start.clamp(range.start, range.end) - range.start;
        let to = rows.end.clamp(range.start, range.end) - range.start;
        let batch = batch.slice(from as usize, to.saturating_sub(from) as usize);
        bytes_read += batch.get_array_memory_size() as u64;
        if at > ROWS_MAX || bytes_read > DECOMPRESSED_BYTES_MAX {
            let message = format!(
                "the ORC data expands to more than {ROWS_MAX} rows or {DECOMPRESSED_BYTES_MAX} bytes"
            );
            return Err(IngestError::too_large(message));
        }
        cx.report(Stage::Parsing, 0, at);
        for (column, array) in columns.iter_mut().zip(batch.columns()) {
            column.append(array)?;
        }
    }
    let rests = columns.into_iter().map(Column::finish).collect::<Result<Vec<_>, _>>()?;
    let work = schema.fields().iter().zip(memories).zip(rests);
    let arrays = work.map(|((field, memory), rest)| gather::joined(field, memory, vec![rest]));
    let arrays = arrays.collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(wanted));
    let batch = RecordBatch::try_new_with_options(schema, arrays, &options);
    Ok(Table::try_new(batch.map_err(bad)?)?)
}
