//! Failures that end the process: what it says last, and its exit code.

use std::io;
use std::path::Path;

/// The operating system does not give what the process needs (EX_OSERR of sysexits).
pub const EXIT_SYSTEM: u8 = 71;
/// The configuration was rejected at start (EX_CONFIG of sysexits).
pub const EXIT_CONFIG: u8 = 78;

/// What the process says last and the code it ends with.
#[derive(Debug)]
pub struct Failure {
    /// One sentence: what, which value, what to do.
    pub message: String,
    /// The exit code.
    pub exit: u8,
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(e: E) -> Self {
        let mut message = e.to_string();
        let mut source = e.source();
        while let Some(cause) = source {
            let text = cause.to_string();
            if !message.contains(&text) {
                message.push_str(": ");
                message.push_str(&text);
            }
            source = cause.source();
        }
        Self { message, exit: 1 }
    }
}

/// A failure that is our own finding.
pub fn failure(message: impl Into<String>) -> Failure {
    Failure { message: message.into(), exit: 1 }
}

/// Why a file that the command line names cannot be read; `instead` says what to name where there is none.
pub fn unreadable(path: &Path, error: &io::Error, instead: &str) -> Failure {
    let shown = path.display();
    failure(match error.kind() {
        io::ErrorKind::NotFound => format!("{shown}: there is no such file; {instead}"),
        _ => format!("{shown}: {error}"),
    })
}
