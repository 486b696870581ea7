//! Documents of rows: arrays of records, records by label, and lines of them.

use std::collections::{HashMap, HashSet};

use graphlume_types::CancelToken;
use graphlume_types::limits::{CELL_BYTES_MAX, COLUMNS_MAX, ROWS_MAX};
use rayon::prelude::*;

use super::builder::{ColumnBuilder, Scalar};
use super::quick::Key;
use super::reader::{Bad, Reader, compact};
use crate::meter::Meter;
use crate::source;

/// Cells beyond one per byte that absent members may be filled in with.
pub const PADDING_CELLS_MAX: u64 = 1 << 26;
/// Bytes of lines that are read at once.
const CHUNK_BYTES: usize = 1 << 20;

/// What every reader of values checks against.
#[derive(Clone, Copy)]
pub struct Guard<'a> {
    pub cancel: &'a CancelToken,
    pub meter: &'a Meter<'a>,
    /// Bytes of the document.
    pub bytes: u64,
    /// Names of columns that are text whatever their values are.
    pub texts: &'a HashSet<String>,
}

impl Guard<'_> {
    /// An empty column.
    pub fn column(&self, name: &str) -> ColumnBuilder {
        if self.texts.contains(name) { ColumnBuilder::text() } else { ColumnBuilder::default() }
    }
}

/// Rows in the making.
#[derive(Default)]
pub struct Rows {
    pub names: Vec<String>,
    pub columns: Vec<ColumnBuilder>,
    /// The names as records mostly have them.
    keys: Vec<Option<Key>>,
    by_name: HashMap<String, usize>,
    pub count: usize,
    /// Whether the columns are all known, so that arrays of values must fit them.
    closed: bool,
}

impl Rows {
    /// Rows of these columns and no others.
    pub fn named(names: Vec<String>, guard: Guard<'_>) -> Self {
        let columns = names.iter().map(|name| guard.column(name)).collect();
        let by_name = names.iter().cloned().zip(0..).collect();
        let keys = names.iter().map(|name| Key::of(name)).collect();
        Self { names, columns, keys, by_name, count: 0, closed: true }
    }

    /// Drops the column that pandas makes of row labels without a name.
    pub fn remove_index(&mut self) {
        if let Some(at) = self.by_name.get("index").copied() {
            self.names.remove(at);
            self.keys.remove(at);
            self.columns.remove(at);
        }
    }

    fn add(&mut self, name: &str, guard: Guard<'_>) -> Result<usize, String> {
        let at = self.names.len();
        if at >= COLUMNS_MAX {
            return Err(format!("there are too many columns; the limit is {COLUMNS_MAX}"));
        }
        self.names.push(name.to_owned());
        self.keys.push(Key::of(name));
        self.columns.push(guard.column(name));
        self.by_name.insert(name.to_owned(), at);
        Ok(at)
    }

    /// The column called `name`, which is probably the one at `guess`.
    #[inline]
    fn locate(&mut self, name: &str, guess: usize, guard: Guard<'_>) -> Result<usize, String> {
        if self.names.get(guess).is_some_and(|n| n == name) {
            return Ok(guess);
        }
        match self.by_name.get(name) {
            Some(at) => Ok(*at),
            None => self.add(name, guard),
        }
    }

    fn end_row(&mut self, guard: Guard<'_>, reader: &Reader<'_>) -> Result<(), Bad> {
        self.count += 1;
        let rows = self.count as u64;
        if self.count.is_multiple_of(4096) {
            guard.cancel.check().map_err(|_| reader.bad("stopped"))?;
        }
        check_size(rows, self.columns.len() as u64, guard).map_err(|e| reader.limit(e))
    }

    /// Appends the rows of `other`, whose columns may be others; `ahead` times as many are expected to
    /// follow.
    fn append(&mut self, mut other: Self, ahead: f64, guard: Guard<'_>) -> Result<(), String> {
        for (guess, name) in other.names.iter().enumerate() {
            let at = self.locate(name, guess, guard)?;
            let mut column = std::mem::take(&mut other.columns[guess]);
            column.pad(other.count);
            self.columns[at].pad(self.count);
            self.columns[at].append(column, ahead);
        }
        self.count += other.count;
        check_size(self.count as u64, self.columns.len() as u64, guard)
    }
}

fn check_size(rows: u64, columns: u64, guard: Guard<'_>) -> Result<(), String> {
    if rows > ROWS_MAX {
        return Err(format!("there are too many rows; the limit is {ROWS_MAX}"));
    }
    if rows * columns > guard.bytes + PADDING_CELLS_MAX {
        return Err(format!("most members are absent; {PADDING_CELLS_MAX} may be, not more"));
    }
    Ok(())
}

/// Appends the value that is next, whatever it is, to a column.
#[inline]
pub fn cell(reader: &mut Reader<'_>, column: &mut ColumnBuilder) -> Result<(), Bad> {
    match reader.peek() {
        Some(b'"') => {
            let text = reader.string()?;
            check_cell(reader, text.len())?;
            column.push(Scalar::Text(&text), "");
        }
        Some(b'[' | b'{') => {
            let raw = reader.value()?;
            check_cell(reader, raw.len())?;
            column.push(Scalar::Text(&compact(raw)), "");
        }
        _ => {
            let (scalar, raw) = reader.scalar()?;
            check_cell(reader, raw.len())?;
            column.push(scalar, raw);
        }
    }
    Ok(())
}

#[inline]
fn check_cell(reader: &Reader<'_>, len: usize) -> Result<(), Bad> {
    if len > CELL_BYTES_MAX {
        let message = format!("a value has {len} bytes; the limit is {CELL_BYTES_MAX}");
        return Err(reader.limit(message));
    }
    Ok(())
}

/// One row: an object of members, or an array of values.
fn row(reader: &mut Reader<'_>, rows: &mut Rows, guard: Guard<'_>) -> Result<(), Bad> {
    if reader.take(b'{') {
        object(reader, rows, guard)?;
    } else {
        reader.expect(b'[', "a row, an object or an array of values,")?;
        array(reader, rows, guard)?;
    }
    rows.end_row(guard, reader)
}

fn object(reader: &mut Reader<'_>, rows: &mut Rows, guard: Guard<'_>) -> Result<(), Bad> {
    let (row, mut guess, mut first) = (rows.count, 0, true);
    loop {
        // The next member is mostly that of the next column.
        let known = reader.known_member(&mut first, rows.keys.get(guess).copied().flatten());
        let at = if known {
            guess
        } else {
            let Some(name) = reader.member(&mut first)? else { return Ok(()) };
            rows.locate(&name, guess, guard).map_err(|e| reader.limit(e))?
        };
        guess = at + 1;
        let column = &mut rows.columns[at];
        if column.len() > row {
            let name = &rows.names[at];
            return Err(reader.bad(format!("member {name:?} occurs twice in one record")));
        }
        column.pad(row);
        cell(reader, column)?;
    }
}

fn array(reader: &mut Reader<'_>, rows: &mut Rows, guard: Guard<'_>) -> Result<(), Bad> {
    let (row, mut at, mut first) = (rows.count, 0, true);
    while reader.item(&mut first)? {
        if at == rows.columns.len() {
            if rows.closed {
                let message = format!("there are {at} columns, but this row has more values");
                return Err(reader.bad(message));
            }
            rows.add(&at.to_string(), guard).map_err(|e| reader.limit(e))?;
        }
        let column = &mut rows.columns[at];
        column.pad(row);
        cell(reader, column)?;
        at += 1;
    }
    Ok(())
}

/// An array of rows.
pub fn list(reader: &mut Reader<'_>, rows: &mut Rows, guard: Guard<'_>) -> Result<(), Bad> {
    reader.expect(b'[', "an array of rows")?;
    let mut first = true;
    let mut told = reader.position();
    while reader.item(&mut first)? {
        row(reader, rows, guard)?;
        if rows.count.is_multiple_of(16_384) {
            source::passed(reader.since(told));
            guard.meter.add((reader.position() - told) as u64, 16_384);
            told = reader.position();
        }
    }
    Ok(())
}

/// An object of rows by label.
pub fn index(reader: &mut Reader<'_>, rows: &mut Rows, guard: Guard<'_>) -> Result<(), Bad> {
    reader.expect(b'{', "an object of rows")?;
    let mut first = true;
    while reader.member(&mut first)?.is_some() {
        row(reader, rows, guard)?;
    }
    Ok(())
}

/// The member `name` of the object that is next, and only that: its value is where the reader then is.
pub fn find<'a>(mut reader: Reader<'a>, name: &str) -> Result<Option<Reader<'a>>, Bad> {
    reader.expect(b'{', "an object")?;
    let mut first = true;
    let mut found = None;
    while let Some(member) = reader.member(&mut first)? {
        if member == name {
            found = Some(reader);
        }
        reader.value()?;
    }
    reader.end()?;
    Ok(found)
}

/// One row a line, over all threads.
pub fn lines(text: &str, start: usize, guard: Guard<'_>) -> Result<Rows, Bad> {
    let bytes = text.as_bytes();
    let mut starts = vec![start];
    let mut at = start;
    while bytes.len() - at > CHUNK_BYTES {
        let Some(end) = memchr::memchr(b'\n', &bytes[at + CHUNK_BYTES..]) else { break };
        at += CHUNK_BYTES + end + 1;
        starts.push(at);
    }
    starts.push(bytes.len());
    // Some chunks at a time, so that no second copy of the whole table is held.
    let wave = 4 * rayon::current_num_threads();
    let chunks: Vec<(usize, usize)> = starts.windows(2).map(|w| (w[0], w[1])).collect();
    let mut all = Rows::default();
    for wave in chunks.chunks(wave) {
        let read = wave.par_iter().map(|(from, to)| {
            let rows = chunk(text, *from, *to, guard)?;
            guard.meter.add((to - from) as u64, rows.count as u64);
            Ok(rows)
        });
        let read: Vec<Result<Rows, Bad>> = read.collect();
        for (rows, (at, end)) in read.into_iter().zip(wave) {
            let ahead = (bytes.len() - end) as f64 / (end - at).max(1) as f64;
            all.append(rows?, ahead, guard).map_err(|e| Reader::new(text, *at).limit(e))?;
        }
    }
    Ok(all)
}

fn chunk(text: &str, start: usize, end: usize, guard: Guard<'_>) -> Result<Rows, Bad> {
    let mut rows = Rows::default();
    let mut at = start;
    while at < end {
        let len = memchr::memchr(b'\n', &text.as_bytes()[at..end]).unwrap_or(end - at);
        let mut reader = Reader::new(&text[..at + len], at);
        if reader.peek().is_some() {
            row(&mut reader, &mut rows, guard)?;
            reader.end()?;
        }
        at += len + 1;
    }
    source::passed(&text.as_bytes()[start..end]);
    Ok(rows)
}
