//! Reductions, histograms and segments on the GPU.

use super::super::DType;
use super::super::reduce::Seen;
use super::THREADS;
use crate::cuda::primitives::parts;
use crate::cuda::{Buf, DeviceError, Gpu, Grid, View, kernels};

type Select<'a> = Option<View<'a, u32>>;

/// The flag and the pointer of a selection; without one the pointer is that of anything.
fn selection<'a>(select: Select<'a>, anything: View<'a, u32>) -> (u32, View<'a, u32>) {
    (u32::from(select.is_some()), select.unwrap_or(anything))
}

pub(in crate::columns) fn seen(
    gpu: &Gpu,
    rows: usize,
    dtype: DType,
    cells: View<'_, u32>,
    select: Select<'_>,
) -> Result<Seen, DeviceError> {
    let n = rows as u32;
    let parts = parts(n);
    let (has_select, select) = selection(select, cells);
    let mut out = gpu.alloc::<u64>("partial results", 5 * parts as usize)?;
    let grid = Grid::blocks(parts, THREADS);
    let number = dtype.number();
    kernels::col_reduce(gpu, grid, n, parts, number, has_select, cells, select, out.view_mut())?;
    let partial = gpu.read(out.view())?;
    let parts = parts as usize;
    let row = |r: usize, p: usize| partial[r * parts + p];
    Ok((0..parts).fold(Seen::none(dtype), |seen, p| {
        let count = row(0, p);
        seen.join(match dtype.is_float() {
            true => Seen::Float {
                count,
                sum: f64::from_bits(row(1, p)),
                least: f64::from_bits(row(3, p)),
                greatest: f64::from_bits(row(4, p)),
            },
            false => Seen::Int {
                count,
                sum: (i128::from(row(2, p) as i64) << 32) + i128::from(row(1, p)),
                least: row(3, p) as i64,
                greatest: row(4, p) as i64,
            },
        })
    }))
}

pub(in crate::columns) fn histogram_codes(
    gpu: &Gpu,
    bins: u32,
    codes: View<'_, u32>,
    select: Select<'_>,
) -> Result<Vec<u32>, DeviceError> {
    let n = codes.len() as u32;
    let (has_select, select) = selection(select, codes);
    let mut out = gpu.zeros::<u32>("a histogram", bins as usize)?;
    let grid = by_four(gpu, codes.len());
    kernels::col_hist_codes(gpu, grid, n, bins, has_select, codes, select, out.view_mut())?;
    gpu.read(out.view())
}

/// Equal bins over a range of a column's values.
#[derive(Clone, Copy)]
pub(in crate::columns) struct Bins {
    pub count: u32,
    pub low: f64,
    pub high: f64,
    /// Bins for each unit of the range.
    pub scale: f64,
}

pub(in crate::columns) fn histogram_range(
    gpu: &Gpu,
    rows: usize,
    dtype: DType,
    bins: Bins,
    cells: View<'_, u32>,
    select: Select<'_>,
) -> Result<Vec<u32>, DeviceError> {
    let Bins { count, low, high, scale } = bins;
    let (has_select, select) = selection(select, cells);
    let mut out = gpu.zeros::<u32>("a histogram", count as usize)?;
    kernels::col_hist_range(
        gpu,
        by_four(gpu, rows),
        rows as u32,
        count,
        dtype.number(),
        has_select,
        low,
        high,
        scale,
        cells,
        select,
        out.view_mut(),
    )?;
    gpu.read(out.view())
}

/// A thread for at least four rows: blocks of few rows would only move counters.
fn by_four(gpu: &Gpu, rows: usize) -> Grid {
    let grid = Grid::cover(gpu, rows.div_ceil(16), THREADS);
    let resident = gpu.info().sm_count.saturating_mul(gpu.info().max_threads_per_sm / THREADS);
    Grid::blocks(grid.blocks.min(resident.max(1)), THREADS)
}

/// Lanes of a segment: the power of two next to the mean length.
fn lanes(rows: usize, cells: usize) -> u32 {
    let mean = cells.div_ceil(rows.max(1)).clamp(1, 32);
    mean.next_power_of_two() as u32
}

pub(in crate::columns) struct Segments<'a> {
    pub offsets: View<'a, u32>,
    pub dtype: DType,
    /// Number of cells.
    pub len: usize,
    pub cells: View<'a, u32>,
    pub select: Select<'a>,
}

impl Segments<'_> {
    fn grid(&self, gpu: &Gpu) -> (u32, u32, u32, Grid) {
        let rows = self.offsets.len() - 1;
        let lanes = lanes(rows, self.len);
        (
            rows as u32,
            self.len as u32,
            lanes,
            Grid::cover(gpu, rows.saturating_mul(lanes as usize), THREADS),
        )
    }

    pub fn sums(&self, gpu: &Gpu) -> Result<Buf<u64>, DeviceError> {
        let (rows, len, lanes, grid) = self.grid(gpu);
        let (has_select, select) = selection(self.select, self.cells);
        let (dtype, offsets, cells) = (self.dtype.number(), self.offsets, self.cells);
        let mut out = gpu.alloc("segment sums", rows as usize)?;
        let to = out.view_mut();
        kernels::col_segment_sum(
            gpu, grid, rows, len, lanes, dtype, has_select, offsets, cells, select, to,
        )?;
        Ok(out)
    }

    pub fn ends(&self, gpu: &Gpu) -> Result<(Buf<u64>, Buf<u64>), DeviceError> {
        let (rows, len, lanes, grid) = self.grid(gpu);
        let (has_select, select) = selection(self.select, self.cells);
        let (dtype, offsets, cells) = (self.dtype.number(), self.offsets, self.cells);
        let mut least = gpu.alloc("segment ends", rows as usize)?;
        let mut most = gpu.alloc("segment ends", rows as usize)?;
        let (low, high) = (least.view_mut(), most.view_mut());
        kernels::col_segment_ends(
            gpu, grid, rows, len, lanes, dtype, has_select, offsets, cells, select, low, high,
        )?;
        Ok((least, most))
    }
}
