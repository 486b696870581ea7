//! Shared part of all commands that only read a graph: the work runs under a lease, on a reader where it takes
//! milliseconds, and where it may take longer on the threads of queries, where callers take turns.

use std::sync::Arc;
use std::time::Duration;

use graphlume_expr::{ErrorCode, QueryError};
use graphlume_types::{Caller, CancelReason, CancelToken, Cancelled, DatasetId, MemoryConsumer};

use crate::allocator::give_back_freed;
use crate::command::Call;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::query_scheduler::{LEVELS, Progress, Quantum};
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

/// Answers `call` with what `work` finds in the dataset's graph as pages see it at this moment; it is loaded first if need be.
pub(super) fn read_shown<R: Send + 'static>(
    engine: &mut Engine,
    what: &'static str,
    dataset: DatasetId,
    call: Call<R>,
    work: impl FnOnce(&Lease, &CancelToken) -> Result<R, EngineError> + Send + 'static,
) {
    read_on((|pools| &pools.readers, true), engine, what, dataset, call, work);
}

/// As [`read_shown`], on the threads of pictures, which have a pool of their own to compute in at low priority.
pub(super) fn read_for_picture<R: Send + 'static>(
    engine: &mut Engine,
    what: &'static str,
    dataset: DatasetId,
    call: Call<R>,
    work: impl FnOnce(&Lease, &CancelToken) -> Result<R, EngineError> + Send + 'static,
) {
    read_on((|pools| &pools.pictures, false), engine, what, dataset, call, work);
}

/// As [`read_shown`], on the background workers in place of the readers. For [`super::groups::Groups`], which may take a
/// minute and would keep a reader from the queries of other callers.
pub(super) fn read_in_background<R: Send + 'static>(
    engine: &mut Engine,
    what: &'static str,
    dataset: DatasetId,
    call: Call<R>,
    work: impl FnOnce(&Lease, &CancelToken) -> Result<R, EngineError> + Send + 'static,
) {
    read_on((|pools| &pools.background, true), engine, what, dataset, call, work);
}

fn read_on<R: Send + 'static>(
    (pool, shares_cpu): (fn(&WorkerPools) -> &WorkerPool, bool),
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
                Ok(()) if shares_cpu => cpu.install(|| work(&lease, &cancel)),
                Ok(()) => work(&lease, &cancel),
                Err(stopped) => Err(stopped.into()),
            });
        };
        let _ = workers.submit(Job::new(what, run));
    };
    engine.residency.with_graphs(vec![dataset], None, &engine.scheduler, ready);
}

/// What a turn has.
pub(super) struct InTurn<'a> {
    /// The first graph that was wanted.
    pub(super) lease: &'a Lease,
    /// All of them.
    pub(super) leases: &'a [Lease],
    /// When it is over, and what may be taken of the memory.
    pub(super) cancel: &'a CancelToken,
    /// Where that memory comes from.
    pub(super) share: &'a MemoryConsumer,
}

/// Answers `call` with what `work` finds in the graphs of `wanted`, which are loaded first if need be and have all
/// columns of the algorithms that their datasets name, out of a share of memory. The work runs on the threads of queries:
/// in a quantum that ends it is given up and begun again later, and `caller` has one at a time. What is wrong with what was
/// asked is the inner error.
pub(super) fn read_in_turns<R: Send + 'static>(
    engine: &mut Engine,
    wanted: Vec<DatasetId>,
    caller: Caller,
    call: Call<Result<R, QueryError>>,
    mut work: impl FnMut(&InTurn<'_>) -> Result<R, QueryError> + Send + 'static,
) {
    let Call { reply, cancel } = call;
    let Engine { residency, scheduler, ctx, .. } = engine;
    let (memory, ctx, time) = (residency.query_memory(), ctx.clone(), cancel.clone());
    let ready = move |scheduler: &Scheduler, found: Result<Vec<Lease>, EngineError>| {
        let room = scheduler.queries().check_room(caller);
        let leases = match room.and(found) {
            Ok(leases) => leases,
            Err(e) => return reply.send(Err(e)),
        };
        let Some(lease) = leases.first().cloned() else {
            return reply.send(Err(EngineError::Dropped));
        };
        // A quantum that is given up gives its memory back, so that the next begins with all of it.
        let mut share = memory.share();
        let mut next: Vec<MemoryConsumer> = (1..LEVELS).map(|_| memory.share()).collect();
        let (stop, mut reply) = (cancel.clone(), Some(reply));
        let foreground = Arc::clone(&ctx.foreground);
        let (mut cancel, call_time) = (cancel, ctx.config.call_time);
        let run = move |quantum| {
            let token = Quantum::token(quantum, &cancel.with_memory(share.clone()));
            let found = match token.check() {
                Err(stopped) => Err(QueryError::from(stopped)),
                Ok(()) => {
                    work(&InTurn { lease: &lease, leases: &leases, cancel: &token, share: &share })
                }
            };
            let answer = answer_of(found, &token, call_time);
            give_back_freed(share.kept());
            let Some(answer) = answer else {
                if let Some(next) = next.pop() {
                    share = next;
                }
                cancel = cancel.giving_way(&foreground);
                return Progress::Preempted;
            };
            if let Some(reply) = reply.take() {
                reply.send(answer);
            }
            Progress::Answered
        };
        scheduler.queries().submit(caller, stop, Box::new(run));
    };
    residency.with_graphs(wanted, Some(time), scheduler, ready);
}

/// What is answered; `None` when the quantum was over before there was an answer.
fn answer_of<R>(
    found: Result<R, QueryError>,
    token: &CancelToken,
    call_time: Duration,
) -> Option<Result<Result<R, QueryError>, EngineError>> {
    let error = match found {
        Ok(found) => return Some(Ok(Ok(found))),
        Err(error) => error,
    };
    // Why it was stopped is seen at the token, whatever the step that noticed made of it.
    match token.check() {
        Err(Cancelled(CancelReason::TurnOver)) => None,
        Err(Cancelled(CancelReason::Deadline)) => Some(Ok(Err(too_long(call_time)))),
        Err(stopped) => Some(Err(stopped.into())),
        Ok(()) => Some(Ok(Err(error))),
    }
}

fn too_long(time: Duration) -> QueryError {
    let text = format!("the query took more than {} seconds", time.as_secs());
    QueryError::new(ErrorCode::Timeout, text)
        .suggest("ask for less: fewer hops, narrower filters or a limit")
}

/// Refuses an epoch that is not the graph's.
pub(super) fn check_epoch(asked: u32, now: u32) -> Result<(), EngineError> {
    if asked == now { Ok(()) } else { Err(EngineError::Epoch { asked, now }) }
}
