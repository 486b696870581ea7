//! Steps around the handler of every request: limits, the route table, cross-origin rules,
//! shedding, panics, headers, counters and the log.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use bytes::Bytes;
use futures_util::FutureExt;
use graphlume_service::Service as UseCases;
use graphlume_types::{Code, id};
use http::header::{self, HeaderName, HeaderValue};
use http::{Method, Request, Response, StatusCode};
use hyper::body::Incoming;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;

use crate::access::{Auth, Listener};
use crate::access_log::{ANONYMOUS, Line};
use crate::agents::Agents;
use crate::config::HttpConfig;
use crate::conn::Conn;
use crate::cors;
use crate::host;
use crate::html;
use crate::matching::{self, Resolution};
use crate::metrics::Metrics;
use crate::proxy;
use crate::reply::{AnyBody, Reply, whole};
use crate::request::{self, Hit, Params};
use crate::request_head::{below, check_head, method_label, wants_html};
use crate::route::Route;
use crate::router::{Asking, router};
use crate::safety_headers::SafetyHeaders;
use crate::sent::Sent;
use crate::state::Shell;
use crate::status::{ApiError, Problem};
use crate::table::{self, routes};
use crate::waiters::Waiters;

/// The name of the header that carries a request's id.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// What is said about a request when it is over.
struct Asked {
    id: Arc<str>,
    method: Method,
    path: String,
    wants_html: bool,
    /// The body has no stated length.
    chunked: bool,
    began: Instant,
    /// The sender, also through the operator's proxies.
    peer: IpAddr,
    /// Its place in the route table, where it has one: a handler notes there who asks.
    hit: OnceLock<Arc<Hit>>,
}

impl Shell {
    pub(crate) fn new(
        config: HttpConfig,
        service: Arc<UseCases>,
        stop: CancellationToken,
        abort: CancellationToken,
        tasks: TaskTracker,
    ) -> Arc<Self> {
        if !host::is_checked(&config) {
            tracing::warn!(
                listen = %config.listen,
                "any name in the header Host is answered here, that of a foreign site too; set --public-url to the \
                 address at which people open the server"
            );
        }
        Arc::new(Self {
            in_flight: Arc::new(Semaphore::new(config.requests_in_flight_max)),
            waiters: Waiters::new(),
            headers: SafetyHeaders::new(&config),
            config,
            service,
            metrics: Metrics::new(),
            agents: Agents::default(),
            stop,
            abort,
            tasks,
            router: router(),
            openapi: table::document,
            is_proxy_told: AtomicBool::new(false),
        })
    }

    /// The same server with other settings: requests that come from now on are answered by them, and those in progress,
    /// open streams among them, end as they began.
    pub(crate) fn with_settings(&self, config: HttpConfig) -> Arc<Self> {
        Arc::new(Self {
            headers: SafetyHeaders::new(&config),
            config,
            service: Arc::clone(&self.service),
            metrics: Arc::clone(&self.metrics),
            agents: self.agents.clone(),
            stop: self.stop.clone(),
            abort: self.abort.clone(),
            tasks: self.tasks.clone(),
            in_flight: Arc::clone(&self.in_flight),
            waiters: self.waiters.clone(),
            router: self.router.clone(),
            openapi: self.openapi,
            // Other proxies may be believed now.
            is_proxy_told: AtomicBool::new(false),
        })
    }

    /// Answers one request; never fails.
    pub(crate) async fn answer(
        self: &Arc<Self>,
        listener: Listener,
        request: Request<Incoming>,
        conn: &Arc<Conn>,
    ) -> Response<AnyBody> {
        let asked = Asked {
            id: id::hex(&id::random_bytes::<8>()).into(),
            method: request.method().clone(),
            path: below(&self.config.base_path, request.uri().path()).to_owned(),
            wants_html: wants_html(&request),
            chunked: request.headers().contains_key(header::TRANSFER_ENCODING),
            began: Instant::now(),
            peer: proxy::client(&self.config.trusted_proxies, conn.peer.ip(), request.headers()),
            hit: OnceLock::new(),
        };
        let (route, mut response) = self.route(listener, request, conn, &asked).await;
        self.add_headers(&mut response, route, &asked);
        let line = self.report(&response, route, asked);
        response.map(|body| line.at_the_end_of(body))
    }

    async fn route(
        self: &Arc<Self>,
        listener: Listener,
        request: Request<Incoming>,
        conn: &Arc<Conn>,
        asked: &Asked,
    ) -> (Option<&'static Route>, Response<AnyBody>) {
        if proxy::is_unbelieved(&self.config.trusted_proxies, conn.peer.ip(), request.headers())
            && listener == Listener::Public
            && !self.is_proxy_told.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(
                peer = %conn.peer.ip(),
                "requests come with X-Forwarded-For from a peer that is no --trusted-proxy: all its users count as one, \
                 and ten wrong passwords of one shut the others out; if it is your proxy, set --trusted-proxy to it"
            );
        }
        if let Err(error) = check_head(&request) {
            return (None, self.refuse(&error, Auth::Public, asked));
        }
        if let Some(reply) = self.to_https(listener, &request, conn) {
            return (None, reply.map(whole));
        }
        if asked.method == Method::OPTIONS
            && let Some(found) = matching::methods_of(routes(), listener, request.uri().path())
            && let Some(reply) = cors::options(found, &request, self.config.cors)
        {
            return (None, reply.map(whole));
        }
        let (route, params) = match find_row(listener, asked) {
            Ok(found) => found,
            Err(error) => return (None, self.refuse(&error, Auth::Public, asked)),
        };
        // Probes call the health routes by addresses of pods and containers, which no list of names can hold.
        // Their answers say nothing of any account's data, so a foreign page that reads them learns nothing.
        if !route.is_health
            && let Err(error) = host::check(&self.config, listener, request.headers())
        {
            self.metrics.refused("foreign-host");
            return (Some(route), self.refuse(&error, route.auth(), asked));
        }
        let Ok(place) = self.admit(route) else {
            self.metrics.refused("shed");
            let error = ApiError::new(
                Problem::Overloaded,
                "overloaded",
                "the server has too many requests in progress; try again shortly",
            );
            return (Some(route), self.refuse(&error, route.auth(), asked));
        };
        let _counted = self.metrics.request();
        let hit = Arc::new(Hit {
            path: route.path,
            params,
            id: Arc::clone(&asked.id),
            conn: Arc::clone(conn),
            caller: OnceLock::new(),
        });
        let _ = asked.hit.set(Arc::clone(&hit));
        let response = self.call(request, (route, hit), asked).await;
        // What an account asked for counts until it has been sent. Files of the page and graphs that any client
        // may see are shared bytes, and a slow reader of them must not use up the places.
        let place = place.filter(|_| !matches!(route.auth(), Auth::Public | Auth::Viewer));
        (Some(route), response.map(|body| Sent::boxed(body, place)))
    }

    /// Where a request over plain HTTP is sent that should have come over HTTPS, as far as that is known: the
    /// proxy says so, or the request came past the proxies that there are.
    fn to_https(
        &self,
        listener: Listener,
        request: &Request<Incoming>,
        conn: &Conn,
    ) -> Option<Reply> {
        let config = &self.config;
        let (peer, path) = (conn.peer.ip().to_canonical(), request.uri().path());
        let past = !config.trusted_proxies.is_empty()
            && !proxy::is_trusted(&config.trusted_proxies, peer)
            && !peer.is_loopback();
        let is_plain = proxy::came_plain(request.headers()) || past;
        let is_health = path.contains("health") || path == "/ht/";
        if !config.https_only || listener != Listener::Public || !is_plain || is_health {
            return None;
        }
        let name = match &config.public_url {
            Some(public) => public.authority(),
            // No redirect to a foreign name: the request goes on, and `host::check` answers it with 403.
            None if host::check(config, listener, request.headers()).is_err() => return None,
            None => {
                let host = request.headers().get(header::HOST)?.to_str().ok();
                let host = host.filter(|h| request::is_host(h))?;
                // The name, without the port of the plain listener.
                let port = host.rfind(':').filter(|at| host.rfind(']').is_none_or(|end| *at > end));
                &host[..port.unwrap_or(host.len())]
            }
        };
        let target = request.uri().path_and_query().map_or("/", |p| p.as_str());
        let mut reply = Response::new(Bytes::new());
        // The method stays what it was.
        *reply.status_mut() = StatusCode::PERMANENT_REDIRECT;
        let location = HeaderValue::from_str(&format!("https://{name}{target}")).ok()?;
        reply.headers_mut().insert(header::LOCATION, location);
        Some(reply)
    }

    /// A place among the requests in progress, for those that need one.
    fn admit(&self, route: &Route) -> Result<Option<OwnedSemaphorePermit>, ()> {
        if !route.is_shed {
            return Ok(None);
        }
        Arc::clone(&self.in_flight).try_acquire_owned().map(Some).map_err(|_| ())
    }

    /// Runs the handler. A panic in it is answered, counted and logged under the request's id.
    async fn call(
        self: &Arc<Self>,
        mut request: Request<Incoming>,
        (route, hit): (&'static Route, Arc<Hit>),
        asked: &Asked,
    ) -> Response<AnyBody> {
        let auth = route.auth();
        request.extensions_mut().insert(Asking { hit, route, shell: Arc::clone(self) });
        match caught(self.router.clone().oneshot(request)).await {
            Ok(Ok(response)) => response,
            Ok(Err(never)) => match never {},
            Err(error) => {
                self.metrics.panics.inc();
                tracing::error!(request_id = &*asked.id, cause = %error.message, "request failed");
                self.refuse(&error, auth, asked)
            }
        }
    }

    /// The answer to a refused request: JSON, or a page for a person who opened an address.
    fn refuse(&self, error: &ApiError, auth: Auth, asked: &Asked) -> Response<AnyBody> {
        if asked.wants_html {
            return html::error_page(error, &asked.id, &self.config.base_path).map(whole);
        }
        error.render(auth, &asked.id).map(whole)
    }

    fn add_headers(
        &self,
        response: &mut Response<AnyBody>,
        route: Option<&'static Route>,
        asked: &Asked,
    ) {
        let headers = response.headers_mut();
        if let Ok(id) = HeaderValue::from_str(&asked.id) {
            headers.insert(REQUEST_ID, id);
        }
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers
            .entry(header::REFERRER_POLICY)
            .or_insert_with(|| HeaderValue::from_static("no-referrer"));
        if !headers.contains_key(header::CACHE_CONTROL) {
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        }
        if let Some(hsts) = &self.headers.hsts {
            headers.insert(header::STRICT_TRANSPORT_SECURITY, hsts.clone());
        }
        let is_html = headers
            .get(header::CONTENT_TYPE)
            .is_some_and(|v| v.as_bytes().starts_with(b"text/html"));
        let is_data = route.is_some_and(|r| r.auth() != Auth::Public && !r.is_page());
        if is_data && !is_html {
            // Named in a tag of another site's page, the bytes do not even reach that page's process. Calls from
            // other origins that are allowed go by the rules of CORS and do not ask for this.
            headers.insert(
                HeaderName::from_static("cross-origin-resource-policy"),
                HeaderValue::from_static("same-origin"),
            );
        }
        if is_html {
            // A page with rules of its own keeps them.
            headers.entry(header::CONTENT_SECURITY_POLICY).or_insert_with(|| {
                match route.is_some_and(|r| r.is_framed) {
                    true => self.headers.framed_csp.clone(),
                    false => self.headers.csp.clone(),
                }
            });
            headers.insert(
                HeaderName::from_static("cross-origin-opener-policy"),
                HeaderValue::from_static("same-origin-allow-popups"),
            );
        }
        if asked.chunked {
            // A length given beside chunks is gone by now. Two readers may take such a request
            // apart differently, so nothing that follows it on this connection is believed.
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        // A path that does not exist under /api is answered readably too.
        let cors = route.map_or_else(|| asked.path.starts_with("/api"), |r| r.auth().allows_cors());
        if self.config.cors && cors {
            cors::allow_reading(headers);
        }
    }

    /// Counts an answer, and gives its line of the access log.
    fn report(
        &self,
        response: &Response<AnyBody>,
        route: Option<&'static Route>,
        asked: Asked,
    ) -> Line {
        let took = asked.began.elapsed();
        let status = response.status().as_u16();
        let pattern = route.map_or("(none)", |r| r.path);
        self.metrics.answered(pattern, method_label(&asked.method), status, took);
        // A client that knows the id of a session, or of a dataset that is shared by its address, may look at it: such
        // ids stay out of the log.
        let opens = |r: &Route| {
            r.auth() == Auth::Viewer
                || r.path.contains("{dataset_id}")
                || r.path.contains("{session_id}")
        };
        let shown = if route.is_some_and(opens) { pattern } else { &asked.path };
        let caller = asked.hit.get().and_then(|hit| hit.caller.get());
        let account = caller.and_then(|(who, _)| who.username()).unwrap_or(ANONYMOUS);
        Line {
            id: asked.id,
            path: shown.chars().take(200).map(|c| if c.is_control() { '?' } else { c }).collect(),
            method: asked.method,
            status,
            // Microseconds are what the figure is good for.
            ms: (took.as_secs_f64() * 1e6).round() / 1e3,
            account: account.to_owned(),
            peer: asked.peer,
            is_quiet: route.is_some_and(|r| r.auth() == Auth::Public) && status < 400,
        }
    }
}

/// `future`, with a panic in it turned into an error.
async fn caught<F: Future>(future: F) -> Result<F::Output, ApiError> {
    AssertUnwindSafe(future).catch_unwind().await.map_err(|panic| {
        let text = panic
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("a value that is not text");
        ApiError::new(Code::Internal, "internal", format!("a handler panicked: {text}"))
    })
}

/// The row of a request, or why there is none.
fn find_row(listener: Listener, asked: &Asked) -> Result<(&'static Route, Params), ApiError> {
    match matching::resolve(routes(), listener, &asked.method, &asked.path) {
        Resolution::Found(route, params) => Ok((route, params)),
        Resolution::OtherMethods(allow) => Err(ApiError::new(
            Problem::MethodNotAllowed,
            "method-not-allowed",
            format!("{} is not possible on this path; use {allow}", asked.method),
        )
        .with_header(header::ALLOW, allow)),
        Resolution::NotFound => {
            let path: String = asked.path.chars().take(120).collect();
            let elsewhere = listener == Listener::Public
                && matching::methods_of(routes(), Listener::Internal, &asked.path).is_some();
            let remedy = if elsewhere {
                "it is on the operators' address, see --internal-listen of the server"
            } else {
                "/openapi.json lists what there is"
            };
            let text = format!("there is nothing at {path}; {remedy}");
            Err(ApiError::new(Code::NotFound, "unknown-path", text))
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_becomes_an_error_that_keeps_its_text_for_the_log() {
        assert_eq!(caught(async { 7 }).await.unwrap(), 7);
        let index = std::hint::black_box(9);
        let error = caught(async move { [0u8; 3][index] }).await.unwrap_err();
        assert!(error.message.contains("index out of bounds"), "{}", error.message);
        assert!(error.is_internal());
        let error = caught(async { panic!("plain words") }).await.map(|(): ()| ()).unwrap_err();
        assert!(error.message.contains("plain words"));
        let shown = error.render(Auth::Bearer, "0123").into_body();
        assert!(!String::from_utf8_lossy(&shown).contains("plain words"));
    }
}
