//! Health of the engine, as it reports it.

use std::sync::Arc;
use std::time::Duration;

use crate::canary::Canary;
use crate::device::GpuReport;

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
