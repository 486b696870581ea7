//! The state of every component, as the health routes show it.

use std::sync::Arc;
use std::time::Duration;

use graphlume_engine::{EngineHealth, EngineStats, GpuReport, GpuState};
use graphlume_identity::SteadyClock;
use graphlume_storage::{DatasetRec, Disk, FileRec, Record, Scope, SessionRec, UserRec};
use graphlume_workers::ParsersHealth;

use crate::context::Context;
use crate::error::ServiceError;
use crate::reply::{HealthReply, WorkerReply, WorkersReply};

/// What operators ask of a server that runs. Nothing here waits or looks at more than a few counters.
pub struct Health {
    ctx: Arc<Context>,
    steady: Arc<SteadyClock>,
}

/// How many records of each kind there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordCounts {
    /// Datasets.
    pub datasets: u64,
    /// Files.
    pub files: u64,
    /// Accounts, those of guests included.
    pub accounts: u64,
    /// Sessions that are written down.
    pub sessions: u64,
}

/// A component with a health route of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Component {
    /// The reverse proxy in front.
    ReverseProxy,
    /// The internal proxy and the static content.
    InternalProxy,
    /// Accounts, files and datasets.
    Content,
    /// The engine's control loop.
    GpuController,
    /// The worker that computes on the CPU.
    CpuWorker,
    /// The worker that computes on a GPU.
    GpuWorker,
    /// Live pages.
    VizTier,
    /// Investigation automation: queries and the calls of tools.
    Pivot,
    /// Viz sessions.
    SessionManager,
}

impl Component {
    /// Every component.
    pub const ALL: [Self; 9] = [
        Self::ReverseProxy,
        Self::InternalProxy,
        Self::Content,
        Self::GpuController,
        Self::CpuWorker,
        Self::GpuWorker,
        Self::VizTier,
        Self::Pivot,
        Self::SessionManager,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::ReverseProxy => "reverse proxy",
            Self::InternalProxy => "internal proxy and static content",
            Self::Content => "content management",
            Self::GpuController => "visualization controller",
            Self::CpuWorker => "CPU worker",
            Self::GpuWorker => "GPU worker",
            Self::VizTier => "visualization web tier",
            Self::Pivot => "investigation automation",
            Self::SessionManager => "session manager",
        }
    }
}

impl Health {
    pub(crate) const fn new(ctx: Arc<Context>, steady: Arc<SteadyClock>) -> Self {
        Self { ctx, steady }
    }

    /// What is true of a component now. Never waits.
    #[must_use]
    pub fn component(&self, component: Component) -> HealthReply {
        let engine = || engine_state(&self.ctx.engine.health());
        let (healthy, detail) = match component {
            Component::ReverseProxy => (true, "this server accepts connections itself".to_owned()),
            Component::InternalProxy => (true, "serving".to_owned()),
            Component::Content => self.content_state(),
            Component::GpuController | Component::VizTier | Component::SessionManager => engine(),
            Component::CpuWorker => {
                let h = self.ctx.engine.health();
                let (ok, detail) = engine_state(&h);
                let (can_parse, parsers) = parser_state(self.ctx.data.parsers.health().as_ref());
                (
                    ok && can_parse && h.threads > 0,
                    format!("{} threads; {detail}; {parsers}", h.threads),
                )
            }
            Component::GpuWorker => gpu_state(&self.ctx.engine.health()),
            Component::Pivot => {
                let (ok, detail) = engine();
                let what = if ok { "are answered" } else { "are not answered" };
                (ok, format!("queries and tool calls {what}: {detail}"))
            }
        };
        let status = if healthy { "ok" } else { "unavailable" };
        HealthReply { status, component: component.name(), detail, healthy }
    }

    /// Whether accounts, files and datasets are read and written.
    fn content_state(&self) -> (bool, String) {
        if let Some(why) = self.ctx.data.store.poisoned() {
            return (false, format!("the record store takes no writes ({why}); restart"));
        }
        if let Err(refusal) = self.ctx.identity.require_confirmed_accounts() {
            return (false, refusal.to_string());
        }
        match self.ctx.data.store.disk().map(|disk| disk.want()) {
            Ok(None) => (true, "records are read and written".to_owned()),
            Ok(Some(want)) => (false, format!("records are read, and not all are written: {want}")),
            Err(e) => (false, format!("the free space of the disk cannot be told: {e}")),
        }
    }

    /// The disk of the data folder.
    ///
    /// # Errors
    /// The system does not tell.
    pub fn disk(&self) -> Result<Disk, ServiceError> {
        Ok(self.ctx.data.store.disk()?)
    }

    /// How often records were lost without the operator having confirmed the accounts since.
    #[must_use]
    pub fn damage_unconfirmed(&self) -> usize {
        self.ctx.identity.damage_unconfirmed()
    }

    /// How far the machine's clock is behind what it has shown.
    #[must_use]
    pub fn clock_behind(&self) -> Duration {
        self.steady.behind()
    }

    /// Counters of the engine.
    #[must_use]
    pub fn engine_stats(&self) -> EngineStats {
        self.ctx.engine.stats()
    }

    /// How often a damaged record was met since the start.
    #[must_use]
    pub fn damaged_records_met(&self) -> u64 {
        self.ctx.data.store.stats().corrupt
    }

    /// How many records of each kind there are. The store keeps the numbers, so nothing is walked through.
    ///
    /// # Errors
    /// The store does not answer.
    pub fn record_counts(&self) -> Result<RecordCounts, ServiceError> {
        Ok(RecordCounts {
            datasets: self.number::<DatasetRec>()?,
            files: self.number::<FileRec>()?,
            accounts: self.number::<UserRec>()?,
            sessions: self.number::<SessionRec>()?,
        })
    }

    fn number<R: Record>(&self) -> Result<u64, ServiceError> {
        Ok(self.ctx.data.store.count::<R>(&[Scope::All])?)
    }

    /// The workers, one by one.
    #[must_use]
    pub fn workers(&self) -> WorkersReply {
        let h = self.ctx.engine.health();
        let (cpu, _) = engine_state(&h);
        let well = cpu && h.threads > 0;
        let cpu = WorkerReply {
            kind: "cpu",
            device: format!("{} threads", h.threads),
            cl_context_healthy: well,
            ready: well,
        };
        let gpu = WorkerReply {
            kind: "gpu",
            device: match &h.gpu {
                Ok(report) => card(report),
                Err(reason) => format!("none: {reason}"),
            },
            cl_context_healthy: h.gpu.as_ref().is_ok_and(GpuReport::is_healthy),
            ready: gpu_state(&h).0,
        };
        let mut workers = vec![cpu, gpu];
        for (id, is_busy) in self.ctx.data.parsers.ids() {
            let doing = if is_busy { "has a job" } else { "waits for a job" };
            let device = format!("process {id}, {doing}");
            workers.push(WorkerReply {
                kind: "parse",
                device,
                cl_context_healthy: true,
                ready: true,
            });
        }
        WorkersReply { workers }
    }
}

fn engine_state(h: &EngineHealth) -> (bool, String) {
    if h.stopping {
        return (false, "the engine is stopping".to_owned());
    }
    if let Some((canary, _)) = h.canary.as_ref().filter(|(c, _)| !c.ok) {
        return (false, format!("the engine's check computation failed: {}", canary.detail));
    }
    let age = h.heartbeat_age.as_millis();
    (h.ok, format!("the engine's loop turned {age} ms ago, computing on the {}", h.device))
}

/// Whether uploaded bytes find a parser.
fn parser_state(h: Option<&ParsersHealth>) -> (bool, String) {
    let Some(h) = h else { return (true, "uploads are parsed in this process".to_owned()) };
    let ParsersHealth { ready, busy, wanted, confined, last_end } = h;
    let mut detail = format!("{ready} of {wanted} parse workers ready, {busy} of them at work");
    if *ready > 0 && !confined {
        detail.push_str(", not confined: this system has no seccomp filters");
    }
    if let Some(why) = last_end {
        detail.push_str(&format!("; one was replaced: {why}"));
    }
    (*ready > 0, detail)
}

/// Whether the GPU computes: its context lives, its last known answer was right, and the engine turns.
fn gpu_state(h: &EngineHealth) -> (bool, String) {
    let report = match &h.gpu {
        Ok(report) => report,
        Err(reason) => return (false, format!("no GPU is used: {reason}")),
    };
    let card = card(report);
    match (&report.state, &report.canary) {
        (GpuState::Lost { reason }, _) => (false, format!("{card} was lost: {reason}")),
        (_, None) => (false, format!("{card} has not been checked yet")),
        (_, Some((canary, _))) if !canary.ok => {
            (false, format!("{card} fails its check: {}", canary.detail))
        }
        (_, Some((canary, age))) => {
            let (well, engine) = engine_state(h);
            let (took, age) = (canary.took.as_secs_f64() * 1e3, age.as_millis());
            (
                well,
                format!("{card} computed a known answer in {took:.1} ms, {age} ms ago; {engine}"),
            )
        }
    }
}

/// A card in words.
fn card(report: &GpuReport) -> String {
    let mib = |bytes: u64| bytes >> 20;
    let (used, max) = (mib(report.memory_bytes), mib(report.memory_bytes_max));
    format!("{}, driver {}, {used} of {max} MiB in use", report.name, report.driver)
}
