//! The primitives that queries are made of, once for the CPU and once for the GPU, behind one
//! [`Device`]: what is written over them runs on both.
//!
//! - A [`DeviceColumn`] has 4- or 8-byte cells (bits for bools, dictionary codes for text) and, if
//!   it has nulls, a validity mask. **A NaN cell is a null too.** Rows are below 2^32.
//! - A [`Mask`] has one bit a row; the bits beyond the last row are zero.
//! - Nulls match no comparison. A [`Predicate`] is evaluated in three-valued logic and selects the
//!   rows in which it is true, so neither `p` nor `not p` selects a row in which p is unknown.
//! - Integer results are the same bits on both devices. Float sums are added in an order that only
//!   the number of rows decides: the same bits again on the same device, and between devices within
//!   1e-6 of the sum of the absolute values.
//! - On the CPU the work is divided into chunks of 65,536 rows over the threads of the pool, and
//!   the token is checked before each; on the GPU it is checked before each launch, and no launch
//!   is longer than some milliseconds.
//! - Memory is reserved before it is allocated, from the host's budget or the GPU's.
//!
//! Each method states its cost as the bytes it moves; "n" is the number of rows.

mod column;
mod cpu;
mod error;
mod filter;
mod gather;
mod gpu;
mod histogram;
mod mask;
mod order;
mod predicate;
mod program;
mod reduce;
mod segment;
mod store;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use column::{Cells, DType, DeviceColumn, HostCells};
pub use error::ColumnOpError;
pub use mask::{Mask, MaskOp};
pub use predicate::{Compare, Lookup, Predicate, Value};
pub use reduce::{Number, Reduced};

use graphlume_types::Budget;

use crate::CpuPool;
use crate::cuda::Gpu;

/// Where primitives run.
#[derive(Clone)]
pub enum Device {
    /// The processor.
    Cpu(Cpu),
    /// A GPU, through a handle with its own stream.
    Cuda(Gpu),
}

/// The processor as a device: worker threads and a budget of host memory.
#[derive(Clone)]
pub struct Cpu {
    pub(crate) pool: Arc<CpuPool>,
    pub(crate) budget: Budget,
}

impl Device {
    /// The processor, computing on the threads of `pool`; columns and masks are paid for from
    /// `budget`.
    #[must_use]
    pub const fn cpu(pool: Arc<CpuPool>, budget: Budget) -> Self {
        Self::Cpu(Cpu { pool, budget })
    }

    /// The ledger that its columns and masks are paid from.
    #[must_use]
    pub fn budget(&self) -> &Budget {
        match self {
            Self::Cpu(cpu) => &cpu.budget,
            Self::Cuda(gpu) => gpu.budget(),
        }
    }
}

/// Rows as the kernels count them.
fn check_rows(primitive: &'static str, rows: usize) -> Result<u32, ColumnOpError> {
    let limit = u64::from(u32::MAX);
    u32::try_from(rows).map_err(|_| ColumnOpError::Limit {
        primitive,
        what: "the number of rows",
        got: rows as u64,
        limit,
    })
}

/// Whether an operand has as many rows as the call needs.
const fn same_rows(primitive: &'static str, got: usize, need: usize) -> Result<(), ColumnOpError> {
    match got == need {
        true => Ok(()),
        false => Err(ColumnOpError::Rows { primitive, got, need }),
    }
}
