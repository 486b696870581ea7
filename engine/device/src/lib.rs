//! Devices of the machine: the processor's threads and vector widths, its memory, and a GPU when a driver
//! is found at run time. Nothing here needs CUDA to build or to start.

pub mod columns;
mod cpu;
pub mod cuda;
mod gpu;
mod memory;

pub use cpu::{CpuFeatures, CpuPool, PoolError, cpu_features};
pub use gpu::{GpuStatus, probe_gpu};
pub use memory::{Memory, memory};
