//! The ways into the engine: three bounded queues by urgency.

use crossbeam::channel::{Receiver, Sender, TrySendError, bounded};
use graphlume_types::{CancelToken, limits};

use crate::command::Command;
use crate::error::EngineError;

/// How urgent a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Changes who sees what; never waits behind work.
    Control,
    /// Somebody waits for the answer.
    Interactive,
    /// Nobody waits.
    Batch,
}

impl Lane {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Control => "control lane",
            Self::Interactive => "interactive lane",
            Self::Batch => "batch lane",
        }
    }

    const fn limit(self) -> usize {
        match self {
            Self::Control => limits::LANE_CONTROL_MAX,
            Self::Interactive => limits::LANE_INTERACTIVE_MAX,
            Self::Batch => limits::LANE_BATCH_MAX,
        }
    }
}

/// A command on its way, with what tells the engine that nobody wants it any more.
pub(crate) struct Envelope {
    pub(crate) command: Command,
    pub(crate) cancel: CancelToken,
}

/// The sending ends. A full lane refuses at once; no caller is ever blocked.
#[derive(Clone)]
pub(crate) struct Lanes {
    control: Sender<Envelope>,
    interactive: Sender<Envelope>,
    batch: Sender<Envelope>,
}

/// The receiving ends, held by the loop alone.
pub(crate) struct Inbox {
    pub(crate) control: Receiver<Envelope>,
    pub(crate) interactive: Receiver<Envelope>,
    pub(crate) batch: Receiver<Envelope>,
}

pub(crate) fn lanes() -> (Lanes, Inbox) {
    let (control, control_rx) = bounded(Lane::Control.limit());
    let (interactive, interactive_rx) = bounded(Lane::Interactive.limit());
    let (batch, batch_rx) = bounded(Lane::Batch.limit());
    (
        Lanes { control, interactive, batch },
        Inbox { control: control_rx, interactive: interactive_rx, batch: batch_rx },
    )
}

impl Lanes {
    const fn of(&self, lane: Lane) -> &Sender<Envelope> {
        match lane {
            Lane::Control => &self.control,
            Lane::Interactive => &self.interactive,
            Lane::Batch => &self.batch,
        }
    }

    /// # Errors
    /// [`EngineError::Busy`] when the lane is full, [`EngineError::Stopped`] when nobody reads it.
    pub(crate) fn send(&self, lane: Lane, envelope: Envelope) -> Result<(), EngineError> {
        self.of(lane).try_send(envelope).map_err(|e| match e {
            TrySendError::Full(_) => EngineError::Busy { what: lane.name(), limit: lane.limit() },
            TrySendError::Disconnected(_) => EngineError::Stopped,
        })
    }

    /// Commands waiting: control, interactive, batch.
    pub(crate) fn depths(&self) -> [usize; 3] {
        [self.control.len(), self.interactive.len(), self.batch.len()]
    }
}
