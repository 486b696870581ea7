//! Cache of values that follow from a graph alone, such as the adjacency of one type.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use graphlume_types::{CancelToken, Reservation};

/// Things that one graph keeps at most; beyond it those go that were not asked for the longest time.
const KEPT_MAX: usize = 64;

/// What something that is kept is found by. The type of the key says what stands under it, so two kinds of things cannot
/// be taken for each other.
pub trait CacheKey: Any + Clone + fmt::Debug + Eq + Send + Sync {
    /// What stands under a key of this type.
    type Value: Any + Send + Sync;
}

#[derive(Debug)]
struct Entry {
    key: Box<dyn Any + Send + Sync>,
    value: Arc<dyn Any + Send + Sync>,
    bytes: u64,
    /// Its part of the memory budget.
    _memory: Option<Reservation>,
}

impl Entry {
    fn is<K: CacheKey>(&self, key: &K) -> bool {
        self.key.downcast_ref::<K>() == Some(key)
    }
}

/// Derived things, the one asked for last at the end.
#[derive(Debug, Default)]
pub struct Cache(Mutex<Vec<Entry>>);

impl Cache {
    /// What stands under a key.
    pub fn get<K: CacheKey>(&self, key: &K) -> Option<Arc<K::Value>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = all.iter().rposition(|e| e.is(key))?;
        let entry = all.remove(at);
        let value = Arc::clone(&entry.value);
        all.push(entry);
        value.downcast().ok()
    }

    /// Keeps something of so many bytes, where together they are at most `max`. What does not fit into the
    /// memory budget is not kept.
    pub fn put<K: CacheKey>(
        &self,
        key: K,
        value: &Arc<K::Value>,
        (bytes, max): (u64, u64),
        cancel: &CancelToken,
    ) {
        if bytes > max {
            return;
        }
        // Making room may take a while, and may want this graph's memory back.
        let Ok(memory) = cancel.reserve(bytes) else { return };
        let value = Arc::clone(value) as Arc<dyn Any + Send + Sync>;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|e| !e.is(&key));
        all.push(Entry { key: Box::new(key), value, bytes, _memory: memory });
        let mut total: u64 = all.iter().map(|e| e.bytes).sum();
        let gone = all.iter().enumerate().take_while(|(i, e)| {
            let over = total > max || all.len() - i > KEPT_MAX;
            total -= if over { e.bytes } else { 0 };
            over
        });
        let gone = gone.count();
        all.drain(..gone);
    }
}

/// The value of a cell that several threads may ask for. No thread waits: with work that is shared out, a thread
/// that waits for others may be given work that asks for the same cell.
pub fn made<T>(cell: &OnceLock<T>, make: impl FnOnce() -> T) -> &T {
    if let Some(value) = cell.get() {
        return value;
    }
    let value = make();
    cell.get_or_init(|| value)
}

#[cfg(test)]
mod tests {
    use graphlume_types::{Budget, MemoryConsumer};

    use super::*;

    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Text(&'static str);

    impl CacheKey for Text {
        type Value = String;
    }

    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Number(usize);

    impl CacheKey for Number {
        type Value = usize;
    }

    #[test]
    fn what_was_not_asked_for_the_longest_time_goes_first() {
        let cache = Cache::default();
        let cancel = CancelToken::new();
        for name in ["a", "b", "c"] {
            cache.put(Text(name), &Arc::new(name.to_owned()), (4, 12), &cancel);
        }
        assert_eq!(*cache.get(&Text("a")).unwrap(), "a");
        cache.put(Number(7), &Arc::new(7), (4, 12), &cancel);
        assert!(cache.get(&Text("b")).is_none(), "the oldest");
        assert!(cache.get(&Text("a")).is_some() && cache.get(&Text("c")).is_some());
        assert_eq!(*cache.get(&Number(7)).unwrap(), 7);
        cache.put(Number(8), &Arc::new(0), (13, 12), &cancel);
        assert!(cache.get(&Number(8)).is_none(), "larger than all may be");
    }

    #[test]
    fn what_is_kept_counts_in_the_budget_until_it_goes() {
        let budget = Budget::new("host", 100);
        let share = MemoryConsumer::new(budget.clone(), 10, None);
        let cancel = CancelToken::new().with_memory(share);
        let cache = Cache::default();
        cache.put(Number(1), &Arc::new(1), (60, 90), &cancel);
        cache.put(Number(2), &Arc::new(2), (60, 90), &cancel);
        assert!(cache.get(&Number(2)).is_none(), "the budget has no room for it");
        assert_eq!(budget.used(), 60);
        cache.put(Number(3), &Arc::new(3), (40, 90), &cancel);
        assert_eq!((cache.get(&Number(1)), budget.used()), (None, 40));
        drop(cache);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn only_so_many_things_are_kept() {
        let cache = Cache::default();
        for i in 0..KEPT_MAX + 3 {
            cache.put(Number(i), &Arc::new(i), (0, 0), &CancelToken::new());
        }
        let kept = (0..KEPT_MAX + 3).filter(|i| cache.get(&Number(*i)).is_some());
        assert_eq!(kept.collect::<Vec<_>>(), (3..KEPT_MAX + 3).collect::<Vec<_>>());
    }
}
