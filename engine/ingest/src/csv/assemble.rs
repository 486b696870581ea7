//! Chunks of a column to one Arrow array.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, GenericStringArray, Int64Array, OffsetSizeTrait,
    UInt64Array,
};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, NullBuffer, OffsetBuffer, ScalarBuffer};
use bytemuck::Pod;
use rayon::prelude::*;

use super::column::ChunkColumn;
use super::split::Chunk;
use super::token::{Quote, Token};
use crate::IngestError;
use crate::demand::Kind;
use crate::memory::Memory;

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

/// Why pieces do not make a column.
pub enum Unfit {
    /// The cell that begins here is not UTF-8 text.
    NotText(usize),
    Error(IngestError),
}

impl From<IngestError> for Unfit {
    fn from(e: IngestError) -> Self {
        Self::Error(e)
    }
}

/// Joins the pieces of one column.
pub fn column(
    mut slab: Memory,
    pieces: Vec<Piece>,
    kind: Kind,
    body: &[u8],
    quote: Quote,
) -> Result<ArrayRef, Unfit> {
    let rows = compact(slab.values_mut(), &pieces);
    let nulls = nulls(&pieces, rows);
    let numbers = |slab: Memory| slab.into_buffer::<u64>(rows);
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
            let slots = &slab.values::<u64>()[..rows];
            let values = BooleanBuffer::collect_bool(rows, |row| slots[row] == 1);
            Arc::new(BooleanArray::new(values, nulls))
        }
        Kind::Text => {
            let slots = &slab.values::<u64>()[..rows];
            let total: u64 = pieces.iter().map(|p| p.text_bytes).sum();
            if i32::try_from(total).is_ok() {
                text::<i32>(slots, &pieces, nulls, body, quote)?
            } else {
                text::<i64>(slots, &pieces, nulls, body, quote)?
            }
        }
    })
}

/// Closes the gaps that chunks with fewer records than line ends leave. Returns the number of rows.
fn compact(slab: &mut [u64], pieces: &[Piece]) -> usize {
    let (mut from, mut to) = (0, 0);
    for piece in pieces {
        if from != to {
            slab.copy_within(from..from + piece.rows, to);
        }
        from += piece.slots;
        to += piece.rows;
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

fn text<O: OffsetSizeTrait + Pod>(
    slab: &[u64],
    pieces: &[Piece],
    nulls: Option<NullBuffer>,
    body: &[u8],
    quote: Quote,
) -> Result<ArrayRef, Unfit> {
    let total: u64 = pieces.iter().map(|p| p.text_bytes).sum();
    let total = usize::try_from(total).unwrap_or(usize::MAX);
    let mut bytes = Memory::room::<u8>(total)?;
    let mut offsets = Memory::room::<O>(slab.len() + 1)?;
    offsets.values_mut::<O>()[0] = O::usize_as(0);
    let mut out = &mut bytes.values_mut::<u8>()[..total];
    let (mut slots, mut ends) = (slab, &mut offsets.values_mut::<O>()[1..=slab.len()]);
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
    let ends = slab.len() + 1;
    let offsets = OffsetBuffer::new(ScalarBuffer::new(offsets.into_buffer::<O>(ends), 0, ends));
    let array = GenericStringArray::<O>::try_new(offsets, bytes.into_buffer::<u8>(total), nulls);
    match array {
        Ok(array) => Ok(Arc::new(array)),
        Err(_) => Err(Unfit::NotText(first_bad(slab, pieces, body, quote))),
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
