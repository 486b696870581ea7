//! Rows as text: a writer for each column of a block, and blocks of rows that are rendered by all threads and written or
//! sent in their order.

#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss
)]

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvError, TryRecvError};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::DataType;
use graphlume_table::{Table, TextColumn, cell_json, cell_text};

use super::ExportFormat;
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
struct Columns<'a>(Vec<Column<'a>>);

impl<'a> Columns<'a> {
    fn new(batch: &'a RecordBatch) -> Self {
        Self(batch.columns().iter().map(column).collect())
    }

    /// Adds the cells of a row as a line of CSV.
    fn csv(&self, row: usize, escapes: bool, out: &mut Vec<u8>) {
        for (i, column) in self.0.iter().enumerate() {
            if i > 0 {
                out.push(b',');
            }
            column.csv(row, escapes, out);
        }
        out.push(b'\n');
    }

    /// Adds the cells of a row as an object, each behind what comes before it.
    fn json(&self, before: &[Repeated], row: usize, out: &mut Vec<u8>) {
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
    fn csv(&self, row: usize, escapes: bool, out: &mut Vec<u8>) {
        match self {
            Self::Int(a) if a.is_valid(row) => json::int(a.value(row), out),
            Self::Float(a) if a.is_valid(row) => {
                out.extend_from_slice(ryu::Buffer::new().format(a.value(row)).as_bytes());
            }
            Self::Truth(a) if a.is_valid(row) => {
                out.extend_from_slice(if a.value(row) { b"true" } else { b"false" });
            }
            Self::Text(text) => csv_text(text.get(row).unwrap_or_default(), escapes, out),
            Self::Time(shown, array) => {
                csv_text(&time(shown, *array, row).unwrap_or_default(), false, out);
            }
            Self::Other(array) => {
                let escapes = escapes && !array.data_type().is_numeric();
                csv_text(&cell_text(*array, row).unwrap_or_default(), escapes, out);
            }
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

/// Adds the text of a cell, quoted when it needs it (RFC 4180). With `escapes` one that a spreadsheet program takes for a
/// formula has an apostrophe before it.
fn csv_text(text: &str, escapes: bool, out: &mut Vec<u8>) {
    let special = |b: &u8| matches!(b, b',' | b'"' | b'\n' | b'\r');
    let before: &[u8] = match escapes && text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => b"'",
        false => b"",
    };
    if !text.as_bytes().iter().any(special) {
        out.extend_from_slice(before);
        out.extend_from_slice(text.as_bytes());
        return;
    }
    out.push(b'"');
    out.extend_from_slice(before);
    for part in text.as_bytes().split_inclusive(|b| *b == b'"') {
        out.extend_from_slice(part);
        if part.ends_with(b"\"") {
            out.push(b'"');
        }
    }
    out.push(b'"');
}

/// How cells stand in a text.
enum Text {
    Csv {
        /// Whether what begins like a formula is escaped.
        escapes: bool,
    },
    /// With what comes before each cell of a row.
    Json(Vec<Repeated>),
}

/// A table as text: a head, blocks of some thousand rows that any thread can render by itself, and a foot.
pub struct TextBlocks {
    batch: RecordBatch,
    text: Text,
    /// Blocks of one table are about as long.
    longest: AtomicUsize,
}

impl std::fmt::Debug for TextBlocks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextBlocks").field("blocks", &self.count()).finish_non_exhaustive()
    }
}

impl TextBlocks {
    /// The rows of `table` in `format`; `None` for a format that is no text.
    #[must_use]
    pub fn new(table: &Table, format: ExportFormat) -> Option<Self> {
        let batch = table.batch().clone();
        let text = match format {
            ExportFormat::Csv => Text::Csv { escapes: false },
            ExportFormat::CsvEscaped => Text::Csv { escapes: true },
            ExportFormat::Json => {
                let schema = batch.schema();
                Text::Json(json::before_cells(schema.fields().iter().map(|f| f.name().as_str())))
            }
            ExportFormat::Parquet => return None,
        };
        Some(Self { batch, text, longest: AtomicUsize::new(0) })
    }

    /// What comes before the first block.
    #[must_use]
    pub fn head(&self) -> Vec<u8> {
        let mut head = Vec::new();
        match self.text {
            Text::Json(_) => head.push(b'['),
            Text::Csv { escapes } => {
                for (i, field) in self.batch.schema().fields().iter().enumerate() {
                    if i > 0 {
                        head.push(b',');
                    }
                    csv_text(field.name(), escapes, &mut head);
                }
                head.push(b'\n');
            }
        }
        head
    }

    /// What comes behind the last block.
    #[must_use]
    pub const fn foot(&self) -> &'static [u8] {
        match self.text {
            Text::Json(_) => b"]",
            Text::Csv { .. } => b"",
        }
    }

    /// How many rows there are.
    #[must_use]
    pub fn num_rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// How many blocks there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.batch.num_rows().div_ceil(BLOCK_ROWS)
    }

    /// The rows of a block. `room` is told how many bytes more were allocated, after the row that needed them, and ends
    /// the block with an error.
    ///
    /// # Errors
    /// That of `room`.
    pub fn render<E>(
        &self,
        block: usize,
        mut room: impl FnMut(usize) -> Result<(), E>,
    ) -> Result<Vec<u8>, E> {
        let from = block * BLOCK_ROWS;
        let part = self.batch.slice(from, BLOCK_ROWS.min(self.batch.num_rows() - from));
        let columns = Columns::new(&part);
        let mut bytes = Vec::with_capacity(self.longest.load(Ordering::Relaxed));
        let mut told = 0;
        for row in 0..part.num_rows() {
            match &self.text {
                Text::Csv { escapes } => columns.csv(row, *escapes, &mut bytes),
                Text::Json(before) => {
                    if from + row > 0 {
                        bytes.push(b',');
                    }
                    columns.json(before, row, &mut bytes);
                }
            }
            if bytes.capacity() > told {
                room(bytes.capacity() - told)?;
                told = bytes.capacity();
            }
        }
        self.longest.fetch_max(bytes.len() + ROW_BYTES, Ordering::Relaxed);
        Ok(bytes)
    }

    /// Writes all of it: blocks are rendered by all threads, and written in their order while later ones are rendered.
    ///
    /// # Errors
    /// That of `out`.
    pub fn write<W: Write>(&self, out: &mut W) -> io::Result<()> {
        out.write_all(&self.head())?;
        self.write_blocks(out)?;
        out.write_all(self.foot())
    }

    fn write_blocks<W: Write>(&self, out: &mut W) -> io::Result<()> {
        let block = |number| match self.render(number, |_| Ok::<_, Infallible>(())) {
            Ok(bytes) => bytes,
            Err(never) => match never {},
        };
        let mut blocks = 0..self.count();
        if blocks.len() <= 1 {
            return blocks.try_for_each(|number| out.write_all(&block(number)));
        }
        rayon::in_place_scope(|scope| {
            let mut begun = VecDeque::new();
            let mut begin = |begun: &mut VecDeque<Receiver<Vec<u8>>>| {
                if let Some(number) = blocks.next() {
                    let (done, rendered) = mpsc::sync_channel(1);
                    let block = &block;
                    // It is not taken when what came before could not be written.
                    scope.spawn(move |_| drop(done.send(block(number))));
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
mod tests {
    #![allow(clippy::unwrap_used)]
    #![allow(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "numbers of tests are small"
    )]
    use std::sync::Arc;

    use super::*;

    fn sample() -> TextBlocks {
        let ints: ArrayRef = Arc::new(Int64Array::from_iter_values(0..10 * BLOCK_ROWS as i64 + 3));
        let batch = RecordBatch::try_from_iter([("i", ints)]).unwrap();
        TextBlocks::new(&Table::try_new(batch).unwrap(), ExportFormat::Csv).unwrap()
    }

    #[test]
    fn blocks_keep_their_order_inside_and_outside_of_a_pool() {
        let sample = sample();
        let written = || {
            let mut out = Vec::new();
            sample.write(&mut out).unwrap();
            out
        };
        let rows = 0..sample.batch.num_rows();
        let wanted: String = "i\n"
            .chars()
            .chain(rows.flat_map(|i| format!("{i}\n").into_bytes()).map(char::from))
            .collect();
        assert!(written() == wanted.as_bytes());
        for threads in [1, 2] {
            // A thread of the pool itself writes: with one of them nobody else renders.
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            assert!(pool.install(written) == wanted.as_bytes());
        }
    }

    #[test]
    fn a_block_tells_all_that_it_allocates_and_ends_where_there_is_no_room() {
        let sample = sample();
        let mut told = 0;
        let bytes = sample.render(3, |more| {
            told += more;
            Ok::<_, ()>(())
        });
        assert_eq!(told, bytes.unwrap().capacity());
        let mut asked = 0;
        let refused = sample.render(3, |more| {
            asked += more;
            if asked > 1_000 { Err("full") } else { Ok(()) }
        });
        assert_eq!(refused.unwrap_err(), "full");
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
        for few in [0, 1, 3] {
            assert_eq!(sample().write(&mut Few(few)).unwrap_err().to_string(), "full");
        }
    }
}
