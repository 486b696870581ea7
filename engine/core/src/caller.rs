//! The way of a command into the engine, and the reads of a session.

use std::future::Future;
use std::sync::Arc;

use futures_channel::oneshot;
use graphlume_types::{CancelReason, CancelToken};

use crate::command::{Apply, PendingCommand};
use crate::command_queue::{CommandSender, QueuedCommand};
use crate::context::EngineContext;
use crate::error::EngineError;
use crate::reply::Reply;
use crate::target::Target;

/// Sends commands to the engine. A call is refused at once when too many wait already.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) commands: CommandSender,
    pub(crate) ctx: Arc<EngineContext>,
}

/// Cancels the call unless it has been answered.
struct CancelOnDrop(Option<CancelToken>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        if let Some(token) = self.0.take() {
            token.cancel(CancelReason::ClientGone);
        }
    }
}

impl Caller {
    /// A command on its way, with its cancellation and the future of its answer.
    fn queued<C: Apply>(
        &self,
        payload: C,
    ) -> (QueuedCommand, CancelToken, oneshot::Receiver<Result<C::Answer, EngineError>>) {
        let (reply, answer) = Reply::channel();
        let cancel = CancelToken::with_deadline(self.ctx.now() + self.ctx.config.call_time);
        let command = Box::new(PendingCommand { payload, reply });
        (QueuedCommand { command, cancel: cancel.clone() }, cancel, answer)
    }

    /// Sends a command at once and gives the future of its answer.
    pub(crate) fn call<C: Apply>(
        &self,
        payload: C,
    ) -> impl Future<Output = Result<C::Answer, EngineError>> + Send + 'static {
        let (queued, cancel, answer) = self.queued(payload);
        let sent = self.commands.send(C::PRIORITY, queued);
        async move {
            sent?;
            let mut guard = CancelOnDrop(Some(cancel));
            let answer = answer.await.unwrap_or(Err(EngineError::Stopped));
            guard.0 = None;
            answer
        }
    }

    /// The same with control priority, and blocks until there is room for the command.
    pub(crate) fn call_waiting<C: Apply>(
        &self,
        payload: C,
    ) -> impl Future<Output = Result<C::Answer, EngineError>> + Send + 'static {
        let (queued, _, answer) = self.queued(payload);
        let sent = self.commands.send_waiting(queued);
        async move {
            sent?;
            answer.await.unwrap_or(Err(EngineError::Stopped))
        }
    }

    /// Sends a command whose answer is not needed; a full queue drops it.
    pub(crate) fn tell<C: Apply>(&self, payload: C) {
        let command = Box::new(PendingCommand { payload, reply: Reply::nobody() });
        let _ =
            self.commands.send(C::PRIORITY, QueuedCommand { command, cancel: CancelToken::new() });
    }
}

/// What may be read of a session and its graph, by one who may watch it. Each read stands with its command under `cmd/`.
#[derive(Clone)]
pub struct SessionReads {
    pub(crate) caller: Caller,
    pub(crate) target: Target,
}

impl std::fmt::Debug for SessionReads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionReads").field("target", &self.target).finish_non_exhaustive()
    }
}
