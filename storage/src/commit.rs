//! The answer of a commit, which can be awaited under any runtime or waited for by a plain thread.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use parking_lot::{Condvar, Mutex};

use crate::error::StoreError;

#[derive(Debug, Default)]
struct Slot {
    state: Mutex<State>,
    filled: Condvar,
}

#[derive(Debug, Default)]
struct State {
    result: Option<Result<(), StoreError>>,
    waker: Option<Waker>,
}

/// A commit on its way to the disk. It happens whether or not this is kept; `Ok` means durable.
#[derive(Debug)]
#[must_use = "only the answer tells whether the commit is durable"]
pub struct Commit(Arc<Slot>);

/// The writer's end. Dropped unanswered, it answers that the store is closed.
#[derive(Debug)]
pub(crate) struct Completer(Option<Arc<Slot>>);

pub(crate) fn pair() -> (Completer, Commit) {
    let slot = Arc::new(Slot::default());
    (Completer(Some(Arc::clone(&slot))), Commit(slot))
}

impl Commit {
    /// Blocks until the commit is durable or refused.
    ///
    /// # Errors
    /// Why it was refused.
    pub fn wait(self) -> Result<(), StoreError> {
        let mut state = self.0.state.lock();
        loop {
            if let Some(result) = state.result.take() {
                return result;
            }
            self.0.filled.wait(&mut state);
        }
    }
}

impl Future for Commit {
    type Output = Result<(), StoreError>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.0.state.lock();
        match state.result.take() {
            Some(result) => Poll::Ready(result),
            None => {
                state.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl Completer {
    pub fn complete(mut self, result: Result<(), StoreError>) {
        self.fill(result);
    }

    fn fill(&mut self, result: Result<(), StoreError>) {
        if let Some(slot) = self.0.take() {
            let waker = {
                let mut state = slot.state.lock();
                state.result = Some(result);
                state.waker.take()
            };
            slot.filled.notify_one();
            if let Some(w) = waker {
                w.wake();
            }
        }
    }
}

impl Drop for Completer {
    fn drop(&mut self) {
        self.fill(Err(StoreError::Closed));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_unanswered_commit_reports_a_closed_store() {
        let (completer, commit) = pair();
        drop(completer);
        assert!(matches!(commit.wait(), Err(StoreError::Closed)));
    }

    #[test]
    fn a_future_is_woken_by_the_answer() {
        struct Flag(std::sync::atomic::AtomicBool);
        impl std::task::Wake for Flag {
            fn wake(self: Arc<Self>) {
                self.0.store(true, std::sync::atomic::Ordering::SeqCst);
            }
        }
        let flag = Arc::new(Flag(std::sync::atomic::AtomicBool::new(false)));
        let waker = Waker::from(Arc::clone(&flag));
        let mut cx = Context::from_waker(&waker);
        let (completer, mut commit) = pair();
        assert!(Pin::new(&mut commit).poll(&mut cx).is_pending());
        completer.complete(Ok(()));
        assert!(flag.0.load(std::sync::atomic::Ordering::SeqCst));
        assert!(matches!(Pin::new(&mut commit).poll(&mut cx), Poll::Ready(Ok(()))));
    }
}
