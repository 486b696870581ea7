//! Commands: their payload, their priority, their reply and their effect. A command is a payload with an implementation of [`Apply`] in a file of its own
//! under `cmd/`, and nothing else:
//!
//! ```ignore
//! // cmd/count_viewers.rs
//! struct CountViewers {
//!     session: SessionId,
//! }
//!
//! impl Apply for CountViewers {
//!     type Answer = usize;
//!     type On = Sessions;
//!     const NAME: &'static str = "count viewers";
//!     const PRIORITY: CommandPriority = CommandPriority::Interactive;
//!
//!     fn apply(self, sessions: &mut Sessions, call: Call<usize>) {
//!         call.reply.send(sessions.get(&self.session).map(|s| s.viewers()));
//!     }
//! }
//! ```
//!
//! `Caller::call(CountViewers { session })` is then the future of the answer.

use graphlume_types::CancelToken;

use crate::engine::{Engine, EnginePart};
use crate::error::EngineError;
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
    /// What logs call it.
    const NAME: &'static str;
    const PRIORITY: CommandPriority;
    fn apply(self, on: &mut Self::On, call: Call<Self::Answer>);
}

/// A command with where its answer goes, whatever its kind.
pub(crate) trait Command: Send {
    /// The command's name, for logs.
    fn name(&self) -> &'static str;

    /// Carries the command out on the part of the engine that it names.
    fn apply(self: Box<Self>, engine: &mut Engine, cancel: CancelToken);

    /// Answers without carrying it out.
    fn refuse(self: Box<Self>, error: EngineError);

    /// Whether the caller has gone away.
    fn is_abandoned(&self) -> bool;
}

/// A payload and where its answer goes.
pub(crate) struct PendingCommand<C: Apply> {
    pub(crate) payload: C,
    pub(crate) reply: Reply<C::Answer>,
}

impl<C: Apply> Command for PendingCommand<C> {
    fn name(&self) -> &'static str {
        C::NAME
    }

    fn apply(self: Box<Self>, engine: &mut Engine, cancel: CancelToken) {
        let Self { payload, reply } = *self;
        payload.apply(EnginePart::of(engine), Call { reply, cancel });
    }

    fn refuse(self: Box<Self>, error: EngineError) {
        self.reply.send(Err(error));
    }

    fn is_abandoned(&self) -> bool {
        self.reply.is_abandoned()
    }
}
