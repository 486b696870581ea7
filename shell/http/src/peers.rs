//! Connections of each address, counted so that one cannot take the places of all others.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use graphlume_types::address::household;
use parking_lot::Mutex;

/// Counts connections by address.
#[derive(Debug)]
pub(crate) struct Peers {
    /// 0 sets no bound.
    limit: AtomicUsize,
    counts: Mutex<HashMap<IpAddr, usize>>,
}

/// One connection of an address; counted out on drop.
#[derive(Debug)]
pub(crate) struct CountedConnection {
    peers: Arc<Peers>,
    key: IpAddr,
}

impl Peers {
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self { limit: AtomicUsize::new(limit), counts: Mutex::new(HashMap::new()) })
    }

    /// Sets another limit; connections that are above it stay.
    pub(crate) fn set_limit(&self, limit: usize) {
        self.limit.store(limit, Ordering::Relaxed);
    }

    /// Counts a connection in; none when the address has all that it may have. This machine itself, such
    /// as a proxy on it, is not counted.
    pub(crate) fn enter(self: &Arc<Self>, peer: IpAddr) -> Result<Option<CountedConnection>, ()> {
        let key = household(peer);
        let limit = self.limit.load(Ordering::Relaxed);
        if limit == 0 || key.is_loopback() {
            return Ok(None);
        }
        let mut counts = self.counts.lock();
        let count = counts.entry(key).or_insert(0);
        if *count >= limit {
            return Err(());
        }
        *count += 1;
        Ok(Some(CountedConnection { peers: Arc::clone(self), key }))
    }
}

impl Drop for CountedConnection {
    fn drop(&mut self) {
        let mut counts = self.peers.counts.lock();
        if let Some(count) = counts.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.key);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn an_address_has_so_many_places_and_gets_them_back() {
        let peers = Peers::new(2);
        let first = peers.enter(ip("192.0.2.1")).unwrap();
        let _second = peers.enter(ip("::ffff:192.0.2.1")).unwrap();
        assert!(peers.enter(ip("192.0.2.1")).is_err(), "mapped addresses are the same");
        assert!(peers.enter(ip("192.0.2.2")).is_ok_and(|p| p.is_some()));
        drop(first);
        assert!(peers.enter(ip("192.0.2.1")).is_ok());
    }

    #[test]
    fn a_network_of_ipv6_counts_once_and_this_machine_not_at_all() {
        let peers = Peers::new(1);
        let _held = peers.enter(ip("2001:db8::1")).unwrap();
        assert!(peers.enter(ip("2001:db8::ffff:1")).is_err());
        assert!(peers.enter(ip("2001:db8:0:1::1")).is_ok());
        for own in ["127.0.0.1", "127.0.0.9", "::1", "::ffff:127.0.0.1"] {
            assert!(peers.enter(ip(own)).is_ok_and(|p| p.is_none()), "{own}");
        }
        assert!(Peers::new(0).enter(ip("192.0.2.1")).is_ok_and(|p| p.is_none()), "no bound");
        drop(_held);
        assert!(peers.counts.lock().is_empty(), "nothing is kept of who has gone");
    }
}
