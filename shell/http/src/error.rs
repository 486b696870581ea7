//! Why the shell cannot start.

use std::net::SocketAddr;

use graphlume_types::{Code, Coded};

/// Errors of [`crate::serve`] and of the configuration.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The address cannot be listened on.
    #[error("cannot listen on {addr}: {source}; {}", remedy(.source))]
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

/// What to do about an address that cannot be listened on.
fn remedy(source: &std::io::Error) -> &'static str {
    match source.kind() {
        std::io::ErrorKind::AddrInUse => "is another server running there?",
        std::io::ErrorKind::AddrNotAvailable => {
            "no network interface of this machine has that address; 0.0.0.0 stands for all of them"
        }
        std::io::ErrorKind::PermissionDenied => {
            "ports below 1024 are for privileged processes; use another one"
        }
        _ => "use another address",
    }
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
