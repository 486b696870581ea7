//! Filter programs on the GPU.

use super::super::program::{COLUMNS, Program};
use super::THREADS;
use crate::cuda::{Buf, DeviceError, Gpu, Grid, View, kernels};

/// Rows that a warp takes at a time.
const GROUP: usize = 1024;

/// Cells and validity of a column.
#[derive(Clone, Copy)]
pub(in crate::columns) struct Source<'a> {
    pub cells: View<'a, u32>,
    pub valid: Option<View<'a, u32>>,
}

/// The rows for which the program's result is true. Every source has as many cells as there are
/// rows.
pub(in crate::columns) fn run(
    gpu: &Gpu,
    n: u32,
    program: &Program,
    sources: &[Source<'_>],
) -> Result<Buf<u32>, DeviceError> {
    let mut out = gpu.alloc("a mask", n.div_ceil(32) as usize)?;
    let steps = program.steps.len() as u32;
    let program = gpu.upload("a filter", &program.words())?;
    // The pointers of columns that the program does not have are not read.
    let mut cells = [program.view(); COLUMNS];
    let mut valid = cells;
    for (k, source) in sources.iter().enumerate().take(COLUMNS) {
        cells[k] = source.cells;
        valid[k] = source.valid.unwrap_or(source.cells);
    }
    let grid = Grid::warps(gpu, (n as usize).div_ceil(GROUP), THREADS);
    let [c0, c1, c2, c3, c4, c5, c6, c7] = cells;
    let [v0, v1, v2, v3, v4, v5, v6, v7] = valid;
    kernels::col_filter(
        gpu,
        grid,
        n,
        steps,
        program.view(),
        c0,
        c1,
        c2,
        c3,
        c4,
        c5,
        c6,
        c7,
        v0,
        v1,
        v2,
        v3,
        v4,
        v5,
        v6,
        v7,
        out.view_mut(),
    )?;
    Ok(out)
}
