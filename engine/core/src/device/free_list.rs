//! Deferred free list of device memory: freeing may take the driver a while, so it never happens
//! on the loop's thread.

use std::any::Any;

use parking_lot::Mutex;

/// The deferred free list of a device.
#[derive(Default)]
pub(crate) struct FreeList {
    items: Mutex<Vec<Box<dyn Any + Send>>>,
    /// Held while items are freed, so that a worker that needs their memory waits for another that frees them.
    freeing: Mutex<()>,
}

impl FreeList {
    /// Puts something on the list; never waits for what is being freed.
    pub(crate) fn push(&self, item: Box<dyn Any + Send>) {
        self.items.lock().push(item);
    }

    /// Frees everything that was on the list when this was called. On a worker.
    pub(crate) fn reclaim(&self) {
        let _one = self.freeing.lock();
        let items = std::mem::take(&mut *self.items.lock());
        drop(items);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.lock().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
    use std::sync::{Arc, Barrier};

    use super::*;

    /// Takes its time to be freed.
    struct Slow(SyncSender<()>, Receiver<()>, Arc<AtomicBool>);

    impl Drop for Slow {
        fn drop(&mut self) {
            let _ = self.0.send(());
            let _ = self.1.recv();
            self.2.store(true, Ordering::SeqCst);
        }
    }

    #[test]
    fn who_reclaims_beside_another_finds_the_memory_free() {
        let (list, freed) = (FreeList::default(), Arc::new(AtomicBool::new(false)));
        let (begun, has_begun) = sync_channel(1);
        let (go_on, wait) = sync_channel::<()>(0);
        list.push(Box::new(Slow(begun, wait, freed.clone())));
        let both = Barrier::new(2);
        std::thread::scope(|scope| {
            scope.spawn(|| list.reclaim());
            has_begun.recv().expect("the first frees it");
            assert!(list.is_empty(), "it is off the list before it is free");
            scope.spawn(|| {
                both.wait();
                list.reclaim();
                assert!(freed.load(Ordering::SeqCst));
            });
            both.wait();
            list.push(Box::new(()));
            drop(go_on);
        });
    }
}
