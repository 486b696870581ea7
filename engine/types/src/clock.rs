//! Time as a value that tests can set. Nothing else in the product reads the wall clock.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Wall time for what is stored and shown, monotonic time for what is measured and waited for.
pub trait Clock: Send + Sync + 'static {
    /// Microseconds since 1970-01-01T00:00:00Z.
    fn unix_micros(&self) -> i64;
    /// A point on a clock that never goes backwards.
    fn monotonic(&self) -> Instant;
    /// Whole seconds since 1970-01-01T00:00:00Z.
    fn unix_secs(&self) -> i64 {
        self.unix_micros().div_euclid(1_000_000)
    }
}

/// The machine's clocks.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn unix_micros(&self) -> i64 {
        #[expect(clippy::disallowed_methods, reason = "this is the one place that reads it")]
        let now = SystemTime::now();
        match now.duration_since(UNIX_EPOCH) {
            Ok(d) => i64::try_from(d.as_micros()).unwrap_or(i64::MAX),
            Err(e) => i64::try_from(e.duration().as_micros()).map_or(i64::MIN, |v| -v),
        }
    }

    fn monotonic(&self) -> Instant {
        Instant::now()
    }
}

/// A clock that stands still until a test moves it.
#[derive(Debug)]
pub struct TestClock {
    micros: AtomicI64,
    offset: AtomicI64,
    base: Instant,
}

impl TestClock {
    /// A clock that shows `unix_secs`.
    #[must_use]
    pub fn at(unix_secs: i64) -> Self {
        Self {
            micros: AtomicI64::new(unix_secs.saturating_mul(1_000_000)),
            offset: AtomicI64::new(0),
            base: Instant::now(),
        }
    }

    /// Moves both clocks forward.
    pub fn advance(&self, by: Duration) {
        let us = i64::try_from(by.as_micros()).unwrap_or(i64::MAX);
        self.micros.fetch_add(us, Ordering::SeqCst);
        self.offset.fetch_add(us, Ordering::SeqCst);
    }

    /// Sets the wall clock alone, as an operator or a leap would.
    pub fn set_unix_secs(&self, unix_secs: i64) {
        self.micros.store(unix_secs.saturating_mul(1_000_000), Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn unix_micros(&self) -> i64 {
        self.micros.load(Ordering::SeqCst)
    }

    fn monotonic(&self) -> Instant {
        let us = u64::try_from(self.offset.load(Ordering::SeqCst)).unwrap_or(0);
        self.base + Duration::from_micros(us)
    }
}
