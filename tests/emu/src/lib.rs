//! Runs the CUDA kernels without a GPU: the sources of `kernels-ptx/cu` are compiled for the host into a
//! stand-in for the CUDA driver library, which the unmodified device code then loads.
//!
//! With `GRAPHLUME_GPU_TESTS=device` the same tests run on a real GPU; those that need the emulator's
//! [faults](emulator) have names that begin with `faulty_`, so that they can be left out there.

#![expect(clippy::panic, reason = "a test kit fails its test by panicking")]

pub mod emulator;
mod harness;
#[cfg(test)]
mod selftest;
mod zoo;

pub use harness::{fault_test, gpu_test};
pub use zoo::Zoo;
