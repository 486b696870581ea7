//! Which device computes.

use std::sync::Arc;

use graphlume_device::GpuStatus;
use graphlume_device::cuda::{Gpu, GpuOptions};
use graphlume_engine::GpuChoice;

use super::{Failure, rejected};
use crate::cli::Backend;
use crate::config::{self, ConfigError};

/// Opens the GPU when it is wanted, there, and right about a known answer. Says in the log what was
/// chosen and why.
///
/// # Errors
/// `cuda` without a usable GPU, and a memory limit that is no size: configuration, exit status 78.
pub fn choose(backend: Backend, memory: Option<&str>) -> Result<GpuChoice, Failure> {
    if backend == Backend::Cpu {
        tracing::info!("computing on the CPU, as --backend cpu says");
        let reason = Arc::from("the server was started with --backend cpu");
        return Ok(GpuChoice::None { reason });
    }
    match open(memory).map_err(|e| rejected(&e))? {
        Ok(gpu) => {
            let info = gpu.info();
            let limit_mib = gpu.budget().limit() >> 20;
            let (major, minor) = info.compute_capability;
            tracing::info!(
                gpu = %info.name, driver = %info.driver,
                compute_capability = format!("{major}.{minor}"), memory_limit_mib = limit_mib,
                "computing large graphs on the GPU"
            );
            Ok(GpuChoice::Use(gpu))
        }
        Err(reason) if backend == Backend::Cuda => {
            Err(rejected(&ConfigError::Value(format!("--backend cuda: {reason}"))))
        }
        Err(reason) => {
            tracing::info!("computing on the CPU: {reason}");
            Ok(GpuChoice::None { reason: reason.into() })
        }
    }
}

/// The checked GPU, or why there is none.
fn open(memory: Option<&str>) -> Result<Result<Gpu, String>, ConfigError> {
    let mut options = GpuOptions::default();
    if let Some(text) = memory {
        let total = match graphlume_device::probe_gpu() {
            GpuStatus::Present { memory_bytes, .. } => memory_bytes,
            // The text is checked all the same.
            GpuStatus::Absent { .. } => 1 << 30,
        };
        options.memory_limit = Some(config::size("device-memory", text, total)?);
    }
    let checked = Gpu::open(&options).and_then(|gpu| gpu.canary().map(|()| gpu));
    Ok(checked.map_err(|e| e.to_string()))
}
