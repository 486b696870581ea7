//! The process that parses: it gets its jobs through a socket, with every file that it may touch already
//! open, and has given up everything else. A parser that crashes, hangs or eats memory takes this process
//! with it and no other.

mod confine;
mod enclose;
mod panics;

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use graphlume_ingest::{ParseCx, Progress, Source, work};
use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, poll};

pub use confine::confine;
pub use enclose::{Enclosed, enclose};

use crate::channel::Channel;
use crate::protocol::{Answer, Job};

/// Time between two messages about progress.
const PROGRESS_EVERY: Duration = Duration::from_millis(100);

/// What a worker may use.
#[derive(Debug, Clone, Copy)]
pub struct WorkerLimits {
    /// Bytes of memory that is not a mapped file.
    pub memory_bytes: u64,
    /// Threads of a parse.
    pub threads: usize,
    /// Seconds of processor time in all, for every job that it gets.
    pub cpu_seconds: u64,
}

/// Works through the jobs that come through `socket` until its other end is closed. The process must have no other
/// thread yet.
///
/// # Errors
/// The socket fails, or a message is none of ours.
pub fn serve(socket: OwnedFd, limits: WorkerLimits) -> io::Result<()> {
    let enclosed = enclose();
    let channel = Channel::new(UnixStream::from(socket));
    rayon::ThreadPoolBuilder::new()
        .num_threads(limits.threads)
        .thread_name(|i| format!("parse-{i}"))
        .build_global()
        .map_err(io::Error::other)?;
    end_with_the_parent(channel.try_clone()?)?;
    let confined = confine(limits.memory_bytes, limits.cpu_seconds);
    if let Err(e) = &confined {
        eprintln!("{e}");
    }
    panics::remember();
    let filter = if confined.is_ok() { "a system call filter" } else { "no system call filter" };
    let by = format!("{filter}, {}", enclosed.words());
    channel.send(&Answer::Ready { confined: confined.is_ok(), by }, &[])?;
    while let Some((job, files)) = channel.receive::<Job>()? {
        let [input, output, scratch] = <[OwnedFd; 3]>::try_from(files)
            .map_err(|_| io::Error::other("a job comes with three files"))?
            .map(File::from);
        let watch = Reporter { channel: channel.try_clone()?, last: Mutex::new(None) };
        let cx = ParseCx {
            watch: Some(Arc::new(move |progress| watch.tell(progress))),
            scratch: Some(Arc::new(scratch)),
            ..ParseCx::default()
        };
        let answer = match work(&job.spec, &Source::File(Arc::new(input)), &output, &cx) {
            Ok(done) => Answer::Done(done),
            Err(failed) => Answer::Failed(failed),
        };
        drop(cx);
        if let Some(said) = panics::take() {
            channel.send(&Answer::Panicked(said), &[])?;
        }
        channel.send(&answer, &[])?;
    }
    Ok(())
}

/// Sends progress, but not too often.
struct Reporter {
    channel: Channel,
    last: Mutex<Option<(Progress, Instant)>>,
}

impl Reporter {
    fn tell(&self, progress: Progress) {
        let mut last = self.last.lock();
        let now = Instant::now();
        let is_news = last.is_none_or(|(p, at)| {
            p.stage != progress.stage || now.duration_since(at) >= PROGRESS_EVERY
        });
        if is_news {
            *last = Some((progress, now));
            // A parent that does not read this does not read the answer either, which ends the process.
            let _ = self.channel.send(&Answer::Progress(progress), &[]);
        }
    }
}

/// A job must not outlive the server that waits for it.
fn end_with_the_parent(channel: Channel) -> io::Result<()> {
    let watch = move || {
        loop {
            // No event is asked for: what is always told is that the other end has gone.
            let mut fds = [PollFd::new(&channel, PollFlags::empty())];
            match poll(&mut fds, None) {
                Ok(_) if fds[0].revents().intersects(PollFlags::HUP | PollFlags::ERR) => {
                    std::process::exit(0)
                }
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
        }
    };
    std::thread::Builder::new().name("parent-watch".to_owned()).spawn(watch)?;
    Ok(())
}
