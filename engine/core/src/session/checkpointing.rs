//! The state of a session's checkpoints: how far its positions are written down, and how its layout came to be.

use std::time::{Duration, Instant};

use graphlume_types::{Reservation, limits};

use crate::checkpoint::Checkpoint;
use crate::session::state::Run;

/// How old the positions on the disk may become while the layout moves.
const CHECKPOINT_EVERY: Duration = Duration::from_millis(limits::POSITIONS_KEEP_MILLIS);

/// What a viewer is told of a layout that was stopped by a restart.
pub(crate) const STOPPED: &str = "the layout was stopped with the server; resume it to go on";

/// What a session says while positions of an earlier run are read.
pub(super) const READING: &str = "reading the positions";

/// Whether a checkpoint of an earlier run has been looked for.
pub(super) enum Restore {
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
    pub(super) restore: Restore,
    /// The checkpoint that was read, and the memory for the layout that it becomes.
    pub(super) restored: Option<(Checkpoint, Reservation)>,
    /// Something is different from what was copied last.
    pub(super) changed: bool,
    /// The layout has come to a stop: what it has now is worth a copy at once.
    pub(super) urgent: bool,
    copied_at: Option<Instant>,
    /// The next slice has to make a copy.
    wanted: bool,
    /// A copy that waits for the thread that writes.
    pub(super) ready: Option<Checkpoint>,
    /// A copy is being written. One at a time.
    pub(super) writing: bool,
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
