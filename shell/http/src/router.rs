//! warp's filter, which takes requests apart, as a service behind the compressor.

use std::convert::Infallible;
use std::sync::Arc;

use bytes::{Buf, Bytes};
use futures_util::StreamExt;
use http::header::{self, HeaderMap, HeaderValue};
use http::{Extensions, Request, Response, StatusCode, Version};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use tower::util::BoxCloneSyncService;
use tower::{Layer, Service, ServiceExt};
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{Predicate, SizeAbove};
use warp::Filter;
use warp::filters::BoxedFilter;

use crate::body::{Body, Leftover};
use crate::dispatch;
use crate::held;
use crate::reply::Reply;
use crate::request::{Hit, Req};
use crate::route::Route;
use crate::state::{Router, Shell};

/// Answers smaller than this are sent as they are.
const COMPRESS_BYTES_MIN: u64 = 512;

/// What warp is told beside the request: its place, its row, and who answers it.
#[derive(Clone)]
pub(crate) struct Asking {
    pub(crate) hit: Arc<Hit>,
    pub(crate) route: &'static Route,
    pub(crate) shell: Arc<Shell>,
}

/// The filter that answers every request of the table. It never rejects once it has begun: a
/// rejection means "some other route", and the table has already said which one it is.
fn filter() -> BoxedFilter<(Reply,)> {
    let raw_query = warp::query::raw().or(warp::any().map(String::new)).unify();
    warp::ext::get::<Asking>()
        .and(warp::method())
        .and(raw_query)
        .and(warp::header::headers_cloned())
        .and(warp::ext::optional::<OnUpgrade>())
        .and(warp::body::stream())
        .then(|asking: Asking, method, query, headers: HeaderMap, upgrade, stream| {
            let Asking { hit, route, shell } = asking;
            let stream =
                Box::pin(StreamExt::map(stream, |piece: Result<_, warp::Error>| match piece {
                    Ok(mut buf) => Ok(take(&mut buf)),
                    Err(error) => Err(root_cause(&error)),
                }));
            let leftover = Leftover::default();
            let declared = headers
                .get(header::CONTENT_LENGTH)
                .and_then(|v| v.to_str().ok())
                .and_then(|v| v.parse().ok());
            let window = shell.config.body_window;
            let body = Body::new(stream, Arc::clone(&leftover), declared, window);
            let request = Req { hit, method, query, headers, upgrade, body };
            dispatch::respond(shell, route, request, leftover)
        })
        .boxed()
}

/// The bytes of a buffer; no copy when it is one piece, which hyper's are.
fn take(buf: &mut impl Buf) -> Bytes {
    buf.copy_to_bytes(buf.remaining())
}

/// The innermost cause: the wrappers around it say nothing that helps a client.
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

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
    let routes = erase(warp::service(filter()));
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
