//! What the engine shows of itself without being asked through a lane.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use event_listener::Event as Signal;
use graphlume_graph::Topology;
use graphlume_types::{Budget, CancelToken, Clock, Foreground, MakeRoom, limits};
use parking_lot::Mutex;

use crate::device::GpuReport;
use crate::device::card::Card;
use crate::device::watch::Steps;
use crate::stats::{Counters, DeviceFigures, EngineStats, Gauges};

/// A canary result is asked for again after this time.
const CANARY_FRESH: Duration = Duration::from_secs(1);
/// A loop that has not turned for this long is not alive.
const HEARTBEAT_MAX: Duration = Duration::from_secs(2);

/// The result of a small job with a known answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Canary {
    /// Whether the answer was the known one.
    pub ok: bool,
    /// What was wrong, or nothing.
    pub detail: String,
    /// How long the job took once it ran.
    pub took: Duration,
}

/// The engine's health.
#[derive(Debug, Clone)]
pub struct EngineHealth {
    /// Whether the loop turns and the last canary was right.
    pub ok: bool,
    /// Time since the loop last turned.
    pub heartbeat_age: Duration,
    /// Whether the engine is stopping or has stopped.
    pub stopping: bool,
    /// What the graphs are computed on.
    pub device: &'static str,
    /// Threads of the CPU pool.
    pub threads: usize,
    /// The GPU that large graphs are computed on, or why there is none.
    pub gpu: Result<GpuReport, Arc<str>>,
    /// The last canary and its age; none before the first.
    pub canary: Option<(Canary, Duration)>,
}

/// What the loop, the workers and the handles share.
pub(crate) struct Shared {
    pub(crate) clock: Arc<dyn Clock>,
    /// How long a call may take.
    pub(crate) call_time: Duration,
    pub(crate) counters: Counters,
    pub(crate) budget: Budget,
    pub(crate) threads: AtomicUsize,
    pub(crate) stopping: AtomicBool,
    pub(crate) dead: AtomicBool,
    pub(crate) gauges: Mutex<Gauges>,
    /// The GPU, or why there is none. A lost one stays here.
    pub(crate) card: Result<Arc<Card>, Arc<str>>,
    pub(crate) steps: Steps,
    /// Requests that somebody waits for.
    pub(crate) foreground: Arc<Foreground>,
    restart: Mutex<Option<String>>,
    restart_told: Signal,
    started: Instant,
    heartbeat_micros: AtomicU64,
    canary: Mutex<Option<(Canary, Instant)>>,
    /// Whether a command to look at the sessions waits in its lane already.
    pub(crate) wake_asked: AtomicBool,
    /// How the engine is asked for memory that only eviction can give.
    pub(crate) make_room: OnceLock<Box<MakeRoom>>,
}

impl Shared {
    pub(crate) fn new(
        clock: Arc<dyn Clock>,
        call_time: Duration,
        budget: Budget,
        card: Result<Arc<Card>, Arc<str>>,
    ) -> Self {
        let started = clock.monotonic();
        Self {
            clock,
            call_time,
            counters: Counters::default(),
            budget,
            threads: AtomicUsize::new(0),
            stopping: AtomicBool::new(false),
            dead: AtomicBool::new(false),
            gauges: Mutex::new(Gauges::default()),
            card,
            steps: Steps::default(),
            foreground: Arc::default(),
            restart: Mutex::new(None),
            restart_told: Signal::new(),
            started,
            heartbeat_micros: AtomicU64::new(0),
            canary: Mutex::new(None),
            wake_asked: AtomicBool::new(false),
            make_room: OnceLock::new(),
        }
    }

    /// Bytes that one query may take of the memory.
    pub(crate) fn query_memory_max(&self) -> u64 {
        self.budget.limit() / limits::QUERY_MEMORY_PART
    }

    /// The loop has turned.
    pub(crate) fn beat(&self, now: Instant) {
        let micros = now.saturating_duration_since(self.started).as_micros();
        self.heartbeat_micros.store(u64::try_from(micros).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    pub(crate) fn heartbeat_age(&self, now: Instant) -> Duration {
        let beat = Duration::from_micros(self.heartbeat_micros.load(Ordering::Relaxed));
        now.saturating_duration_since(self.started + beat)
    }

    /// The card, while it can be used.
    pub(crate) fn card(&self) -> Option<&Arc<Card>> {
        self.card.as_ref().ok().filter(|c| c.lost().is_none())
    }

    /// Only a new process helps; the first reason stays.
    pub(crate) fn want_restart(&self, reason: String) {
        let mut wanted = self.restart.lock();
        if wanted.is_none() {
            tracing::error!(reason, "a new process is needed");
            *wanted = Some(reason);
        }
        drop(wanted);
        self.restart_told.notify(usize::MAX);
    }

    pub(crate) fn restart_reason(&self) -> Option<String> {
        self.restart.lock().clone()
    }

    pub(crate) async fn restart_wanted(&self) -> String {
        loop {
            let told = self.restart_told.listen();
            if let Some(reason) = self.restart_reason() {
                return reason;
            }
            told.await;
        }
    }

    pub(crate) fn set_canary(&self, canary: Canary) {
        *self.canary.lock() = Some((canary, self.clock.monotonic()));
    }

    pub(crate) fn canary_is_stale(&self) -> bool {
        let now = self.clock.monotonic();
        self.canary
            .lock()
            .as_ref()
            .is_none_or(|(_, at)| now.saturating_duration_since(*at) >= CANARY_FRESH)
    }

    pub(crate) fn health(&self) -> EngineHealth {
        let now = self.clock.monotonic();
        let heartbeat_age = self.heartbeat_age(now);
        let canary = self.canary.lock().clone();
        let canary = canary.map(|(c, at)| (c, now.saturating_duration_since(at)));
        let stopping = self.stopping.load(Ordering::Relaxed) || self.dead.load(Ordering::Relaxed);
        EngineHealth {
            ok: !stopping
                && heartbeat_age < HEARTBEAT_MAX
                && canary.as_ref().is_none_or(|(c, _)| c.ok),
            heartbeat_age,
            stopping,
            device: if self.card().is_some() { "cuda" } else { "cpu" },
            threads: self.threads.load(Ordering::Relaxed),
            gpu: self.card.as_ref().map(|c| c.report(now)).map_err(Arc::clone),
            canary,
        }
    }

    pub(crate) fn stats(&self, lanes: [usize; 3]) -> EngineStats {
        let device = self.card.as_ref().map_or_else(|_| DeviceFigures::default(), |c| c.figures());
        EngineStats::collect(&self.gauges.lock(), &self.counters, &self.budget, device, lanes)
    }
}

/// Two triangles joined by one edge: the communities are known, so a wrong answer means that the
/// machine or the build cannot be trusted. Runs on the current rayon pool.
pub(crate) fn run_canary(clock: &dyn Clock) -> Canary {
    let begun = clock.monotonic();
    let topology = Arc::new(Topology::from_coo(6, &[0, 1, 2, 3, 4, 5, 0], &[1, 2, 0, 4, 5, 3, 3]));
    let labels =
        graphlume_algo::community::louvain::run(&topology, None, 1, 1.0, &CancelToken::new());
    let detail = match labels {
        Ok(l) if l == [0, 0, 0, 1, 1, 1] => String::new(),
        Ok(l) => format!("two triangles were split as {l:?}"),
        Err(e) => e.to_string(),
    };
    let took = clock.monotonic().saturating_duration_since(begun);
    Canary { ok: detail.is_empty(), detail, took }
}
