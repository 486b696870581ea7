//! Calls about the algorithms that datasets name.

use graphlume_types::DatasetId;

use super::EngineHandle;
use crate::cmd;
use crate::compute::ComputeRequest;
use crate::error::EngineError;
use crate::residency::JobInfo;

impl EngineHandle {
    /// What is known of the algorithms that a dataset names; nothing of those that no load has met since the engine began.
    ///
    /// # Errors
    /// [`EngineError::Busy`], [`EngineError::Stopped`].
    pub async fn jobs(&self, dataset: DatasetId) -> Result<Vec<JobInfo>, EngineError> {
        self.caller.call(cmd::jobs::ListJobs { dataset }).await
    }

    /// Cancels an algorithm that a dataset names, unless it has ended; what is known of it then. It is not run again before the
    /// dataset has other data, or the engine is started anew.
    ///
    /// # Errors
    /// As [`Self::jobs`].
    pub async fn cancel_job(
        &self,
        dataset: DatasetId,
        request: ComputeRequest,
    ) -> Result<JobInfo, EngineError> {
        self.caller.call(cmd::jobs::CancelJob { dataset, request }).await
    }

    /// Waits until the algorithms that a dataset names have ended. Its graph is loaded for that.
    ///
    /// # Errors
    /// What loading the graph may answer; `columns-pending` when the time of a call is over before.
    pub async fn jobs_ended(&self, dataset: DatasetId) -> Result<(), EngineError> {
        self.caller.call(cmd::jobs::AwaitJobs { dataset }).await
    }
}
