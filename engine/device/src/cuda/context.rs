//! The primary context of a device: its memory pool, its budget, its state and its loaded kernels.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};

use cudarc::driver::sys::CUdevice_attribute as Attribute;
use cudarc::driver::{result, sys};
use graphlume_types::Budget;

use super::GpuOptions;
use super::error::{DeviceError, Status};
use super::health::Health;
use super::module::{Function, Modules};
use super::probe::{self, GpuInfo};
use super::staging::Staging;

/// Part of the free memory that a context takes as its limit when none is given, in percent. The
/// rest is for the driver's own needs: code, stacks and the contexts of other processes.
const LIMIT_PERCENT: u64 = 90;

/// Numbers contexts, so that a thread can tell whether the one it used last is this one: the driver
/// may answer the same handle again after a context was given back.
static CONTEXTS: AtomicU64 = AtomicU64::new(1);

thread_local! {
    static CURRENT: Cell<u64> = const { Cell::new(0) };
}

/// One retained primary context. Everything made in it holds an `Arc` of it.
pub(crate) struct Context {
    number: u64,
    device: sys::CUdevice,
    raw: sys::CUcontext,
    /// Absent on devices without stream-ordered allocation.
    pub(crate) pool: Option<sys::CUmemoryPool>,
    pub(crate) info: GpuInfo,
    pub(crate) budget: Budget,
    pub(crate) health: Health,
    pub(crate) staging: Staging,
    pub(crate) modules: Mutex<Modules>,
    pub(crate) functions: RwLock<HashMap<&'static str, Arc<Function>>>,
    /// Allocations that the driver refused although the budget had granted them.
    pub(crate) driver_refusals: AtomicU64,
}

// SAFETY: the driver's handles may be used from any thread on which the context is current, and
// `enter` makes it current before each use.
unsafe impl Send for Context {}
// SAFETY: as above; the driver serialises calls on one context.
unsafe impl Sync for Context {}

impl Context {
    /// Retains the primary context of a device. Call inside [`probe::guarded`].
    pub(crate) fn open(options: &GpuOptions) -> Result<Arc<Self>, DeviceError> {
        let version = probe::driver()?;
        let device = probe::device(options.ordinal)?;
        let info = probe::info(device, version)?;
        let pooled =
            probe::attribute(device, Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)? != 0;
        // SAFETY: `device` came from the driver; given back in `drop`.
        let raw = unsafe { result::primary_ctx::retain(device) }.map_err(|e| {
            let status = Status::from(e.0);
            DeviceError::Absent { reason: format!("its context could not be opened: {status}") }
        })?;
        let mut context = Self {
            number: CONTEXTS.fetch_add(1, Ordering::Relaxed),
            device,
            raw,
            pool: None,
            info,
            budget: Budget::new("GPU", 0),
            health: Health::new(),
            staging: Staging::new(),
            modules: Mutex::new(Modules::default()),
            functions: RwLock::new(HashMap::new()),
            driver_refusals: AtomicU64::new(0),
        };
        context.enter()?;
        if pooled {
            context.pool = Some(context.keep_freed_memory()?);
        }
        let (free, total) = context.free_and_total()?;
        let limit = options.memory_limit.unwrap_or(free / 100 * LIMIT_PERCENT).min(total);
        context.budget = Budget::new("GPU", limit);
        Ok(Arc::new(context))
    }

    /// Makes the device's pool keep what is freed: by default it hands memory back at each wait and
    /// the next allocation pays for it again.
    fn keep_freed_memory(&self) -> Result<sys::CUmemoryPool, DeviceError> {
        let mut pool = std::ptr::null_mut();
        // SAFETY: writes one handle; `device` came from the driver.
        let got = unsafe { sys::cuDeviceGetDefaultMemPool(&mut pool, self.device) };
        self.check("the memory pool", got)?;
        let mut threshold = u64::MAX;
        let attribute = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        // SAFETY: the attribute is a 64-bit number, read through a valid pointer.
        let set =
            unsafe { sys::cuMemPoolSetAttribute(pool, attribute, (&raw mut threshold).cast()) };
        self.check("the pool's threshold", set)?;
        Ok(pool)
    }

    /// Makes the context current on this thread; answers `Lost` without a call once it is.
    pub(crate) fn enter(&self) -> Result<(), DeviceError> {
        self.health.check()?;
        if CURRENT.get() != self.number {
            // SAFETY: the context is retained as long as `self` lives.
            let set = unsafe { sys::cuCtxSetCurrent(self.raw) };
            self.check("entering the context", set)?;
            CURRENT.set(self.number);
        }
        Ok(())
    }

    /// Judges an answer of the driver: one that every later call would repeat condemns the context.
    pub(crate) fn check(
        &self,
        step: &'static str,
        result: sys::CUresult,
    ) -> Result<(), DeviceError> {
        self.judge(step, None, result.into())
    }

    /// As [`Self::check`], naming the kernel that was launched last: an asynchronous failure shows
    /// up at a later call.
    pub(crate) fn judge(
        &self,
        step: &'static str,
        kernel: Option<&'static str>,
        status: Status,
    ) -> Result<(), DeviceError> {
        if status.is_success() {
            return Ok(());
        }
        if !status.is_sticky() {
            return Err(DeviceError::Driver { step, code: status });
        }
        let after = kernel.map_or(String::new(), |k| format!("; the last kernel was {k}"));
        Err(self.health.lose(format!("{step} answered {status}{after}")))
    }

    /// Free and total bytes of the device as the driver sees them, other processes included.
    pub(crate) fn free_and_total(&self) -> Result<(u64, u64), DeviceError> {
        self.enter()?;
        let (mut free, mut total) = (0, 0);
        // SAFETY: writes two sizes through valid pointers.
        let got = unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) };
        self.check("the free memory", got)?;
        Ok((free as u64, total as u64))
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // A lost context answers every call with its failure; the process is about to end.
        if self.enter().is_err() {
            return;
        }
        self.staging.free(self);
        let modules = std::mem::replace(&mut self.modules, Mutex::new(Modules::default()));
        for module in modules.into_inner().unwrap_or_else(|e| e.into_inner()).into_handles() {
            // SAFETY: loaded in this context and not used again: no function outlives it.
            unsafe { sys::cuModuleUnload(module) };
        }
        // SAFETY: pairs with `retain` in `open`; streams and memory are gone, for they hold this
        // context.
        unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device) };
    }
}
