//! Failed logins are counted per account name and per peer address, known account or not.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use graphlume_types::limits::{
    LOGIN_FAILURE_WINDOW_SECS, LOGIN_FAILURES_MAX, LOGIN_FAILURES_PER_PEER_MAX,
    LOGIN_THROTTLE_KEYS_MAX,
};
use parking_lot::Mutex;

use crate::ServiceError;

#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    Account(String),
    Peer(IpAddr),
}

struct Count {
    since: Instant,
    attempts: u32,
}

/// The counts of the running window. An attempt is counted before the password is looked at, so that
/// many attempts at once do not slip through together; success takes it back.
pub(crate) struct Throttle(Mutex<HashMap<Key, Count>>);

fn window() -> Duration {
    Duration::from_secs(LOGIN_FAILURE_WINDOW_SECS.unsigned_abs())
}

impl Throttle {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(HashMap::new()))
    }

    /// Counts an attempt.
    ///
    /// # Errors
    /// [`ServiceError::Throttled`] once the account or the peer has used up its failures.
    pub(crate) fn begin(
        &self,
        account: &str,
        peer: IpAddr,
        now: Instant,
    ) -> Result<(), ServiceError> {
        let mut map = self.0.lock();
        map.retain(|_, c| now.saturating_duration_since(c.since) < window());
        let keys = [
            (Key::Account(account.chars().take(256).collect()), LOGIN_FAILURES_MAX),
            (Key::Peer(peer), LOGIN_FAILURES_PER_PEER_MAX),
        ];
        for (key, max) in &keys {
            if let Some(c) = map.get(key).filter(|c| c.attempts >= *max) {
                let left = window().saturating_sub(now.saturating_duration_since(c.since));
                return Err(ServiceError::Throttled { retry_secs: left.as_secs().max(1) });
            }
        }
        if map.len() + keys.len() > LOGIN_THROTTLE_KEYS_MAX {
            // A flood of invented names must not grow the table: the oldest entry makes room.
            for _ in &keys {
                let oldest = map.iter().min_by_key(|(_, c)| c.since).map(|(k, _)| k.clone());
                oldest.and_then(|k| map.remove(&k));
            }
        }
        for (key, _) in keys {
            map.entry(key).or_insert(Count { since: now, attempts: 0 }).attempts += 1;
        }
        Ok(())
    }

    /// Takes an attempt back that was not looked at after all.
    pub(crate) fn undone(&self, account: &str, peer: IpAddr) {
        let mut map = self.0.lock();
        for key in [Key::Account(account.chars().take(256).collect()), Key::Peer(peer)] {
            if let Some(c) = map.get_mut(&key) {
                c.attempts = c.attempts.saturating_sub(1);
            }
        }
    }

    /// Forgets the account's failures and takes the peer's attempt back.
    pub(crate) fn succeeded(&self, account: &str, peer: IpAddr) {
        let mut map = self.0.lock();
        map.remove(&Key::Account(account.chars().take(256).collect()));
        if let Some(c) = map.get_mut(&Key::Peer(peer)) {
            c.attempts = c.attempts.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use std::net::Ipv4Addr;

    const PEER: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[test]
    fn an_account_is_refused_after_its_failures_and_again_welcome_after_the_window() {
        let t = Throttle::new();
        let start = Instant::now();
        for _ in 0..LOGIN_FAILURES_MAX {
            t.begin("alice", PEER, start).unwrap();
        }
        let refused = t.begin("alice", PEER, start + Duration::from_secs(60)).unwrap_err();
        assert!(matches!(refused, ServiceError::Throttled { retry_secs: 840 }), "{refused:?}");
        t.begin("bob", PEER, start).unwrap();
        t.begin("alice", PEER, start + window()).unwrap();
    }

    #[test]
    fn a_success_clears_the_account() {
        let t = Throttle::new();
        let now = Instant::now();
        for _ in 0..LOGIN_FAILURES_MAX * 3 {
            t.begin("alice", PEER, now).unwrap();
            t.succeeded("alice", PEER);
        }
    }

    #[test]
    fn a_peer_that_tries_many_names_is_refused() {
        let t = Throttle::new();
        let now = Instant::now();
        for i in 0..LOGIN_FAILURES_PER_PEER_MAX {
            t.begin(&format!("user{i}"), PEER, now).unwrap();
        }
        assert!(t.begin("fresh", PEER, now).is_err());
        assert!(t.begin("fresh", IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), now).is_ok());
    }

    #[test]
    fn the_table_does_not_grow_past_its_limit() {
        let t = Throttle::new();
        let now = Instant::now();
        for i in 0..LOGIN_THROTTLE_KEYS_MAX as u32 {
            t.begin(&format!("u{i}"), IpAddr::V4(Ipv4Addr::from(i)), now).unwrap();
            if i % 97 == 0 {
                assert!(t.0.lock().len() <= LOGIN_THROTTLE_KEYS_MAX);
            }
        }
        assert!(t.0.lock().len() <= LOGIN_THROTTLE_KEYS_MAX);
    }
}
