//! Commands: their priority, their reply and their effect.

use graphlume_types::CancelToken;

use crate::engine::EnginePart;
use crate::reply::Reply;

/// How urgent a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandPriority {
    /// Changes who sees what; never waits behind work.
    Control,
    /// The caller waits for the answer.
    Interactive,
    /// No caller waits.
    Batch,
}

/// What a command is told when it is carried out.
pub(crate) struct Call<R> {
    pub(crate) reply: Reply<R>,
    pub(crate) cancel: CancelToken,
}

/// A command: its payload, its priority, its answer and what it does. It runs on the engine thread and
/// must be short: anything that grows with a graph is handed to a worker, reply included.
pub(crate) trait Apply: Send + 'static {
    type Answer: Send + 'static;
    /// What it changes or asks: one part of the engine, or all of it when several are concerned.
    type On: EnginePart;
    const PRIORITY: CommandPriority;
    fn apply(self, on: &mut Self::On, call: Call<Self::Answer>);
}
