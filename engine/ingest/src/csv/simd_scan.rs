//! Vector code for processors with AVX2: the cells of ordinary records, many at a time.
//!
//! Bytes that may end cells become a list of bounds, and a whole word of them is checked at once: the
//! bits that are line ends, squeezed together, must repeat with the number of columns (after Langdale and
//! Lemire, "Parsing Gigabytes of JSON per Second"). All of it happens in stretches of text that stay in
//! the nearest cache.

use std::arch::x86_64::*;

use graphlume_types::limits::CELL_BYTES_MAX;

use super::swar::{aligned, join8, load, long4};
use super::token::Token;
use crate::number::known_digits;

/// Cells of one stretch.
const CELLS: usize = 1_024;
/// Blocks of one stretch, which no cell is longer than.
const BLOCKS_MAX: usize = 1_024;
/// Columns whose line ends fit the pattern of one word.
pub const COLUMNS_MAX: usize = 32;
/// Cells that one word can add.
const WORD: usize = 64;
/// Cells of a word that are taken without a look at how many there are, since most words have no more and a wrong guess
/// costs as much as all of them; and cells that are taken at a time after that.
const FIRST: usize = 12;
const STEP: usize = 4;

const _: () = assert!(64 * BLOCKS_MAX < CELL_BYTES_MAX);
const _: () = assert!((WORD - FIRST).is_multiple_of(STEP));

type Bounds = [u32; CELLS + WORD];

/// What ends cells and records.
#[derive(Clone, Copy)]
pub struct Ends {
    separator: u8,
    /// A byte that stops everything, for instance a quote; the separator when there is none.
    stop: u8,
    /// Cells of a record.
    width: usize,
    /// The bits of the line ends among the ends that come behind so many of a record.
    patterns: [u64; COLUMNS_MAX],
}

impl Ends {
    /// `width`: 1 to [`COLUMNS_MAX`].
    pub fn new(separator: u8, stop: u8, width: usize) -> Self {
        let lines = (width - 1..128).step_by(width).fold(0u128, |lines, i| lines | 1 << i);
        Self { separator, stop, width, patterns: std::array::from_fn(|i| (lines >> i) as u64) }
    }
}

/// Reads records of nothing but numbers of 1 to 16 digits from `offset` on into the `columns`, from their row
/// `rows` on. Returns the number of rows that are then filled, and where the next record begins. Stops
/// early at whatever it has no form for, and near the end of `data`.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub fn digits(
    data: &[u8],
    mut offset: usize,
    separator: u8,
    columns: &mut [&mut [u64]],
    mut rows: usize,
) -> (usize, usize) {
    let width = columns.len();
    let rows_max = columns.iter().map(|c| c.len()).min().unwrap_or(0);
    if !(1..=COLUMNS_MAX).contains(&width) {
        return (rows, offset);
    }
    let ends = Ends::new(separator, separator, width);
    let mut bounds = [0; CELLS + WORD];
    let mut values = [0u64; CELLS];
    while rows < rows_max {
        let rest = behind(data, offset);
        let found = bound::<true>(rest, &ends, (rows_max - rows) * width, &mut bounds);
        let some = (found / width).min(rows_max - rows);
        let cells = some * width;
        if some == 0 || !convert(rest, &bounds[..=cells], &mut values) {
            break;
        }
        for (c, column) in columns.iter_mut().enumerate() {
            let cells = values[c..].iter().step_by(width);
            for (slot, value) in column[rows..rows + some].iter_mut().zip(cells) {
                *slot = *value;
            }
        }
        rows += some;
        offset += bounds[cells] as usize;
    }
    (rows, offset)
}

/// Finds the cells of whole records from `offset` on; `out` has [`Ends::width`] tokens a record. Returns the
/// number of records, and where the next one begins. Stops early at the stop byte, at a record of another
/// width, and near the end of `data`.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
pub fn records(data: &[u8], mut offset: usize, ends: &Ends, out: &mut [Token]) -> (usize, usize) {
    let width = ends.width;
    let mut bounds = [0; CELLS + WORD];
    let (mut rows, rows_max) = (0, out.len() / width);
    while rows < rows_max {
        let found =
            bound::<false>(behind(data, offset), ends, (rows_max - rows) * width, &mut bounds);
        let some = (found / width).min(rows_max - rows);
        if some == 0 {
            break;
        }
        let cells = some * width;
        let starts = &bounds[..cells];
        let nexts = &bounds[1..=cells];
        let tokens = &mut out[rows * width..][..cells];
        for ((token, start), next) in tokens.iter_mut().zip(starts).zip(nexts) {
            let len = u64::from(next - start - 1);
            *token = Token((offset as u64 + u64::from(*start)) | len << 32);
        }
        rows += some;
        offset += bounds[cells] as usize;
    }
    (rows, offset)
}

/// The data from `offset` on. A last record without a line end leaves `offset` one byte behind all data.
fn behind(data: &[u8], offset: usize) -> &[u8] {
    data.get(offset..).unwrap_or_default()
}

/// Finds where `wanted` cells begin, or some more: the first at 0, cell `i` at `bounds[i]`. Returns the number of cells whose
/// end was found, in records of the right width but for the last one. Every one of them ends at least 8
/// bytes before the end of `data`. `DIGITS`: cells have nothing but digits.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn bound<const DIGITS: bool>(
    data: &[u8],
    ends: &Ends,
    wanted: usize,
    bounds: &mut Bounds,
) -> usize {
    // Cells so far, and those of the last record.
    let (mut n, mut phase) = (0, 0);
    bounds[0] = 0;
    let (blocks, _) = data[..data.len().saturating_sub(8)].as_chunks::<64>();
    for (i, block) in blocks.iter().take(BLOCKS_MAX).enumerate() {
        let (foreign, lines, separators) = marks::<DIGITS>(block, ends);
        let count = foreign.count_ones() as usize;
        if n >= wanted || n + count >= CELLS {
            break;
        }
        let lines_wanted = _bzhi_u64(ends.patterns[phase % COLUMNS_MAX], count as u32);
        if lines | separators != foreign || _pext_u64(lines, foreign) != lines_wanted {
            break;
        }
        let base = 64 * i as u32 + 1;
        let mut rest = foreign;
        let mut done = FIRST;
        // What is written too much is written again.
        for slot in &mut bounds[n + 1..][..FIRST] {
            *slot = base + rest.trailing_zeros();
            rest = _blsr_u64(rest);
        }
        while done < count {
            for slot in &mut bounds[n + done + 1..][..STEP] {
                *slot = base + rest.trailing_zeros();
                rest = _blsr_u64(rest);
            }
            done += STEP;
        }
        n += count;
        // Without a division, which every word would wait for.
        phase = match lines.leading_zeros() {
            64 => phase + count,
            behind => (foreign & !(u64::MAX >> behind)).count_ones() as usize,
        };
    }
    n
}

/// The bytes of a block that end cells or must not be there, that are line feeds, and that are the
/// separator.
#[target_feature(enable = "avx2")]
#[inline]
fn marks<const DIGITS: bool>(block: &[u8; 64], ends: &Ends) -> (u64, u64, u64) {
    let (mut stops, mut lines, mut separators) = (0, 0, 0);
    for half in 0..2 {
        // SAFETY: the load has no alignment demand, and the 32 bytes at 32 * half (half < 2) lie inside
        // the 64 bytes of `block`.
        let bytes = unsafe { _mm256_loadu_si256(block.as_ptr().add(32 * half).cast()) };
        let bits = |v: __m256i| u64::from(_mm256_movemask_epi8(v) as u32) << (32 * half);
        let are = |b: u8| bits(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b as i8)));
        lines |= are(b'\n');
        separators |= are(ends.separator);
        stops |= if DIGITS {
            // Digits become the ten lowest of the signed bytes.
            let moved = _mm256_add_epi8(bytes, _mm256_set1_epi8(i8::MIN.wrapping_sub(b'0' as i8)));
            bits(_mm256_cmpgt_epi8(moved, _mm256_set1_epi8(i8::MIN + 9)))
        } else {
            are(ends.stop)
        };
    }
    (stops | lines | separators, lines, separators)
}

/// The values of the cells between the `bounds`; false when one has no digit, or more than 16.
#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn convert(data: &[u8], bounds: &[u32], values: &mut [u64; CELLS]) -> bool {
    let cells = bounds.len() - 1;
    // The last group may reach into cells that were read before.
    let last = cells.saturating_sub(4);
    for i in (0..cells).step_by(4).map(|i| i.min(last)) {
        let (Some(first), Some(next)) =
            (bounds[i..].first_chunk::<4>(), bounds[i + 1..].first_chunk::<4>())
        else {
            return few(data, bounds, values);
        };
        // SAFETY: both have the 16 bytes that are loaded, at any alignment.
        let less = unsafe {
            let next = _mm_loadu_si128(next.as_ptr().cast());
            let first = _mm_loadu_si128(first.as_ptr().cast());
            // The mark behind a cell is no part of it: this is the length less one.
            _mm_sub_epi32(_mm_sub_epi32(next, first), _mm_set1_epi32(2))
        };
        let lengths = _mm256_cvtepu32_epi64(_mm_add_epi32(less, _mm_set1_epi32(1)));
        let starts = first.map(|b| b as usize);
        let four = if _mm_test_all_zeros(less, _mm_set1_epi32(!7)) == 1 {
            load(data, starts).map(|text| join8(aligned(text, lengths)))
        } else if _mm_test_all_zeros(less, _mm_set1_epi32(!15)) == 1 {
            let len = [0, 1, 2, 3].map(|k| (next[k] - first[k]) as usize - 1);
            long4(data, starts, len, lengths)
        } else {
            None
        };
        let Some(four) = four else { return false };
        // SAFETY: the slice has the 32 bytes that are stored, at any alignment.
        unsafe { _mm256_storeu_si256(values[i..i + 4].as_mut_ptr().cast(), four) };
    }
    true
}

/// As [`convert`], of less than four cells.
#[cold]
fn few(data: &[u8], bounds: &[u32], values: &mut [u64; CELLS]) -> bool {
    bounds.windows(2).zip(values).all(|(pair, value)| {
        let len = (pair[1] - pair[0]) as usize - 1;
        *value = known_digits(data, pair[0] as usize, len.clamp(1, 16));
        (1..=16).contains(&len)
    })
}
