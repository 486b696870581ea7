//! The list of commands.

use graphlume_types::CancelToken;

use crate::cmd;
use crate::command::{Apply, Call};
use crate::engine::{Engine, EnginePart};
use crate::error::EngineError;
use crate::reply::Reply;

/// Makes the enum [`Command`] from a list of names and payloads. A new command is a payload with an
/// implementation of [`Apply`] in a file of its own under `cmd/`, and one line in the list:
///
/// ```ignore
/// // cmd/count_viewers.rs
/// pub(crate) struct CountViewers {
///     pub(crate) session: SessionId,
/// }
///
/// impl Apply for CountViewers {
///     type Answer = usize;
///     type On = Sessions;
///     const PRIORITY: CommandPriority = CommandPriority::Interactive;
///
///     fn apply(self, sessions: &mut Sessions, call: Call<usize>) {
///         call.reply.send(sessions.get(&self.session).map(|s| s.viewers()));
///     }
/// }
///
/// // commands.rs
/// commands! {
///     CountViewers = cmd::count_viewers::CountViewers,
/// }
/// ```
///
/// From then on `EngineHandle::call(CountViewers { session })` is the future of the answer.
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

            /// Carries the command out on the part of the engine that it names.
            pub(crate) fn apply(self, engine: &mut Engine, cancel: CancelToken) {
                match self {
                    $($(#[$meta])* Self::$name(payload, reply) => {
                        payload.apply(EnginePart::of(engine), Call { reply, cancel });
                    })*
                }
            }

            /// Answers without carrying it out.
            pub(crate) fn refuse(self, error: EngineError) {
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
    EvaluateCollection = cmd::collections::EvaluateCollection,
    SetCollections = cmd::collections::SetCollections,
    Info = cmd::info::Info,
    Follow = cmd::follow::Follow,
    NodeCard = cmd::cards::NodeCard,
    Names = cmd::cards::Names,
    EdgeCard = cmd::cards::EdgeCard,
    Search = cmd::search::Search,
    Edges = cmd::edges::Edges,
    Groups = cmd::groups::Groups,
    Depth = cmd::depth::Depth,
    Filter = cmd::facets::FilterPicture,
    PictureParts = cmd::facets::PictureParts,
    Histograms = cmd::facets::Histograms,
    FacetColumns = cmd::facets::FacetColumns,
    Find = cmd::facets::Find,
    Picture = cmd::picture::Picture,
    Positions = cmd::positions::Positions,
    Origin = cmd::origin::Origin,
    ListJobs = cmd::jobs::ListJobs,
    CancelJob = cmd::jobs::CancelJob,
    AwaitJobs = cmd::jobs::AwaitJobs,
    Preload = cmd::preload::Preload,
    Query = cmd::query::QueryGraph,
    Changed = cmd::changed::Changed,
    Forget = cmd::forget::Forget,
    Canary = cmd::canary::RunCanary,
    Suspend = cmd::suspend::Suspend,
    Drain = cmd::drain::Drain,
    #[cfg(test)]
    FailPoint = cmd::fail_point::FailPoint,
}
