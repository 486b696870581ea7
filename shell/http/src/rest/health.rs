//! Health of the components, details of the workers, counters.

use std::sync::Arc;

use bytes::Bytes;
use graphlume_service::{Component, HealthReply};
use graphlume_types::Code;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Response, StatusCode};

use super::{json, ok};
use crate::metrics::{Build, Format};
use crate::reply::Reply;
use crate::request::Req;
use crate::rest::shapes::HEALTH;
use crate::route::{Handler, Route, run};
use crate::schema::Shape::{Bool, List, Object, OneOf, Text};
use crate::schema::{Content, Success, must, returns, returns_bytes};
use crate::state::Shell;
use crate::status::ApiError;

const STATES: &[Success] = &[
    returns(HEALTH, "Healthy"),
    Success { status: 503, doc: "Not healthy", content: Content::Json(HEALTH) },
];

/// The row of a health route; `$component` is what it speaks of.
macro_rules! health {
    ($path:literal, $component:expr, $doc:literal) => {
        Route::get(
            $path,
            Handler::Public(|shell, _| Box::pin(std::future::ready(health(&shell, $component)))),
            STATES,
            $doc,
        )
        .health()
    };
}

/// First in the table: they are asked most often, and matching is in order.
pub(crate) const ROUTES: &[Route] = &[
    health!(
        "/healthz",
        Some(Component::InternalProxy),
        "Health of the front listener and the static files."
    ),
    health!("/caddy/health/", Some(Component::ReverseProxy), "Liveness of the front listener."),
    health!("/ht/", Some(Component::Content), "Health of accounts, files and datasets."),
    health!("/streamgl-viz/health", Some(Component::VizTier), "Health of the visualization tier."),
    health!(
        "/streamgl-gpu/primary/health",
        Some(Component::GpuController),
        "Health of the controller of the computing device."
    ),
    health!(
        "/streamgl-gpu/secondary/cpu/health",
        Some(Component::CpuWorker),
        "200 when at least one CPU worker is ready."
    ),
    health!(
        "/streamgl-gpu/secondary/gpu/health",
        Some(Component::GpuWorker),
        "200 when at least one GPU worker has a healthy context and is ready."
    ),
    health!(
        "/streamgl-sessions/health",
        Some(Component::SessionManager),
        "Health of the session manager."
    ),
    health!("/pivot/health", Some(Component::Pivot), "Health of the investigation service."),
    health!("/healthcheck/", None, "Health of everything that serves clients."),
];

/// What the second listener serves.
pub(crate) const INTERNAL: &[Route] = &[
    Route::get(
        "/check-workers",
        run!(Public workers),
        &[returns(WORKERS, "The workers")],
        "Details of each worker.",
    )
    .internal()
    .unshed(),
    Route::get(
        "/metrics",
        run!(Public metrics),
        &[returns_bytes(&["text/plain", "application/openmetrics-text"], "The counters")],
        "Counters for Prometheus, as text or OpenMetrics.",
    )
    .internal()
    .unshed(),
    health!("/healthz", Some(Component::InternalProxy), "Health of the listener.").internal(),
];

const WORKERS: crate::schema::Shape = Object(&[must(
    "workers",
    List(&Object(&[
        must("kind", OneOf(&["cpu", "gpu"]), ""),
        must("device", Text, "The device."),
        must("clContextHealthy", Bool, "Whether its compute context works."),
        must("ready", Bool, "Whether it is given work."),
    ])),
    "",
)]);

/// The components without which clients are not served. A machine without a GPU serves them.
const SERVING: [Component; 5] = [
    Component::InternalProxy,
    Component::Content,
    Component::CpuWorker,
    Component::VizTier,
    Component::SessionManager,
];

/// The health of one component, or of everything that serves clients.
fn health(shell: &Shell, component: Option<Component>) -> Result<Reply, ApiError> {
    let mut found = match component {
        Some(component) => shell.service.health.component(component),
        None => all(shell),
    };
    if shell.stop.is_cancelled() {
        found.healthy = false;
        found.status = "unavailable";
        found.detail = "the server is stopping".to_owned();
    }
    let status = if found.healthy { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    json(status, &found)
}

/// One answer for everything that serves clients, with the first thing that does not.
fn all(shell: &Shell) -> HealthReply {
    let ill = SERVING.iter().map(|c| shell.service.health.component(*c)).find(|h| !h.healthy);
    match ill {
        Some(ill) => HealthReply {
            status: ill.status,
            component: "server",
            detail: format!("{}: {}", ill.component, ill.detail),
            healthy: false,
        },
        None => HealthReply {
            status: "ok",
            component: "server",
            detail: "every component that serves clients is healthy".to_owned(),
            healthy: true,
        },
    }
}

async fn workers(shell: Arc<Shell>, _: Req) -> Result<Reply, ApiError> {
    ok(&shell.service.health.workers())
}

/// What a scraper reads, in the format that it asks for. Some of it comes from the disk.
async fn metrics(shell: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
    let format = Format::asked(req.header(&ACCEPT));
    let read = tokio::task::spawn_blocking(move || {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let build = Build { version, commit: shell.config.commit.clone() };
        shell.metrics.text(format, &build, &shell.service)
    });
    let text = read.await.map_err(|e| ApiError::new(Code::Internal, "internal", e.to_string()))?;
    let mut reply = Response::new(Bytes::from(text));
    reply.headers_mut().insert(CONTENT_TYPE, format.content_type());
    Ok(reply)
}
