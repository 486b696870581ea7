//! The primitives on the GPU: which kernels are launched, over how many blocks.

pub(super) mod filter;
pub(super) mod mask;
pub(super) mod reduce;
pub(super) mod rows;

/// Threads of a block.
pub(super) const THREADS: u32 = 256;
