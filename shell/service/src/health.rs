//! The state of every component, as the health routes show it.

use graphlume_engine::{EngineHealth, GpuStatus};

use crate::Service;
use crate::reply::{HealthReply, WorkerReply, WorkersReply};

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
    /// Investigation automation.
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

impl Service {
    /// What is true of a component now. Never waits.
    #[must_use]
    pub fn health(&self, component: Component) -> HealthReply {
        let engine = || engine_state(&self.engine.health());
        let (healthy, detail) = match component {
            Component::ReverseProxy => (true, "this server accepts connections itself".to_owned()),
            Component::InternalProxy => (true, "serving".to_owned()),
            Component::Content => match self.core.store.poisoned() {
                None => (true, "records are read and written".to_owned()),
                Some(why) => (false, format!("the record store takes no writes ({why}); restart")),
            },
            Component::GpuController | Component::VizTier | Component::SessionManager => engine(),
            Component::CpuWorker => {
                let h = self.engine.health();
                let (ok, detail) = engine_state(&h);
                (ok && h.threads > 0, format!("{} threads; {detail}", h.threads))
            }
            Component::GpuWorker => gpu_state(&self.engine.health()),
            Component::Pivot => (false, "this server has no such component".to_owned()),
        };
        let status = if healthy { "ok" } else { "unavailable" };
        HealthReply { status, component: component.name(), detail, healthy }
    }

    /// The workers, one by one.
    #[must_use]
    pub fn workers(&self) -> WorkersReply {
        let h = self.engine.health();
        let (cpu, _) = engine_state(&h);
        let (gpu, gpu_detail) = gpu_state(&h);
        let worker = |kind, device, well| WorkerReply {
            kind,
            device,
            cl_context_healthy: well,
            ready: well,
        };
        WorkersReply {
            workers: vec![
                worker("cpu", format!("{} threads", h.threads), cpu && h.threads > 0),
                worker("gpu", gpu_detail, gpu),
            ],
        }
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

fn gpu_state(h: &EngineHealth) -> (bool, String) {
    match &h.gpu {
        GpuStatus::Absent { reason } => (false, format!("there is no GPU: {reason}")),
        GpuStatus::Present { name, .. } if h.device == "cpu" => {
            (false, format!("{name} is present and not used: graphs are computed on the CPU"))
        }
        GpuStatus::Present { name, .. } => {
            let (ok, detail) = engine_state(h);
            (ok, format!("{name}: {detail}"))
        }
    }
}
