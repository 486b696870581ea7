//! `graphlume doctor`.

use std::sync::Arc;

use graphlume_device::GpuStatus;
use graphlume_device::cuda::{Gpu, GpuOptions};
use graphlume_storage::{Options, Store};
use graphlume_types::{SystemClock, limits};

use super::user::println_result as line;
use super::{Failure, failure};
use crate::cli::{DoctorArgs, VERSION};

const GIB: f64 = (1u64 << 30) as f64;

/// Says how things stand and what to do about them; fails when something needs attention.
pub fn run(args: &DoctorArgs) -> Result<(), Failure> {
    line(&format!("version      {VERSION}"));
    let cpu = graphlume_device::cpu_features();
    line(&format!("cpu          {} threads, {}", cpu.threads, cpu.simd()));
    match graphlume_device::memory() {
        Some(m) => line(&format!(
            "memory       {:.1} GiB, {:.1} GiB available",
            m.total_bytes as f64 / GIB,
            m.available_bytes as f64 / GIB
        )),
        None => line("memory       the system does not tell how much there is"),
    }
    match graphlume_device::probe_gpu() {
        GpuStatus::Absent { reason } => line(&format!("gpu          absent: {reason}")),
        GpuStatus::Present { name, memory_bytes, driver, .. } => {
            let gib = memory_bytes as f64 / GIB;
            line(&format!("gpu          {name}, {gib:.1} GiB, driver {driver}"));
            let checked = Gpu::open(&GpuOptions::default()).and_then(|gpu| gpu.canary());
            match checked {
                Ok(()) => line("             its kernels load and compute a known answer"),
                Err(e) => line(&format!("             not usable, so the CPU computes: {e}")),
            }
        }
    }
    line(&format!(
        "limits       upload {} GiB, {} rows, {} columns, {} nodes, {} edges",
        limits::UPLOAD_BYTES_MAX >> 30,
        limits::ROWS_MAX,
        limits::COLUMNS_MAX,
        limits::NODES_MAX,
        limits::EDGES_MAX
    ));
    let dir = &args.data.data;
    if !dir.exists() {
        line(&format!(
            "data folder  {} does not exist yet; `graphlume serve` makes it",
            dir.display()
        ));
        return Ok(());
    }
    let store = Store::open(dir, Options::with_clock(Arc::new(SystemClock)).existing())?;
    let report = store.fsck(true)?;
    line(&format!(
        "data folder  {}: {} records, {} files, {} derived tables to be made again",
        dir.display(),
        report.records,
        report.blobs,
        report.derived_missing
    ));
    for problem in &report.problems {
        line(&format!("problem      {}: {}", problem.what, problem.detail));
    }
    if report.problems.is_empty() {
        return Ok(());
    }
    Err(failure(
        "the data folder needs attention: restore the named objects from a backup, or delete them",
    ))
}
