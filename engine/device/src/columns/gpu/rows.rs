//! Gathers, prefix sums and sorts on the GPU.

use super::super::DType;
use super::THREADS;
use crate::cuda::primitives::{Scan, Sort};
use crate::cuda::{Buf, DeviceError, Gpu, Grid, View, kernels};

type Words = Result<Buf<u32>, DeviceError>;

/// The cells of a column with `n` rows that the list names.
pub(in crate::columns) fn gather(
    gpu: &Gpu,
    n: u32,
    dtype: DType,
    rows: View<'_, u32>,
    cells: View<'_, u32>,
) -> Words {
    if dtype == DType::Bool {
        return super::mask::gather(gpu, n, rows, cells);
    }
    let count = rows.len() as u32;
    let mut out = gpu.alloc("a column", dtype.words(rows.len()))?;
    let grid = Grid::cover(gpu, rows.len().div_ceil(4), THREADS);
    match dtype.words(1) {
        2 => kernels::col_gather_u64(gpu, grid, count, n, rows, cells, out.view_mut())?,
        _ => kernels::col_gather_u32(gpu, grid, count, n, rows, cells, out.view_mut())?,
    }
    Ok(out)
}

pub(in crate::columns) fn iota(gpu: &Gpu, n: u32) -> Words {
    let mut out = gpu.alloc("rows", n as usize)?;
    kernels::col_iota(gpu, Grid::cover(gpu, n as usize, THREADS), n, 0, out.view_mut())?;
    Ok(out)
}

pub(in crate::columns) fn scan(gpu: &Gpu, input: View<'_, u32>) -> Words {
    let mut out = gpu.alloc("prefix sums", input.len() + 1)?;
    Scan::new(gpu, input.len())?.exclusive(input, out.view_mut())?;
    Ok(out)
}

/// Copies of the keys and the values, sorted.
pub(in crate::columns) fn sort(
    gpu: &Gpu,
    keys: View<'_, u32>,
    values: View<'_, u32>,
    bits: u32,
) -> Result<(Buf<u32>, Buf<u32>), DeviceError> {
    let len = keys.len();
    let mut sort = Sort::new_u32(gpu, len)?;
    let (mut k, mut v) = (gpu.alloc("sorted keys", len)?, gpu.alloc("sorted values", len)?);
    gpu.copy(keys, k.view_mut())?;
    gpu.copy(values, v.view_mut())?;
    sort.pairs_u32(&mut k, &mut v, len, bits)?;
    Ok((k, v))
}

/// The listed rows in the order of their cells in a column with `n` rows.
pub(in crate::columns) fn order(
    gpu: &Gpu,
    n: u32,
    dtype: DType,
    cells: View<'_, u32>,
    descending: bool,
    mut rows: Buf<u32>,
) -> Words {
    let len = rows.len();
    let (count, number, down) = (len as u32, dtype.number(), u32::from(descending));
    let grid = Grid::cover(gpu, len, THREADS);
    if dtype.words(1) == 2 {
        let mut keys = gpu.alloc("sort keys", len)?;
        let to = keys.view_mut();
        kernels::col_sort_keys_u64(gpu, grid, count, n, number, down, rows.view(), cells, to)?;
        Sort::new_u64(gpu, len)?.pairs_u64(&mut keys, &mut rows, len, u64::BITS)?;
    } else {
        let mut keys = gpu.alloc("sort keys", len)?;
        let to = keys.view_mut();
        kernels::col_sort_keys_u32(gpu, grid, count, n, number, down, rows.view(), cells, to)?;
        Sort::new_u32(gpu, len)?.pairs_u32(&mut keys, &mut rows, len, u32::BITS)?;
    }
    Ok(rows)
}

/// One list after the other.
pub(in crate::columns) fn concatenate(gpu: &Gpu, lists: &[View<'_, u32>]) -> Words {
    let mut out = gpu.alloc("rows", lists.iter().map(View::len).sum())?;
    let mut at = 0;
    for list in lists {
        gpu.copy(*list, out.slice_mut(at..at + list.len()))?;
        at += list.len();
    }
    Ok(out)
}
