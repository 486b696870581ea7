//! Algorithms and layouts that datasets name: which are to run, which run, how they ended, and who waits for them.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use graphlume_types::{CancelReason, CancelToken, DatasetId, Notice, UserId, limits};
use serde::Serialize;

use crate::compute::ComputeRequest;
use crate::error::EngineError;
use crate::residency::GraphRequest;
use crate::residency::account_turns::AccountTurns;
use crate::residency::algorithms::without;
use crate::residency::job_turn::{CANCELLED, JobWork, StepEnd, TurnReport};
use crate::residency::resident::{Lease, Resident};

/// Where an algorithm of a dataset is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum JobState {
    /// It waits for its turn, or for the graph.
    Pending,
    /// It runs.
    Running,
    /// Its columns are there.
    Done,
    /// It gave no columns.
    Failed,
    /// It was cancelled.
    Cancelled,
}

/// What is known of an algorithm of a dataset.
#[derive(Debug, Clone, PartialEq)]
pub struct JobInfo {
    /// The member of the dataset that asks for it, such as `compute.rank`.
    pub field: String,
    /// Where it is.
    pub state: JobState,
    /// Unix seconds at which it began.
    pub begun_at: Option<i64>,
    /// How long it has run.
    pub seconds: Option<f64>,
    /// Why it gave no columns.
    pub message: Option<String>,
}

/// One algorithm of a dataset.
struct AlgorithmRun {
    field: String,
    is_layout: bool,
    state: JobState,
    begun: Option<(Instant, i64)>,
    took: Option<Duration>,
    why: Option<String>,
    /// Whether it is not run again before the dataset has other data.
    lasts: bool,
}

impl AlgorithmRun {
    const fn new(field: String, is_layout: bool) -> Self {
        let state = JobState::Pending;
        Self { field, is_layout, state, begun: None, took: None, why: None, lasts: false }
    }

    fn cancel(&mut self) {
        self.state = JobState::Cancelled;
        (self.why, self.lasts) = (Some(CANCELLED.to_owned()), true);
    }

    fn fail(&mut self, why: String, lasts: bool) {
        self.state = JobState::Failed;
        (self.why, self.lasts) = (Some(why), lasts);
    }

    /// What is said of one that gave no columns.
    fn notice(&self) -> Option<Notice> {
        let given_up = matches!(self.state, JobState::Failed | JobState::Cancelled);
        let why = self.why.as_deref().filter(|_| given_up)?;
        Some(without(&self.field, self.is_layout, why))
    }

    fn info(&self, now: Instant) -> JobInfo {
        let runs = || self.begun.map(|(at, _)| now.saturating_duration_since(at));
        let took = if self.state == JobState::Running { runs() } else { self.took };
        JobInfo {
            field: self.field.clone(),
            state: self.state,
            begun_at: self.begun.map(|(_, unix)| unix),
            seconds: took.map(|took| took.as_secs_f64()),
            message: self.why.clone(),
        }
    }
}

/// Whether there is something to do for a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Idle,
    /// It waits for a turn.
    Queued,
    /// It has one, which this number names.
    Away(u64),
}

/// The algorithms of one dataset.
struct DatasetJobs {
    steps: Vec<AlgorithmRun>,
    stage: Stage,
    /// What the turns so far have come to.
    work: Option<Box<JobWork>>,
    waiters: Vec<Waiter>,
}

/// A request that goes on when the algorithms have ended. Its graph is not evicted meanwhile.
struct Waiter {
    request: GraphRequest,
    cancel: CancelToken,
    _lease: Lease,
}

/// A turn that runs.
struct Running {
    ticket: u64,
    owner: Option<UserId>,
    dataset: DatasetId,
    step: Option<String>,
    step_cancel: CancelToken,
    cancel: CancelToken,
}

/// What a turn is begun with.
pub(super) struct Started {
    pub(super) ticket: u64,
    pub(super) step: Option<usize>,
    pub(super) is_last: bool,
    pub(super) work: Option<Box<JobWork>>,
    pub(super) notices: Vec<Notice>,
    pub(super) step_cancel: CancelToken,
    pub(super) cancel: CancelToken,
}

/// The graph that the last turn has made, or why there is none, and who waited for it.
pub(super) struct Finished {
    pub(super) resident: Result<(Box<Resident>, bool), EngineError>,
    pub(super) waiters: Vec<GraphRequest>,
}

/// The algorithms of all datasets.
#[derive(Default)]
pub(super) struct Jobs {
    datasets: HashMap<DatasetId, DatasetJobs>,
    turns: AccountTurns,
    running: Vec<Running>,
    next_ticket: u64,
}

impl Jobs {
    /// What is said of the algorithms of a dataset that are not run again, by the fields that ask for them.
    pub(super) fn given_up(&self, dataset: DatasetId) -> HashMap<String, Notice> {
        let steps = self.datasets.get(&dataset).into_iter().flat_map(|jobs| &jobs.steps);
        let lasting = steps.filter(|step| step.lasts);
        lasting.filter_map(|step| Some((step.field.clone(), step.notice()?))).collect()
    }

    /// The graph of a dataset is there: its algorithms wait for their turn.
    pub(super) fn loaded(&mut self, lease: &Lease) {
        let (dataset, asked) = (lease.dataset, &lease.jobs);
        if asked.requests.is_empty() {
            return;
        }
        let old = self.datasets.remove(&dataset);
        let mut known: HashMap<String, AlgorithmRun> = HashMap::new();
        let mut waiters = Vec::new();
        if let Some(old) = old {
            known.extend(old.steps.into_iter().map(|step| (step.field.clone(), step)));
            waiters = old.waiters;
        }
        let step = |request: &ComputeRequest| {
            let field = request.field();
            let given_up = known.remove(&field).filter(|step| step.lasts);
            given_up.unwrap_or_else(|| AlgorithmRun::new(field, request.is_layout()))
        };
        let steps = asked.requests.iter().map(step).collect();
        let stage = if asked.pending.is_empty() { Stage::Idle } else { Stage::Queued };
        if stage == Stage::Queued {
            self.turns.add(asked.owner, dataset);
        }
        let jobs = DatasetJobs { steps, stage, work: None, waiters };
        self.datasets.insert(dataset, jobs);
    }

    /// Whether columns of the dataset are still to come.
    pub(super) fn is_pending(&self, dataset: DatasetId) -> bool {
        self.datasets.get(&dataset).is_some_and(|jobs| jobs.stage != Stage::Idle)
    }

    /// Keeps a request until the algorithms of the dataset have ended.
    ///
    /// # Errors
    /// The request comes back when too many wait already.
    #[expect(clippy::result_large_err, reason = "the request goes back to the one caller")]
    pub(super) fn wait(
        &mut self,
        lease: Lease,
        cancel: CancelToken,
        request: GraphRequest,
    ) -> Result<(), GraphRequest> {
        match self.datasets.get_mut(&lease.dataset) {
            Some(jobs) if jobs.waiters.len() < limits::LOAD_WAITERS_MAX => {
                jobs.waiters.push(Waiter { request, cancel, _lease: lease });
                Ok(())
            }
            _ => Err(request),
        }
    }

    /// The requests whose time is over, or whose callers have gone.
    pub(super) fn take_ended(&mut self) -> Vec<(GraphRequest, CancelToken)> {
        let mut ended = Vec::new();
        for jobs in self.datasets.values_mut() {
            let over = |waiter: &mut Waiter| waiter.cancel.is_cancelled();
            let over = jobs.waiters.extract_if(.., over);
            ended.extend(over.map(|waiter| (waiter.request, waiter.cancel)));
        }
        ended
    }

    /// The next dataset that has a turn, with the account that it belongs to.
    pub(super) fn next(&mut self) -> Option<(Option<UserId>, DatasetId)> {
        self.turns.next(limits::DATASET_JOBS_AT_ONCE)
    }

    /// There is no graph to run it on: the turn ends at once.
    pub(super) fn skip(&mut self, owner: Option<UserId>, dataset: DatasetId) {
        self.turns.done(owner);
        self.unload(dataset);
    }

    /// What the turn of a dataset, which [`Jobs::next`] has given, does.
    pub(super) fn begin(
        &mut self,
        owner: Option<UserId>,
        dataset: DatasetId,
        (now, unix): (Instant, i64),
        limit: Duration,
    ) -> Option<Started> {
        let jobs = self.datasets.get_mut(&dataset)?;
        let is_open = |step: &AlgorithmRun| step.state == JobState::Pending;
        let at = jobs.steps.iter().position(is_open);
        let mut name = None;
        if let Some(step) = at.and_then(|at| jobs.steps.get_mut(at)) {
            step.state = JobState::Running;
            step.begun = Some((now, unix));
            name = Some(step.field.clone());
        }
        self.next_ticket += 1;
        let ticket = self.next_ticket;
        jobs.stage = Stage::Away(ticket);
        let step_cancel = CancelToken::with_deadline(now + limit);
        let cancel = CancelToken::new();
        self.running.push(Running {
            ticket,
            owner,
            dataset,
            step: name,
            step_cancel: step_cancel.clone(),
            cancel: cancel.clone(),
        });
        Some(Started {
            ticket,
            step: at,
            is_last: !jobs.steps.iter().any(is_open),
            work: jobs.work.take(),
            notices: jobs.steps.iter().filter_map(AlgorithmRun::notice).collect(),
            step_cancel,
            cancel,
        })
    }

    /// A turn has ended. What it came to, when it was the last one of its dataset.
    pub(super) fn ended(
        &mut self,
        dataset: DatasetId,
        ticket: u64,
        report: TurnReport,
        now: Instant,
    ) -> Option<Finished> {
        let at = self.running.iter().position(|turn| turn.ticket == ticket)?;
        let Running { owner, .. } = self.running.swap_remove(at);
        self.turns.done(owner);
        let jobs = self.datasets.get_mut(&dataset)?;
        if jobs.stage != Stage::Away(ticket) {
            return None;
        }
        let TurnReport { step, work, resident } = report;
        if let Some((at, end)) = step
            && let Some(step) = jobs.steps.get_mut(at)
        {
            step.took = step.begun.map(|(begun, _)| now.saturating_duration_since(begun));
            match end {
                StepEnd::Done => step.state = JobState::Done,
                // Who cancels it has the last word.
                _ if step.state == JobState::Cancelled => {}
                StepEnd::Failed { why, lasts } => step.fail(why, lasts),
                StepEnd::Stopped => step.state = JobState::Pending,
            }
        }
        let Some(resident) = resident else {
            if work.is_none() {
                // What had been computed is lost with the turn.
                let done = jobs.steps.iter_mut().filter(|step| step.state == JobState::Done);
                done.for_each(|step| step.state = JobState::Pending);
            }
            jobs.work = work;
            jobs.stage = Stage::Queued;
            self.turns.add_again(owner, dataset);
            return None;
        };
        jobs.stage = Stage::Idle;
        if let Err(error) = &resident {
            let done = jobs.steps.iter_mut().filter(|step| step.state == JobState::Done);
            done.for_each(|step| step.fail(error.to_string(), false));
        }
        let waiters = jobs.waiters.drain(..).map(|waiter| waiter.request).collect();
        Some(Finished { resident, waiters })
    }

    /// Cancels an algorithm, unless it has ended, or notes that it is not to be run. What is known of it then.
    pub(super) fn cancel(
        &mut self,
        dataset: DatasetId,
        field: &str,
        is_layout: bool,
        now: Instant,
    ) -> JobInfo {
        let unknown = || DatasetJobs {
            steps: Vec::new(),
            stage: Stage::Idle,
            work: None,
            waiters: Vec::new(),
        };
        let jobs = self.datasets.entry(dataset).or_insert_with(unknown);
        let at = jobs.steps.iter().position(|step| step.field == field);
        let at = at.unwrap_or_else(|| {
            jobs.steps.push(AlgorithmRun::new(field.to_owned(), is_layout));
            jobs.steps.len() - 1
        });
        let step = &mut jobs.steps[at];
        if step.state == JobState::Running {
            let is_its =
                |turn: &&Running| turn.dataset == dataset && turn.step.as_deref() == Some(field);
            self.running.iter().filter(is_its).for_each(|turn| {
                turn.step_cancel.cancel(CancelReason::Superseded);
            });
            step.took = step.begun.map(|(begun, _)| now.saturating_duration_since(begun));
        }
        if matches!(step.state, JobState::Pending | JobState::Running) {
            step.cancel();
        }
        step.info(now)
    }

    /// What is known of the algorithms of a dataset.
    pub(super) fn list(&self, dataset: DatasetId, now: Instant) -> Vec<JobInfo> {
        let steps = self.datasets.get(&dataset).into_iter().flat_map(|jobs| &jobs.steps);
        steps.map(|step| step.info(now)).collect()
    }

    /// Drops what rests between two turns, which is computed again; whether there was anything.
    pub(super) fn give_back(&mut self) -> bool {
        let mut any = false;
        for jobs in self.datasets.values_mut().filter(|jobs| jobs.work.is_some()) {
            any = true;
            jobs.work = None;
            let done = jobs.steps.iter_mut().filter(|step| step.state == JobState::Done);
            done.for_each(|step| step.state = JobState::Pending);
        }
        any
    }

    /// The graph of a dataset is not in memory any more: the next load begins its algorithms anew.
    pub(super) fn unload(&mut self, dataset: DatasetId) {
        self.turns.remove(dataset);
        if let Some(jobs) = self.datasets.get_mut(&dataset) {
            jobs.stage = Stage::Idle;
            jobs.work = None;
        }
    }

    /// Stops and forgets the algorithms of a dataset; who waits for them.
    pub(super) fn forget(&mut self, dataset: DatasetId) -> Vec<GraphRequest> {
        self.turns.remove(dataset);
        for turn in self.running.iter().filter(|turn| turn.dataset == dataset) {
            turn.step_cancel.cancel(CancelReason::Superseded);
            turn.cancel.cancel(CancelReason::Superseded);
        }
        let Some(jobs) = self.datasets.remove(&dataset) else { return Vec::new() };
        jobs.waiters.into_iter().map(|waiter| waiter.request).collect()
    }

    /// Forgets datasets that are not in memory once there are too many.
    pub(super) fn forget_unused(&mut self, is_resident: impl Fn(DatasetId) -> bool) {
        let over = self.datasets.len().saturating_sub(limits::DATASET_JOBS_REMEMBERED_MAX);
        if over == 0 {
            return;
        }
        let idle = |(id, jobs): &(&DatasetId, &DatasetJobs)| {
            jobs.stage == Stage::Idle && jobs.waiters.is_empty() && !is_resident(**id)
        };
        let lasts = |jobs: &DatasetJobs| jobs.steps.iter().any(|step| step.lasts);
        let mut unused: Vec<(bool, DatasetId)> =
            self.datasets.iter().filter(idle).map(|(id, jobs)| (lasts(jobs), *id)).collect();
        unused.sort_unstable();
        for (_, id) in unused.into_iter().take(over) {
            self.datasets.remove(&id);
        }
    }

    /// Datasets that wait for a turn.
    pub(super) fn len(&self) -> usize {
        self.turns.len()
    }

    /// Stops everything; who waits.
    pub(super) fn stop(&mut self) -> Vec<GraphRequest> {
        for turn in &self.running {
            turn.step_cancel.cancel(CancelReason::Shutdown);
            turn.cancel.cancel(CancelReason::Shutdown);
        }
        let all = std::mem::take(&mut self.datasets).into_values();
        all.flat_map(|jobs| jobs.waiters).map(|waiter| waiter.request).collect()
    }
}
