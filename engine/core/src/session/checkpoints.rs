//! Checkpoints of sessions: positions on their way to the disk and back. The copy is made by the worker that has
//! the layout, the file by a thread of its own; the loop hands one to the other and never touches a position.

use std::time::{Duration, Instant};

use graphlume_types::{DatasetId, Reservation, SessionId, limits};

use crate::checkpoint::{Checkpoint, CheckpointMetadata, CheckpointStore};
use crate::error::EngineError;
use crate::reply::Reply;
use crate::residency::{Lease, Need, Residency};
use crate::scheduler::Scheduler;
use crate::session::layout::Layout;
use crate::session::machine::VizSession;
use crate::session::state::{GraphState, Remaining, Run};
use crate::session::{SessionEvent, Sessions};
use crate::workers::Job;

/// How old the positions on the disk may become while the layout moves.
const CHECKPOINT_EVERY: Duration = Duration::from_millis(limits::POSITIONS_KEEP_MILLIS);

/// What a viewer is told of a layout that was stopped by a restart.
pub(crate) const STOPPED: &str = "the layout was stopped with the server; resume it to go on";

/// What a session says while positions of an earlier run are read.
const READING: &str = "reading the positions";

/// Whether a checkpoint of an earlier run has been looked for.
enum Restore {
    NotStarted,
    Reading,
    /// Positions that were kept are not of the graph before its layout: they are looked for again when that has ended, and none
    /// are written until then.
    AfterLayout,
    Done,
}

/// How far one session's positions are written down.
pub(crate) struct Checkpointing {
    /// Whether checkpoints are written at all.
    is_on: bool,
    restore: Restore,
    /// The checkpoint that was read, and the memory for the layout that it becomes.
    restored: Option<(Checkpoint, Reservation)>,
    /// Something is different from what was copied last.
    changed: bool,
    /// The layout has come to a stop: what it has now is worth a copy at once.
    urgent: bool,
    copied_at: Option<Instant>,
    /// The next slice has to make a copy.
    wanted: bool,
    /// A copy that waits for the thread that writes.
    ready: Option<Checkpoint>,
    /// A copy is being written. One at a time.
    writing: bool,
}

impl Checkpointing {
    pub(crate) fn new(is_on: bool) -> Self {
        Self {
            is_on,
            restore: if is_on { Restore::NotStarted } else { Restore::Done },
            restored: None,
            changed: false,
            urgent: false,
            copied_at: None,
            wanted: false,
            ready: None,
            writing: false,
        }
    }

    /// A layout begins now; the first copy of it is made some time later.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.copied_at = Some(now);
        (self.changed, self.urgent, self.wanted) = (false, false, false);
        self.ready = None;
    }

    /// The graph is another one now: what was kept is worthless.
    pub(crate) fn reset(&mut self) {
        self.restore = match self.restore {
            Restore::AfterLayout => Restore::NotStarted,
            _ => Restore::Done,
        };
        (self.changed, self.urgent, self.wanted) = (false, false, false);
        (self.restored, self.ready) = (None, None);
    }

    /// The layout that the dataset names has placed no nodes, and will not.
    pub(super) fn layout_ended(&mut self) {
        if matches!(self.restore, Restore::AfterLayout) {
            self.restore = Restore::Done;
        }
    }

    /// Whether positions are worth keeping.
    const fn writes(&self) -> bool {
        self.is_on && !matches!(self.restore, Restore::AfterLayout)
    }

    /// The positions or what belongs to them are different now; `urgent` when they stay so.
    pub(crate) fn note_change(&mut self, urgent: bool) {
        self.changed |= self.writes();
        self.urgent |= self.writes() && urgent;
    }

    /// Whether a copy is to be made now.
    fn is_due(&self, now: Instant) -> bool {
        let is_old = || {
            self.copied_at.is_none_or(|at| now.saturating_duration_since(at) >= CHECKPOINT_EVERY)
        };
        self.changed && self.ready.is_none() && !self.writing && (self.urgent || is_old())
    }

    /// Time has passed.
    pub(crate) fn tick(&mut self, now: Instant) {
        self.wanted = self.is_due(now);
    }

    pub(crate) const fn wants_slice(&self) -> bool {
        self.wanted
    }

    /// Whether a slice that begins now makes a copy.
    pub(crate) fn takes_copy(&mut self, now: Instant) -> bool {
        self.wanted = false;
        self.is_due(now)
    }

    /// A slice has brought a copy of everything up to now.
    pub(crate) fn take_copy(&mut self, checkpoint: Checkpoint, now: Instant) {
        self.copied_at = Some(now);
        (self.changed, self.urgent) = (false, false);
        self.ready = Some(checkpoint);
    }

    /// Whether positions would be lost if the layout went away now.
    pub(crate) const fn is_behind(&self) -> bool {
        self.changed || self.ready.is_some()
    }

    pub(crate) fn written(&mut self) {
        self.writing = false;
    }
}

/// How a session's layout comes to be.
pub(crate) enum LayoutStart {
    /// It was there all the time.
    Continued,
    /// From the start placement.
    Fresh,
    /// From the positions of an earlier run.
    Restored(Run),
}

/// How a layout of an earlier run goes on: not by itself.
fn run_of(checkpoint: &Checkpoint) -> Run {
    if checkpoint.metadata.settled {
        return Run::Settled;
    }
    if checkpoint.metadata.stopped {
        return Run::Stopped;
    }
    let metadata = &checkpoint.metadata;
    let left = metadata.left_iterations.map(Remaining::Iterations);
    Run::Paused { auto: false, left: left.or(metadata.left_millis.map(Remaining::Play)) }
}

impl VizSession {
    /// The last copy before the server stops is made of a layout that stands still.
    pub(crate) fn suspend(&mut self, now: Instant) {
        match self.run {
            Run::Running { .. } => self.cannot_run("the server is about to stop", now),
            Run::Paused { left, .. } => self.run = Run::Paused { auto: false, left },
            Run::Settled | Run::Stopped => {}
        }
        self.checkpoints.urgent = self.checkpoints.changed;
        self.checkpoints.tick(now);
    }

    /// What is written down of the session. The writer fills in the fingerprint of the graph.
    pub(super) fn checkpoint(&self, positions: Vec<[f32; 2]>, pins: Vec<u32>) -> Checkpoint {
        let left_iterations = match self.run {
            Run::Running { left } => left,
            Run::Paused { left, .. } => left.map(|left| self.iterations_of(left)),
            Run::Settled | Run::Stopped => None,
        };
        let metadata = CheckpointMetadata {
            settled: self.run == Run::Settled,
            stopped: self.run == Run::Stopped,
            left_iterations,
            left_millis: None,
            iterations: self.iterations,
            settings: self.settings,
            pins,
            placed_by: self.placed.by.clone(),
        };
        let depths = self.placed.depths.clone();
        Checkpoint { dataset: self.dataset, fingerprint: 0, metadata, positions, depths }
    }

    /// Whether positions are still on their way to the disk.
    fn is_unsaved(&self) -> bool {
        let k = &self.checkpoints;
        let can_copy = self.away || (self.layout.is_some() && self.lease.is_some());
        k.writing
            || (k.ready.is_some() && self.lease.is_some())
            || ((k.changed || !self.pin_changes.is_empty() || self.placement.is_some()) && can_copy)
    }
}

/// Whether the coordinates can be those of the graph.
fn fits(checkpoint: &Checkpoint, lease: &Lease) -> bool {
    let nodes = lease.facts.node_count as usize;
    checkpoint.dataset == lease.dataset
        && checkpoint.positions.len() == nodes
        && checkpoint.depths.as_ref().is_none_or(|z| z.len() == nodes)
}

impl Sessions {
    /// Has the session's copy written, as soon as the one before is.
    pub(super) fn write_checkpoint(&mut self, id: &SessionId, scheduler: &Scheduler) {
        let writers = &scheduler.pools().checkpoint_writers;
        let (Ok(()), Some(store)) = (writers.check_room(), self.checkpoint_store.clone()) else {
            return;
        };
        let Some(session) = self.live.get_mut(id).filter(|s| !s.checkpoints.writing) else {
            return;
        };
        let Some(lease) = session.lease.clone() else { return };
        let Some(mut checkpoint) = session.checkpoints.ready.take() else { return };
        session.checkpoints.writing = true;
        let id = id.clone();
        let report = self.reports.once(SessionEvent::CheckpointWritten { session: id.clone() });
        let run = move || {
            checkpoint.fingerprint = lease.fingerprint();
            drop(lease);
            store.write(&id, &checkpoint);
            drop(checkpoint);
            report.send(SessionEvent::CheckpointWritten { session: id });
        };
        let _ = writers.submit(Job::new("writing a checkpoint", run));
    }

    pub(super) fn on_checkpoint_written(&mut self, id: &SessionId) {
        if let Some(session) = self.live.get_mut(id) {
            session.checkpoints.written();
        }
        self.tick_due = true;
    }

    /// Removes checkpoints, after whatever is still to be written.
    fn discard(
        &self,
        scheduler: &Scheduler,
        forget: impl FnOnce(&dyn CheckpointStore) + Send + 'static,
    ) {
        let Some(store) = self.checkpoint_store.clone() else { return };
        let job = Job::new("removing checkpoints", move || forget(store.as_ref()));
        if scheduler.pools().checkpoint_writers.submit(job).is_err() {
            tracing::warn!("positions of a session that has ended stay until the next sweep");
        }
    }

    pub(super) fn discard_session_checkpoint(
        &self,
        session: &SessionId,
        dataset: DatasetId,
        scheduler: &Scheduler,
    ) {
        let session = session.clone();
        self.discard(scheduler, move |store| store.forget_session(&session, dataset));
    }

    /// The dataset is gone, or has other data now.
    pub(crate) fn discard_dataset_checkpoints(&self, dataset: DatasetId, scheduler: &Scheduler) {
        self.discard(scheduler, move |store| store.forget_dataset(dataset));
    }

    /// How the layout begins; `None` when there was no memory for one, or while the checkpoint of an
    /// earlier run is looked for.
    pub(super) fn new_layout(
        &mut self,
        id: &SessionId,
        lease: &Lease,
        residency: &mut Residency,
        scheduler: &Scheduler,
    ) -> Option<LayoutStart> {
        let found = self.live.get_mut(id)?.checkpoints.restored.take();
        let (checkpoint, held) = match found.filter(|(checkpoint, _)| fits(checkpoint, lease)) {
            Some((checkpoint, held)) => (Some(checkpoint), held),
            None => {
                let held = self.reserve_layout(id, lease, residency)?;
                (None, self.read_checkpoint(id, lease, held, scheduler)?)
            }
        };
        let now = self.ctx.now();
        let session = self.live.get_mut(id)?;
        let start = match &checkpoint {
            Some(checkpoint) => {
                session.settings = checkpoint.metadata.settings;
                session.placed.by.clone_from(&checkpoint.metadata.placed_by);
                session.placed.depths.clone_from(&checkpoint.depths);
                LayoutStart::Restored(run_of(checkpoint))
            }
            None => LayoutStart::Fresh,
        };
        let layout = Layout::new(lease, session.last_seq(), held, checkpoint);
        session.take_layout(Box::new(layout), now);
        Some(start)
    }

    fn reserve_layout(
        &mut self,
        id: &SessionId,
        lease: &Lease,
        residency: &mut Residency,
    ) -> Option<Reservation> {
        let held = self.reserve(Layout::footprint(lease.facts.node_count), residency);
        let now = self.ctx.now();
        let session = self.live.get_mut(id)?;
        held.map_err(|refused| {
            session.retry_at = Some(now + self.ctx.config.load_retry);
            let detail = EngineError::from(refused).to_string();
            let transient = !refused.never_fits();
            session.graph_missing(GraphState::Failed { detail, transient }, now);
        })
        .ok()
    }

    /// Has the checkpoint of an earlier run looked for, once; [`Sessions::on_checkpoint_read`] goes on. `held`
    /// is the memory of the layout and comes back when there is nothing to look for.
    fn read_checkpoint(
        &mut self,
        id: &SessionId,
        lease: &Lease,
        held: Reservation,
        scheduler: &Scheduler,
    ) -> Option<Reservation> {
        let now = self.ctx.now();
        let readers = &scheduler.pools().checkpoint_readers;
        let session = self.live.get_mut(id)?;
        let store = match (&session.checkpoints.restore, self.checkpoint_store.clone()) {
            (Restore::Done | Restore::AfterLayout, _) => return Some(held),
            (Restore::NotStarted, Some(store)) => store,
            (Restore::Reading | Restore::NotStarted, _) => {
                session.graph_missing(GraphState::Loading(READING), now);
                return None;
            }
        };
        if readers.check_room().is_err() {
            session.checkpoints.restore = Restore::Done;
            return Some(held);
        }
        session.graph_missing(GraphState::Loading(READING), now);
        session.checkpoints.restore = Restore::Reading;
        let (lease, id) = (lease.clone(), id.clone());
        let lost = SessionEvent::CheckpointRead { session: id.clone(), found: None };
        let report = self.reports.once(lost);
        let run = move || {
            let (dataset, nodes) = (lease.dataset, lease.facts.node_count);
            let found = store.read(&id, dataset, nodes).filter(|s| {
                let is_same = fits(s, &lease) && s.fingerprint == lease.fingerprint();
                if !is_same {
                    tracing::warn!(
                        session = %id, %dataset,
                        "kept positions belong to other data; the layout starts anew"
                    );
                }
                is_same
            });
            drop(lease);
            let found = found.map(|checkpoint| (Box::new(checkpoint), held));
            report.send(SessionEvent::CheckpointRead { session: id, found });
        };
        let _ = readers.submit(Job::new("reading a checkpoint", run));
        None
    }

    pub(super) fn on_checkpoint_read(
        &mut self,
        id: &SessionId,
        found: Option<(Box<Checkpoint>, Reservation)>,
        residency: &mut Residency,
        scheduler: &Scheduler,
    ) {
        let Some(session) = self.live.get_mut(id) else { return };
        if matches!(session.checkpoints.restore, Restore::Reading) {
            let awaits = residency.awaits_layout(session.dataset) && found.is_none();
            session.checkpoints.restore = if awaits { Restore::AfterLayout } else { Restore::Done };
            session.checkpoints.restored = found.map(|(checkpoint, held)| (*checkpoint, held));
            self.request_graph(id, Need::PICTURE, residency, scheduler);
        }
    }

    /// Stops every layout for good and answers when all positions are written down. What viewers say from
    /// now on would move nodes behind the last copy: it is refused.
    pub(crate) fn suspend(&mut self, reply: Reply<()>) {
        self.suspended = true;
        let now = self.ctx.now();
        for session in self.live.values_mut() {
            session.suspend(now);
            self.turns.push(session);
        }
        self.suspend_waiters.push(reply);
        self.tick_due = true;
    }

    /// Answers who waits for positions to be written, once they are.
    pub(super) fn answer_suspended(&mut self) {
        if !self.suspend_waiters.is_empty() && !self.live.values().any(VizSession::is_unsaved) {
            for waiter in self.suspend_waiters.drain(..) {
                waiter.send(Ok(()));
            }
        }
    }
}
