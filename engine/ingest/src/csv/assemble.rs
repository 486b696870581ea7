//! Chunks of a column to one Arrow array.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BooleanArray, Float64Array, GenericStringArray, Int64Array, OffsetSizeTrait,
    UInt64Array,
};
use arrow_buffer::{
    BooleanBuffer, BooleanBufferBuilder, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer,
};
use arrow_cast::CastOptions;
use arrow_cast::display::FormatOptions;
use arrow_schema::{ArrowError, DataType, TimeUnit};
use rayon::prelude::*;

use super::column::{ChunkColumn, Kind};
use super::plan::Column;
use super::split::Chunk;
use super::token::{Quote, Token};
use crate::{Format, IngestError};

/// What is left of a chunk's column when its slots go back to the whole column.
pub struct Piece {
    /// Where the chunk begins in the body.
    start: usize,
    /// Slots that the chunk had.
    slots: usize,
    rows: usize,
    nulls: Vec<u64>,
    text_bytes: u64,
}

impl Piece {
    pub fn new(chunk: &Chunk, column: ChunkColumn<'_>) -> Self {
        let (rows, text_bytes) = (column.rows, column.text_bytes);
        let (start, slots) = (chunk.range.start, chunk.rows_max);
        Self { start, slots, rows, nulls: column.into_nulls(), text_bytes }
    }
}

/// Joins the pieces of one column. The error is the offset in the body of a cell that is not UTF-8.
pub fn column(
    mut slab: Vec<u64>,
    pieces: Vec<Piece>,
    kind: Kind,
    body: &[u8],
    quote: Quote,
) -> Result<ArrayRef, usize> {
    let rows = compact(&mut slab, &pieces);
    let nulls = nulls(&pieces, rows);
    let numbers = |slab: Vec<u64>| Buffer::from_vec(slab);
    Ok(match kind {
        Kind::Int => {
            let values = ScalarBuffer::new(numbers(slab), 0, rows);
            Arc::new(Int64Array::new(values, nulls))
        }
        Kind::UInt => {
            let values = ScalarBuffer::new(numbers(slab), 0, rows);
            Arc::new(UInt64Array::new(values, nulls))
        }
        Kind::Float => {
            let values = ScalarBuffer::new(numbers(slab), 0, rows);
            Arc::new(Float64Array::new(values, nulls))
        }
        Kind::Bool => {
            let values = BooleanBuffer::collect_bool(rows, |row| slab[row] == 1);
            Arc::new(BooleanArray::new(values, nulls))
        }
        Kind::Text => {
            let total: u64 = pieces.iter().map(|p| p.text_bytes).sum();
            if i32::try_from(total).is_ok() {
                text::<i32>(&slab, &pieces, nulls, body, quote)?
            } else {
                text::<i64>(&slab, &pieces, nulls, body, quote)?
            }
        }
    })
}

/// Closes the gaps that chunks with fewer records than line ends leave. Returns the number of rows.
fn compact(slab: &mut Vec<u64>, pieces: &[Piece]) -> usize {
    let (mut from, mut to) = (0, 0);
    for piece in pieces {
        if from != to {
            slab.copy_within(from..from + piece.rows, to);
        }
        from += piece.slots;
        to += piece.rows;
    }
    slab.truncate(to);
    // Keeping a few spare slots is cheaper than a copy.
    if slab.capacity() > to + to / 8 + 64 {
        slab.shrink_to_fit();
    }
    to
}

fn nulls(pieces: &[Piece], rows: usize) -> Option<NullBuffer> {
    if pieces.iter().all(|p| p.nulls.is_empty()) {
        return None;
    }
    let mut valid = BooleanBufferBuilder::new(rows);
    for piece in pieces {
        if piece.nulls.is_empty() {
            valid.append_n(piece.rows, true);
        } else {
            let bytes: Vec<u8> = piece.nulls.iter().flat_map(|w| (!w).to_le_bytes()).collect();
            valid.append_packed_range(0..piece.rows, &bytes);
        }
    }
    Some(NullBuffer::new(valid.finish()))
}

fn text<O: OffsetSizeTrait>(
    slab: &[u64],
    pieces: &[Piece],
    nulls: Option<NullBuffer>,
    body: &[u8],
    quote: Quote,
) -> Result<ArrayRef, usize> {
    let total: u64 = pieces.iter().map(|p| p.text_bytes).sum();
    let mut bytes = vec![0u8; total as usize];
    let mut offsets = vec![O::default(); slab.len() + 1];
    let (mut slots, mut out, mut ends) = (slab, bytes.as_mut_slice(), &mut offsets[1..]);
    let mut base = 0;
    let mut work = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let (own_slots, rest) = slots.split_at(piece.rows);
        slots = rest;
        let (own_out, rest) = out.split_at_mut(piece.text_bytes as usize);
        out = rest;
        let (own_ends, rest) = ends.split_at_mut(piece.rows);
        ends = rest;
        work.push((own_slots, own_out, own_ends, base, &body[piece.start..]));
        base += piece.text_bytes as usize;
    }
    work.into_par_iter().for_each(|(slots, out, ends, base, data)| {
        copy_text(slots, out, ends, base, data, quote);
    });
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    let array = GenericStringArray::<O>::try_new(offsets, Buffer::from_vec(bytes), nulls);
    match array {
        Ok(array) => Ok(Arc::new(array)),
        Err(_) => Err(first_bad(slab, pieces, body, quote)),
    }
}

fn copy_text<O: OffsetSizeTrait>(
    slots: &[u64],
    out: &mut [u8],
    ends: &mut [O],
    base: usize,
    data: &[u8],
    quote: Quote,
) {
    const SHORT: usize = 16;
    let mut at = 0;
    for (slot, end) in slots.iter().zip(ends) {
        let token = Token(*slot);
        let (start, len) = (token.start(), token.len());
        if token.is_plain() {
            // Most cells are short: a copy of fixed size is one load and one store. What it writes
            // beyond the cell is overwritten by the next.
            let source = data.get(start..start + SHORT).filter(|_| len <= SHORT);
            match (source, out.get_mut(at..at + SHORT)) {
                (Some(source), Some(target)) => target.copy_from_slice(source),
                _ => out[at..at + len].copy_from_slice(&data[start..start + len]),
            }
            at += len;
        } else {
            let text = token.text(data, quote);
            out[at..at + text.len()].copy_from_slice(&text);
            at += text.len();
        }
        *end = O::usize_as(base + at);
    }
}

#[cold]
fn first_bad(slab: &[u64], pieces: &[Piece], body: &[u8], quote: Quote) -> usize {
    let mut rows = slab.iter();
    for piece in pieces {
        for slot in rows.by_ref().take(piece.rows) {
            let token = Token(*slot);
            if std::str::from_utf8(&token.text(&body[piece.start..], quote)).is_err() {
                return piece.start + token.start();
            }
        }
    }
    0
}

/// Applies what was demanded of a column beyond the reading of its cells.
pub fn finish(
    column: &Column,
    array: ArrayRef,
    warnings: &mut Vec<String>,
) -> Result<ArrayRef, IngestError> {
    if column.date {
        return Ok(dates(&array).unwrap_or_else(|| {
            warnings.push(format!(
                "column {:?} was left as text: not all of it are ISO 8601 dates",
                column.name
            ));
            array
        }));
    }
    let Some(cast) = column.demand.as_ref().and_then(|d| d.cast.as_ref()) else {
        return Ok(array);
    };
    strict_cast(&array, cast).map_err(|e| IngestError::Malformed {
        format: Format::Csv,
        message: format!("column {:?} does not fit its type: {e}", column.name),
        row: None,
        column: Some(column.name.clone()),
    })
}

fn strict_cast(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, ArrowError> {
    let options = CastOptions { safe: false, format_options: FormatOptions::default() };
    arrow_cast::cast_with_options(array, to, &options)
}

/// Timestamps in nanoseconds, or in microseconds for dates far away; with a zone only when every text
/// has one, and then in UTC.
fn dates(array: &ArrayRef) -> Option<ArrayRef> {
    if array.null_count() == array.len() {
        return None;
    }
    let zoned = graphlume_table::TextColumn::try_new(array)?.iter().flatten().all(has_zone);
    let zone = zoned.then(|| Arc::from("UTC"));
    [TimeUnit::Nanosecond, TimeUnit::Microsecond]
        .into_iter()
        .find_map(|unit| strict_cast(array, &DataType::Timestamp(unit, zone.clone())).ok())
}

fn has_zone(text: &str) -> bool {
    let time = text.get(10..).unwrap_or_default();
    time.ends_with(['Z', 'z']) || time.contains(['+', '-'])
}
