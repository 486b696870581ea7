//! Harness of every kernel test.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use graphlume_device::cuda::{Gpu, GpuOptions};

use crate::emulator::{self, Counted};

/// Longest wait for workers to give device memory back.
const HANG: Duration = Duration::from_secs(30);

/// One test at a time: launches are counted, and faults set, for the whole process.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the tests run on a real GPU.
fn on_device() -> bool {
    match std::env::var("GRAPHLUME_GPU_TESTS").as_deref() {
        Ok("device") => true,
        Err(_) | Ok("" | "emulator") => false,
        Ok(other) => panic!("GRAPHLUME_GPU_TESTS={other}: known are emulator and device"),
    }
}

/// Runs `body` on the emulated GPU, or with `GRAPHLUME_GPU_TESTS=device` on the real one, and then checks that
/// every kernel in `kernels` was launched meanwhile and, on the emulator, that no device memory is left over.
///
/// # Panics
/// When there is no such GPU, when a kernel was not launched, and when memory is left over.
pub fn gpu_test(kernels: &[&str], body: impl FnOnce(&Gpu)) {
    let _turn = turn();
    let emulated = !on_device();
    if emulated {
        emulator::load();
        emulator::clear();
    }
    let left = || if emulated { emulator::count(Counted::LiveAllocations) } else { 0 };
    let before = left();
    let gpu = match Gpu::open(&GpuOptions::default()) {
        Ok(gpu) => gpu,
        Err(e) => panic!("{}: {e}", if emulated { "the emulator" } else { "the GPU" }),
    };
    // As the server does at its start. On the emulator they are loaded when first used, so that whoever records a stream
    // without having loaded its kernels is found.
    if !emulated && let Err(e) = gpu.load_kernels() {
        panic!("the kernels of the GPU: {e}");
    }
    let counts: Vec<u64> = kernels.iter().map(|k| gpu.launches(k)).collect();
    body(&gpu);
    if let Err(e) = gpu.sync() {
        panic!("the GPU after the test: {e}");
    }
    let idle = kernels.iter().zip(counts).filter(|(k, count)| gpu.launches(k) == *count);
    let idle: Vec<&str> = idle.map(|(k, _)| *k).collect();
    assert!(idle.is_empty(), "named as tested, but never launched: {idle:?}");
    drop(gpu);
    // A worker that has answered gives back what it held a moment later, on a busy machine some moments.
    let begun = Instant::now();
    while left() > before && begun.elapsed() < HANG {
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(left() <= before, "{} allocations of device memory are left over", left() - before);
}

/// Runs `body` with the emulator loaded and free of [faults](emulator), one test at a time; faults that it sets
/// are cleared afterwards. The test opens its own GPU. Such a test's name begins with `faulty_`.
///
/// # Panics
/// On a real GPU, where faults cannot be ordered.
pub fn fault_test(body: impl FnOnce()) {
    struct Clear;
    impl Drop for Clear {
        fn drop(&mut self) {
            emulator::clear();
        }
    }
    assert!(!on_device(), "faults need the emulator: leave out the tests that begin with faulty_");
    let _turn = turn();
    emulator::load();
    emulator::clear();
    let _clear = Clear;
    body();
}
