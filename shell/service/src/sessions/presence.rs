//! Presence: the accounts that have a visualization open at this moment.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use graphlume_types::limits::{PAGE_AWAY_SECS_MAX, PAGE_OPENING_SECS_MAX};
use graphlume_types::{Clock, SessionId, UserId};
use parking_lot::Mutex;

/// A session and who looks at it; no account without a credential.
type PresenceKey = (SessionId, Option<UserId>);

/// Open pages of one account at one session, and until when it counts as open without any.
#[derive(Debug)]
struct PresenceEntry {
    open: usize,
    until: Instant,
}

/// The pages that are open.
pub(crate) struct Presence {
    entries: Mutex<HashMap<PresenceKey, PresenceEntry>>,
    clock: Arc<dyn Clock>,
}

/// A page that is open until this is dropped.
pub struct OpenPage {
    presence: Arc<Presence>,
    key: PresenceKey,
}

impl std::fmt::Debug for OpenPage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("OpenPage").field(&self.key).finish()
    }
}

impl Presence {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self { entries: Mutex::default(), clock })
    }

    pub(crate) fn open(self: &Arc<Self>, session: SessionId, user: Option<UserId>) -> OpenPage {
        let key = (session, user);
        let now = self.clock.monotonic();
        let mut entries = self.entries.lock();
        entries.entry(key.clone()).or_insert(PresenceEntry { open: 0, until: now }).open += 1;
        OpenPage { presence: Arc::clone(self), key }
    }

    /// A page was asked for and is on its way to a browser of this account: until its stream is open, or
    /// for a while, it counts as open.
    pub(crate) fn expect(&self, session: SessionId, user: UserId) {
        let now = self.clock.monotonic();
        let until = now + Duration::from_secs(PAGE_OPENING_SECS_MAX);
        let mut entries = self.entries.lock();
        entries.retain(|_, entry| !entry.is_over(now));
        entries.entry((session, Some(user))).or_insert(PresenceEntry { open: 0, until }).until =
            until;
    }

    /// Whether a page has the session open, or had it open a moment ago.
    pub(crate) fn is_open(&self, session: &SessionId) -> bool {
        self.any(|(open, _)| open == session)
    }

    /// The same for one account.
    pub(crate) fn is_open_by(&self, session: &SessionId, user: UserId) -> bool {
        self.any(|(open, by)| open == session && *by == Some(user))
    }

    fn any(&self, wanted: impl Fn(&PresenceKey) -> bool) -> bool {
        let now = self.clock.monotonic();
        self.entries.lock().iter().any(|(key, entry)| wanted(key) && !entry.is_over(now))
    }
}

impl PresenceEntry {
    fn is_over(&self, now: Instant) -> bool {
        self.open == 0 && now > self.until
    }
}

impl Drop for OpenPage {
    fn drop(&mut self) {
        let now = self.presence.clock.monotonic();
        let mut entries = self.presence.entries.lock();
        if let Some(entry) = entries.get_mut(&self.key) {
            entry.open = entry.open.saturating_sub(1);
            entry.until = now + Duration::from_secs(PAGE_AWAY_SECS_MAX);
        }
        entries.retain(|_, entry| !entry.is_over(now));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use graphlume_types::TestClock;

    #[test]
    fn a_page_counts_as_open_until_it_has_been_gone_for_a_while() {
        let clock = Arc::new(TestClock::at(0));
        let presence = Presence::new(clock.clone());
        let session: SessionId = "s".parse().unwrap();
        let (alice, bob) = (UserId(1), UserId(2));
        assert!(!presence.is_open(&session));
        let first = presence.open(session.clone(), Some(alice));
        let second = presence.open(session.clone(), Some(alice));
        let guest = presence.open(session.clone(), None);
        assert!(presence.is_open_by(&session, alice) && !presence.is_open_by(&session, bob));
        drop(first);
        clock.advance(Duration::from_secs(PAGE_AWAY_SECS_MAX + 1));
        assert!(presence.is_open_by(&session, alice), "one is still there");
        drop(second);
        clock.advance(Duration::from_secs(PAGE_AWAY_SECS_MAX));
        assert!(presence.is_open_by(&session, alice), "it may be loading again");
        clock.advance(Duration::from_millis(1));
        assert!(
            !presence.is_open_by(&session, alice) && presence.is_open(&session),
            "the guest stays"
        );
        drop(guest);
        clock.advance(Duration::from_secs(PAGE_AWAY_SECS_MAX + 1));
        assert!(!presence.is_open(&session));
        drop(presence.open("t".parse().unwrap(), None));
        assert_eq!(presence.entries.lock().len(), 1, "what is over is forgotten");
    }

    #[test]
    fn a_page_that_is_on_its_way_counts_as_open_for_its_account_alone() {
        let clock = Arc::new(TestClock::at(0));
        let presence = Presence::new(clock.clone());
        let session: SessionId = "s".parse().unwrap();
        let (alice, bob) = (UserId(1), UserId(2));
        presence.expect(session.clone(), alice);
        assert!(presence.is_open_by(&session, alice) && !presence.is_open_by(&session, bob));
        clock.advance(Duration::from_secs(PAGE_OPENING_SECS_MAX));
        assert!(presence.is_open_by(&session, alice));
        clock.advance(Duration::from_millis(1));
        assert!(!presence.is_open(&session), "it never came");
        presence.expect(session.clone(), alice);
        drop(presence.open(session.clone(), Some(alice)));
        clock.advance(Duration::from_secs(PAGE_AWAY_SECS_MAX + 1));
        assert!(!presence.is_open(&session), "it came and went");
        for n in 0..100 {
            presence.expect(format!("s{n}").parse().unwrap(), alice);
            clock.advance(Duration::from_secs(PAGE_OPENING_SECS_MAX + 1));
        }
        assert_eq!(presence.entries.lock().len(), 1, "what is over is forgotten");
    }
}
