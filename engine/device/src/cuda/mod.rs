//! The GPU through the CUDA driver: one context for a device, streams, paid-for memory, typed
//! kernel launches and recorded replays.

mod canary;
mod capture;
mod context;
mod error;
mod gpu;
mod health;
pub mod kernels;
mod launch;
mod memory;
mod module;
mod order;
pub mod primitives;
pub(crate) mod probe;
mod resident;
mod staging;
mod stream;
mod timer;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use bytemuck::Pod;
pub use capture::Replay;
pub use error::{DeviceError, Status};
pub use gpu::{Gpu, GpuOptions};
pub use health::GpuState;
pub use launch::Grid;
pub use memory::{Buf, View, ViewMut};
pub use probe::GpuInfo;
pub use timer::Timer;

/// Locks, also after another thread has panicked: no critical section here leaves a half-made
/// state.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
