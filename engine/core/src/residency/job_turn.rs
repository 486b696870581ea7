//! A turn of the algorithms of a dataset: what a job thread does. One turn runs one of them; the last one makes the graph that
//! has their columns.

use std::sync::Arc;
use std::time::Duration;

use graphlume_types::{
    CancelReason, CancelToken, Cancelled, DatasetId, Notice, Reservation, limits, note,
};

use crate::compute::ComputeRequest;
use crate::context::EngineContext;
use crate::error::EngineError;
use crate::frames::scene_of;
use crate::loader::{BuildStage, Loaded, Loader};
use crate::report::Reports;
use crate::residency::QueryMemory;
use crate::residency::accelerator::ResidentAccelerator;
use crate::residency::algorithms::{self, Computed, NoColumn};
use crate::residency::assembly::{Assembly, ResidentJobs};
use crate::residency::event::{ResidencyEvent, evict_for};
use crate::residency::load::{EDGE_BYTES, LABEL_BYTES, NODE_BYTES};
use crate::residency::resident::{Lease, Resident, bound_weight};

/// Why an algorithm that was cancelled gave no columns.
pub(super) const CANCELLED: &str = "cancelled";

/// What the turns of one dataset hand on to each other.
pub(crate) struct JobWork {
    /// The graph without the columns, whose memory the work shares.
    base: Lease,
    computed: Computed,
    held: Vec<Reservation>,
}

/// How one algorithm ended.
pub(crate) enum StepEnd {
    /// Its columns are there.
    Done,
    /// It gave none. `lasts` where it would not the next time either.
    Failed { why: String, lasts: bool },
    /// It was cancelled, or no longer wanted.
    Stopped,
}

/// What a turn came to.
#[derive(Default)]
pub(crate) struct TurnReport {
    /// The algorithm that was run, by its place among those of the dataset.
    pub(crate) step: Option<(usize, StepEnd)>,
    /// What the next turn goes on with.
    pub(crate) work: Option<Box<JobWork>>,
    /// The graph with the columns, and whether its nodes stand elsewhere than before; after the last turn.
    pub(crate) resident: Option<Result<(Box<Resident>, bool), EngineError>>,
}

/// The element set that a graph with columns belongs to.
#[derive(Clone, Copy)]
pub(crate) struct NextEpoch {
    /// When its nodes stay where they were.
    pub(crate) kept: u32,
    /// When they were placed.
    pub(crate) moved: u32,
    pub(crate) columns_version: u32,
}

/// What a job thread is given.
pub(crate) struct JobTurn {
    pub(crate) dataset: DatasetId,
    pub(crate) ticket: u64,
    /// The graph without the columns.
    pub(crate) base: Lease,
    pub(crate) work: Option<Box<JobWork>>,
    /// The algorithm to run.
    pub(crate) step: Option<usize>,
    /// Whether the graph is made in this turn, because nothing is left to run after it.
    pub(crate) is_last: bool,
    pub(crate) next: NextEpoch,
    /// What is said of the algorithms that gave no columns in the turns before.
    pub(crate) notices: Vec<Notice>,
    /// Stops the algorithm.
    pub(crate) step_cancel: CancelToken,
    /// Stops the whole turn.
    pub(crate) cancel: CancelToken,
    pub(crate) loader: Arc<dyn Loader>,
    pub(crate) ctx: Arc<EngineContext>,
    pub(crate) reports: Reports<ResidencyEvent>,
}

impl JobTurn {
    /// Runs on a job thread, inside its own CPU pool.
    pub(crate) fn run(mut self) -> ResidencyEvent {
        let mut report = TurnReport::default();
        let begun = match self.work.take() {
            Some(work) => Ok(work),
            None => self.begin().map(Box::new),
        };
        match begun {
            Ok(mut work) => {
                report.step = self.step.map(|at| (at, self.step(&mut work, at)));
                self.conclude(work, &mut report);
            }
            Err(error) => {
                let why = error.to_string();
                report.step = self.step.map(|at| (at, StepEnd::Failed { why, lasts: false }));
                report.resident = self.is_last.then_some(Err(error));
            }
        }
        let (dataset, ticket) = (self.dataset, self.ticket);
        ResidencyEvent::JobTurn { dataset, ticket, report: Box::new(report) }
    }

    /// Hands the work on, or makes the graph of it.
    fn conclude(&self, work: Box<JobWork>, report: &mut TurnReport) {
        if !self.is_last || self.cancel.is_cancelled() {
            report.work = Some(work);
            return;
        }
        let mut notices = self.notices.clone();
        let why = match &report.step {
            Some((at, StepEnd::Failed { why, .. })) => Some((*at, why.as_str())),
            Some((at, StepEnd::Stopped)) => Some((*at, CANCELLED)),
            _ => None,
        };
        if let Some((at, why)) = why {
            let request = &self.requests()[at];
            note(&mut notices, algorithms::without(&request.field(), request.is_layout(), why));
        }
        report.resident = Some(self.resident(*work, &notices));
    }

    fn requests(&self) -> &[ComputeRequest] {
        &self.base.jobs.requests
    }

    /// Takes memory, and lets the loop evict for it when it is short.
    fn reserve(&self, bytes: u64) -> Result<Reservation, EngineError> {
        self.cancel.check()?;
        match self.ctx.budget.try_reserve(bytes) {
            Ok(held) => Ok(held),
            Err(refused) if refused.never_fits() => Err(refused.into()),
            Err(_) => Ok(evict_for(&self.reports, bytes).ok_or(EngineError::Stopped)??),
        }
    }

    /// The graph and the tables before the first algorithm. The tables are shared with those of the resident graph.
    fn begin(&self) -> Result<JobWork, EngineError> {
        let base = &self.base;
        let ends = base.bindings.source.clone().zip(base.bindings.destination.clone());
        let (source, destination) = ends.ok_or(EngineError::Dropped)?;
        let loaded = Loaded {
            name: base.facts.name.clone(),
            description: base.facts.description.clone(),
            edges: base.edges.clone(),
            source,
            destination,
            nodes: base.nodes.clone(),
            node: base.bindings.node.clone(),
            encodings: base.encodings.clone(),
            compute: Vec::new(),
            owner: base.jobs.owner,
            version: base.jobs.version,
            notices: Vec::new(),
        };
        let requests: Vec<_> = base.jobs.pending.iter().map(|at| &self.requests()[*at]).collect();
        let need = algorithms::footprint(&loaded, &requests, base.facts.node_count);
        let held = vec![self.reserve(need)?];
        let computed = Computed::begin(base.graph.as_ref().clone(), loaded)?;
        Ok(JobWork { base: base.clone(), computed, held })
    }

    fn step(&self, work: &mut JobWork, index: usize) -> StepEnd {
        let topology = &self.base.graph.topology;
        let device = ResidentAccelerator::of(&self.ctx, self.base.key(), topology);
        let request = &self.requests()[index];
        // What it holds while it runs is paid for as that of a query is.
        let memory = QueryMemory::new(&self.ctx, self.reports.clone()).share();
        let cancel = self.step_cancel.with_memory(memory);
        match work.computed.add(request, device.as_deref(), &cancel) {
            Ok(()) => StepEnd::Done,
            Err(NoColumn::Failed(why)) => StepEnd::Failed { why, lasts: true },
            Err(NoColumn::Stopped(Cancelled(CancelReason::Deadline))) => {
                let why = out_of_time(self.ctx.config.job_time);
                StepEnd::Failed { why, lasts: true }
            }
            Err(NoColumn::Stopped(_)) => StepEnd::Stopped,
        }
    }

    /// The graph with the columns that there are.
    fn resident(
        &self,
        work: JobWork,
        notices: &[Notice],
    ) -> Result<(Box<Resident>, bool), EngineError> {
        let JobWork { base, computed, held } = work;
        let (n, m) = (u64::from(base.facts.node_count), u64::from(base.facts.edge_count));
        // Until the graph without the columns goes, there are two pictures.
        let both = self.reserve(n * NODE_BYTES + m * EDGE_BYTES + LABEL_BYTES)?;
        let (graph, loaded, is_laid_out) = computed.end();
        let labels = base.communities.get().filter(|_| !changes_weights(&loaded, &base.jobs));
        let of = labels.map(|labels| labels.as_slice());
        let (nodes, encodings) = (loaded.nodes.as_ref(), &loaded.encodings);
        let scene = scene_of(&graph, nodes, &loaded.edges, encodings, of)?;
        let bound = base.start().filter(|_| base.facts.has_positions);
        let is_moved = !same(bound, scene.positions.as_deref(), |p| p.map(f32::to_bits))
            || !same(base.depths.as_ref().map(|z| z.as_slice()), scene.depths.as_deref(), |z| {
                z.to_bits()
            });
        let start = scene.positions.clone().or_else(|| base.start().map(<[_]>::to_vec));
        let mut found = base.found.clone();
        for notice in loaded.notices.iter().chain(notices) {
            note(&mut found, notice.clone());
        }
        let jobs = ResidentJobs {
            owner: base.jobs.owner,
            version: base.jobs.version,
            requests: base.jobs.requests.clone(),
            pending: Vec::new(),
        };
        let mut all_held = base.held.clone();
        all_held.push(Arc::new(held));
        let assembly = Assembly {
            ctx: self.ctx.clone(),
            dataset: self.dataset,
            epoch: if is_moved { self.next.moved } else { self.next.kept },
            columns_version: self.next.columns_version,
            graph: Arc::new(graph),
            loaded,
            scene,
            is_coloured: labels.is_some(),
            start,
            is_laid_out,
            found,
            jobs: Arc::new(jobs),
            stage: BuildStage::AfterJobs,
            held: all_held,
        };
        let resident = assembly.resident(self.loader.as_ref());
        if let Some(labels) = labels {
            let _ = resident.communities.set(Arc::clone(labels));
        }
        drop(both);
        Ok((Box::new(resident), is_moved))
    }
}

/// Whether two columns are the same to the bit, where there are any.
fn same<T, B: PartialEq>(one: Option<&[T]>, other: Option<&[T]>, bits: impl Fn(&T) -> B) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(a, b)| bits(a) == bits(b))
        }
        (one, other) => one.is_none() && other.is_none(),
    }
}

/// Whether the weights of edges may be others than before the algorithms, so that communities may be, too.
fn changes_weights(loaded: &Loaded, jobs: &ResidentJobs) -> bool {
    let Some(weight) = bound_weight(&loaded.encodings) else { return false };
    jobs.requests.iter().any(|request| request.edge_columns().contains(&weight))
}

fn out_of_time(limit: Duration) -> String {
    let limit = limit.as_secs();
    let max = limits::JOB_SECS_MAX;
    format!(
        "stopped after {limit} seconds, the limit of an algorithm of a dataset; choose a cheaper one or a smaller graph, or \
         have the operator raise --job-seconds (up to {max})"
    )
}
