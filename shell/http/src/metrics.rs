//! Counters for the internal listener. Label values come from the route table and from fixed lists, so
//! that no client can grow the number of series.

mod exposition;
mod figures;
mod process;

use std::sync::Arc;
use std::time::Duration;

use graphlume_service::Service;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

pub(crate) use exposition::Format;

/// Upper bounds of the duration classes, in seconds.
const BUCKETS: [f64; 11] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestLabels {
    route: &'static str,
    method: &'static str,
    status: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RouteLabels {
    route: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ReasonLabels {
    reason: &'static str,
}

/// All counters of the shell.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    seconds: Family<RouteLabels, Histogram, fn() -> Histogram>,
    refusals: Family<ReasonLabels, Counter>,
    connections: Gauge,
    in_flight: Gauge,
    pub(crate) upload_bytes: Counter,
    pub(crate) panics: Counter,
    /// Open viewers.
    pub(crate) viewers: Gauge,
    /// Position frames sent to viewers.
    pub(crate) frames_sent: Counter,
    /// Bytes sent to viewers.
    pub(crate) viewer_bytes: Counter,
}

/// Which build it is.
#[derive(Debug, Clone)]
pub(crate) struct Build {
    pub(crate) version: String,
    pub(crate) commit: String,
}

/// A gauge that counts what is alive.
#[derive(Debug)]
pub(crate) struct Alive(Gauge);

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Metrics {
    pub(crate) fn new() -> Arc<Self> {
        let mut registry = Registry::with_prefix("graphlume");
        let requests = Family::default();
        registry.register("http_requests", "Requests answered", Family::clone(&requests));
        let make: fn() -> Histogram = || Histogram::new(BUCKETS);
        let seconds = Family::new_with_constructor(make);
        registry.register(
            "http_request_seconds",
            "Time from the end of a request's headers to its answer",
            Family::clone(&seconds),
        );
        let refusals = Family::default();
        registry.register("http_refusals", "Work turned away", Family::clone(&refusals));
        let gauge = |registry: &mut Registry, name: &str, help: &str| {
            let gauge = Gauge::default();
            registry.register(name, help, Gauge::clone(&gauge));
            gauge
        };
        let connections = gauge(&mut registry, "http_connections", "Open connections");
        let in_flight = gauge(&mut registry, "http_in_flight", "Requests in progress");
        let viewers = gauge(&mut registry, "viewers", "Open viewers");
        let counter = |registry: &mut Registry, name: &str, help: &str| {
            let counter = Counter::default();
            registry.register(name, help, Counter::clone(&counter));
            counter
        };
        let upload_bytes = counter(&mut registry, "upload_bytes", "Bytes of uploaded bodies");
        let panics = counter(&mut registry, "http_panics", "Requests that met a defect");
        let frames_sent = counter(&mut registry, "viewer_frames", "Position frames sent");
        let viewer_bytes = counter(&mut registry, "viewer_bytes", "Bytes sent to viewers");
        Arc::new(Self {
            registry,
            requests,
            seconds,
            refusals,
            connections,
            in_flight,
            upload_bytes,
            panics,
            viewers,
            frames_sent,
            viewer_bytes,
        })
    }

    /// Counts an answered request. `route` is the row's pattern, or what stands for "no row".
    pub(crate) fn answered(
        &self,
        route: &'static str,
        method: &'static str,
        status: u16,
        took: Duration,
    ) {
        self.requests.get_or_create(&RequestLabels { route, method, status }).inc();
        self.seconds.get_or_create(&RouteLabels { route }).observe(took.as_secs_f64());
    }

    /// Counts work that was turned away.
    pub(crate) fn refused(&self, reason: &'static str) {
        self.refusals.get_or_create(&ReasonLabels { reason }).inc();
    }

    pub(crate) fn connection(&self) -> Alive {
        self.connections.inc();
        Alive(self.connections.clone())
    }

    pub(crate) fn request(&self) -> Alive {
        self.in_flight.inc();
        Alive(self.in_flight.clone())
    }

    pub(crate) fn viewer(&self) -> Alive {
        self.viewers.inc();
        Alive(self.viewers.clone())
    }

    /// The text that a scraper reads: what is counted here, what others count, and the process. May wait for the disk.
    pub(crate) fn text(&self, format: Format, build: &Build, service: &Service) -> String {
        let mut others = Registry::with_prefix("graphlume");
        others.register_collector(Box::new(figures::Figures::read(build, service)));
        let mut process = Registry::with_prefix("process");
        process.register_collector(Box::new(process::Process::read()));
        let mut out = String::new();
        // Writing to a string cannot fail.
        for registry in [&self.registry, &others, &process] {
            let _ = text::encode_registry(&mut out, registry);
        }
        let _ = text::encode_eof(&mut out);
        match format {
            Format::OpenMetrics => out,
            Format::Text => exposition::to_text(&out),
        }
    }
}
