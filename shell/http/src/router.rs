//! warp's filter as a service, behind the compressor.

use std::convert::Infallible;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderValue};
use http::{Extensions, Request, Response, StatusCode, Version};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tower::util::BoxCloneSyncService;
use tower::{Layer, Service, ServiceExt};
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{Predicate, SizeAbove};

use crate::held;
use crate::request;
use crate::shell::AnyBody;

/// Answers smaller than this are sent as they are.
const COMPRESS_BYTES_MIN: u64 = 512;

/// warp's routes behind the compressor.
pub(crate) type Router = BoxCloneSyncService<Request<Incoming>, Response<AnyBody>, Infallible>;

/// warp's filter as a service, with compression of what gains by it.
pub(crate) fn router() -> Router {
    // Frames and edge lists are dense binary: compressing them costs time and saves nothing.
    let text_only = |_: StatusCode, _: Version, headers: &HeaderMap, _: &Extensions| {
        let kind = headers.get(header::CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
        [
            &b"text/"[..],
            b"application/json",
            b"application/javascript",
            b"application/manifest+json",
            b"image/svg+xml",
        ]
        .iter()
        .any(|prefix| kind.starts_with(prefix))
            // The compressor would keep the signs of life.
            && !kind.starts_with(b"text/event-stream")
    };
    let layer = CompressionLayer::new()
        .quality(CompressionLevel::Fastest)
        .compress_when(SizeAbove::new(COMPRESS_BYTES_MIN).and(text_only));
    let routes = erase(warp::service(request::filter()));
    erase(layer.layer(routes.map_response(held::attach)))
}

/// Hides the layers' types, which cannot be named.
fn erase<S, B>(service: S) -> Router
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible>,
    S: Clone + Send + Sync + 'static,
    S::Future: Send + 'static,
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let boxed = |response: Response<B>| response.map(|b| b.map_err(Into::into).boxed_unsync());
    BoxCloneSyncService::new(service.map_response(boxed))
}
