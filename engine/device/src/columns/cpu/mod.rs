//! The primitives on the processor: plain loops over chunks of 65,536 rows, which the threads of
//! the pool share. Results are put together in the order of the chunks, so they do not depend on
//! the number of threads.

pub(super) mod filter;
pub(super) mod mask;
pub(super) mod reduce;
pub(super) mod rows;

use graphlume_types::{CancelToken, Cancelled};
use rayon::prelude::*;

/// Rows of a chunk: the work between two looks at the token.
pub(super) const CHUNK: usize = 65_536;
/// Mask words of a chunk.
pub(super) const CHUNK_WORDS: usize = CHUNK / 32;

/// Runs `f(first row, cells)` for every chunk of `out` and stops at the first cancelled one.
pub(super) fn fill<T: Send>(
    out: &mut [T],
    cancel: &CancelToken,
    f: impl Fn(usize, &mut [T]) + Sync,
) -> Result<(), Cancelled> {
    out.par_chunks_mut(CHUNK).enumerate().try_for_each(|(c, part)| {
        cancel.check()?;
        f(c * CHUNK, part);
        Ok(())
    })
}

/// The results of `f(first row, end)` for every chunk of `rows` rows, in order.
pub(super) fn collect<R: Send>(
    rows: usize,
    cancel: &CancelToken,
    f: impl Fn(usize, usize) -> R + Sync,
) -> Result<Vec<R>, Cancelled> {
    let chunks = rows.div_ceil(CHUNK);
    (0..chunks)
        .into_par_iter()
        .map(|c| {
            cancel.check()?;
            Ok(f(c * CHUNK, rows.min((c + 1) * CHUNK)))
        })
        .collect()
}

/// Whether row `row` is selected; without a mask every row is.
pub(super) fn selected(select: Option<&[u32]>, row: usize) -> bool {
    select.is_none_or(|words| words[row / 32] >> (row % 32) & 1 != 0)
}
