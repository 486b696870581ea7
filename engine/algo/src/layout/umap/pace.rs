//! Looks at the token, and how much is done between two of them.

use std::sync::atomic::{AtomicU64, Ordering};

use graphlume_types::CancelToken;

use crate::AlgoError;

/// Steps between two looks at the token, at most: some milliseconds. A step is a number of a row that is read for a
/// distance, or a move of a row by a tenth of that work.
pub(super) const STEPS_MAX: u64 = 1 << 22;

/// What every part of the embedding asks before a piece of work.
pub(super) struct Pace<'a> {
    cancel: &'a CancelToken,
    /// The largest piece so far, for the test that holds the bound.
    largest: AtomicU64,
}

impl<'a> Pace<'a> {
    pub(super) fn new(cancel: &'a CancelToken) -> Self {
        Self { cancel, largest: AtomicU64::new(0) }
    }

    /// Asked before each piece of `steps` steps.
    pub(super) fn piece(&self, steps: usize) -> Result<(), AlgoError> {
        if steps as u64 > self.largest.load(Ordering::Relaxed) {
            self.largest.fetch_max(steps as u64, Ordering::Relaxed);
        }
        Ok(self.cancel.check()?)
    }

    /// Items of `steps` steps each that make one piece.
    pub(super) fn items(steps: usize) -> usize {
        (STEPS_MAX as usize / steps.max(1)).max(1)
    }

    pub(super) fn cancel(&self) -> &'a CancelToken {
        self.cancel
    }

    /// The largest piece so far.
    #[cfg(test)]
    pub(super) fn largest(&self) -> u64 {
        self.largest.load(Ordering::Relaxed)
    }
}
