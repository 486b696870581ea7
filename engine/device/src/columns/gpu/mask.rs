//! Masks on the GPU.

use super::super::mask::MaskOp;
use super::THREADS;
use crate::cuda::primitives::Compact;
use crate::cuda::{Buf, DeviceError, Gpu, Grid, View, kernels};

type Words = Result<Buf<u32>, DeviceError>;

fn words(gpu: &Gpu, n: u32) -> Words {
    gpu.alloc("a mask", n.div_ceil(32) as usize)
}

/// A thread for four words.
fn by_words(gpu: &Gpu, n: u32) -> Grid {
    Grid::cover(gpu, (n as usize).div_ceil(128), THREADS)
}

pub(in crate::columns) fn filled(gpu: &Gpu, n: u32, set: bool) -> Words {
    let mut out = words(gpu, n)?;
    let fill = if set { u32::MAX } else { 0 };
    kernels::mask_fill(gpu, by_words(gpu, n), n, fill, out.view_mut())?;
    Ok(out)
}

pub(in crate::columns) fn combine(
    gpu: &Gpu,
    n: u32,
    op: MaskOp,
    a: View<'_, u32>,
    b: View<'_, u32>,
) -> Words {
    let mut out = words(gpu, n)?;
    let op = match op {
        MaskOp::And => 0,
        MaskOp::Or => 1,
        MaskOp::Xor => 2,
        MaskOp::AndNot => 3,
    };
    kernels::mask_combine(gpu, by_words(gpu, n), n, op, a, b, out.view_mut())?;
    Ok(out)
}

pub(in crate::columns) fn not(gpu: &Gpu, n: u32, a: View<'_, u32>) -> Words {
    let mut out = words(gpu, n)?;
    kernels::mask_not(gpu, by_words(gpu, n), n, a, out.view_mut())?;
    Ok(out)
}

pub(in crate::columns) fn count(gpu: &Gpu, n: u32, a: View<'_, u32>) -> Result<u64, DeviceError> {
    let mut out = gpu.zeros::<u64>("a count", 1)?;
    kernels::mask_count(gpu, by_words(gpu, n), n, a, out.view_mut())?;
    let mut count = [0];
    gpu.read_into(out.view(), &mut count)?;
    Ok(count[0])
}

pub(in crate::columns) fn from_bytes(gpu: &Gpu, n: u32, bytes: &[u8]) -> Words {
    let bytes = gpu.upload("a mask's bytes", bytes)?;
    let mut out = words(gpu, n)?;
    let grid = Grid::cover(gpu, (n as usize).div_ceil(32), THREADS);
    kernels::mask_from_bytes(gpu, grid, n, bytes.view(), out.view_mut())?;
    Ok(out)
}

pub(in crate::columns) fn to_bytes(
    gpu: &Gpu,
    n: u32,
    mask: View<'_, u32>,
) -> Result<Vec<u8>, DeviceError> {
    let mut bytes = gpu.alloc::<u8>("a mask's bytes", n as usize)?;
    let grid = Grid::cover(gpu, (n as usize).div_ceil(16), THREADS);
    kernels::mask_to_bytes(gpu, grid, n, mask, bytes.view_mut())?;
    gpu.read(bytes.view())
}

/// The `found` rows of a mask.
pub(in crate::columns) fn compact(
    gpu: &Gpu,
    rows: usize,
    mask: View<'_, u32>,
    found: usize,
) -> Words {
    let mut out = gpu.alloc("rows", found)?;
    let mut count = gpu.alloc("a count", 1)?;
    Compact::new(gpu, rows)?.rows(rows, mask, out.view_mut(), count.view_mut())?;
    Ok(out)
}

pub(in crate::columns) fn scatter(gpu: &Gpu, n: u32, listed: View<'_, u32>) -> Words {
    let mut out = gpu.zeros("a mask", n.div_ceil(32) as usize)?;
    // The list of a column, so below 2^32 rows.
    let count = listed.len() as u32;
    let grid = Grid::cover(gpu, listed.len(), THREADS);
    kernels::mask_scatter(gpu, grid, count, n, listed, out.view_mut())?;
    Ok(out)
}

pub(in crate::columns) fn gather(
    gpu: &Gpu,
    n: u32,
    rows: View<'_, u32>,
    mask: View<'_, u32>,
) -> Words {
    let count = rows.len() as u32;
    let mut out = words(gpu, count)?;
    let grid = Grid::cover(gpu, rows.len(), THREADS);
    kernels::mask_gather(gpu, grid, count, n, rows, mask, out.view_mut())?;
    Ok(out)
}
