//! Copies of graphs and of columns in device memory. Each can be made again from main memory, so one that is not in use
//! may go at any time.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use graphlume_types::DatasetId;
use parking_lot::Mutex;

/// A dataset and the version of its element set.
pub(crate) type Key = (DatasetId, u32);

/// What names a copy.
pub(crate) trait CopyKey: Clone + Eq + Hash + Ord {
    /// The graph that it belongs to.
    fn graph(&self) -> Key;
}

impl CopyKey for Key {
    fn graph(&self) -> Key {
        *self
    }
}

struct Entry<V> {
    value: Arc<V>,
    used: Instant,
}

/// The copies. One whose value is held elsewhere is not evicted.
pub(crate) struct Cache<K, V> {
    entries: Mutex<HashMap<K, Entry<V>>>,
    /// Held while a copy is made, so that callers of one graph cause one copy, and so that two copies do
    /// not evict for each other.
    making: Mutex<()>,
    pub(crate) made: AtomicU64,
    pub(crate) evictions: AtomicU64,
}

impl<K: CopyKey, V> Cache<K, V> {
    pub(crate) fn new() -> Self {
        Self {
            entries: Mutex::new(HashMap::new()),
            making: Mutex::new(()),
            made: AtomicU64::new(0),
            evictions: AtomicU64::new(0),
        }
    }

    fn get(&self, key: &K, now: Instant) -> Option<Arc<V>> {
        let mut entries = self.entries.lock();
        let entry = entries.get_mut(key)?;
        entry.used = now;
        Some(entry.value.clone())
    }

    /// The copy, made if it is not there. `make` runs again after each eviction for as long as it is
    /// `short` of memory and another idle copy can go.
    ///
    /// # Errors
    /// The last error of `make`.
    pub(crate) fn get_or_make<E>(
        &self,
        key: K,
        now: Instant,
        short: impl Fn(&E) -> bool,
        make: impl FnMut() -> Result<V, E>,
    ) -> Result<Arc<V>, E> {
        if let Some(found) = self.get(&key, now) {
            return Ok(found);
        }
        let _one = self.making.lock();
        if let Some(found) = self.get(&key, now) {
            return Ok(found);
        }
        let value = Arc::new(self.with_room(short, make)?);
        self.made.fetch_add(1, Ordering::Relaxed);
        self.entries.lock().insert(key, Entry { value: value.clone(), used: now });
        Ok(value)
    }

    /// Runs `make`, evicting the longest unused idle copy after each try that is `short` of memory.
    ///
    /// # Errors
    /// The last error of `make`.
    pub(crate) fn with_room<R, E>(
        &self,
        short: impl Fn(&E) -> bool,
        mut make: impl FnMut() -> Result<R, E>,
    ) -> Result<R, E> {
        loop {
            match make() {
                Err(e) if short(&e) && self.evict_one() => {}
                done => return done,
            }
        }
    }

    /// Drops the copy that is not in use and was used longest ago; whether there was one.
    pub(crate) fn evict_one(&self) -> bool {
        let mut entries = self.entries.lock();
        // New holders come out of `get` alone, under this lock, so a count of one stays one.
        let idle = entries.iter().filter(|(_, e)| Arc::strong_count(&e.value) == 1);
        let oldest = idle.min_by(|a, b| (a.1.used, a.0).cmp(&(b.1.used, b.0)));
        let Some(key) = oldest.map(|(key, _)| key.clone()) else {
            return false;
        };
        let entry = entries.remove(&key);
        drop(entries);
        // Giving device memory back may take a while: not under the lock.
        drop(entry);
        tracing::info!(dataset = %key.graph().0, "evicted from the GPU to make room");
        self.evictions.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// Whether there is a copy.
    pub(crate) fn has(&self, key: &K) -> bool {
        self.entries.lock().contains_key(key)
    }

    /// Takes out the copies of graphs that `is_kept` does not name.
    pub(crate) fn take_unless(&self, is_kept: impl Fn(Key) -> bool) -> Vec<Arc<V>> {
        let mut entries = self.entries.lock();
        let gone: Vec<K> = entries.keys().filter(|key| !is_kept(key.graph())).cloned().collect();
        gone.iter().filter_map(|key| entries.remove(key)).map(|e| e.value).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.lock().len()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use std::time::Duration;

    use graphlume_types::{Budget, Reservation, ResourcesExhausted};

    use super::*;

    fn key(n: u8) -> Key {
        (DatasetId::from_bytes([n; 16]), 1)
    }

    struct Rig {
        cache: Cache<Key, Reservation>,
        budget: Budget,
        start: Instant,
    }

    impl Rig {
        fn new(limit: u64) -> Self {
            let start = Instant::now();
            Self { cache: Cache::new(), budget: Budget::new("test", limit), start }
        }

        fn want(&self, n: u8, bytes: u64, at: u64) -> Result<Arc<Reservation>, ResourcesExhausted> {
            let now = self.start + Duration::from_secs(at);
            let short = |e: &ResourcesExhausted| !e.never_fits();
            self.cache.get_or_make(key(n), now, short, || self.budget.try_reserve(bytes))
        }
    }

    #[test]
    fn the_longest_unused_idle_copy_goes_first_and_a_used_one_never() {
        let rig = Rig::new(100);
        let held = rig.want(1, 40, 0).unwrap();
        rig.want(2, 30, 1).unwrap();
        rig.want(3, 30, 2).unwrap();
        rig.want(2, 30, 3).unwrap();
        assert_eq!(rig.cache.made.load(Ordering::Relaxed), 3, "the second one was found");
        rig.want(4, 30, 4).unwrap();
        assert!(rig.cache.get(&key(3), rig.start).is_none(), "the longest unused");
        assert!(rig.cache.get(&key(2), rig.start).is_some() && rig.cache.len() == 3);
        // All idle ones together are not enough: they are gone, the held one stays, the call is refused.
        assert!(!rig.want(5, 70, 5).unwrap_err().never_fits());
        assert_eq!((rig.cache.len(), rig.budget.used()), (1, 40));
        drop(held);
        rig.want(5, 70, 6).unwrap();
        assert_eq!(rig.cache.evictions.load(Ordering::Relaxed), 4);
    }

    #[test]
    fn what_never_fits_evicts_nobody() {
        let rig = Rig::new(100);
        rig.want(1, 60, 0).unwrap();
        assert!(rig.want(2, 101, 1).unwrap_err().never_fits());
        assert_eq!(rig.cache.len(), 1);
    }

    #[test]
    fn the_ledger_returns_to_nothing() {
        let rig = Rig::new(100);
        let held = rig.want(1, 60, 0).unwrap();
        rig.want(2, 40, 0).unwrap();
        drop(rig.cache.take_unless(|k| k == key(2)));
        assert_eq!(rig.budget.used(), 100, "somebody still computes with the first");
        drop(held);
        assert_eq!(rig.budget.used(), 40);
        drop(rig.cache.take_unless(|_| false));
        assert_eq!(rig.budget.used(), 0);
    }
}
