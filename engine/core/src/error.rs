//! Errors of the engine.

use std::fmt;
use std::sync::Arc;

use graphlume_types::{
    CancelReason, Cancelled, Code, Coded, DatasetId, ResourcesExhausted, SessionId,
};

/// Why a command was not carried out. Cheap to clone: one failed load answers every waiter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// The engine is stopping or has stopped.
    #[error("the engine is not running; try again when the server has restarted")]
    Stopped,
    /// A queue of commands or of work is full.
    #[error("the engine has too much work waiting ({what}, limit {limit}); try again shortly")]
    Busy {
        /// Which queue.
        what: &'static str,
        /// How many it holds.
        limit: usize,
    },
    /// The request was lost on the way: a panic or a defect.
    #[error(
        "the request was dropped by engine; this is a defect of the server, not of the request"
    )]
    Dropped,
    /// The work was stopped before it finished.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    /// No such visualization session.
    #[error("there is no live session {0}; open the dataset again")]
    SessionNotFound(SessionId),
    /// The session existed and has ended.
    #[error("session {session} has ended: {reason}; open the dataset again")]
    SessionClosed {
        /// Which session.
        session: SessionId,
        /// Why it ended.
        reason: ClosedReason,
    },
    /// The session shows another dataset, and has viewers.
    #[error("session {session} shows another dataset; choose another session name")]
    SessionTaken {
        /// Which session.
        session: SessionId,
        /// What it shows.
        dataset: DatasetId,
    },
    /// The dataset has no data yet.
    #[error("dataset {dataset} has no data yet: {detail}")]
    Waiting {
        /// Which dataset.
        dataset: DatasetId,
        /// What is missing.
        detail: Arc<str>,
    },
    /// The graph is not loaded yet, and what was asked needs it now.
    #[error("the graph of session {0} is still being loaded; try again shortly")]
    NotLoaded(SessionId),
    /// A knob of the layout is unknown or has an impossible value.
    #[error("layout setting {name:?}: {value} is not possible; {expected}")]
    Setting {
        /// The name as it was sent.
        name: String,
        /// The value as it was sent.
        value: String,
        /// What would have been accepted.
        expected: &'static str,
    },
    /// A node or an edge beyond the last one.
    #[error("{what} {index} does not exist: this graph has {count}, counted from 0")]
    Index {
        /// `node` or `edge`.
        what: &'static str,
        /// The index asked for.
        index: u32,
        /// How many there are.
        count: u32,
    },
    /// The page speaks of an element set that has been replaced.
    #[error("epoch {asked} is over, the present one is {now}; fetch the graph again")]
    Epoch {
        /// The epoch asked for.
        asked: u32,
        /// The present epoch.
        now: u32,
    },
    /// No node of what the session shows has a third coordinate.
    #[error(
        "the nodes of session {0} have no third coordinate: bind node_z, add a node column z, or lay out by name in space"
    )]
    NoDepth(SessionId),
    /// The memory budget cannot hold the work, now or ever.
    #[error("not enough memory: {0}")]
    Memory(#[from] MemoryError),
    /// A crate below reported it; the message is already made for the user.
    #[error("{message}")]
    Work {
        /// The kind of failure.
        code: Code,
        /// The machine name.
        slug: &'static str,
        /// The sentence for the user.
        message: Arc<str>,
    },
}

/// A refused reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{refused}; {}", self.remedy())]
pub struct MemoryError {
    refused: ResourcesExhausted,
}

impl MemoryError {
    fn remedy(&self) -> &'static str {
        if self.refused.never_fits() {
            "raise the server's memory budget or use a smaller dataset"
        } else {
            "close other visualizations or try again shortly"
        }
    }
}

impl From<ResourcesExhausted> for MemoryError {
    fn from(refused: ResourcesExhausted) -> Self {
        Self { refused }
    }
}

impl From<ResourcesExhausted> for EngineError {
    fn from(refused: ResourcesExhausted) -> Self {
        Self::Memory(refused.into())
    }
}

/// Why a session ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClosedReason {
    /// A user closed it.
    Closed,
    /// Its dataset was deleted.
    DatasetGone,
    /// The server is stopping.
    Shutdown,
    /// The session's name was taken over for another dataset.
    Replaced,
    /// It had no viewers for a long time.
    Idle,
}

impl fmt::Display for ClosedReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Closed => "it was closed",
            Self::DatasetGone => "its dataset was deleted",
            Self::Shutdown => "the server is stopping",
            Self::Replaced => "its name was taken over for another dataset",
            Self::Idle => "nobody watched it for a long time",
        })
    }
}

impl EngineError {
    /// Wraps an error of a crate below, keeping its code, its slug and its sentence.
    pub fn from_coded(e: &dyn Coded) -> Self {
        Self::Work { code: e.code(), slug: e.slug(), message: e.to_string().into() }
    }
}

impl Coded for EngineError {
    fn code(&self) -> Code {
        match self {
            Self::Stopped | Self::NotLoaded(_) => Code::Unavailable,
            Self::Busy { .. } => Code::Exhausted,
            Self::Dropped => Code::Internal,
            Self::Cancelled(Cancelled(reason)) => match reason {
                CancelReason::Deadline => Code::DeadlineExceeded,
                CancelReason::Shutdown => Code::Unavailable,
                CancelReason::ClientGone | CancelReason::Superseded | CancelReason::TurnOver => {
                    Code::Cancelled
                }
            },
            Self::SessionNotFound(_) | Self::Index { .. } | Self::NoDepth(_) => Code::NotFound,
            Self::SessionClosed { .. } | Self::Epoch { .. } => Code::Gone,
            Self::SessionTaken { .. } | Self::Waiting { .. } => Code::Conflict,
            Self::Setting { .. } => Code::InvalidArgument,
            Self::Memory(m) if m.refused.never_fits() => Code::TooLarge,
            Self::Memory(_) => Code::DeviceMemory,
            Self::Work { code, .. } => *code,
        }
    }

    fn slug(&self) -> &'static str {
        match self {
            Self::Stopped => "engine-stopped",
            Self::NotLoaded(_) => "graph-loading",
            Self::Busy { .. } => "busy",
            Self::Dropped => "dropped-by-engine",
            Self::Cancelled(Cancelled(CancelReason::Deadline)) => "deadline-exceeded",
            Self::Cancelled(_) => "cancelled",
            Self::SessionNotFound(_) => "session-not-found",
            Self::SessionClosed { .. } => "session-closed",
            Self::SessionTaken { .. } => "session-taken",
            Self::Waiting { .. } => "dataset-waiting",
            Self::Setting { .. } => "layout-setting",
            Self::Index { what: "edge", .. } => "edge-not-found",
            Self::Index { .. } => "node-not-found",
            Self::Epoch { .. } => "epoch-over",
            Self::NoDepth(_) => "no-depth",
            Self::Memory(m) if m.refused.never_fits() => "dataset-too-large",
            Self::Memory(_) => "memory",
            Self::Work { slug, .. } => slug,
        }
    }

    fn field(&self) -> Option<&str> {
        match self {
            Self::Setting { name, .. } => Some(name),
            _ => None,
        }
    }
}
