//! The figures that the engine, the record store and the logins count themselves. `/metrics` reads them at each scrape.

use std::fmt::Error;

use graphlume_engine::EngineStats;
use graphlume_service::{RecordCounts, Service};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use super::Build;

/// The figures of one moment.
#[derive(Debug)]
pub(super) struct Figures {
    build: Build,
    engine: EngineStats,
    /// Absent when the store did not tell.
    held: Option<RecordCounts>,
    login_refusals: Vec<(&'static str, u64)>,
    upkeep_failures: Vec<(&'static str, u64)>,
    damaged_records: u64,
    damage_unconfirmed: u64,
    /// Bytes of the data folder's disk that are free, and all.
    disk: Option<(u64, u64)>,
    clock_behind_secs: f64,
}

impl Figures {
    /// Reads them. May wait for the disk.
    pub(super) fn read(build: &Build, service: &Service) -> Self {
        Self {
            build: build.clone(),
            engine: service.health.engine_stats(),
            held: service.health.record_counts().ok(),
            login_refusals: service.identity.login_refusals().collect(),
            upkeep_failures: service.upkeep.failures().collect(),
            damaged_records: service.health.damaged_records_met(),
            damage_unconfirmed: service.health.damage_unconfirmed() as u64,
            disk: service.health.disk().ok().map(|disk| (disk.free_bytes, disk.total_bytes)),
            clock_behind_secs: service.health.clock_behind().as_secs_f64(),
        }
    }
}

impl Collector for Figures {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> Result<(), Error> {
        let mut to = Writer(encoder);
        let Build { version, commit } = &self.build;
        let labels = [("version", version.as_str()), ("commit", commit.as_str())];
        to.labels("build_info", "The build that serves", &labels)?;
        self.of_engine(&mut to)?;
        if let Some(held) = &self.held {
            to.gauge("datasets", "Datasets", held.datasets)?;
            to.gauge("files", "Uploaded files", held.files)?;
            to.gauge("accounts", "Accounts, those of guests included", held.accounts)?;
            to.gauge("sessions", "Sessions of accounts that are kept", held.sessions)?;
        }
        to.counters(
            "login_refusals",
            "Passwords, keys and login links that were refused since the start",
            "reason",
            &self.login_refusals,
        )?;
        to.counters(
            "upkeep_failures",
            "Failures of the hourly work on the data folder since the start",
            "part",
            &self.upkeep_failures,
        )?;
        to.counter(
            "store_damaged_records",
            "Reads since the start that met a damaged record",
            self.damaged_records,
        )?;
        to.gauge(
            "store_damage_unconfirmed",
            "How often records were lost without the accounts having been confirmed since",
            self.damage_unconfirmed,
        )?;
        if let Some((free, total)) = self.disk {
            let help = "Bytes of the data folder's disk that may still be written";
            to.gauge("disk_free_bytes", help, free)?;
            to.gauge("disk_total_bytes", "Bytes of the data folder's disk", total)?;
        }
        let help = "How far the machine's clock is behind what it has shown";
        to.seconds("clock_behind_seconds", help, self.clock_behind_secs)
    }
}

impl Figures {
    fn of_engine(&self, to: &mut Writer<'_>) -> Result<(), Error> {
        // Taken apart, so that a figure that is added does not compile without a name here.
        let EngineStats {
            sessions,
            sessions_running,
            viewers,
            resident_graphs,
            memory_bytes,
            memory_bytes_peak,
            memory_bytes_max,
            slot_bytes,
            control_waiting,
            interactive_waiting,
            batch_waiting,
            jobs_waiting,
            loads_waiting,
            layouts_waiting,
            panics_total,
            stalls_total,
            loads_total,
            load_failures_total,
            evictions_total,
            memory_refusals_total,
            query_turns_total,
            query_micros_total,
            iterations_total,
            frames_total,
            frame_bytes_total,
            alarms_total,
            device_memory_bytes,
            device_memory_bytes_peak,
            device_memory_bytes_max,
            device_graphs,
            device_uploads_total,
            device_evictions_total,
            device_refusals_total,
            device_driver_refusals_total,
            device_iterations_total,
            device_losses_total,
        } = self.engine;
        for (name, help, value) in [
            ("sessions", "Live sessions", sessions as u64),
            ("sessions_running", "Sessions whose layout moves", sessions_running as u64),
            ("viewers", "Viewers attached to sessions", viewers as u64),
            ("resident_graphs", "Graphs in memory", resident_graphs as u64),
            ("memory_bytes", "Bytes reserved for graphs and layouts", memory_bytes),
            ("memory_peak_bytes", "The most bytes that were reserved at once", memory_bytes_peak),
            ("memory_max_bytes", "Bytes that may be reserved", memory_bytes_max),
            ("slot_bytes", "Bytes of the frames that wait for viewers", slot_bytes),
            ("control_waiting", "Commands waiting in the control lane", control_waiting as u64),
            (
                "interactive_waiting",
                "Commands waiting in the interactive lane",
                interactive_waiting as u64,
            ),
            ("batch_waiting", "Commands waiting in the batch lane", batch_waiting as u64),
            ("jobs_waiting", "Jobs waiting for a worker", jobs_waiting as u64),
            ("loads_waiting", "Loads waiting for a loader", loads_waiting as u64),
            (
                "layouts_waiting",
                "Sessions waiting for their next piece of layout",
                layouts_waiting as u64,
            ),
            ("device_memory_bytes", "Bytes reserved on the GPU", device_memory_bytes),
            (
                "device_memory_peak_bytes",
                "The most bytes that were reserved there at once",
                device_memory_bytes_peak,
            ),
            (
                "device_memory_max_bytes",
                "Bytes that may be reserved there; 0 without a GPU",
                device_memory_bytes_max,
            ),
            ("device_graphs", "Graphs on the GPU", device_graphs as u64),
        ] {
            to.gauge(&format!("engine_{name}"), help, value)?;
        }
        for (name, help, value) in [
            ("panics", "Panics in commands and jobs", panics_total),
            ("stalls", "Turns of the loop that took too long", stalls_total),
            ("loads", "Loads begun", loads_total),
            ("load_failures", "Loads that failed", load_failures_total),
            ("evictions", "Graphs given up for room", evictions_total),
            (
                "memory_refusals",
                "Reservations refused even after graphs were given up",
                memory_refusals_total,
            ),
            (
                "query_turns",
                "Turns of queries that have ended; long queries take several",
                query_turns_total,
            ),
            ("iterations", "Layout iterations", iterations_total),
            ("frames", "Position frames made", frames_total),
            ("frame_bytes", "Bytes of these frames", frame_bytes_total),
            (
                "alarms",
                "Turns of the loop and work on the GPU so long that somebody should look",
                alarms_total,
            ),
            ("device_uploads", "Graphs copied to the GPU", device_uploads_total),
            ("device_evictions", "Graphs given up on the GPU for room", device_evictions_total),
            (
                "device_refusals",
                "Work that found no room on the GPU even after that",
                device_refusals_total,
            ),
            (
                "device_driver_refusals",
                "Allocations that the driver refused although they were within the limit",
                device_driver_refusals_total,
            ),
            ("device_iterations", "Layout iterations done by the GPU", device_iterations_total),
            ("device_losses", "GPUs lost", device_losses_total),
        ] {
            to.counter(&format!("engine_{name}"), help, value)?;
        }
        let help = "Time that turns of queries took, without what queries waited for";
        to.spent("engine_query_seconds", help, query_micros_total as f64 / 1e6)
    }
}

/// Writes metrics that have their value already.
pub(super) struct Writer<'a>(pub(super) DescriptorEncoder<'a>);

impl Writer<'_> {
    /// The head of a metric, in the form of those that the registry writes.
    fn head<'s>(
        &'s mut self,
        name: &'s str,
        help: &str,
        kind: MetricType,
    ) -> Result<MetricEncoder<'s>, Error> {
        self.0.encode_descriptor(name, &format!("{help}."), None, kind)
    }

    /// What goes up and down.
    pub(super) fn gauge(&mut self, name: &str, help: &str, value: u64) -> Result<(), Error> {
        let value = ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX));
        value.encode(self.head(name, help, MetricType::Gauge)?)
    }

    /// A time that goes up and down, or a moment.
    pub(super) fn seconds(&mut self, name: &str, help: &str, value: f64) -> Result<(), Error> {
        ConstGauge::new(value).encode(self.head(name, help, MetricType::Gauge)?)
    }

    /// What only grows; `_total` is added to its name.
    pub(super) fn counter(&mut self, name: &str, help: &str, value: u64) -> Result<(), Error> {
        ConstCounter::new(value).encode(self.head(name, help, MetricType::Counter)?)
    }

    /// Time that only grows; `_total` is added to its name.
    pub(super) fn spent(&mut self, name: &str, help: &str, secs: f64) -> Result<(), Error> {
        ConstCounter::new(secs).encode(self.head(name, help, MetricType::Counter)?)
    }

    /// A metric that says everything with its labels.
    fn labels(&mut self, name: &str, help: &str, labels: &[(&str, &str)]) -> Result<(), Error> {
        let mut family = self.head(name, help, MetricType::Gauge)?;
        ConstGauge::new(1_i64).encode(family.encode_family(&labels)?)
    }

    /// Counters that one label tells apart.
    fn counters(
        &mut self,
        name: &str,
        help: &str,
        label: &str,
        values: &[(&'static str, u64)],
    ) -> Result<(), Error> {
        let mut family = self.head(name, help, MetricType::Counter)?;
        for (of, value) in values {
            ConstCounter::new(*value).encode(family.encode_family(&[(label, *of)])?)?;
        }
        Ok(())
    }
}
