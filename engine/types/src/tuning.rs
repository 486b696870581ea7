//! Thresholds of the query engine: the shipped ones, or small ones.
//!
//! Each crate that has thresholds (rows from which on threads share work, values up to which a set is kept as a list)
//! names them in a `Tuning` of its own, with two values: the shipped one, and one with which a graph of a few nodes takes
//! every way that a large graph does. Tests of small graphs ask for the second; answers are the same with both.

use std::sync::atomic::{AtomicBool, Ordering};

static SMALL: AtomicBool = AtomicBool::new(false);

/// Takes small thresholds in this process from now on, or the shipped ones again. For tests.
pub fn use_small(small: bool) {
    SMALL.store(small, Ordering::Relaxed);
}

/// Whether thresholds are the small ones.
#[inline]
#[must_use]
pub fn is_small() -> bool {
    SMALL.load(Ordering::Relaxed)
}
