//! What all commands share that only read a graph: the work runs on a query worker under a lease.

use std::collections::VecDeque;

use graphlume_types::{CancelToken, DatasetId};

use crate::command::Call;
use crate::core::Core;
use crate::error::EngineError;
use crate::reply::Answer;
use crate::store::Lease;
use crate::target::Target;
use crate::workers::Job;

/// Answers `call` with what `work` finds in the session's graph, which is loaded first if need be.
pub(super) fn read_graph<R: Send + 'static>(
    core: &mut Core,
    what: &'static str,
    target: &Target,
    call: Call<R>,
    work: impl FnOnce(&Lease) -> Answer<R> + Send + 'static,
) {
    let dataset = match core.target(target) {
        Ok(s) => s.dataset,
        Err(e) => return call.reply.send(Err(e)),
    };
    read_dataset(core, what, dataset, call, |lease, _| work(lease));
}

/// Answers `call` with what `work` finds in the dataset's graph, which is loaded first if need be.
pub(super) fn read_dataset<R: Send + 'static>(
    core: &mut Core,
    what: &'static str,
    dataset: DatasetId,
    call: Call<R>,
    work: impl FnOnce(&Lease, &CancelToken) -> Answer<R> + Send + 'static,
) {
    let Call { reply, cancel } = call;
    core.with_graph(
        dataset,
        Box::new(move |core: &mut Core, found: Result<Lease, EngineError>| {
            let ready = found.and_then(|l| core.crews.queries.check_room().map(|()| l));
            let lease = match ready {
                Ok(lease) => lease,
                Err(e) => return reply.send(Err(e)),
            };
            let pool = core.pool.clone();
            let run = move || {
                reply.send(match cancel.check() {
                    Ok(()) => pool.install(|| work(&lease, &cancel)),
                    Err(stopped) => Err(stopped.into()),
                });
                None
            };
            let _ = core.crews.queries.submit(Job { what, run: Box::new(run), lost: None });
        }),
    );
}

pub(super) type Gathered = Box<dyn FnOnce(&mut Core, Result<Vec<Lease>, EngineError>) + Send>;

/// Calls `then` with the graphs of `wanted`, in their order, behind those that are held already; each is
/// loaded first if need be.
pub(super) fn gather(
    core: &mut Core,
    mut wanted: VecDeque<DatasetId>,
    mut held: Vec<Lease>,
    then: Gathered,
) {
    let Some(dataset) = wanted.pop_front() else { return then(core, Ok(held)) };
    core.with_graph(
        dataset,
        Box::new(move |core: &mut Core, found: Result<Lease, EngineError>| match found {
            Ok(lease) => {
                held.push(lease);
                gather(core, wanted, held, then);
            }
            Err(e) => then(core, Err(e)),
        }),
    );
}

/// Refuses an epoch that is not the graph's.
pub(super) fn check_epoch(asked: u32, now: u32) -> Result<(), EngineError> {
    if asked == now { Ok(()) } else { Err(EngineError::Epoch { asked, now }) }
}
