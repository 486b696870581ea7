//! Memory is reserved before it is allocated, and released when the reservation is dropped.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

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
pub struct ResourcesExhausted {
    /// Which budget.
    pub name: &'static str,
    /// Bytes asked for.
    pub need: u64,
    /// Bytes in use at that moment.
    pub used: u64,
    /// The ceiling.
    pub limit: u64,
}

impl ResourcesExhausted {
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
    /// [`ResourcesExhausted`] when they do not fit; nothing is taken then.
    pub fn try_reserve(&self, bytes: u64) -> Result<Reservation, ResourcesExhausted> {
        let l = &self.0;
        let mut used = l.used.load(Ordering::Relaxed);
        loop {
            let Some(next) = used.checked_add(bytes).filter(|n| *n <= l.limit) else {
                return Err(ResourcesExhausted { name: l.name, need: bytes, used, limit: l.limit });
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

/// Bytes that a [`MemoryConsumer`] takes from its budget at once.
const SHARE_STEP_BYTES: u64 = 4 << 20;

/// How more bytes of a budget are got, when it is full, by having others give theirs up.
pub type MakeRoom = dyn Fn(u64) -> Result<Reservation, ResourcesExhausted> + Send + Sync;

/// What one piece of work may take of a budget while it goes on: it cannot say beforehand how much it
/// needs. Cloning shares it; what it took goes back to the budget with the last clone.
#[derive(Clone)]
pub struct MemoryConsumer(Arc<Taken>);

struct Taken {
    budget: Budget,
    limit: u64,
    used: AtomicU64,
    held: Mutex<(u64, Vec<Reservation>)>,
    room: Option<Box<MakeRoom>>,
}

impl fmt::Debug for MemoryConsumer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryConsumer({} of {})", self.used(), self.0.limit)
    }
}

impl MemoryConsumer {
    /// At most `limit` bytes of `budget`; `room` is asked when the budget is full.
    #[must_use]
    pub fn new(budget: Budget, limit: u64, room: Option<Box<MakeRoom>>) -> Self {
        let (used, held) = (AtomicU64::new(0), Mutex::default());
        Self(Arc::new(Taken { budget, limit, used, held, room }))
    }

    /// Takes `bytes`. They are given back by [`MemoryConsumer::give`], or at the end of the share.
    ///
    /// # Errors
    /// [`ResourcesExhausted`] past the limit of the share or of the budget; nothing is taken then.
    pub fn take(&self, bytes: u64) -> Result<(), ResourcesExhausted> {
        let all = &self.0;
        let used = all.used.fetch_add(bytes, Ordering::AcqRel);
        let now = used.saturating_add(bytes);
        let got = if now > all.limit {
            Err(ResourcesExhausted { name: "query", need: bytes, used, limit: all.limit })
        } else {
            self.cover(now)
        };
        if got.is_err() {
            self.give(bytes);
        }
        got
    }

    /// Makes the reservations cover what is in use.
    fn cover(&self, bytes: u64) -> Result<(), ResourcesExhausted> {
        let all = &self.0;
        let mut held = all.held.lock().unwrap_or_else(PoisonError::into_inner);
        if bytes <= held.0 {
            return Ok(());
        }
        let least = bytes - held.0;
        let step = least.max(SHARE_STEP_BYTES.min(all.limit - held.0));
        let got = all.budget.try_reserve(step).or_else(|refused| match &all.room {
            Some(room) => room(least),
            None if step > least => all.budget.try_reserve(least),
            None => Err(refused),
        })?;
        held.0 += got.bytes();
        held.1.push(got);
        Ok(())
    }

    /// Reserves `bytes` of the budget apart from the share, for what outlives the work.
    ///
    /// # Errors
    /// [`ResourcesExhausted`] when the budget is full.
    pub fn reserve(&self, bytes: u64) -> Result<Reservation, ResourcesExhausted> {
        let all = &self.0;
        all.budget.try_reserve(bytes).or_else(|refused| match &all.room {
            Some(room) => room(bytes),
            None => Err(refused),
        })
    }

    /// Gives `bytes` back to the share.
    pub fn give(&self, bytes: u64) {
        self.0.used.fetch_sub(bytes, Ordering::AcqRel);
    }

    /// Bytes that the share keeps of the budget: about the most that were ever in use.
    #[must_use]
    pub fn kept(&self) -> u64 {
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner).0
    }

    /// Bytes in use.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.0.used.load(Ordering::Relaxed)
    }
}

/// Bytes of a [`MemoryConsumer`], given back on drop.
#[derive(Debug, Default)]
pub struct MemoryReservation(Option<(MemoryConsumer, u64)>);

impl MemoryReservation {
    pub(crate) fn new(
        share: Option<&MemoryConsumer>,
        bytes: u64,
    ) -> Result<Self, ResourcesExhausted> {
        let Some(share) = share else { return Ok(Self(None)) };
        share.take(bytes)?;
        Ok(Self(Some((share.clone(), bytes))))
    }
}

impl Drop for MemoryReservation {
    fn drop(&mut self) {
        if let Some((share, bytes)) = &self.0 {
            share.give(*bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_ends_at_its_limit_and_at_the_budget_s() {
        let b = Budget::new("host", 100);
        let share = MemoryConsumer::new(b.clone(), 60, None);
        share.take(60).expect("the whole share");
        let refused = share.take(1).expect_err("one byte too many");
        assert_eq!((refused.name, refused.need, refused.used, refused.limit), ("query", 1, 60, 60));
        share.give(60);
        assert_eq!((share.used(), b.used()), (0, 60), "a share keeps what it took");
        let other = MemoryConsumer::new(b.clone(), 60, None);
        other.take(40).expect("what is left");
        assert_eq!(other.take(1).expect_err("the budget is full").name, "host");
        drop(share);
        other.take(20).expect("the first share has given its bytes back");
        drop(other);
        assert_eq!(b.used(), 0);
    }

    #[test]
    fn a_share_asks_for_room_when_the_budget_is_full() {
        let b = Budget::new("host", 100);
        let idle = Mutex::new(Some(b.try_reserve(80).expect("fits")));
        let again = b.clone();
        let room = move |bytes| {
            idle.lock().expect("no panic").take();
            again.try_reserve(bytes)
        };
        let share = MemoryConsumer::new(b.clone(), 90, Some(Box::new(room)));
        let hold = MemoryReservation::new(Some(&share), 90).expect("the idle bytes go");
        assert_eq!((share.used(), b.used()), (90, 90));
        drop(hold);
        assert_eq!(share.used(), 0);
        assert_eq!(share.reserve(11).expect_err("the share keeps 90").need, 11);
        let apart = share.reserve(10).expect("what is left");
        drop(share);
        assert_eq!((apart.bytes(), b.used()), (10, 10), "it outlives the share");
    }

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
