//! Records that are nothing but plain digits, which edge lists mostly are.

use super::patience::Patience;
#[cfg(target_arch = "x86_64")]
use super::{simd_scan, swar};
use crate::number::known_digits;

/// Digits of a cell at most.
const DIGITS_MAX: usize = 16;
/// Records that are read one by one before many at a time are tried again.
const NARROW_ROWS: Patience = Patience::new(64);

/// Bit `i` is set when byte `i` is no digit.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn foreign(block: &[u8; 64]) -> u64 {
    use std::arch::x86_64::{
        __m128i, _mm_add_epi8, _mm_cmplt_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi8,
    };
    let mut digits = 0u64;
    for lane in 0..4 {
        // SAFETY: as in `positions`: SSE2 is part of the baseline, and the 16 bytes at 16 * lane lie
        // inside the 64 bytes of `block`.
        let bits = unsafe {
            let bytes = _mm_loadu_si128(block.as_ptr().add(16 * lane).cast::<__m128i>());
            // Digits become the ten lowest of the signed bytes.
            let moved = _mm_add_epi8(bytes, _mm_set1_epi8(i8::MIN.wrapping_sub(b'0' as i8)));
            _mm_movemask_epi8(_mm_cmplt_epi8(moved, _mm_set1_epi8(i8::MIN + 10)))
        };
        digits |= u64::from(bits as u32) << (16 * lane);
    }
    !digits
}

#[cfg(not(target_arch = "x86_64"))]
fn foreign(block: &[u8; 64]) -> u64 {
    scalar_foreign(block)
}

#[cfg(any(test, not(target_arch = "x86_64")))]
fn scalar_foreign(block: &[u8; 64]) -> u64 {
    (0..64).fold(0, |mask, i| mask | u64::from(!block[i].is_ascii_digit()) << i)
}

/// The positions of bytes that are no digits in the block at `base`.
#[inline(always)]
fn foreign_block(data: &[u8], base: usize) -> u64 {
    match data.get(base..).and_then(|d| d.first_chunk::<64>()) {
        Some(block) => foreign(block),
        None => {
            let tail = data.get(base..).unwrap_or_default();
            let mut block = [0u8; 64];
            block[..tail.len()].copy_from_slice(tail);
            foreign(&block) & ((1u64 << tail.len()) - 1)
        }
    }
}

/// Reads records of plain digits from `offset` on straight into one slice per column, and stops before the
/// first record that is anything else. Returns the number of records, and where the next one begins.
pub fn read(
    data: &[u8],
    mut offset: usize,
    separator: u8,
    columns: &mut [&mut [u64]],
) -> (usize, usize) {
    let rows_max = columns.iter().map(|c| c.len()).min().unwrap_or(0);
    let (mut rows, mut patience) = (0, NARROW_ROWS);
    loop {
        let before = rows;
        #[cfg(target_arch = "x86_64")]
        if swar::available() {
            // SAFETY: the processor has what the function is compiled for.
            (rows, offset) = unsafe { simd_scan::digits(data, offset, separator, columns, rows) };
        }
        let end = rows_max.min(rows.saturating_add(patience.after(rows - before)));
        (rows, offset) = one_by_one(data, offset, separator, columns, rows, end);
        if rows < end || rows == rows_max {
            return (rows, offset);
        }
    }
}

/// As [`read`], from row `rows` to row `rows_max` of the columns; returns the number of filled rows.
fn one_by_one(
    data: &[u8],
    mut start: usize,
    separator: u8,
    columns: &mut [&mut [u64]],
    mut rows: usize,
    rows_max: usize,
) -> (usize, usize) {
    let last = columns.len().wrapping_sub(1);
    let mut at = start;
    let mut base = at & !63;
    let mut mask = foreign_block(data, base) & (!0u64 << (at & 63));
    'rows: while rows < rows_max {
        for (c, column) in columns.iter_mut().enumerate() {
            while mask == 0 {
                base += 64;
                if base >= data.len() {
                    break 'rows;
                }
                mask = foreign_block(data, base);
            }
            let end = base + mask.trailing_zeros() as usize;
            mask &= mask - 1;
            let len = end.wrapping_sub(at);
            if len.wrapping_sub(1) >= DIGITS_MAX {
                break 'rows;
            }
            column[rows] = known_digits(data, at, len);
            let mark = data[end];
            at = end + 1;
            if mark != if c == last { b'\n' } else { separator } {
                let crlf = c == last && mark == b'\r' && data.get(at) == Some(&b'\n');
                if !crlf {
                    break 'rows;
                }
                at += 1;
                base = at & !63;
                mask = foreign_block(data, base) & (!0u64 << (at & 63));
            }
        }
        start = at;
        rows += 1;
    }
    (rows, start)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Parts<'a> = [&'a mut [u64]];

    /// One record a line, some with what is no number.
    fn text(columns: usize, odd: bool) -> impl Strategy<Value = String> {
        let number = prop_oneof![
            8 => (0u64..1_000_000).prop_map(|v| v.to_string()),
            2 => (0u64..10_000_000_000_000_000).prop_map(|v| v.to_string()),
            1 => Just("00000007".to_owned()),
        ];
        let cell = prop_oneof![
            200 => number,
            u32::from(odd) => prop_oneof![
                Just(String::new()),
                Just("-1".to_owned()),
                Just("12345678901234567".to_owned()),
                Just("\"1\"".to_owned()),
                Just("1,2".to_owned()),
                Just("1\n".to_owned()),
            ],
        ];
        let end = if odd {
            prop_oneof![50 => Just("\n"), 1 => Just("\r\n")].boxed()
        } else {
            Just("\n").boxed()
        };
        let record = (proptest::collection::vec(cell, columns), end)
            .prop_map(|(cells, end)| cells.join(",") + end);
        proptest::collection::vec(record, 0..900).prop_map(|r| r.concat())
    }

    fn case() -> impl Strategy<Value = (usize, String)> {
        (1usize..5, any::<bool>())
            .prop_flat_map(|(columns, odd)| (Just(columns), text(columns, odd)))
    }

    proptest! {
        #[test]
        fn the_vector_form_tells_digits_from_all_other_bytes(
            bytes in proptest::collection::vec(any::<u8>(), 64)
        ) {
            let mut block = [0u8; 64];
            block.copy_from_slice(&bytes);
            prop_assert_eq!(foreign(&block), scalar_foreign(&block));
        }


        #[test]
        fn many_at_a_time_are_what_one_by_one_gives((columns, text) in case(), cut in 0usize..9) {
            let data = &text.as_bytes()[..text.len().saturating_sub(cut)];
            let rows_max = 800;
            let read_with = |f: &dyn Fn(&mut Parts<'_>) -> (usize, usize)| {
                let mut slots = vec![vec![0u64; rows_max]; columns];
                let mut parts: Vec<&mut [u64]> = slots.iter_mut().map(Vec::as_mut_slice).collect();
                let (rows, at) = f(&mut parts);
                slots.iter_mut().for_each(|s| s.truncate(rows));
                (rows, at, slots)
            };
            let want = read_with(&|parts| one_by_one(data, 0, b',', parts, 0, rows_max));
            let found = read_with(&|parts| read(data, 0, b',', parts));
            prop_assert_eq!(found, want);
        }
    }
}
