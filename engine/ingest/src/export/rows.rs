//! Rows as text: a writer for each column that is made once, and blocks of rows that are rendered by all threads and
//! written in their order.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvError, TryRecvError};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::DataType;
use graphlume_table::{TextColumn, cell_json, cell_text};

use super::json::{self, Repeated};

/// Rows that a thread renders before it hands them on; as many blocks as there are threads, twice, are in memory.
const BLOCK_ROWS: usize = 8_192;
/// Room for a row more than the longest block had.
const ROW_BYTES: usize = 1 << 10;
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

    /// Adds the cells of a row as an object, each behind what comes before it.
    pub(super) fn json(&self, before: &[Repeated], row: usize, out: &mut Vec<u8>) {
        if self.0.is_empty() {
            out.push(b'{');
        }
        for (before, column) in before.iter().zip(&self.0) {
            before.write(out);
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
            Self::Int(a) if a.is_valid(row) => json::int(a.value(row), out),
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
            Self::Int(a) if a.is_valid(row) => json::int(a.value(row), out),
            Self::Float(a) if a.is_valid(row) => json::float(a.value(row), out),
            Self::Truth(a) if a.is_valid(row) => {
                out.extend_from_slice(if a.value(row) { b"true" } else { b"false" });
            }
            Self::Text(text) => match text.get(row) {
                Some(text) => json::text(text, out),
                None => out.extend_from_slice(b"null"),
            },
            Self::Time(shown, array) => json::any(time(shown, *array, row), out),
            Self::Other(array) => json::any(cell_json(*array, row), out),
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

/// Renders rows by all threads, some thousands each, and writes them in their order while later ones are rendered.
/// `render` gets the place of a row in the table, the columns of its block, and its place in these.
pub(super) fn write_rows<W: Write>(
    batch: &RecordBatch,
    out: &mut W,
    render: impl Fn(usize, &Columns<'_>, usize, &mut Vec<u8>) + Sync,
) -> io::Result<()> {
    let num_rows = batch.num_rows();
    // Blocks of one table are about as long.
    let longest = AtomicUsize::new(0);
    let block = |from: usize| {
        let part = batch.slice(from, BLOCK_ROWS.min(num_rows - from));
        let columns = Columns::new(&part);
        let mut bytes = Vec::with_capacity(longest.load(Ordering::Relaxed));
        (0..part.num_rows()).for_each(|row| render(from + row, &columns, row, &mut bytes));
        longest.fetch_max(bytes.len() + ROW_BYTES, Ordering::Relaxed);
        bytes
    };
    let mut blocks = (0..num_rows).step_by(BLOCK_ROWS);
    if num_rows <= BLOCK_ROWS {
        return blocks.try_for_each(|from| out.write_all(&block(from)));
    }
    rayon::in_place_scope(|scope| {
        let mut begun = VecDeque::new();
        let mut begin = |begun: &mut VecDeque<Receiver<Vec<u8>>>| {
            if let Some(from) = blocks.next() {
                let (done, rendered) = mpsc::sync_channel(1);
                let block = &block;
                // It is not taken when what came before could not be written.
                scope.spawn(move |_| drop(done.send(block(from))));
                begun.push_back(rendered);
            }
        };
        (0..2 * rayon::current_num_threads()).for_each(|_| begin(&mut begun));
        while let Some(rendered) = begun.pop_front() {
            out.write_all(&taken(&rendered)?)?;
            begin(&mut begun);
        }
        Ok(())
    })
}

/// What another thread rendered. A thread that others may wait for takes part in their work meanwhile.
fn taken(rendered: &Receiver<Vec<u8>>) -> io::Result<Vec<u8>> {
    let gone = |_| io::Error::other("rows were not rendered");
    loop {
        match rendered.try_recv() {
            Ok(bytes) => return Ok(bytes),
            Err(TryRecvError::Disconnected) => return Err(gone(RecvError)),
            Err(TryRecvError::Empty) => match rayon::yield_now() {
                None => return rendered.recv().map_err(gone),
                Some(rayon::Yield::Executed) => {}
                Some(rayon::Yield::Idle) => std::thread::yield_now(),
            },
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn sample() -> RecordBatch {
        let ints: ArrayRef = Arc::new(Int64Array::from_iter_values(0..10 * BLOCK_ROWS as i64 + 3));
        RecordBatch::try_from_iter([("i", ints)]).unwrap()
    }

    #[test]
    fn blocks_keep_their_order_inside_and_outside_of_a_pool() {
        let batch = sample();
        let written = || {
            let mut out = Vec::new();
            write_rows(&batch, &mut out, |_, columns, row, out| columns.csv(row, out)).unwrap();
            out
        };
        let wanted: String = (0..batch.num_rows()).map(|i| format!("{i}\n")).collect();
        assert!(written() == wanted.as_bytes());
        for threads in [1, 2] {
            // A thread of the pool itself writes: with one of them nobody else renders.
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert!(pool.install(written) == wanted.as_bytes());
        }
    }

    #[test]
    fn the_first_write_that_fails_ends_it() {
        struct Few(usize);
        impl Write for Few {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0 = self.0.checked_sub(1).ok_or_else(|| io::Error::other("full"))?;
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        for few in [0, 3] {
            let found = write_rows(&sample(), &mut Few(few), |_, c, row, out| c.csv(row, out));
            assert_eq!(found.unwrap_err().to_string(), "full");
        }
    }
}
