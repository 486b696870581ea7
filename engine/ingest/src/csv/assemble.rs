//! Chunks of a column to one Arrow array.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, GenericStringArray, Int64Array, OffsetSizeTrait,
    StringArray, UInt64Array,
};
use arrow_buffer::{BooleanBuffer, BooleanBufferBuilder, NullBuffer, OffsetBuffer, ScalarBuffer};
use bytemuck::Pod;

use super::column::ChunkColumn;
use super::room::Filled;
use super::split::Chunk;
use crate::IngestError;
use crate::demand::Kind;
use crate::memory::Memory;

/// What is left of a chunk's column when its slots go back to the whole column.
pub struct Piece {
    /// Slots that the chunk had.
    slots: usize,
    rows: usize,
    nulls: Vec<u64>,
    text: Filled,
}

impl Piece {
    pub fn new(chunk: &Chunk, column: ChunkColumn<'_>) -> Self {
        let rows = column.rows;
        let (nulls, text) = column.into_parts();
        Self { slots: chunk.rows_max, rows, nulls, text }
    }
}

/// Why pieces do not make a column.
pub enum Unfit {
    /// The cell in this row of this piece is not UTF-8 text.
    NotText {
        piece: usize,
        row: usize,
    },
    Error(IngestError),
}

impl From<IngestError> for Unfit {
    fn from(e: IngestError) -> Self {
        Self::Error(e)
    }
}

/// Joins the pieces of one column, of which `room` has the text that it had room for.
pub fn column(
    mut slab: Memory,
    room: Memory,
    pieces: Vec<Piece>,
    kind: Kind,
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
            let total: usize = pieces.iter().map(|p| p.text.len).sum();
            match i32::try_from(total) {
                Ok(_) if rows == 0 => Arc::new(StringArray::new_null(0)),
                Ok(_) => narrow(slab, room, pieces, nulls, total)?,
                Err(_) => {
                    let ends = wide(&slab.values::<u64>()[..rows], &pieces)?;
                    text::<i64>(ends, rows, room, pieces, nulls, total)?
                }
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

/// Slots that become ends at a time.
const NEAR_SLOTS: usize = 512;

/// Texts of less than 2 GiB. Their ends take the place of the slots, and half of their memory.
fn narrow(
    mut slab: Memory,
    room: Memory,
    pieces: Vec<Piece>,
    nulls: Option<NullBuffer>,
    total: usize,
) -> Result<ArrayRef, Unfit> {
    let (mut row, mut base) = (0, 0);
    for piece in &pieces {
        let end = row + piece.rows;
        while row < end {
            let count = NEAR_SLOTS.min(end - row);
            let mut near = [0u64; NEAR_SLOTS];
            near[..count].copy_from_slice(&slab.values::<u64>()[row..row + count]);
            // The slots of these rows and of those before them were read.
            let ends = &mut slab.values_mut::<i32>()[row + 1..][..count];
            for (end, slot) in ends.iter_mut().zip(&near) {
                *end = (base + *slot as usize) as i32;
            }
            row += count;
        }
        base += piece.text.len;
    }
    slab.values_mut::<i32>()[0] = 0;
    slab.keep((row + 1) * size_of::<i32>());
    text::<i32>(slab, row, room, pieces, nulls, total)
}

/// The ends of texts of any length.
fn wide(slots: &[u64], pieces: &[Piece]) -> Result<Memory, IngestError> {
    let mut memory = Memory::room::<i64>(slots.len() + 1)?;
    memory.values_mut::<i64>()[0] = 0;
    let (mut row, mut base) = (0, 0);
    for piece in pieces {
        let ends = &mut memory.values_mut::<i64>()[row + 1..][..piece.rows];
        for (end, slot) in ends.iter_mut().zip(&slots[row..]) {
            *end = (base + *slot as usize) as i64;
        }
        row += piece.rows;
        base += piece.text.len;
    }
    Ok(memory)
}

fn text<O: OffsetSizeTrait + Pod>(
    offsets: Memory,
    rows: usize,
    room: Memory,
    mut pieces: Vec<Piece>,
    nulls: Option<NullBuffer>,
    total: usize,
) -> Result<ArrayRef, Unfit> {
    let bytes = joined(room, &mut pieces, total)?.into_buffer::<u8>(total);
    let ends = rows + 1;
    let offsets = OffsetBuffer::new(ScalarBuffer::new(offsets.into_buffer::<O>(ends), 0, ends));
    match GenericStringArray::<O>::try_new(offsets.clone(), bytes.clone(), nulls) {
        Ok(array) => Ok(Arc::new(array)),
        Err(_) => Err(first_bad(&offsets, &bytes, &pieces)),
    }
}

/// The pieces' text without gaps, in the memory where it is when nothing had to move out of that.
fn joined(mut room: Memory, pieces: &mut [Piece], total: usize) -> Result<Memory, IngestError> {
    let (mut from, mut to) = (0, 0);
    if pieces.iter().all(|p| p.text.own.is_none()) {
        let bytes = room.values_mut::<u8>();
        for Filled { room, len, .. } in pieces.iter().map(|p| &p.text) {
            if from != to {
                bytes.copy_within(from..from + len, to);
            }
            (from, to) = (from + room, to + len);
        }
        return Ok(room);
    }
    let mut bytes = Memory::room::<u8>(total)?;
    let out = bytes.values_mut::<u8>();
    for Filled { room: part, len, own } in pieces.iter_mut().map(|p| &mut p.text) {
        // Taken, so that a piece's text is gone as soon as it is copied.
        match own.take() {
            Some(own) => out[to..to + *len].copy_from_slice(&own),
            None => out[to..to + *len].copy_from_slice(&room.values::<u8>()[from..from + *len]),
        }
        (from, to) = (from + *part, to + *len);
    }
    Ok(bytes)
}

/// Which cell is no text.
#[cold]
fn first_bad<O: OffsetSizeTrait>(offsets: &[O], bytes: &[u8], pieces: &[Piece]) -> Unfit {
    let cell = |pair: &[O]| &bytes[pair[0].as_usize()..pair[1].as_usize()];
    let bad = |pair: &[O]| std::str::from_utf8(cell(pair)).is_err();
    let mut row = offsets.windows(2).position(bad).unwrap_or(0);
    for (piece, rows) in pieces.iter().map(|p| p.rows).enumerate() {
        if row < rows {
            return Unfit::NotText { piece, row };
        }
        row -= rows;
    }
    Unfit::NotText { piece: 0, row: 0 }
}
