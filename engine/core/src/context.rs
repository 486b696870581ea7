//! Context that the loop, the workers and the handles share: settings, clock, budget, GPU, and what the engine
//! shows of itself without being asked through a queue.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, Sender, bounded};
use event_listener::Event as Signal;
use graphlume_types::{Budget, Clock, Foreground, limits};
use parking_lot::Mutex;

use crate::canary::Canary;
use crate::config::Config;
use crate::device::gpu_device::{DeviceFigures, GpuDevice};
use crate::device::steps::Steps;
use crate::health::EngineHealth;
use crate::stats::{Counters, EngineStats, Gauges};

/// A canary result is asked for again after this time.
const CANARY_FRESH: Duration = Duration::from_secs(1);
/// A loop that has not turned for this long is not alive.
const HEARTBEAT_MAX: Duration = Duration::from_secs(2);

/// The part of the engine that every thread of it may see.
pub(crate) struct EngineContext {
    pub(crate) config: Config,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) budget: Budget,
    pub(crate) counters: Counters,
    /// The GPU, or why there is none. A lost one stays here.
    pub(crate) gpu: Result<Arc<GpuDevice>, Arc<str>>,
    /// Work on the GPU that is in progress.
    pub(crate) steps: Steps,
    /// Requests whose callers wait.
    pub(crate) foreground: Arc<Foreground>,
    /// Threads of the CPU pool.
    threads: usize,
    gauges: Mutex<Gauges>,
    stopping: AtomicBool,
    dead: AtomicBool,
    restart: Mutex<Option<String>>,
    restart_told: Signal,
    started: Instant,
    heartbeat_micros: AtomicU64,
    canary: Mutex<Option<(Canary, Instant)>>,
    /// Holds one wake-up at most, however often viewers come and go.
    wake: (Sender<()>, Receiver<()>),
}

impl EngineContext {
    pub(crate) fn new(
        config: Config,
        clock: Arc<dyn Clock>,
        gpu: Result<Arc<GpuDevice>, Arc<str>>,
        threads: usize,
    ) -> Self {
        let started = clock.monotonic();
        Self {
            budget: Budget::new("host", config.host_budget_bytes),
            config,
            clock,
            counters: Counters::default(),
            gpu,
            steps: Steps::default(),
            foreground: Arc::default(),
            threads,
            gauges: Mutex::new(Gauges::default()),
            stopping: AtomicBool::new(false),
            dead: AtomicBool::new(false),
            restart: Mutex::new(None),
            restart_told: Signal::new(),
            started,
            heartbeat_micros: AtomicU64::new(0),
            canary: Mutex::new(None),
            wake: bounded(1),
        }
    }

    pub(crate) fn now(&self) -> Instant {
        self.clock.monotonic()
    }

    /// Threads of the CPU pool.
    pub(crate) const fn threads(&self) -> usize {
        self.threads
    }

    /// Bytes that one query may take of the memory.
    pub(crate) fn query_memory_max(&self) -> u64 {
        self.budget.limit() / limits::QUERY_MEMORY_PART
    }

    /// Makes the loop look at its sessions now instead of at its next tick.
    pub(crate) fn wake(&self) {
        // A full channel holds a wake-up that the loop has not seen yet.
        let _ = self.wake.0.try_send(());
    }

    /// What the loop waits for to see that it was woken.
    pub(crate) const fn wakes(&self) -> &Receiver<()> {
        &self.wake.1
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

    /// The engine ends: the loop takes nothing more.
    pub(crate) fn note_stopping(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// The loop itself has panicked.
    pub(crate) fn note_dead(&self) {
        self.dead.store(true, Ordering::Relaxed);
    }

    /// The GPU, while it can be used.
    pub(crate) fn usable_gpu(&self) -> Option<&Arc<GpuDevice>> {
        self.gpu.as_ref().ok().filter(|gpu| gpu.lost().is_none())
    }

    /// What sessions say of the GPU once it is lost; none while it works, and without one.
    pub(crate) fn why_gpu_lost(&self) -> Option<String> {
        self.gpu.as_ref().ok().and_then(|gpu| gpu.why_lost())
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

    /// What the loop has just seen of its own state.
    pub(crate) fn set_gauges(&self, gauges: Gauges) {
        *self.gauges.lock() = gauges;
    }

    pub(crate) fn health(&self) -> EngineHealth {
        let now = self.clock.monotonic();
        let heartbeat_age = self.heartbeat_age(now);
        let canary = self.canary.lock().clone();
        let canary = canary.map(|(c, at)| (c, now.saturating_duration_since(at)));
        let stopping = self.is_stopping() || self.dead.load(Ordering::Relaxed);
        EngineHealth {
            ok: !stopping
                && heartbeat_age < HEARTBEAT_MAX
                && canary.as_ref().is_none_or(|(c, _)| c.ok),
            heartbeat_age,
            stopping,
            device: if self.usable_gpu().is_some() { "cuda" } else { "cpu" },
            threads: self.threads,
            gpu: self.gpu.as_ref().map(|c| c.report(now)).map_err(Arc::clone),
            canary,
        }
    }

    /// The engine in numbers; `waiting` are the commands by priority, the most urgent first.
    pub(crate) fn stats(&self, waiting: [usize; 3]) -> EngineStats {
        let device = self.gpu.as_ref().map_or_else(|_| DeviceFigures::default(), |c| c.figures());
        EngineStats::collect(&self.gauges.lock(), &self.counters, &self.budget, device, waiting)
    }
}
