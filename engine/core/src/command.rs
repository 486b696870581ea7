//! The list of commands.

use crate::cmd;
use crate::core::Core;
use crate::lane::Lane;
use crate::reply::Reply;
use graphlume_types::CancelToken;

/// What a command is told when it is carried out.
pub(crate) struct Call<R> {
    pub(crate) reply: Reply<R>,
    pub(crate) cancel: CancelToken,
}

/// A command: its payload, its lane, its answer and what it does. It runs on the engine thread and
/// must be short: anything that grows with a graph is handed to a worker, reply included.
pub(crate) trait Apply: Send + 'static {
    type Answer: Send + 'static;
    const LANE: Lane;
    fn apply(self, core: &mut Core, call: Call<Self::Answer>);
}

macro_rules! commands {
    ($($(#[$meta:meta])* $name:ident = $payload:ty),* $(,)?) => {
        /// Everything that can be asked of the engine, with where the answer goes.
        pub(crate) enum Command {
            $($(#[$meta])* $name($payload, Reply<<$payload as Apply>::Answer>),)*
        }

        impl Command {
            /// The command's name, for logs.
            pub(crate) const fn name(&self) -> &'static str {
                match self { $($(#[$meta])* Self::$name(..) => stringify!($name),)* }
            }

            /// Carries the command out.
            pub(crate) fn apply(self, core: &mut Core, cancel: CancelToken) {
                match self {
                    $($(#[$meta])* Self::$name(payload, reply) => {
                        payload.apply(core, Call { reply, cancel });
                    })*
                }
            }

            /// Answers without carrying it out.
            pub(crate) fn refuse(self, error: crate::error::EngineError) {
                match self { $($(#[$meta])* Self::$name(_, reply) => reply.send(Err(error)),)* }
            }

            /// Whether the caller has gone away.
            pub(crate) fn is_abandoned(&self) -> bool {
                match self { $($(#[$meta])* Self::$name(_, reply) => reply.is_abandoned(),)* }
            }
        }

        $($(#[$meta])* impl From<($payload, Reply<<$payload as Apply>::Answer>)> for Command {
            fn from((payload, reply): ($payload, Reply<<$payload as Apply>::Answer>)) -> Self {
                Self::$name(payload, reply)
            }
        })*
    };
}

commands! {
    Open = cmd::open::Open,
    Close = cmd::close::Close,
    Attach = cmd::attach::Attach,
    Control = cmd::control::ControlSession,
    Collect = cmd::collect::Collect,
    Dress = cmd::collect::Dress,
    Info = cmd::info::Info,
    Follow = cmd::follow::Follow,
    NodeCard = cmd::card::NodeCard,
    NodeNames = cmd::card::NodeNames,
    EdgeCard = cmd::card::EdgeCard,
    Search = cmd::search::Search,
    Edges = cmd::edges::Edges,
    Positions = cmd::positions::Positions,
    Preload = cmd::preload::Preload,
    Query = cmd::query::QueryGraph,
    Changed = cmd::changed::Changed,
    Forget = cmd::forget::Forget,
    Canary = cmd::canary::Canary,
    Wake = cmd::wake::Wake,
    Suspend = cmd::suspend::Suspend,
    Drain = cmd::drain::Drain,
    #[cfg(test)]
    FailPoint = cmd::fail_point::FailPoint,
}
