//! Gathers, prefix sums and sorts on the processor.

use bytemuck::Pod;
use graphlume_types::{CancelToken, Cancelled};
use rayon::prelude::*;

use super::{CHUNK, CHUNK_WORDS, fill};

/// `out[i] = cells[rows[i]]`, zero for a row that does not exist.
pub(in crate::columns) fn gather<T: Pod + Send + Sync>(
    rows: &[u32],
    cells: &[T],
    out: &mut [T],
    cancel: &CancelToken,
) -> Result<(), Cancelled> {
    fill(out, cancel, |first, part| {
        for (to, row) in part.iter_mut().zip(&rows[first..]) {
            *to = cells.get(*row as usize).copied().unwrap_or_else(T::zeroed);
        }
    })
}

/// Bit i of `out` = bit `rows[i]` of a mask of `n` rows, zero for a row that does not exist.
pub(in crate::columns) fn gather_bits(
    rows: &[u32],
    n: usize,
    words: &[u32],
    out: &mut [u32],
    cancel: &CancelToken,
) -> Result<(), Cancelled> {
    out.par_chunks_mut(CHUNK_WORDS).zip(rows.par_chunks(CHUNK)).try_for_each(|(out, rows)| {
        cancel.check()?;
        for (to, rows) in out.iter_mut().zip(rows.chunks(32)) {
            *to = rows.iter().enumerate().fold(0, |word, (k, row)| {
                let set = (*row as usize) < n && words[(row / 32) as usize] >> (row % 32) & 1 != 0;
                word | u32::from(set) << k
            });
        }
        Ok(())
    })
}

/// `out[i] = input[0] + .. + input[i - 1]` modulo 2^32; `out` has one value more than `input`.
pub(in crate::columns) fn scan(
    input: &[u32],
    out: &mut [u32],
    cancel: &CancelToken,
) -> Result<(), Cancelled> {
    let sums: Vec<u32> = input
        .par_chunks(CHUNK)
        .map(|part| part.iter().fold(0_u32, |sum, v| sum.wrapping_add(*v)))
        .collect();
    let mut starts = Vec::with_capacity(sums.len());
    let mut total = 0_u32;
    for sum in sums {
        starts.push(total);
        total = total.wrapping_add(sum);
    }
    fill(&mut out[..input.len()], cancel, |first, part| {
        let mut sum = starts[first / CHUNK];
        for (to, v) in part.iter_mut().zip(&input[first..]) {
            *to = sum;
            sum = sum.wrapping_add(*v);
        }
    })?;
    out[input.len()] = total;
    Ok(())
}

/// Up to this many pairs a comparison sort is faster than passes over 256 counters.
const FEW: usize = 512;

/// Pairs sorted by the low `bits` bits of their keys, least significant byte first; equal ones keep
/// their order. A byte that is the same in all keys costs only its count. Each pass is one thread's
/// work; the token is looked at before it.
pub(in crate::columns) fn sort<K: Pod + Into<u64> + Send + Sync>(
    mut pairs: Vec<(K, u32)>,
    bits: u32,
    cancel: &CancelToken,
) -> Result<Vec<(K, u32)>, Cancelled> {
    let mask = if bits >= u64::BITS { u64::MAX } else { (1 << bits) - 1 };
    if pairs.len() <= FEW {
        pairs.sort_by_key(|(key, _)| (*key).into() & mask);
        return Ok(pairs);
    }
    let mut spare = vec![(K::zeroed(), 0); pairs.len()];
    for shift in (0..bits.min(size_of::<K>() as u32 * 8)).step_by(8) {
        cancel.check()?;
        let digit = |key: K| ((key.into() & mask) >> shift & 255) as usize;
        let counts = pairs
            .par_chunks(CHUNK)
            .map(|part| {
                let mut counts = [0_usize; 256];
                part.iter().for_each(|(key, _)| counts[digit(*key)] += 1);
                counts
            })
            .reduce(
                || [0; 256],
                |mut a, b| {
                    a.iter_mut().zip(b).for_each(|(x, y)| *x += y);
                    a
                },
            );
        if counts.contains(&pairs.len()) {
            continue;
        }
        let mut next = counts;
        let mut total = 0;
        for at in &mut next {
            total += std::mem::replace(at, total);
        }
        for pair in &pairs {
            let at = &mut next[digit(pair.0)];
            spare[*at] = *pair;
            *at += 1;
        }
        std::mem::swap(&mut pairs, &mut spare);
    }
    Ok(pairs)
}
