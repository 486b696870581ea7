//! Request bodies: streamed piece by piece, with a limit on bytes and on patience.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt};
use graphlume_types::{Code, limits};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::status::{ApiError, Problem};

/// The pieces of a body as the connection delivers them.
pub(crate) type Pieces = Pin<Box<dyn Stream<Item = Result<Bytes, String>> + Send + Sync>>;

/// Where a body that a handler did not read to its end is left, so that the rest can be thrown away
/// before the answer goes out. Most clients send everything before they read, and would otherwise see
/// a reset connection instead of our refusal.
pub(crate) type Leftover = Arc<Mutex<Option<Pieces>>>;

/// A request body.
pub(crate) struct Body {
    pieces: Option<Pieces>,
    leftover: Leftover,
    declared: Option<u64>,
    window: Duration,
    waited: Duration,
    in_window: u64,
    total: u64,
}

impl Body {
    /// `window` is the time over which the body must keep its least rate.
    pub(crate) fn new(
        pieces: Pieces,
        leftover: Leftover,
        declared: Option<u64>,
        window: Duration,
    ) -> Self {
        Self {
            pieces: Some(pieces),
            leftover,
            declared,
            window,
            waited: Duration::ZERO,
            in_window: 0,
            total: 0,
        }
    }

    /// `Content-Length`, when there is one.
    pub(crate) const fn declared(&self) -> Option<u64> {
        self.declared
    }

    /// The next piece, or `None` at the end. Only time spent waiting for the client counts against
    /// it: a slow disk of ours is not its fault.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, ApiError> {
        let Some(pieces) = self.pieces.as_mut() else { return Ok(None) };
        loop {
            let began = Instant::now();
            let patience = self.window.saturating_sub(self.waited);
            let got = tokio::time::timeout(patience, pieces.next()).await;
            self.waited += began.elapsed();
            match got {
                Ok(Some(Ok(piece))) if piece.is_empty() => {}
                Ok(Some(Ok(piece))) => {
                    let len = piece.len() as u64;
                    self.total += len;
                    self.in_window += len;
                    return Ok(Some(piece));
                }
                Ok(None) => {
                    self.pieces = None;
                    return Ok(None);
                }
                Ok(Some(Err(why))) => {
                    self.pieces = None;
                    return Err(broken(&why));
                }
                Err(_) => {
                    let least = limits::BODY_BYTES_PER_SEC_MIN * self.window.as_secs().max(1);
                    if self.in_window < least {
                        self.pieces = None;
                        return Err(slow(self.total));
                    }
                    self.waited = Duration::ZERO;
                    self.in_window = 0;
                }
            }
        }
    }

    /// The whole body in one piece.
    pub(crate) async fn collect(mut self, limit: u64) -> Result<Bytes, ApiError> {
        let too_large = || {
            ApiError::new(
                Code::TooLarge,
                "body-too-large",
                format!("the request body exceeds the limit of {limit} bytes"),
            )
        };
        if self.declared.is_some_and(|len| len > limit) {
            return Err(too_large());
        }
        let Some(first) = self.next().await? else { return Ok(Bytes::new()) };
        if first.len() as u64 > limit {
            return Err(too_large());
        }
        if self.declared == Some(first.len() as u64) {
            // The usual case: one piece, no copy.
            return Ok(first);
        }
        let mut whole = BytesMut::from(first.as_ref());
        while let Some(piece) = self.next().await? {
            if (whole.len() + piece.len()) as u64 > limit {
                return Err(too_large());
            }
            whole.extend_from_slice(&piece);
        }
        Ok(whole.freeze())
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        if let Some(pieces) = self.pieces.take() {
            *self.leftover.lock() = Some(pieces);
        }
    }
}

/// Reads and forgets what is left of a refused body, within limits.
pub(crate) async fn discard(leftover: &Leftover, patience: Duration) {
    let Some(mut pieces) = leftover.lock().take() else { return };
    let drain = async {
        let mut bytes = 0u64;
        while let Some(Ok(piece)) = pieces.next().await {
            bytes += piece.len() as u64;
            if bytes > limits::BODY_DISCARD_BYTES_MAX {
                return;
            }
        }
    };
    // Past the limits the connection is closed with bytes unread, which the client sees as a reset.
    let _ = tokio::time::timeout(patience, drain).await;
}

/// The client went away or broke the framing.
fn broken(why: &str) -> ApiError {
    ApiError::new(
        Code::InvalidArgument,
        "body-incomplete",
        format!("the request body ended before it was complete ({why}); send it again"),
    )
}

fn slow(total: u64) -> ApiError {
    ApiError::new(
        Problem::SlowBody,
        "slow-body",
        format!(
            "the request body arrived at less than {} bytes a second ({total} bytes so far); send it \
             again over a faster connection",
            limits::BODY_BYTES_PER_SEC_MIN
        ),
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use futures_util::stream;

    fn body(pieces: Pieces, declared: Option<u64>) -> (Body, Leftover) {
        let leftover = Leftover::default();
        let body = Body::new(pieces, Arc::clone(&leftover), declared, Duration::from_millis(50));
        (body, leftover)
    }

    fn pieces(list: &'static [&'static [u8]]) -> Pieces {
        Box::pin(stream::iter(list.iter().map(|p| Ok(Bytes::from_static(p)))))
    }

    #[tokio::test]
    async fn pieces_are_joined_and_the_limit_holds_at_its_edge() {
        let (b, _) = body(pieces(&[b"ab", b"", b"cd"]), None);
        assert_eq!(b.collect(4).await.unwrap(), "abcd");
        let (b, _) = body(pieces(&[b"ab", b"cd"]), None);
        assert_eq!(b.collect(3).await.unwrap_err().slug, "body-too-large");
        let (b, leftover) = body(pieces(&[b"ab"]), Some(4));
        assert_eq!(b.collect(3).await.unwrap_err().slug, "body-too-large");
        assert!(leftover.lock().is_some(), "the unread body is left for draining");
    }

    #[tokio::test]
    async fn a_silent_client_is_refused_and_a_steady_one_is_not() {
        let silent: Pieces =
            Box::pin(stream::iter([Ok(Bytes::from_static(b"x"))]).chain(stream::pending()));
        let (b, _) = body(silent, None);
        assert_eq!(b.collect(100).await.unwrap_err().slug, "slow-body");
        let steady: Pieces = Box::pin(stream::unfold(0, |i| async move {
            if i == 6 {
                return None;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
            Some((Ok(Bytes::from(vec![b'x'; 1024])), i + 1))
        }));
        let (b, _) = body(steady, None);
        assert_eq!(b.collect(1 << 20).await.unwrap().len(), 6 * 1024);
    }

    #[tokio::test]
    async fn a_refused_body_is_drained() {
        let (b, leftover) = body(pieces(&[b"ab", b"cd"]), None);
        drop(b);
        discard(&leftover, Duration::from_secs(1)).await;
        assert!(leftover.lock().is_none());
    }
}
