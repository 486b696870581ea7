//! Named threads that carry out jobs. A panic ends the job and nothing else.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use crossbeam::channel::{Receiver, Sender, bounded};

use crate::context::EngineContext;
use crate::error::EngineError;
use crate::thread_priority::lower_priority;

/// Work for a thread that is not the loop. What it finds out, it tells through a reply or a
/// [`Report`](crate::report::Report) of its own.
pub(crate) struct Job {
    /// What it is, for logs.
    what: &'static str,
    run: Box<dyn FnOnce() + Send>,
}

impl Job {
    pub(crate) fn new(what: &'static str, run: impl FnOnce() + Send + 'static) -> Self {
        Self { what, run: Box::new(run) }
    }
}

/// Some threads with one bounded queue.
pub(crate) struct WorkerPool {
    name: &'static str,
    sender: Option<Sender<Job>>,
    limit: usize,
    threads: Vec<JoinHandle<()>>,
}

/// Bytes of the stack of a thread for long work.
const STACK_BYTES: usize = 8 << 20;

/// Lowers the priority of this thread.
fn run_low() {
    if let Err(e) = lower_priority() {
        tracing::warn!(error = %e, "long work runs at normal priority");
    }
}

/// The text of a panic.
pub(crate) fn panic_text(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message")
}

fn serve(jobs: &Receiver<Job>, ctx: &EngineContext) {
    for Job { what, run } in jobs {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(run)) {
            ctx.counters.panics.fetch_add(1, Ordering::Relaxed);
            tracing::error!(job = what, panic = panic_text(payload.as_ref()), "a job panicked");
        }
    }
}

impl WorkerPool {
    /// # Errors
    /// When the operating system gives no thread.
    pub(crate) fn start(
        name: &'static str,
        count: usize,
        limit: usize,
        ctx: &Arc<EngineContext>,
    ) -> std::io::Result<Self> {
        let (sender, jobs) = bounded(limit);
        let mut threads = Vec::with_capacity(count);
        for i in 0..count.max(1) {
            let (jobs, ctx) = (jobs.clone(), ctx.clone());
            threads.push(
                std::thread::Builder::new()
                    .name(format!("gl-{name}-{i}"))
                    .spawn(move || serve(&jobs, &ctx))?,
            );
        }
        Ok(Self { name, sender: Some(sender), limit, threads })
    }

    /// Threads of low priority for long work, each with a CPU pool of its own, in which its jobs run: none of them keeps
    /// the work of others waiting. Up to `limit` jobs wait.
    ///
    /// # Errors
    /// When the operating system gives no thread.
    pub(crate) fn start_apart(
        name: &'static str,
        count: usize,
        limit: usize,
        ctx: &Arc<EngineContext>,
    ) -> std::io::Result<Self> {
        let (sender, jobs) = bounded::<Job>(limit);
        let mut threads = Vec::with_capacity(count);
        for i in 0..count.max(1) {
            let (jobs, ctx, width) = (jobs.clone(), ctx.clone(), ctx.threads());
            let thread = std::thread::Builder::new().name(format!("gl-{name}-{i}"));
            let (built, ready) = bounded(1);
            threads.push(thread.stack_size(STACK_BYTES).spawn(move || {
                let pool = rayon::ThreadPoolBuilder::new()
                    .num_threads(width)
                    .use_current_thread()
                    .stack_size(STACK_BYTES)
                    .thread_name(move |n| format!("gl-{name}-{i}-{n}"))
                    .start_handler(|_| run_low())
                    .build();
                match pool {
                    Ok(pool) => {
                        run_low();
                        let _ = built.send(Ok(()));
                        pool.install(|| serve(&jobs, &ctx));
                    }
                    Err(e) => drop(built.send(Err(std::io::Error::other(e)))),
                }
            })?);
            ready.recv().map_err(std::io::Error::other)??;
        }
        Ok(Self { name, sender: Some(sender), limit, threads })
    }

    /// Whether another job fits. Only the loop submits, so the answer holds until it does.
    ///
    /// # Errors
    /// [`EngineError::Busy`].
    pub(crate) fn check_room(&self) -> Result<(), EngineError> {
        match &self.sender {
            Some(s) if !s.is_full() => Ok(()),
            Some(_) => Err(EngineError::Busy { what: self.name, limit: self.limit }),
            None => Err(EngineError::Stopped),
        }
    }

    /// Queues a job; never blocks.
    ///
    /// # Errors
    /// [`EngineError::Busy`], and the job is dropped with its reply: ask [`Self::check_room`] first.
    pub(crate) fn submit(&self, job: Job) -> Result<(), EngineError> {
        self.check_room()?;
        let sent = self.sender.as_ref().map(|s| s.try_send(job).is_ok());
        if sent == Some(true) { Ok(()) } else { Err(EngineError::Stopped) }
    }

    /// Jobs waiting.
    pub(crate) fn depth(&self) -> usize {
        self.sender.as_ref().map_or(0, Sender::len)
    }

    /// Takes no more jobs; the threads end when they have done those that were taken.
    pub(crate) fn close(&mut self) -> Vec<JoinHandle<()>> {
        self.sender = None;
        std::mem::take(&mut self.threads)
    }
}
