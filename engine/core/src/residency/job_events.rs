//! The algorithms that datasets name, as the graphs in memory see them: when they begin, what their columns change, and who
//! is told.

use graphlume_types::{CancelReason, Cancelled, Code, DatasetId};

use crate::error::EngineError;
use crate::residency::job_turn::{JobTurn, StepEnd, TurnReport};
use crate::residency::jobs::{Finished, JobInfo};
use crate::residency::resident::{Lease, Resident};
use crate::residency::{Residency, ResidencyEvent, Update};
use crate::scheduler::Scheduler;
use crate::workers::Job;

/// What those are shown who wait for the graph of an evicted dataset until its layout has placed the nodes again.
const RUNNING: &str = "running the algorithms";

impl Residency {
    /// A load has succeeded: its graph is there, and its algorithms wait for their turn.
    pub(super) fn loaded(
        &mut self,
        dataset: DatasetId,
        resident: Resident,
        scheduler: &Scheduler,
    ) -> Option<Update> {
        let lease = Lease::new(resident);
        self.jobs.loaded(&lease);
        if self.store.hold_unplaced(dataset, &lease) {
            self.run_jobs(scheduler);
            self.store.show_stage(dataset, RUNNING);
            return Some(Update::Stage(dataset, RUNNING));
        }
        let waiters = self.store.loaded(dataset, lease, self.ctx.now())?;
        for waiter in waiters {
            self.proceed(waiter, scheduler);
        }
        self.run_jobs(scheduler);
        Some(Update::Changed(dataset))
    }

    /// Gives turns to the algorithms that wait, as long as there are threads for them.
    fn run_jobs(&mut self, scheduler: &Scheduler) {
        let pool = &scheduler.pools().jobs;
        while pool.check_room().is_ok()
            && let Some((owner, dataset)) = self.jobs.next()
        {
            let started = self.store.job_base(dataset).zip(self.store.next_epoch(dataset));
            let began = (self.ctx.now(), self.ctx.clock.unix_secs());
            let limit = self.ctx.config.job_time;
            let begin = |(base, next)| {
                let turn = self.jobs.begin(owner, dataset, began, limit)?;
                Some((base, next, turn))
            };
            let Some((base, next, turn)) = started.and_then(begin) else {
                self.jobs.skip(owner, dataset);
                continue;
            };
            let ticket = turn.ticket;
            let foreground = &self.ctx.foreground;
            let lost = lost(turn.step, turn.is_last);
            let job = JobTurn {
                dataset,
                ticket,
                base,
                work: turn.work,
                step: turn.step,
                is_last: turn.is_last,
                next,
                notices: turn.notices,
                step_cancel: turn.step_cancel.giving_way(foreground),
                cancel: turn.cancel.giving_way(foreground),
                loader: self.loader.clone(),
                ctx: self.ctx.clone(),
                reports: self.reports.clone(),
            };
            let lost = ResidencyEvent::JobTurn { dataset, ticket, report: Box::new(lost) };
            let report = self.reports.once(lost);
            let run = Job::new("algorithms of a dataset", move || report.send(job.run()));
            if let Err(error) = pool.submit(run) {
                tracing::warn!(%dataset, %error, "algorithms of a dataset were not begun");
            }
        }
    }

    /// A turn has ended. After the last one the graph with the columns takes the place of the one without.
    pub(super) fn job_turn_ended(
        &mut self,
        dataset: DatasetId,
        ticket: u64,
        report: TurnReport,
        scheduler: &Scheduler,
    ) -> Option<Update> {
        let now = self.ctx.now();
        let finished = self.jobs.ended(dataset, ticket, report, now);
        let update = finished.and_then(|finished| self.take_columns(dataset, finished, scheduler));
        self.run_jobs(scheduler);
        update
    }

    fn take_columns(
        &mut self,
        dataset: DatasetId,
        finished: Finished,
        scheduler: &Scheduler,
    ) -> Option<Update> {
        let Finished { resident, mut waiters } = finished;
        let is_hidden = self.store.resident(dataset).is_none();
        let (resident, is_moved) = match resident {
            Ok(made) => made,
            Err(error) => {
                tracing::warn!(%dataset, %error, "a graph is without the columns of its algorithms");
                if is_hidden {
                    self.load_failed(dataset, &error, scheduler);
                }
                for waiter in waiters {
                    self.proceed(waiter, scheduler);
                }
                return is_hidden.then_some(Update::LoadFailed(dataset, error));
            }
        };
        let is_laid_out = is_moved && resident.facts.is_laid_out;
        let now = self.ctx.now();
        let (is_other, others) = self.store.finished(dataset, *resident, is_laid_out, now)?;
        waiters.extend(others);
        for waiter in waiters {
            self.proceed(waiter, scheduler);
        }
        Some(match (is_other, is_hidden) {
            (true, _) => Update::Replaced(dataset),
            (false, true) => Update::Changed(dataset),
            (false, false) => Update::Columns(dataset),
        })
    }

    /// Answers the requests that wait for columns and have no more time.
    pub(crate) fn answer_late(&mut self, scheduler: &Scheduler) {
        for (request, cancel) in self.jobs.take_ended() {
            let error = match cancel.check() {
                Err(Cancelled(CancelReason::Deadline)) => still_running(),
                Err(stopped) => stopped.into(),
                Ok(()) => EngineError::Dropped,
            };
            (request.then)(scheduler, Err(error));
        }
    }

    /// What is known of the algorithms of a dataset.
    pub(crate) fn jobs_of(&self, dataset: DatasetId) -> Vec<JobInfo> {
        self.jobs.list(dataset, self.ctx.now())
    }

    /// Cancels an algorithm of a dataset; what is known of it then.
    pub(crate) fn cancel_job(
        &mut self,
        dataset: DatasetId,
        field: &str,
        is_layout: bool,
    ) -> JobInfo {
        self.jobs.cancel(dataset, field, is_layout, self.ctx.now())
    }

    /// Datasets whose algorithms wait for a turn.
    pub(crate) fn jobs_waiting(&self) -> usize {
        self.jobs.len()
    }
}

/// What a turn that panics has come to.
fn lost(step: Option<usize>, is_last: bool) -> TurnReport {
    let why = || EngineError::Dropped.to_string();
    TurnReport {
        step: step.map(|at| (at, StepEnd::Failed { why: why(), lasts: true })),
        work: None,
        // What was computed before is computed again, in a turn of its own.
        resident: (is_last && step.is_none()).then_some(Err(EngineError::Dropped)),
    }
}

fn still_running() -> EngineError {
    EngineError::Work {
        code: Code::DeadlineExceeded,
        slug: "columns-pending",
        message: "algorithms that the dataset names in compute or layout still run; ask again in a while, look at the \
                  dataset's jobs for how far they are, or cancel what takes too long there"
            .into(),
    }
}
