//! Residency of graphs in memory: loads, callers that wait for them, placing, and eviction.
//!
//! There is one way to ask for a graph, [`Residency::request`]: it starts a load if one is needed and tells at
//! once where the dataset is. Sessions keep that answer as their state and ask again when an [`Update`] tells
//! them to. A command that only has to go on when the graph is there uses [`Residency::with_graphs`], which
//! asks in the same way and waits.

mod accelerator;
mod account_turns;
mod algorithms;
mod assembly;
mod chain_hops;
mod chain_sets;
pub(crate) mod chains;
mod event;
mod job_events;
mod job_turn;
mod jobs;
mod load;
mod resident;
mod store;
mod table_run;
pub(crate) mod tables;
pub(crate) mod tallies;
mod tally_run;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use graphlume_types::{
    Budget, CancelReason, CancelToken, Coded, DatasetId, MemoryConsumer, Reservation,
    ResourcesExhausted, limits,
};

use crate::context::EngineContext;
use crate::error::EngineError;
use crate::frames::SceneFrames;
use crate::loader::Loader;
use crate::report::Reports;
use crate::scheduler::Scheduler;
use crate::workers::Job;

use event::make_room;
use jobs::Jobs;
use load::PLACING;
use store::{FIRST_STAGE, GraphStore, Lookup, NewLoad};

pub(crate) use event::ResidencyEvent;
pub use jobs::{JobInfo, JobState};
pub(crate) use load::LoadJob;
pub(crate) use resident::Lease;
pub use resident::{ColumnInfo, GraphFacts};

/// What for a graph is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Need {
    /// It is to be looked at, which takes positions.
    positions: bool,
    /// Even a dataset that waits for data, or whose load failed a moment ago, is tried again.
    retry: bool,
}

impl Need {
    /// For a query: the graph alone.
    const GRAPH: Self = Self { positions: false, retry: false };
    /// For a session.
    pub(crate) const PICTURE: Self = Self { positions: true, retry: false };
    /// Because the dataset may be different now.
    pub(crate) const PICTURE_AGAIN: Self = Self { positions: true, retry: true };
}

/// Where a graph that was asked for is.
pub(crate) enum Availability {
    Ready(Lease),
    /// Its load, or the placing of its nodes, is at this stage; an [`Update`] will tell the end.
    Loading(&'static str),
    /// No data, or failed a moment ago.
    Refused(EngineError),
}

/// What sessions are told of a dataset.
pub(crate) enum Update {
    /// A load has entered its next stage.
    Stage(DatasetId, &'static str),
    /// The graph is there, or its nodes are placed: those that wait for it ask again.
    Changed(DatasetId),
    /// The graph that is shown has columns of the dataset's algorithms now; its nodes and edges are the same.
    Columns(DatasetId),
    /// A layout that the dataset names has placed the nodes: all begin again with another element set.
    Replaced(DatasetId),
    /// The load has failed.
    LoadFailed(DatasetId, EngineError),
    /// Placing the nodes of a graph that is in memory has failed.
    PlacingFailed(DatasetId, EngineError),
}

/// What is called with the graphs that were asked for, in their order.
pub(crate) type GraphsReady = Box<dyn FnOnce(&Scheduler, Result<Vec<Lease>, EngineError>)>;

/// A command that goes on as soon as some graphs are there.
pub(crate) struct GraphRequest {
    /// Those that are not there yet.
    wanted: VecDeque<DatasetId>,
    held: Vec<Lease>,
    /// For a request that goes on only with the columns of the datasets' algorithms: the end of its time.
    awaits_columns: Option<CancelToken>,
    then: GraphsReady,
}

/// Where a query, or a list, takes its memory from; the graphs that no session shows are evicted for it.
#[derive(Clone)]
pub(crate) struct QueryMemory {
    budget: Budget,
    limit: u64,
    reports: Reports<ResidencyEvent>,
}

impl QueryMemory {
    pub(crate) fn new(ctx: &EngineContext, reports: Reports<ResidencyEvent>) -> Self {
        Self { budget: ctx.budget.clone(), limit: ctx.query_memory_max(), reports }
    }

    /// What one query may take.
    pub(crate) fn share(&self) -> MemoryConsumer {
        let room = make_room(self.reports.clone(), self.limit);
        MemoryConsumer::new(self.budget.clone(), self.limit, Some(room))
    }
}

/// The graphs in memory.
pub(crate) struct Residency {
    ctx: Arc<EngineContext>,
    loader: Arc<dyn Loader>,
    reports: Reports<ResidencyEvent>,
    store: GraphStore,
    jobs: Jobs,
}

impl Residency {
    pub(crate) fn new(
        ctx: Arc<EngineContext>,
        loader: Arc<dyn Loader>,
        reports: Reports<ResidencyEvent>,
    ) -> Self {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "only a start")]
        let first_epoch = ctx.clock.unix_secs() as u32;
        let store = GraphStore::new(ctx.budget.clone(), first_epoch);
        Self { ctx, loader, reports, store, jobs: Jobs::default() }
    }

    /// Asks for a graph: starts a load if one is needed and tells where the dataset is.
    pub(crate) fn request(
        &mut self,
        dataset: DatasetId,
        need: Need,
        scheduler: &Scheduler,
    ) -> Availability {
        let now = self.ctx.now();
        let load = match self.store.find(dataset, now, need.retry, need.positions) {
            Lookup::Resident(lease) if need.positions => return self.placed(lease, scheduler),
            Lookup::Resident(lease) => return Availability::Ready(lease),
            Lookup::Loading(stage) => return Availability::Loading(stage),
            Lookup::Refused(error) => return Availability::Refused(error),
            Lookup::Begin(load) => load,
        };
        match self.begin(dataset, load, scheduler) {
            Ok(()) => Availability::Loading(FIRST_STAGE),
            Err(error) => {
                self.load_failed(dataset, &error, scheduler);
                Availability::Refused(error)
            }
        }
    }

    /// Calls `then` with the graphs of `wanted`, in their order: at once, or when they have been loaded,
    /// one after the other. With `awaits_columns`, that is also when the algorithms that the datasets name have ended, unless
    /// the token has before.
    pub(crate) fn with_graphs(
        &mut self,
        wanted: Vec<DatasetId>,
        awaits_columns: Option<CancelToken>,
        scheduler: &Scheduler,
        then: impl FnOnce(&Scheduler, Result<Vec<Lease>, EngineError>) + 'static,
    ) {
        let (wanted, held, then) = (wanted.into(), Vec::new(), Box::new(then));
        let request = GraphRequest { wanted, held, awaits_columns, then };
        self.proceed(request, scheduler);
    }

    /// Takes what is there of a request's graphs, and waits for the first that is not.
    fn proceed(&mut self, mut request: GraphRequest, scheduler: &Scheduler) {
        while let Some(dataset) = request.wanted.front().copied() {
            match self.request(dataset, Need::GRAPH, scheduler) {
                Availability::Ready(lease) => {
                    let is_pending = self.jobs.is_pending(dataset);
                    if let Some(cancel) = request.awaits_columns.clone().filter(|_| is_pending) {
                        if let Err(request) = self.jobs.wait(lease, cancel, request) {
                            Self::too_many(request, scheduler);
                        }
                        return;
                    }
                    request.held.push(lease);
                    request.wanted.pop_front();
                }
                Availability::Refused(error) => return (request.then)(scheduler, Err(error)),
                Availability::Loading(_) => {
                    if let Err(request) = self.store.wait(dataset, request) {
                        Self::too_many(request, scheduler);
                    }
                    return;
                }
            }
        }
        (request.then)(scheduler, Ok(request.held));
    }

    fn too_many(request: GraphRequest, scheduler: &Scheduler) {
        let limit = limits::LOAD_WAITERS_MAX;
        let busy = EngineError::Busy { what: "callers of a load", limit };
        (request.then)(scheduler, Err(busy));
    }

    fn refuse(waiters: Vec<GraphRequest>, error: &EngineError, scheduler: &Scheduler) {
        for waiter in waiters {
            (waiter.then)(scheduler, Err(error.clone()));
        }
    }

    fn begin(
        &self,
        dataset: DatasetId,
        load: NewLoad,
        scheduler: &Scheduler,
    ) -> Result<(), EngineError> {
        self.ctx.counters.loads.fetch_add(1, Ordering::Relaxed);
        let NewLoad { ticket, epoch, columns_version, cancel, wants_positions } = load;
        let lost =
            ResidencyEvent::Loaded { dataset, ticket, result: Err(EngineError::Dropped.into()) };
        let report = self.reports.once(lost);
        let job = LoadJob {
            dataset,
            ticket,
            epoch,
            columns_version,
            given_up: self.jobs.given_up(dataset),
            cancel,
            wants_positions,
            loader: self.loader.clone(),
            pool: scheduler.cpu().clone(),
            ctx: self.ctx.clone(),
            budget: self.ctx.budget.clone(),
            reports: self.reports.clone(),
        };
        scheduler.pools().loaders.submit(Job::new("load", move || report.send(job.run())))
    }

    /// Places the nodes of a graph that was loaded for queries alone.
    fn placed(&mut self, lease: Lease, scheduler: &Scheduler) -> Availability {
        if lease.start().is_some() {
            return Availability::Ready(lease);
        }
        let dataset = lease.dataset;
        if self.store.is_placing(dataset) {
            return Availability::Loading(PLACING);
        }
        let cancel = CancelToken::new();
        let (pool, stop) = (scheduler.cpu().clone(), cancel.clone());
        let lost = ResidencyEvent::Placed { dataset, result: Err(EngineError::Dropped) };
        let report = self.reports.once(lost);
        let run = move || {
            let result = lease.place(&pool, &stop);
            drop(lease);
            report.send(ResidencyEvent::Placed { dataset, result });
        };
        match scheduler.pools().loaders.submit(Job::new("place", run)) {
            Ok(()) => {
                self.store.set_placing(dataset, Some(cancel));
                Availability::Loading(PLACING)
            }
            Err(error) => Availability::Refused(error),
        }
    }

    fn load_failed(&mut self, dataset: DatasetId, error: &EngineError, scheduler: &Scheduler) {
        if !matches!(error, EngineError::Waiting { .. }) {
            self.ctx.counters.load_failures.fetch_add(1, Ordering::Relaxed);
            let detail = error.to_string();
            tracing::warn!(%dataset, slug = error.slug(), detail, "a dataset was not loaded");
        }
        let (now, retry) = (self.ctx.now(), self.ctx.config.load_retry);
        let waiters = self.store.failed(dataset, error.clone(), now, retry);
        Self::refuse(waiters, error, scheduler);
    }

    /// Takes in what a loader thread reports; what sessions have to be told of it. Who asks for memory is
    /// answered by the caller, because sessions may have to give some back.
    pub(crate) fn on_event(
        &mut self,
        event: ResidencyEvent,
        scheduler: &Scheduler,
    ) -> Option<Update> {
        match event {
            ResidencyEvent::MemoryWanted { .. } => None,
            ResidencyEvent::Progress { dataset, ticket, stage } => self
                .store
                .set_stage(dataset, ticket, stage)
                .then_some(Update::Stage(dataset, stage)),
            ResidencyEvent::Loaded { dataset, ticket, .. }
                if !self.store.is_current(dataset, ticket) =>
            {
                None
            }
            ResidencyEvent::Loaded { dataset, result: Ok(resident), .. } => {
                self.loaded(dataset, *resident, scheduler)
            }
            ResidencyEvent::JobTurn { dataset, ticket, report } => {
                self.job_turn_ended(dataset, ticket, *report, scheduler)
            }
            ResidencyEvent::Loaded { dataset, result: Err(failure), .. } => {
                let error = failure.into_engine(dataset);
                self.load_failed(dataset, &error, scheduler);
                Some(Update::LoadFailed(dataset, error))
            }
            ResidencyEvent::Placed { dataset, result } => {
                self.store.set_placing(dataset, None);
                // Where the graph has gone meanwhile, the next load answers.
                match result.err().filter(|_| self.store.resident(dataset).is_some()) {
                    Some(error) => Some(Update::PlacingFailed(dataset, error)),
                    None => Some(Update::Changed(dataset)),
                }
            }
        }
    }

    /// Takes memory that is free at this moment.
    ///
    /// # Errors
    /// [`ResourcesExhausted`] when there is less.
    pub(crate) fn try_reserve(&self, bytes: u64) -> Result<Reservation, ResourcesExhausted> {
        self.ctx.budget.try_reserve(bytes)
    }

    /// Evicts graphs without leases until `bytes` are free or nothing more can go.
    pub(crate) fn evict(&mut self, bytes: u64) {
        let mut gone = self.store.make_room(bytes);
        if !self.store.has_room(bytes) && self.jobs.give_back() {
            gone.extend(self.store.make_room(bytes));
        }
        gone.into_iter().for_each(|dataset| self.jobs.unload(dataset));
        self.ctx.counters.evictions.store(self.store.evictions(), Ordering::Relaxed);
    }

    /// Where queries take their memory from.
    pub(crate) fn query_memory(&self) -> QueryMemory {
        QueryMemory::new(&self.ctx, self.reports.clone())
    }

    /// What viewers of the dataset are shown without collections, when its graph is known.
    pub(crate) fn scene(&self, dataset: DatasetId) -> Option<Arc<SceneFrames>> {
        self.store.scene(dataset)
    }

    /// The graph that is shown, with its picture without collections.
    pub(crate) fn shown(&self, dataset: DatasetId) -> Option<(Lease, Arc<SceneFrames>)> {
        self.store.resident(dataset).cloned().zip(self.store.scene(dataset))
    }

    /// Whether a layout that the dataset names is still to place the nodes of its graph.
    pub(crate) fn awaits_layout(&self, dataset: DatasetId) -> bool {
        self.store.resident(dataset).is_some_and(|lease| lease.awaits_layout())
    }

    /// Whether this element set of a dataset is in memory.
    pub(crate) fn is_resident(&self, (dataset, epoch): (DatasetId, u32)) -> bool {
        self.store.resident(dataset).is_some_and(|lease| lease.facts.epoch == epoch)
    }

    /// The graph to look for communities in, see [`GraphStore::lacks_communities`].
    pub(crate) fn lacks_communities(&mut self, dataset: DatasetId) -> Option<Lease> {
        self.store.lacks_communities(dataset)
    }

    /// A job looks for communities now.
    pub(crate) fn begin_communities(&mut self, dataset: DatasetId) {
        self.store.begin_communities(dataset);
    }

    /// The search has ended; whether what it found is still of the dataset's present element set.
    pub(crate) fn end_communities(
        &mut self,
        dataset: DatasetId,
        epoch: u32,
        scene: Option<Arc<SceneFrames>>,
    ) -> bool {
        self.store.end_communities(dataset, epoch, scene)
    }

    /// Forgets the dataset and answers `error` to the callers that wait for it. A new load gets a new epoch.
    pub(crate) fn forget(
        &mut self,
        dataset: DatasetId,
        error: &EngineError,
        scheduler: &Scheduler,
    ) {
        let mut waiters = self.store.forget(dataset);
        waiters.extend(self.jobs.forget(dataset));
        Self::refuse(waiters, error, scheduler);
    }

    /// Forgets datasets that hold nothing and that no session shows.
    pub(crate) fn evict_unused(&mut self, in_use: impl Fn(DatasetId) -> bool) {
        self.store.evict_unused(in_use);
        self.jobs.forget_unused(|dataset| self.store.is_known(dataset));
    }

    /// Marks the dataset as used.
    pub(crate) fn touch(&mut self, dataset: DatasetId, now: Instant) {
        self.store.touch(dataset, now);
    }

    /// Graphs in memory.
    pub(crate) fn num_resident(&self) -> usize {
        self.store.num_resident()
    }

    /// Stops every load and answers the callers that wait for one.
    pub(crate) fn stop(&mut self, scheduler: &Scheduler) {
        let mut waiters = self.store.cancel_all(CancelReason::Shutdown);
        waiters.extend(self.jobs.stop());
        Self::refuse(waiters, &EngineError::Stopped, scheduler);
    }
}
