//! `graphlume doctor`.

use graphlume_device::GpuStatus;
use graphlume_device::cuda::{Gpu, GpuOptions};
use graphlume_service::command::Command;
use graphlume_types::limits;

use super::user::{on_existing, println_result as line};
use crate::cli::{DoctorArgs, VERSION};
use crate::failure::Failure;

const GIB: f64 = (1u64 << 30) as f64;

/// Says how things stand and what to do about them; fails when something needs attention.
pub fn run(args: &DoctorArgs) -> Result<(), Failure> {
    if args.accept_clock {
        return on_existing(&args.data.data, Command::AcceptClock);
    }
    if args.confirm_accounts {
        return on_existing(&args.data.data, Command::ConfirmAccounts);
    }
    if let Some(what) = &args.delete {
        return on_existing(&args.data.data, Command::DeleteDamaged { what: what.clone() });
    }
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
    let is_empty = std::fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_none());
    if is_empty || !dir.exists() {
        let state = if is_empty { "is empty" } else { "does not exist yet" };
        line(&format!("data folder  {} {state}; `graphlume serve` makes one there", dir.display()));
        return Ok(());
    }
    on_existing(dir, Command::Doctor)
}
