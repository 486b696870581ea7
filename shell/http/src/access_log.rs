//! The access log: one line a request, written when hyper is done with the answer, so that it tells what was sent.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Method;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;

use crate::reply::AnyBody;

/// What stands for the account of a request without a valid credential. No account can have this name.
pub(crate) const ANONYMOUS: &str = "(anonymous)";

/// What is said of a request. The query is left out: clients put names and tokens there.
pub(crate) struct Line {
    pub(crate) id: Arc<str>,
    pub(crate) method: Method,
    /// The path, or the row's pattern where the path itself opens something.
    pub(crate) path: String,
    pub(crate) status: u16,
    /// Milliseconds until the answer began.
    pub(crate) ms: f64,
    /// Who asked: the name of the account, or [`ANONYMOUS`].
    pub(crate) account: String,
    /// Where from: the sender, also through the operator's proxies.
    pub(crate) peer: IpAddr,
    /// Whether the line is written at level debug instead of info: answers below 400 of public routes, such as health and the
    /// page's files, which probes and browsers ask for all the time.
    pub(crate) is_quiet: bool,
}

impl Line {
    /// Writes the line of a request whose answer has `bytes`, without its head.
    fn write(&self, bytes: u64) {
        let Self { id, method, path, status, ms, account, peer, is_quiet } = self;
        let id = &**id;
        if *is_quiet {
            tracing::debug!(request_id = id, %method, path, status, ms, bytes, account, %peer, "answered");
        } else {
            tracing::info!(request_id = id, %method, path, status, ms, bytes, account, %peer, "answered");
        }
    }

    /// `body`, at whose end the line is written. One that its reader gives up tells what was taken until then.
    pub(crate) fn at_the_end_of(self, body: AnyBody) -> AnyBody {
        Counted { body, bytes: 0, done: Some(move |bytes| self.write(bytes)) }.boxed_unsync()
    }
}

/// A body that counts its bytes, and tells them once it is dropped.
struct Counted<F: FnOnce(u64)> {
    body: AnyBody,
    bytes: u64,
    done: Option<F>,
}

impl<F: FnOnce(u64)> Drop for Counted<F> {
    fn drop(&mut self) {
        if let Some(done) = self.done.take() {
            done(self.bytes);
        }
    }
}

impl<F: FnOnce(u64) + Unpin> Body for Counted<F> {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.get_mut();
        let polled = Pin::new(&mut this.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(data) = frame.data_ref()
        {
            this.bytes += data.len() as u64;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::reply::whole;

    /// What a body of `len` bytes tells after `frames` frames were taken of it.
    async fn told(len: usize, frames: usize) -> Vec<u64> {
        let told = Arc::new(parking_lot::Mutex::new(Vec::new()));
        let tell = Arc::clone(&told);
        let body = crate::sent::Sent::boxed(whole(Bytes::from(vec![7; len])), None);
        let mut counted = Counted { body, bytes: 0, done: Some(move |n| tell.lock().push(n)) };
        assert_eq!(counted.size_hint().exact(), Some(len as u64), "hyper states the length");
        for _ in 0..frames {
            counted.frame().await.unwrap().unwrap();
        }
        assert!(told.lock().is_empty(), "not before the end");
        drop(counted);
        told.lock().clone()
    }

    #[tokio::test]
    async fn a_body_tells_once_how_many_bytes_were_taken_of_it() {
        assert_eq!(told(200_000, 4).await, [200_000]);
        assert_eq!(told(200_000, 1).await, [65_536], "the reader went away");
        assert_eq!(told(10, 0).await, [0], "as of a HEAD");
        assert_eq!(told(0, 0).await, [0]);
    }
}
