//! The one error type of the use cases. Messages name the field, the value and the remedy; they never
//! carry a secret.

use std::borrow::Cow;

use graphlume_engine::EngineError;
use graphlume_expr::QueryError;
use graphlume_identity::IdentityError;
use graphlume_ingest::IngestError;
use graphlume_storage::StoreError;
use graphlume_table::{HypergraphError, TableError};
use graphlume_types::{Code, Coded, IdError, ResourcesExhausted};
use serde::Serialize;
use serde_json::Value;

use crate::reply::ErrorReply;

/// Why a use case was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// A request field is missing or wrong.
    #[error("{message}")]
    Invalid {
        /// The field at fault.
        field: Cow<'static, str>,
        /// Field, value and remedy.
        message: String,
    },
    /// A bounded queue is full.
    #[error("{what}: too many at once; try again shortly")]
    Busy {
        /// Which queue.
        what: &'static str,
    },
    /// The caller is known and may not do this.
    #[error("{0}")]
    Forbidden(String),
    /// No such thing, or not the caller's to know of.
    #[error("{kind} not found: {id}; {}", graphlume_identity::not_found_remedy(kind))]
    NotFound {
        /// The kind of thing.
        kind: &'static str,
        /// What was asked for.
        id: String,
    },
    /// The request contradicts the present state.
    #[error("{0}")]
    Conflict(String),
    /// A limit was exceeded.
    #[error("{what} exceeds the limit of {limit} {unit}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// The limit.
        limit: u64,
        /// Its unit.
        unit: &'static str,
    },
    /// An uploaded body is too large.
    #[error("the upload exceeds the limit of {limit} bytes; split it or raise the limit")]
    UploadTooLarge {
        /// Bytes of one body.
        limit: u64,
    },
    /// The memory that pays for what is asked is used up.
    #[error(
        "{0}: remove filters or collections, close pages that are not needed, or try again later"
    )]
    Unpaid(ResourcesExhausted),
    /// The account holds as much as it may.
    #[error("{0}")]
    Quota(String),
    /// Understood, and not something that this server does.
    #[error("{message}")]
    Unsupported {
        /// The field that asks for it.
        field: &'static str,
        /// What and why.
        message: String,
    },
    /// The request makes no sense, for a reason with a name of its own.
    #[error("{message}")]
    Refused {
        /// The name of the reason.
        slug: &'static str,
        /// What is wrong and what to do about it.
        message: String,
    },
    /// Uploaded bytes could not be read.
    #[error("{message}")]
    Unreadable {
        /// The first problems found, joined.
        message: String,
        /// The parser's name for the first one.
        slug: &'static str,
        /// The parser's kind of the first one.
        code: Code,
    },
    /// A query that is refused.
    #[error("{}", .0.text())]
    Query(Box<QueryError>),
    /// Who is asking, and what they may do.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The record store or a blob.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A table.
    #[error(transparent)]
    Table(#[from] TableError),
    /// A defect of ours.
    #[error("internal error: {0}")]
    Internal(String),
}

impl ServiceError {
    /// Whether a start that failed with this would fail again in the same way.
    #[must_use]
    pub fn is_permanent(&self) -> bool {
        match self {
            Self::Store(e) => e.is_permanent(),
            Self::Identity(e) => e.is_permanent(),
            _ => false,
        }
    }

    /// An error about one request field.
    pub(crate) fn invalid(field: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self::Invalid { field: field.into(), message: message.into() }
    }

    pub(crate) fn not_found(kind: &'static str, id: impl std::fmt::Display) -> Self {
        // What the caller sent comes back to it, but never at any length.
        Self::NotFound { kind, id: id.to_string().chars().take(80).collect() }
    }

    pub(crate) fn unreadable(error: &IngestError) -> Self {
        Self::Unreadable { message: error.to_string(), slug: error.slug(), code: error.code() }
    }

    /// Seconds to wait before the same request may succeed, when that is known or worth stating.
    #[must_use]
    pub fn retry_after_secs(&self) -> Option<u64> {
        match self {
            Self::Identity(e) => e.retry_after_secs(),
            _ if self.code().is_transient() => Some(1),
            _ => None,
        }
    }

    /// The body that every real client can read. Defects, corruption and a full disk show no detail of
    /// the server's inside: the log has it.
    #[must_use]
    pub fn reply(&self) -> ErrorReply {
        ErrorReply::new(self.code(), self.slug(), self.field(), self.public_message())
    }

    /// What a client may read. A fault of the data folder is named without the folder: the log has that.
    #[must_use]
    pub fn public_message(&self) -> String {
        match self.code() {
            Code::Internal | Code::Corrupt => {
                "the server failed on this request; the log of the server says why".to_owned()
            }
            Code::StorageFull => {
                "the disk of the server has no room left; ask its operator to make \
                                  room, and try again"
                    .to_owned()
            }
            Code::Unavailable
                if matches!(self, Self::Store(_) | Self::Identity(IdentityError::Store(_))) =>
            {
                "the server cannot write to its data folder now; its log says why; try again later"
                    .to_owned()
            }
            _ => self.to_string(),
        }
    }
}

/// A value of ours as JSON.
///
/// # Errors
/// A value that has no form in JSON, which is a defect.
pub(crate) fn json_value(
    what: &'static str,
    value: &impl Serialize,
) -> Result<Value, ServiceError> {
    serde_json::to_value(value).map_err(|e| ServiceError::Internal(format!("{what}: {e}")))
}

impl From<IdError> for ServiceError {
    fn from(e: IdError) -> Self {
        Self::invalid("id", e.to_string())
    }
}

impl From<HypergraphError> for ServiceError {
    fn from(e: HypergraphError) -> Self {
        match e {
            HypergraphError::Invalid { field, message } => Self::invalid(field, message),
            HypergraphError::Table(e) => Self::Table(e),
            HypergraphError::Internal(message) => Self::Internal(message),
            other => Self::Unreadable {
                message: other.to_string(),
                slug: other.slug(),
                code: other.code(),
            },
        }
    }
}

impl From<QueryError> for ServiceError {
    fn from(e: QueryError) -> Self {
        if e.code() == Code::Internal {
            return Self::Internal(e.to_string());
        }
        Self::Query(Box::new(e))
    }
}

impl Coded for ServiceError {
    fn code(&self) -> Code {
        match self {
            Self::Invalid { .. } | Self::Refused { .. } => Code::InvalidArgument,
            Self::Busy { .. } | Self::Unpaid(_) => Code::Exhausted,
            Self::Forbidden(_) => Code::Forbidden,
            Self::NotFound { .. } => Code::NotFound,
            Self::Conflict(_) => Code::Conflict,
            Self::TooLarge { .. } | Self::UploadTooLarge { .. } | Self::Quota(_) => Code::TooLarge,
            Self::Unsupported { .. } => Code::Unsupported,
            Self::Unreadable { code, .. } => *code,
            Self::Query(e) => e.code(),
            Self::Identity(e) => e.code(),
            Self::Store(e) => e.code(),
            Self::Engine(e) => e.code(),
            Self::Table(e) => e.code(),
            Self::Internal(_) => Code::Internal,
        }
    }

    fn slug(&self) -> &'static str {
        match self {
            Self::Invalid { .. } => "invalid-argument",
            Self::Refused { slug, .. } => slug,
            Self::Busy { .. } => "busy",
            Self::Unpaid(_) => "memory-full",
            Self::Forbidden(_) => "forbidden",
            Self::NotFound { .. } => "not-found",
            Self::Conflict(_) => "conflict",
            Self::TooLarge { .. } => "too-large",
            Self::UploadTooLarge { .. } => "upload-too-large",
            Self::Quota(_) => "quota-exceeded",
            Self::Unsupported { .. } => "unsupported",
            Self::Unreadable { slug, .. } => slug,
            Self::Query(e) => e.slug(),
            Self::Identity(e) => e.slug(),
            Self::Store(e) => e.slug(),
            Self::Engine(e) => e.slug(),
            Self::Table(e) => e.slug(),
            Self::Internal(_) => "internal",
        }
    }

    fn field(&self) -> Option<&str> {
        match self {
            Self::Invalid { field, .. } => Some(field),
            Self::Unsupported { field, .. } => Some(field),
            Self::Query(e) => e.field_name(),
            Self::Identity(e) => e.field(),
            _ => None,
        }
    }
}
