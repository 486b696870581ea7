//! The number of the part of every element, as small as it can be, and how often each occurs.

use graphlume_expr::QueryError;
use graphlume_scene::Bits;
use graphlume_types::CancelToken;
use rayon::prelude::*;

use crate::column::ROWS_AT_ONCE;

/// Words of 64 elements that are counted between two looks at the token.
const WORDS_AT_ONCE: usize = 1 << 9;
/// Counters that a thread has a set of its own of.
const COUNTERS_MAX: usize = 1 << 16;

/// Numbers of parts. The greatest number of its type stands for no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Codes {
    /// Less than 2^8 parts.
    Bytes(Vec<u8>),
    /// Less than 2^16.
    Halves(Vec<u16>),
    /// More.
    Words(Vec<u32>),
}

/// A number of a part.
trait Code: Copy + Send + Sync + Eq {
    const NULL: Self;
    fn part(self) -> usize;
}

impl Code for u8 {
    const NULL: Self = Self::MAX;
    fn part(self) -> usize {
        usize::from(self)
    }
}

impl Code for u16 {
    const NULL: Self = Self::MAX;
    fn part(self) -> usize {
        usize::from(self)
    }
}

impl Code for u32 {
    const NULL: Self = Self::MAX;
    fn part(self) -> usize {
        self as usize
    }
}

impl Codes {
    /// Numbers below `parts`, or `u32::MAX` for no value.
    pub(super) fn of(codes: Vec<u32>, parts: usize) -> Self {
        // A number that does not fit is the one of no value, which the cast leaves all ones.
        if parts < usize::from(u8::MAX) {
            Self::Bytes(codes.par_iter().map(|c| *c as u8).collect())
        } else if parts < usize::from(u16::MAX) {
            Self::Halves(codes.par_iter().map(|c| *c as u16).collect())
        } else {
            Self::Words(codes)
        }
    }

    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Bytes(codes) => codes.len() as u64,
            Self::Halves(codes) => codes.len() as u64 * 2,
            Self::Words(codes) => codes.len() as u64 * 4,
        }
    }

    /// The numbers of `count` elements, of which `row` gives the rows.
    pub(super) fn gathered(
        &self,
        count: u32,
        row: impl Fn(u32) -> Option<u32> + Sync,
        cancel: &CancelToken,
    ) -> Result<Self, QueryError> {
        fn each<T: Code>(
            codes: &[T],
            count: u32,
            row: impl Fn(u32) -> Option<u32> + Sync,
            cancel: &CancelToken,
        ) -> Result<Vec<T>, QueryError> {
            let mut out = vec![T::NULL; count as usize];
            out.par_chunks_mut(ROWS_AT_ONCE).enumerate().try_for_each(|(chunk, out)| {
                cancel.check()?;
                for (i, out) in out.iter_mut().enumerate() {
                    let row = row((chunk * ROWS_AT_ONCE + i) as u32);
                    if let Some(code) = row.and_then(|row| codes.get(row as usize)) {
                        *out = *code;
                    }
                }
                Ok::<(), QueryError>(())
            })?;
            Ok(out)
        }
        Ok(match self {
            Self::Bytes(codes) => Self::Bytes(each(codes, count, row, cancel)?),
            Self::Halves(codes) => Self::Halves(each(codes, count, row, cancel)?),
            Self::Words(codes) => Self::Words(each(codes, count, row, cancel)?),
        })
    }

    /// How many elements there are of each of `parts` parts, of which the last one has those without a value: all
    /// elements, or those in `bits`.
    pub(super) fn counts(
        &self,
        bits: Option<&Bits>,
        parts: usize,
        cancel: &CancelToken,
    ) -> Result<Vec<u64>, QueryError> {
        match self {
            Self::Bytes(codes) => counted(codes, bits, parts, cancel),
            Self::Halves(codes) => counted(codes, bits, parts, cancel),
            Self::Words(codes) => counted(codes, bits, parts, cancel),
        }
    }
}

fn counted<T: Code>(
    codes: &[T],
    bits: Option<&Bits>,
    parts: usize,
    cancel: &CancelToken,
) -> Result<Vec<u64>, QueryError> {
    let threads = if parts <= COUNTERS_MAX { rayon::current_num_threads() } else { 1 };
    let words = codes.len().div_ceil(64).div_ceil(threads).max(1);
    let shares = codes.par_chunks(words * 64).enumerate().map(|(share, codes)| {
        let bits = bits.map(|bits| &bits.words()[share * words..]);
        count_share(codes, bits, parts, cancel)
    });
    let shares = shares.collect::<Result<Vec<_>, QueryError>>()?;
    let mut counts = vec![0u64; parts];
    for share in shares {
        counts.iter_mut().zip(share).for_each(|(all, own)| *all += u64::from(own));
    }
    Ok(counts)
}

/// Counts of one thread. Neighbours often have the same number: of four sets of counters each takes every fourth element,
/// so that an addition does not wait for the one before.
fn count_share<T: Code>(
    codes: &[T],
    bits: Option<&[u64]>,
    parts: usize,
    cancel: &CancelToken,
) -> Result<Vec<u32>, QueryError> {
    let sets = if parts <= 1 << 10 { 4 } else { 1 };
    let nothing = parts.saturating_sub(1);
    let mut counts = vec![0u32; parts * sets];
    for (chunk, codes) in codes.chunks(WORDS_AT_ONCE * 64).enumerate() {
        cancel.check()?;
        for (i, codes) in codes.chunks(64).enumerate() {
            let word = match bits {
                None => u64::MAX,
                Some(bits) => bits.get(chunk * WORDS_AT_ONCE + i).copied().unwrap_or_default(),
            };
            if word == 0 {
                continue;
            }
            for (bit, code) in codes.iter().enumerate() {
                let part = if *code == T::NULL { nothing } else { code.part() };
                counts[part * sets + (bit & (sets - 1))] += (word >> bit & 1) as u32;
            }
        }
    }
    Ok(counts.chunks(sets).map(|sets| sets.iter().sum()).collect())
}
