//! Rate limit of the messages of a viewer.

use std::time::Duration;

use graphlume_types::limits;
use tokio::time::Instant;

use super::codec::close;
use super::goodbye::Goodbye;
use super::viewer::End;

/// How many messages a viewer sends: a bucket that holds those of a second and fills in a second (a token bucket), so that
/// no second, wherever it begins, has those of two beyond what filled meanwhile.
pub(super) struct Rate {
    /// When the bucket was filled last.
    filled: Instant,
    /// What is in it, in shares of which [`BURST`] fill in a nanosecond.
    left: u64,
}

/// Most messages at once.
const BURST: u64 = limits::VIEWER_MESSAGES_PER_SEC_MAX as u64;
/// Shares of one message.
const MESSAGE: u64 = 1_000_000_000;

impl Rate {
    pub(super) const fn new(since: Instant) -> Self {
        Self { filled: since, left: BURST * MESSAGE }
    }

    /// Ends the stream of a viewer who says too much.
    pub(super) fn check(&mut self, now: Instant) -> Result<(), End> {
        if self.allows(now) {
            return Ok(());
        }
        Err(End::Close(Goodbye::new(close::POLICY, "too many messages")))
    }

    /// Whether one more is allowed at `now`.
    fn allows(&mut self, now: Instant) -> bool {
        let passed = now.saturating_duration_since(self.filled).min(Duration::from_secs(1));
        self.filled = self.filled.max(now);
        let more = u64::try_from(passed.as_nanos()).unwrap_or(MESSAGE) * BURST;
        self.left = (self.left + more).min(BURST * MESSAGE);
        match self.left.checked_sub(MESSAGE) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_viewer_sends_a_hundred_messages_a_second() {
        let start = Instant::now();
        let mut rate = Rate::new(start);
        let most = limits::VIEWER_MESSAGES_PER_SEC_MAX;
        assert!((0..most).all(|_| rate.allows(start)));
        assert!(!rate.allows(start + Duration::from_millis(9)));
        let next = start + Duration::from_secs(1);
        assert!((0..most).all(|_| rate.allows(next)));
    }

    #[test]
    fn no_second_has_the_messages_of_two() {
        let start = Instant::now();
        let mut rate = Rate::new(start);
        let most = limits::VIEWER_MESSAGES_PER_SEC_MAX;
        // All of a second at its end, and as many as there may be just after.
        let [end, after] = [999, 1_001].map(|ms| start + Duration::from_millis(ms));
        let before = (0..most).filter(|_| rate.allows(end)).count();
        let then = (0..most).filter(|_| rate.allows(after)).count();
        assert_eq!(before, most as usize);
        assert!(then <= 1, "{then} more two milliseconds later");
        // A clock that stands or goes back fills nothing.
        assert!(!rate.allows(start));
        // What comes evenly is never too much.
        let mut even = Rate::new(start);
        let step = Duration::from_secs(1) / most;
        assert!((0..10 * most).all(|k| even.allows(start + step * k)));
    }
}
