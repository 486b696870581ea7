//! Choice of the device that computes.

use std::sync::Arc;

use graphlume_device::GpuStatus;
use graphlume_device::cuda::{DeviceError, Gpu, GpuOptions};
use graphlume_engine::GpuChoice;

use super::rejected;
use crate::cli::Backend;
use crate::config::{self, ConfigError};
use crate::failure::Failure;

/// What was chosen, and what is to be said about it once the start has succeeded: the log of a start that failed ends
/// with why.
pub struct Chosen {
    /// For the engine.
    pub gpu: GpuChoice,
    told: Box<dyn FnOnce() + Send>,
}

impl Chosen {
    fn cpu(reason: impl Into<Arc<str>>, told: String) -> Self {
        let told = Box::new(move || tracing::info!("{told}"));
        Self { gpu: GpuChoice::None { reason: reason.into() }, told }
    }

    /// The choice and what says it in the log.
    pub fn split(self) -> (GpuChoice, Box<dyn FnOnce() + Send>) {
        (self.gpu, self.told)
    }
}

/// Opens the GPU when it is wanted, there, and right about a known answer.
///
/// # Errors
/// `cuda` without a usable GPU, and a memory limit that is no size: configuration, exit status 78.
pub fn choose(backend: Backend, memory: Option<&str>) -> Result<Chosen, Failure> {
    if backend == Backend::Cpu {
        let told = "computing on the CPU, as --backend cpu says".to_owned();
        return Ok(Chosen::cpu("the server was started with --backend cpu", told));
    }
    match open(memory).map_err(|e| rejected(&e))? {
        Ok(gpu) => {
            let info = gpu.info().clone();
            let limit_mib = gpu.budget().limit() >> 20;
            let (major, minor) = info.compute_capability;
            let told = Box::new(move || {
                tracing::info!(
                    gpu = %info.name, driver = %info.driver,
                    compute_capability = format!("{major}.{minor}"), memory_limit_mib = limit_mib,
                    "computing large graphs on the GPU"
                );
            });
            Ok(Chosen { gpu: GpuChoice::Use(gpu), told })
        }
        Err(reason) if backend == Backend::Cuda => {
            Err(rejected(&ConfigError::Value(format!("--backend cuda: {reason}"))))
        }
        Err(reason) => {
            let told = format!("computing on the CPU: {reason}");
            Ok(Chosen::cpu(reason, told))
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
    let checked = || {
        let gpu = Gpu::open(&options)?;
        gpu.canary()?;
        // At the start, because the driver compiles the kernels when they are first loaded on a machine, for 5 to 7
        // seconds: a session that had to wait for it was reported as stuck after 2 seconds, and its search for
        // communities ran out of time.
        gpu.load_kernels()?;
        Ok(gpu)
    };
    Ok(checked().map_err(|e: DeviceError| e.to_string()))
}
