//! The GPU, looked for at run time: the driver library is loaded only when it is there.

use cudarc::driver::{result, sys};
use graphlume_types::{Code, Coded};

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

/// Why a probe ended early.
#[derive(Debug, thiserror::Error)]
enum ProbeError {
    #[error("no CUDA driver library was found")]
    NoDriver,
    #[error("the CUDA driver answered {step} with {code:?}")]
    Driver { step: &'static str, code: sys::CUresult },
    #[error("the CUDA driver reports no device")]
    NoDevice,
}

impl Coded for ProbeError {
    fn code(&self) -> Code {
        Code::Unavailable
    }

    fn slug(&self) -> &'static str {
        "gpu-absent"
    }
}

/// Looks for a GPU. Never panics, and takes no context: the device stays free for others.
#[must_use]
pub fn probe_gpu() -> GpuStatus {
    // A driver that is half installed may lack symbols, on which the loader panics.
    let probed = std::panic::catch_unwind(probe);
    match probed {
        Ok(Ok(status)) => status,
        Ok(Err(e)) => GpuStatus::Absent { reason: e.to_string() },
        Err(_) => {
            GpuStatus::Absent { reason: "the CUDA driver library could not be used".to_owned() }
        }
    }
}

fn probe() -> Result<GpuStatus, ProbeError> {
    // SAFETY: only tries to load the library by its well-known names.
    if !unsafe { sys::is_culib_present() } {
        return Err(ProbeError::NoDriver);
    }
    let at = |step| move |e: result::DriverError| ProbeError::Driver { step, code: e.0 };
    result::init().map_err(at("initialisation"))?;
    if result::device::get_count().map_err(at("counting devices"))? < 1 {
        return Err(ProbeError::NoDevice);
    }
    let device = result::device::get(0).map_err(at("choosing a device"))?;
    let name = result::device::get_name(device).map_err(at("the device's name"))?;
    use sys::CUdevice_attribute_enum as A;
    let attribute = |a| {
        // SAFETY: `device` came from the driver a moment ago.
        unsafe { result::device::get_attribute(device, a) }.map_err(at("an attribute"))
    };
    let major = attribute(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
    let minor = attribute(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
    // SAFETY: as above.
    let memory = unsafe { result::device::total_mem(device) }.map_err(at("the memory size"))?;
    let mut version = 0;
    // SAFETY: writes one integer through a valid pointer.
    unsafe { sys::cuDriverGetVersion(&mut version) }
        .result()
        .map_err(at("the driver's version"))?;
    Ok(GpuStatus::Present {
        name,
        memory_bytes: memory as u64,
        driver: format!("{}.{}", version / 1000, version % 1000 / 10),
        compute_capability: (major.unsigned_abs(), minor.unsigned_abs()),
    })
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
                assert!(!name.is_empty() && memory_bytes > 0)
            }
        }
        assert_eq!(probe_gpu(), probe_gpu());
    }

    #[test]
    fn reasons_are_words() {
        assert!(ProbeError::NoDriver.to_string().contains("driver"));
        assert_eq!(
            (ProbeError::NoDevice.code(), ProbeError::NoDevice.slug()),
            (Code::Unavailable, "gpu-absent")
        );
    }
}
