//! Reductions, histograms and segments on the processor.

use bytemuck::Pod;
use graphlume_types::{CancelToken, Cancelled};

use super::super::reduce::Seen;
use super::{collect, selected};

/// Independent results that are kept side by side, so that the loops use vector instructions; they
/// are joined in a fixed order.
const LANES: usize = 8;
/// Selected cells that are put side by side before they are reduced.
const BUFFER: usize = 1024;

/// What integers are together.
pub(in crate::columns) fn ints<T: Copy + Into<i64>>(cells: &[T]) -> Seen {
    let (mut low, mut high) = ([0_u64; LANES], [0_i64; LANES]);
    let (mut least, mut greatest) = ([i64::MAX; LANES], [i64::MIN; LANES]);
    for part in cells.chunks(LANES) {
        for (k, v) in part.iter().enumerate() {
            let v: i64 = (*v).into();
            // Two halves, so that neither sum can wrap below 2^32 cells.
            low[k] += u64::from(v as u32);
            high[k] += v >> 32;
            least[k] = least[k].min(v);
            greatest[k] = greatest[k].max(v);
        }
    }
    let whole = |k: usize| (i128::from(high[k]) << 32) + i128::from(low[k]);
    Seen::Int {
        count: cells.len() as u64,
        sum: (0..LANES).map(whole).sum(),
        least: least.into_iter().fold(i64::MAX, i64::min),
        greatest: greatest.into_iter().fold(i64::MIN, i64::max),
    }
}

/// What the floats but NaN are together.
pub(in crate::columns) fn floats<T: Copy + Into<f64>>(cells: &[T]) -> Seen {
    let (mut sum, mut count) = ([0.0; LANES], [0_u64; LANES]);
    let (mut least, mut greatest) = ([f64::INFINITY; LANES], [f64::NEG_INFINITY; LANES]);
    for part in cells.chunks(LANES) {
        for (k, v) in part.iter().enumerate() {
            let v: f64 = (*v).into();
            sum[k] += if v.is_nan() { 0.0 } else { v };
            count[k] += u64::from(!v.is_nan());
            least[k] = if v < least[k] { v } else { least[k] };
            greatest[k] = if greatest[k] < v { v } else { greatest[k] };
        }
    }
    (0..LANES).fold(Seen::NO_FLOAT, |seen, k| {
        let (count, sum) = (count[k], sum[k]);
        seen.join(Seen::Float { count, sum, least: least[k], greatest: greatest[k] })
    })
}

/// What the selected cells are together; `part` tells it of some neighbouring ones.
pub(in crate::columns) fn seen<T: Pod + Sync>(
    cells: &[T],
    select: Option<&[u32]>,
    cancel: &CancelToken,
    empty: Seen,
    part: impl Fn(&[T]) -> Seen + Sync,
) -> Result<Seen, Cancelled> {
    let parts = collect(cells.len(), cancel, |first, end| match select {
        None => part(&cells[first..end]),
        Some(words) => {
            let (mut seen, mut buffer, mut filled) = (empty, [T::zeroed(); BUFFER + 32], 0);
            for (w, word) in words[first / 32..end.div_ceil(32)].iter().enumerate() {
                let mut left = *word;
                while left != 0 {
                    buffer[filled] = cells[first + w * 32 + left.trailing_zeros() as usize];
                    filled += 1;
                    left &= left - 1;
                }
                if filled >= BUFFER {
                    seen = seen.join(part(&buffer[..filled]));
                    filled = 0;
                }
            }
            seen.join(part(&buffer[..filled]))
        }
    })?;
    Ok(parts.into_iter().fold(empty, Seen::join))
}

/// Counts the bins that `bin` gives for the selected rows.
pub(in crate::columns) fn histogram(
    rows: usize,
    bins: usize,
    select: Option<&[u32]>,
    cancel: &CancelToken,
    bin: impl Fn(usize) -> Option<usize> + Sync,
) -> Result<Vec<u32>, Cancelled> {
    let span = |first: usize, end: usize, counts: &mut [u32]| {
        for row in first..end {
            if let Some(b) = bin(row).filter(|_| selected(select, row)) {
                counts[b] += 1;
            }
        }
    };
    let mut total = vec![0; bins];
    if bins > super::CHUNK {
        // Counters of its own for each chunk would cost more than the counting.
        for first in (0..rows).step_by(super::CHUNK) {
            cancel.check()?;
            span(first, rows.min(first + super::CHUNK), &mut total);
        }
        return Ok(total);
    }
    let parts = collect(rows, cancel, |first, end| {
        let mut counts = vec![0_u32; bins];
        span(first, end, &mut counts);
        counts
    })?;
    for part in parts {
        for (to, from) in total.iter_mut().zip(part) {
            *to += from;
        }
    }
    Ok(total)
}

/// What the cells of segment `r` are together.
pub(in crate::columns) fn segment<T: Copy>(
    offsets: &[u32],
    r: usize,
    cells: &[T],
    select: Option<&[u32]>,
    see: impl Fn(&mut Seen, T),
    empty: Seen,
) -> Seen {
    let end = (offsets[r + 1] as usize).min(cells.len());
    let start = (offsets[r] as usize).min(end);
    let mut seen = empty;
    for (k, v) in cells[start..end].iter().enumerate() {
        if selected(select, start + k) {
            see(&mut seen, *v);
        }
    }
    seen
}
