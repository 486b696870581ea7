//! Health of the components, details of the workers, counters.

use std::sync::Arc;

use bytes::Bytes;
use graphlume_service::{Component, HealthReply};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};

use super::{json, ok};
use crate::request::Reply;
use crate::route::Endpoint;
use crate::shell::Shell;
use crate::status::ApiError;

/// What the Prometheus text format is called.
const METRICS_TYPE: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");

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
        Some(component) => shell.service.health(component),
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
    let ill = SERVING.iter().map(|c| shell.service.health(*c)).find(|h| !h.healthy);
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
    ok(&shell.service.workers())
}

pub(crate) fn metrics(shell: &Arc<Shell>) -> Result<Reply, ApiError> {
    if let Ok(serde_json::Value::Object(figures)) =
        serde_json::to_value(shell.service.engine().stats())
    {
        for (name, value) in figures {
            if let Some(number) = value.as_f64() {
                shell.metrics.figure(name, number);
            }
        }
    }
    for (part, times) in shell.service.upkeep_failures() {
        shell.metrics.upkeep_failed(part, times);
    }
    shell.metrics.damaged_records.set(shell.service.damaged_records_met() as f64);
    if let Ok(disk) = shell.service.disk() {
        shell.metrics.disk_free_bytes.set(disk.free_bytes as f64);
        shell.metrics.disk_total_bytes.set(disk.total_bytes as f64);
    }
    shell.metrics.damage_unconfirmed.set(shell.service.damage_unconfirmed() as f64);
    shell.metrics.clock_behind_seconds.set(shell.service.clock_behind().as_secs_f64());
    let mut reply = Response::new(Bytes::from(shell.metrics.text()));
    reply.headers_mut().insert(CONTENT_TYPE, METRICS_TYPE);
    Ok(reply)
}
