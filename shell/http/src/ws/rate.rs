//! How fast a viewer may speak.

use std::time::Duration;

use graphlume_types::limits;
use tokio::time::Instant;

use super::codec::close;
use super::goodbye::Goodbye;
use super::viewer::End;

/// How many messages a viewer sends.
pub(super) struct Rate {
    since: Instant,
    messages: u32,
}

impl Rate {
    pub(super) const fn new(since: Instant) -> Self {
        Self { since, messages: 0 }
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
        if now.saturating_duration_since(self.since) >= Duration::from_secs(1) {
            *self = Self::new(now);
        }
        self.messages += 1;
        self.messages <= limits::VIEWER_MESSAGES_PER_SEC_MAX
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
        assert!(!rate.allows(start + Duration::from_millis(999)));
        let next = start + Duration::from_secs(1);
        assert!((0..most).all(|_| rate.allows(next)));
    }
}
