//! Masks on the processor.

use rayon::prelude::*;

use super::super::mask::{MaskOp, last_word};
use super::{CHUNK, CHUNK_WORDS};

/// Eight bytes that are 0 or 1 as the bits of a byte, first byte lowest.
pub(in crate::columns) fn pack8(bytes: [u8; 8]) -> u32 {
    (u64::from_le_bytes(bytes).wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32
}

pub(in crate::columns) fn from_bytes(bytes: &[u8], out: &mut [u32]) {
    out.par_chunks_mut(CHUNK_WORDS).zip(bytes.par_chunks(CHUNK)).for_each(|(out, bytes)| {
        for (word, bytes) in out.iter_mut().zip(bytes.chunks(32)) {
            *word = bytes.chunks(8).enumerate().fold(0, |word, (k, part)| {
                let mut eight = [0; 8];
                for (to, from) in eight.iter_mut().zip(part) {
                    *to = u8::from(*from != 0);
                }
                word | pack8(eight) << (8 * k)
            });
        }
    });
}

pub(in crate::columns) fn to_bytes(rows: usize, words: &[u32]) -> Vec<u8> {
    let mut bytes = vec![0; rows];
    bytes.par_chunks_mut(CHUNK).zip(words.par_chunks(CHUNK_WORDS)).for_each(|(bytes, words)| {
        for (part, word) in bytes.chunks_mut(32).zip(words) {
            for (k, byte) in part.iter_mut().enumerate() {
                *byte = (word >> k & 1) as u8;
            }
        }
    });
    bytes
}

pub(in crate::columns) fn combine(op: MaskOp, a: &[u32], b: &[u32], out: &mut [u32]) {
    fn zip(a: &[u32], b: &[u32], out: &mut [u32], f: impl Fn(u32, u32) -> u32 + Sync) {
        let parts = a.par_chunks(CHUNK).zip(b.par_chunks(CHUNK));
        out.par_chunks_mut(CHUNK).zip(parts).for_each(|(out, (a, b))| {
            for ((to, x), y) in out.iter_mut().zip(a).zip(b) {
                *to = f(*x, *y);
            }
        });
    }
    match op {
        MaskOp::And => zip(a, b, out, |x, y| x & y),
        MaskOp::Or => zip(a, b, out, |x, y| x | y),
        MaskOp::Xor => zip(a, b, out, |x, y| x ^ y),
        MaskOp::AndNot => zip(a, b, out, |x, y| x & !y),
    }
}

pub(in crate::columns) fn not(rows: usize, a: &[u32], out: &mut [u32]) {
    out.par_chunks_mut(CHUNK).zip(a.par_chunks(CHUNK)).for_each(|(out, a)| {
        for (to, x) in out.iter_mut().zip(a) {
            *to = !x;
        }
    });
    if let Some(last) = out.last_mut() {
        *last &= last_word(rows);
    }
}

pub(in crate::columns) fn count(words: &[u32]) -> u64 {
    words.par_chunks(CHUNK).map(count_part).sum()
}

fn count_part(words: &[u32]) -> u64 {
    words.iter().map(|w| u64::from(w.count_ones())).sum()
}

/// `out` has room for exactly the rows of the mask.
pub(in crate::columns) fn compact(words: &[u32], out: &mut [u32]) {
    let counts: Vec<u64> = words.par_chunks(CHUNK_WORDS).map(count_part).collect();
    let mut rest = out;
    let mut parts = Vec::with_capacity(counts.len());
    for (c, count) in counts.into_iter().enumerate() {
        let (part, after) = rest.split_at_mut(count as usize);
        parts.push((c * CHUNK_WORDS, part));
        rest = after;
    }
    parts.into_par_iter().for_each(|(first, part)| {
        let mut to = part.iter_mut();
        for (w, word) in words.iter().enumerate().skip(first).take(CHUNK_WORDS) {
            let mut left = *word;
            while left != 0 {
                if let Some(row) = to.next() {
                    *row = (w * 32) as u32 + left.trailing_zeros();
                }
                left &= left - 1;
            }
        }
    });
}

pub(in crate::columns) fn scatter(rows: usize, listed: &[u32], out: &mut [u32]) {
    for row in listed {
        if (*row as usize) < rows {
            out[(row / 32) as usize] |= 1 << (row % 32);
        }
    }
}
