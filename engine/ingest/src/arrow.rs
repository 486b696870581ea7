//! Arrow IPC: the file container (`ARROW1`) and the stream container.
//!
//! The framing is walked here before any of it is decoded, because the decoder allocates what a message
//! claims, and a claim of a terabyte must be an error and not the end of the process.

#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::{FileDecoder, StreamDecoder, read_footer_length};
use arrow_ipc::{Block, MessageHeader, root_as_footer, root_as_message};
use arrow_schema::SchemaRef;
use bytes::Bytes;
use graphlume_table::Table;
use graphlume_types::limits::{DECOMPRESSED_BYTES_MAX, ROWS_MAX};

use crate::error::one_line;
use crate::format::{FormatSpec, by_signature};
use crate::{Format, IngestError, ParseCx, Parsed};

const MAGIC: &[u8] = b"ARROW1";
const CONTINUATION: [u8; 4] = [0xff; 4];

fn bad(e: impl std::fmt::Display) -> IngestError {
    IngestError::malformed(Format::Arrow, format!("the Arrow data cannot be read: {}", one_line(e)))
}

/// Arrow in the list of formats.
pub(crate) const FORMAT: FormatSpec = FormatSpec {
    name: "arrow",
    malformed: "malformed-arrow",
    options: &[],
    signatures: &[MAGIC, &CONTINUATION],
    resembles: by_signature,
    parse: |bytes, _, cx| parse(bytes, cx),
};

/// Reads either container; several batches become one, no batch is an empty table.
pub fn parse(bytes: &Bytes, cx: &ParseCx) -> Result<Parsed, IngestError> {
    let buffer = Buffer::from(bytes.clone());
    let read = || {
        if buffer.starts_with(MAGIC) { read_file(&buffer, cx) } else { read_stream(&buffer, cx) }
    };
    // The decoder checks most claims; what it does not check it may assert.
    let (schema, batches) = catch_unwind(AssertUnwindSafe(read))
        .unwrap_or_else(|_| Err(bad("its metadata contradicts its buffers")))?;
    Ok(Parsed::one(Table::concat(schema, &batches)?, Vec::new()))
}

type Read = (SchemaRef, Vec<RecordBatch>);

fn read_file(buffer: &Buffer, cx: &ParseCx) -> Result<Read, IngestError> {
    const TRAILER: usize = 10;
    let truncated = || bad("the file is cut off; its end marker is missing");
    let trailer_at = buffer.len().checked_sub(TRAILER).ok_or_else(truncated)?;
    let mut trailer = [0u8; TRAILER];
    trailer.copy_from_slice(&buffer[trailer_at..]);
    let footer_len = read_footer_length(trailer).map_err(|_| truncated())?;
    let footer_at = trailer_at.checked_sub(footer_len).ok_or_else(truncated)?;
    let footer = root_as_footer(&buffer[footer_at..trailer_at]).map_err(bad)?;
    let fb_schema = footer.schema().ok_or_else(|| bad("the footer has no schema"))?;
    let schema = Arc::new(fb_to_schema(fb_schema));
    let mut claims = Claims::default();
    let mut decoder = FileDecoder::new(schema.clone(), footer.version());
    for block in footer.dictionaries().iter().flatten() {
        let part = checked_block(buffer, block, &mut claims)?;
        decoder.read_dictionary(block, &part).map_err(bad)?;
    }
    let mut batches = Vec::new();
    for block in footer.recordBatches().iter().flatten() {
        cx.cancel.check()?;
        let part = checked_block(buffer, block, &mut claims)?;
        batches.extend(decoder.read_record_batch(block, &part).map_err(bad)?);
    }
    Ok((schema, batches))
}

fn checked_block(buf: &Buffer, block: &Block, claims: &mut Claims) -> Result<Buffer, IngestError> {
    let outside = || bad("a block lies outside the file");
    let at = usize::try_from(block.offset()).map_err(|_| outside())?;
    let head = usize::try_from(block.metaDataLength()).map_err(|_| outside())?;
    let body = usize::try_from(block.bodyLength()).map_err(|_| outside())?;
    let len = head.checked_add(body).ok_or_else(outside)?;
    if at.checked_add(len).is_none_or(|end| end > buf.len()) {
        return Err(outside());
    }
    let part = buf.slice_with_length(at, len);
    let prefix = if part.starts_with(&CONTINUATION) { 8 } else { 4 };
    let meta = part.get(prefix..head).ok_or_else(outside)?;
    claims.check(meta, &part[head..])?;
    Ok(part)
}

fn read_stream(buffer: &Buffer, cx: &ParseCx) -> Result<Read, IngestError> {
    const END: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];
    let mut claims = Claims::default();
    let mut end = 0;
    while let Some(next) = next_message(buffer, end, &mut claims)? {
        end = next;
    }
    let mut decoder = StreamDecoder::new();
    let mut batches = Vec::new();
    // The decoder acts on a message without a body only when more bytes follow, so that an end mark is
    // supplied, whether there was one or not.
    for mut part in [buffer.slice_with_length(0, end), Buffer::from(&END)] {
        while let Some(batch) = decoder.decode(&mut part).map_err(bad)? {
            cx.cancel.check()?;
            batches.push(batch);
        }
    }
    let schema = decoder.schema().ok_or_else(|| {
        bad("it begins neither with the mark of a file nor with the schema of a stream")
    })?;
    Ok((schema, batches))
}

/// End of the message at `offset`; `None` at the end of the stream. A stream may end without an end mark.
fn next_message(
    buffer: &[u8],
    offset: usize,
    claims: &mut Claims,
) -> Result<Option<usize>, IngestError> {
    let cut = || bad("the stream is cut off inside a message");
    let mut rest = &buffer[offset..];
    if rest.is_empty() {
        return Ok(None);
    }
    if rest.starts_with(&CONTINUATION) {
        rest = &rest[4..];
    }
    let (size, rest) = rest.split_first_chunk::<4>().ok_or_else(cut)?;
    let size = u32::from_le_bytes(*size) as usize;
    if size == 0 {
        return Ok(None);
    }
    let meta = rest.get(..size).ok_or_else(cut)?;
    let body_len = root_as_message(meta).map_err(bad)?.bodyLength();
    let body_len = usize::try_from(body_len).map_err(|_| cut())?;
    let body = rest[size..].get(..body_len).ok_or_else(cut)?;
    claims.check(meta, body)?;
    Ok(Some(buffer.len() - (rest.len() - size - body_len)))
}

/// Adds up what messages claim, and refuses more than the limits.
#[derive(Default)]
struct Claims {
    rows: u64,
    bytes: u64,
}

impl Claims {
    fn check(&mut self, meta: &[u8], body: &[u8]) -> Result<(), IngestError> {
        let message = root_as_message(meta).map_err(bad)?;
        let batch = match message.header_type() {
            MessageHeader::RecordBatch => message.header_as_record_batch(),
            MessageHeader::DictionaryBatch => {
                message.header_as_dictionary_batch().and_then(|d| d.data())
            }
            _ => return Ok(()),
        };
        let batch = batch.ok_or_else(|| bad("a message has no content"))?;
        let rows = u64::try_from(batch.length()).map_err(|_| bad("a batch has negative length"))?;
        self.rows = self.rows.saturating_add(rows);
        let longest = batch.nodes().iter().flatten().map(|n| n.length()).max().unwrap_or(0);
        // A child of a list may be longer than its parent, but not longer than the bytes can hold;
        // types without buffers have no such bound, hence a generous one for all.
        if self.rows > ROWS_MAX || longest > 64 * ROWS_MAX as i64 {
            let message = format!("the Arrow data claims more rows than the limit of {ROWS_MAX}");
            return Err(IngestError::too_large(message));
        }
        if batch.compression().is_none() {
            return Ok(());
        }
        for buffer in batch.buffers().iter().flatten() {
            let at = usize::try_from(buffer.offset()).unwrap_or(usize::MAX);
            // -1 is "stored as it is"; an empty buffer has no length in front.
            let claim = body.get(at..).and_then(|b| b.first_chunk::<8>());
            let claim = claim.map_or(0, |c| i64::from_le_bytes(*c));
            if buffer.length() > 0 && claim > 0 {
                self.bytes = self.bytes.saturating_add(claim.unsigned_abs());
            }
        }
        if self.bytes > DECOMPRESSED_BYTES_MAX {
            let message = format!(
                "the compressed Arrow data claims {} bytes; the limit is {DECOMPRESSED_BYTES_MAX}",
                self.bytes
            );
            return Err(IngestError::too_large(message));
        }
        Ok(())
    }
}
