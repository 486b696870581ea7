//! What all commands share that only read a graph: the work runs on a reader under a lease.

use graphlume_types::{CancelToken, DatasetId};

use crate::command::Call;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::residency::Lease;
use crate::scheduler::{Scheduler, WorkerPools};
use crate::target::Target;
use crate::workers::{Job, WorkerPool};

/// Answers `call` with what `work` finds in the session's graph, which is loaded first if need be.
pub(super) fn read_graph<R: Send + 'static>(
    engine: &mut Engine,
    what: &'static str,
    target: &Target,
    call: Call<R>,
    work: impl FnOnce(&Lease) -> Result<R, EngineError> + Send + 'static,
) {
    let dataset = match engine.sessions.target(target) {
        Ok(s) => s.dataset,
        Err(e) => return call.reply.send(Err(e)),
    };
    read_dataset(engine, what, dataset, call, |lease, _| work(lease));
}

/// Answers `call` with what `work` finds in the dataset's graph, which is loaded first if need be.
pub(super) fn read_dataset<R: Send + 'static>(
    engine: &mut Engine,
    what: &'static str,
    dataset: DatasetId,
    call: Call<R>,
    work: impl FnOnce(&Lease, &CancelToken) -> Result<R, EngineError> + Send + 'static,
) {
    read_on(|pools| &pools.readers, engine, what, dataset, call, work);
}

/// As [`read_dataset`], on the background workers in place of the readers. For [`super::groups::Groups`], which may take a
/// minute and would keep a reader from the queries of other callers.
pub(super) fn read_in_background<R: Send + 'static>(
    engine: &mut Engine,
    what: &'static str,
    dataset: DatasetId,
    call: Call<R>,
    work: impl FnOnce(&Lease, &CancelToken) -> Result<R, EngineError> + Send + 'static,
) {
    read_on(|pools| &pools.background, engine, what, dataset, call, work);
}

fn read_on<R: Send + 'static>(
    pool: fn(&WorkerPools) -> &WorkerPool,
    engine: &mut Engine,
    what: &'static str,
    dataset: DatasetId,
    call: Call<R>,
    work: impl FnOnce(&Lease, &CancelToken) -> Result<R, EngineError> + Send + 'static,
) {
    let Call { reply, cancel } = call;
    let ready = move |scheduler: &Scheduler, found: Result<Vec<Lease>, EngineError>| {
        let workers = pool(scheduler.pools());
        let ready = found.and_then(|leases| workers.check_room().map(|()| leases));
        let lease = match ready.map(|mut leases| leases.pop()) {
            Ok(Some(lease)) => lease,
            Ok(None) => return reply.send(Err(EngineError::Dropped)),
            Err(e) => return reply.send(Err(e)),
        };
        let cpu = scheduler.cpu().clone();
        let run = move || {
            reply.send(match cancel.check() {
                Ok(()) => cpu.install(|| work(&lease, &cancel)),
                Err(stopped) => Err(stopped.into()),
            });
        };
        let _ = workers.submit(Job::new(what, run));
    };
    engine.residency.with_graphs(vec![dataset], &engine.scheduler, ready);
}

/// Refuses an epoch that is not the graph's.
pub(super) fn check_epoch(asked: u32, now: u32) -> Result<(), EngineError> {
    if asked == now { Ok(()) } else { Err(EngineError::Epoch { asked, now }) }
}
