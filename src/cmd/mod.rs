//! One file a command.

mod backend;
mod backup;
mod bench;
mod compute;
mod doctor;
mod generate;
mod key;
mod layout;
mod parse_worker;
mod picture;
mod print;
mod query;
pub mod serve;
mod user;

use std::io;
use std::path::Path;

use crate::EXIT_CONFIG;
use crate::cli::{Cli, Command};
use crate::config::ConfigError;

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

/// A configuration that is refused at start.
pub fn rejected(error: &ConfigError) -> Failure {
    Failure { message: error.to_string(), exit: EXIT_CONFIG }
}

/// Runs a command.
///
/// # Errors
/// The command failed; the message says why.
pub fn run(cli: Cli) -> Result<(), Failure> {
    match cli.command {
        Command::Serve(args) => serve::run(*args),
        Command::User(command) => user::run(command),
        Command::Key(command) => key::run(command),
        Command::Layout(args) => layout::run(&args),
        Command::Compute(args) => compute::run(&args),
        Command::Query(args) => query::run(&args),
        Command::Picture(args) => picture::run(&args),
        Command::Generate(args) => generate::run(&args),
        Command::Export(args) => backup::export(&args),
        Command::Import(args) => backup::import(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Print(args) => print::run(&args),
        Command::Bench(args) => bench::run(&args),
        Command::ParseWorker(args) => parse_worker::run(args),
    }
}
