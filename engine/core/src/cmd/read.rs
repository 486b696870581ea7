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
    read_shown(engine, what, dataset, call, |lease, _| work(lease));
}

/// What a reader needs of a graph.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReadOf {
    /// What pages show of it at this moment.
    Shown,
    /// The columns of the algorithms that the dataset names, too: it waits for them.
    Data,
}

/// Answers `call` with what `work` finds in the dataset's graph as pages see it at this moment; it is loaded first if need be.
pub(super) fn read_shown<R: Send + 'static>(
    engine: &mut Engine,
    what: &'static str,
    dataset: DatasetId,
    call: Call<R>,
    work: impl FnOnce(&Lease, &CancelToken) -> Result<R, EngineError> + Send + 'static,
) {
    read_on(ReadOf::Shown, |pools| &pools.readers, engine, what, dataset, call, work);
}

/// Answers `call` with what `work` finds in the dataset's graph, which is loaded first if need be and has all its columns.
pub(super) fn read_dataset<R: Send + 'static>(
    engine: &mut Engine,
    what: &'static str,
    dataset: DatasetId,
    call: Call<R>,
    work: impl FnOnce(&Lease, &CancelToken) -> Result<R, EngineError> + Send + 'static,
) {
    read_on(ReadOf::Data, |pools| &pools.readers, engine, what, dataset, call, work);
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
    read_on(ReadOf::Shown, |pools| &pools.background, engine, what, dataset, call, work);
}

fn read_on<R: Send + 'static>(
    of: ReadOf,
    pool: fn(&WorkerPools) -> &WorkerPool,
    engine: &mut Engine,
    what: &'static str,
    dataset: DatasetId,
    call: Call<R>,
    work: impl FnOnce(&Lease, &CancelToken) -> Result<R, EngineError> + Send + 'static,
) {
    let Call { reply, cancel } = call;
    let awaits_columns = (of == ReadOf::Data).then(|| cancel.clone());
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
    engine.residency.with_graphs(vec![dataset], awaits_columns, &engine.scheduler, ready);
}

/// Refuses an epoch that is not the graph's.
pub(super) fn check_epoch(asked: u32, now: u32) -> Result<(), EngineError> {
    if asked == now { Ok(()) } else { Err(EngineError::Epoch { asked, now }) }
}
