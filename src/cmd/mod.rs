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

use crate::cli::{Cli, Command};
use crate::config::ConfigError;
use crate::failure::{EXIT_CONFIG, Failure};

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
