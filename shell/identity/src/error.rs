//! Why a caller was not let in, or an account was not changed. Messages name the field, the value and the remedy; they
//! never carry a secret.

use std::borrow::Cow;

use graphlume_storage::StoreError;
use graphlume_types::{Code, Coded};

/// Why a use case of identity was not carried out.
#[derive(Debug, thiserror::Error)]
pub enum IdentityError {
    /// A request field is missing or wrong.
    #[error("{message}")]
    Invalid {
        /// The field at fault.
        field: Cow<'static, str>,
        /// Field, value and remedy.
        message: String,
    },
    /// Unknown user, wrong password, disabled account: deliberately one message.
    #[error("Unable to log in with provided credentials.")]
    BadCredentials,
    /// A well-signed token past its life.
    #[error("Token has expired.")]
    TokenExpired,
    /// A token older than the window in which it may be exchanged.
    #[error("Refresh has expired.")]
    RefreshExpired,
    /// Anything else wrong with a token: deliberately one message.
    #[error("Error decoding token.")]
    TokenInvalid,
    /// No credential where one is needed.
    #[error("Authentication credentials were not provided; send Authorization: Bearer <token>.")]
    Unauthenticated,
    /// A login link that has signed a guest in.
    #[error(
        "This login link was used already. Each link works once: ask the person who sent it for a new one."
    )]
    LinkUsed,
    /// Anything else wrong with a login link: deliberately one message.
    #[error(
        "This login link is not valid, or not valid any more. Ask the person who sent it for a new one."
    )]
    LinkInvalid,
    /// Too many failed logins.
    #[error("too many failed logins; try again in {retry_secs} seconds")]
    Throttled {
        /// Seconds until the next attempt is looked at.
        retry_secs: u64,
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
    #[error("{kind} not found: {id}; {}", not_found_remedy(kind))]
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
    /// The record store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file of identity's own in the data folder.
    #[error("cannot {action} {path}: {source}")]
    File {
        /// What was tried.
        action: &'static str,
        /// The file's name.
        path: String,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// The data folder holds something that must be put right by hand.
    #[error("{0}")]
    Setup(String),
    /// A defect of ours.
    #[error("internal error: {0}")]
    Internal(String),
}

/// What to do where a thing of this kind was not found, as the errors of this crate and of the use cases end.
#[must_use]
pub fn not_found_remedy(kind: &str) -> &'static str {
    match kind {
        "dataset" => {
            "GET /api/v2/datasets/ lists those that you may see, and a private one takes its author's key or token"
        }
        "job" => "GET /api/v2/datasets/{dataset_id}/jobs lists those of a dataset",
        "file" => "GET /api/v2/files/ lists yours; upload it again if it is not among them",
        "session" => {
            "GET /api/experimental/viz/sessions/ lists yours; open the page of a dataset for a new one"
        }
        "user" => "`graphlume user list` lists the accounts",
        "key" => "`graphlume key list` and GET /api/v2/users/me/keys/ list the keys",
        "organization" => "`graphlume user set NAME --org SLUG` makes an account a member of one",
        _ => "check how it is written",
    }
}

impl IdentityError {
    /// An error about one request field.
    pub fn invalid(field: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self::Invalid { field: field.into(), message: message.into() }
    }

    /// That there is no such thing. What the caller sent comes back to it, but never at any length.
    pub fn not_found(kind: &'static str, id: impl std::fmt::Display) -> Self {
        Self::NotFound { kind, id: id.to_string().chars().take(80).collect() }
    }

    /// Whether a start that failed with this would fail again in the same way.
    #[must_use]
    pub fn is_permanent(&self) -> bool {
        match self {
            Self::Setup(_) => true,
            Self::Store(e) => e.is_permanent(),
            Self::File { source, .. } => matches!(
                source.kind(),
                std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem
            ),
            _ => false,
        }
    }

    /// Seconds to wait before the same request may succeed, when that is known or worth stating.
    #[must_use]
    pub fn retry_after_secs(&self) -> Option<u64> {
        match self {
            Self::Throttled { retry_secs } => Some(*retry_secs),
            _ if self.code().is_transient() => Some(1),
            _ => None,
        }
    }
}

impl Coded for IdentityError {
    fn code(&self) -> Code {
        match self {
            Self::Invalid { .. } => Code::InvalidArgument,
            Self::BadCredentials
            | Self::TokenExpired
            | Self::RefreshExpired
            | Self::TokenInvalid
            | Self::Unauthenticated => Code::Unauthenticated,
            Self::Throttled { .. } | Self::Busy { .. } => Code::Exhausted,
            Self::Forbidden(_) => Code::Forbidden,
            Self::NotFound { .. } | Self::LinkInvalid => Code::NotFound,
            Self::LinkUsed => Code::Gone,
            Self::Conflict(_) => Code::Conflict,
            Self::TooLarge { .. } => Code::TooLarge,
            Self::Store(e) => e.code(),
            Self::File { source, .. } if source.kind() == std::io::ErrorKind::StorageFull => {
                Code::StorageFull
            }
            Self::File { .. } | Self::Setup(_) | Self::Internal(_) => Code::Internal,
        }
    }

    fn slug(&self) -> &'static str {
        match self {
            Self::Invalid { .. } => "invalid-argument",
            Self::BadCredentials => "bad-credentials",
            Self::TokenExpired => "token-expired",
            Self::RefreshExpired => "refresh-expired",
            Self::TokenInvalid => "token-invalid",
            Self::Unauthenticated => "unauthenticated",
            Self::LinkUsed => "link-used",
            Self::LinkInvalid => "link-invalid",
            Self::Throttled { .. } => "login-throttled",
            Self::Busy { .. } => "busy",
            Self::Forbidden(_) => "forbidden",
            Self::NotFound { .. } => "not-found",
            Self::Conflict(_) => "conflict",
            Self::TooLarge { .. } => "too-large",
            Self::Store(e) => e.slug(),
            Self::File { .. } => "data-folder",
            Self::Setup(_) => "setup",
            Self::Internal(_) => "internal",
        }
    }

    fn field(&self) -> Option<&str> {
        match self {
            Self::Invalid { field, .. } => Some(field),
            _ => None,
        }
    }
}
