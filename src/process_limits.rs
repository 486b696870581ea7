//! Limits of the operating system for the process: open files, address space, threads. Where it is less than the server
//! needs, the start says so by the name of the limit.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::failure::{EXIT_SYSTEM, Failure};

/// Open files that no connection takes where there are enough: those of the store, of uploads and parsers, and of the
/// operators' listener.
const FILES_KEPT: usize = 256;
/// Share of the open files that no connection takes where there are few.
const FILES_KEPT_SHARE: usize = 3;
/// Address space without which no server starts: what its threads and their allocators map is far more than they use.
const ADDRESS_SPACE_MIN: u64 = 2 << 30;
/// Threads of the process beside those of its pools, and what each core adds to the pools.
const THREADS_ALONE: usize = 16;
const THREADS_A_CORE: usize = 4;

/// How many files the process may have open.
pub struct Descriptors(usize);

impl Descriptors {
    /// The limit, raised to what the system allows: the one that shells and service managers set, 1,024, is less than the
    /// connections that the server takes.
    pub fn raised() -> Self {
        let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
        let wanted = Rlimit { current: maximum, maximum };
        let now = match setrlimit(Resource::Nofile, wanted) {
            Ok(()) => maximum,
            Err(e) => {
                tracing::warn!(error = %e, "the limit of open files could not be raised");
                current
            }
        };
        Self(now.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX)))
    }

    /// Files that no connection takes.
    const fn kept(&self) -> usize {
        let share = self.0 / FILES_KEPT_SHARE;
        if share < FILES_KEPT { share } else { FILES_KEPT }
    }

    /// The connections that are served, `wanted` at most. Where that is fewer, the log says so.
    pub fn connections(&self, wanted: usize) -> usize {
        let connections = self.0.saturating_sub(self.kept()).clamp(1, wanted.max(1));
        if connections < wanted {
            tracing::warn!(
                open_files = self.0,
                kept = self.kept(),
                connections,
                wanted,
                "the limit of open files (descriptors) lets fewer connections be served at a time than the server takes, \
                 and others are refused: raise it by ulimit -n, or by LimitNOFILE= of a service"
            );
        }
        connections
    }
}

/// Refuses a start for which the system gives too little. `threads` are those that the engine was told to take; 0 are as
/// many as there are cores.
///
/// # Errors
/// A limit, by name, and the remedy.
pub fn check(threads: usize) -> Result<(), Failure> {
    if let Some(limit) = getrlimit(Resource::As).current.filter(|n| *n < ADDRESS_SPACE_MIN) {
        let least = ADDRESS_SPACE_MIN >> 20;
        let text = format!(
            "the process may have {} MiB of address space (RLIMIT_AS, ulimit -v), and needs {least} MiB at least, of which \
             it uses a small part: raise the limit by ulimit -v unlimited, or by LimitAS=infinity of a service, and bound \
             memory by --memory instead",
            limit >> 20
        );
        return Err(Failure { message: text, exit: EXIT_SYSTEM });
    }
    let cores = if threads > 0 { threads } else { graphlume_device::cpu_features().threads };
    let needed = THREADS_ALONE + THREADS_A_CORE * cores;
    let Err((had, e)) = room_for(needed) else { return Ok(()) };
    Err(starved(&format!("the system gives {had} threads of the {needed} that are needed: {e}")))
}

/// Whether so many threads can be there at once; else how many could, and why no more.
fn room_for(count: usize) -> Result<(), (usize, io::Error)> {
    let mut made = Vec::with_capacity(count);
    let held = Arc::new(Mutex::new(()));
    // No thread ends before the last one is there: all wait for this lock.
    let lock = held.lock().unwrap_or_else(PoisonError::into_inner);
    let mut found = Ok(());
    for _ in 0..count {
        let held = Arc::clone(&held);
        let wait = move || drop(held.lock().map(drop));
        match std::thread::Builder::new().spawn(wait) {
            Ok(thread) => made.push(thread),
            Err(e) => {
                found = Err((made.len(), e));
                break;
            }
        }
    }
    drop(lock);
    made.into_iter().for_each(|thread| drop(thread.join()));
    found
}

/// A failure of the system, with the limits that may be its cause.
fn starved(text: &str) -> Failure {
    let shown = |name: &str, limit: Option<u64>, unit: u64| match limit {
        Some(n) => format!("{name} is {}", n / unit),
        None => format!("{name} is unlimited"),
    };
    let space = shown(
        "address space in MiB (RLIMIT_AS, ulimit -v)",
        getrlimit(Resource::As).current,
        1 << 20,
    );
    let tasks = shown(
        "processes and threads (RLIMIT_NPROC, ulimit -u)",
        getrlimit(Resource::Nproc).current,
        1,
    );
    let message = format!(
        "{text}; of the limits, {space}, and {tasks}: raise what is low (LimitAS=, LimitNPROC= and TasksMax= of a service)"
    );
    Failure { message, exit: EXIT_SYSTEM }
}

/// The failure of a start; where the system gave no thread or no memory, with the limits that may be its cause.
pub fn named(failure: Failure) -> Failure {
    const SIGNS: [&str; 4] = [
        "gives no thread",
        "out of memory",
        "Cannot allocate memory",
        "Resource temporarily unavailable",
    ];
    match SIGNS.iter().any(|sign| failure.message.contains(sign)) {
        true => starved(&failure.message),
        false => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_third_of_few_descriptors_is_kept_and_a_fixed_number_of_many() {
        for (files, wanted, connections) in [
            (0, 8_192, 1),
            (64, 8_192, 43),
            (256, 8_192, 171),
            (1_024, 8_192, 768),
            (65_536, 8_192, 8_192),
            (usize::MAX, 8_192, 8_192),
        ] {
            assert_eq!(Descriptors(files).connections(wanted), connections, "{files}");
        }
    }

    #[test]
    fn a_failure_for_want_of_threads_names_the_limits() {
        let told = named(crate::failure::failure("the operating system gives no thread: EAGAIN"));
        assert_eq!(told.exit, EXIT_SYSTEM);
        assert!(told.message.contains("RLIMIT_AS") && told.message.contains("RLIMIT_NPROC"));
        assert_eq!(named(crate::failure::failure("the disk is full")).exit, 1);
    }

    #[test]
    fn threads_are_there_at_once_and_gone_afterwards() {
        assert!(room_for(20).is_ok());
    }
}
