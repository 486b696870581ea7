//! The way of an answer to its reader: in pieces, with its place among the requests in progress, and not
//! below a least rate.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use graphlume_types::limits::ANSWER_BYTES_PER_SEC_MIN;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::Instant;

use crate::reply::AnyBody;

/// Bytes that are handed to a connection at once. It takes no more than a few of them before its reader has
/// read the first, so that a body ends about when it has been sent.
const PIECE_BYTES: usize = 64 << 10;

/// A body that keeps its request's place until it has been sent.
pub(crate) struct Sent {
    body: AnyBody,
    rest: Bytes,
    _place: Option<OwnedSemaphorePermit>,
}

impl Sent {
    /// `body` in pieces, which keeps `place`.
    pub(crate) fn boxed(body: AnyBody, place: Option<OwnedSemaphorePermit>) -> AnyBody {
        Self { body, rest: Bytes::new(), _place: place }.boxed_unsync()
    }
}

impl Body for Sent {
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let this = self.get_mut();
        if this.rest.is_empty() {
            match std::task::ready!(Pin::new(&mut this.body).poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => this.rest = data,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
                end => return Poll::Ready(end),
            }
        }
        let piece = this.rest.split_to(this.rest.len().min(PIECE_BYTES));
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (inner, rest) = (self.body.size_hint(), self.rest.len() as u64);
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower() + rest);
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}

/// How fast the other end reads. Only time spent waiting for it counts.
#[derive(Debug)]
pub(crate) struct Pace {
    window: Duration,
    waited: Duration,
    since: Option<Instant>,
    bytes: u64,
}

impl Pace {
    pub(crate) const fn new(window: Duration) -> Self {
        Self { window, waited: Duration::ZERO, since: None, bytes: 0 }
    }

    /// Nothing more fits at `now`; the moment at which the reader is judged.
    pub(crate) fn blocked(&mut self, now: Instant) -> Instant {
        if self.since.is_none() && self.waited.is_zero() {
            // What the kernel took before it had to wait says nothing about the reader.
            self.bytes = 0;
        }
        let since = *self.since.get_or_insert(now);
        since + self.window.saturating_sub(self.waited)
    }

    /// `bytes` were taken at `now`; whether the reader is too slow.
    pub(crate) fn took(&mut self, bytes: usize, now: Instant) -> bool {
        if let Some(since) = self.since.take() {
            self.waited += now.saturating_duration_since(since);
        }
        self.bytes += bytes as u64;
        self.is_slow()
    }

    /// Whether the reader is too slow, at the moment at which it is judged.
    pub(crate) fn due(&mut self, now: Instant) -> bool {
        if let Some(since) = self.since.replace(now) {
            self.waited += now.saturating_duration_since(since);
        }
        self.is_slow()
    }

    fn is_slow(&mut self) -> bool {
        if self.waited < self.window {
            return false;
        }
        #[allow(clippy::cast_possible_truncation, reason = "seconds of waiting are few")]
        let least = ANSWER_BYTES_PER_SEC_MIN.saturating_mul(self.waited.as_millis() as u64) / 1000;
        let slow = self.bytes < least;
        (self.waited, self.bytes) = (Duration::ZERO, 0);
        slow
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::reply::whole;
    use std::sync::Arc;
    use tokio::sync::Semaphore;

    #[tokio::test]
    async fn a_body_goes_out_in_pieces_and_keeps_its_place_to_the_end() {
        let places = Arc::new(Semaphore::new(1));
        let place = Arc::clone(&places).try_acquire_owned().unwrap();
        let mut body = Sent::boxed(whole(Bytes::from(vec![7; 200_000])), Some(place));
        assert_eq!(body.size_hint().exact(), Some(200_000));
        let mut sizes = Vec::new();
        while let Some(frame) = body.frame().await {
            assert_eq!(places.available_permits(), 0);
            sizes.push(frame.unwrap().into_data().unwrap().len());
        }
        assert_eq!(sizes, [65_536, 65_536, 65_536, 3_392]);
        assert!(body.is_end_stream());
        drop(body);
        assert_eq!(places.available_permits(), 1);
    }

    #[test]
    fn a_reader_is_judged_by_the_time_that_it_lets_us_wait() {
        let secs = Duration::from_secs;
        let start = Instant::now();
        let mut pace = Pace::new(secs(30));
        assert!(!pace.took(4 << 20, start));
        assert_eq!(pace.blocked(start), start + secs(30));
        assert_eq!(pace.blocked(start + secs(9)), start + secs(30), "it still waits");
        assert!(!pace.took(1000, start + secs(10)), "too early to say");
        // Ten seconds in which we had nothing to send are not the reader's.
        assert_eq!(pace.blocked(start + secs(20)), start + secs(40));
        assert!(pace.due(start + secs(40)), "1,000 bytes in 30 seconds");
        assert!(!pace.took(30 * (64 << 10), start + secs(69)), "64 KiB a second are enough");
        assert_eq!(pace.blocked(start + secs(70)), start + secs(71));
        assert!(!pace.due(start + secs(71)));
        assert!(pace.due(start + secs(101)), "and none at all are not");
    }
}
