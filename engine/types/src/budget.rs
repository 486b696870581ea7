//! Memory is reserved before it is allocated, and released when the reservation is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A ledger of bytes with a ceiling. Cloning shares the ledger.
#[derive(Debug, Clone)]
pub struct Budget(Arc<Ledger>);

#[derive(Debug)]
struct Ledger {
    name: &'static str,
    limit: u64,
    used: AtomicU64,
    peak: AtomicU64,
}

/// Why a reservation was not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{name} memory: {need} bytes needed, {used} of {limit} bytes in use")]
pub struct Refused {
    /// Which budget.
    pub name: &'static str,
    /// Bytes asked for.
    pub need: u64,
    /// Bytes in use at that moment.
    pub used: u64,
    /// The ceiling.
    pub limit: u64,
}

impl Refused {
    /// Whether even an empty budget could not hold the request, so that no eviction helps.
    #[must_use]
    pub const fn never_fits(&self) -> bool {
        self.need > self.limit
    }
}

impl Budget {
    /// A budget of `limit` bytes, called `name` in messages.
    #[must_use]
    pub fn new(name: &'static str, limit: u64) -> Self {
        Self(Arc::new(Ledger { name, limit, used: AtomicU64::new(0), peak: AtomicU64::new(0) }))
    }

    /// Takes `bytes` from the budget.
    ///
    /// # Errors
    /// [`Refused`] when they do not fit; nothing is taken then.
    pub fn try_reserve(&self, bytes: u64) -> Result<Reservation, Refused> {
        let l = &self.0;
        let mut used = l.used.load(Ordering::Relaxed);
        loop {
            let Some(next) = used.checked_add(bytes).filter(|n| *n <= l.limit) else {
                return Err(Refused { name: l.name, need: bytes, used, limit: l.limit });
            };
            match l.used.compare_exchange_weak(used, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => {
                    l.peak.fetch_max(next, Ordering::Relaxed);
                    return Ok(Reservation { budget: self.clone(), bytes });
                }
                Err(now) => used = now,
            }
        }
    }

    /// Bytes in use.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.0.used.load(Ordering::Relaxed)
    }

    /// The most bytes that were ever in use at once.
    #[must_use]
    pub fn peak(&self) -> u64 {
        self.0.peak.load(Ordering::Relaxed)
    }

    /// The ceiling.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.0.limit
    }
}

/// The right to hold `bytes` of a budget, given back on drop.
#[derive(Debug)]
#[must_use = "dropping a reservation gives the bytes back at once"]
pub struct Reservation {
    budget: Budget,
    bytes: u64,
}

impl Reservation {
    /// Bytes held.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Gives back all but `bytes`, once the true size is known to be smaller than the estimate.
    pub fn shrink_to(&mut self, bytes: u64) {
        if bytes < self.bytes {
            self.budget.0.used.fetch_sub(self.bytes - bytes, Ordering::AcqRel);
            self.bytes = bytes;
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.budget.0.used.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_reservation_returns_its_bytes() {
        let b = Budget::new("host", 100);
        let r = b.try_reserve(60).expect("fits");
        let refused = b.try_reserve(50).expect_err("too much at once");
        assert!(!refused.never_fits());
        drop(r);
        assert_eq!(b.used(), 0);
        assert!(b.try_reserve(100).is_ok());
        assert!(b.try_reserve(101).expect_err("over the ceiling").never_fits());
        assert!(b.try_reserve(u64::MAX).is_err());
    }

    #[test]
    fn shrinking_keeps_the_ledger_exact() {
        let b = Budget::new("host", 100);
        let mut r = b.try_reserve(80).expect("fits");
        r.shrink_to(30);
        assert_eq!((b.used(), b.peak()), (30, 80));
        drop(r);
        assert_eq!(b.used(), 0);
    }
}
