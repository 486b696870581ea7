//! The rows of a mask.

use super::{Chunks, THREADS, count, within};
use crate::cuda::{Buf, DeviceError, Gpu, Grid, View, ViewMut, kernels};

/// Mask words of a tile.
const TILE: u32 = 1024;
const BLOCKS_PER_SM: u32 = 8;

/// Lists the rows of masks up to a stated number of rows. Three launches; bytes moved: a quarter a
/// row of the mask, and 4 a row that is listed.
pub struct Compact {
    gpu: Gpu,
    max_rows: usize,
    counts: Buf<u32>,
}

impl Compact {
    /// Scratch memory for masks of up to `max_rows` rows on `gpu`, on whose stream it works.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`]; [`DeviceError::TooLarge`] from 2^32 rows on.
    pub fn new(gpu: &Gpu, max_rows: usize) -> Result<Self, DeviceError> {
        let words = count("a mask", max_rows)?.div_ceil(32);
        let chunks = Chunks::bound(gpu, words, TILE, BLOCKS_PER_SM);
        Ok(Self { gpu: gpu.clone(), max_rows, counts: gpu.alloc("mask counts", chunks + 1)? })
    }

    /// Writes the rows of `mask` (of `rows` rows) to `out` in ascending order and their number to
    /// `found[0]`. Rows that `out` has no room for are not written, but counted.
    ///
    /// # Errors
    /// [`DeviceError::Length`] when the mask is shorter than `rows`, `rows` exceeds the scratch
    /// memory, or `found` is empty.
    pub fn rows(
        &mut self,
        rows: usize,
        mask: View<'_, u32>,
        out: ViewMut<'_, u32>,
        found: ViewMut<'_, u32>,
    ) -> Result<(), DeviceError> {
        within("mask_compact", rows, self.max_rows)?;
        if found.is_empty() {
            return Err(DeviceError::Length {
                kernel: "mask_compact",
                param: "found",
                len: 0,
                need: 1,
            });
        }
        let n = count("a mask", rows)?;
        let chunks = Chunks::new(&self.gpu, n.div_ceil(32), TILE, BLOCKS_PER_SM);
        let gpu = &self.gpu;
        let grid = Grid::blocks(chunks.count.max(1), THREADS);
        let with_total = chunks.count as usize + 1;
        let mut counts = self.counts.slice_mut(..with_total);
        gpu.zero(counts.reborrow().slice(with_total - 1..))?;
        kernels::mask_chunk_counts(gpu, grid, n, chunks.len, mask, counts.reborrow())?;
        // One value more than there are chunks: the scan leaves the total there.
        kernels::scan_spine_u32(gpu, Grid::blocks(1, 1024), chunks.count + 1, counts.reborrow())?;
        let room = u32::try_from(out.len()).unwrap_or(u32::MAX);
        kernels::mask_compact(gpu, grid, n, chunks.len, room, mask, counts.as_view(), out)?;
        let total = counts.as_view().slice(with_total - 1..);
        gpu.copy(total, found.slice(..1))
    }
}
