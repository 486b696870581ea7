//! From text to a record batch: cut, read chunks in parallel, settle types, join.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema};
use graphlume_table::TableError;
use graphlume_types::limits::{CELL_BYTES_MAX, ROWS_MAX};
use rayon::prelude::*;

use super::assemble::{self, Piece};
use super::column::{BadCell, ChunkColumn, Kind, Seen};
use super::dialect::Dialect;
use super::fast::{Fast, Shape};
use super::general::{General, Separator};
use super::plan::{Plan, plan};
use super::split::{self, Chunk, Facts};
use super::token::{Stop, Token};
use crate::{Format, IngestError, ParseCx};

/// Tokens that are found before they are converted: as many as stay in the first cache.
const BLOCK_TOKENS: usize = 2_048;
/// Bytes of a chunk: large against its fixed cost, small against the second cache.
const CHUNK_BYTES_MIN: usize = 64 << 10;
const CHUNK_BYTES_MAX: usize = 1 << 20;
/// Bytes of a chunk per column, so that bookkeeping per chunk and column stays small.
const CHUNK_BYTES_PER_COLUMN: usize = 4 << 10;
/// Rows whose types are looked at before the first chunk is read.
const SAMPLE_ROWS: usize = 100;
/// Cells beyond one per byte that short records may be padded with.
const PADDING_CELLS_MAX: u64 = 1 << 26;

/// What tests change.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tuning {
    /// Bytes of a chunk.
    pub chunk_bytes: Option<usize>,
    /// Use the general tokenizer even where the fast one can read the dialect.
    pub general: bool,
}

/// Why reading failed; offsets are from the start of the text.
enum Fault {
    Stop(Stop),
    BadCell {
        start: usize,
        bad: BadCell,
        column: usize,
    },
    NotText {
        at: usize,
        column: String,
    },
    /// A chunk does not begin at a record.
    Misaligned,
    Error(IngestError),
}

impl From<IngestError> for Fault {
    fn from(e: IngestError) -> Self {
        Self::Error(e)
    }
}

enum Tokenizer<'a> {
    Fast(Fast<'a>),
    General(General<'a>),
}

/// Everything about one parse that chunks share.
struct Job<'a> {
    body: &'a [u8],
    dialect: &'a Dialect,
    plan: &'a Plan,
    facts: Facts,
    fast: bool,
    cx: &'a ParseCx,
}

impl<'a> Job<'a> {
    fn tokenizer(&self, range: std::ops::Range<usize>) -> Tokenizer<'a> {
        let data = &self.body[range];
        let syntax = self.dialect.syntax;
        match syntax.separator {
            Separator::Byte(separator) if self.fast => {
                let mut quote = syntax.quote;
                quote.mark = quote.mark.filter(|_| self.facts.quotes);
                Tokenizer::Fast(Fast::new(
                    data,
                    Shape {
                        separator,
                        quote,
                        cr: self.facts.cr,
                        columns: self.plan.width,
                        drop_extra: self.plan.drop_extra,
                        skip_blank: syntax.skip_blank,
                    },
                ))
            }
            _ => Tokenizer::General(General::new(data, syntax)),
        }
    }

    fn fill(&self, tokenizer: &mut Tokenizer<'a>, out: &mut [Token]) -> Result<usize, Stop> {
        match tokenizer {
            Tokenizer::Fast(t) => t.fill(out),
            Tokenizer::General(t) => t.fill(out, self.plan.width, self.plan.drop_extra),
        }
    }

    fn block_rows(&self) -> usize {
        (BLOCK_TOKENS / self.plan.width).max(1)
    }

    fn fill_block(
        &self,
        tokenizer: &mut Tokenizer<'a>,
        block: &mut [Token],
    ) -> Result<(usize, usize), Stop> {
        let found = self.fill(tokenizer, block)?;
        let at = match tokenizer {
            Tokenizer::Fast(t) => t.position(),
            Tokenizer::General(t) => t.position(),
        };
        Ok((found, at.min(self.body.len())))
    }

    /// Where records end near every `bytes` bytes, found by reading all of them.
    fn cut_exactly(&self, bytes: usize) -> Result<Vec<Chunk>, Stop> {
        let mut tokenizer = self.tokenizer(0..self.body.len());
        let mut block = vec![Token::EMPTY; self.block_rows() * self.plan.width];
        split::exact(self.body.len(), bytes, || self.fill_block(&mut tokenizer, &mut block))
    }

    /// Where the first `rows` records end.
    fn end_of(&self, rows: u64) -> Result<usize, Stop> {
        let mut tokenizer = self.tokenizer(0..self.body.len());
        let mut block = vec![Token::EMPTY; self.block_rows() * self.plan.width];
        let (mut left, mut end) = (usize::try_from(rows).unwrap_or(usize::MAX), 0);
        while left > 0 {
            let some = left.min(self.block_rows());
            let tokens = &mut block[..some * self.plan.width];
            let (found, at) = self.fill_block(&mut tokenizer, tokens)?;
            (left, end) = (left - found, at);
            if found < some {
                break;
            }
        }
        Ok(end)
    }
}

/// A chunk with its columns.
struct ChunkRows<'a> {
    chunk: Chunk,
    last: bool,
    columns: Vec<ChunkColumn<'a>>,
}

/// Reads the text after its byte order mark.
pub fn table(
    text: &[u8],
    dialect: &Dialect,
    tuning: Tuning,
    cx: &ParseCx,
    warnings: &mut Vec<String>,
) -> Result<RecordBatch, IngestError> {
    let plan = match plan(text, dialect) {
        Ok(plan) => plan,
        Err(Ok(stop)) => return Err(explain(text, None, Fault::Stop(stop))),
        Err(Err(e)) => return Err(e),
    };
    let body = &text[plan.body..];
    let read = read_body(body, dialect, &plan, tuning, cx);
    let (arrays, rows) = read.map_err(|fault| explain(text, Some(&plan), fault))?;
    let mut fields = Vec::with_capacity(arrays.len());
    let mut columns = Vec::with_capacity(arrays.len());
    for (column, array) in plan.columns.iter().zip(arrays) {
        let array = assemble::finish(column, array, warnings)?;
        fields.push(Field::new(&column.name, array.data_type().clone(), true));
        columns.push(array);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options);
    Ok(batch.map_err(|e| TableError::Join(e.to_string()))?)
}

fn read_body(
    body: &[u8],
    dialect: &Dialect,
    plan: &Plan,
    tuning: Tuning,
    cx: &ParseCx,
) -> Result<(Vec<ArrayRef>, usize), Fault> {
    let syntax = dialect.syntax;
    let simple = syntax.line_end.is_none() && syntax.comment.is_none() && !syntax.skip_space;
    let fast = simple && !tuning.general && matches!(syntax.separator, Separator::Byte(_));
    let threads = rayon::current_num_threads();
    let share = (body.len() / (4 * threads)).clamp(CHUNK_BYTES_MIN, CHUNK_BYTES_MAX);
    let bytes = tuning.chunk_bytes.unwrap_or(share.max(CHUNK_BYTES_PER_COLUMN * plan.width));
    // Assumed until the text has been looked at.
    let facts = Facts { quotes: true, cr: true };
    let mut job = Job { body, dialect, plan, facts, fast, cx };
    if let Some(rows) = dialect.rows_max {
        // What lies behind the wanted rows is not looked at.
        job.body = &body[..job.end_of(rows).map_err(Fault::Stop)?];
    }
    if fast {
        let (chunks, facts) = split::guess(job.body, syntax.quote.mark, bytes);
        job.facts = facts;
        match read_chunks(&job, &chunks) {
            Err(Fault::Misaligned) => {}
            done => return done,
        }
    }
    let chunks = job.cut_exactly(bytes).map_err(Fault::Stop)?;
    read_chunks(&job, &chunks)
}

fn read_chunks(job: &Job<'_>, chunks: &[Chunk]) -> Result<(Vec<ArrayRef>, usize), Fault> {
    let rows_max: u64 = chunks.iter().map(|c| c.rows_max as u64).sum();
    let columns = &job.plan.columns;
    check_size(job, rows_max)?;
    let mut slabs =
        (columns.iter()).map(|_| slab(rows_max as usize)).collect::<Result<Vec<_>, _>>()?;
    let hints = sample(job, chunks);
    let mut rests: Vec<&mut [u64]> = slabs.iter_mut().map(Vec::as_mut_slice).collect();
    let mut parts = Vec::with_capacity(chunks.len());
    for (i, chunk) in chunks.iter().enumerate() {
        let mut columns = Vec::with_capacity(rests.len());
        for rest in &mut rests {
            let (slots, tail) = std::mem::take(rest).split_at_mut(chunk.rows_max);
            *rest = tail;
            columns.push(ChunkColumn::new(slots, Kind::Int, false));
        }
        parts.push(ChunkRows { chunk: chunk.clone(), last: i + 1 == chunks.len(), columns });
    }
    let read = parts.par_iter_mut().map(|part| read_chunk(job, part, &hints));
    in_order(read.collect())?;

    let kinds = kinds(job, &parts, &hints);
    let settled = parts.par_iter_mut().map(|part| settle(job, part, &kinds));
    in_order(settled.collect())?;
    let rows = parts.iter().map(|p| p.columns.first().map_or(0, |c| c.rows)).sum();
    let mut pieces: Vec<Vec<Piece>> = columns.iter().map(|_| Vec::new()).collect();
    for part in parts {
        for (list, column) in pieces.iter_mut().zip(part.columns) {
            list.push(Piece::new(&part.chunk, column));
        }
    }
    let work: Vec<_> = slabs.into_iter().zip(pieces).zip(&kinds).collect();
    let arrays = work.into_par_iter().map(|((slab, pieces), kind)| {
        assemble::column(slab, pieces, *kind, job.body, job.dialect.syntax.quote)
    });
    let arrays: Vec<Result<ArrayRef, usize>> = arrays.collect();
    let mut done = Vec::with_capacity(arrays.len());
    for (array, column) in arrays.into_iter().zip(columns) {
        done.push(array.map_err(|at| Fault::NotText { at, column: column.name.clone() })?);
    }
    Ok((done, rows))
}

/// The first fault in the order of the text, except that a wrong cut makes all others meaningless.
fn in_order(results: Vec<Result<(), Fault>>) -> Result<(), Fault> {
    if results.iter().any(|r| matches!(r, Err(Fault::Misaligned))) {
        return Err(Fault::Misaligned);
    }
    results.into_iter().collect()
}

fn check_size(job: &Job<'_>, rows_max: u64) -> Result<(), IngestError> {
    if rows_max > ROWS_MAX + 1 {
        return Err(TableError::TooManyRows { rows: rows_max }.into());
    }
    let cells = rows_max * job.plan.width as u64;
    if cells > job.body.len() as u64 + PADDING_CELLS_MAX {
        let message = format!(
            "the header has {} columns but most of the {rows_max} lines are far shorter; \
             at most {PADDING_CELLS_MAX} missing cells are filled in",
            job.plan.width
        );
        return Err(IngestError::too_large(message));
    }
    Ok(())
}

/// Memory for a column, which the system hands out as it is written.
fn slab(rows: usize) -> Result<Vec<u64>, IngestError> {
    // The zeroed allocation below would end the process where this one only says no.
    let mut probe: Vec<u64> = Vec::new();
    if probe.try_reserve_exact(rows).is_err() {
        let message = format!("there is no memory for a column of {rows} rows");
        return Err(IngestError::too_large(message));
    }
    drop(probe);
    Ok(vec![0; rows])
}

/// Looks at the types of the first rows, so that chunks rarely begin with a wrong guess.
fn sample(job: &Job<'_>, chunks: &[Chunk]) -> Vec<AtomicU8> {
    let columns = &job.plan.columns;
    let mut seen = vec![0u8; columns.len()];
    if let Some(chunk) = chunks.first() {
        let width = job.plan.width;
        let rows = SAMPLE_ROWS.min(chunk.rows_max).min((1 << 20) / width);
        let mut tokens = vec![Token::EMPTY; rows * width];
        let mut tokenizer = job.tokenizer(chunk.range.clone());
        // A fault in the sample is met again, and reported, when the chunk is read.
        let rows = job.fill(&mut tokenizer, &mut tokens).unwrap_or(0);
        let mut slots = vec![0u64; rows];
        for (seen, column) in seen.iter_mut().zip(columns) {
            let mut values = ChunkColumn::new(&mut slots, Kind::Int, false);
            let cells = &tokens[..rows * width];
            let _ = values.push(&job.dialect.cells, job.body, cells, width, column.index);
            *seen = values.seen.0;
        }
    }
    seen.into_iter().map(AtomicU8::new).collect()
}

fn read_chunk(job: &Job<'_>, part: &mut ChunkRows<'_>, hints: &[AtomicU8]) -> Result<(), Fault> {
    for ((values, column), hint) in part.columns.iter_mut().zip(&job.plan.columns).zip(hints) {
        let seen = Seen(hint.load(Ordering::Relaxed));
        match &column.demand {
            Some(demand) => values.restart(demand.kind),
            None if seen.is_void() => {}
            None => values.repr = Some(seen.kind()),
        }
    }
    let all: Vec<usize> = (0..part.columns.len()).collect();
    read_columns(job, part, &all)?;
    for (values, hint) in part.columns.iter().zip(hints) {
        hint.fetch_or(values.seen.0, Ordering::Relaxed);
    }
    Ok(())
}

/// Reads the chunk into those of its columns that `wanted` names.
fn read_columns(job: &Job<'_>, part: &mut ChunkRows<'_>, wanted: &[usize]) -> Result<(), Fault> {
    let Chunk { range, rows_max } = part.chunk.clone();
    let start = range.start;
    if range.len() > u32::MAX as usize {
        return Err(Fault::Stop(Stop::TooLong { at: start }));
    }
    // Values may be loaded past the end of the chunk, where the next one lies.
    let data = &job.body[start..];
    let width = job.plan.width;
    let mut tokenizer = job.tokenizer(range);
    let mut block = vec![Token::EMPTY; job.block_rows() * width];
    let (mut rows, mut blocks) = (0, 0usize);
    loop {
        // What is not digits usually comes in numbers, so the short way is tried now and then only.
        if blocks.is_multiple_of(16) {
            job.cx.cancel.check().map_err(IngestError::from)?;
            rows += take_digits(job, &mut tokenizer, part, wanted);
        }
        blocks += 1;
        let some = job.block_rows().min(rows_max + 1 - rows);
        let found = job.fill(&mut tokenizer, &mut block[..some * width]);
        let found = found.map_err(|stop| match stop {
            Stop::InQuotes { .. } if !part.last => Fault::Misaligned,
            Stop::InQuotes { at } => Fault::Stop(Stop::InQuotes { at: at + start }),
            Stop::TooMany { at, cells } => Fault::Stop(Stop::TooMany { at: at + start, cells }),
            Stop::TooLong { at } => Fault::Stop(Stop::TooLong { at: at + start }),
        })?;
        rows += found;
        if rows > rows_max {
            return Err(Fault::Misaligned);
        }
        let tokens = &block[..found * width];
        for &c in wanted {
            let at = job.plan.columns[c].index;
            part.columns[c]
                .push(&job.dialect.cells, data, tokens, width, at)
                .map_err(|bad| Fault::BadCell { start, bad, column: c })?;
        }
        if found < some {
            return Ok(());
        }
    }
}

/// Reads records of plain digits, where all columns are wanted and are whole numbers so far.
fn take_digits(
    job: &Job<'_>,
    tokenizer: &mut Tokenizer<'_>,
    part: &mut ChunkRows<'_>,
    wanted: &[usize],
) -> usize {
    let Tokenizer::Fast(fast) = tokenizer else { return 0 };
    let syntax = job.dialect.syntax;
    let foreign = |b: Option<u8>| b.is_none_or(|b| !b.is_ascii_digit());
    let separator = match syntax.separator {
        Separator::Byte(b) => Some(b),
        Separator::Blanks => None,
    };
    let fits = job.dialect.cells.digits_are_numbers()
        && wanted.len() == job.plan.width
        && foreign(separator)
        && foreign(syntax.quote.mark)
        && part.columns.iter().all(|c| c.repr == Some(Kind::Int));
    if !fits {
        return 0;
    }
    let mut free: Vec<&mut [u64]> = part.columns.iter_mut().map(ChunkColumn::free).collect();
    let rows = fast.digits(&mut free);
    part.columns.iter_mut().for_each(|c| c.took_digits(rows));
    rows
}

/// The type of each column, from what all chunks met in it (and the sample, which is a part of them).
fn kinds(job: &Job<'_>, parts: &[ChunkRows<'_>], seen: &[AtomicU8]) -> Vec<Kind> {
    let rows: usize = parts.iter().map(|p| p.columns.first().map_or(0, |c| c.rows)).sum();
    let kind = |(i, column): (usize, &super::plan::Column)| match &column.demand {
        Some(demand) => demand.kind,
        // A table without rows has columns of no type, which pandas calls object.
        None if rows == 0 => Kind::Text,
        None => Seen(seen[i].load(Ordering::Relaxed)).kind(),
    };
    job.plan.columns.iter().enumerate().map(kind).collect()
}

/// Brings the chunk's columns to their final types, reading again what was read as another one.
fn settle(job: &Job<'_>, part: &mut ChunkRows<'_>, kinds: &[Kind]) -> Result<(), Fault> {
    let mut again = Vec::new();
    for (i, (values, kind)) in part.columns.iter_mut().zip(kinds).enumerate() {
        if !values.settle(*kind) {
            values.restart(*kind);
            again.push(i);
        }
    }
    if again.is_empty() { Ok(()) } else { read_columns(job, part, &again) }
}

/// Line number, from 1, of the byte at `at`.
fn line(text: &[u8], at: usize) -> u64 {
    let before = &text[..at.min(text.len())];
    1 + memchr::memchr_iter(b'\n', before).count() as u64
}

fn explain(text: &[u8], plan: Option<&Plan>, fault: Fault) -> IngestError {
    let body = plan.map_or(0, |p| p.body);
    let (at, message) = match fault {
        Fault::Error(e) => return e,
        Fault::Misaligned => (0, "the records cannot be told apart".to_owned()),
        Fault::Stop(Stop::InQuotes { at }) => (at, "a quoted cell is never closed".to_owned()),
        Fault::Stop(Stop::TooLong { at }) => {
            let row = line(text, at + body);
            let message = format!("line {row} has a cell of more than {CELL_BYTES_MAX} bytes");
            return IngestError::TooLarge { message, row: Some(row), column: None };
        }
        Fault::Stop(Stop::TooMany { at, cells }) => {
            let width = plan.map_or(0, |p| p.width);
            (at, format!("expected {width} cells, found {cells}; quote cells that hold separators"))
        }
        Fault::NotText { at, column } => {
            let row = line(text, at + body);
            let message = format!("line {row}, column {column:?}: the bytes are not UTF-8 text");
            let (format, column) = (Format::Csv, Some(column));
            return IngestError::Malformed { format, message, row: Some(row), column };
        }
        Fault::BadCell { start, bad, column } => {
            let at = start + bad.token.start();
            let raw = bad.token.raw(&text[body + start..]);
            let shown: String = String::from_utf8_lossy(raw).chars().take(64).collect();
            let row = line(text, at + body);
            let name = plan.and_then(|p| p.columns.get(column)).map(|c| c.name.clone());
            let kind = match bad.kind {
                Kind::Int => "a whole number of 64 bits",
                Kind::UInt => "a whole number of 64 bits without sign",
                Kind::Float => "a number",
                Kind::Bool => "a boolean",
                Kind::Text => "text",
            };
            let shown_name = name.as_deref().unwrap_or_default();
            let message = format!("line {row}, column {shown_name:?}: {shown:?} is not {kind}");
            let format = Format::Csv;
            return IngestError::Malformed { format, message, row: Some(row), column: name };
        }
    };
    let row = line(text, at + body);
    IngestError::malformed_at(Format::Csv, format!("line {row}: {message}"), row)
}
