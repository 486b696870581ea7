//! `graphlume parse-worker`: the process in which uploaded bytes are parsed.

use std::os::fd::AsFd as _;

use graphlume_workers::{WorkerLimits, serve};

use crate::cli::ParseWorkerArgs;
use crate::failure::Failure;

/// Serves jobs until the server goes away.
pub fn run(args: ParseWorkerArgs) -> Result<(), Failure> {
    let socket = std::io::stdin().as_fd().try_clone_to_owned()?;
    let limits = WorkerLimits {
        memory_bytes: args.memory,
        threads: args.threads,
        cpu_seconds: args.cpu_seconds,
    };
    Ok(serve(socket, limits)?)
}
