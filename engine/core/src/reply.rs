//! One-shot answers that always arrive.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

use futures_channel::oneshot;

use crate::error::EngineError;

/// The sending half of an answer. Dropped unanswered, as when a panic unwinds through the command
/// that holds it, it answers [`EngineError::Dropped`], so that no caller waits for ever.
#[derive(Debug)]
pub(crate) struct Reply<R>(Option<oneshot::Sender<Result<R, EngineError>>>);

impl<R> Reply<R> {
    /// A reply and the future of its answer.
    pub(crate) fn channel() -> (Self, oneshot::Receiver<Result<R, EngineError>>) {
        let (tx, rx) = oneshot::channel();
        (Self(Some(tx)), rx)
    }

    /// A reply without a caller that waits.
    pub(crate) fn nobody() -> Self {
        Self(None)
    }

    /// Answers. A caller that has gone away is not an error.
    pub(crate) fn send(mut self, answer: Result<R, EngineError>) {
        if let Some(tx) = self.0.take() {
            let _ = tx.send(answer);
        }
    }

    /// Whether the caller has gone away.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.0.as_ref().is_some_and(oneshot::Sender::is_canceled)
    }
}

impl<R> Drop for Reply<R> {
    fn drop(&mut self) {
        if let Some(tx) = self.0.take() {
            let _ = tx.send(Err(EngineError::Dropped));
        }
    }
}

/// Runs a future on the calling thread; for the command line and for tests, never inside a runtime.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut cx = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut cx) {
            Poll::Ready(out) => return out,
            Poll::Pending => std::thread::park(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_reply_answers_and_an_answered_one_answers_once() {
        let (reply, rx) = Reply::<u32>::channel();
        drop(reply);
        assert_eq!(block_on(rx).expect("answered"), Err(EngineError::Dropped));
        let (reply, rx) = Reply::channel();
        reply.send(Ok(7));
        assert_eq!(block_on(rx).expect("answered"), Ok(7));
    }

    #[test]
    fn a_reply_lost_in_a_panic_answers() {
        let (reply, rx) = Reply::<u32>::channel();
        let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            let _held = reply;
            std::panic::resume_unwind(Box::new("boom"));
        }));
        assert!(unwound.is_err());
        assert_eq!(block_on(rx).expect("answered"), Err(EngineError::Dropped));
    }

    #[test]
    fn a_caller_that_left_is_noticed() {
        let (reply, rx) = Reply::<u32>::channel();
        assert!(!reply.is_abandoned());
        drop(rx);
        assert!(reply.is_abandoned());
        reply.send(Ok(1));
    }
}
