//! The compression of ORC: blocks with three bytes in front of each.

use std::io::Read;

use bytes::Bytes;
use flate2::read::DeflateDecoder;
use graphlume_types::limits::{DECOMPRESSED_BYTES_FREE, DECOMPRESSION_RATIO_MAX};
use orc_rust::proto::CompressionKind;

use super::bad;
use crate::IngestError;
use crate::error::one_line;

/// The format's bound for a block.
const BLOCK_BYTES_MAX: u64 = 1 << 23;
/// The block size when a file does not say.
const BLOCK_BYTES_DEFAULT: u64 = 256 << 10;
/// Plain bytes that a section may have in addition to those that its length accounts for. Columns of one
/// value shrink further than text does.
const SECTION_BYTES_FREE: u64 = 4 * DECOMPRESSED_BYTES_FREE;

/// How the sections of a file are compressed.
#[derive(Debug, Clone, Copy)]
pub struct Codec {
    kind: CompressionKind,
    block_bytes: usize,
}

impl Codec {
    /// The codec of a postscript.
    pub fn new(kind: CompressionKind, block_bytes: Option<u64>) -> Result<Self, IngestError> {
        if kind == CompressionKind::Lzo {
            return Err(bad("it is compressed with lzo; write it with zlib, snappy, lz4 or zstd"));
        }
        let block_bytes = block_bytes.unwrap_or(BLOCK_BYTES_DEFAULT);
        if block_bytes > BLOCK_BYTES_MAX {
            return Err(bad(format!(
                "it claims blocks of {block_bytes} bytes; 8 MiB is the limit"
            )));
        }
        Ok(Self { kind, block_bytes: block_bytes as usize })
    }

    /// The plain bytes of a section.
    pub fn unpack(self, section: &Bytes) -> Result<Bytes, IngestError> {
        if self.kind == CompressionKind::None {
            return Ok(section.clone());
        }
        let limit = (section.len() as u64)
            .saturating_mul(DECOMPRESSION_RATIO_MAX)
            .saturating_add(SECTION_BYTES_FREE);
        let mut out = Vec::new();
        let mut rest: &[u8] = section;
        while !rest.is_empty() {
            let head = rest.first_chunk::<3>().ok_or_else(|| bad("a block is cut off"))?;
            let head = u32::from_le_bytes([head[0], head[1], head[2], 0]);
            let len = (head >> 1) as usize;
            let block = rest.get(3..3 + len).ok_or_else(|| bad("a block is cut off"))?;
            rest = &rest[3 + len..];
            if head & 1 == 1 {
                out.extend_from_slice(block);
            } else {
                self.block(block, &mut out)?;
            }
            if out.len() as u64 > limit {
                let message = format!(
                    "a section of the ORC data expands from {} to more than {limit} bytes, the limit",
                    section.len()
                );
                return Err(IngestError::Bomb { message });
            }
        }
        Ok(out.into())
    }

    fn block(self, block: &[u8], out: &mut Vec<u8>) -> Result<(), IngestError> {
        let damaged =
            |e: &dyn std::fmt::Display| bad(format!("a block is damaged: {}", one_line(e)));
        let before = out.len();
        // One byte more than allowed shows that there is more.
        let most = self.block_bytes as u64 + 1;
        match self.kind {
            CompressionKind::Zlib => {
                let mut decoder = DeflateDecoder::new(block).take(most);
                decoder.read_to_end(out).map_err(|e| damaged(&e))?;
            }
            CompressionKind::Zstd => {
                let decoder = zstd::Decoder::with_buffer(block).map_err(|e| damaged(&e))?;
                decoder.take(most).read_to_end(out).map_err(|e| damaged(&e))?;
            }
            CompressionKind::Snappy => {
                let len = snap::raw::decompress_len(block).map_err(|e| damaged(&e))?;
                self.check_len(len)?;
                out.resize(before + len, 0);
                let mut decoder = snap::raw::Decoder::new();
                decoder.decompress(block, &mut out[before..]).map_err(|e| damaged(&e))?;
            }
            CompressionKind::Lz4 => {
                out.resize(before + self.block_bytes, 0);
                let len = lz4_flex::block::decompress_into(block, &mut out[before..]);
                out.truncate(before + len.map_err(|e| damaged(&e))?);
            }
            CompressionKind::None | CompressionKind::Lzo => {}
        }
        self.check_len(out.len() - before)
    }

    fn check_len(self, len: usize) -> Result<(), IngestError> {
        if len > self.block_bytes {
            let most = self.block_bytes;
            return Err(bad(format!("a block expands to more than the {most} bytes it may have")));
        }
        Ok(())
    }
}
