//! The emulated driver library: where it is, and its switches.
//!
//! The switches act on the whole process. [`crate::fault_test`] runs one test at a time and puts them back
//! before each; a spawned process takes the same settings from the environment: `GRAPHLUME_EMU_MEMORY` (bytes),
//! `GRAPHLUME_EMU_REFUSE_MEMORY` (from this allocation on), `GRAPHLUME_EMU_REFUSE_MODULE` (this loading of kernels),
//! `GRAPHLUME_EMU_FAIL_LAUNCH` (this launch),
//! `GRAPHLUME_EMU_DELAY_MS`, `GRAPHLUME_EMU_SEED` (odd schedules), `GRAPHLUME_EMU_SMS` (multiprocessors, 2),
//! `GRAPHLUME_EMU_SM_THREADS` (threads that each holds at once, 1,024) and `GRAPHLUME_EMU_CAPABILITY` (75 for 7.5), which
//! decide how large grids become.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::sync::OnceLock;

unsafe extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *const c_char;
}

/// Find every symbol at once, and let later loads by name find this library.
const RTLD_NOW_GLOBAL: c_int = 0x102;

/// The library that is used: the plain one, or with `GRAPHLUME_EMU=asan` the one under AddressSanitizer,
/// whose run-time library must then be preloaded.
///
/// # Panics
/// When `GRAPHLUME_EMU` names a variant that was not built.
#[must_use]
pub fn library() -> &'static Path {
    let wanted = std::env::var("GRAPHLUME_EMU").unwrap_or_default();
    Path::new(match (wanted.as_str(), option_env!("GRAPHLUME_EMU_ASAN_LIBRARY")) {
        ("" | "plain", _) => env!("GRAPHLUME_EMU_PLAIN_LIBRARY"),
        ("asan", Some(asan)) => asan,
        ("asan", None) => {
            panic!("built without AddressSanitizer: set GRAPHLUME_EMU_ASAN=1 and build again")
        }
        (other, _) => panic!("GRAPHLUME_EMU={other}: known are plain and asan"),
    })
}

/// The folder of [`library`], for the `LD_LIBRARY_PATH` of a process that shall find it as the CUDA driver.
///
/// # Panics
/// As [`library`].
#[must_use]
pub fn library_folder() -> &'static Path {
    library().parent().unwrap_or_else(|| Path::new("."))
}

struct Library(*mut c_void);
// SAFETY: a handle of the dynamic linker may be used from any thread, and is never closed.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

/// Loads the library, so that whoever asks for the CUDA driver by name afterwards gets the emulator.
///
/// # Panics
/// When it cannot be loaded.
pub fn load() {
    symbol(c"cuInit");
}

/// The address of an exported function.
pub(crate) fn symbol(name: &CStr) -> *mut c_void {
    static LOADED: OnceLock<Library> = OnceLock::new();
    let loaded = LOADED.get_or_init(|| {
        let path = CString::new(library().as_os_str().as_encoded_bytes()).unwrap_or_default();
        // SAFETY: the path ends with a zero, and the library's initialisers only register kernels.
        let handle = unsafe { dlopen(path.as_ptr(), RTLD_NOW_GLOBAL) };
        assert!(!handle.is_null(), "the emulator cannot be loaded: {}", last_error());
        Library(handle)
    });
    // SAFETY: the handle is open, and the name ends with a zero.
    let address = unsafe { dlsym(loaded.0, name.as_ptr()) };
    assert!(!address.is_null(), "the emulator has no {name:?}");
    address
}

fn last_error() -> String {
    // SAFETY: gives null or a text that lives until the next call of the dynamic linker in this thread.
    let text = unsafe { dlerror() };
    if text.is_null() {
        return "for no stated reason".to_owned();
    }
    // SAFETY: as above.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Calls an exported function of the given type.
macro_rules! call {
    ($name:literal as fn($($kind:ty),* $(,)?) $(-> $answer:ty)?, $($value:expr),* $(,)?) => {{
        let address = $crate::emulator::symbol($name);
        // SAFETY: tests/emu/cpp exports the function with exactly this type.
        unsafe {
            std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($kind),*) $(-> $answer)?>(address)(
                $($value),*
            )
        }
    }};
}

#[cfg(test)]
pub(crate) use call;

/// How often a fault happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Times {
    /// At that one try.
    Once,
    /// At that try and every one after it.
    FromThenOn,
}

/// When a failing launch says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noticed {
    /// The launch itself answers the error.
    AtOnce,
    /// The launch seems to work; the next call of the driver answers the error.
    Later,
}

/// Ends all faults, and puts the settings back to those of the environment.
pub fn clear() {
    call!(c"graphlume_emu_clear" as fn(),);
}

/// Lets the device have only so much memory.
pub fn limit_memory(bytes: u64) {
    call!(c"graphlume_emu_limit_memory" as fn(u64), bytes);
}

/// Refuses the `at`-th allocation of device memory counted from now, which begins at 1.
pub fn refuse_memory(at: u64, times: Times) {
    call!(
        c"graphlume_emu_refuse" as fn(c_int, u64, c_int),
        0,
        at,
        c_int::from(times == Times::Once)
    );
}

/// The same for pinned host memory.
pub fn refuse_pinned(at: u64, times: Times) {
    call!(
        c"graphlume_emu_refuse" as fn(c_int, u64, c_int),
        1,
        at,
        c_int::from(times == Times::Once)
    );
}

/// Makes the `at`-th kernel run counted from now end with `code`, such as 700 for an illegal address. Every
/// later call of the driver then answers it too, until [`clear`].
pub fn fail_launch(at: u64, code: i32, noticed: Noticed) {
    let late = c_int::from(noticed == Noticed::Later);
    call!(c"graphlume_emu_fail_launch" as fn(u64, c_int, c_int), at, code, late);
}

/// Makes every run of a kernel, or of all with `None`, seem to take `ms` milliseconds longer: streams and events
/// are not ready before.
pub fn delay(kernel: Option<&str>, ms: u32) {
    let name = CString::new(kernel.unwrap_or_default()).unwrap_or_default();
    call!(c"graphlume_emu_delay" as fn(*const c_char, u32), name.as_ptr(), ms);
}

/// Flips a bit of the first result of the `at`-th run of a kernel counted from now.
pub fn spoil(kernel: &str, at: u64, times: Times) {
    let name = CString::new(kernel).unwrap_or_default();
    let once = c_int::from(times == Times::Once);
    call!(c"graphlume_emu_spoil" as fn(*const c_char, u64, c_int), name.as_ptr(), at, once);
}

/// What the emulator counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Counted {
    /// Calls of the driver so far.
    Calls = 0,
    /// Kernel runs so far, replayed ones included.
    Launches = 1,
    /// Allocations of device memory so far.
    Allocations = 2,
    /// Bytes of device memory in use.
    MemoryBytes = 3,
    /// The most since the last [`clear`].
    MemoryBytesPeak = 4,
    /// Allocations of device memory that are alive.
    LiveAllocations = 5,
    /// Pinned blocks that are alive.
    LivePinned = 6,
    /// Streams that are alive.
    LiveStreams = 7,
    /// Events that are alive.
    LiveEvents = 8,
    /// Graphs and replays that are alive.
    LiveGraphs = 9,
    /// Modules that are loaded.
    LiveModules = 10,
    /// Waits of a stream for an event so far.
    Waits = 11,
    /// Downloads into memory that is not pinned so far: a driver answers them when they are done.
    UnpinnedDownloads = 12,
    /// Bytes that were downloaded so far.
    DownloadedBytes = 13,
}

/// The value of a counter.
#[must_use]
pub fn count(what: Counted) -> u64 {
    call!(c"graphlume_emu_count" as fn(c_int) -> u64, what as c_int)
}

/// How often a kernel has run, replayed runs included.
#[must_use]
pub fn launched(kernel: &str) -> u64 {
    let name = CString::new(kernel).unwrap_or_default();
    call!(c"graphlume_emu_launched" as fn(*const c_char) -> u64, name.as_ptr())
}
