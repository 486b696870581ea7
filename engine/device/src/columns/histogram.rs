//! Histograms with fixed bins.

use graphlume_types::CancelToken;

use super::gpu::reduce::Bins;
use super::reduce::with_cells;
use super::{ColumnOpError, DType, Device, DeviceColumn, Mask, cpu, gpu};

/// Bins of a histogram over a range at most.
const BINS_MAX: u32 = 1 << 24;

/// A cell as the float in which its bin is computed.
trait AsFloat: Copy {
    fn as_float(self) -> f64;
}
macro_rules! as_float {
    ($($t:ty)*) => { $(impl AsFloat for $t { fn as_float(self) -> f64 { self as f64 } })* };
}
as_float!(i64 i32 u32 f64 f32);

impl Device {
    /// How often each of the codes 0 .. `bins` occurs in the rows of a mask, or in all rows; nulls
    /// and other codes are not counted. The column holds codes or u32 values.
    /// Cost: waits; 4 n bytes, n / 8 for each mask, 4 a bin. Above 4096 bins one atomic a row in
    /// the second-level cache.
    ///
    /// # Errors
    /// [`ColumnOpError::DType`], [`ColumnOpError::Rows`], [`ColumnOpError::Elsewhere`],
    /// [`ColumnOpError::Cancelled`]; memory.
    pub fn histogram_codes(
        &self,
        column: &DeviceColumn,
        bins: u32,
        mask: Option<&Mask>,
        cancel: &CancelToken,
    ) -> Result<Vec<u32>, ColumnOpError> {
        let primitive = "histogram";
        if !matches!(column.dtype, DType::Codes | DType::U32) {
            let remedy = "use the histogram over a range";
            return Err(ColumnOpError::DType { primitive, dtype: column.dtype, remedy });
        }
        let select = self.select(primitive, column, mask)?;
        cancel.check()?;
        match (self, column.cells.host(), column.cells.cuda()) {
            (Self::Cpu(c), Some(words), _) => {
                let (codes, select) = (words.cells::<u32>(), select.host());
                let bin = |row: usize| Some(codes[row] as usize).filter(|b| *b < bins as usize);
                Ok(c.pool.install(|| {
                    cpu::reduce::histogram(column.rows, bins as usize, select, cancel, bin)
                })?)
            }
            (Self::Cuda(g), _, Some(words)) => {
                let select = select.mask().and_then(|m| m.bits.cuda());
                Ok(gpu::reduce::histogram_codes(g, bins, words, select)?)
            }
            _ => Err(ColumnOpError::Elsewhere { primitive }),
        }
    }

    /// How many cells of a numeric column fall into each of `bins` equal parts of `[low, high]`,
    /// both ends included, in the rows of a mask or in all rows. The bin of x is min((x - low) *
    /// (bins / (high - low)), bins - 1) in 64-bit floats on both devices. Nulls, NaN and cells
    /// outside are not counted.
    /// Cost: waits; the column, n / 8 bytes for each mask, 4 a bin.
    ///
    /// # Errors
    /// [`ColumnOpError::Bins`] without a bin, with more than 2^24, or without a finite range;
    /// [`ColumnOpError::DType`] for bools and codes; [`ColumnOpError::Rows`], [`ColumnOpError::Elsewhere`],
    /// [`ColumnOpError::Cancelled`]; memory.
    pub fn histogram_range(
        &self,
        column: &DeviceColumn,
        (low, high): (f64, f64),
        bins: u32,
        mask: Option<&Mask>,
        cancel: &CancelToken,
    ) -> Result<Vec<u32>, ColumnOpError> {
        let primitive = "histogram";
        if matches!(column.dtype, DType::Codes | DType::Bool) {
            let remedy = "use the histogram of codes";
            return Err(ColumnOpError::DType { primitive, dtype: column.dtype, remedy });
        }
        let span = high - low;
        if bins == 0 || bins > BINS_MAX || !span.is_finite() || span < 0.0 {
            return Err(ColumnOpError::Bins { bins, low, high });
        }
        // A range of one value, or one so narrow that the quotient is infinite, has all cells in
        // the first bin.
        let scale = Some(f64::from(bins) / span).filter(|s| s.is_finite()).unwrap_or(0.0);
        let ranges = Bins { count: bins, low, high, scale };
        let select = self.select(primitive, column, mask)?;
        cancel.check()?;
        match (self, column.cells.host(), column.cells.cuda()) {
            (Self::Cpu(c), Some(words), _) => {
                let (select, last) = (select.host(), bins as usize - 1);
                let bin = |x: f64| {
                    (x >= low && x <= high).then(|| (((x - low) * scale) as usize).min(last))
                };
                let counts = c.pool.install(|| {
                    with_cells!(column.dtype, words, |cells, _see| {
                        let of = |row: usize| bin(cells[row].as_float());
                        cpu::reduce::histogram(column.rows, bins as usize, select, cancel, of)
                    })
                })?;
                Ok(counts)
            }
            (Self::Cuda(g), _, Some(words)) => {
                let select = select.mask().and_then(|m| m.bits.cuda());
                let (rows, dtype) = (column.rows, column.dtype);
                Ok(gpu::reduce::histogram_range(g, rows, dtype, ranges, words, select)?)
            }
            _ => Err(ColumnOpError::Elsewhere { primitive }),
        }
    }
}
