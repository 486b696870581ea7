//! Reductions of the segments of a column, such as the edges of each node or the rows of each
//! group.

use graphlume_types::CancelToken;
use rayon::prelude::*;

use super::gpu::reduce::Segments;
use super::reduce::{Seen, Select, with_cells};
use super::store::{GpuWords, HostWords, Store};
use super::{
    ColumnOpError, Compare, DType, Device, DeviceColumn, Mask, Predicate, Value, check_rows, cpu,
};

const SUMS: &str = "segment_sum";
const ENDS: &str = "segment_ends";

/// The dtype of sums and ends.
const fn widened(dtype: DType) -> DType {
    if dtype.is_float() { DType::F64 } else { DType::I64 }
}

impl Device {
    /// The sum of each segment of a numeric column. Segment r is the rows `offsets[r]` to
    /// `offsets[r + 1]`, and of them those of the mask; `offsets` is a u32 column without nulls,
    /// ascends and has one value more than there are segments. Offsets beyond the last row end
    /// there. Sums of integers are i64 modulo 2^64, those of floats f64. Nulls and NaN are passed
    /// over; the sum of nothing is 0.
    ///
    /// Cost: the offsets, the column, n / 8 bytes for each mask; 8 bytes a segment written. On the
    /// GPU one warp at most works on a segment, so one very long segment bounds the time.
    ///
    /// # Errors
    /// [`ColumnOpError::DType`], [`ColumnOpError::Rows`], [`ColumnOpError::Elsewhere`],
    /// [`ColumnOpError::Cancelled`]; memory.
    pub fn segment_sum(
        &self,
        offsets: &DeviceColumn,
        column: &DeviceColumn,
        mask: Option<&Mask>,
        cancel: &CancelToken,
    ) -> Result<DeviceColumn, ColumnOpError> {
        let segments = check(SUMS, offsets, column)?;
        let select = self.select(SUMS, column, mask)?;
        cancel.check()?;
        let cells: Store = match (self, &offsets.cells, &column.cells) {
            (Self::Cpu(c), Store::Host(offsets), Store::Host(words)) => {
                let (offsets, select) = (offsets.cells(), select.host());
                let empty = Seen::none(column.dtype);
                let mut out = HostWords::zeros(&c.budget, 2 * segments)?;
                c.pool.install(|| {
                    with_cells!(column.dtype, words, |cells, see| {
                        cpu::fill(out.cells_mut::<u64>(), cancel, |first, part| {
                            for (k, to) in part.iter_mut().enumerate() {
                                let r = first + k;
                                let seen =
                                    cpu::reduce::segment(offsets, r, cells, select, see, empty);
                                *to = seen.sum_bits();
                            }
                        })
                    })
                })?;
                out.into()
            }
            (Self::Cuda(g), Store::Cuda(offsets), Store::Cuda(words)) => {
                let sums = on_gpu(offsets, words, column, &select).sums(g)?;
                Store::Cuda(GpuWords::U64(sums))
            }
            _ => return Err(ColumnOpError::Elsewhere { primitive: SUMS }),
        };
        Ok(DeviceColumn { dtype: widened(column.dtype), rows: segments, cells, valid: None })
    }

    /// The least and the greatest cell of each segment, null for a segment without a cell;
    /// otherwise as [`Self::segment_sum`].
    /// Cost: as [`Self::segment_sum`] (twice on the CPU), and a filter over the result for
    /// integers.
    ///
    /// # Errors
    /// As [`Self::segment_sum`].
    pub fn segment_ends(
        &self,
        offsets: &DeviceColumn,
        column: &DeviceColumn,
        mask: Option<&Mask>,
        cancel: &CancelToken,
    ) -> Result<(DeviceColumn, DeviceColumn), ColumnOpError> {
        let segments = check(ENDS, offsets, column)?;
        let select = self.select(ENDS, column, mask)?;
        cancel.check()?;
        let (least, most): (Store, Store) = match (self, &offsets.cells, &column.cells) {
            (Self::Cpu(c), Store::Host(offsets), Store::Host(words)) => {
                let (offsets, select) = (offsets.cells(), select.host());
                let empty = Seen::none(column.dtype);
                let mut least = HostWords::zeros(&c.budget, 2 * segments)?;
                let mut most = HostWords::zeros(&c.budget, 2 * segments)?;
                let (low, high) = (least.cells_mut::<u64>(), most.cells_mut::<u64>());
                c.pool.install(|| {
                    with_cells!(column.dtype, words, |cells, see| {
                        let parts =
                            low.par_chunks_mut(cpu::CHUNK).zip(high.par_chunks_mut(cpu::CHUNK));
                        parts.enumerate().try_for_each(|(c, (low, high))| {
                            cancel.check()?;
                            for (k, (l, h)) in low.iter_mut().zip(high).enumerate() {
                                let r = c * cpu::CHUNK + k;
                                let seen =
                                    cpu::reduce::segment(offsets, r, cells, select, see, empty);
                                (*l, *h) = seen.end_bits();
                            }
                            Ok::<_, ColumnOpError>(())
                        })
                    })
                })?;
                (least.into(), most.into())
            }
            (Self::Cuda(g), Store::Cuda(offsets), Store::Cuda(words)) => {
                let (least, most) = on_gpu(offsets, words, column, &select).ends(g)?;
                (Store::Cuda(GpuWords::U64(least)), Store::Cuda(GpuWords::U64(most)))
            }
            _ => return Err(ColumnOpError::Elsewhere { primitive: ENDS }),
        };
        let column_of = |cells| DeviceColumn {
            dtype: widened(column.dtype),
            rows: segments,
            cells,
            valid: None,
        };
        self.without_empty(column_of(least), column_of(most), cancel)
    }

    /// Makes the ends of empty segments null. Those of floats are NaN already.
    fn without_empty(
        &self,
        least: DeviceColumn,
        most: DeviceColumn,
        cancel: &CancelToken,
    ) -> Result<(DeviceColumn, DeviceColumn), ColumnOpError> {
        if least.dtype == DType::F64 {
            return Ok((least, most));
        }
        let found = Predicate::Or(vec![
            Predicate::compare(0, Compare::Lt, Value::Int(i64::MAX)),
            Predicate::compare(1, Compare::Gt, Value::Int(i64::MIN)),
        ]);
        let valid = self.filter(least.rows, &[&least, &most], &found, cancel)?;
        let again = self.mask_combine(super::MaskOp::And, &valid, &valid)?;
        Ok((least.with_valid(Some(valid))?, most.with_valid(Some(again))?))
    }
}

/// The number of segments, if the offsets and the column can be used.
fn check(
    primitive: &'static str,
    offsets: &DeviceColumn,
    column: &DeviceColumn,
) -> Result<usize, ColumnOpError> {
    super::gather::listed_rows(primitive, offsets)?;
    check_rows(primitive, offsets.rows)?;
    if matches!(column.dtype, DType::Bool | DType::Codes) {
        let remedy = "use a numeric column";
        return Err(ColumnOpError::DType { primitive, dtype: column.dtype, remedy });
    }
    offsets.rows.checked_sub(1).ok_or(ColumnOpError::Rows { primitive, got: 0, need: 1 })
}

fn on_gpu<'a>(
    offsets: &'a GpuWords,
    cells: &'a GpuWords,
    column: &DeviceColumn,
    select: &'a Select<'_>,
) -> Segments<'a> {
    Segments {
        offsets: offsets.words(),
        dtype: column.dtype,
        len: column.rows,
        cells: cells.words(),
        select: select.mask().and_then(|m| m.bits.cuda()),
    }
}
