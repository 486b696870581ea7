//! The state machine of one session. It knows neither threads nor the store: the loop tells it what
//! happened and when, and asks it what it wants.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use bytes::Bytes;
use graphlume_types::{CancelReason, CancelToken, DatasetId, SessionId};

use crate::context::EngineContext;
use crate::error::{ClosedReason, EngineError};
use crate::frames::{FrameFlags, SceneFrames};
use crate::layout_settings::{LayoutSettings, play_iterations};
use crate::messages::{Backend, Phase, SessionState};
use crate::reply::Reply;
use crate::residency::Lease;
use crate::session::broadcast::SessionBroadcast;
use crate::session::checkpointing::{Checkpointing, LayoutStart, STOPPED};
use crate::session::collection_state::SessionCollections;
use crate::session::layout::Layout;
use crate::session::placement::{Placed, Placement};
use crate::session::slice::{PinChange, SliceReport};
use crate::session::state::{GraphState, Remaining, Run};

/// Counters in the state message change at most this often.
const STATE_INTERVAL: Duration = Duration::from_millis(500);

/// A session.
pub(crate) struct VizSession {
    pub(crate) id: SessionId,
    pub(crate) dataset: DatasetId,
    pub(crate) broadcast: Arc<SessionBroadcast>,
    pub(super) settings: LayoutSettings,
    pub(super) run: Run,
    pub(super) graph: GraphState,
    pub(crate) lease: Option<Lease>,
    /// None while a worker has it, and before the graph is there.
    pub(super) layout: Option<Box<Layout>>,
    /// Grows when a layout that is away has become worthless.
    pub(super) generation: u64,
    /// Stops the slice that is away.
    pub(super) cancel: CancelToken,
    pub(super) away: bool,
    pub(super) queued: bool,
    pub(super) pin_changes: Vec<PinChange>,
    /// Where the next slice moves the nodes.
    pub(super) placement: Option<Arc<Placement>>,
    pub(super) placed: Placed,
    pub(super) key_wanted: bool,
    /// The layout has been quick enough and rests until then.
    pub(super) rest_until: Option<Instant>,
    pub(super) exact_waiters: Vec<Reply<Bytes>>,
    pub(super) collections: SessionCollections,
    pub(super) checkpoints: Checkpointing,
    pub(crate) iterations: u64,
    /// Whether a layout has moved the nodes from where the data has them.
    pub(crate) is_displaced: bool,
    seq: u32,
    pub(super) settle_after: u64,
    rate: f64,
    unwatched_since: Option<Instant>,
    detail: String,
    backend: (Backend, String),
    viewers_shown: usize,
    dirty: bool,
    state_at: Instant,
    /// After a lack of memory, the graph is not taken again before this.
    pub(super) retry_at: Option<Instant>,
}

impl VizSession {
    pub(crate) fn new(
        id: SessionId,
        dataset: DatasetId,
        settings: LayoutSettings,
        checkpoints: Checkpointing,
        now: Instant,
    ) -> Self {
        let graph = GraphState::Loading("waiting for a loader");
        let state = SessionState {
            state: Phase::Loading,
            detail: "waiting for a loader".to_owned(),
            iterations: 0,
            iterations_per_s: 0.0,
            playing: settings.play > 0,
            viewers: 0,
            backend: Backend::Cpu,
            backend_reason: String::new(),
            placed_by: String::new(),
            placements: 0,
            displaced: false,
            depths: 0,
            settings,
        };
        let mut session = Self {
            broadcast: SessionBroadcast::new(id.clone(), dataset, state),
            id,
            dataset,
            settings,
            run: Run::Settled,
            graph,
            lease: None,
            layout: None,
            generation: 0,
            cancel: CancelToken::new(),
            away: false,
            queued: false,
            pin_changes: Vec::new(),
            placement: None,
            placed: Placed::default(),
            key_wanted: false,
            rest_until: None,
            exact_waiters: Vec::new(),
            collections: SessionCollections::default(),
            checkpoints,
            iterations: 0,
            is_displaced: false,
            seq: 0,
            settle_after: 0,
            rate: 0.0,
            unwatched_since: Some(now),
            detail: String::new(),
            backend: (Backend::Cpu, String::new()),
            viewers_shown: 0,
            dirty: false,
            state_at: now,
            retry_at: None,
        };
        session.run = session.run_at_first();
        session
    }

    /// The state before anything has moved: the play time begins with the first viewer.
    fn run_at_first(&self) -> Run {
        match self.settings.play {
            0 => Run::Settled,
            ms => Run::Paused { auto: true, left: Some(Remaining::Play(ms)) },
        }
    }

    pub(crate) fn viewers(&self) -> usize {
        self.broadcast.viewers.load(Ordering::SeqCst)
    }

    pub(crate) fn is_watched(&self) -> bool {
        self.broadcast.watching.load(Ordering::SeqCst) > 0
    }

    pub(crate) const fn is_running(&self) -> bool {
        matches!(self.run, Run::Running { .. })
    }

    /// How long there has been no viewer; zero while there is one.
    pub(crate) fn unwatched_for(&self, now: Instant) -> Duration {
        self.unwatched_since.map_or(Duration::ZERO, |at| now.saturating_duration_since(at))
    }

    /// Iterations that the layout may still do; none for as many as it takes.
    pub(crate) const fn iterations_left(&self) -> Option<u64> {
        match self.run {
            Run::Running { left } => left,
            _ => None,
        }
    }

    /// The flags of a frame made now.
    pub(crate) fn frame_flags(&self) -> FrameFlags {
        FrameFlags { running: self.is_running(), settled: self.run == Run::Settled }
    }

    /// Whether a worker could do something for the session.
    pub(crate) fn wants_slice(&self) -> bool {
        self.layout.is_some()
            && self.lease.is_some()
            && ((self.is_running() && self.rest_until.is_none())
                || self.key_wanted
                || self.checkpoints.wants_slice()
                || !self.pin_changes.is_empty()
                || self.placement.is_some()
                || !self.exact_waiters.is_empty())
    }

    /// The graph is there: a new layout begins, or the kept one goes on.
    pub(crate) fn graph_ready(
        &mut self,
        lease: Lease,
        scene: Arc<SceneFrames>,
        start: LayoutStart,
        now: Instant,
    ) {
        self.broadcast.set_graph(lease.facts.clone(), scene);
        self.retry_at = None;
        self.detail.clear();
        self.key_wanted |= !matches!(start, LayoutStart::Continued);
        match start {
            LayoutStart::Continued => {}
            LayoutStart::Fresh if lease.facts.is_arranged() && !self.settings.play_is_set => {
                self.run = Run::Settled;
            }
            LayoutStart::Fresh => self.run = self.run_at_first(),
            LayoutStart::Restored(run) => {
                self.run = run;
                match run {
                    Run::Settled => {}
                    Run::Stopped => self.detail = self.still_moving(),
                    _ => STOPPED.clone_into(&mut self.detail),
                }
            }
        }
        self.lease = Some(lease);
        self.graph = GraphState::Ready;
        self.publish(now);
    }

    /// A new layout for the graph just taken.
    pub(crate) fn take_layout(&mut self, layout: Box<Layout>, now: Instant) {
        self.iterations = layout.iterations();
        self.is_displaced = layout.is_displaced();
        self.checkpoints.begin(now);
        self.settle_after = 0;
        self.layout = Some(layout);
    }

    /// The last frame number used, for the next layout of the same session.
    pub(crate) fn last_seq(&self) -> u32 {
        self.layout.as_ref().map_or(self.seq, |l| l.seq().max(self.seq))
    }

    /// The graph is unavailable for the moment.
    pub(crate) fn graph_missing(&mut self, state: GraphState, now: Instant) {
        if !matches!(state, GraphState::Loading(_)) {
            for waiter in self.exact_waiters.drain(..) {
                waiter.send(Err(EngineError::NotLoaded(self.id.clone())));
            }
        }
        if self.graph != state {
            self.graph = state;
            self.publish(now);
        }
    }

    /// The element set is another one now: everything begins again.
    pub(crate) fn reset(&mut self, now: Instant) {
        self.seq = self.last_seq();
        self.abandon_slice(CancelReason::Superseded);
        self.layout = None;
        self.lease = None;
        self.pin_changes.clear();
        (self.placement, self.placed) = (None, Placed::default());
        self.collections.release();
        self.checkpoints.reset();
        for waiter in self.exact_waiters.drain(..) {
            waiter.send(Err(EngineError::NotLoaded(self.id.clone())));
        }
        self.broadcast.clear();
        self.run = self.run_at_first();
        self.graph = GraphState::Loading("waiting for a loader");
        self.publish(now);
    }

    /// What a slice that is away brings back is not wanted any more.
    fn abandon_slice(&mut self, reason: CancelReason) {
        self.generation += 1;
        self.cancel.cancel(reason);
        self.cancel = CancelToken::new();
        self.away = false;
    }

    /// Gives the graph back and keeps the positions.
    pub(crate) fn release(&mut self) -> bool {
        if self.away || self.is_running() || self.lease.is_none() {
            return false;
        }
        if self.layout.is_some() && self.checkpoints.is_behind() {
            // The next slice makes the copy that is missing.
            return false;
        }
        if let Some(layout) = &mut self.layout {
            layout.rest();
        }
        self.lease = None;
        self.collections.release();
        self.graph = GraphState::Released;
        true
    }

    /// Ends the session.
    pub(crate) fn close(&mut self, reason: ClosedReason) {
        self.abandon_slice(CancelReason::Superseded);
        for waiter in self.exact_waiters.drain(..) {
            waiter.send(Err(EngineError::SessionClosed { session: self.id.clone(), reason }));
        }
        self.broadcast.close(reason);
    }

    pub(super) fn start(&mut self, left: Option<Remaining>, now: Instant) {
        self.run = Run::Running { left: left.map(|left| self.iterations_of(left)) };
        self.detail.clear();
        self.publish(now);
    }

    /// What is left, as iterations of the graph that is there.
    pub(super) fn iterations_of(&self, left: Remaining) -> u64 {
        match (left, self.broadcast.graph()) {
            (Remaining::Iterations(n), _) => n,
            (Remaining::Play(ms), Some(g)) => play_iterations(ms, g.node_count, g.edge_count),
            (Remaining::Play(ms), None) => play_iterations(ms, 0, 0),
        }
    }

    /// Stops moving; one last key frame says so to the page.
    pub(super) fn stop(&mut self, run: Run, detail: &str, now: Instant) {
        self.run = run;
        self.rate = 0.0;
        self.key_wanted = true;
        self.checkpoints.note_change(true);
        detail.clone_into(&mut self.detail);
        self.publish(now);
    }

    /// The layout has to stop, for lack of memory or because the server does.
    pub(crate) fn cannot_run(&mut self, why: &str, now: Instant) {
        if let Run::Running { left } = self.run {
            self.stop(Run::Paused { auto: false, left: left.map(Remaining::Iterations) }, why, now);
        }
    }

    /// Time has passed and viewers may have come or gone. Returns whether the graph is wanted and not
    /// there.
    pub(crate) fn tick(&mut self, now: Instant, pause_after: Duration) -> bool {
        self.checkpoints.tick(now);
        if self.rest_until.is_some_and(|until| now >= until) {
            self.rest_until = None;
        }
        if self.is_watched() {
            self.unwatched_since = None;
            if let Run::Paused { auto: true, left } = self.run
                && self.graph == GraphState::Ready
            {
                self.start(left, now);
            }
        } else {
            self.unwatched_since.get_or_insert(now);
        }
        if let Run::Running { left } = self.run
            && self.unwatched_for(now) >= pause_after
        {
            let left = left.map(Remaining::Iterations);
            self.stop(Run::Paused { auto: true, left }, "nobody is watching", now);
        }
        if self.viewers_shown != self.viewers() {
            self.dirty = true;
        }
        if self.dirty && now.saturating_duration_since(self.state_at) >= STATE_INTERVAL {
            self.publish(now);
        }
        self.is_watched() && self.graph != GraphState::Ready
    }

    /// A slice has come back.
    pub(crate) fn slice_done(&mut self, layout: Box<Layout>, report: SliceReport, now: Instant) {
        self.away = false;
        self.iterations = layout.iterations();
        if std::mem::replace(&mut self.is_displaced, layout.is_displaced()) != self.is_displaced {
            self.publish(now);
        }
        self.layout = Some(layout);
        if let Some(frame) = report.frame {
            self.broadcast.set_frame(frame);
        }
        if let Some(bytes) = report.exact {
            for waiter in self.exact_waiters.drain(..) {
                waiter.send(Ok(bytes.clone()));
            }
        }
        if let Some((positions, pins)) = report.copy {
            let checkpoint = self.checkpoint(positions, pins);
            self.checkpoints.take_copy(checkpoint, now);
        } else if report.iterations > 0 || report.moved_by_viewers {
            self.checkpoints.note_change(false);
        }
        if report.iterations > 0 {
            self.dirty = true;
            let secs = report.took.as_secs_f64().max(1e-6);
            #[expect(clippy::cast_precision_loss, reason = "a rate for display")]
            let rate = report.iterations as f64 / secs;
            self.rate = if self.rate > 0.0 { self.rate * 0.8 + rate * 0.2 } else { rate };
        }
        let Run::Running { left } = self.run else { return };
        let left = left.map(|left| left.saturating_sub(report.iterations));
        self.run = Run::Running { left };
        if report.converged && self.iterations >= self.settle_after {
            self.stop(Run::Settled, "", now);
        } else if left == Some(0) {
            let why = self.still_moving();
            self.stop(Run::Stopped, &why, now);
        }
    }

    /// What a viewer is told of a layout that has done its iterations.
    fn still_moving(&self) -> String {
        format!("stopped after {} iterations, still moving", self.iterations)
    }

    /// Shows what computes the layout that is here, and why not the GPU.
    pub(crate) fn show_backend(&mut self, ctx: &EngineContext, now: Instant) {
        let edges = self.lease.as_ref().map_or(0, |lease| lease.facts.edge_count);
        let Some(backend) = self.layout.as_ref().map(|layout| layout.backend(ctx, edges)) else {
            return;
        };
        if self.backend != backend {
            self.backend = backend;
            self.publish(now);
        }
    }

    /// The GPU was lost: a layout that is here goes on from its last positions, on the CPU.
    pub(crate) fn leave_device(&mut self, why: &str, ctx: &EngineContext, now: Instant) {
        if let Some(layout) = &mut self.layout {
            layout.leave_device(why);
            self.show_backend(ctx, now);
        }
    }

    /// Whether the session wants its graph and has none.
    pub(crate) fn waits_for_graph(&self) -> bool {
        self.lease.is_none() && self.graph != GraphState::Released
    }

    /// Bytes that the forces of the layout need and do not have although it is to move.
    pub(crate) fn forces_wanted(&self) -> Option<u64> {
        let (lease, layout) = (self.lease.as_ref()?, self.layout.as_ref()?);
        let facts = &lease.facts;
        (self.is_running() && layout.needs_forces())
            .then(|| Layout::forces_footprint(facts.node_count, facts.edge_count))
    }

    /// The slice was lost with its layout, or its layout cannot go on.
    pub(crate) fn slice_failed(&mut self, error: &EngineError, now: Instant) {
        self.away = false;
        for waiter in self.exact_waiters.drain(..) {
            waiter.send(Err(error.clone()));
        }
        self.stop(Run::Paused { auto: false, left: None }, &error.to_string(), now);
        if self.layout.is_none() {
            // The positions are lost; the next viewer begins anew.
            self.key_wanted = false;
            self.lease = None;
            let detail = error.to_string();
            self.graph_missing(GraphState::Failed { detail, transient: false }, now);
        }
    }

    fn shown(&self) -> (Phase, String) {
        match &self.graph {
            GraphState::Loading(stage) => (Phase::Loading, (*stage).to_owned()),
            GraphState::Waiting(detail) => (Phase::Waiting, detail.clone()),
            GraphState::Failed { detail, .. } => (Phase::Failed, detail.clone()),
            GraphState::Ready | GraphState::Released => {
                let phase = match self.run {
                    Run::Running { .. } => Phase::Running,
                    Run::Paused { .. } => Phase::Paused,
                    Run::Stopped => Phase::Stopped,
                    Run::Settled => Phase::Settled,
                };
                (phase, self.detail.clone())
            }
        }
    }

    /// The state at this moment; viewers may have been shown an older one.
    pub(crate) fn state_now(&self) -> SessionState {
        let (state, detail) = self.shown();
        SessionState {
            state,
            detail,
            iterations: self.iterations,
            iterations_per_s: (self.rate * 10.0).round() / 10.0,
            playing: matches!(self.run, Run::Running { .. } | Run::Paused { auto: true, .. }),
            viewers: self.viewers(),
            backend: self.backend.0,
            backend_reason: self.backend.1.clone(),
            placed_by: self.placed.by.clone(),
            placements: self.placed.count,
            displaced: self.is_displaced,
            depths: self.depths_version(),
            settings: self.settings,
        }
    }

    /// Shows the present state to the viewers.
    pub(crate) fn publish(&mut self, now: Instant) {
        let state = self.state_now();
        self.viewers_shown = state.viewers;
        self.dirty = false;
        self.state_at = now;
        self.broadcast.set_state(state);
    }
}
