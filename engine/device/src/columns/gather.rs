//! Cells by row number.

use graphlume_types::CancelToken;

use super::store::{HostWords, Store};
use super::{ColumnOpError, DType, Device, DeviceColumn, Mask, check_rows, cpu, gpu};

/// Lists of rows are u32 columns without nulls.
pub(super) fn listed_rows(
    primitive: &'static str,
    rows: &DeviceColumn,
) -> Result<(), ColumnOpError> {
    match rows.dtype == DType::U32 && rows.valid.is_none() {
        true => Ok(()),
        false => {
            let remedy = "a list of rows is a u32 column without nulls";
            Err(ColumnOpError::DType { primitive, dtype: rows.dtype, remedy })
        }
    }
}

impl Device {
    /// The cells and the validity of a column in the listed rows (a u32 column without nulls), in
    /// the order of the list. A listed row that does not exist gives a null if the column has
    /// nulls, else 0.
    /// Cost: 4 bytes a listed row, one 32-byte sector a cell (and one of the validity), the result.
    ///
    /// # Errors
    /// [`ColumnOpError::DType`], [`ColumnOpError::Elsewhere`], [`ColumnOpError::Cancelled`]; memory.
    pub fn gather(
        &self,
        column: &DeviceColumn,
        rows: &DeviceColumn,
        cancel: &CancelToken,
    ) -> Result<DeviceColumn, ColumnOpError> {
        let primitive = "gather";
        listed_rows(primitive, rows)?;
        let n = check_rows(primitive, column.rows)?;
        cancel.check()?;
        let cells = match (self, &column.cells, &rows.cells) {
            (Self::Cuda(g), Store::Cuda(cells), Store::Cuda(list)) => {
                gpu::rows::gather(g, n, column.dtype, list.words(), cells.words())?.into()
            }
            (Self::Cpu(c), Store::Host(cells), Store::Host(list)) => {
                let list = list.cells::<u32>();
                let mut out = HostWords::zeros(&c.budget, column.dtype.words(list.len()))?;
                c.pool.install(|| match (column.dtype, column.dtype.words(1)) {
                    (DType::Bool, _) => {
                        let to = out.cells_mut();
                        cpu::rows::gather_bits(list, column.rows, cells.cells(), to, cancel)
                    }
                    (_, 2) => {
                        cpu::rows::gather::<u64>(list, cells.cells(), out.cells_mut(), cancel)
                    }
                    _ => cpu::rows::gather::<u32>(list, cells.cells(), out.cells_mut(), cancel),
                })?;
                out.into()
            }
            _ => return Err(ColumnOpError::Elsewhere { primitive }),
        };
        let valid = column.valid.as_ref().map(|m| self.mask_gather(m, rows, cancel)).transpose()?;
        Ok(DeviceColumn { dtype: column.dtype, rows: rows.rows, cells, valid })
    }

    /// The mask of the places in the list (a u32 column without nulls) whose row is in `mask`. A
    /// row that does not exist is not. Cost: 4 bytes and one 32-byte sector a listed row.
    ///
    /// # Errors
    /// As [`Self::gather`].
    pub fn mask_gather(
        &self,
        mask: &Mask,
        rows: &DeviceColumn,
        cancel: &CancelToken,
    ) -> Result<Mask, ColumnOpError> {
        let primitive = "mask_gather";
        listed_rows(primitive, rows)?;
        let n = check_rows(primitive, mask.rows)?;
        cancel.check()?;
        let bits = match (self, &mask.bits, &rows.cells) {
            (Self::Cuda(g), Store::Cuda(bits), Store::Cuda(list)) => {
                gpu::mask::gather(g, n, list.words(), bits.words())?.into()
            }
            (Self::Cpu(c), Store::Host(bits), Store::Host(list)) => {
                let list = list.cells::<u32>();
                let mut out = HostWords::zeros(&c.budget, list.len().div_ceil(32))?;
                c.pool.install(|| {
                    let to = out.cells_mut();
                    cpu::rows::gather_bits(list, mask.rows, bits.cells(), to, cancel)
                })?;
                out.into()
            }
            _ => return Err(ColumnOpError::Elsewhere { primitive }),
        };
        Ok(Mask { rows: rows.rows, bits })
    }

    /// The rows 0 .. `rows`, a u32 column without nulls. Cost: 4 n bytes written.
    ///
    /// # Errors
    /// [`ColumnOpError::Limit`] from 2^32 rows on; memory.
    pub fn all_rows(&self, rows: usize) -> Result<DeviceColumn, ColumnOpError> {
        let n = check_rows("all_rows", rows)?;
        let cells = match self {
            Self::Cpu(c) => {
                let mut out = HostWords::zeros(&c.budget, rows)?;
                for (to, row) in out.cells_mut::<u32>().iter_mut().zip(0..n) {
                    *to = row;
                }
                out.into()
            }
            Self::Cuda(g) => gpu::rows::iota(g, n)?.into(),
        };
        Ok(DeviceColumn { dtype: DType::U32, rows, cells, valid: None })
    }
}
