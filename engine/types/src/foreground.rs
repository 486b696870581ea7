//! Short work that a user waits for, and long work that gives way to it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long after a sign of short work long work stays away. The next request of the same client mostly
/// comes sooner.
const QUIET: Duration = Duration::from_millis(5);
/// Long work runs at the beginning of each period whatever happens, so that it comes to an end. All of it
/// does so at the same time: the rest of the period is free of it.
const PERIOD: Duration = Duration::from_millis(20);
/// The part of the period in which it runs: half of it, so that no flood of short work makes long work take
/// more than twice its time.
const STRETCH: Duration = Duration::from_millis(10);

/// Tells long work when a user waits for short work.
#[derive(Debug)]
pub struct Foreground {
    started: Instant,
    /// Microseconds since the start until which long work stays away.
    quiet_until: AtomicU64,
}

impl Default for Foreground {
    fn default() -> Self {
        Self { started: Instant::now(), quiet_until: AtomicU64::new(0) }
    }
}

impl Foreground {
    fn micros(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    /// A sign of short work: it has come, goes on, or has just ended.
    pub fn sign(&self) {
        let until = self.micros().saturating_add(QUIET.as_micros() as u64);
        self.quiet_until.fetch_max(until, Ordering::Relaxed);
    }

    /// Keeps the calling thread waiting while there is short work, but never longer than a period.
    pub fn give_way(&self) {
        while let Some(wait) = wait(self.micros(), self.quiet_until.load(Ordering::Relaxed)) {
            std::thread::sleep(wait);
        }
    }
}

/// How long to stay away from `now` on.
fn wait(now: u64, quiet_until: u64) -> Option<Duration> {
    let period = PERIOD.as_micros() as u64;
    let phase = now % period;
    if now >= quiet_until || phase < STRETCH.as_micros() as u64 {
        return None;
    }
    Some(Duration::from_micros((quiet_until - now).min(period - phase)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_work_goes_on_when_nobody_waits() {
        assert_eq!(wait(25_000, 0), None);
        assert_eq!(wait(35_000, 35_000), None);
        assert_eq!(wait(35_000, 38_000), Some(Duration::from_millis(3)));
    }

    #[test]
    fn long_work_has_its_stretch_in_every_period() {
        assert_eq!(wait(40_000, u64::MAX), None);
        assert_eq!(wait(49_999, u64::MAX), None);
        assert_eq!(wait(50_000, u64::MAX), Some(Duration::from_millis(10)));
    }

    #[test]
    fn a_sign_lasts_for_a_while_and_ends() {
        let foreground = Foreground::default();
        foreground.give_way();
        foreground.sign();
        let until = foreground.quiet_until.load(Ordering::Relaxed);
        assert!(until >= QUIET.as_micros() as u64);
        foreground.give_way();
        assert!(wait(until, until).is_none(), "and then it is over");
    }
}
