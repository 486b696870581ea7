//! Checkpoints of sessions: positions on their way to the disk and back. The copy is made by the worker that has
//! the layout, the file by a thread of its own; the loop hands one to the other and never touches a position.

use std::time::Instant;

use graphlume_types::{DatasetId, Reservation, SessionId};

use crate::checkpoint::{Checkpoint, CheckpointMetadata, CheckpointStore};
use crate::error::EngineError;
use crate::reply::Reply;
use crate::residency::{Lease, Need, Residency};
use crate::scheduler::Scheduler;
use crate::session::checkpointing::{LayoutStart, READING, Restore};
use crate::session::layout::Layout;
use crate::session::machine::VizSession;
use crate::session::state::{GraphState, Remaining, Run};
use crate::session::{SessionEvent, Sessions};
use crate::workers::Job;

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
