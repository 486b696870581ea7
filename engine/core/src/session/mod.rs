//! Visualization sessions: what they show, who watches, and how their layouts run.
//!
//! [`Sessions`] owns them all. What it needs of the other parts of the engine, a graph or a worker, it is given
//! with each call.

mod arranging;
pub(crate) mod broadcast;
pub(crate) mod checkpointing;
pub(crate) mod checkpoints;
pub(crate) mod collection_set;
pub(crate) mod collection_state;
pub(crate) mod collections;
mod communities;
mod community_search;
pub(crate) mod control;
mod device_frames;
mod displaced;
pub(crate) mod drawn_picture;
pub(crate) mod events;
mod following;
mod force_atlas2;
mod graph;
pub(crate) mod groups;
mod layout;
mod live_layout;
pub(crate) mod machine;
mod missing;
mod painting;
pub(crate) mod placement;
mod placing;
mod slice;
mod slices;
pub(crate) mod state;
mod turns;
pub(crate) mod viewer;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use graphlume_types::{DatasetId, Reservation, ResourcesExhausted, SessionId, limits};

use crate::checkpoint::{Checkpoint, CheckpointStore};
use crate::context::EngineContext;
use crate::error::{ClosedReason, EngineError};
use crate::frames::SceneFrames;
use crate::layout_settings::LayoutSettings;
use crate::messages::{Backend, SessionState};
use crate::reply::Reply;
use crate::report::Reports;
use crate::residency::{Need, Residency};
use crate::scheduler::Scheduler;
use crate::session::broadcast::SessionBroadcast;
use crate::session::checkpointing::Checkpointing;
use crate::session::collection_set::CollectionRender;
use crate::session::control::Control;
use crate::session::machine::VizSession;
use crate::session::state::GraphState;
use crate::session::turns::{Slice, Turns};
use crate::stats::Gauges;
use crate::target::Target;

/// What a thread that works for sessions reports.
pub(crate) enum SessionEvent {
    /// A layout comes back from its slice.
    Sliced {
        session: SessionId,
        generation: u64,
        backend: Backend,
        result: Result<Box<Slice>, EngineError>,
    },
    /// Colours by community are there, or will not be.
    Communities { dataset: DatasetId, epoch: u32, result: Result<Arc<SceneFrames>, EngineError> },
    /// Collections have been rendered over a session's picture.
    CollectionsRendered {
        session: SessionId,
        broadcast: Arc<SessionBroadcast>,
        result: Result<Box<CollectionRender>, EngineError>,
    },
    /// A checkpoint of a session has been written, or could not be.
    CheckpointWritten { session: SessionId },
    /// A checkpoint of an earlier run, with the memory of a layout, or nothing.
    CheckpointRead { session: SessionId, found: Option<(Box<Checkpoint>, Reservation)> },
}

/// Every session of the engine.
pub(crate) struct Sessions {
    ctx: Arc<EngineContext>,
    reports: Reports<SessionEvent>,
    checkpoint_store: Option<Arc<dyn CheckpointStore>>,
    live: HashMap<SessionId, VizSession>,
    /// Sessions opened so far.
    opened: u64,
    turns: Turns,
    /// The server is about to stop: nothing moves any more.
    suspended: bool,
    suspend_waiters: Vec<Reply<()>>,
    /// Every session must be looked at in this turn of the loop.
    tick_due: bool,
}

impl Sessions {
    pub(crate) fn new(
        ctx: Arc<EngineContext>,
        checkpoint_store: Option<Arc<dyn CheckpointStore>>,
        reports: Reports<SessionEvent>,
    ) -> Self {
        Self {
            ctx,
            reports,
            checkpoint_store,
            live: HashMap::new(),
            opened: 0,
            turns: Turns::default(),
            suspended: false,
            suspend_waiters: Vec::new(),
            tick_due: true,
        }
    }

    /// # Errors
    /// [`EngineError::SessionNotFound`].
    pub(crate) fn get(&self, id: &SessionId) -> Result<&VizSession, EngineError> {
        self.live.get(id).ok_or_else(|| EngineError::SessionNotFound(id.clone()))
    }

    /// # Errors
    /// [`EngineError::SessionNotFound`]; [`EngineError::SessionClosed`] when it shows another dataset
    /// than the caller was allowed to see.
    pub(crate) fn target(&mut self, target: &Target) -> Result<&mut VizSession, EngineError> {
        let id = &target.session;
        let session =
            self.live.get_mut(id).ok_or_else(|| EngineError::SessionNotFound(id.clone()))?;
        if target.dataset.is_some_and(|d| d != session.dataset) {
            let (session, reason) = (id.clone(), ClosedReason::Replaced);
            return Err(EngineError::SessionClosed { session, reason });
        }
        Ok(session)
    }

    /// Makes sure that a session exists.
    ///
    /// # Errors
    /// [`EngineError::SessionTaken`] when it shows another dataset to a viewer; [`EngineError::Busy`] when
    /// there are too many with viewers.
    pub(crate) fn open(
        &mut self,
        id: SessionId,
        dataset: DatasetId,
        settings: LayoutSettings,
        residency: &mut Residency,
        scheduler: &Scheduler,
    ) -> Result<(), EngineError> {
        if let Some(present) = self.live.get(&id) {
            if present.dataset == dataset {
                return Ok(());
            }
            if present.viewers() > 0 {
                let dataset = present.dataset;
                return Err(EngineError::SessionTaken { session: id, dataset });
            }
            self.close(&id, ClosedReason::Replaced, scheduler);
        }
        if self.live.len() >= limits::SESSIONS_MAX {
            self.close_longest_unwatched(scheduler)?;
        }
        let now = self.ctx.now();
        let checkpoints = Checkpointing::new(self.checkpoint_store.is_some());
        let mut session = VizSession::new(id.clone(), dataset, settings, checkpoints, now);
        // A slice that is still away from an earlier session of this name must not come back to this one.
        self.opened += 1;
        session.generation = self.opened << 32;
        self.live.insert(id.clone(), session);
        self.request_graph(&id, Need::PICTURE, residency, scheduler);
        Ok(())
    }

    /// Makes room for another session: the one that has been without viewers for longest goes.
    fn close_longest_unwatched(&mut self, scheduler: &Scheduler) -> Result<(), EngineError> {
        let now = self.ctx.now();
        let longest = self
            .live
            .values()
            .filter(|s| s.viewers() == 0)
            .max_by_key(|s| (s.unwatched_for(now), s.id.clone()))
            .map(|s| s.id.clone());
        let busy = EngineError::Busy { what: "sessions", limit: limits::SESSIONS_MAX };
        let id = longest.ok_or(busy)?;
        self.close(&id, ClosedReason::Idle, scheduler);
        Ok(())
    }

    /// Ends a session and tells its viewers.
    pub(crate) fn close(&mut self, id: &SessionId, reason: ClosedReason, scheduler: &Scheduler) {
        if let Some(mut session) = self.live.remove(id) {
            session.close(reason);
            // The others may be opened again, and go on from where they were.
            if matches!(reason, ClosedReason::Closed | ClosedReason::Replaced) {
                self.discard_session_checkpoint(id, session.dataset, scheduler);
            }
        }
    }

    /// Closes every session of a dataset.
    pub(crate) fn close_all_of(
        &mut self,
        dataset: DatasetId,
        reason: ClosedReason,
        scheduler: &Scheduler,
    ) {
        for id in self.ids_of(dataset) {
            self.close(&id, reason, scheduler);
        }
    }

    fn ids_of(&self, dataset: DatasetId) -> Vec<SessionId> {
        self.live.values().filter(|s| s.dataset == dataset).map(|s| s.id.clone()).collect()
    }

    /// What a viewer asks for.
    ///
    /// # Errors
    /// Those of [`Self::target`] and of [`VizSession::control`]; [`EngineError::Stopped`] when the server is
    /// about to stop.
    pub(crate) fn control(
        &mut self,
        target: &Target,
        control: Control,
    ) -> Result<Arc<SessionState>, EngineError> {
        if self.suspended {
            return Err(EngineError::Stopped);
        }
        let now = self.ctx.now();
        let done = self.target(target).and_then(|session| {
            session.control(control, now)?;
            Ok(session.broadcast.state())
        });
        if let Some(session) = self.live.get_mut(&target.session) {
            self.turns.push(session);
        }
        done
    }

    /// Has the next slice of a session answer with its exact positions. A graph that was given back is
    /// fetched for it.
    pub(crate) fn answer_positions(
        &mut self,
        id: &SessionId,
        reply: Reply<bytes::Bytes>,
        residency: &mut Residency,
        scheduler: &Scheduler,
    ) {
        let Some(session) = self.live.get_mut(id) else { return };
        session.exact_waiters.push(reply);
        if session.lease.is_none() {
            self.request_graph(id, Need::PICTURE, residency, scheduler);
        }
        if let Some(session) = self.live.get_mut(id) {
            self.turns.push(session);
        }
    }

    /// Takes memory, evicting what no viewer needs.
    ///
    /// # Errors
    /// [`ResourcesExhausted`] when even that is not enough.
    pub(crate) fn reserve(
        &mut self,
        bytes: u64,
        residency: &mut Residency,
    ) -> Result<Reservation, ResourcesExhausted> {
        let done = match residency.try_reserve(bytes) {
            Err(refused) if !refused.never_fits() => {
                for session in self.live.values_mut().filter(|s| !s.is_watched()) {
                    session.release();
                }
                residency.evict(bytes);
                residency.try_reserve(bytes)
            }
            done => done,
        };
        if done.is_err() {
            self.ctx.counters.memory_refusals.fetch_add(1, Ordering::Relaxed);
        }
        done
    }

    /// Takes in what a worker reports.
    pub(crate) fn on_event(
        &mut self,
        event: SessionEvent,
        residency: &mut Residency,
        scheduler: &Scheduler,
    ) {
        match event {
            SessionEvent::Sliced { session, generation, backend, result } => {
                self.turns.came_back(backend);
                self.on_sliced(&session, generation, backend, result, residency, scheduler);
            }
            SessionEvent::Communities { dataset, epoch, result } => {
                self.on_communities(dataset, epoch, result, residency, scheduler);
            }
            SessionEvent::CollectionsRendered { session, broadcast, result } => {
                self.on_collections_rendered(&session, &broadcast, result, residency, scheduler);
            }
            SessionEvent::CheckpointWritten { session } => self.on_checkpoint_written(&session),
            SessionEvent::CheckpointRead { session, found } => {
                self.on_checkpoint_read(&session, found, residency, scheduler);
            }
        }
    }

    /// The GPU cannot be used any more. Sessions keep the positions of their last frame; layouts that are
    /// away leave the device when they come back.
    pub(crate) fn leave_device(&mut self, why: &str) {
        let now = self.ctx.now();
        for session in self.live.values_mut() {
            session.leave_device(why, &self.ctx, now);
        }
        self.tick_due = true;
    }

    /// Makes the loop look at every session in this turn.
    pub(crate) const fn request_tick(&mut self) {
        self.tick_due = true;
    }

    /// Whether the loop has to look at every session in this turn.
    pub(crate) const fn is_tick_due(&self) -> bool {
        self.tick_due
    }

    /// Looks at every session: who watches, whose time is over, who needs a graph. What it saw of them.
    pub(crate) fn tick(&mut self, residency: &mut Residency, scheduler: &Scheduler) -> Gauges {
        let ctx = self.ctx.clone();
        let (now, config) = (ctx.now(), &ctx.config);
        self.tick_due = false;
        let ids: Vec<SessionId> = self.live.keys().cloned().collect();
        let mut gauges = Gauges::default();
        for id in ids {
            let Some(session) = self.live.get_mut(&id) else { continue };
            let wants_graph = session.tick(now, config.pause_after);
            if self.suspended {
                // Whatever began or was moved since.
                session.suspend(now);
            }
            let unwatched = session.unwatched_for(now);
            gauges.viewers += session.viewers();
            gauges.sessions_running += usize::from(session.is_running());
            gauges.frame_bytes += session.broadcast.frame_bytes();
            if unwatched >= config.release_after {
                session.release();
            }
            if unwatched >= config.close_after && session.viewers() == 0 {
                self.close(&id, ClosedReason::Idle, scheduler);
                continue;
            }
            if unwatched.is_zero() {
                residency.touch(session.dataset, now);
            }
            // A failure that may pass, and a graph given back, are worth another look.
            if wants_graph
                && session.retry_at.is_none_or(|at| now >= at)
                && matches!(
                    session.graph,
                    GraphState::Released | GraphState::Failed { transient: true, .. }
                )
            {
                self.request_graph(&id, Need::PICTURE, residency, scheduler);
            }
            let Some(session) = self.live.get_mut(&id) else { continue };
            self.turns.push(session);
            self.write_checkpoint(&id, scheduler);
        }
        self.answer_suspended();
        let used: HashSet<DatasetId> = self.live.values().map(|s| s.dataset).collect();
        residency.evict_unused(|id| used.contains(&id));
        gauges.sessions = self.live.len();
        gauges.layouts_waiting = self.turns.len();
        gauges
    }

    /// Closes every session and answers the callers that wait for one.
    pub(crate) fn stop(&mut self, scheduler: &Scheduler) {
        let ids: Vec<SessionId> = self.live.keys().cloned().collect();
        for id in ids {
            self.close(&id, ClosedReason::Shutdown, scheduler);
        }
        for waiter in self.suspend_waiters.drain(..) {
            waiter.send(Err(EngineError::Stopped));
        }
    }
}
