//! A clock that is never behind what it has shown, over restarts too.
//!
//! Tokens, login links and login sessions end at a time. Without this, setting the machine's clock back would revive
//! those that are over.

use std::sync::Arc;
use std::time::{Duration, Instant};

use graphlume_storage::{Batch, SettingRec, Store};
use graphlume_types::Clock;
use parking_lot::Mutex;
use serde_json::json;

use crate::error::IdentityError;

/// Setting with the latest time that was shown, in unix microseconds.
const SETTING: &str = "clock-high-water-mark";

/// The machine's clock, which goes on at its own pace when it is set back.
pub struct SteadyClock {
    clock: Arc<dyn Clock>,
    /// The latest time that was shown, and when.
    last: Mutex<(i64, Instant)>,
}

impl SteadyClock {
    /// A clock that begins no earlier than `mark`.
    pub fn new(clock: Arc<dyn Clock>, mark: i64) -> Self {
        let last = Mutex::new((mark.max(clock.unix_micros()), clock.monotonic()));
        Self { clock, last }
    }

    /// The mark that an earlier run left; a time far in the past without one.
    ///
    /// # Errors
    /// The setting cannot be read.
    pub fn mark(store: &Store) -> Result<i64, IdentityError> {
        let found = store.get::<SettingRec>(&SETTING.to_owned())?;
        Ok(found.and_then(|s| s.value.as_i64()).unwrap_or(i64::MIN))
    }

    /// Writes the mark down for later runs.
    ///
    /// # Errors
    /// The setting cannot be written.
    pub fn keep(&self, store: &Store) -> Result<(), IdentityError> {
        let value = json!(self.unix_micros());
        store.commit(Batch::new().put(&SettingRec { name: SETTING.to_owned(), value }))?;
        Ok(())
    }

    /// Begins again with the machine's clock: the operator says that it is right, and that what was shown before was not.
    pub fn accept(&self) {
        *self.last.lock() = (self.clock.unix_micros(), self.clock.monotonic());
    }

    /// Forgets the mark of earlier runs.
    ///
    /// # Errors
    /// The setting cannot be removed.
    pub fn forget(store: &Store) -> Result<(), IdentityError> {
        store.commit(Batch::new().delete::<SettingRec>(&SETTING.to_owned()))?;
        Ok(())
    }

    /// How far the machine's clock is behind what was shown before.
    pub fn behind(&self) -> Duration {
        let micros = self.unix_micros().saturating_sub(self.clock.unix_micros());
        Duration::from_micros(u64::try_from(micros).unwrap_or(0))
    }
}

impl Clock for SteadyClock {
    fn unix_micros(&self) -> i64 {
        let mut last = self.last.lock();
        let (wall, now) = (self.clock.unix_micros(), self.clock.monotonic());
        let passed = i64::try_from(now.saturating_duration_since(last.1).as_micros()).unwrap_or(0);
        let shown = wall.max(last.0.saturating_add(passed));
        *last = (shown, now);
        shown
    }

    fn monotonic(&self) -> Instant {
        self.clock.monotonic()
    }
}

#[cfg(test)]
mod tests {
    use graphlume_types::TestClock;

    use super::*;

    #[test]
    fn a_clock_that_is_set_back_goes_on_from_what_it_has_shown() {
        let set = Arc::new(TestClock::at(1_000));
        let steady = SteadyClock::new(Arc::<TestClock>::clone(&set), i64::MIN);
        assert_eq!((steady.unix_secs(), steady.behind()), (1_000, Duration::ZERO));
        set.set_unix_secs(9_000);
        assert_eq!(steady.unix_secs(), 9_000);
        set.set_unix_secs(2_000);
        set.advance(Duration::from_secs(500));
        assert_eq!(steady.unix_secs(), 9_500, "neither back nor standing still");
        assert_eq!(steady.behind(), Duration::from_secs(7_000));
        set.set_unix_secs(20_000);
        assert_eq!((steady.unix_secs(), steady.behind()), (20_000, Duration::ZERO));
        let later = SteadyClock::new(set, 50_000_000_000);
        assert_eq!(later.unix_secs(), 50_000, "the mark of an earlier run counts");
        later.accept();
        assert_eq!((later.unix_secs(), later.behind()), (20_000, Duration::ZERO));
    }
}
