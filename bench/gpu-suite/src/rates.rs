//! Rates of the card: bandwidth, reads at random, launches, and copies to and from the host.

use std::time::Instant;

use graphlume_device::columns::{Cells, Device};
use graphlume_device::cuda::Gpu;
use graphlume_types::CancelToken;
use graphlume_types::hash::h64;
use serde_json::json;

use crate::error::SuiteError;
use crate::rows::{Out, REPEATS, Row, time};

/// Launches of one recorded sequence, or queued one by one.
const LAUNCHES: usize = 256;

pub(crate) fn measure(gpu: &Gpu, small: bool, out: &mut Out) {
    let bytes: usize = if small { 1 << 16 } else { 1 << 30 };
    out.row("rate", "copy", |row| {
        let from = gpu.zeros::<u8>("a probe", bytes)?;
        let mut to = gpu.zeros::<u8>("a probe", bytes)?;
        let ((), times) = time(gpu, REPEATS, || Ok(gpu.copy(from.view(), to.view_mut())?))?;
        Ok(row.timed(times, 2.0 * bytes as f64, "bytes"))
    });
    // A table that fits the second-level cache, and one that does not.
    for cells in if small { [1 << 8, 1 << 10] } else { [1 << 22, 1 << 28] } {
        out.row("rate", &format!("gather from {} bytes", 4_u64 * cells), |row| {
            gather(gpu, row, cells, if small { 1 << 10 } else { 1 << 26 })
        });
    }
    out.row("rate", "launch in a recording", |row| {
        let mut cell = gpu.zeros::<u32>("a probe", 1)?;
        let replay = gpu.capture(|| (0..LAUNCHES).try_for_each(|_| gpu.zero(cell.view_mut())))?;
        let ((), times) = time(gpu, REPEATS, || Ok(replay.launch()?))?;
        Ok(row.timed(times, LAUNCHES as f64, "launches"))
    });
    out.row("rate", "launch", |row| {
        let mut cell = gpu.zeros::<u32>("a probe", 1)?;
        let one_by_one = || Ok((0..LAUNCHES).try_for_each(|_| gpu.zero(cell.view_mut()))?);
        let ((), times) = time(gpu, REPEATS, one_by_one)?;
        Ok(row.timed(times, LAUNCHES as f64, "launches"))
    });
    out.row("rate", "read back 4 bytes", |row| {
        let cell = gpu.zeros::<u32>("a probe", 1)?;
        let read = || Ok((0..16).try_for_each(|_| gpu.read(cell.view()).map(drop))?);
        let ((), times) = time(gpu, REPEATS, read)?;
        Ok(row.timed(times, 16.0, "reads"))
    });
    out.row("rate", "upload and download", |row| transfer(gpu, row, bytes / 4));
}

fn gather(gpu: &Gpu, row: Row, cells: u64, reads: u64) -> Result<Row, SuiteError> {
    let device = Device::Cuda(gpu.clone());
    let table: Vec<u32> = (0..cells as u32).collect();
    let places: Vec<u32> = (0..reads).map(|i| (h64(3, 91, i) % cells) as u32).collect();
    let table = device.upload(Cells::U32(&table), None)?;
    let places = device.upload(Cells::U32(&places), None)?;
    let (_, times) =
        time(gpu, REPEATS, || Ok(device.gather(&table, &places, &CancelToken::new())?))?;
    Ok(row.timed(times, reads as f64, "cells"))
}

/// Both ways through pinned blocks, as results and graphs go.
fn transfer(gpu: &Gpu, row: Row, bytes: usize) -> Result<Row, SuiteError> {
    let host: Vec<u8> = (0..bytes).map(|i| i as u8).collect();
    let mut there = gpu.zeros::<u8>("a probe", bytes)?;
    gpu.write(there.view_mut(), &host)?;
    gpu.sync()?;
    let begin = Instant::now();
    gpu.write(there.view_mut(), &host)?;
    gpu.sync()?;
    let up = begin.elapsed().as_secs_f64();
    let begin = Instant::now();
    let back = gpu.read(there.view())?;
    let down = begin.elapsed().as_secs_f64();
    Ok(row
        .with("upload_bytes_per_s", json!(bytes as f64 / up))
        .with("download_bytes_per_s", json!(bytes as f64 / down))
        .equal(back == host))
}
