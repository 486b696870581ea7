//! The event stream of a connection: held open, and never anything on it but signs of life.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use graphlume_types::limits;
use http::Response;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use tokio_util::sync::CancellationToken;

use crate::held;
use crate::reply::Reply;
use crate::state::Shell;

/// An event stream that ends with `end`, with its connection, or with the server.
pub(super) fn open(shell: Arc<Shell>, session: String, end: CancellationToken) -> Reply {
    let state = (shell, session, end, true);
    let beats = stream::unfold(state, |(shell, session, end, first)| async move {
        let beat = Duration::from_secs(limits::EVENT_STREAM_BEAT_SECS);
        let pause = if first { Duration::ZERO } else { beat };
        tokio::select! {
            biased;
            () = end.cancelled() => return None,
            () = shell.stop.cancelled() => return None,
            () = tokio::time::sleep(pause) => {}
        }
        if !shell.agents.may_stream(&session) {
            return None;
        }
        let frame = Frame::data(Bytes::from_static(b": alive\n\n"));
        Some((Ok::<_, Infallible>(frame), (shell, session, end, false)))
    });
    let body = StreamBody::new(beats).map_err(|never| match never {}).boxed_unsync();
    let mut reply = Response::new(Bytes::new());
    let headers = reply.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    held::hold(&mut reply, body);
    reply
}
