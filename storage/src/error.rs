//! Why a storage call failed. Corruption is a type of its own that only this crate can construct, so
//! that nothing else can claim, or overlook, that stored bytes are wrong.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use graphlume_types::{Code, Coded};

/// Stored bytes are not what was written. The object named here is quarantined: every read of it
/// fails with this error, every other object is served as usual.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Corrupt {
    what: String,
    detail: String,
}

impl Corrupt {
    pub(crate) fn new(what: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { what: what.into(), detail: detail.into() }
    }

    /// The damaged object: a record, a blob or the store itself.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }
}

impl fmt::Display for Corrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is damaged: {}; restore it from a backup or an export",
            self.what, self.detail
        )
    }
}

/// Every failure of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// Another process holds the data folder.
    #[error(
        "the data folder {dir:?} is in use by another process; stop it, or start with another folder"
    )]
    InUse {
        /// The folder.
        dir: PathBuf,
    },
    /// There is no data folder of this name, and the caller may not make one.
    #[error("{dir:?} {state}: there is no such data folder; `graphlume serve` makes one")]
    NoFolder {
        /// The folder.
        dir: PathBuf,
        /// `does not exist`, or what else is the case.
        state: &'static str,
    },
    /// A reader works in a copy of the record store, and there is no room for one.
    #[error("there is no room for a copy of {dir:?} to read in: {why}make {} MiB free in one of them, or name a folder in TMPDIR", .need.div_ceil(1 << 20))]
    Reading {
        /// The record store.
        dir: PathBuf,
        /// Bytes that must be free.
        need: u64,
        /// What was tried.
        why: String,
    },
    /// No damaged record has this name.
    #[error("there is no damaged record {what:?}; `graphlume doctor` names those that there are")]
    NotDamaged {
        /// What was asked for.
        what: String,
    },
    /// A store that was opened to be read was asked to write.
    #[error("{dir:?} was opened to be read only; nothing was changed")]
    ReadOnly {
        /// The data folder.
        dir: PathBuf,
    },
    /// The folder holds something and was not made by us.
    #[error(
        "{dir:?} holds other files ({found:?} among them) and is no data folder; name a new folder inside it"
    )]
    NotOurs {
        /// The folder.
        dir: PathBuf,
        /// The name of something in it.
        found: String,
    },
    /// The operating system refused an operation on a file.
    #[error("could not {action} {path:?}: {source}")]
    Io {
        /// The verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The record engine failed in another way.
    #[error("the record store failed: {0}")]
    Engine(String),
    /// Stored bytes are wrong.
    #[error("{0}")]
    Corrupt(Corrupt),
    /// A write did not reach the disk earlier; nothing is acknowledged until a restart.
    #[error("the store takes no writes after an earlier failure ({0}); restart the server")]
    Poisoned(Arc<str>),
    /// The record is not in the state that the batch required.
    #[error("the {kind} {key} was changed by somebody else; read it again and retry")]
    Changed {
        /// Record kind.
        kind: &'static str,
        /// Its key.
        key: String,
    },
    /// The batch required that the record is absent.
    #[error("the {kind} {key} exists already; choose another key or update it")]
    Exists {
        /// Record kind.
        kind: &'static str,
        /// Its key.
        key: String,
    },
    /// Another record owns a value that must be unique.
    #[error("the {field} {value:?} belongs to another {kind}; choose another one")]
    Taken {
        /// Record kind.
        kind: &'static str,
        /// Field with the value.
        field: &'static str,
        /// The value.
        value: String,
    },
    /// A blob is not on the disk.
    #[error("the stored data {hash} is absent; upload it again")]
    BlobMissing {
        /// Its hash.
        hash: String,
    },
    /// A limit was exceeded.
    #[error("{what} exceeds the limit of {limit} bytes; send less")]
    TooLarge {
        /// What was too large.
        what: &'static str,
        /// The limit in bytes.
        limit: u64,
    },
    /// The file system is too full to take the write.
    #[error("the disk of {dir:?} has {free} bytes left and {need} must stay free; make {} MiB free", .need.saturating_sub(*.free).div_ceil(1 << 20))]
    Full {
        /// The data folder.
        dir: PathBuf,
        /// Free bytes.
        free: u64,
        /// Bytes that must remain.
        need: u64,
    },
    /// Too many commits are waiting.
    #[error("{waiting} writes are waiting for the disk; try again shortly")]
    Busy {
        /// Depth of the queue.
        waiting: usize,
    },
    /// The store was closed.
    #[error("the store is closed; restart the server")]
    Closed,
    /// The folder was written by a newer version.
    #[error(
        "{dir:?} has store format {found}, this version reads up to {known}; upgrade the server"
    )]
    Format {
        /// The data folder.
        dir: PathBuf,
        /// Format on the disk.
        found: u32,
        /// Newest format known.
        known: u32,
    },
    /// A record could not be turned into bytes.
    #[error("a {kind} record could not be encoded: {detail}")]
    Encode {
        /// Record kind.
        kind: &'static str,
        /// The cause.
        detail: String,
    },
    /// An export cannot be read, or not be written there.
    #[error("{path:?} cannot be used for an export: {detail}; name another one")]
    Export {
        /// The file.
        path: PathBuf,
        /// The cause.
        detail: String,
    },
}

/// See [`StoreError::is_shortage`].
pub(crate) fn is_shortage(e: &io::Error) -> bool {
    use rustix::io::Errno;
    let short = [Errno::MFILE, Errno::NFILE, Errno::NOMEM];
    e.raw_os_error().is_some_and(|code| short.iter().any(|s| s.raw_os_error() == code))
}

impl StoreError {
    pub(crate) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_owned(), source }
    }

    pub(crate) fn corrupt(what: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::Corrupt(Corrupt::new(what, detail))
    }

    /// Whether the process was short of something that others give back: file descriptors or kernel memory. The
    /// operation was not begun; nothing is wrong with the disk.
    #[must_use]
    pub fn is_shortage(&self) -> bool {
        matches!(self, Self::Io { source, .. } if is_shortage(source))
    }

    /// Whether the same start would fail again: the folder is in use, is none of ours, is damaged beyond what an
    /// export heals, was written by a newer version, or may not be written to.
    #[must_use]
    pub fn is_permanent(&self) -> bool {
        match self {
            Self::Io { source, .. } => matches!(
                source.kind(),
                io::ErrorKind::PermissionDenied
                    | io::ErrorKind::ReadOnlyFilesystem
                    | io::ErrorKind::NotADirectory
            ),
            Self::InUse { .. }
            | Self::NotOurs { .. }
            | Self::NoFolder { .. }
            | Self::Corrupt(_) => true,
            Self::Format { .. } => true,
            _ => false,
        }
    }

    /// Whether stored bytes were found to be wrong.
    #[must_use]
    pub const fn is_corrupt(&self) -> bool {
        matches!(self, Self::Corrupt(_))
    }
}

impl From<sled::Error> for StoreError {
    fn from(e: sled::Error) -> Self {
        match e {
            sled::Error::Corruption { at, .. } => {
                Self::corrupt("the record store", format!("the engine reports damage at {at:?}"))
            }
            sled::Error::Io(source) => Self::io("write", Path::new("store/db"), source),
            other => Self::Engine(other.to_string()),
        }
    }
}

impl Coded for StoreError {
    fn code(&self) -> Code {
        match self {
            Self::Io { source, .. } if is_shortage(source) => Code::Unavailable,
            Self::NoFolder { .. } | Self::NotDamaged { .. } => Code::NotFound,
            Self::NotOurs { .. } => Code::InvalidArgument,
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Code::StorageFull,
                io::ErrorKind::ReadOnlyFilesystem => Code::Unavailable,
                io::ErrorKind::FileTooLarge => Code::TooLarge,
                _ => Code::Internal,
            },
            Self::Full { .. } | Self::Reading { .. } => Code::StorageFull,
            Self::Corrupt(_) => Code::Corrupt,
            Self::InUse { .. } | Self::Poisoned(_) | Self::Closed => Code::Unavailable,
            Self::Changed { .. } | Self::Exists { .. } | Self::Taken { .. } => Code::Conflict,
            Self::BlobMissing { .. } => Code::NotFound,
            Self::TooLarge { .. } => Code::TooLarge,
            Self::Busy { .. } => Code::Exhausted,
            Self::Format { .. } => Code::Unsupported,
            Self::Export { .. } => Code::InvalidArgument,
            Self::Engine(_) | Self::Encode { .. } | Self::ReadOnly { .. } => Code::Internal,
        }
    }

    fn slug(&self) -> &'static str {
        match self {
            Self::InUse { .. } => "storage-in-use",
            Self::NoFolder { .. } => "storage-absent",
            Self::NotOurs { .. } => "storage-foreign-folder",
            Self::Io { source, .. } if is_shortage(source) => "storage-short",
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "storage-full",
                io::ErrorKind::ReadOnlyFilesystem => "storage-read-only",
                _ => "storage-io",
            },
            Self::Full { .. } | Self::Reading { .. } => "storage-full",
            Self::ReadOnly { .. } => "storage-read-only",
            Self::NotDamaged { .. } => "not-damaged",
            Self::Engine(_) => "storage-engine",
            Self::Corrupt(_) => "corrupt",
            Self::Poisoned(_) => "storage-stopped",
            Self::Changed { .. } => "changed-meanwhile",
            Self::Exists { .. } => "already-exists",
            Self::Taken { .. } => "already-taken",
            Self::BlobMissing { .. } => "data-missing",
            Self::TooLarge { .. } => "too-large",
            Self::Busy { .. } => "storage-busy",
            Self::Closed => "storage-closed",
            Self::Format { .. } => "storage-format",
            Self::Encode { .. } => "storage-encode",
            Self::Export { .. } => "invalid-export",
        }
    }

    fn field(&self) -> Option<&str> {
        match self {
            Self::Taken { field, .. } => Some(field),
            _ => None,
        }
    }
}
