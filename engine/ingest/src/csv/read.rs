//! From text to a record batch: read chunks in parallel, settle types, join.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema};
use graphlume_table::TableError;
use graphlume_types::limits::ROWS_MAX;
use rayon::prelude::*;

use super::assemble::{self, Piece, Unfit};
use super::cell_error::{Fault, explain};
use super::column::ChunkColumn;
use super::dialect::Dialect;
use super::general::Separator;
use super::job::{Job, Tokenizer, Tuning};
use super::plan::{Column, Plan, plan};
use super::seen::Seen;
use super::split::Chunk;
use super::token::{Stop, Token};
use crate::decimals::rounded;
use crate::demand::{self, Kind, Then};
use crate::memory::Memory;
use crate::{Format, IngestError, ParseCx, source};

/// Rows whose types are looked at before the first chunk is read.
const SAMPLE_ROWS: usize = 100;
/// Memory for text, in lengths of the sample.
const TEXT_SLACK: f64 = 1.25;
/// Cells beyond one per byte that short records may be padded with.
const PADDING_CELLS_MAX: u64 = 1 << 26;

/// A chunk with its columns.
struct ChunkRows<'a> {
    chunk: Chunk,
    columns: Vec<ChunkColumn<'a>>,
}

/// What is said of a text.
#[derive(Debug, Default)]
pub struct Told {
    /// Options without effect.
    pub warnings: Vec<String>,
    /// Values that are not those of the text.
    pub cut: Vec<String>,
}

/// The columns, each with how many of its values are not what is written, and the number of rows.
type Columns = (Vec<(ArrayRef, u64)>, usize);

/// Reads the text after its byte order mark.
pub fn table(
    text: &[u8],
    dialect: &Dialect,
    tuning: Tuning,
    cx: &ParseCx,
    told: &mut Told,
) -> Result<RecordBatch, IngestError> {
    let plan = plan(text, dialect, &cx.cancel, &mut told.warnings)
        .map_err(|halt| explain(text, dialect, None, halt.into()))?;
    let read = read_pieces(text, dialect, &plan, tuning, cx);
    let (arrays, rows) = read.map_err(|fault| explain(text, dialect, Some(&plan), fault))?;
    let mut fields = Vec::with_capacity(arrays.len());
    let mut columns = Vec::with_capacity(arrays.len());
    for (column, (array, count)) in plan.columns.iter().zip(arrays) {
        // Who demands floats knows what they hold.
        if count > 0 && column.demand.is_none() {
            told.cut.push(rounded(&column.name, count));
        }
        let then = column.demand.as_ref().map_or(&Then::Nothing, |d| &d.then);
        let array = demand::finish(Format::Csv, &column.name, then, array, &mut told.warnings)?;
        fields.push(Field::new(&column.name, array.data_type().clone(), true));
        columns.push(array);
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let batch = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options);
    Ok(batch.map_err(|e| TableError::Join(e.to_string()))?)
}

fn read_pieces(
    text: &[u8],
    dialect: &Dialect,
    plan: &Plan,
    tuning: Tuning,
    cx: &ParseCx,
) -> Result<Columns, Fault> {
    let mut job = Job::new(text, dialect, plan, tuning, cx);
    let pieces = job.pieces()?;
    if let Some(chunks) = job.guess(&pieces, tuning) {
        match read_chunks(&job, &chunks) {
            Err(Fault::Misaligned) => {}
            done => return done,
        }
    }
    let chunks = job.exact(&pieces, tuning)?;
    read_chunks(&job, &chunks)
}

fn read_chunks(job: &Job<'_>, chunks: &[Chunk]) -> Result<Columns, Fault> {
    let rows_max: u64 = chunks.iter().map(|c| c.rows_max as u64).sum();
    let columns = &job.plan.columns;
    check_size(job, rows_max)?;
    let mut slabs = (columns.iter())
        .map(|_| Memory::room::<u64>(rows_max as usize))
        .collect::<Result<Vec<_>, _>>()?;
    let (hints, lengths) = sample(job, chunks);
    let mut texts = (lengths.iter())
        .map(|length| Memory::room::<u8>(chunks.iter().map(|c| room(c, *length)).sum()))
        .collect::<Result<Vec<_>, _>>()?;
    let mut rests: Vec<&mut [u64]> = slabs.iter_mut().map(Memory::values_mut).collect();
    let mut rooms: Vec<&mut [u8]> = texts.iter_mut().map(Memory::values_mut).collect();
    let mut parts = Vec::with_capacity(chunks.len());
    for chunk in chunks {
        let mut columns = Vec::with_capacity(rests.len());
        for ((rest, text), length) in rests.iter_mut().zip(&mut rooms).zip(&lengths) {
            let (slots, tail) = std::mem::take(rest).split_at_mut(chunk.rows_max);
            *rest = tail;
            let (part, tail) = std::mem::take(text).split_at_mut(room(chunk, *length));
            *text = tail;
            columns.push(ChunkColumn::new(slots, Kind::Int, false).with_room(part));
        }
        parts.push(ChunkRows { chunk: chunk.clone(), columns });
    }
    let read = parts.par_iter_mut().map(|part| read_chunk(job, part, &hints));
    in_order(read.collect())?;

    let kinds = kinds(job, &parts, &hints)?;
    let settled = parts.par_iter_mut().map(|part| settle(job, part, &kinds));
    in_order(settled.collect())?;
    let rows = parts.iter().map(|p| p.columns.first().map_or(0, |c| c.rows)).sum();
    let mut pieces: Vec<Vec<Piece>> = columns.iter().map(|_| Vec::new()).collect();
    let mut rounded = vec![0; columns.len()];
    for part in parts {
        for ((list, rounded), column) in pieces.iter_mut().zip(&mut rounded).zip(part.columns) {
            *rounded += column.rounded;
            list.push(Piece::new(&part.chunk, column));
        }
    }
    let work: Vec<_> = slabs.into_iter().zip(texts).zip(pieces).zip(&kinds).collect();
    let arrays = work
        .into_par_iter()
        .map(|(((slab, text), pieces), kind)| assemble::column(slab, text, pieces, *kind));
    let arrays: Vec<Result<ArrayRef, Unfit>> = arrays.collect();
    let mut done = Vec::with_capacity(arrays.len());
    for ((array, column), rounded) in arrays.into_iter().zip(columns).zip(rounded) {
        let array = array.map_err(|unfit| match unfit {
            Unfit::NotText { piece, row } => {
                let at = locate(job, &chunks[piece], row, column.index);
                Fault::NotText { at, column: column.name.clone() }
            }
            Unfit::Error(e) => Fault::Error(e),
        })?;
        done.push((array, rounded));
    }
    Ok((done, rows))
}

/// Where the cell in this row of a chunk begins that was read before.
#[cold]
fn locate(job: &Job<'_>, chunk: &Chunk, row: usize, index: usize) -> usize {
    let width = job.plan.width;
    let mut tokenizer = job.tokenizer(chunk.range.clone());
    let mut token = vec![Token::EMPTY; width];
    let read = (0..=row).all(|_| job.fill(&mut tokenizer, &mut token) == Ok(1));
    chunk.range.start + if read { token[index].start() } else { 0 }
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
    if cells > job.text.len() as u64 + PADDING_CELLS_MAX {
        let message = format!(
            "the header has {} columns but most of the {rows_max} lines are far shorter; \
             at most {PADDING_CELLS_MAX} missing cells are filled in",
            job.plan.width
        );
        return Err(IngestError::too_large(message));
    }
    Ok(())
}

/// Bytes for the text of cells of this mean length in a chunk, which never has more text than bytes.
fn room(chunk: &Chunk, length: f64) -> usize {
    ((chunk.rows_max as f64 * length * TEXT_SLACK) as usize).min(chunk.range.len())
}

/// Looks at the first rows, so that chunks rarely begin with a wrong guess: what was met in each column,
/// and the mean length of the cells of those that are text, else 0.
fn sample(job: &Job<'_>, chunks: &[Chunk]) -> (Vec<AtomicU16>, Vec<f64>) {
    let columns = &job.plan.columns;
    let mut seen = vec![0u16; columns.len()];
    let mut lengths = vec![0.0; columns.len()];
    if let Some(chunk) = chunks.first() {
        let width = job.plan.width;
        let rows = SAMPLE_ROWS.min(chunk.rows_max).min((1 << 20) / width);
        let mut tokens = vec![Token::EMPTY; rows * width];
        let mut tokenizer = job.tokenizer(chunk.range.clone());
        // A fault in the sample is met again, and reported, when the chunk is read.
        let rows = job.fill(&mut tokenizer, &mut tokens).unwrap_or(0);
        let mut slots = vec![0u64; rows];
        for ((seen, length), column) in seen.iter_mut().zip(&mut lengths).zip(columns) {
            let mut values = ChunkColumn::new(&mut slots, Kind::Int, false);
            let cells = &tokens[..rows * width];
            let data = &job.text[chunk.range.start..];
            let _ = values.push(&column.cells, data, cells, width, column.index);
            *seen = values.seen.0;
            let kind = match &column.demand {
                Some(demand) => demand.kind,
                None => values.seen.kind(job.dialect.floats),
            };
            if kind == Kind::Text && rows > 0 {
                let own = cells.iter().skip(column.index).step_by(width);
                *length = own.map(|t| t.len()).sum::<usize>() as f64 / rows as f64;
            }
        }
    }
    (seen.into_iter().map(AtomicU16::new).collect(), lengths)
}

fn read_chunk(job: &Job<'_>, part: &mut ChunkRows<'_>, hints: &[AtomicU16]) -> Result<(), Fault> {
    for ((values, column), hint) in part.columns.iter_mut().zip(&job.plan.columns).zip(hints) {
        let seen = Seen(hint.load(Ordering::Relaxed));
        match &column.demand {
            Some(demand) => values.demand(demand),
            None if seen.is_void() => {}
            None => values.repr = Some(seen.kind(job.dialect.floats)),
        }
    }
    let all: Vec<usize> = (0..part.columns.len()).collect();
    read_columns(job, part, &all)?;
    source::passed(&job.text[part.chunk.range.clone()]);
    job.meter.add(part.chunk.range.len() as u64, part.columns.first().map_or(0, |c| c.rows as u64));
    for (values, hint) in part.columns.iter().zip(hints) {
        hint.fetch_or(values.seen.0, Ordering::Relaxed);
    }
    Ok(())
}

/// Reads the chunk into those of its columns that `wanted` names.
fn read_columns(job: &Job<'_>, part: &mut ChunkRows<'_>, wanted: &[usize]) -> Result<(), Fault> {
    let Chunk { range, rows_max, .. } = part.chunk.clone();
    let start = range.start;
    if range.len() > u32::MAX as usize {
        return Err(Fault::Stop(Stop::TooLong { at: start }));
    }
    // Values may be loaded past the end of the chunk, where the next one lies.
    let data = &job.text[start..];
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
            Stop::InQuotes { .. } if !part.chunk.last => Fault::Misaligned,
            stop => Fault::Stop(stop.shifted(start)),
        })?;
        rows += found;
        if rows > rows_max {
            return Err(Fault::Misaligned);
        }
        let tokens = &block[..found * width];
        for &c in wanted {
            let column = &job.plan.columns[c];
            part.columns[c]
                .push(&column.cells, data, tokens, width, column.index)
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
        _ => None,
    };
    let fits = job.plan.columns.iter().all(|c| c.cells.digits_are_numbers())
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
fn kinds(
    job: &Job<'_>,
    parts: &[ChunkRows<'_>],
    seen: &[AtomicU16],
) -> Result<Vec<Kind>, IngestError> {
    let rows: usize = parts.iter().map(|p| p.columns.first().map_or(0, |c| c.rows)).sum();
    let kind = |(column, seen): (&Column, &AtomicU16)| {
        let seen = Seen(seen.load(Ordering::Relaxed));
        match &column.demand {
            Some(demand) if seen.is_mixture() && !demand.takes_mixtures() => {
                let name = &column.name;
                let message = format!("column {name:?} mixes numbers and booleans");
                Err(IngestError::Malformed {
                    format: Format::Csv,
                    message,
                    row: None,
                    column: Some(name.clone()),
                })
            }
            Some(demand) => Ok(demand.kind),
            // A table without rows has columns of no type, which pandas calls object.
            None if rows == 0 => Ok(Kind::Text),
            None => Ok(seen.kind(job.dialect.floats)),
        }
    };
    job.plan.columns.iter().zip(seen).map(kind).collect()
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
    if again.is_empty() {
        return Ok(());
    }
    read_columns(job, part, &again)?;
    source::passed(&job.text[part.chunk.range.clone()]);
    Ok(())
}
