//! The ways into the engine: three bounded queues, one a priority.

use crossbeam::channel::{Receiver, Sender, TrySendError, bounded};
use graphlume_types::{CancelToken, limits};

use crate::command::{Command, CommandPriority};
use crate::error::EngineError;

impl CommandPriority {
    /// What a refusal says.
    const fn name(self) -> &'static str {
        match self {
            Self::Control => "control queue",
            Self::Interactive => "interactive queue",
            Self::Batch => "batch queue",
        }
    }

    const fn limit(self) -> usize {
        match self {
            Self::Control => limits::CONTROL_QUEUE_MAX,
            Self::Interactive => limits::INTERACTIVE_QUEUE_MAX,
            Self::Batch => limits::BATCH_QUEUE_MAX,
        }
    }
}

/// A command on its way, with what tells the engine that its answer is not wanted any more.
pub(crate) struct QueuedCommand {
    pub(crate) command: Box<dyn Command>,
    pub(crate) cancel: CancelToken,
}

/// The sending ends. A full queue refuses at once; no caller is ever blocked.
#[derive(Clone)]
pub(crate) struct CommandSender {
    control: Sender<QueuedCommand>,
    interactive: Sender<QueuedCommand>,
    batch: Sender<QueuedCommand>,
}

/// The receiving ends, held by the loop alone.
pub(crate) struct CommandReceiver {
    pub(crate) control: Receiver<QueuedCommand>,
    pub(crate) interactive: Receiver<QueuedCommand>,
    pub(crate) batch: Receiver<QueuedCommand>,
}

/// Both ends of the queues.
pub(crate) fn command_queues() -> (CommandSender, CommandReceiver) {
    let (control, control_rx) = bounded(CommandPriority::Control.limit());
    let (interactive, interactive_rx) = bounded(CommandPriority::Interactive.limit());
    let (batch, batch_rx) = bounded(CommandPriority::Batch.limit());
    (
        CommandSender { control, interactive, batch },
        CommandReceiver { control: control_rx, interactive: interactive_rx, batch: batch_rx },
    )
}

impl CommandSender {
    const fn of(&self, priority: CommandPriority) -> &Sender<QueuedCommand> {
        match priority {
            CommandPriority::Control => &self.control,
            CommandPriority::Interactive => &self.interactive,
            CommandPriority::Batch => &self.batch,
        }
    }

    /// # Errors
    /// [`EngineError::Busy`] when the queue is full, [`EngineError::Stopped`] when the loop has ended.
    pub(crate) fn send(
        &self,
        priority: CommandPriority,
        command: QueuedCommand,
    ) -> Result<(), EngineError> {
        self.of(priority).try_send(command).map_err(|e| match e {
            TrySendError::Full(_) => {
                EngineError::Busy { what: priority.name(), limit: priority.limit() }
            }
            TrySendError::Disconnected(_) => EngineError::Stopped,
        })
    }

    /// Sends a command of control priority and waits until there is room for it: for the end of the engine,
    /// which must not be refused.
    ///
    /// # Errors
    /// [`EngineError::Stopped`] when the loop has ended.
    pub(crate) fn send_waiting(&self, command: QueuedCommand) -> Result<(), EngineError> {
        self.control.send(command).map_err(|_| EngineError::Stopped)
    }

    /// Commands waiting: control, interactive, batch.
    pub(crate) fn depths(&self) -> [usize; 3] {
        [self.control.len(), self.interactive.len(), self.batch.len()]
    }
}
