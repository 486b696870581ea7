//! JSON in the shapes that pandas and the browser client write. Text goes straight into column builders;
//! no tree of the document is built.
//!
//! | shape | meaning |
//! |---|---|
//! | `[{..}, ..]` | records |
//! | one `{..}` per line | records |
//! | `[[..], ..]` | rows of values; columns are named `0`, `1`, .. |
//! | `{"a": [..], ..}` or `{"a": {"0": .., ..}, ..}` | columns |
//! | with `orient` | `split`, `index`, `table` as pandas writes them |
//!
//! Labels of rows (an index) are used to align columns and are dropped after that.

mod builder;
mod columns;
mod shape;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema};
use bytes::Bytes;
use graphlume_table::{Table, TableError};
use graphlume_types::limits::DECOMPRESSED_BYTES_MAX;
use serde::de::{DeserializeSeed, IgnoredAny};
use serde_json::{Deserializer, Map, Value};

use crate::options::Options;
use crate::{Format, IngestError, ParseCx, Parsed};
use builder::ColumnBuilder;
use columns::Columns;
use shape::{Document, Guard, Index, Row, Rows, Split, TableDocument};

#[derive(Clone, Copy, PartialEq, Eq)]
enum Orient {
    Records,
    Lines,
    Columns,
    Index,
    Split,
    Table,
}

fn orient(options: Options<'_>, body: &[u8]) -> Result<Orient, IngestError> {
    let named = options.text("orient")?;
    let lines = options.bool("lines", false)?;
    if lines && !matches!(named, None | Some("records")) {
        let message = "goes with `orient` records only";
        return Err(IngestError::option("lines", message));
    }
    let list = body.first() == Some(&b'[');
    Ok(match named {
        _ if lines => Orient::Lines,
        Some("records" | "values") => Orient::Records,
        Some("columns") => Orient::Columns,
        Some("index") => Orient::Index,
        Some("split") => Orient::Split,
        Some("table") => Orient::Table,
        Some(other) => {
            let shown: String = other.chars().take(32).collect();
            let legal = "split, records, index, columns, values, table";
            return Err(IngestError::option("orient", format!("{shown:?} is none of {legal}")));
        }
        None if list => Orient::Records,
        None if several_values(body) => Orient::Lines,
        None => Orient::Columns,
    })
}

/// Whether something follows the first value.
fn several_values(body: &[u8]) -> bool {
    let mut values = Deserializer::from_slice(body).into_iter::<IgnoredAny>();
    let first = values.next().is_some_and(|v| v.is_ok());
    first && !body[values.byte_offset().min(body.len())..].trim_ascii().is_empty()
}

/// Reads a JSON document.
pub fn parse(
    bytes: &Bytes,
    options: &Map<String, Value>,
    cx: &ParseCx,
) -> Result<Parsed, IngestError> {
    let options = Options(options);
    let compression = options.text("compression")?.unwrap_or("").to_ascii_lowercase();
    if !matches!(compression.as_str(), "" | "infer" | "none") {
        return Err(IngestError::Compressed { format: Format::Json, compression });
    }
    let body = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let skipped = body.len() - body.trim_ascii_start().len();
    let orient = orient(options, &body[skipped..])?;
    let guard = Guard { cancel: &cx.cancel, bytes: body.len() as u64 };
    let read = read(body, orient, guard);
    let (rows, agents) = read.map_err(|e| match cx.cancel.check() {
        Err(stopped) => stopped.into(),
        Ok(()) => e,
    })?;
    let mut parsed = Parsed::one(table(rows)?, Vec::new());
    [parsed.agent_name, parsed.agent_version] = agents;
    Ok(parsed)
}

type Agents = [Option<String>; 2];

fn read(body: &[u8], orient: Orient, guard: Guard<'_>) -> Result<(Rows, Agents), IngestError> {
    let mut rows = Rows::default();
    match orient {
        Orient::Lines => lines(body, &mut rows, guard)?,
        Orient::Records => whole(body, Document { rows: &mut rows, guard })?,
        Orient::Index => whole(body, Index { rows: &mut rows, guard })?,
        Orient::Table => whole(body, TableDocument { rows: &mut rows, guard })?,
        Orient::Split => {
            let names = whole(body, Split { rows: &mut rows, guard })?;
            rows.rename(names)?;
        }
        Orient::Columns => {
            let columns = whole(body, Columns { guard })?;
            return columns.into_rows();
        }
    }
    Ok((rows, Agents::default()))
}

fn whole<'a, S: DeserializeSeed<'a>>(body: &'a [u8], seed: S) -> Result<S::Value, IngestError> {
    let mut reader = Deserializer::from_slice(body);
    let value = seed.deserialize(&mut reader).map_err(|e| bad(&e, 0))?;
    reader.end().map_err(|e| bad(&e, 0))?;
    Ok(value)
}

fn lines(body: &[u8], rows: &mut Rows, guard: Guard<'_>) -> Result<(), IngestError> {
    for (i, line) in body.split(|b| *b == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let mut reader = Deserializer::from_slice(line);
        let row = Row { rows: &mut *rows, guard };
        let done = row.deserialize(&mut reader).and_then(|()| reader.end());
        done.map_err(|e| bad(&e, i as u64))?;
    }
    Ok(())
}

fn bad(e: &serde_json::Error, lines_before: u64) -> IngestError {
    let line = lines_before + e.line() as u64;
    let text = e.to_string();
    let text = text.split(" at line ").next().unwrap_or_default();
    let (message, row) = if line == 0 {
        (format!("the JSON cannot be read: {text}"), None)
    } else {
        let column = e.column();
        (format!("the JSON cannot be read: {text} (line {line}, character {column})"), Some(line))
    };
    if text.contains("the limit is") {
        return IngestError::TooLarge { message, row, column: None };
    }
    IngestError::Malformed { format: Format::Json, message, row, column: None }
}

fn table(rows: Rows) -> Result<Table, IngestError> {
    let count = rows.count;
    let cells = count as u64 * rows.columns.len() as u64;
    if cells.saturating_mul(8) > DECOMPRESSED_BYTES_MAX {
        let message = format!("the JSON expands to {cells} cells, more than memory is given to");
        return Err(IngestError::too_large(message));
    }
    let mut fields = Vec::new();
    let mut arrays = Vec::new();
    for (name, mut column) in rows.names.into_iter().zip(rows.columns) {
        column.pad(count);
        let array = column.finish();
        fields.push(Field::new(name, array.data_type().clone(), true));
        arrays.push(array);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(count));
    let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options);
    Ok(Table::try_new(batch.map_err(|e| TableError::Join(e.to_string()))?)?)
}

/// A column that is the same value in every row.
fn broadcast(one: ColumnBuilder, rows: usize) -> ColumnBuilder {
    let mut out = ColumnBuilder::default();
    for _ in 0..rows {
        out.push_from(&one, 0);
    }
    out
}
