//! The refusals of the tool endpoint: status numbers and JSON-RPC codes stand here and nowhere else.

use graphlume_service::LiveError;
use graphlume_types::limits;
use http::StatusCode;
use serde_json::{Value, json};

use crate::agents::NotBegun;

/// Why a message is not answered with a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The body is no JSON-RPC message.
    Parse,
    /// No id of a connection where one is needed.
    NoSession,
    /// The parameters make no sense.
    Params,
    /// No credential, or a wrong one.
    Unauthenticated,
    /// The feature is off for the account.
    FeatureOff,
    /// Not the caller's to change, or not the caller's to see.
    Denied,
    /// A connection that is not known, or not any more.
    UnknownSession,
    /// The visualization is closed.
    Closed,
    /// A defect of ours.
    Internal,
    /// Whether the caller may could not be found out.
    Unchecked,
    /// The tool took too long.
    Timeout,
    /// A method that does not exist.
    Unknown,
    /// A tool that does not exist.
    UnknownTool,
    /// A resource that does not exist, or that is not the caller's to see.
    UnknownResource,
    /// A header is missing, twice there, or says something else than the body.
    Header,
    /// A revision of the protocol that is not spoken.
    Version,
    /// The client has withdrawn the call; no caller waits for this.
    Cancelled,
    /// Too many calls at once.
    Busy,
}

impl Kind {
    pub(super) const fn status(self) -> StatusCode {
        match self {
            Self::Parse
            | Self::NoSession
            | Self::Params
            | Self::UnknownResource
            | Self::Header
            | Self::Version => StatusCode::BAD_REQUEST,
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
            Self::FeatureOff | Self::Denied => StatusCode::FORBIDDEN,
            Self::UnknownSession => StatusCode::NOT_FOUND,
            Self::Closed => StatusCode::GONE,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Unchecked => StatusCode::SERVICE_UNAVAILABLE,
            Self::Timeout => StatusCode::GATEWAY_TIMEOUT,
            Self::Unknown | Self::UnknownTool | Self::Cancelled => StatusCode::OK,
            Self::Busy => StatusCode::TOO_MANY_REQUESTS,
        }
    }

    pub(super) const fn code(self) -> i32 {
        match self {
            Self::Parse => -32700,
            Self::Params | Self::UnknownResource => -32602,
            Self::Unknown | Self::UnknownTool => -32601,
            Self::Header => -32020,
            Self::Version => -32022,
            Self::Internal | Self::Busy => -32603,
            Self::NoSession | Self::UnknownSession => -32000,
            Self::Unauthenticated => -32001,
            Self::Denied => -32002,
            Self::FeatureOff => -32003,
            Self::Closed => -32004,
            Self::Timeout => -32005,
            Self::Unchecked => -32006,
            Self::Cancelled => -32800,
        }
    }

    /// The numbers of the revision without connections, where they are others.
    const fn modern(self) -> (StatusCode, i32) {
        match self {
            Self::Unknown => (StatusCode::NOT_FOUND, self.code()),
            Self::UnknownTool => (StatusCode::BAD_REQUEST, -32602),
            // This revision forbids the code -32002.
            Self::Denied => (self.status(), -32602),
            _ => (self.status(), self.code()),
        }
    }
}

/// A refusal and its sentence.
#[derive(Debug, Clone)]
pub(super) struct Refusal {
    pub(super) kind: Kind,
    pub(super) message: String,
    /// What a program needs to do better.
    pub(super) data: Option<Box<Value>>,
    is_modern: bool,
}

impl Refusal {
    pub(super) fn new(kind: Kind, message: impl Into<String>) -> Self {
        let data = (kind == Kind::Busy).then(|| Box::new(json!({"retry_after_ms": 1_000})));
        Self { kind, message: message.into(), data, is_modern: false }
    }

    pub(super) fn with(self, data: Value) -> Self {
        Self { data: Some(Box::new(data)), ..self }
    }

    /// The same with the numbers of the revision without connections.
    pub(super) fn modern(self) -> Self {
        Self { is_modern: true, ..self }
    }

    pub(super) const fn status(&self) -> StatusCode {
        if self.is_modern { self.kind.modern().0 } else { self.kind.status() }
    }

    pub(super) const fn code(&self) -> i32 {
        if self.is_modern { self.kind.modern().1 } else { self.kind.code() }
    }
}

pub(super) fn unknown_session() -> Refusal {
    Refusal::new(
        Kind::UnknownSession,
        "this mcp-session-id is unknown or expired; initialize again",
    )
}

impl From<NotBegun> for Refusal {
    fn from(why: NotBegun) -> Self {
        match why {
            NotBegun::UnknownSession => unknown_session(),
            NotBegun::IdInUse(id) => {
                let text = format!("a call with the id {id} is in progress; use another id");
                Self::new(Kind::Params, text)
            }
            NotBegun::Busy => {
                let most = limits::TOOL_CALLS_PER_AGENT_MAX;
                let text = format!("more than {most} calls are in progress; wait for one to end");
                Self::new(Kind::Busy, text)
            }
        }
    }
}

impl From<LiveError> for Refusal {
    fn from(error: LiveError) -> Self {
        match error {
            LiveError::Denied => Self::new(
                Kind::Denied,
                "you may not use this session_id, or may not change what it shows; list_sessions names \
                 yours, and only the person who has a visualization open changes its collections",
            ),
            LiveError::Closed => Self::new(
                Kind::Closed,
                "the visualization is closed: the page of its owner is gone, closed or cut off; ask its owner to open it \
                 in a browser again",
            ),
            LiveError::Unchecked(error) => {
                tracing::warn!(%error, "whether a tool may be used could not be checked");
                Self::new(Kind::Unchecked, "the right to do this could not be checked; try again")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use graphlume_service::ServiceError;

    #[test]
    fn every_refusal_has_the_numbers_of_the_table() {
        use Kind as K;
        for (kind, status, code) in [
            (K::Parse, 400, -32700),
            (K::NoSession, 400, -32000),
            (K::Params, 400, -32602),
            (K::Unauthenticated, 401, -32001),
            (K::FeatureOff, 403, -32003),
            (K::Denied, 403, -32002),
            (K::UnknownSession, 404, -32000),
            (K::Closed, 410, -32004),
            (K::Internal, 500, -32603),
            (K::Unchecked, 503, -32006),
            (K::Timeout, 504, -32005),
            (K::Unknown, 200, -32601),
            (K::UnknownTool, 200, -32601),
            (K::UnknownResource, 400, -32602),
            (K::Header, 400, -32020),
            (K::Version, 400, -32022),
            (K::Cancelled, 200, -32800),
            (K::Busy, 429, -32603),
        ] {
            assert_eq!((kind.status().as_u16(), kind.code()), (status, code), "{kind:?}");
        }
    }

    #[test]
    fn the_revision_without_connections_has_numbers_of_its_own() {
        use Kind as K;
        for (kind, status, code) in [
            (K::Parse, 400, -32700),
            (K::Params, 400, -32602),
            (K::Unauthenticated, 401, -32001),
            (K::FeatureOff, 403, -32003),
            (K::Denied, 403, -32602),
            (K::Closed, 410, -32004),
            (K::Internal, 500, -32603),
            (K::Unchecked, 503, -32006),
            (K::Timeout, 504, -32005),
            (K::Unknown, 404, -32601),
            (K::UnknownTool, 400, -32602),
            (K::UnknownResource, 400, -32602),
            (K::Header, 400, -32020),
            (K::Version, 400, -32022),
            (K::Busy, 429, -32603),
        ] {
            let refusal = Refusal::new(kind, "").modern();
            assert_eq!((refusal.status().as_u16(), refusal.code()), (status, code), "{kind:?}");
        }
    }

    #[test]
    fn a_right_that_cannot_be_checked_is_not_given_and_says_no_more_than_that() {
        let cause = ServiceError::Internal("a path".to_owned());
        let refusal = Refusal::from(LiveError::Unchecked(cause));
        assert!(refusal.kind == Kind::Unchecked && !refusal.message.contains("path"));
        assert_eq!(Refusal::from(LiveError::Denied).kind, Kind::Denied);
        assert_eq!(Refusal::from(LiveError::Closed).kind, Kind::Closed);
    }
}
