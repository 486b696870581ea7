//! Answers: whole ones of handlers, and the bodies that are sent.

use bytes::Bytes;
use http::Response;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};

/// What every handler answers with: whole bodies only, shared without copying.
pub(crate) type Reply = Response<Bytes>;

/// The body of every response.
pub(crate) type AnyBody = UnsyncBoxBody<Bytes, Box<dyn std::error::Error + Send + Sync>>;

/// A body that is all there.
pub(crate) fn whole(bytes: Bytes) -> AnyBody {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}
