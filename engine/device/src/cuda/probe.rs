//! The first questions to the driver. Everything else in this folder is reached through [`driver`],
//! so the library is never called where it is absent or too old.

use std::ffi::c_int;

use cudarc::driver::sys::CUdevice_attribute as Attribute;
use cudarc::driver::{result, sys};

use super::error::{DeviceError, Status};

/// The oldest driver interface that our kernels' PTX and our entry points need, and its release.
const DRIVER_VERSION_MIN: (c_int, &str) = (12_020, "535");

/// What a device says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuInfo {
    /// Its name.
    pub name: String,
    /// Bytes of its memory.
    pub memory_bytes: u64,
    /// Version of the driver's interface, such as `12.4`.
    pub driver: String,
    /// Major and minor compute capability.
    pub compute_capability: (u32, u32),
    /// Multiprocessors.
    pub sm_count: u32,
    /// Bytes of its second-level cache.
    pub l2_bytes: u64,
    /// Threads that one multiprocessor holds at once.
    pub max_threads_per_sm: u32,
}

fn absent(reason: impl Into<String>) -> DeviceError {
    DeviceError::Absent { reason: reason.into() }
}

fn at(step: &str) -> impl Fn(result::DriverError) -> DeviceError + '_ {
    move |e| absent(format!("the CUDA driver answered {step} with {}", Status::from(e.0)))
}

/// Runs `question`, turning the panic of a half-installed driver that lacks a symbol into words.
pub(crate) fn guarded<R>(
    question: impl FnOnce() -> Result<R, DeviceError> + std::panic::UnwindSafe,
) -> Result<R, DeviceError> {
    std::panic::catch_unwind(question).unwrap_or_else(|_| {
        Err(absent("the CUDA driver library could not be used; reinstall the GPU driver"))
    })
}

/// Loads and starts the driver when it is there and new enough. Answers the interface version.
pub(crate) fn driver() -> Result<c_int, DeviceError> {
    // SAFETY: only tries to load the library by its well-known names.
    if !unsafe { sys::is_culib_present() } {
        return Err(absent("no CUDA driver library was found"));
    }
    let mut version = 0;
    // SAFETY: writes one integer through a valid pointer; needs no initialisation.
    unsafe { sys::cuDriverGetVersion(&mut version) }.result().map_err(at("its version"))?;
    accept_version(version)?;
    result::init().map_err(at("initialisation"))?;
    Ok(version)
}

fn accept_version(version: c_int) -> Result<(), DeviceError> {
    let (least, release) = DRIVER_VERSION_MIN;
    if version < least {
        return Err(absent(format!(
            "the CUDA driver is too old ({}); release {release} or newer is needed",
            version_text(version)
        )));
    }
    Ok(())
}

fn version_text(version: c_int) -> String {
    format!("{}.{}", version / 1000, version % 1000 / 10)
}

/// The device numbered `ordinal`.
pub(crate) fn device(ordinal: u32) -> Result<sys::CUdevice, DeviceError> {
    let count = result::device::get_count().map_err(at("counting devices"))?;
    let wanted = c_int::try_from(ordinal).ok().filter(|n| *n < count);
    let Some(wanted) = wanted else {
        return Err(absent(match count {
            0 => "the CUDA driver reports no device".to_owned(),
            n => format!("device {ordinal} was asked for and the driver reports {n}"),
        }));
    };
    result::device::get(wanted).map_err(at("choosing a device"))
}

/// One attribute of a device that [`device`] answered.
pub(crate) fn attribute(device: sys::CUdevice, attribute: Attribute) -> Result<u32, DeviceError> {
    // SAFETY: `device` came from the driver.
    let value = unsafe { result::device::get_attribute(device, attribute) };
    value.map(c_int::unsigned_abs).map_err(at("an attribute"))
}

/// Asks a device about itself.
pub(crate) fn info(device: sys::CUdevice, version: c_int) -> Result<GpuInfo, DeviceError> {
    let ask = |a| attribute(device, a);
    // SAFETY: `device` came from the driver.
    let memory = unsafe { result::device::total_mem(device) }.map_err(at("the memory size"))?;
    Ok(GpuInfo {
        name: result::device::get_name(device).map_err(at("the device's name"))?,
        memory_bytes: memory as u64,
        driver: version_text(version),
        compute_capability: (
            ask(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            ask(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
        sm_count: ask(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?.max(1),
        l2_bytes: u64::from(ask(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?),
        max_threads_per_sm: ask(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?
            .max(1024),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn an_old_driver_is_refused_by_its_release() {
        let refused = accept_version(12_010).unwrap_err().to_string();
        assert!(refused.contains("12.1") && refused.contains("535"), "{refused}");
        assert_eq!(accept_version(12_020), Ok(()));
        assert_eq!(accept_version(13_000), Ok(()));
    }

    #[test]
    fn a_panic_of_the_loader_becomes_words() {
        let answer: Result<(), _> = guarded(|| panic!("Missing symbol cuNothing"));
        assert!(matches!(answer, Err(DeviceError::Absent { reason }) if reason.contains("driver")));
        assert_eq!(guarded(|| Ok(7)), Ok(7));
    }
}
