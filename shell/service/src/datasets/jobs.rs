//! The algorithms of `compute` and the layout of `layout` as jobs: where they are, and cancelling one.

use graphlume_engine::{ComputeRequest, JobInfo, JobState};
use graphlume_identity::Principal;
use graphlume_identity::authz::Action;
use graphlume_storage::DatasetRec;
use graphlume_types::calendar::iso8601;

use super::{Datasets, Found, compute};
use crate::error::ServiceError;
use crate::reply::{JobReply, JobsReply};

impl Datasets {
    /// The jobs of a dataset, in the order in which they run.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`], also for another account's private dataset.
    pub async fn jobs(&self, who: &Principal, id: &str) -> Result<JobsReply, ServiceError> {
        let Found::Stored(rec, _) = self.dataset_for(who, Action::Read, id).await? else {
            return Ok(JobsReply { results: Vec::new() });
        };
        let known = self.ctx.engine.jobs(rec.dataset_id).await?;
        let job = |(at, request): (usize, &ComputeRequest)| {
            let field = request.field();
            self.job(at, request, known.iter().find(|job| job.field == field))
        };
        Ok(JobsReply { results: requests(&rec).iter().enumerate().map(job).collect() })
    }

    /// Cancels a job unless it has ended; where it is then.
    ///
    /// # Errors
    /// [`ServiceError::NotFound`] for an unknown dataset or job, [`ServiceError::Forbidden`] for one whose dataset the caller
    /// may not edit.
    pub async fn cancel_job(
        &self,
        who: &Principal,
        id: &str,
        job: &str,
    ) -> Result<JobReply, ServiceError> {
        let (rec, _) = self.stored_for(who, Action::Write, id).await?;
        let requests = requests(&rec);
        let at = job.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let found = at.and_then(|at| Some((at, requests.get(at)?)));
        let (at, request) = found.ok_or_else(|| ServiceError::not_found("job", job))?;
        let known = self.ctx.engine.cancel_job(rec.dataset_id, request.clone()).await?;
        Ok(self.job(at, request, Some(&known)))
    }

    fn job(&self, index: usize, request: &ComputeRequest, known: Option<&JobInfo>) -> JobReply {
        JobReply {
            id: (index + 1).to_string(),
            field: request.field(),
            algorithm: request.title(),
            state: known.map_or(JobState::Pending, |job| job.state),
            begun_at: known.and_then(|job| job.begun_at).map(|secs| iso8601(secs * 1_000_000)),
            seconds: known.and_then(|job| job.seconds),
            limit_seconds: self.ctx.engine.job_time().as_secs(),
            message: known.and_then(|job| job.message.clone()),
        }
    }
}

fn requests(rec: &DatasetRec) -> Vec<ComputeRequest> {
    compute::of_record(rec, &mut Vec::new())
}
