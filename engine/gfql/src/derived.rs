//! What follows from a graph alone and is worth keeping with it, such as the adjacency of one type.

use std::any::Any;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use graphlume_types::{CancelToken, Reservation};

/// Things that one graph keeps at most; beyond it those go that were not asked for the longest time.
const KEPT_MAX: usize = 64;

#[derive(Debug)]
struct Entry {
    name: String,
    value: Arc<dyn Any + Send + Sync>,
    bytes: u64,
    /// Its part of the memory budget.
    _memory: Option<Reservation>,
}

/// Derived things by name, the one asked for last at the end.
#[derive(Debug, Default)]
pub(crate) struct Derived(Mutex<Vec<Entry>>);

impl Derived {
    pub(crate) fn get<T: Any + Send + Sync>(&self, name: &str) -> Option<Arc<T>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = all.iter().rposition(|e| e.name == name)?;
        let entry = all.remove(at);
        let value = Arc::clone(&entry.value);
        all.push(entry);
        value.downcast().ok()
    }

    /// Keeps something of so many bytes, where together they are at most `max`. What does not fit into the
    /// memory budget is not kept.
    pub(crate) fn put<T: Any + Send + Sync>(
        &self,
        name: &str,
        value: &Arc<T>,
        (bytes, max): (u64, u64),
        cancel: &CancelToken,
    ) {
        if bytes > max {
            return;
        }
        // Making room may take a while, and may want this graph's memory back.
        let Ok(memory) = cancel.reserve(bytes) else { return };
        let value = Arc::clone(value) as Arc<dyn Any + Send + Sync>;
        let entry = Entry { name: name.to_owned(), value, bytes, _memory: memory };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|e| e.name != name);
        all.push(entry);
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

    #[test]
    fn what_was_not_asked_for_the_longest_time_goes_first() {
        let derived = Derived::default();
        let cancel = CancelToken::new();
        for name in ["a", "b", "c"] {
            derived.put(name, &Arc::new(name.to_owned()), (4, 12), &cancel);
        }
        assert_eq!(*derived.get::<String>("a").unwrap(), "a");
        derived.put("d", &Arc::new(7_u8), (4, 12), &cancel);
        assert!(derived.get::<String>("b").is_none(), "the oldest");
        assert!(derived.get::<String>("a").is_some() && derived.get::<String>("c").is_some());
        assert_eq!(*derived.get::<u8>("d").unwrap(), 7);
        assert!(derived.get::<String>("d").is_none(), "something else under this name");
        derived.put("e", &Arc::new(0), (13, 12), &cancel);
        assert!(derived.get::<i32>("e").is_none(), "larger than all may be");
    }

    #[test]
    fn what_is_kept_counts_in_the_budget_until_it_goes() {
        let budget = Budget::new("host", 100);
        let share = MemoryConsumer::new(budget.clone(), 10, None);
        let cancel = CancelToken::new().with_memory(share);
        let derived = Derived::default();
        derived.put("a", &Arc::new(1), (60, 90), &cancel);
        derived.put("b", &Arc::new(2), (60, 90), &cancel);
        assert!(derived.get::<i32>("b").is_none(), "the budget has no room for it");
        assert_eq!(budget.used(), 60);
        derived.put("c", &Arc::new(3), (40, 90), &cancel);
        assert_eq!((derived.get::<i32>("a"), budget.used()), (None, 40));
        drop(derived);
        assert_eq!(budget.used(), 0);
    }

    #[test]
    fn only_so_many_things_are_kept() {
        let derived = Derived::default();
        for i in 0..KEPT_MAX + 3 {
            derived.put(&i.to_string(), &Arc::new(i), (0, 0), &CancelToken::new());
        }
        let kept = (0..KEPT_MAX + 3).filter(|i| derived.get::<usize>(&i.to_string()).is_some());
        assert_eq!(kept.collect::<Vec<_>>(), (3..KEPT_MAX + 3).collect::<Vec<_>>());
    }
}
