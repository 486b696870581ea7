//! The handle.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use bytemuck::Pod;
use cudarc::driver::sys;
use graphlume_types::Budget;

use super::canary::Canary;
use super::context::Context;
use super::error::DeviceError;
use super::health::GpuState;
use super::kernels::FAMILIES;
use super::memory::{Buf, View, ViewMut};
use super::order::Touch;
use super::probe::{self, GpuInfo};
use super::staging;
use super::stream::{DriverCall, Stream};

/// Which device to open and how much of it to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GpuOptions {
    /// The device's number.
    pub ordinal: u32,
    /// Bytes of device memory to use at most; `None` is 90 % of what is free when it is opened.
    pub memory_limit: Option<u64>,
}

/// A handle to a device: its context and a stream, in which everything asked of this handle and its
/// clones is done in order. May be used from any thread. Work is queued, not awaited; only
/// [`Self::read`], [`Self::read_into`], [`Self::sync`] and [`Self::canary`] wait.
#[derive(Clone)]
pub struct Gpu {
    stream: Arc<Stream>,
    pub(crate) shared: Arc<Shared>,
}

/// What the handles of one opened device have in common above the context.
#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) canary: Mutex<Option<Canary>>,
}

impl Gpu {
    /// Opens a device: checks the driver, retains the primary context and measures the memory.
    ///
    /// # Errors
    /// [`DeviceError::Absent`] without a usable driver of release 535 or newer and device, and what
    /// it says when it fails later. Never panics.
    pub fn open(options: &GpuOptions) -> Result<Self, DeviceError> {
        let options = *options;
        probe::guarded(move || {
            let cx = Context::open(&options)?;
            Ok(Self { stream: Stream::new(&cx)?, shared: Arc::default() })
        })
    }

    pub(crate) const fn stream_of(&self) -> &Arc<Stream> {
        &self.stream
    }

    /// What the device says about itself.
    #[must_use]
    pub fn info(&self) -> &GpuInfo {
        &self.stream.cx.info
    }

    /// The ledger of device memory. Every allocation is paid for here first.
    #[must_use]
    pub fn budget(&self) -> &Budget {
        &self.stream.cx.budget
    }

    /// How far the device can be trusted at the moment. Asks nothing of the driver.
    #[must_use]
    pub fn state(&self) -> GpuState {
        self.stream.cx.health.state()
    }

    /// Allocations that the driver refused at first although the budget had granted them: a sign of
    /// fragmentation or of another process on the device.
    #[must_use]
    pub fn driver_refusals(&self) -> u64 {
        self.stream.cx.driver_refusals.load(Ordering::Relaxed)
    }

    /// How often this context launched a kernel, in replays too.
    #[must_use]
    pub fn launches(&self, kernel: &str) -> u64 {
        let known = self.stream.cx.functions.read().unwrap_or_else(PoisonError::into_inner);
        known.get(kernel).map_or(0, |f| f.launches.load(Ordering::Relaxed))
    }

    /// Loads every kernel of this build. Without it each family is loaded when it is first used; a
    /// server does it at its start, so that a driver that cannot compile them shows then, and no
    /// request waits for the compiler. The driver keeps what it compiled in `CUDA_CACHE_PATH`.
    ///
    /// # Errors
    /// [`DeviceError::Module`], [`DeviceError::Lost`].
    pub fn load_kernels(&self) -> Result<(), DeviceError> {
        let mut kernels = FAMILIES.iter().flat_map(|(_, kernels)| kernels.iter());
        kernels.try_for_each(|kernel| self.stream.cx.function(kernel).map(drop))
    }

    /// Loads the kernels of one family. Called before a recording, which must not be the first to use them: a driver
    /// may have to stop the device to load code. One that is loaded costs nothing.
    ///
    /// # Errors
    /// [`DeviceError::Module`] also when there is no such family, [`DeviceError::Lost`].
    pub fn load_family(&self, family: &'static str) -> Result<(), DeviceError> {
        let Some((_, kernels)) = FAMILIES.iter().find(|(name, _)| *name == family) else {
            let log = "this build holds no such kernels".to_owned();
            let status = super::Status::NOT_FOUND;
            return Err(DeviceError::Module { module: family, status, log });
        };
        kernels.iter().try_for_each(|kernel| self.stream.cx.function(kernel).map(drop))
    }

    /// A handle on the same device with a stream of its own, whose work may overlap with that of
    /// others.
    ///
    /// A buffer stays usable from every handle. A call that reads a buffer of another stream waits for what that stream
    /// had queued when the buffer was last written, and not for other readers; what later writes or frees the buffer
    /// waits for the call. A call that writes a buffer of another stream puts the two in order: it waits for all that
    /// the other has queued, and what the other queues later waits for it. So results are right without further care,
    /// streams may share what they read, and overlap is had by letting each write buffers of its own.
    ///
    /// # Errors
    /// [`DeviceError::Lost`], or what the driver says.
    pub fn stream(&self) -> Result<Self, DeviceError> {
        Ok(Self { stream: Stream::new(&self.stream.cx)?, shared: self.shared.clone() })
    }

    /// As [`Self::stream`], sharing the context alone.
    pub(crate) fn detached(&self) -> Result<Self, DeviceError> {
        Ok(Self { stream: Stream::new(&self.stream.cx)?, shared: Arc::default() })
    }

    /// Allocates `len` values for `what`, which messages name. The contents are undefined; no
    /// length is fine too.
    ///
    /// # Errors
    /// [`DeviceError::OutOfMemory`] when it does not fit now, [`DeviceError::TooLarge`] when it
    /// never will, [`DeviceError::Recording`], [`DeviceError::Lost`].
    pub fn alloc<T: Pod>(&self, what: &'static str, len: usize) -> Result<Buf<T>, DeviceError> {
        Buf::new(self, what, len)
    }

    /// As [`Self::alloc`], all bytes zero.
    ///
    /// # Errors
    /// Those of [`Self::alloc`].
    pub fn zeros<T: Pod>(&self, what: &'static str, len: usize) -> Result<Buf<T>, DeviceError> {
        let mut buf = self.alloc(what, len)?;
        self.zero(buf.view_mut())?;
        Ok(buf)
    }

    /// Allocates for `what` and copies `host` there.
    ///
    /// # Errors
    /// Those of [`Self::alloc`].
    pub fn upload<T: Pod>(&self, what: &'static str, host: &[T]) -> Result<Buf<T>, DeviceError> {
        let mut buf = self.alloc(what, host.len())?;
        self.write(buf.view_mut(), host)?;
        Ok(buf)
    }

    /// Copies `host`, of the same length, to the device. `host` is free again when this returns.
    ///
    /// # Errors
    /// [`DeviceError::Length`], [`DeviceError::Recording`], [`DeviceError::Lost`].
    pub fn write<T: Pod>(&self, dst: ViewMut<'_, T>, host: &[T]) -> Result<(), DeviceError> {
        same_length("a write", "the device's side", dst.len(), host.len())?;
        staging::upload(&self.stream, &dst, host)
    }

    /// Makes all bytes zero.
    ///
    /// # Errors
    /// [`DeviceError::Lost`], or what the driver says.
    pub fn zero<T: Pod>(&self, dst: ViewMut<'_, T>) -> Result<(), DeviceError> {
        let view = dst.shared().raw();
        if view.is_empty() {
            return self.stream.cx.health.check();
        }
        self.stream.submit(
            DriverCall::recordable("a fill"),
            &[Touch::writes(view.memory())],
            |raw| {
                // SAFETY: the view's bytes live until the fill is done.
                unsafe { sys::cuMemsetD8Async(view.ptr(), 0, view.len(), raw) }
            },
        )
    }

    /// Copies on the device, between views of the same length.
    ///
    /// # Errors
    /// [`DeviceError::Length`], [`DeviceError::Lost`], or what the driver says.
    pub fn copy<T: Pod>(&self, src: View<'_, T>, dst: ViewMut<'_, T>) -> Result<(), DeviceError> {
        same_length("a copy", "the destination", dst.len(), src.len())?;
        let (from, to) = (src.raw(), dst.shared().raw());
        if from.is_empty() {
            return self.stream.cx.health.check();
        }
        let touched = [Touch::reads(from.memory()), Touch::writes(to.memory())];
        self.stream.submit(DriverCall::recordable("a copy"), &touched, |raw| {
            // SAFETY: both views have this many bytes, which live until the copy is done.
            unsafe { sys::cuMemcpyDtoDAsync_v2(to.ptr(), from.ptr(), from.len(), raw) }
        })
    }

    /// The values, on the host; waits for them.
    ///
    /// # Errors
    /// [`DeviceError::Recording`], [`DeviceError::Lost`], or what the driver says.
    pub fn read<T: Pod>(&self, src: View<'_, T>) -> Result<Vec<T>, DeviceError> {
        self.stream.cx.health.check()?;
        let mut host = vec![T::zeroed(); src.len()];
        self.read_into(src, &mut host)?;
        Ok(host)
    }

    /// As [`Self::read`], into memory of the same length.
    ///
    /// # Errors
    /// Those of [`Self::read`] and [`DeviceError::Length`].
    pub fn read_into<T: Pod>(&self, src: View<'_, T>, host: &mut [T]) -> Result<(), DeviceError> {
        same_length("a read", "the host's side", host.len(), src.len())?;
        staging::download(&self.stream, src, host)
    }

    /// Waits for everything queued on this handle's stream. A failure of it shows here at the
    /// latest.
    ///
    /// # Errors
    /// [`DeviceError::Recording`], [`DeviceError::Lost`], or what the driver says.
    pub fn sync(&self) -> Result<(), DeviceError> {
        self.stream.sync("waiting for the stream")
    }
}

impl std::fmt::Debug for Gpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Gpu({}, {:?})", self.info().name, self.state())
    }
}

fn same_length(
    kernel: &'static str,
    param: &'static str,
    len: usize,
    need: usize,
) -> Result<(), DeviceError> {
    if len == need {
        return Ok(());
    }
    Err(DeviceError::Length { kernel, param, len: len as u64, need: need as u64 })
}
