//! State that all handlers share: settings, the service, counters, and what ends the server.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use bytes::Bytes;
use graphlume_service::Service;
use http::{Request, Response};
use hyper::body::Incoming;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::util::BoxCloneSyncService;

use crate::agents::Agents;
use crate::config::HttpConfig;
use crate::metrics::Metrics;
use crate::reply::AnyBody;
use crate::safety_headers::SafetyHeaders;
use crate::waiters::Waiters;

/// What answers the requests of the table, behind the compressor.
pub(crate) type Router = BoxCloneSyncService<Request<Incoming>, Response<AnyBody>, Infallible>;

/// Everything that handlers share.
pub(crate) struct Shell {
    pub(crate) config: HttpConfig,
    pub(crate) service: Arc<Service>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) agents: Agents,
    /// Cancelled when the server begins to stop.
    pub(crate) stop: CancellationToken,
    /// Cancelled when it has waited long enough.
    pub(crate) abort: CancellationToken,
    /// Work that outlives its request: websockets.
    pub(crate) tasks: TaskTracker,
    pub(crate) in_flight: Arc<Semaphore>,
    /// Places of requests that may wait long.
    pub(crate) waiters: Waiters,
    pub(crate) headers: SafetyHeaders,
    pub(crate) router: Router,
    /// The table of routes as an OpenAPI document, of this build.
    pub(crate) openapi: fn(&str) -> Bytes,
    /// Whether it was said that a proxy is not believed.
    pub(crate) is_proxy_told: AtomicBool,
}

impl Shell {
    /// How long a refused body is read on for.
    pub(crate) fn discard_patience(&self) -> Duration {
        self.config.body_window.min(Duration::from_secs(10))
    }
}
