//! Counters for the internal listener. Label values come from the route table and from fixed lists, so
//! that no client can grow the number of series.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

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
    /// Figures that other components keep and that are read when somebody asks.
    engine: Family<EngineLabels, Gauge<f64, AtomicU64>>,
    upkeep_failures: Family<PartLabels, Gauge<f64, AtomicU64>>,
    /// Damaged records that were met since the start.
    pub(crate) damaged_records: Gauge<f64, AtomicU64>,
    pub(crate) disk_free_bytes: Gauge<f64, AtomicU64>,
    pub(crate) disk_total_bytes: Gauge<f64, AtomicU64>,
    /// How often records were lost without the accounts having been confirmed since.
    pub(crate) damage_unconfirmed: Gauge<f64, AtomicU64>,
    /// How far the machine's clock is behind what it has shown.
    pub(crate) clock_behind_seconds: Gauge<f64, AtomicU64>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct PartLabels {
    part: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct EngineLabels {
    figure: String,
}

fn gauge_f64(registry: &mut Registry, name: &str, help: &str) -> Gauge<f64, AtomicU64> {
    let gauge = Gauge::default();
    registry.register(name, help, Gauge::clone(&gauge));
    gauge
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
        let engine = Family::default();
        registry.register("engine", "Figures of the engine", Family::clone(&engine));
        let upkeep_failures = Family::default();
        registry.register(
            "upkeep_failures",
            "Failures of the hourly work on the data folder since the start",
            Family::clone(&upkeep_failures),
        );
        let damaged_records = Gauge::default();
        registry.register(
            "store_damaged_records",
            "Reads since the start that met a damaged record",
            Gauge::clone(&damaged_records),
        );
        let disk_free_bytes = gauge_f64(
            &mut registry,
            "disk_free_bytes",
            "Bytes of the data folder's disk that may still be written",
        );
        let disk_total_bytes =
            gauge_f64(&mut registry, "disk_total_bytes", "Bytes of the data folder's disk");
        let damage_unconfirmed = gauge_f64(
            &mut registry,
            "store_damage_unconfirmed",
            "How often records were lost without the accounts having been confirmed since",
        );
        let clock_behind_seconds = gauge_f64(
            &mut registry,
            "clock_behind_seconds",
            "How far the machine's clock is behind what it has shown",
        );
        Arc::new(Self {
            registry,
            disk_free_bytes,
            disk_total_bytes,
            damage_unconfirmed,
            clock_behind_seconds,
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
            engine,
            upkeep_failures,
            damaged_records,
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

    /// Sets a figure that is read only now.
    pub(crate) fn figure(&self, figure: String, value: f64) {
        self.engine.get_or_create(&EngineLabels { figure }).set(value);
    }

    /// Sets how often a part of the upkeep has failed.
    pub(crate) fn upkeep_failed(&self, part: &'static str, times: u64) {
        self.upkeep_failures.get_or_create(&PartLabels { part }).set(times as f64);
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

    /// The text that a scraper reads.
    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = prometheus_client::encoding::text::encode(&mut out, &self.registry);
        out
    }
}
