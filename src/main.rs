//! The Graphlume daemon and its command line: this package only wires the crates together.

/// A line on standard error. What standard error cannot take, on a disk that is full or after its reader has gone, is no
/// reason to end: `eprintln!` would panic, and the report of that panic as well.
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr().lock(), $($text)*);
    }};
}

mod cli;
mod cmd;
mod config;
mod control;
mod failure;
mod given;
mod graph_files;
mod output;
mod panics;
mod process_limits;
mod progress;
mod reload;
mod serve_settings;
mod supervise;

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<std::ffi::OsString> = std::env::args_os().collect();
    let cli = match config::parse(&args) {
        Ok(cli) => cli,
        Err(e) => return fail(&cmd::rejected(&e)),
    };
    panics::install();
    graphlume_engine::bound_freed(u64::MAX);
    match panics::caught(|| cmd::run(cli)).unwrap_or_else(|defect| Err(failure::failure(defect))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => fail(&e),
    }
}

fn fail(error: &failure::Failure) -> ExitCode {
    say!("error: {}", error.message);
    ExitCode::from(error.exit)
}
