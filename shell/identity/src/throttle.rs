//! Throttle of attempts at passwords. Failures of one account from one place are refused past a limit, so
//! that no attacker can keep the account's owner out from anywhere else. Failures of one account from
//! everywhere, and of one address with any account, merely slow further attempts down, and not those from
//! a place that has signed in to the account before.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use graphlume_types::address::household;
use graphlume_types::limits::{
    LOGIN_FAILURE_WINDOW_SECS, LOGIN_FAILURES_MAX, LOGIN_FAILURES_PER_PEER_MAX, LOGIN_KNOWN_DAYS,
    LOGIN_PACE_SECS, LOGIN_THROTTLE_KEYS_MAX, LOGIN_WAIT_SECS_MAX,
};
use parking_lot::Mutex;

use crate::browser::BrowserId;

/// Characters of an account name that tell it apart from others here.
const NAME_CHARS: usize = 256;
/// What goes at once when the table is full, as a part of it.
const EVICTED_PART: usize = 8;

/// Where an attempt comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum AttemptOrigin {
    /// An address, or a network of IPv6.
    Address(IpAddr),
    /// A browser that has signed in to the account before.
    Browser(BrowserId),
}

/// One attempt to sign in.
#[derive(Debug, Clone)]
pub(crate) struct Attempt {
    account: String,
    address: IpAddr,
    place: AttemptOrigin,
}

/// Why an attempt is not looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub retry_secs: u64,
    /// Whether this is the first one of its kind in the window: it goes into the audit log.
    pub is_first: bool,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    At(String, AttemptOrigin),
    Account(String),
    Address(IpAddr),
}

struct Count {
    since: Instant,
    attempts: u32,
    /// When the next slowed attempt may be looked at.
    next: Instant,
    is_told: bool,
}

#[derive(Default)]
struct State {
    counts: HashMap<Key, Count>,
    /// Accounts and addresses that signed in to them, and when.
    known: HashMap<(String, IpAddr), Instant>,
}

/// The counts of the running window. An attempt is counted before the password is looked at, so that
/// many attempts at once do not slip through together; success takes it back.
pub(crate) struct Throttle(Mutex<State>);

fn window() -> Duration {
    Duration::from_secs(LOGIN_FAILURE_WINDOW_SECS.unsigned_abs())
}

fn known_for() -> Duration {
    Duration::from_secs(LOGIN_KNOWN_DAYS.unsigned_abs() * 86_400)
}

impl Attempt {
    /// An attempt on `account` from `address`, in a browser that is known to the account if `browser` is
    /// there.
    pub(crate) fn new(account: &str, address: IpAddr, browser: Option<BrowserId>) -> Self {
        let address = household(address);
        Self {
            account: account.chars().take(NAME_CHARS).collect(),
            address,
            place: browser.map_or(AttemptOrigin::Address(address), AttemptOrigin::Browser),
        }
    }

    fn at(&self) -> Key {
        Key::At(self.account.clone(), self.place)
    }

    /// What merely slows, and from how many failures on.
    fn lanes(&self) -> [(Key, u32); 2] {
        [
            (Key::Account(self.account.clone()), LOGIN_FAILURES_MAX),
            (Key::Address(self.address), LOGIN_FAILURES_PER_PEER_MAX),
        ]
    }
}

impl Throttle {
    pub(crate) fn new() -> Self {
        Self(Mutex::default())
    }

    /// Counts an attempt, and says how long it has to wait before it is looked at.
    ///
    /// # Errors
    /// [`Refusal`] once the place has used up its failures, or where the wait would be too long.
    pub(crate) fn begin(&self, attempt: &Attempt, now: Instant) -> Result<Duration, Refusal> {
        let mut state = self.0.lock();
        let is_known = matches!(attempt.place, AttemptOrigin::Browser(_))
            || state
                .known
                .get(&(attempt.account.clone(), attempt.address))
                .is_some_and(|at| now.saturating_duration_since(*at) < known_for());
        let at = attempt.at();
        if let Some(count) = state.live(&at, now).filter(|c| c.attempts >= LOGIN_FAILURES_MAX) {
            let left = window().saturating_sub(now.saturating_duration_since(count.since));
            return Err(count.refuse(left));
        }
        let mut wait = Duration::ZERO;
        for (key, max) in attempt.lanes() {
            let Some(count) = state.live(&key, now).filter(|c| c.attempts >= max && !is_known)
            else {
                continue;
            };
            let mine = count.next.saturating_duration_since(now);
            if mine > Duration::from_secs(LOGIN_WAIT_SECS_MAX) {
                return Err(count.refuse(mine));
            }
            count.next = now + mine + Duration::from_secs(LOGIN_PACE_SECS);
            wait = wait.max(mine);
        }
        state.make_room(now);
        for key in attempt.lanes().map(|(key, _)| key).into_iter().chain([at]) {
            let fresh = Count { since: now, attempts: 0, next: now, is_told: false };
            state.counts.entry(key).or_insert(fresh).attempts += 1;
        }
        Ok(wait)
    }

    /// Takes an attempt back that was not looked at after all.
    pub(crate) fn undone(&self, attempt: &Attempt) {
        let mut state = self.0.lock();
        for key in attempt.lanes().map(|(key, _)| key).into_iter().chain([attempt.at()]) {
            state.take_back(&key);
        }
    }

    /// Forgets the failures from the attempt's place, and takes the attempt itself back elsewhere. The
    /// address is known to the account from now on.
    pub(crate) fn succeeded(&self, attempt: &Attempt, now: Instant) {
        let mut state = self.0.lock();
        state.counts.remove(&attempt.at());
        for (key, _) in attempt.lanes() {
            state.take_back(&key);
        }
        if state.known.len() >= LOGIN_THROTTLE_KEYS_MAX {
            evict(&mut state.known, |at| *at);
        }
        state.known.insert((attempt.account.clone(), attempt.address), now);
    }
}

impl Count {
    fn refuse(&mut self, left: Duration) -> Refusal {
        let is_first = !std::mem::replace(&mut self.is_told, true);
        Refusal { retry_secs: left.as_secs().max(1), is_first }
    }
}

impl State {
    /// The count of a key in the running window; one of an earlier window is forgotten.
    fn live(&mut self, key: &Key, now: Instant) -> Option<&mut Count> {
        let over = |c: &Count| now.saturating_duration_since(c.since) >= window();
        if self.counts.get(key).is_some_and(over) {
            self.counts.remove(key);
        }
        self.counts.get_mut(key)
    }

    fn take_back(&mut self, key: &Key) {
        if let Some(count) = self.counts.get_mut(key) {
            count.attempts = count.attempts.saturating_sub(1);
            if count.attempts == 0 {
                self.counts.remove(key);
            }
        }
    }

    /// A flood of invented names must not grow the table: what is over goes, then the oldest.
    fn make_room(&mut self, now: Instant) {
        if self.counts.len() + 3 <= LOGIN_THROTTLE_KEYS_MAX {
            return;
        }
        self.counts.retain(|_, c| now.saturating_duration_since(c.since) < window());
        if self.counts.len() + 3 > LOGIN_THROTTLE_KEYS_MAX {
            evict(&mut self.counts, |c| c.since);
        }
    }
}

/// Removes the oldest part of a table, so that the next removal is far away.
fn evict<K: std::hash::Hash + Eq, V>(map: &mut HashMap<K, V>, at: impl Fn(&V) -> Instant) {
    let mut times: Vec<Instant> = map.values().map(&at).collect();
    let part = times.len() / EVICTED_PART;
    let (_, cut, _) = times.select_nth_unstable(part);
    let cut = *cut;
    let mut left = part + 1;
    map.retain(|_, v| {
        let goes = at(v) <= cut && left > 0;
        left -= usize::from(goes);
        !goes
    });
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use std::net::Ipv4Addr;

    fn ip(n: u32) -> IpAddr {
        IpAddr::V4(Ipv4Addr::from(0x0a00_0000 + n))
    }

    fn on(account: &str, from: u32) -> Attempt {
        Attempt::new(account, ip(from), None)
    }

    fn secs(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    fn fail(t: &Throttle, attempt: &Attempt, times: u32, now: Instant) {
        for _ in 0..times {
            t.begin(attempt, now).unwrap();
        }
    }

    #[test]
    fn a_place_is_refused_after_its_failures_and_again_welcome_after_the_window() {
        let t = Throttle::new();
        let start = Instant::now();
        fail(&t, &on("alice", 1), LOGIN_FAILURES_MAX, start);
        let refused = t.begin(&on("alice", 1), start + secs(60));
        assert_eq!(refused, Err(Refusal { retry_secs: 840, is_first: true }));
        let again = t.begin(&on("alice", 1), start + secs(61)).unwrap_err();
        assert!(!again.is_first, "one line in the log is enough");
        assert_eq!(t.begin(&on("bob", 1), start), Ok(Duration::ZERO));
        assert_eq!(t.begin(&on("alice", 1), start + window()), Ok(Duration::ZERO));
    }

    #[test]
    fn nobody_locks_an_account_for_others_but_may_slow_strangers_down() {
        let t = Throttle::new();
        let now = Instant::now();
        t.begin(&on("alice", 7), now).unwrap();
        t.succeeded(&on("alice", 7), now);
        for from in 1..=5 {
            let _ = t.begin(&on("alice", from), now);
            fail(&t, &on("alice", from), 1, now);
        }
        assert_eq!(t.begin(&on("alice", 7), now), Ok(Duration::ZERO), "known there");
        let waits: Vec<_> = (100..108).map(|from| t.begin(&on("alice", from), now)).collect();
        for (n, wait) in waits.iter().enumerate().take(6) {
            assert_eq!(*wait, Ok(secs(n as u64)), "one a second");
        }
        assert!(waits[6].is_err() && waits[7].is_err_and(|r| !r.is_first));
        assert_eq!(t.begin(&on("alice", 200), now + secs(7)), Ok(Duration::ZERO));
        let later = now + known_for();
        fail(&t, &on("alice", 9), LOGIN_FAILURES_MAX, later);
        t.begin(&on("alice", 7), later).unwrap();
        assert_eq!(t.begin(&on("alice", 7), later), Ok(secs(1)), "known for so long only");
    }

    #[test]
    fn a_known_browser_has_failures_of_its_own() {
        let t = Throttle::new();
        let now = Instant::now();
        fail(&t, &on("alice", 1), LOGIN_FAILURES_MAX, now);
        let known = Attempt::new("alice", ip(1), Some(BrowserId::for_test(1)));
        for _ in 0..LOGIN_FAILURES_MAX {
            assert_eq!(t.begin(&known, now), Ok(Duration::ZERO));
        }
        assert!(t.begin(&known, now).is_err(), "a stolen one is of little use");
        let other = Attempt::new("alice", ip(1), Some(BrowserId::for_test(2)));
        assert_eq!(t.begin(&other, now), Ok(Duration::ZERO));
    }

    #[test]
    fn an_address_that_tries_many_names_is_slowed_down_and_not_refused() {
        let t = Throttle::new();
        let now = Instant::now();
        for i in 0..LOGIN_FAILURES_PER_PEER_MAX {
            t.begin(&on(&format!("user{i}"), 1), now).unwrap();
        }
        assert_eq!(t.begin(&on("alice", 1), now), Ok(Duration::ZERO));
        assert_eq!(t.begin(&on("bob", 1), now), Ok(secs(1)));
        assert_eq!(t.begin(&on("bob", 2), now), Ok(Duration::ZERO), "from elsewhere at once");
        let mapped = IpAddr::V6(Ipv4Addr::from(0x0a00_0001).to_ipv6_mapped());
        assert_eq!(t.begin(&Attempt::new("carol", mapped, None), now), Ok(secs(2)), "the same one");
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one_place() {
        let t = Throttle::new();
        let now = Instant::now();
        let from =
            |n: u32| Attempt::new("alice", format!("2001:db8::{n:x}").parse().unwrap(), None);
        for n in 0..LOGIN_FAILURES_MAX {
            t.begin(&from(n + 1), now).unwrap();
        }
        assert!(t.begin(&from(99), now).is_err());
        assert!(
            t.begin(&Attempt::new("alice", "2001:db8:1::1".parse().unwrap(), None), now).is_ok()
        );
    }

    #[test]
    fn a_success_clears_its_place() {
        let t = Throttle::new();
        let now = Instant::now();
        for _ in 0..LOGIN_FAILURES_MAX * 3 {
            assert_eq!(t.begin(&on("alice", 1), now), Ok(Duration::ZERO));
            t.succeeded(&on("alice", 1), now);
        }
        for _ in 0..LOGIN_FAILURES_MAX * 3 {
            assert_eq!(t.begin(&on("bob", 1), now), Ok(Duration::ZERO));
            t.undone(&on("bob", 1));
        }
        assert!(t.0.lock().counts.is_empty());
    }

    #[test]
    fn the_tables_do_not_grow_past_their_limit() {
        let t = Throttle::new();
        let now = Instant::now();
        for i in 0..LOGIN_THROTTLE_KEYS_MAX as u32 + 9 {
            let attempt = on(&format!("u{i}"), i);
            t.begin(&attempt, now).unwrap();
            if i % 2 == 0 {
                t.succeeded(&attempt, now);
            }
            if i % 97 == 0 {
                let state = t.0.lock();
                assert!(state.counts.len() <= LOGIN_THROTTLE_KEYS_MAX);
                assert!(state.known.len() <= LOGIN_THROTTLE_KEYS_MAX);
            }
        }
        assert!(t.0.lock().counts.len() > LOGIN_THROTTLE_KEYS_MAX / 2, "and not too much goes");
    }
}
