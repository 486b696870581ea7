//! Errors between this process and the device.

use cudarc::driver::sys;
use graphlume_types::{Code, Coded};

/// An answer of the CUDA driver, by its number: a newer driver may know more codes than we do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Status(u32);

impl Status {
    pub(crate) const OUT_OF_MEMORY: Self = Self(2);
    pub(crate) const INVALID_PTX: Self = Self(218);
    pub(crate) const NOT_FOUND: Self = Self(500);
    pub(crate) const NOT_READY: Self = Self(600);

    /// The number the driver answered.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// Whether the call was done.
    #[must_use]
    pub const fn is_success(self) -> bool {
        self.0 == 0
    }

    /// Whether every later call on the context will fail too, so that only a new process helps.
    #[must_use]
    pub const fn is_sticky(self) -> bool {
        let listed = matches!(self.0, 4 | 46 | 214 | 220 | 226 | 700 | 702 | 709 | 710 | 721);
        listed || matches!(self.0, 714..=719 | 806 | 810 | 911 | 999)
    }

    const fn name(self) -> &'static str {
        match self.0 {
            0 => "success",
            1 => "invalid value",
            2 => "out of memory",
            3 => "not initialised",
            4 => "driver shutting down",
            35 => "insufficient driver",
            46 => "device unavailable",
            100 => "no device",
            101 => "invalid device",
            201 => "invalid context",
            209 => "no binary for this GPU",
            214 => "uncorrectable memory error",
            218 => "invalid PTX",
            220 => "uncorrectable link error",
            221 => "compiler library not found",
            222 => "unsupported PTX version",
            226 => "contained memory error",
            400 => "invalid handle",
            401 => "illegal state",
            500 => "not found",
            600 => "not ready",
            700 => "illegal address",
            701 => "launch out of resources",
            702 => "launch timeout",
            709 => "context destroyed",
            710 => "assertion in a kernel",
            714 => "hardware stack error",
            715 => "illegal instruction",
            716 => "misaligned address",
            717 => "invalid address space",
            718 => "invalid program counter",
            719 => "launch failure",
            721 => "tensor memory leak",
            800 => "not permitted",
            801 => "not supported",
            802 => "system not ready",
            803 => "driver and library mismatch",
            806 | 810 => "compute service gone",
            900..=908 => "stream capture violated",
            911 => "external device failure",
            999 => "unknown failure",
            _ => "unlisted code",
        }
    }
}

impl From<sys::CUresult> for Status {
    fn from(result: sys::CUresult) -> Self {
        Self(result as u32)
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CUDA error {} ({})", self.0, self.name())
    }
}

impl std::fmt::Debug for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// Why the device did not do what was asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// There is no GPU that can be used.
    #[error("no usable GPU: {reason}")]
    Absent {
        /// In words.
        reason: String,
    },
    /// The memory is in use at the moment; freeing some and asking again may succeed.
    #[error(
        "device memory: {what} needs {need} bytes, {free} bytes are free of {limit}; close other \
         graphs or wait"
    )]
    OutOfMemory {
        /// What the memory was for.
        what: &'static str,
        /// Bytes asked for.
        need: u64,
        /// Bytes free at that moment.
        free: u64,
        /// Bytes that this process may use in all.
        limit: u64,
    },
    /// More than even an empty device could hold.
    #[error(
        "device memory: {what} needs {need} bytes and the limit is {limit}; use a larger device, \
         raise the limit, or compute on the CPU"
    )]
    TooLarge {
        /// What the memory was for.
        what: &'static str,
        /// Bytes asked for.
        need: u64,
        /// Bytes that this process may use in all.
        limit: u64,
    },
    /// The context is dead; only a new process gets the device back.
    #[error("the GPU was lost: {reason}; restart the server")]
    Lost {
        /// The first failure that condemned it.
        reason: String,
    },
    /// A kernel was not accepted.
    #[error("kernel {kernel} was not launched ({blocks} blocks of {threads} threads): {status}")]
    Launch {
        /// Its name.
        kernel: &'static str,
        /// Blocks of the grid.
        blocks: u32,
        /// Threads of a block.
        threads: u32,
        /// What the driver said.
        status: Status,
    },
    /// A grid that a kernel is not made for.
    #[error(
        "kernel {kernel} cannot run in {blocks} blocks of {threads} threads; use 1 or more blocks \
         of a multiple of 32 up to {threads_max} threads"
    )]
    Grid {
        /// Its name.
        kernel: &'static str,
        /// Blocks asked for.
        blocks: u32,
        /// Threads of a block asked for.
        threads: u32,
        /// The most threads that a block of this kernel may have.
        threads_max: u32,
    },
    /// A buffer is shorter than a kernel or a copy needs.
    #[error("{kernel}: {param} holds {len} values and needs {need}")]
    Length {
        /// The kernel or the copy.
        kernel: &'static str,
        /// Which of its parameters.
        param: &'static str,
        /// Values it holds.
        len: u64,
        /// Values it needs.
        need: u64,
    },
    /// The driver did not compile a family of kernels for this device.
    #[error("kernels {module} do not load on this GPU: {status}; {log}; update the GPU driver")]
    Module {
        /// The family.
        module: &'static str,
        /// What the driver said.
        status: Status,
        /// What its compiler wrote, shortened.
        log: String,
    },
    /// A call that cannot be part of a recording was made while the stream records, or another
    /// thread used a recording stream.
    #[error("{step} is not possible while the stream records a replay; do it before or after")]
    Recording {
        /// The refused call.
        step: &'static str,
    },
    /// A buffer of one device was handed to another.
    #[error("{step}: a buffer belongs to another device; copy it through the host")]
    OtherDevice {
        /// The refused call.
        step: &'static str,
    },
    /// The device did not answer in time; it is busy, or a kernel runs away.
    #[error("the GPU did not finish {step} within {millis} ms; it is busy, try again")]
    Timeout {
        /// What was waited for.
        step: &'static str,
        /// How long.
        millis: u64,
    },
    /// The known-answer kernel answered wrongly.
    #[error(
        "the GPU computed a wrong canary: {got:#010x} instead of {want:#010x}; check the device's \
         memory and temperature"
    )]
    Canary {
        /// What the device computed.
        got: u32,
        /// The right answer.
        want: u32,
    },
    /// The driver refused a call.
    #[error("the CUDA driver answered {step} with {code}")]
    Driver {
        /// The refused call.
        step: &'static str,
        /// What the driver said.
        code: Status,
    },
}

impl Coded for DeviceError {
    fn code(&self) -> Code {
        match self {
            Self::Absent { .. } | Self::Lost { .. } | Self::Canary { .. } => Code::Unavailable,
            Self::OutOfMemory { .. } => Code::DeviceMemory,
            Self::Timeout { .. } => Code::DeadlineExceeded,
            Self::TooLarge { .. } => Code::TooLarge,
            Self::Module { .. } => Code::Unsupported,
            Self::Launch { .. }
            | Self::Grid { .. }
            | Self::Length { .. }
            | Self::Recording { .. }
            | Self::OtherDevice { .. }
            | Self::Driver { .. } => Code::Internal,
        }
    }

    fn slug(&self) -> &'static str {
        match self {
            Self::Absent { .. } => "gpu-absent",
            Self::OutOfMemory { .. } => "device-memory",
            Self::TooLarge { .. } => "device-too-small",
            Self::Lost { .. } => "gpu-lost",
            Self::Launch { .. } => "gpu-launch",
            Self::Grid { .. } => "gpu-grid",
            Self::Length { .. } => "gpu-length",
            Self::Module { .. } => "gpu-kernels-unsupported",
            Self::Recording { .. } => "gpu-recording",
            Self::OtherDevice { .. } => "gpu-other-device",
            Self::Timeout { .. } => "gpu-timeout",
            Self::Canary { .. } => "gpu-canary",
            Self::Driver { .. } => "gpu-driver",
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn a_full_device_is_not_a_lost_one() {
        assert!(!Status::OUT_OF_MEMORY.is_sticky() && !Status::NOT_READY.is_sticky());
        for number in [700, 702, 719, 999] {
            assert!(Status(number).is_sticky(), "{number}");
        }
        assert!(Status(0).is_success() && !Status(0).is_sticky());
        assert_eq!(Status::from(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY), Status::OUT_OF_MEMORY);
        assert_eq!(Status::from(sys::CUresult::CUDA_ERROR_NOT_READY), Status::NOT_READY);
    }

    #[test]
    fn messages_name_the_thing_the_value_and_the_remedy() {
        let full = DeviceError::OutOfMemory { what: "ranks", need: 8, free: 4, limit: 16 };
        assert_eq!((full.code(), full.slug()), (Code::DeviceMemory, "device-memory"));
        assert!(full.to_string().contains("ranks needs 8 bytes, 4 bytes are free of 16"));
        let status = Status(701);
        let launch = DeviceError::Launch { kernel: "pr_pull", blocks: 2, threads: 64, status };
        assert!(launch.to_string().contains("pr_pull") && launch.to_string().contains("701"));
        assert_eq!(Status(12_345).to_string(), "CUDA error 12345 (unlisted code)");
    }
}
