//! The states of a session: where its graph is, and whether its layout moves.

use graphlume_types::{Code, Coded};

use crate::error::EngineError;

/// What a layout may still do before it stops. Never a time: the picture must not depend on how busy the
/// machine is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Remaining {
    /// As many iterations as belong to this play time, once the size of the graph is known.
    Play(u64),
    /// Iterations.
    Iterations(u64),
}

/// Whether the layout moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Run {
    /// Moves until it is at rest, for so many iterations at most.
    Running { left: Option<u64> },
    /// Paused with this much left. `auto`: by the session itself, because no viewer is attached; it goes on when
    /// one attaches. Otherwise by a viewer or an agent, and it goes on when one of them says so.
    Paused { auto: bool, left: Option<Remaining> },
    /// Has done its iterations and is not at rest.
    Stopped,
    /// At rest.
    Settled,
}

/// Where the session's graph is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GraphState {
    /// Given back because there are no viewers; the positions are kept.
    Released,
    Loading(&'static str),
    Waiting(String),
    /// When it is transient, another try is worth making by itself.
    Failed {
        detail: String,
        transient: bool,
    },
    Ready,
}

impl From<&EngineError> for GraphState {
    /// What viewers are shown when a graph is unavailable.
    fn from(error: &EngineError) -> Self {
        match error {
            EngineError::Waiting { detail, .. } => Self::Waiting(detail.to_string()),
            e => Self::Failed {
                detail: e.to_string(),
                transient: e.code().is_transient() || e.code() == Code::Internal,
            },
        }
    }
}
