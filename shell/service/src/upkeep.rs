//! The regular work on the data folder, in parts: one that fails leaves the others their turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use graphlume_identity::SteadyClock;

use crate::context::Context;
use crate::error::ServiceError;
use crate::sessions::{self, checkpoints};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// One part of the upkeep.
struct UpkeepTask {
    /// Its label in the metrics.
    name: &'static str,
    /// What stays undone when it fails.
    undone: &'static str,
    run: fn(&Context) -> Result<(), ServiceError>,
}

/// All parts, in the order in which they run. What makes room goes before what needs it.
const PARTS: [UpkeepTask; 6] = [
    UpkeepTask { name: "links", undone: "login links that are over stay", run: forget_links },
    UpkeepTask { name: "logins", undone: "login sessions that are over stay", run: forget_logins },
    UpkeepTask {
        name: "sessions",
        undone: "sessions that nobody opens stay",
        run: forget_sessions,
    },
    UpkeepTask {
        name: "positions",
        undone: "positions that nobody needs stay",
        run: sweep_checkpoints,
    },
    UpkeepTask { name: "blobs", undone: "files that no record refers to stay", run: sweep },
    UpkeepTask {
        name: "export",
        undone: "the daily export of the records is missing",
        run: export,
    },
];

/// Failures of each part since the start.
#[derive(Default)]
struct Failures([AtomicU64; PARTS.len()]);

/// The regular work on the data folder.
pub struct Upkeep {
    ctx: Arc<Context>,
    steady: Arc<SteadyClock>,
    failures: Arc<Failures>,
}

impl Upkeep {
    pub(crate) fn new(ctx: Arc<Context>, steady: Arc<SteadyClock>) -> Self {
        Self { ctx, steady, failures: Arc::default() }
    }

    /// The regular work on the data folder: the removal of blobs that no record has referred to for a day, of
    /// sessions that were not opened for long and of their positions, of login links and login sessions that
    /// are over, and an export of the records once a day. The server calls it every hour. A part that fails is
    /// logged and counted, and the others are done all the same; damaged records are passed over.
    ///
    /// # Errors
    /// The first failure; nothing is lost then, and the next call tries again.
    pub async fn run(&self) -> Result<(), ServiceError> {
        let (ctx, failures) = (Arc::clone(&self.ctx), Arc::clone(&self.failures));
        self.ctx
            .blocking(move |_| {
                let mut first = Ok(());
                for (part, failed) in PARTS.iter().zip(&failures.0) {
                    if let Err(e) = (part.run)(&ctx) {
                        failed.fetch_add(1, Ordering::Relaxed);
                        tracing::error!(
                            part = part.name, error = %e, undone = part.undone,
                            "a part of the upkeep failed; it is tried again in an hour"
                        );
                        first = first.and(Err(e));
                    }
                }
                first
            })
            .await
    }

    /// Writes the time down, so that a clock that is set back while the server is stopped revives no credential. The
    /// server calls it every minute.
    ///
    /// # Errors
    /// The store takes no writes.
    pub async fn keep_time(&self) -> Result<(), ServiceError> {
        let steady = Arc::clone(&self.steady);
        self.ctx.blocking(move |data| Ok(steady.keep(&data.store)?)).await
    }

    /// How often each part of [`Upkeep::run`] has failed since the start.
    pub fn failures(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        let counts = self.failures.0.iter().map(|n| n.load(Ordering::Relaxed));
        PARTS.iter().map(|p| p.name).zip(counts)
    }
}

fn forget_links(ctx: &Context) -> Result<(), ServiceError> {
    Ok(ctx.identity.forget_old_links()?)
}

fn forget_logins(ctx: &Context) -> Result<(), ServiceError> {
    Ok(ctx.identity.forget_old_logins()?)
}

fn forget_sessions(ctx: &Context) -> Result<(), ServiceError> {
    sessions::forget_old(&ctx.data)
}

fn sweep_checkpoints(ctx: &Context) -> Result<(), ServiceError> {
    checkpoints::sweep(&ctx.data)
}

fn sweep(ctx: &Context) -> Result<(), ServiceError> {
    ctx.data.store.sweep(DAY)?;
    Ok(())
}

fn export(ctx: &Context) -> Result<(), ServiceError> {
    let due = ctx.data.store.exported_at()?.is_none_or(|at| {
        let age = ctx.data.clock.unix_micros().saturating_sub(at);
        u128::try_from(age).unwrap_or(0) >= DAY.as_micros()
    });
    if due {
        ctx.data.store.export()?;
    }
    Ok(())
}
