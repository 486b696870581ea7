//! The workers: kept ready, replaced when they end.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use graphlume_ingest::{Done, Failed, ParseSpec};
use graphlume_types::{CancelReason, CancelToken, Cancelled, Code, UserId};
use parking_lot::{Condvar, Mutex};

use super::process::Worker;
use super::{JobFiles, ParsersHealth, Watch, WorkerConfig};
use crate::protocol::Answer;

/// Between two looks at whether the job is still wanted.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Pause before another worker is started after one that did not start.
const START_PAUSE_MIN: Duration = Duration::from_millis(100);
const START_PAUSE_MAX: Duration = Duration::from_secs(30);
/// How long a job waits for a worker while none can be started.
const WORKER_PATIENCE: Duration = Duration::from_secs(60);

/// Worker processes.
pub(crate) struct Pool {
    config: WorkerConfig,
    state: Mutex<State>,
    /// There is an idle worker, or one has ended.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    idle: Vec<Worker>,
    /// Process ids of those that have a job.
    busy: Vec<u32>,
    confined: bool,
    /// What confines them, once it was told.
    confined_by: Option<String>,
    last_end: Option<String>,
}

impl State {
    fn alive(&self) -> usize {
        self.idle.len() + self.busy.len()
    }

    /// Which idle worker may parse bytes of `owner`: best one that has done so before.
    fn place_for(&self, owner: Option<UserId>) -> Option<usize> {
        let of = |whose: Option<UserId>| self.idle.iter().position(|w| w.owner == whose);
        owner.and_then(|o| of(Some(o))).or_else(|| of(None))
    }
}

impl Pool {
    /// Starts the workers, and a thread that starts others when they end.
    pub(crate) fn start(config: WorkerConfig) -> io::Result<Arc<Self>> {
        let pool = Arc::new(Self { config, state: Mutex::default(), changed: Condvar::new() });
        let keeper = Arc::downgrade(&pool);
        std::thread::Builder::new().name("parse-workers".to_owned()).spawn(move || {
            let mut pause = START_PAUSE_MIN;
            while let Some(pool) = keeper.upgrade() {
                pause = pool.keep(pause);
            }
        })?;
        Ok(pool)
    }

    pub(crate) fn health(&self) -> ParsersHealth {
        let state = self.state.lock();
        ParsersHealth {
            ready: state.alive(),
            busy: state.busy.len(),
            wanted: self.config.count,
            confined: state.confined,
            last_end: state.last_end.clone(),
        }
    }

    pub(crate) fn ids(&self) -> Vec<(u32, bool)> {
        let state = self.state.lock();
        let idle = state.idle.iter().map(|w| (w.id(), false));
        idle.chain(state.busy.iter().map(|id| (*id, true))).collect()
    }

    /// Starts one worker when one is missing, else waits a moment; the pause after the next failure.
    fn keep(&self, pause: Duration) -> Duration {
        let unfit: Vec<Worker> = {
            let mut state = self.state.lock();
            // One that ended while it was idle, or works although it has no job, is told by nothing else.
            state.idle.extract_if(.., |w| !w.is_fit(&self.config)).collect()
        };
        unfit.into_iter().for_each(Worker::kill);
        {
            let mut state = self.state.lock();
            if state.alive() >= self.config.count {
                self.changed.wait_for(&mut state, Duration::from_secs(1));
                return START_PAUSE_MIN;
            }
        }
        match Worker::start(&self.config) {
            Ok(worker) => {
                tracing::debug!(worker = worker.id(), "a parse worker is ready");
                let mut state = self.state.lock();
                if state.confined_by.as_deref() != Some(worker.confined_by.as_str()) {
                    // All of a server are alike, so that this is told once.
                    tracing::info!(by = worker.confined_by, "parse workers are confined");
                    state.confined_by = Some(worker.confined_by.clone());
                }
                state.confined = worker.confined;
                state.idle.push(worker);
                drop(state);
                self.changed.notify_all();
                START_PAUSE_MIN
            }
            Err(e) => {
                tracing::error!(error = %e, "a parse worker did not start");
                self.state.lock().last_end = Some(e.to_string());
                std::thread::sleep(pause);
                (2 * pause).min(START_PAUSE_MAX)
            }
        }
    }

    /// Runs a job of `owner`'s on an idle worker.
    pub(crate) fn run(
        &self,
        owner: Option<UserId>,
        spec: &ParseSpec,
        files: &JobFiles,
        cancel: &CancelToken,
        watch: &Watch,
    ) -> Result<Done, Failed> {
        let worker = self.take(owner, cancel)?;
        match self.converse(&worker, spec, files, cancel, watch) {
            Ok(outcome) => {
                self.give_back(worker);
                outcome
            }
            Err(stop) => {
                self.state.lock().busy.retain(|id| *id != worker.id());
                self.changed.notify_all();
                Err(self.explain(worker, stop, spec))
            }
        }
    }

    fn give_back(&self, mut worker: Worker) {
        // Where the owner of the bytes is unknown, it serves once.
        let fit = worker.is_fit(&self.config) && worker.owner.is_some();
        let mut state = self.state.lock();
        state.busy.retain(|id| *id != worker.id());
        let unfit = if fit {
            state.idle.push(worker);
            None
        } else {
            Some(worker)
        };
        drop(state);
        self.changed.notify_all();
        if let Some(worker) = unfit {
            worker.kill();
        }
    }

    /// An idle worker, which is busy from now on: one that has seen no bytes but `owner`'s. What a parser with a
    /// defect was made to remember must not reach the next account.
    fn take(&self, owner: Option<UserId>, cancel: &CancelToken) -> Result<Worker, Failed> {
        let until = Instant::now() + WORKER_PATIENCE;
        let mut state = self.state.lock();
        loop {
            while let Some(at) = state.place_for(owner) {
                let mut worker = state.idle.swap_remove(at);
                if worker.is_fit(&self.config) {
                    worker.owner = owner;
                    state.busy.push(worker.id());
                    return Ok(worker);
                }
                self.changed.notify_all();
            }
            // Those that are left have served others. One of them makes room, unless a new one is on its way already.
            if state.alive() >= self.config.count
                && let Some(worker) = state.idle.pop()
            {
                self.changed.notify_all();
                parking_lot::MutexGuard::unlocked(&mut state, || worker.kill());
                continue;
            }
            if let Err(Cancelled(reason)) = cancel.check() {
                return Err(stopped(reason));
            }
            if state.alive() == 0 && Instant::now() >= until {
                let why = state.last_end.clone().unwrap_or_default();
                let message = format!("no parse worker can be started: {why}; try again later");
                return Err(Failed::new(Code::Unavailable, "no-parser", message));
            }
            self.changed.wait_for(&mut state, LOOK_EVERY);
        }
    }

    fn converse(
        &self,
        worker: &Worker,
        spec: &ParseSpec,
        files: &JobFiles,
        cancel: &CancelToken,
        watch: &Watch,
    ) -> Result<Result<Done, Failed>, Stop> {
        let until = Instant::now() + self.config.patience;
        worker.send(spec, files).map_err(|_| Stop::Ended)?;
        loop {
            match worker.wait(LOOK_EVERY).map_err(|_| Stop::Ended)? {
                Some(Answer::Done(done)) => return Ok(Ok(done)),
                Some(Answer::Failed(failed)) => return Ok(Err(failed)),
                Some(Answer::Progress(progress)) => watch(progress),
                Some(Answer::Panicked(said)) => {
                    tracing::error!(format = %spec.format, said, "a parser panicked");
                }
                Some(Answer::Ready { .. }) => return Err(Stop::Ended),
                None => {}
            }
            cancel.check().map_err(Stop::Cancelled)?;
            if Instant::now() >= until {
                return Err(Stop::Late);
            }
        }
    }

    /// Ends a worker whose job did not come to its end, and says what that means for the bytes.
    fn explain(&self, worker: Worker, stop: Stop, spec: &ParseSpec) -> Failed {
        match stop {
            Stop::Ended => self.exit_report(worker, spec),
            Stop::Cancelled(Cancelled(reason)) => {
                worker.kill();
                stopped(reason)
            }
            Stop::Late => {
                worker.kill();
                let secs = self.config.patience.as_secs();
                tracing::warn!(format = %spec.format, "a parse took too long and was stopped");
                Failed::new(
                    Code::InvalidArgument,
                    "parse-time-limit",
                    format!(
                        "parsing took longer than {secs} s and was stopped; send less data at \
                         once, or raise --parse-seconds"
                    ),
                )
            }
        }
    }

    fn exit_report(&self, worker: Worker, spec: &ParseSpec) -> Failed {
        let id = worker.id();
        let end = worker.end();
        let reason = end.reason();
        tracing::error!(
            worker = id, format = %spec.format, reason, stderr_tail = end.stderr_tail,
            "a parse worker ended in the middle of a job"
        );
        self.state.lock().last_end = Some(reason.clone());
        if end.is_out_of_memory() {
            let limit = self.config.memory_bytes >> 20;
            return Failed::new(
                Code::TooLarge,
                "parse-memory-limit",
                format!(
                    "parsing needs more than {limit} MiB of memory; send the data in parts or as \
                     parquet, or raise --parse-memory"
                ),
            );
        }
        if end.is_out_of_time() {
            let limit = self.config.cpu.as_secs();
            return Failed::new(
                Code::InvalidArgument,
                "parse-time-limit",
                format!(
                    "the parser used more than {limit} s of processor time and was ended; send less data at once, or \
                     raise --parse-seconds"
                ),
            );
        }
        Failed::new(
            Code::InvalidArgument,
            "parser-crash",
            format!(
                "the parser ended on these bytes ({reason}); the server is not affected. Another \
                 file type may work"
            ),
        )
    }
}

/// Why a conversation did not come to its end.
enum Stop {
    Ended,
    Late,
    Cancelled(Cancelled),
}

fn stopped(reason: CancelReason) -> Failed {
    let code =
        if reason == CancelReason::Deadline { Code::DeadlineExceeded } else { Code::Cancelled };
    Failed::new(code, "cancelled", Cancelled(reason).to_string())
}
