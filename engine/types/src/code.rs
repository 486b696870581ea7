//! One small error code for the whole product, mapped to each transport in exactly one place.

use serde::{Deserialize, Serialize};

/// What kind of failure a caller is told about. Transports map it with total functions
/// (`shell/http` to HTTP status numbers and JSON-RPC codes); no other crate writes such numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// The request is malformed; the message names the field, the value and the remedy.
    InvalidArgument,
    /// No credential, or one that does not verify.
    Unauthenticated,
    /// The caller is known and may not do this.
    Forbidden,
    /// No such thing, or it belongs to another account and the caller may not know.
    NotFound,
    /// The thing existed and is closed for good.
    Gone,
    /// The request contradicts the present state.
    Conflict,
    /// A stated limit was exceeded; the message names the limit.
    TooLarge,
    /// Understood, and not something this server does.
    Unsupported,
    /// Too much work at once; try again shortly.
    Exhausted,
    /// The device's memory budget cannot hold the work at the moment.
    DeviceMemory,
    /// The disk is full.
    StorageFull,
    /// The work did not finish within its deadline.
    DeadlineExceeded,
    /// A component is not able to serve at the moment.
    Unavailable,
    /// The caller went away or the work was superseded.
    Cancelled,
    /// Stored bytes are not what was written.
    Corrupt,
    /// A defect of ours.
    Internal,
}

impl Code {
    /// Every code, for tests that prove that a mapping is total.
    pub const ALL: [Self; 16] = [
        Self::InvalidArgument,
        Self::Unauthenticated,
        Self::Forbidden,
        Self::NotFound,
        Self::Gone,
        Self::Conflict,
        Self::TooLarge,
        Self::Unsupported,
        Self::Exhausted,
        Self::DeviceMemory,
        Self::StorageFull,
        Self::DeadlineExceeded,
        Self::Unavailable,
        Self::Cancelled,
        Self::Corrupt,
        Self::Internal,
    ];

    /// Whether the same request may succeed when it is simply sent again later.
    #[must_use]
    pub const fn is_transient(self) -> bool {
        matches!(
            self,
            Self::Exhausted
                | Self::DeviceMemory
                | Self::StorageFull
                | Self::DeadlineExceeded
                | Self::Unavailable
        )
    }
}

/// Implemented by the error type of every crate, so that the shell can answer any of them.
pub trait Coded: std::error::Error {
    /// The kind of failure.
    fn code(&self) -> Code;
    /// A stable, kebab-case machine name such as `column-not-found`.
    fn slug(&self) -> &'static str;
    /// The request field at fault, when one is.
    fn field(&self) -> Option<&str> {
        None
    }
}
