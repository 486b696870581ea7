//! The algorithms that a dataset names: where they are, and cancelling one.

use graphlume_types::DatasetId;

use crate::command::{Apply, Call, CommandPriority};
use crate::compute::ComputeRequest;
use crate::engine::Engine;
use crate::residency::JobInfo;

/// What is known of the algorithms of a dataset.
pub(crate) struct ListJobs {
    pub(crate) dataset: DatasetId,
}

impl Apply for ListJobs {
    type Answer = Vec<JobInfo>;
    type On = Engine;
    const NAME: &'static str = "list jobs";
    const PRIORITY: CommandPriority = CommandPriority::Interactive;

    fn apply(self, engine: &mut Engine, call: Call<Self::Answer>) {
        call.reply.send(Ok(engine.residency.jobs_of(self.dataset)));
    }
}

/// Has an algorithm of a dataset stopped, or not run at all.
pub(crate) struct CancelJob {
    pub(crate) dataset: DatasetId,
    pub(crate) request: ComputeRequest,
}

impl Apply for CancelJob {
    type Answer = JobInfo;
    type On = Engine;
    const NAME: &'static str = "cancel job";
    const PRIORITY: CommandPriority = CommandPriority::Control;

    fn apply(self, engine: &mut Engine, call: Call<Self::Answer>) {
        let Self { dataset, request } = self;
        let (field, is_layout) = (request.field(), request.is_layout());
        call.reply.send(Ok(engine.residency.cancel_job(dataset, &field, is_layout)));
    }
}

/// Waits until the algorithms of a dataset have ended.
pub(crate) struct AwaitJobs {
    pub(crate) dataset: DatasetId,
}

impl Apply for AwaitJobs {
    type Answer = ();
    type On = Engine;
    const NAME: &'static str = "await jobs";
    const PRIORITY: CommandPriority = CommandPriority::Interactive;

    fn apply(self, engine: &mut Engine, call: Call<()>) {
        let Call { reply, cancel } = call;
        let Engine { residency, scheduler, .. } = engine;
        let ended = move |_: &_, found: Result<_, _>| reply.send(found.map(|_: Vec<_>| ()));
        residency.with_graphs(vec![self.dataset], Some(cancel), scheduler, ended);
    }
}
