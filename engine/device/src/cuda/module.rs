//! Kernels, loaded one family at a time when one of its kernels is first launched: the driver
//! compiles the PTX then, or finds it in its cache.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_uint, c_void};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, PoisonError};

use cudarc::driver::sys;
use cudarc::driver::sys::CUjit_option as Option_;

use super::context::Context;
use super::error::{DeviceError, Status};
use super::launch::Kernel;
use super::lock;

/// Room for what the driver's compiler writes when it fails.
const LOG_BYTES: usize = 8 << 10;
/// How much of it a message carries.
const LOG_CHARS_MAX: usize = 400;

/// A kernel in a context.
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) raw: sys::CUfunction,
    pub(crate) launches: AtomicU64,
}

// SAFETY: a handle that the driver only reads.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

/// The loaded families of a context.
#[derive(Default)]
pub(crate) struct Modules(BTreeMap<&'static str, sys::CUmodule>);

// SAFETY: handles that the driver only reads; the context's lock guards the map.
unsafe impl Send for Modules {}

impl Modules {
    pub(crate) fn into_handles(self) -> impl Iterator<Item = sys::CUmodule> {
        self.0.into_values()
    }
}

impl Context {
    /// The function of a kernel; loads its family at the first call.
    pub(crate) fn function(&self, kernel: &'static Kernel) -> Result<Arc<Function>, DeviceError> {
        {
            let known = self.functions.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(function) = known.get(kernel.name) {
                return Ok(function.clone());
            }
        }
        self.enter()?;
        let module = self.module(kernel.module)?;
        let missing = |status| DeviceError::Module {
            module: kernel.module,
            status,
            log: format!("it lacks the kernel {}", kernel.name),
        };
        let name = CString::new(kernel.name).map_err(|_| missing(Status::NOT_FOUND))?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: writes one handle; the module stays loaded as long as the context.
        let got: Status =
            unsafe { sys::cuModuleGetFunction(&mut raw, module, name.as_ptr()) }.into();
        match self.judge("finding a kernel", None, got) {
            Err(DeviceError::Driver { code, .. }) => return Err(missing(code)),
            answer => answer?,
        }
        // A driver loads the code when it is first needed, which can be while a stream is recorded or while another
        // kernel runs that is waited for; asking for an attribute makes it do so now.
        let mut registers = 0;
        let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_NUM_REGS;
        // SAFETY: writes one number; the function is of a module that stays loaded.
        let asked = unsafe { sys::cuFuncGetAttribute(&mut registers, attribute, raw) };
        self.check("loading a kernel", asked)?;
        let mut known = self.functions.write().unwrap_or_else(PoisonError::into_inner);
        let function = known.entry(kernel.name).or_insert_with(|| {
            Arc::new(Function { name: kernel.name, raw, launches: AtomicU64::new(0) })
        });
        Ok(function.clone())
    }

    fn module(&self, family: &'static str) -> Result<sys::CUmodule, DeviceError> {
        let mut modules = lock(&self.modules);
        if let Some(module) = modules.0.get(family) {
            return Ok(*module);
        }
        let Some(compiled) = graphlume_kernels::Module::of(family) else {
            let log = "this build holds no such kernels".to_owned();
            return Err(DeviceError::Module { module: family, status: Status::NOT_FOUND, log });
        };
        let module = self.load(family, compiled.ptx)?;
        modules.0.insert(family, module);
        Ok(module)
    }

    /// Hands PTX to the driver's compiler.
    pub(crate) fn load(
        &self,
        family: &'static str,
        ptx: &str,
    ) -> Result<sys::CUmodule, DeviceError> {
        self.enter()?;
        let failed = |status, log| DeviceError::Module { module: family, status, log };
        let text = CString::new(ptx)
            .map_err(|_| failed(Status::INVALID_PTX, "the text holds a zero byte".to_owned()))?;
        let mut log = vec![0_u8; LOG_BYTES];
        let mut options =
            [Option_::CU_JIT_ERROR_LOG_BUFFER, Option_::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        // The driver takes each value as the bits of a pointer, the size included.
        let mut values: [*mut c_void; 2] =
            [log.as_mut_ptr().cast(), std::ptr::without_provenance_mut(LOG_BYTES - 1)];
        let mut module = std::ptr::null_mut();
        // SAFETY: the text ends in a zero; the log holds one byte more than the driver is told, so
        // it ends in a zero too; both arrays have the stated length.
        let loaded: Status = unsafe {
            sys::cuModuleLoadDataEx(
                &mut module,
                text.as_ptr().cast(),
                options.len() as c_uint,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        }
        .into();
        match self.judge("loading kernels", None, loaded) {
            Err(DeviceError::Driver { code, .. }) => Err(failed(code, shortened(&log))),
            answer => answer.map(|()| module),
        }
    }
}

/// The compiler's log on one line.
fn shortened(log: &[u8]) -> String {
    let text = CStr::from_bytes_until_nul(log).unwrap_or_default().to_string_lossy();
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.join(" ") {
        empty if empty.is_empty() => "its compiler gave no reason".to_owned(),
        line => line.chars().take(LOG_CHARS_MAX).collect(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn a_log_becomes_one_bounded_line() {
        assert_eq!(shortened(b"ptxas error\n  : at line 3\0rest"), "ptxas error : at line 3");
        assert_eq!(shortened(&[0; 8]), "its compiler gave no reason");
        let mut long = vec![b'x'; 4096];
        long.push(0);
        assert_eq!(shortened(&long).len(), LOG_CHARS_MAX);
    }
}
