//! Why the shell cannot start.

use std::net::SocketAddr;

use graphlume_types::{Code, Coded};

/// Errors of [`crate::serve`] and of the configuration.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The address cannot be listened on.
    #[error("cannot listen on {addr}: {source}; is another server running there?")]
    Bind {
        /// The address asked for.
        addr: SocketAddr,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The cookie settings contradict each other.
    #[error("{0}")]
    Cookie(String),
    /// A setting is out of range.
    #[error("setting {name}: {message}")]
    Setting {
        /// Its name.
        name: &'static str,
        /// What is wrong, and the remedy.
        message: String,
    },
}

impl Coded for HttpError {
    fn code(&self) -> Code {
        match self {
            Self::Bind { .. } => Code::Unavailable,
            Self::Cookie(_) | Self::Setting { .. } => Code::InvalidArgument,
        }
    }

    fn slug(&self) -> &'static str {
        match self {
            Self::Bind { .. } => "listen-failed",
            Self::Cookie(_) => "cookie-settings",
            Self::Setting { .. } => "invalid-setting",
        }
    }

    fn field(&self) -> Option<&str> {
        match self {
            Self::Setting { name, .. } => Some(name),
            Self::Cookie(_) => Some("COOKIE_SAMESITE"),
            Self::Bind { .. } => None,
        }
    }
}
