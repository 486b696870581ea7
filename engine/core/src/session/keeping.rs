//! Positions on their way to the disk and back. The copy is made by the worker that has the layout, the
//! file by a thread of its own; the loop hands one to the other and never touches a position.

use std::time::{Duration, Instant};

use graphlume_types::{DatasetId, Reservation, SessionId, limits};

use crate::core::Core;
use crate::error::EngineError;
use crate::event::Event;
use crate::keeper::{Keeper, Snapshot, SnapshotNotes};
use crate::reply::Reply;
use crate::session::layout::Layout;
use crate::session::machine::{GraphState, Left, Run, VizSession};
use crate::store::Lease;
use crate::workers::Job;

/// How old the positions on the disk may become while the layout moves.
const KEEP_EVERY: Duration = Duration::from_millis(limits::POSITIONS_KEEP_MILLIS);

/// What a viewer is told of a layout that was stopped by a restart.
pub(crate) const STOPPED: &str = "the layout was stopped with the server; resume it to go on";

/// What a session says while positions of an earlier run are read.
const RESTORING: &str = "reading the positions";

/// Whether positions of an earlier run have been looked for.
enum Found {
    NotYet,
    Looking,
    Done,
}

/// How far one session's positions are written down.
pub(crate) struct Keeping {
    /// Whether positions are kept at all.
    is_on: bool,
    found: Found,
    /// What was found, and the memory for the layout that it becomes.
    restored: Option<(Snapshot, Reservation)>,
    /// Something is different from what was copied last.
    changed: bool,
    /// The layout has come to a stop: what it has now is worth a copy at once.
    urgent: bool,
    copied_at: Option<Instant>,
    /// The next slice has to make a copy.
    wanted: bool,
    /// A copy that waits for the thread that writes.
    ready: Option<Snapshot>,
    /// A copy is being written. One at a time.
    writing: bool,
}

impl Keeping {
    pub(crate) fn new(is_on: bool) -> Self {
        Self {
            is_on,
            found: if is_on { Found::NotYet } else { Found::Done },
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
        self.found = Found::Done;
        (self.changed, self.urgent, self.wanted) = (false, false, false);
        (self.restored, self.ready) = (None, None);
    }

    /// The positions or what belongs to them are different now; `urgent` when they stay so.
    pub(crate) fn note_change(&mut self, urgent: bool) {
        self.changed |= self.is_on;
        self.urgent |= self.is_on && urgent;
    }

    /// Whether a copy is to be made now.
    fn is_due(&self, now: Instant) -> bool {
        let is_old =
            || self.copied_at.is_none_or(|at| now.saturating_duration_since(at) >= KEEP_EVERY);
        self.changed && self.ready.is_none() && !self.writing && (self.urgent || is_old())
    }

    /// Time has passed.
    pub(crate) fn poll(&mut self, now: Instant) {
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
    pub(crate) fn take_copy(&mut self, snapshot: Snapshot, now: Instant) {
        self.copied_at = Some(now);
        (self.changed, self.urgent) = (false, false);
        self.ready = Some(snapshot);
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
pub(crate) enum Begin {
    /// It was there all the time.
    Kept,
    /// From the start placement.
    Fresh,
    /// From the positions of an earlier run.
    Restored(Run),
}

/// How a layout of an earlier run goes on: not by itself.
fn run_of(snapshot: &Snapshot) -> Run {
    if snapshot.notes.settled {
        return Run::Settled;
    }
    if snapshot.notes.stopped {
        return Run::Stopped;
    }
    let notes = &snapshot.notes;
    let left = notes.left_iterations.map(Left::Iterations);
    Run::Paused { auto: false, left: left.or(notes.left_millis.map(Left::Play)) }
}

impl VizSession {
    /// The last copy before the server stops is made of a layout that stands still.
    pub(crate) fn suspend(&mut self, now: Instant) {
        match self.run {
            Run::Running { .. } => self.cannot_run("the server is about to stop", now),
            Run::Paused { left, .. } => self.run = Run::Paused { auto: false, left },
            Run::Settled | Run::Stopped => {}
        }
        self.keeping.urgent = self.keeping.changed;
        self.keeping.poll(now);
    }

    /// What is written down of the session. Whoever writes it knows the graph.
    pub(super) fn snapshot(&self, positions: Vec<[f32; 2]>, pins: Vec<u32>) -> Snapshot {
        let left_iterations = match self.run {
            Run::Running { left } => left,
            Run::Paused { left, .. } => left.map(|left| self.iterations_of(left)),
            Run::Settled | Run::Stopped => None,
        };
        let notes = SnapshotNotes {
            settled: self.run == Run::Settled,
            stopped: self.run == Run::Stopped,
            left_iterations,
            left_millis: None,
            iterations: self.iterations,
            settings: self.settings,
            pins,
        };
        Snapshot { dataset: self.dataset, fingerprint: 0, notes, positions }
    }

    /// Whether positions are still on their way to the disk.
    fn is_unsaved(&self) -> bool {
        let k = &self.keeping;
        let can_copy = self.away || (self.layout.is_some() && self.lease.is_some());
        k.writing
            || (k.ready.is_some() && self.lease.is_some())
            || ((k.changed || !self.pokes.is_empty()) && can_copy)
    }
}

impl Core {
    /// Has the session's copy written, as soon as the one before is.
    pub(crate) fn send_copy(&mut self, id: &SessionId) {
        if self.crews.keepers.check_room().is_err() {
            return;
        }
        let Some(keeper) = self.keeper.clone() else { return };
        let Some(session) = self.sessions.get_mut(id).filter(|s| !s.keeping.writing) else {
            return;
        };
        let Some(lease) = session.lease.clone() else { return };
        let Some(mut snapshot) = session.keeping.ready.take() else { return };
        session.keeping.writing = true;
        let (id, lost) = (id.clone(), id.clone());
        let run = move || {
            snapshot.fingerprint = lease.fingerprint();
            drop(lease);
            keeper.keep(&id, &snapshot);
            Some(Event::Kept { session: id })
        };
        let lost = move || Event::Kept { session: lost };
        let job = Job { what: "keeping positions", run: Box::new(run), lost: Some(Box::new(lost)) };
        let _ = self.crews.keepers.submit(job);
    }

    pub(crate) fn on_kept(&mut self, id: &SessionId) {
        if let Some(session) = self.sessions.get_mut(id) {
            session.keeping.written();
        }
        self.woken = true;
    }

    /// Lets the keeper forget, after whatever it is still to write.
    fn tell_keeper(&self, forget: impl FnOnce(&dyn Keeper) + Send + 'static) {
        let Some(keeper) = self.keeper.clone() else { return };
        let run = move || {
            forget(keeper.as_ref());
            None
        };
        let job = Job { what: "forgetting positions", run: Box::new(run), lost: None };
        if self.crews.keepers.submit(job).is_err() {
            tracing::warn!("positions of a session that has ended stay until the next sweep");
        }
    }

    pub(crate) fn forget_session_positions(&self, session: &SessionId, dataset: DatasetId) {
        let session = session.clone();
        self.tell_keeper(move |keeper| keeper.forget_session(&session, dataset));
    }

    pub(crate) fn forget_dataset_positions(&self, dataset: DatasetId) {
        self.tell_keeper(move |keeper| keeper.forget_dataset(dataset));
    }

    /// How the layout begins; `None` when there was no memory for one, or while the positions of an
    /// earlier run are looked for.
    pub(crate) fn new_layout(
        &mut self,
        id: &SessionId,
        lease: &Lease,
        now: Instant,
    ) -> Option<Begin> {
        let found = self.sessions.get_mut(id)?.keeping.restored.take();
        let (snapshot, held) = match found.filter(|(snapshot, _)| fits(snapshot, lease)) {
            Some((snapshot, held)) => (Some(snapshot), held),
            None => {
                let held = self.reserve_layout(id, lease, now)?;
                (None, self.look_for_positions(id, lease, held, now)?)
            }
        };
        let session = self.sessions.get_mut(id)?;
        let begin = snapshot.as_ref().map_or(Begin::Fresh, |s| Begin::Restored(run_of(s)));
        if let Some(snapshot) = &snapshot {
            session.settings = snapshot.notes.settings;
        }
        let layout = Layout::new(lease, session.last_seq(), held, snapshot);
        session.take_layout(Box::new(layout), now);
        Some(begin)
    }

    fn reserve_layout(
        &mut self,
        id: &SessionId,
        lease: &Lease,
        now: Instant,
    ) -> Option<Reservation> {
        let held = self.reserve(Layout::footprint(lease.facts.node_count));
        let retry = now + self.config.load_retry;
        let session = self.sessions.get_mut(id)?;
        match held {
            Ok(held) => Some(held),
            Err(refused) => {
                session.retry_at = Some(retry);
                let detail = EngineError::from(refused).to_string();
                let transient = !refused.never_fits();
                session.graph_missing(GraphState::Failed { detail, transient }, now);
                None
            }
        }
    }

    /// Has positions of an earlier run looked for, once; [`Core::on_restored`] goes on. `held` is the memory
    /// of the layout and comes back when there is nothing to look for.
    fn look_for_positions(
        &mut self,
        id: &SessionId,
        lease: &Lease,
        held: Reservation,
        now: Instant,
    ) -> Option<Reservation> {
        let session = self.sessions.get_mut(id)?;
        let wanted = match session.keeping.found {
            Found::Done => return Some(held),
            Found::Looking => None,
            Found::NotYet => Some(held),
        };
        let has_room = self.crews.restorers.check_room().is_ok();
        let (Some(held), Some(keeper)) = (wanted, self.keeper.clone()) else {
            session.graph_missing(GraphState::Loading(RESTORING), now);
            return None;
        };
        if !has_room {
            session.keeping.found = Found::Done;
            return Some(held);
        }
        session.graph_missing(GraphState::Loading(RESTORING), now);
        session.keeping.found = Found::Looking;
        let (lease, lost, id) = (lease.clone(), id.clone(), id.clone());
        let run = move || {
            let (dataset, nodes) = (lease.dataset, lease.facts.node_count);
            let found = keeper.kept(&id, dataset, nodes).filter(|s| {
                let is_same = fits(s, &lease) && s.fingerprint == lease.fingerprint();
                if !is_same {
                    tracing::warn!(
                        session = %id, %dataset,
                        "kept positions belong to other data; the layout starts anew"
                    );
                }
                is_same
            });
            Some(Event::Restored { session: id, found: found.map(|s| (Box::new(s), held)) })
        };
        let lost = move || Event::Restored { session: lost, found: None };
        let job = Job { what: "reading positions", run: Box::new(run), lost: Some(Box::new(lost)) };
        let _ = self.crews.restorers.submit(job);
        None
    }

    pub(crate) fn on_restored(
        &mut self,
        id: &SessionId,
        found: Option<(Box<Snapshot>, Reservation)>,
    ) {
        let Some(session) = self.sessions.get_mut(id) else { return };
        if matches!(session.keeping.found, Found::Looking) {
            session.keeping.found = Found::Done;
            session.keeping.restored = found.map(|(snapshot, held)| (*snapshot, held));
            self.want_graph(id, false);
        }
    }

    /// Stops every layout for good and answers when all positions are written down. What viewers say from
    /// now on would move nodes behind the last copy: it is refused.
    pub(crate) fn suspend(&mut self, reply: Reply<()>) {
        self.suspended = true;
        let now = self.now();
        let ids: Vec<SessionId> = self.sessions.keys().cloned().collect();
        for id in &ids {
            if let Some(session) = self.sessions.get_mut(id) {
                session.suspend(now);
            }
            self.queue(id);
        }
        self.suspend_waiters.push(reply);
        self.woken = true;
    }

    /// Answers who waits for positions to be written, once they are.
    pub(crate) fn answer_suspended(&mut self) {
        if !self.suspend_waiters.is_empty() && !self.sessions.values().any(VizSession::is_unsaved) {
            for waiter in self.suspend_waiters.drain(..) {
                waiter.send(Ok(()));
            }
        }
    }
}

/// Whether the positions can be those of the graph.
fn fits(snapshot: &Snapshot, lease: &Lease) -> bool {
    snapshot.dataset == lease.dataset && snapshot.positions.len() == lease.facts.node_count as usize
}
