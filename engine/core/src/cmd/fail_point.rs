//! For tests: a command that goes wrong in a chosen way.

use std::sync::mpsc::{Receiver, SyncSender};
use std::time::Duration;

use crate::cmd::read::read_graph;
use crate::command::{Apply, Call, CommandPriority};
use crate::engine::Engine;
use graphlume_types::SessionId;

pub(crate) enum FailPoint {
    /// Panics on the engine thread.
    PanicInCommand,
    /// Panics in a job on the session's graph.
    PanicInJob(SessionId),
    /// Evicts every graph without a lease.
    EvictAll,
    /// Makes the loop look at its sessions in this turn.
    Tick,
    /// Keeps the engine thread busy.
    Sleep(Duration),
    /// The same: says that it has begun, and lasts until the other end of the second is gone.
    Hold(SyncSender<()>, Receiver<()>),
}

impl Apply for FailPoint {
    type Answer = ();
    type On = Engine;
    const NAME: &'static str = "fail point";
    const PRIORITY: CommandPriority = CommandPriority::Interactive;

    fn apply(self, engine: &mut Engine, call: Call<()>) {
        match self {
            Self::PanicInCommand => panic!("fail point in a command"),
            Self::PanicInJob(session) => {
                read_graph(engine, "fail point", &session.into(), call, |_| {
                    panic!("fail point in a job")
                });
            }
            Self::EvictAll => {
                engine.residency.evict(u64::MAX);
                call.reply.send(Ok(()));
            }
            Self::Tick => {
                engine.sessions.request_tick();
                call.reply.send(Ok(()));
            }
            Self::Sleep(time) => {
                std::thread::sleep(time);
                call.reply.send(Ok(()));
            }
            Self::Hold(begun, until) => {
                // The test may have ended on either end.
                let _ = begun.send(());
                let _ = until.recv();
                call.reply.send(Ok(()));
            }
        }
    }
}
