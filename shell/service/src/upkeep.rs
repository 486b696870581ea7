//! The regular work on the data folder, in parts: one that fails leaves the others their turn.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use graphlume_storage::Record;

use crate::identity::{links, logins, orgs};
use crate::service::Core;
use crate::{Service, ServiceError, keeper, sessions};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// One part of the upkeep.
struct Part {
    /// Its label in the metrics.
    name: &'static str,
    /// What stays undone when it fails.
    undone: &'static str,
    run: fn(&Core) -> Result<(), ServiceError>,
}

/// All parts, in the order in which they run. What makes room goes before what needs it.
const PARTS: [Part; 6] = [
    Part { name: "links", undone: "login links that are over stay", run: links::forget_old },
    Part { name: "logins", undone: "login sessions that are over stay", run: forget_logins },
    Part { name: "sessions", undone: "sessions that nobody opens stay", run: sessions::forget_old },
    Part { name: "positions", undone: "positions that nobody needs stay", run: keeper::sweep },
    Part { name: "blobs", undone: "files that no record refers to stay", run: sweep },
    Part { name: "export", undone: "the daily export of the records is missing", run: export },
];

/// Failures of each part since the start.
#[derive(Default)]
pub(crate) struct Failures([AtomicU64; PARTS.len()]);

impl Service {
    /// The regular work on the data folder: the removal of blobs that no record has referred to for a day, of
    /// sessions that nobody has opened for long and of their positions, of login links and login sessions that
    /// are over, and an export of the records once a day. The server calls it every hour. A part that fails is
    /// logged and counted, and the others are done all the same; damaged records are passed over.
    ///
    /// # Errors
    /// The first failure; nothing is lost then, and the next call tries again.
    pub async fn maintain(&self) -> Result<(), ServiceError> {
        let failures = Arc::clone(&self.upkeep_failures);
        self.blocking(move |core| {
            let mut first = Ok(());
            for (part, failed) in PARTS.iter().zip(&failures.0) {
                if let Err(e) = (part.run)(core) {
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
        self.blocking(move |core| steady.keep(&core.store)).await
    }

    /// How often each part of [`Service::maintain`] has failed since the start.
    pub fn upkeep_failures(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        let counts = self.upkeep_failures.0.iter().map(|n| n.load(Ordering::Relaxed));
        PARTS.iter().map(|p| p.name).zip(counts)
    }

    /// How often a damaged record was met since the start.
    #[must_use]
    pub fn damaged_records_met(&self) -> u64 {
        self.core.store.stats().corrupt
    }
}

/// Does `work` on every record of a kind. Damaged ones, which the store counts, are passed over: `doctor`
/// names them. A record whose turn fails leaves the others theirs; the first failure is given at the end.
pub(crate) fn each<R: Record>(
    core: &Core,
    mut work: impl FnMut(R) -> Result<(), ServiceError>,
) -> Result<(), ServiceError> {
    let mut first = Ok(());
    for rec in core.store.scan::<R>() {
        match rec {
            Ok(rec) => {
                let done = work(rec);
                first = first.and(done);
            }
            Err(e) if e.is_corrupt() => tracing::warn!(error = %e, "passed over in the upkeep"),
            Err(e) => first = first.and(Err(e.into())),
        }
    }
    first
}

fn forget_logins(core: &Core) -> Result<(), ServiceError> {
    let logins = logins::forget_old(core);
    logins.and(orgs::forget_old(core))
}

fn sweep(core: &Core) -> Result<(), ServiceError> {
    core.store.sweep(DAY)?;
    Ok(())
}

fn export(core: &Core) -> Result<(), ServiceError> {
    let due = core.store.exported_at()?.is_none_or(|at| {
        let age = core.clock.unix_micros().saturating_sub(at);
        u128::try_from(age).unwrap_or(0) >= DAY.as_micros()
    });
    if due {
        core.store.export()?;
    }
    Ok(())
}
