//! Prefix sums and sorts.

use bytemuck::Pod;
use graphlume_types::{CancelToken, Reservation};

use super::gather::listed_rows;
use super::reduce::Select;
use super::store::{HostWords, Store};
use super::{
    ColumnOpError, Cpu, DType, Device, DeviceColumn, Mask, MaskOp, Predicate, cpu, gpu, same_rows,
};

impl Device {
    /// The prefix sums of a u32 column without nulls: value i is the sum of the cells before row i,
    /// modulo 2^32, and the last of the n + 1 values is the total. Cost: 12 n bytes.
    ///
    /// # Errors
    /// [`ColumnOpError::DType`], [`ColumnOpError::Elsewhere`], [`ColumnOpError::Cancelled`]; memory.
    pub fn scan(
        &self,
        column: &DeviceColumn,
        cancel: &CancelToken,
    ) -> Result<DeviceColumn, ColumnOpError> {
        let primitive = "scan";
        listed_rows(primitive, column)?;
        cancel.check()?;
        let rows = column.rows + 1;
        let cells = match (self, &column.cells) {
            (Self::Cpu(c), Store::Host(words)) => {
                let mut out = HostWords::zeros(&c.budget, rows)?;
                c.pool.install(|| cpu::rows::scan(words.cells(), out.cells_mut(), cancel))?;
                out.into()
            }
            (Self::Cuda(g), Store::Cuda(words)) => gpu::rows::scan(g, words.words())?.into(),
            _ => return Err(ColumnOpError::Elsewhere { primitive }),
        };
        Ok(DeviceColumn { dtype: DType::U32, rows, cells, valid: None })
    }

    /// Two u32 columns without nulls, sorted as pairs by the low `bits` bits of the keys (up to
    /// 32); pairs with equal keys keep their order. Cost: on the GPU 20 bytes a pair for every 8
    /// bits; on the CPU one thread's pass for every 8 bits that differ.
    ///
    /// # Errors
    /// [`ColumnOpError::DType`], [`ColumnOpError::Rows`], [`ColumnOpError::Elsewhere`],
    /// [`ColumnOpError::Cancelled`]; memory.
    pub fn sort_pairs(
        &self,
        keys: &DeviceColumn,
        values: &DeviceColumn,
        bits: u32,
        cancel: &CancelToken,
    ) -> Result<(DeviceColumn, DeviceColumn), ColumnOpError> {
        let primitive = "sort_pairs";
        listed_rows(primitive, keys)?;
        listed_rows(primitive, values)?;
        same_rows(primitive, values.rows, keys.rows)?;
        cancel.check()?;
        let (k, v): (Store, Store) = match (self, &keys.cells, &values.cells) {
            (Self::Cpu(c), Store::Host(k), Store::Host(v)) => {
                let pairs = k.cells::<u32>().iter().copied().zip(v.cells().iter().copied());
                let sorted = sort_on_cpu(c, keys.rows, pairs, bits, cancel)?;
                (sorted.keys(c)?.into(), sorted.values(c)?.into())
            }
            (Self::Cuda(g), Store::Cuda(k), Store::Cuda(v)) => {
                let (k, v) = gpu::rows::sort(g, k.words(), v.words(), bits)?;
                (k.into(), v.into())
            }
            _ => return Err(ColumnOpError::Elsewhere { primitive }),
        };
        let column =
            |cells| DeviceColumn { dtype: DType::U32, rows: keys.rows, cells, valid: None };
        Ok((column(k), column(v)))
    }

    /// The rows of a mask (or all rows) in the order of a column's cells, a u32 column; rows with
    /// equal cells keep their order, also in a descending one. Nulls and NaN count as greatest:
    /// last when ascending, first when descending. The two float zeros are equal; false is before
    /// true.
    /// Cost: waits; one gather of the cells, and a sort of 4 passes (8 for cells of 8 bytes).
    ///
    /// # Errors
    /// [`ColumnOpError::Rows`], [`ColumnOpError::Elsewhere`], [`ColumnOpError::Cancelled`]; memory.
    pub fn order(
        &self,
        column: &DeviceColumn,
        descending: bool,
        mask: Option<&Mask>,
        cancel: &CancelToken,
    ) -> Result<DeviceColumn, ColumnOpError> {
        // Also checks that all operands live here.
        let usable = match self.select("order", column, mask)? {
            Select::All => None,
            Select::One(one) => Some(self.mask_combine(MaskOp::And, one, one)?),
            Select::Both(both) => Some(both),
        };
        let of = |p: &Predicate| self.filter(column.rows, &[column], p, cancel);
        let within = |m: Mask, by: Option<&Mask>| match by {
            Some(by) => self.mask_combine(MaskOp::And, &m, by),
            None => Ok(m),
        };
        let values = within(of(&Predicate::NotNull { column: 0 })?, usable.as_ref())?;
        let nulls = self.compact(&within(of(&Predicate::IsNull { column: 0 })?, mask)?, cancel)?;
        let sorted = if column.dtype == DType::Bool {
            let set = self.combine_bits(MaskOp::And, column.rows, &values.bits, &column.cells)?;
            let set = Mask { rows: column.rows, bits: set };
            let clear = self.mask_combine(MaskOp::AndNot, &values, &set)?;
            let (set, clear) = (self.compact(&set, cancel)?, self.compact(&clear, cancel)?);
            if descending { self.joined(&set, &clear)? } else { self.joined(&clear, &set)? }
        } else {
            self.sorted_rows(column, descending, self.compact(&values, cancel)?, cancel)?
        };
        if nulls.is_empty() {
            return Ok(sorted);
        }
        if descending { self.joined(&nulls, &sorted) } else { self.joined(&sorted, &nulls) }
    }

    /// The listed rows, none of which is null, in the order of their cells.
    fn sorted_rows(
        &self,
        column: &DeviceColumn,
        descending: bool,
        rows: DeviceColumn,
        cancel: &CancelToken,
    ) -> Result<DeviceColumn, ColumnOpError> {
        let elsewhere = ColumnOpError::Elsewhere { primitive: "order" };
        let len = rows.rows;
        let cells: Store = match (self, &column.cells, rows.cells) {
            (Self::Cpu(c), Store::Host(words), Store::Host(list)) => {
                let list = list.cells::<u32>().iter().copied();
                if column.dtype.words(1) == 2 {
                    let (cells, flip) = (words.cells(), if descending { u64::MAX } else { 0 });
                    let key = |row: u32| wide_key(column.dtype, cells[row as usize]) ^ flip;
                    let pairs = list.map(|row| (key(row), row));
                    sort_on_cpu(c, len, pairs, u64::BITS, cancel)?.values(c)?.into()
                } else {
                    let (cells, flip) = (words.cells(), if descending { u32::MAX } else { 0 });
                    let key = |row: u32| narrow_key(column.dtype, cells[row as usize]) ^ flip;
                    let pairs = list.map(|row| (key(row), row));
                    sort_on_cpu(c, len, pairs, u32::BITS, cancel)?.values(c)?.into()
                }
            }
            (Self::Cuda(g), Store::Cuda(words), Store::Cuda(super::store::GpuWords::U32(list))) => {
                let n = super::check_rows("order", column.rows)?;
                gpu::rows::order(g, n, column.dtype, words.words(), descending, list)?.into()
            }
            _ => return Err(elsewhere),
        };
        Ok(DeviceColumn { dtype: DType::U32, rows: len, cells, valid: None })
    }

    fn joined(&self, a: &DeviceColumn, b: &DeviceColumn) -> Result<DeviceColumn, ColumnOpError> {
        let rows = a.rows + b.rows;
        let cells = match (self, &a.cells, &b.cells) {
            (Self::Cpu(c), Store::Host(x), Store::Host(y)) => {
                let mut out = HostWords::zeros(&c.budget, rows)?;
                let (first, second) = out.cells_mut::<u32>().split_at_mut(a.rows);
                first.copy_from_slice(x.cells());
                second.copy_from_slice(y.cells());
                out.into()
            }
            (Self::Cuda(g), Store::Cuda(x), Store::Cuda(y)) => {
                gpu::rows::concatenate(g, &[x.words(), y.words()])?.into()
            }
            _ => return Err(ColumnOpError::Elsewhere { primitive: "order" }),
        };
        Ok(DeviceColumn { dtype: DType::U32, rows, cells, valid: None })
    }
}

/// Unsigned numbers in the order of the cells of 4 bytes; the two zeros are one.
fn narrow_key(dtype: DType, cell: u32) -> u32 {
    match dtype {
        DType::I32 => cell ^ 1 << 31,
        DType::F32 => {
            let bits = if f32::from_bits(cell) == 0.0 { 0 } else { cell };
            if bits >> 31 != 0 { !bits } else { bits | 1 << 31 }
        }
        _ => cell,
    }
}

/// The same for cells of 8 bytes.
fn wide_key(dtype: DType, cell: u64) -> u64 {
    match dtype {
        DType::F64 => {
            let bits = if f64::from_bits(cell) == 0.0 { 0 } else { cell };
            if bits >> 63 != 0 { !bits } else { bits | 1 << 63 }
        }
        _ => cell ^ 1 << 63,
    }
}

/// `len` pairs sorted by the low `bits` bits of their keys.
fn sort_on_cpu<K: Pod + Into<u64> + Send + Sync>(
    cpu: &Cpu,
    len: usize,
    pairs: impl Iterator<Item = (K, u32)>,
    bits: u32,
    cancel: &CancelToken,
) -> Result<Sorted<K>, ColumnOpError> {
    let paid = cpu.budget.try_reserve((2 * size_of::<(K, u32)>() * len) as u64)?;
    let pairs: Vec<(K, u32)> = pairs.collect();
    let pairs = cpu.pool.install(|| cpu::rows::sort(pairs, bits, cancel))?;
    Ok(Sorted { pairs, _paid: paid })
}

/// Sorted pairs with the bytes that they are paid from.
struct Sorted<K> {
    pairs: Vec<(K, u32)>,
    _paid: Reservation,
}

impl<K: Pod> Sorted<K> {
    fn keys(&self, cpu: &Cpu) -> Result<HostWords, ColumnOpError> {
        let mut out = HostWords::zeros(&cpu.budget, size_of::<K>() / 4 * self.pairs.len())?;
        out.cells_mut().iter_mut().zip(&self.pairs).for_each(|(to, pair)| *to = pair.0);
        Ok(out)
    }

    fn values(&self, cpu: &Cpu) -> Result<HostWords, ColumnOpError> {
        let mut out = HostWords::zeros(&cpu.budget, self.pairs.len())?;
        out.cells_mut().iter_mut().zip(&self.pairs).for_each(|(to, pair)| *to = pair.1);
        Ok(out)
    }
}
