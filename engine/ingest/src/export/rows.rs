//! Rows as text: a writer for each column that is made once, and blocks of rows that are rendered by all threads and
//! written in their order.

use std::io::{self, Write};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::DataType;
use graphlume_table::{TextColumn, cell_json, cell_text};
use rayon::prelude::*;

/// Rows that a thread renders before it hands them on; as many blocks as there are threads, twice, are in memory.
const BLOCK_ROWS: usize = 8_192;
/// How times are shown.
const SHOWN: FormatOptions<'static> = FormatOptions::new();

/// A column, by what it takes to write a cell.
enum Column<'a> {
    Int(Int64Array),
    Float(&'a Float64Array),
    Truth(&'a BooleanArray),
    Text(TextColumn),
    /// Times, as Arrow shows them where it can.
    Time(ArrayFormatter<'a>, &'a dyn Array),
    Other(&'a dyn Array),
}

/// The columns of a table, to be written cell by cell.
pub(super) struct Columns<'a>(Vec<Column<'a>>);

impl<'a> Columns<'a> {
    pub(super) fn new(batch: &'a RecordBatch) -> Self {
        Self(batch.columns().iter().map(column).collect())
    }

    /// Adds the cells of a row as a line of CSV.
    pub(super) fn csv(&self, row: usize, out: &mut Vec<u8>) {
        for (i, column) in self.0.iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            column.csv(row, out);
        }
        out.push(b'\n');
    }

    /// Adds the cells of a row as an object, whose names are given as they are written.
    pub(super) fn json(&self, names: &[String], row: usize, out: &mut Vec<u8>) {
        out.push(b'{');
        for (i, (name, column)) in names.iter().zip(&self.0).enumerate() {
            if i > 0 {
                out.push(b',');
            }
            out.extend_from_slice(name.as_bytes());
            out.push(b':');
            column.json(row, out);
        }
        out.push(b'}');
    }
}

fn column(array: &ArrayRef) -> Column<'_> {
    use DataType as D;
    if let Some(text) = TextColumn::try_new(array) {
        return Column::Text(text);
    }
    match array.data_type() {
        D::Int8 | D::Int16 | D::Int32 | D::Int64 | D::UInt8 | D::UInt16 | D::UInt32 => {
            match arrow_cast::cast(array, &D::Int64) {
                Ok(ints) => Column::Int(ints.as_primitive().clone()),
                Err(_) => Column::Other(array.as_ref()),
            }
        }
        D::Float64 => Column::Float(array.as_primitive()),
        D::Boolean => Column::Truth(array.as_boolean()),
        kind if kind.is_temporal() => match ArrayFormatter::try_new(array.as_ref(), &SHOWN) {
            Ok(shown) => Column::Time(shown, array.as_ref()),
            Err(_) => Column::Other(array.as_ref()),
        },
        _ => Column::Other(array.as_ref()),
    }
}

/// Writing to memory does not fail.
fn number(value: impl serde::Serialize, out: &mut Vec<u8>) {
    drop(serde_json::to_writer(out, &value));
}

/// A time as text; `None` for null.
fn time(shown: &ArrayFormatter<'_>, array: &dyn Array, row: usize) -> Option<String> {
    if array.is_null(row) {
        return None;
    }
    shown.value(row).try_to_string().ok().or_else(|| cell_text(array, row))
}

impl Column<'_> {
    fn csv(&self, row: usize, out: &mut Vec<u8>) {
        match self {
            Self::Int(a) if a.is_valid(row) => number(a.value(row), out),
            Self::Float(a) if a.is_valid(row) => {
                out.extend_from_slice(ryu::Buffer::new().format(a.value(row)).as_bytes());
            }
            Self::Truth(a) if a.is_valid(row) => {
                out.extend_from_slice(if a.value(row) { b"true" } else { b"false" });
            }
            Self::Text(text) => csv_text(text.get(row).unwrap_or_default(), out),
            Self::Time(shown, array) => {
                csv_text(&time(shown, *array, row).unwrap_or_default(), out);
            }
            Self::Other(array) => csv_text(&cell_text(*array, row).unwrap_or_default(), out),
            _ => {}
        }
    }

    fn json(&self, row: usize, out: &mut Vec<u8>) {
        match self {
            Self::Int(a) if a.is_valid(row) => number(a.value(row), out),
            // What is no number has no form in JSON and becomes null there.
            Self::Float(a) if a.is_valid(row) => number(a.value(row), out),
            Self::Truth(a) if a.is_valid(row) => {
                out.extend_from_slice(if a.value(row) { b"true" } else { b"false" });
            }
            Self::Text(text) => number(text.get(row), out),
            Self::Time(shown, array) => number(time(shown, *array, row), out),
            Self::Other(array) => number(cell_json(*array, row), out),
            _ => out.extend_from_slice(b"null"),
        }
    }
}

/// Adds the text of a cell, quoted when it needs it (RFC 4180).
pub(super) fn csv_text(text: &str, out: &mut Vec<u8>) {
    let special = |b: &u8| matches!(b, b',' | b'"' | b'\n' | b'\r');
    if !text.as_bytes().iter().any(special) {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    out.push(b'"');
    for part in text.as_bytes().split_inclusive(|b| *b == b'"') {
        out.extend_from_slice(part);
        if part.ends_with(b"\"") {
            out.push(b'"');
        }
    }
    out.push(b'"');
}

/// Renders rows by all threads, some thousands each, and writes them in their order. `render` gets the place of a row in
/// the table, the columns of its block, and its place in these.
pub(super) fn write_rows<W: Write>(
    batch: &RecordBatch,
    out: &mut W,
    render: impl Fn(usize, &Columns<'_>, usize, &mut Vec<u8>) + Sync,
) -> io::Result<()> {
    let num_rows = batch.num_rows();
    let block = |from: &usize| {
        let part = batch.slice(*from, BLOCK_ROWS.min(num_rows - from));
        let (columns, mut bytes) = (Columns::new(&part), Vec::new());
        (0..part.num_rows()).for_each(|row| render(from + row, &columns, row, &mut bytes));
        bytes
    };
    let blocks: Vec<usize> = (0..num_rows).step_by(BLOCK_ROWS).collect();
    for some in blocks.chunks(2 * rayon::current_num_threads()) {
        let rendered: Vec<Vec<u8>> = match some {
            [one] => vec![block(one)],
            some => some.par_iter().map(block).collect(),
        };
        rendered.iter().try_for_each(|bytes| out.write_all(bytes))?;
    }
    Ok(())
}
