//! Who has which visualization open at this moment.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use graphlume_types::limits::{PAGE_AWAY_SECS_MAX, PAGE_OPENING_SECS_MAX};
use graphlume_types::{Clock, SessionId, UserId};
use parking_lot::Mutex;

/// A session and who looks at it; nobody in particular without a credential.
type Seat = (SessionId, Option<UserId>);

/// Open pages of one seat, and until when it counts as open without any.
#[derive(Debug)]
struct Seen {
    open: usize,
    until: Instant,
}

/// The pages that are open.
pub(crate) struct Presence {
    seats: Mutex<HashMap<Seat, Seen>>,
    clock: Arc<dyn Clock>,
}

/// A page that is open until this is dropped.
pub struct OpenPage {
    pages: Arc<Presence>,
    seat: Seat,
}

impl std::fmt::Debug for OpenPage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("OpenPage").field(&self.seat).finish()
    }
}

impl Presence {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Arc<Self> {
        Arc::new(Self { seats: Mutex::default(), clock })
    }

    pub(crate) fn open(self: &Arc<Self>, session: SessionId, user: Option<UserId>) -> OpenPage {
        let seat = (session, user);
        let now = self.clock.monotonic();
        let mut seats = self.seats.lock();
        seats.entry(seat.clone()).or_insert(Seen { open: 0, until: now }).open += 1;
        OpenPage { pages: Arc::clone(self), seat }
    }

    /// A page was asked for and is on its way to a browser of this account: until its stream is open, or
    /// for a while, it counts as open.
    pub(crate) fn expect(&self, session: SessionId, user: UserId) {
        let now = self.clock.monotonic();
        let until = now + Duration::from_secs(PAGE_OPENING_SECS_MAX);
        let mut seats = self.seats.lock();
        seats.retain(|_, seen| !seen.is_over(now));
        seats.entry((session, Some(user))).or_insert(Seen { open: 0, until }).until = until;
    }

    /// Whether somebody has the session open, or had it open a moment ago.
    pub(crate) fn is_open(&self, session: &SessionId) -> bool {
        self.any(|(open, _)| open == session)
    }

    /// The same for one account.
    pub(crate) fn is_open_by(&self, session: &SessionId, user: UserId) -> bool {
        self.any(|(open, by)| open == session && *by == Some(user))
    }

    fn any(&self, wanted: impl Fn(&Seat) -> bool) -> bool {
        let now = self.clock.monotonic();
        self.seats.lock().iter().any(|(seat, seen)| wanted(seat) && !seen.is_over(now))
    }
}

impl Seen {
    fn is_over(&self, now: Instant) -> bool {
        self.open == 0 && now > self.until
    }
}

impl Drop for OpenPage {
    fn drop(&mut self) {
        let now = self.pages.clock.monotonic();
        let mut seats = self.pages.seats.lock();
        if let Some(seen) = seats.get_mut(&self.seat) {
            seen.open = seen.open.saturating_sub(1);
            seen.until = now + Duration::from_secs(PAGE_AWAY_SECS_MAX);
        }
        seats.retain(|_, seen| !seen.is_over(now));
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
        let pages = Presence::new(clock.clone());
        let session: SessionId = "s".parse().unwrap();
        let (alice, bob) = (UserId(1), UserId(2));
        assert!(!pages.is_open(&session));
        let first = pages.open(session.clone(), Some(alice));
        let second = pages.open(session.clone(), Some(alice));
        let guest = pages.open(session.clone(), None);
        assert!(pages.is_open_by(&session, alice) && !pages.is_open_by(&session, bob));
        drop(first);
        clock.advance(Duration::from_secs(PAGE_AWAY_SECS_MAX + 1));
        assert!(pages.is_open_by(&session, alice), "one is still there");
        drop(second);
        clock.advance(Duration::from_secs(PAGE_AWAY_SECS_MAX));
        assert!(pages.is_open_by(&session, alice), "it may be loading again");
        clock.advance(Duration::from_millis(1));
        assert!(!pages.is_open_by(&session, alice) && pages.is_open(&session), "the guest stays");
        drop(guest);
        clock.advance(Duration::from_secs(PAGE_AWAY_SECS_MAX + 1));
        assert!(!pages.is_open(&session));
        drop(pages.open("t".parse().unwrap(), None));
        assert_eq!(pages.seats.lock().len(), 1, "what is over is forgotten");
    }

    #[test]
    fn a_page_that_is_on_its_way_counts_as_open_for_its_account_alone() {
        let clock = Arc::new(TestClock::at(0));
        let pages = Presence::new(clock.clone());
        let session: SessionId = "s".parse().unwrap();
        let (alice, bob) = (UserId(1), UserId(2));
        pages.expect(session.clone(), alice);
        assert!(pages.is_open_by(&session, alice) && !pages.is_open_by(&session, bob));
        clock.advance(Duration::from_secs(PAGE_OPENING_SECS_MAX));
        assert!(pages.is_open_by(&session, alice));
        clock.advance(Duration::from_millis(1));
        assert!(!pages.is_open(&session), "it never came");
        pages.expect(session.clone(), alice);
        drop(pages.open(session.clone(), Some(alice)));
        clock.advance(Duration::from_secs(PAGE_AWAY_SECS_MAX + 1));
        assert!(!pages.is_open(&session), "it came and went");
        for n in 0..100 {
            pages.expect(format!("s{n}").parse().unwrap(), alice);
            clock.advance(Duration::from_secs(PAGE_OPENING_SECS_MAX + 1));
        }
        assert_eq!(pages.seats.lock().len(), 1, "what is over is forgotten");
    }
}
