//! Reductions in a fixed order.

use super::{THREADS, count, within};
use crate::cuda::{Buf, DeviceError, Gpu, Grid, View, ViewMut, kernels};

/// Partial results at most: one block then adds them up in a few steps.
const PARTS_MAX: u32 = 1024;
/// Items of a part's tile.
const TILE: u32 = 2048;

/// Partial results of `n` items. It follows from `n` alone, so that float sums have the same bits
/// on every device.
pub(crate) fn parts(n: u32) -> u32 {
    n.div_ceil(4 * TILE).clamp(1, PARTS_MAX)
}

/// Reductions of arrays up to a stated length; the result stays on the device. Each is one launch
/// up to 8,192 items and two above, reads the input once, and adds floats in an order that only the
/// length decides. Scratch memory: 16 KiB at most.
pub struct Reduce {
    gpu: Gpu,
    max_len: usize,
    partial: Buf<u64>,
}

macro_rules! sum {
    ($name:ident, $from:ty, $to:ty, $kernel:ident, $again:ident, $doc:literal) => {
        #[doc = $doc]
        ///
        /// # Errors
        /// [`DeviceError::Length`] when the input exceeds the scratch memory or `out` is empty.
        pub fn $name(
            &mut self,
            input: View<'_, $from>,
            out: ViewMut<'_, $to>,
        ) -> Result<(), DeviceError> {
            let (n, parts) = self.plan(input.len())?;
            let grid = Grid::blocks(parts, THREADS);
            if parts == 1 {
                return kernels::$kernel(&self.gpu, grid, n, 1, input, out);
            }
            let mut partial = self.partial.view_mut().cast::<$to>().slice(..parts as usize);
            kernels::$kernel(&self.gpu, grid, n, parts, input, partial.reborrow())?;
            let one = Grid::blocks(1, THREADS);
            kernels::$again(&self.gpu, one, parts, 1, partial.as_view(), out)
        }
    };
}

macro_rules! min_max {
    ($name:ident, $value:ty, $kernel:ident, $doc:literal) => {
        #[doc = $doc]
        ///
        /// # Errors
        /// [`DeviceError::Length`] when the input exceeds the scratch memory or `out` holds less
        /// than two values.
        pub fn $name(
            &mut self,
            input: View<'_, $value>,
            out: ViewMut<'_, $value>,
        ) -> Result<(), DeviceError> {
            let (n, parts) = self.plan(input.len())?;
            let grid = Grid::blocks(parts, THREADS);
            if parts == 1 {
                return kernels::$kernel(&self.gpu, grid, n, 1, input, input, out);
            }
            let half = parts as usize;
            let mut partial = self.partial.view_mut().cast::<$value>().slice(..2 * half);
            kernels::$kernel(&self.gpu, grid, n, parts, input, input, partial.reborrow())?;
            let (lows, highs) = (partial.as_view().slice(..half), partial.as_view().slice(half..));
            kernels::$kernel(&self.gpu, Grid::blocks(1, THREADS), parts, 1, lows, highs, out)
        }
    };
}

impl Reduce {
    /// Scratch memory for inputs of up to `max_len` values on `gpu`, on whose stream it works.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`]; [`DeviceError::TooLarge`] from 2^32 values on.
    pub fn new(gpu: &Gpu, max_len: usize) -> Result<Self, DeviceError> {
        let parts = parts(count("a reduction", max_len)?) as usize;
        Ok(Self { gpu: gpu.clone(), max_len, partial: gpu.alloc("partial results", 2 * parts)? })
    }

    fn plan(&self, len: usize) -> Result<(u32, u32), DeviceError> {
        within("reduce", len, self.max_len)?;
        let n = count("a reduction", len)?;
        Ok((n, parts(n)))
    }

    sum!(sum_f64, f64, f64, reduce_sum_f64, reduce_sum_f64, "`out[0]` = the sum, 0 of nothing.");
    sum!(
        sum_f32_as_f64,
        f32,
        f64,
        reduce_sum_f32,
        reduce_sum_f64,
        "`out[0]` = the sum in 64-bit floats, 0 of nothing."
    );
    sum!(
        sum_u32_as_u64,
        u32,
        u64,
        reduce_sum_u32,
        reduce_sum_u64,
        "`out[0]` = the sum in 64 bits, 0 of nothing."
    );
    sum!(
        sum_u64,
        u64,
        u64,
        reduce_sum_u64,
        reduce_sum_u64,
        "`out[0]` = the sum modulo 2^64, 0 of nothing."
    );
    min_max!(
        min_max_f32,
        f32,
        reduce_min_max_f32,
        "`out[0]` = the least, `out[1]` = the greatest value but NaN; of nothing inf and -inf."
    );
    min_max!(
        min_max_f64,
        f64,
        reduce_min_max_f64,
        "`out[0]` = the least, `out[1]` = the greatest value but NaN; of nothing inf and -inf."
    );
    min_max!(
        min_max_u32,
        u32,
        reduce_min_max_u32,
        "`out[0]` = the least and `out[1]` = the greatest value; 2^32 - 1 and 0 of nothing."
    );
}
