//! Health of the components, details of the workers, counters.

use std::sync::Arc;

use bytes::Bytes;
use graphlume_service::{Component, HealthReply};
use graphlume_types::Code;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{Response, StatusCode};

use super::{json, ok};
use crate::metrics::{Build, Format};
use crate::request::{Reply, Req};
use crate::route::Endpoint;
use crate::shell::Shell;
use crate::status::ApiError;

/// The components without which clients are not served. A machine without a GPU serves them.
const SERVING: [Component; 5] = [
    Component::InternalProxy,
    Component::Content,
    Component::CpuWorker,
    Component::VizTier,
    Component::SessionManager,
];

/// The component that a health route speaks of; None for the one that speaks of all.
const fn component(endpoint: Endpoint) -> Option<Component> {
    match endpoint {
        Endpoint::HealthProxy => Some(Component::ReverseProxy),
        Endpoint::HealthStatic => Some(Component::InternalProxy),
        Endpoint::HealthContent => Some(Component::Content),
        Endpoint::HealthGpuController => Some(Component::GpuController),
        Endpoint::HealthCpuWorker => Some(Component::CpuWorker),
        Endpoint::HealthGpuWorker => Some(Component::GpuWorker),
        Endpoint::HealthViz => Some(Component::VizTier),
        Endpoint::HealthPivot => Some(Component::Pivot),
        Endpoint::HealthSessions => Some(Component::SessionManager),
        _ => None,
    }
}

pub(crate) fn health(shell: &Arc<Shell>, endpoint: Endpoint) -> Result<Reply, ApiError> {
    let mut found = match component(endpoint) {
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

pub(crate) fn workers(shell: &Arc<Shell>) -> Result<Reply, ApiError> {
    ok(&shell.service.health.workers())
}

/// What a scraper reads, in the format that it asks for. Some of it comes from the disk.
pub(crate) async fn metrics(shell: Arc<Shell>, req: Req) -> Result<Reply, ApiError> {
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
