//! The GPU, looked for at run time: the driver library is loaded only when it is there.

use crate::cuda::{DeviceError, GpuInfo, probe};

/// Whether there is a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GpuStatus {
    /// None that can be used, and why.
    Absent {
        /// In words.
        reason: String,
    },
    /// The first device of the driver.
    Present {
        /// Its name.
        name: String,
        /// Bytes of its memory.
        memory_bytes: u64,
        /// Version of the driver's interface, such as `12.4`.
        driver: String,
        /// Major and minor compute capability.
        compute_capability: (u32, u32),
    },
}

/// Looks for a GPU that our kernels can run on. Never panics, and takes no context: the device
/// stays free for others. Whether a device that is open can be trusted is asked of
/// [`crate::cuda::Gpu::state`] and [`crate::cuda::Gpu::canary`].
#[must_use]
pub fn probe_gpu() -> GpuStatus {
    let asked = probe::guarded(|| {
        let version = probe::driver()?;
        probe::info(probe::device(0)?, version)
    });
    status(asked)
}

fn status(asked: Result<GpuInfo, DeviceError>) -> GpuStatus {
    match asked {
        Ok(info) => GpuStatus::Present {
            name: info.name,
            memory_bytes: info.memory_bytes,
            driver: info.driver,
            compute_capability: info.compute_capability,
        },
        Err(DeviceError::Absent { reason }) => GpuStatus::Absent { reason },
        Err(other) => GpuStatus::Absent { reason: other.to_string() },
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_answers_with_or_without_a_driver() {
        match probe_gpu() {
            GpuStatus::Absent { reason } => assert!(!reason.is_empty()),
            GpuStatus::Present { name, memory_bytes, .. } => {
                assert!(!name.is_empty() && memory_bytes > 0);
            }
        }
        assert_eq!(probe_gpu(), probe_gpu());
    }

    #[test]
    fn the_reason_is_told_once() {
        let absent = DeviceError::Absent { reason: "no driver".to_owned() };
        assert_eq!(status(Err(absent)), GpuStatus::Absent { reason: "no driver".to_owned() });
    }
}
