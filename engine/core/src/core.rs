//! Everything that changes, owned by the engine thread.

use std::collections::{HashMap, HashSet, VecDeque};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use crossbeam::channel::{Sender, bounded};
use graphlume_device::CpuPool;
use graphlume_types::{
    CancelReason, CancelToken, Code, Coded, DatasetId, MakeRoom, Refused, Reservation, SessionId,
    Share, limits,
};

use crate::config::Config;
use crate::desk::Desk;
use crate::device::OnDeviceLost;
use crate::device::card::Card;
use crate::error::{ClosedReason, EngineError};
use crate::event::{Event, LoadFailure};
use crate::health::Shared;
use crate::keeper::Keeper;
use crate::loader::Loader;
use crate::resident::{LoadJob, PLACING, Resident};
use crate::session::keeping::Begin;
use crate::session::machine::{GraphState, VizSession};
use crate::session::slot::Backend;
use crate::stats::Gauges;
use crate::store::{Found, GraphStore, Slot, Waiter};
use crate::target::Target;
use crate::workers::{Job, Workers};

/// The workers by what they do.
pub(crate) struct Crews {
    pub(crate) loaders: Workers,
    pub(crate) layouts: Workers,
    /// Slices of layouts on the GPU.
    pub(crate) device: Workers,
    pub(crate) queries: Workers,
    pub(crate) desk: Desk,
    pub(crate) background: Workers,
    /// Writes positions down, one after the other.
    pub(crate) keepers: Workers,
    /// Reads them again.
    pub(crate) restorers: Workers,
}

/// The state of the engine. Not `Send`: made on the engine thread, it cannot leave it, so that no
/// lock is needed and none exists.
pub(crate) struct Core {
    pub(crate) config: Config,
    pub(crate) shared: Arc<Shared>,
    pub(crate) pool: Arc<CpuPool>,
    pub(crate) store: GraphStore,
    pub(crate) sessions: HashMap<SessionId, VizSession>,
    /// Sessions opened so far.
    pub(crate) opened: u64,
    /// Sessions that wait for a slice, in the order of their turns.
    pub(crate) turns: VecDeque<SessionId>,
    /// By [`Place`].
    pub(crate) slices_away: [usize; 2],
    pub(crate) crews: Crews,
    pub(crate) canary_waiters: Vec<crate::reply::Reply<()>>,
    pub(crate) canary_runs: bool,
    pub(crate) suspend_waiters: Vec<crate::reply::Reply<()>>,
    /// The server is about to stop: nothing moves any more.
    pub(crate) suspended: bool,
    pub(crate) keeper: Option<Arc<dyn Keeper>>,
    /// Sessions must be looked at in this turn.
    pub(crate) woken: bool,
    pub(crate) stopping: bool,
    loader: Arc<dyn Loader>,
    events: Sender<Event>,
    _thread: PhantomData<*const ()>,
}

impl Core {
    pub(crate) fn new(
        config: Config,
        shared: Arc<Shared>,
        pool: Arc<CpuPool>,
        crews: Crews,
        loader: Arc<dyn Loader>,
        keeper: Option<Arc<dyn Keeper>>,
        events: Sender<Event>,
    ) -> Self {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "only a start")]
        let first_epoch = shared.clock.unix_secs() as u32;
        Self {
            store: GraphStore::new(shared.budget.clone(), first_epoch),
            config,
            shared,
            pool,
            sessions: HashMap::new(),
            opened: 0,
            turns: VecDeque::new(),
            slices_away: [0; 2],
            crews,
            canary_waiters: Vec::new(),
            canary_runs: false,
            suspend_waiters: Vec::new(),
            suspended: false,
            keeper,
            woken: true,
            stopping: false,
            loader,
            events,
            _thread: PhantomData,
        }
    }

    pub(crate) fn now(&self) -> Instant {
        self.shared.clock.monotonic()
    }

    /// # Errors
    /// [`EngineError::SessionNotFound`].
    pub(crate) fn session(&mut self, id: &SessionId) -> Result<&mut VizSession, EngineError> {
        self.sessions.get_mut(id).ok_or_else(|| EngineError::SessionNotFound(id.clone()))
    }

    /// # Errors
    /// [`EngineError::SessionNotFound`]; [`EngineError::SessionClosed`] when it shows another dataset
    /// than the caller was allowed to see.
    pub(crate) fn target(&mut self, target: &Target) -> Result<&mut VizSession, EngineError> {
        let session = self.session(&target.session)?;
        if target.dataset.is_some_and(|d| d != session.dataset) {
            let (session, reason) = (target.session.clone(), ClosedReason::Replaced);
            return Err(EngineError::SessionClosed { session, reason });
        }
        Ok(session)
    }

    /// Takes memory, evicting what nobody needs.
    ///
    /// # Errors
    /// [`Refused`] when even that is not enough.
    pub(crate) fn reserve(&mut self, bytes: u64) -> Result<Reservation, Refused> {
        match self.store.reserve(bytes) {
            Ok(held) => return Ok(held),
            Err(refused) if refused.never_fits() => {
                self.shared.counters.memory_refusals.fetch_add(1, Ordering::Relaxed);
                return Err(refused);
            }
            Err(_) => {}
        }
        for session in self.sessions.values_mut().filter(|s| !s.is_watched()) {
            session.release();
        }
        self.store.make_room(bytes);
        self.shared.counters.evictions.store(self.store.evictions, Ordering::Relaxed);
        let again = self.store.reserve(bytes);
        if again.is_err() {
            self.shared.counters.memory_refusals.fetch_add(1, Ordering::Relaxed);
        }
        again
    }

    /// What one query may take of the memory, evicting what nobody needs.
    pub(crate) fn query_share(&self) -> Share {
        let limit = self.shared.query_memory_max();
        let room = make_room(self.events.clone(), limit);
        Share::new(self.shared.budget.clone(), limit, Some(room))
    }

    /// Starts a load if one is needed and tells where the dataset is.
    /// `seen` says that it is wanted to be looked at, which takes positions.
    pub(crate) fn want_dataset(
        &mut self,
        dataset: DatasetId,
        again: bool,
        seen: bool,
    ) -> GraphState {
        let now = self.now();
        match self.store.request(dataset, now, again, seen) {
            Found::Resident if seen => self.want_positions(dataset),
            Found::Resident => GraphState::Ready,
            Found::Loading => GraphState::Loading(self.load_stage(dataset)),
            Found::Refused(error) => graph_state(&error),
            Found::Begin { ticket, epoch, cancel, seen } => {
                let job = LoadJob {
                    dataset,
                    ticket,
                    epoch,
                    cancel,
                    seen,
                    loader: self.loader.clone(),
                    pool: self.pool.clone(),
                    budget: self.shared.budget.clone(),
                    events: self.events.clone(),
                };
                self.shared.counters.loads.fetch_add(1, Ordering::Relaxed);
                let lost = move || Event::Loaded {
                    dataset,
                    ticket,
                    result: Err(LoadFailure::Build(EngineError::Dropped)),
                };
                let submitted = self.crews.loaders.submit(Job {
                    what: "load",
                    run: Box::new(move || Some(job.run())),
                    lost: Some(Box::new(lost)),
                });
                match submitted {
                    Ok(()) => GraphState::Loading(self.load_stage(dataset)),
                    Err(error) => {
                        let state = graph_state(&error);
                        self.load_failed(dataset, error);
                        state
                    }
                }
            }
        }
    }

    /// Places the nodes of a graph that was loaded for queries alone.
    fn want_positions(&mut self, dataset: DatasetId) -> GraphState {
        let Some(lease) = self.store.resident(dataset) else { return GraphState::Ready };
        if lease.start().is_some() {
            return GraphState::Ready;
        }
        let Some(entry) = self.store.entry_mut(dataset) else { return GraphState::Ready };
        if entry.placing.is_some() {
            return GraphState::Loading(PLACING);
        }
        let cancel = CancelToken::new();
        let (pool, stop) = (self.pool.clone(), cancel.clone());
        let run = move || {
            let result = lease.place(&pool, &stop);
            Some(Event::Placed { dataset, result })
        };
        let lost = move || Event::Placed { dataset, result: Err(EngineError::Dropped) };
        let job = Job { what: "place", run: Box::new(run), lost: Some(Box::new(lost)) };
        match self.crews.loaders.submit(job) {
            Ok(()) => {
                if let Some(entry) = self.store.entry_mut(dataset) {
                    entry.placing = Some(cancel);
                }
                GraphState::Loading(PLACING)
            }
            Err(error) => graph_state(&error),
        }
    }

    fn on_placed(&mut self, dataset: DatasetId, result: Result<(), EngineError>) {
        if let Some(entry) = self.store.entry_mut(dataset) {
            entry.placing = None;
        }
        let now = self.now();
        // Where the graph has gone meanwhile, the next load answers.
        let failed = result.err().filter(|_| self.store.resident(dataset).is_some());
        for id in self.waiting_sessions(dataset) {
            match (&failed, self.sessions.get_mut(&id)) {
                (Some(e), Some(session)) => session.graph_missing(graph_state(e), now),
                _ => self.want_graph(&id, false),
            }
        }
    }

    /// The sessions that want the dataset's graph and have none.
    fn waiting_sessions(&self, dataset: DatasetId) -> Vec<SessionId> {
        let waits = |s: &&VizSession| {
            s.dataset == dataset && s.lease.is_none() && s.graph != GraphState::Released
        };
        self.sessions.values().filter(waits).map(|s| s.id.clone()).collect()
    }

    fn load_stage(&self, dataset: DatasetId) -> &'static str {
        match self.store.entry(dataset).map(|e| &e.slot) {
            Some(Slot::Loading { stage, .. }) => stage,
            _ => "waiting for a loader",
        }
    }

    /// Gives the session its graph, or makes it wait for one.
    pub(crate) fn want_graph(&mut self, id: &SessionId, again: bool) {
        let Some(dataset) = self.sessions.get(id).map(|s| s.dataset) else { return };
        let state = self.want_dataset(dataset, again, true);
        let now = self.now();
        if state == GraphState::Ready {
            self.give_graph(id);
        } else if let Some(session) = self.sessions.get_mut(id) {
            session.graph_missing(state, now);
        }
    }

    /// The dataset is resident: the session takes a lease and gets a layout.
    fn give_graph(&mut self, id: &SessionId) {
        let now = self.now();
        let Some(dataset) = self.sessions.get(id).map(|s| s.dataset) else { return };
        let Some(lease) = self.store.resident(dataset) else { return };
        let scene = self.store.entry(dataset).and_then(|e| e.scene.clone());
        let scene = scene.unwrap_or_else(|| lease.scene.clone());
        let Some(session) = self.sessions.get_mut(id) else { return };
        if session.lease.is_some() {
            return;
        }
        let kept = session.layout.as_ref().is_some_and(|l| l.epoch() == lease.facts.epoch);
        let begin = if kept {
            Begin::Kept
        } else {
            let Some(begin) = self.new_layout(id, &lease, now) else { return };
            begin
        };
        let Some(layout) = self.sessions.get(id).and_then(|s| s.layout.as_ref()) else { return };
        let (backend, why) = self.backend(lease.facts.edge_count, layout);
        let Some(session) = self.sessions.get_mut(id) else { return };
        let painted = session.coat.ready(&scene);
        session.graph_ready(lease, painted.unwrap_or(scene), begin, now);
        session.computed_by(backend, &why, now);
        // Whoever already watches makes it run in this turn.
        self.woken = true;
        self.queue(id);
        self.repaint(id);
    }

    /// Calls `then` with the dataset's graph: at once, or when its load has ended.
    pub(crate) fn with_graph(&mut self, dataset: DatasetId, then: Waiter) {
        match self.want_dataset(dataset, false, false) {
            GraphState::Ready => {
                let lease = self.store.resident(dataset);
                then(self, lease.ok_or(EngineError::Dropped));
            }
            GraphState::Loading(_) => {
                if let Err(then) = self.store.wait(dataset, then) {
                    let limit = limits::LOAD_WAITERS_MAX;
                    then(self, Err(EngineError::Busy { what: "callers of a load", limit }));
                }
            }
            GraphState::Waiting(_) | GraphState::Failed { .. } | GraphState::Released => {
                let error = match self.store.entry(dataset).map(|e| &e.slot) {
                    Some(Slot::Waiting { error } | Slot::Failed { error, .. }) => error.clone(),
                    _ => EngineError::Dropped,
                };
                then(self, Err(error));
            }
        }
    }

    fn load_failed(&mut self, dataset: DatasetId, error: EngineError) {
        let now = self.now();
        let state = graph_state(&error);
        if let GraphState::Failed { detail, .. } = &state {
            self.shared.counters.load_failures.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(%dataset, slug = error.slug(), detail, "a dataset was not loaded");
        }
        let waiters = self.store.failed(dataset, error.clone(), now, self.config.load_retry);
        for session in self.sessions.values_mut().filter(|s| s.dataset == dataset) {
            if session.lease.is_none() {
                session.graph_missing(state.clone(), now);
            }
        }
        for waiter in waiters {
            waiter(self, Err(error.clone()));
        }
    }

    fn load_done(&mut self, dataset: DatasetId, resident: Resident) {
        let now = self.now();
        let waiters = self.store.loaded(dataset, resident, now);
        for id in self.waiting_sessions(dataset) {
            self.want_graph(&id, false);
        }
        for waiter in waiters {
            let lease = self.store.resident(dataset);
            waiter(self, lease.ok_or(EngineError::Dropped));
        }
    }

    /// Takes in what a worker reports.
    pub(crate) fn on_event(&mut self, event: Event) {
        match event {
            Event::Progress { dataset, ticket, stage } => self.on_progress(dataset, ticket, stage),
            Event::Room { bytes, answer } => {
                let _ = answer.try_send(self.reserve(bytes));
            }
            Event::Loaded { dataset, ticket, result } => {
                if !self.store.is_current(dataset, ticket) {
                    return;
                }
                match result {
                    Ok(resident) => self.load_done(dataset, *resident),
                    Err(LoadFailure::Loader(e)) => {
                        self.load_failed(dataset, e.into_engine(dataset))
                    }
                    Err(LoadFailure::Build(e)) => self.load_failed(dataset, e),
                }
            }
            Event::Sliced { session, generation, place, result } => {
                self.on_sliced(&session, generation, place, result);
            }
            Event::Placed { dataset, result } => self.on_placed(dataset, result),
            Event::Communities { dataset, epoch, result } => {
                self.on_communities(dataset, epoch, result);
            }
            Event::Coated { session, slot, result } => self.on_coated(&session, &slot, result),
            Event::Kept { session } => self.on_kept(&session),
            Event::Restored { session, found } => self.on_restored(&session, found),
            Event::Canary { result } => {
                self.canary_runs = false;
                self.shared.set_canary(result);
                self.look_after_device();
                for waiter in self.canary_waiters.drain(..) {
                    waiter.send(Ok(()));
                }
            }
        }
    }

    fn on_progress(&mut self, dataset: DatasetId, ticket: u64, stage: &'static str) {
        if !self.store.is_current(dataset, ticket) {
            return;
        }
        if let Some(entry) = self.store.entry_mut(dataset)
            && let Slot::Loading { stage: shown, .. } = &mut entry.slot
        {
            *shown = stage;
        }
        let now = self.now();
        for session in self.sessions.values_mut().filter(|s| s.dataset == dataset) {
            if matches!(session.graph, GraphState::Loading(_)) {
                session.graph_missing(GraphState::Loading(stage), now);
            }
        }
    }

    /// Deals with a lost device, once, and has what was left on a working one given back.
    pub(crate) fn look_after_device(&mut self) {
        let Ok(card) = &self.shared.card else { return };
        let card = card.clone();
        if let Some(why) = card.why_lost() {
            if !card.is_given_up.swap(true, Ordering::Relaxed) {
                self.give_up_device(&card, why);
            }
            // Layouts that were away leave the device when they come back.
            card.bury();
            return;
        }
        let store = &self.store;
        card.keep_only(|(dataset, epoch)| {
            store.resident(dataset).is_some_and(|l| l.facts.epoch == epoch)
        });
        if card.has_graves() && self.crews.background.check_room().is_ok() {
            let shared = self.shared.clone();
            let run = move || {
                let _step = shared.steps.begin("giving memory back", shared.clock.monotonic());
                card.bury();
                None
            };
            let job = Job { what: "giving device memory back", run: Box::new(run), lost: None };
            let _ = self.crews.background.submit(job);
        }
    }

    /// Nothing on the device can be used any more. Sessions keep the positions of their last frame.
    fn give_up_device(&mut self, card: &Card, why: String) {
        self.shared.counters.device_losses.fetch_add(1, Ordering::Relaxed);
        tracing::error!(gpu = card.gpu.info().name, "{why}");
        card.keep_only(|_| false);
        let now = self.now();
        for session in self.sessions.values_mut() {
            if let Some(layout) = &mut session.layout {
                layout.leave_device(&why);
                session.computed_by(Backend::Cpu, &why, now);
            }
        }
        self.woken = true;
        if self.config.on_device_lost == OnDeviceLost::Exit {
            self.shared.want_restart(why);
        }
    }

    /// Ends a session and tells its viewers.
    pub(crate) fn close_session(&mut self, id: &SessionId, reason: ClosedReason) {
        if let Some(mut session) = self.sessions.remove(id) {
            session.close(reason);
            // The others may be opened again, and go on from where they were.
            if matches!(reason, ClosedReason::Closed | ClosedReason::Replaced) {
                self.forget_session_positions(id, session.dataset);
            }
        }
    }

    /// Looks at every session: who watches, whose time is over, who needs a graph.
    pub(crate) fn poll(&mut self) {
        let now = self.now();
        self.woken = false;
        let ids: Vec<SessionId> = self.sessions.keys().cloned().collect();
        let mut gauges = Gauges::default();
        for id in ids {
            let Some(session) = self.sessions.get_mut(&id) else { continue };
            let wants_graph = session.poll(now, self.config.pause_after);
            if self.suspended {
                // Whatever began or was moved since.
                session.suspend(now);
            }
            let unwatched = session.unwatched_for(now);
            gauges.viewers += session.viewers();
            gauges.sessions_running += usize::from(session.is_running());
            gauges.slot_bytes += session.slot.frame_bytes();
            if unwatched >= self.config.release_after {
                session.release();
            }
            if unwatched >= self.config.close_after && session.viewers() == 0 {
                self.close_session(&id, ClosedReason::Idle);
                continue;
            }
            // A failure that may pass, and a graph given back, are worth another look.
            let dataset = session.dataset;
            if wants_graph
                && session.retry_at.is_none_or(|at| now >= at)
                && matches!(
                    session.graph,
                    GraphState::Released | GraphState::Failed { transient: true, .. }
                )
            {
                self.want_graph(&id, false);
            }
            if unwatched.is_zero() {
                self.store.touch(dataset, now);
            }
            self.queue(&id);
            self.send_copy(&id);
        }
        self.answer_suspended();
        let used: HashSet<DatasetId> = self.sessions.values().map(|s| s.dataset).collect();
        self.store.tidy(|id| used.contains(&id));
        gauges.sessions = self.sessions.len();
        gauges.resident_graphs = self.store.num_resident();
        gauges.jobs_waiting =
            self.crews.queries.depth() + self.crews.desk.depth() + self.crews.background.depth();
        gauges.loads_waiting = self.crews.loaders.depth();
        gauges.layouts_waiting = self.turns.len();
        *self.shared.gauges.lock() = gauges;
        self.look_after_device();
    }

    /// Ends everything: loads, layouts, sessions, waiting callers.
    pub(crate) fn stop(&mut self) {
        self.stopping = true;
        self.shared.stopping.store(true, Ordering::Relaxed);
        for waiter in self.store.cancel_all(CancelReason::Shutdown) {
            waiter(self, Err(EngineError::Stopped));
        }
        let ids: Vec<SessionId> = self.sessions.keys().cloned().collect();
        for id in ids {
            self.close_session(&id, ClosedReason::Shutdown);
        }
        for waiter in self.canary_waiters.drain(..).chain(self.suspend_waiters.drain(..)) {
            waiter.send(Err(EngineError::Stopped));
        }
    }
}

/// What viewers are shown when a graph is not to be had.
fn graph_state(error: &EngineError) -> GraphState {
    match error {
        EngineError::Waiting { detail, .. } => GraphState::Waiting(detail.to_string()),
        e => GraphState::Failed {
            detail: e.to_string(),
            transient: e.code().is_transient() || e.code() == Code::Internal,
        },
    }
}

/// Asks the loop for memory that only eviction can give.
pub(crate) fn make_room(events: Sender<Event>, limit: u64) -> Box<MakeRoom> {
    Box::new(move |bytes| {
        let refused = Refused { name: "host", need: bytes, used: limit, limit };
        let (answer, room) = bounded(1);
        events.send(Event::Room { bytes, answer }).map_err(|_| refused)?;
        room.recv().unwrap_or(Err(refused))
    })
}
