//! One worker process, seen from the server.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use graphlume_ingest::ParseSpec;
use graphlume_types::UserId;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::{JobFiles, WorkerConfig};
use crate::channel::Channel;
use crate::protocol::{Answer, Job};

/// How long a worker may take to come up.
const START_PATIENCE: Duration = Duration::from_secs(20);
/// How long a message that has begun may take.
const MESSAGE_PATIENCE: Duration = Duration::from_secs(10);
/// Bytes that are kept of what a dead worker wrote to its standard error.
const STDERR_TAIL_BYTES: u64 = 2_000;
/// A worker that holds more than this after a job is replaced, so that the memory comes back.
const KEEP_RESIDENT_BYTES: u64 = 256 << 20;

/// In which `/proc` tells times, on every processor that there is a build for.
const TICKS_PER_SECOND: u64 = 100;

/// A worker that has said that it is ready.
pub(super) struct Worker {
    child: Child,
    channel: Channel,
    errors: File,
    pub(super) confined: bool,
    /// What confines it, in words.
    pub(super) confined_by: String,
    /// Whose bytes it has parsed; it never gets those of another account.
    pub(super) owner: Option<UserId>,
}

/// How a worker ended.
#[derive(Debug, Clone)]
pub(super) struct End {
    pub(super) status: Option<ExitStatus>,
    pub(super) stderr_tail: String,
}

impl End {
    /// Whether it ran into its memory limit: an allocation that fails ends a Rust program with these words.
    pub(super) fn is_out_of_memory(&self) -> bool {
        self.stderr_tail.contains("memory allocation of")
    }

    /// Whether it has used up its processor time.
    pub(super) fn is_out_of_time(&self) -> bool {
        self.status.and_then(|s| s.signal()) == Some(rustix::process::Signal::XCPU.as_raw())
    }

    /// In words.
    pub(super) fn reason(&self) -> String {
        match self.status.map(|s| (s.signal(), s.code())) {
            Some((Some(signal), _)) => format!("it was ended by signal {signal}"),
            Some((None, Some(code))) => format!("it ended with status {code}"),
            _ => "it ended".to_owned(),
        }
    }
}

impl Worker {
    /// Starts one and waits until it is ready.
    pub(super) fn start(config: &WorkerConfig) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let errors = temporary_file()?;
        let (program, arguments) = config
            .command
            .split_first()
            .ok_or_else(|| io::Error::other("no program for parse workers is set"))?;
        let child = Command::new(program)
            .args(arguments)
            // Our environment may hold a password.
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::from(errors.try_clone()?))
            .spawn()?;
        let channel = Channel::new(ours);
        channel.set_patience(MESSAGE_PATIENCE)?;
        let mut worker = Self {
            child,
            channel,
            errors,
            confined: false,
            confined_by: String::new(),
            owner: None,
        };
        match worker.wait(START_PATIENCE) {
            Ok(Some(Answer::Ready { confined, by })) if confined || config.allow_unconfined => {
                worker.confined = confined;
                worker.confined_by = by;
                Ok(worker)
            }
            Ok(Some(Answer::Ready { .. })) => {
                let end = worker.end();
                Err(io::Error::other(format!(
                    "this system cannot confine a parse worker ({}), and a defect of a parser would reach everything that \
                     the server may; start it with --allow-unconfined to parse all the same",
                    end.stderr_tail.lines().last().unwrap_or("it does not say why")
                )))
            }
            Ok(Some(_)) => Err(io::Error::other("a parse worker spoke out of turn")),
            Ok(None) | Err(_) => {
                let end = worker.end();
                let said = end.stderr_tail.lines().last().unwrap_or_default().to_owned();
                Err(io::Error::other(format!(
                    "a parse worker did not start: {} {said}",
                    end.reason()
                )))
            }
        }
    }

    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Hands it a job.
    pub(super) fn send(&self, spec: &ParseSpec, files: &JobFiles) -> io::Result<()> {
        let job = Job { spec: spec.clone() };
        let fds = [files.input.as_fd(), files.output.as_fd(), files.scratch.as_fd()];
        self.channel.send(&job, &fds)
    }

    /// The next answer, or `None` when there is none within `patience`.
    pub(super) fn wait(&self, patience: Duration) -> io::Result<Option<Answer>> {
        let until = Instant::now() + patience;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let timeout = Timespec {
                tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: left.subsec_nanos().into(),
            };
            let mut fds = [PollFd::new(&self.channel, PollFlags::IN)];
            match poll(&mut fds, Some(&timeout)) {
                Ok(0) => return Ok(None),
                Ok(_) => break,
                Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
        match self.channel.receive::<Answer>()? {
            Some((answer, _)) => Ok(Some(answer)),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Whether it lives, holds little enough, and has processor time enough left to be given another job.
    pub(super) fn is_fit(&mut self, config: &WorkerConfig) -> bool {
        matches!(self.child.try_wait(), Ok(None))
            && self.resident_bytes() <= KEEP_RESIDENT_BYTES
            && self.cpu_time() + config.parse_cpu <= config.cpu
    }

    /// Processor time that it has used; none when the system does not tell.
    fn cpu_time(&self) -> Duration {
        let path = format!("/proc/{}/stat", self.child.id());
        let text = std::fs::read_to_string(path).unwrap_or_default();
        Duration::from_secs(cpu_ticks(&text).unwrap_or(0) / TICKS_PER_SECOND)
    }

    /// Anonymous memory; 0 when the system does not tell.
    fn resident_bytes(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let line = text.lines().find_map(|l| l.strip_prefix("RssAnon:"));
        let kib = line.and_then(|l| l.trim().strip_suffix(" kB")).and_then(|n| n.parse().ok());
        kib.unwrap_or(0u64) << 10
    }

    /// Ends it, if it still runs, and says how it ended.
    pub(super) fn end(mut self) -> End {
        // One that has closed its end is about to end by itself, and its own status tells more.
        let until = Instant::now() + Duration::from_millis(200);
        let mut status = self.child.try_wait().ok().flatten();
        while status.is_none() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(2));
            status = self.child.try_wait().ok().flatten();
        }
        if status.is_none() {
            let _ = self.child.kill();
            status = self.child.wait().ok();
        }
        End { status, stderr_tail: self.stderr_tail() }
    }

    /// Ends it at once.
    pub(super) fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn stderr_tail(&mut self) -> String {
        let len = self.errors.metadata().map_or(0, |m| m.len());
        let mut bytes = Vec::new();
        let from = SeekFrom::Start(len.saturating_sub(STDERR_TAIL_BYTES));
        if self.errors.seek(from).is_ok() {
            let _ = (&self.errors).take(STDERR_TAIL_BYTES).read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).trim().to_owned()
    }
}

/// Processor time in user and system mode, of a process's `stat`: the 14th and 15th field, and the name in the second
/// may hold anything.
fn cpu_ticks(stat: &str) -> Option<u64> {
    let (_, behind) = stat.rsplit_once(')')?;
    let mut times = behind.split_whitespace().skip(11).map(str::parse::<u64>);
    Some(times.next()?.ok()? + times.next()?.ok()?)
}

/// A nameless file for what a worker writes to its standard error.
fn temporary_file() -> io::Result<File> {
    use rustix::fs::{MemfdFlags, memfd_create};
    Ok(File::from(memfd_create("parse-worker-errors", MemfdFlags::CLOEXEC)?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_process_is_read_behind_its_name() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 1 0 0 0 41 2 0 0 20 0 1 0 5 1 1";
        assert_eq!(cpu_ticks(stat), Some(43));
        assert_eq!(cpu_ticks("7 (a) S 1 2"), None);
        let own = std::fs::read_to_string("/proc/self/stat").unwrap();
        assert!(cpu_ticks(&own).is_some());
    }
}
