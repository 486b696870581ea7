//! Exclusive prefix sums.

use super::{Chunks, THREADS, count, within};
use crate::cuda::{Buf, DeviceError, Gpu, Grid, View, ViewMut, kernels};

/// Items of a tile of the scan kernels.
const TILE: u32 = 4096;
/// Blocks for each multiprocessor; the kernels use few registers, so that many are resident at
/// once.
const BLOCKS_PER_SM: u32 = 8;
/// Up to this many items one block is as fast as three launches.
const SINGLE_MAX: u32 = 4 * TILE;

/// Exclusive prefix sums of u32 values, for inputs up to a stated length. Scratch memory: 8 bytes
/// for each of a few thousand chunks. One launch up to 16,384 items, three above. Bytes moved: 12
/// an item (16 with 64-bit sums).
pub struct Scan {
    gpu: Gpu,
    max_len: usize,
    sums: Buf<u64>,
}

impl Scan {
    /// Scratch memory for inputs of up to `max_len` values on `gpu`, on whose stream it works.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`]; [`DeviceError::TooLarge`] from 2^32 values on.
    pub fn new(gpu: &Gpu, max_len: usize) -> Result<Self, DeviceError> {
        let chunks = Chunks::bound(gpu, count("a prefix sum", max_len)?, TILE, BLOCKS_PER_SM);
        let sums = gpu.alloc("prefix sums", chunks)?;
        Ok(Self { gpu: gpu.clone(), max_len, sums })
    }

    fn plan(&self, input: usize, out: usize) -> Result<(u32, Chunks, u32), DeviceError> {
        within("scan_apply", input, self.max_len)?;
        if out != input && out != input + 1 {
            let (len, need) = (out as u64, input as u64 + 1);
            return Err(DeviceError::Length { kernel: "scan_apply", param: "out", len, need });
        }
        let n = count("a prefix sum", input)?;
        let chunks = match n <= SINGLE_MAX {
            true => Chunks { len: SINGLE_MAX, count: 1 },
            false => Chunks::new(&self.gpu, n, TILE, BLOCKS_PER_SM),
        };
        Ok((n, chunks, u32::from(out > input)))
    }

    /// `out[i] = input[0] + .. + input[i - 1]` modulo 2^32, for every i below `out.len()`, which is
    /// `input.len()` or one more: the total is then the last value.
    ///
    /// # Errors
    /// [`DeviceError::Length`] for another length or an input longer than the scratch memory
    /// allows.
    pub fn exclusive(
        &mut self,
        input: View<'_, u32>,
        out: ViewMut<'_, u32>,
    ) -> Result<(), DeviceError> {
        let (n, Chunks { len, count }, total) = self.plan(input.len(), out.len())?;
        let (gpu, grid) = (&self.gpu, Grid::blocks(count, THREADS));
        let mut sums = self.sums.view_mut().cast::<u32>();
        if count > 1 {
            kernels::scan_sums_u32(gpu, grid, n, len, input, sums.reborrow())?;
            kernels::scan_spine_u32(gpu, Grid::blocks(1, 1024), count, sums.reborrow())?;
        }
        kernels::scan_apply_u32(gpu, grid, n, len, total, input, sums.as_view(), out)
    }

    /// As [`Self::exclusive`], with sums of 64 bits that do not wrap.
    ///
    /// # Errors
    /// As [`Self::exclusive`].
    pub fn exclusive_u64(
        &mut self,
        input: View<'_, u32>,
        out: ViewMut<'_, u64>,
    ) -> Result<(), DeviceError> {
        let (n, Chunks { len, count }, total) = self.plan(input.len(), out.len())?;
        let (gpu, grid) = (&self.gpu, Grid::blocks(count, THREADS));
        let mut sums = self.sums.view_mut();
        if count > 1 {
            kernels::scan_sums_u64(gpu, grid, n, len, input, sums.reborrow())?;
            kernels::scan_spine_u64(gpu, Grid::blocks(1, 1024), count, sums.reborrow())?;
        }
        kernels::scan_apply_u64(gpu, grid, n, len, total, input, sums.as_view(), out)
    }
}
