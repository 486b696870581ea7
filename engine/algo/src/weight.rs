//! Weights of edges as sums add them up: whole numbers of 32 bits, or of 64 where the total needs them.

use std::ops::{AddAssign, SubAssign};

/// A sum of weights: `u32` where the total fits, else `u64`.
pub(crate) trait Weight:
    Copy + Default + PartialEq + Send + Sync + AddAssign + SubAssign
{
    /// Of a number that fits.
    fn of(w: u64) -> Self;
    fn wide(self) -> u64;
    fn float(self) -> f64;
}

impl Weight for u32 {
    #[inline]
    fn of(w: u64) -> Self {
        w as Self
    }
    #[inline]
    fn float(self) -> f64 {
        f64::from(self)
    }
    #[inline]
    fn wide(self) -> u64 {
        u64::from(self)
    }
}

impl Weight for u64 {
    #[inline]
    fn of(w: u64) -> Self {
        w
    }
    #[inline]
    fn float(self) -> f64 {
        self as f64
    }
    #[inline]
    fn wide(self) -> u64 {
        self
    }
}
