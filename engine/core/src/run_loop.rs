//! The engine thread: one loop that decides everything and does nothing that takes long.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, Select, bounded};
use graphlume_device::CpuPool;
use graphlume_types::{Clock, Code};

use crate::checkpoint::CheckpointStore;
use crate::cmd::drain::Drain;
use crate::command_queue::{CommandReceiver, QueuedCommand, command_queues};
use crate::config::Config;
use crate::context::EngineContext;
use crate::device::GpuChoice;
use crate::device::gpu_device::GpuDevice;
use crate::engine::{Engine, EngineEvent, EngineParts};
use crate::error::EngineError;
use crate::handle::EngineHandle;
use crate::loader::Loader;
use crate::report::Reports;
use crate::residency::QueryMemory;
use crate::scheduler::Scheduler;
use crate::watchdog::Watchdog;
use crate::workers::panic_text;

/// Control commands of one turn.
const CONTROL_PER_TURN: usize = 64;
/// Reports of workers taken in per turn.
const EVENTS_PER_TURN: usize = 64;
/// Reports that wait before workers wait with them.
const EVENTS_WAITING_MAX: usize = 256;
/// Interactive commands are begun within this time of a turn's start; one always is.
const TURN_BUDGET: Duration = Duration::from_millis(10);
/// A longer turn is counted and logged.
const STALL: Duration = Duration::from_millis(50);

/// The engine's thread; [`EngineThread::stop`] or dropping it ends the engine.
pub struct EngineThread {
    handle: EngineHandle,
    thread: Option<JoinHandle<()>>,
    _watch: Watchdog,
}

impl std::fmt::Debug for EngineThread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EngineThread").finish_non_exhaustive()
    }
}

impl EngineThread {
    /// Stops layouts and loads, tells the viewers, answers what waits, and waits for the thread.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        // Nothing to end when the loop has gone already.
        let _ = crate::reply::block_on(self.handle.caller.call_waiting(Drain));
        if thread.join().is_err() {
            tracing::error!("the engine thread had panicked");
        }
    }
}

impl Drop for EngineThread {
    fn drop(&mut self) {
        self.end();
    }
}

fn no_thread(e: &std::io::Error) -> EngineError {
    EngineError::Work {
        code: Code::Unavailable,
        slug: "no-thread",
        message: format!("the operating system gives no thread: {e}").into(),
    }
}

/// Starts the engine. Without a store of checkpoints, positions end with it.
///
/// # Errors
/// When the operating system gives no threads.
pub fn start(
    config: Config,
    loader: Arc<dyn Loader>,
    checkpoints: Option<Arc<dyn CheckpointStore>>,
    clock: Arc<dyn Clock>,
) -> Result<(EngineHandle, EngineThread), EngineError> {
    let gpu = match &config.gpu {
        GpuChoice::Use(gpu) => Ok(Arc::new(
            GpuDevice::new(gpu.clone(), clock.clone()).map_err(|e| EngineError::from_coded(&e))?,
        )),
        GpuChoice::None { reason } => Err(reason.clone()),
    };
    let cpu = CpuPool::new(config.threads).map_err(|e| EngineError::from_coded(&e))?;
    let cpu = Arc::new(cpu);
    let ctx = Arc::new(EngineContext::new(config, clock, gpu, cpu.threads()));
    let watch = Watchdog::start(ctx.clone()).map_err(|e| no_thread(&e))?;
    let (commands, received) = command_queues();
    let (events, reports) = bounded(EVENTS_WAITING_MAX);
    let scheduler = Scheduler::start(&ctx, cpu).map_err(|e| no_thread(&e))?;
    let memory = QueryMemory::new(&ctx, Reports::new(events.clone()));
    let handle = EngineHandle::new(commands, ctx.clone(), memory);
    let parts = EngineParts { ctx, scheduler, loader, checkpoints, events };
    let thread = std::thread::Builder::new()
        .name("graphlume-engine".to_owned())
        .spawn(move || engine_thread(parts, &received, &reports))
        .map_err(|e| no_thread(&e))?;
    Ok((handle.clone(), EngineThread { handle, thread: Some(thread), _watch: watch }))
}

/// The body of the engine's thread. A panic here is one of the loop itself.
fn engine_thread(parts: EngineParts, commands: &CommandReceiver, reports: &Receiver<EngineEvent>) {
    let ctx = parts.ctx.clone();
    let body = AssertUnwindSafe(|| run(Engine::new(parts), commands, reports));
    if let Err(payload) = catch_unwind(body) {
        ctx.note_dead();
        tracing::error!(panic = panic_text(payload.as_ref()), "the engine loop panicked");
        if ctx.config.exit_on_panic {
            std::process::exit(70);
        }
    }
}

fn run(mut engine: Engine, commands: &CommandReceiver, reports: &Receiver<EngineEvent>) {
    let ctx = engine.ctx.clone();
    let tick_every = ctx.config.tick;
    let mut ticked = ctx.now();
    engine.tick();
    while !engine.is_stopping() {
        if !wait(&ctx, commands, reports, tick_every) {
            engine.sessions.request_tick();
        }
        let begun = ctx.now();
        ctx.beat(begun);
        let culprit = turn(&mut engine, commands, reports, begun, &mut ticked);
        let took = ctx.now().saturating_duration_since(begun);
        if took > STALL {
            ctx.counters.stalls.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(millis = took.as_millis(), culprit, "a turn of the engine took long");
        }
    }
    end(engine, commands);
}

/// Sleeps until there is something to do, or for a tick at most; whether there is something.
fn wait(
    ctx: &EngineContext,
    commands: &CommandReceiver,
    reports: &Receiver<EngineEvent>,
    tick: Duration,
) -> bool {
    let mut select = Select::new();
    select.recv(&commands.control);
    select.recv(&commands.interactive);
    select.recv(&commands.batch);
    select.recv(reports);
    select.recv(ctx.wakes());
    select.ready_timeout(tick).is_ok()
}

/// One turn. Returns what took longest, for the log.
fn turn(
    engine: &mut Engine,
    commands: &CommandReceiver,
    reports: &Receiver<EngineEvent>,
    begun: Instant,
    ticked: &mut Instant,
) -> &'static str {
    let mut watch = Watch { longest: Duration::ZERO, culprit: "nothing" };
    let ctx = engine.ctx.clone();
    // Taken before the look, so that what changes during the look is looked at once more.
    if ctx.wakes().try_recv().is_ok() {
        engine.sessions.request_tick();
    }
    for queued in commands.control.try_iter().take(CONTROL_PER_TURN) {
        let name = queued.command.name();
        watch.time(engine, name, |engine| carry_out(engine, queued));
    }
    for event in reports.try_iter().take(EVENTS_PER_TURN) {
        watch.time(engine, "event", |engine| engine.on_event(event));
    }
    let mut idle = true;
    for queued in commands.interactive.try_iter() {
        idle = false;
        let name = queued.command.name();
        watch.time(engine, name, |engine| carry_out(engine, queued));
        if ctx.now().saturating_duration_since(begun) >= TURN_BUDGET {
            break;
        }
    }
    let since = begun.saturating_duration_since(*ticked);
    if engine.sessions.is_tick_due() || since >= ctx.config.tick {
        *ticked = begun;
        watch.time(engine, "tick", Engine::tick);
    }
    watch.time(engine, "dispatch", Engine::dispatch);
    if idle && let Ok(queued) = commands.batch.try_recv() {
        let name = queued.command.name();
        watch.time(engine, name, |engine| carry_out(engine, queued));
    }
    watch.culprit
}

struct Watch {
    longest: Duration,
    culprit: &'static str,
}

impl Watch {
    fn time(&mut self, engine: &mut Engine, what: &'static str, f: impl FnOnce(&mut Engine)) {
        let begun = engine.ctx.now();
        f(engine);
        let took = engine.ctx.now().saturating_duration_since(begun);
        if took > self.longest {
            (self.longest, self.culprit) = (took, what);
        }
    }
}

/// Carries out one command. A panic in it answers through the dropped reply and harms nothing else.
fn carry_out(engine: &mut Engine, queued: QueuedCommand) {
    let QueuedCommand { command, cancel } = queued;
    if command.is_abandoned() {
        return;
    }
    if let Err(stopped) = cancel.check() {
        command.refuse(stopped.into());
        return;
    }
    let name = command.name();
    let done = catch_unwind(AssertUnwindSafe(|| command.apply(engine, cancel)));
    if let Err(payload) = done {
        engine.ctx.counters.panics.fetch_add(1, Ordering::Relaxed);
        tracing::error!(command = name, panic = panic_text(payload.as_ref()), "a command panicked");
    }
}

/// Answers the callers that still wait and lets the workers go.
fn end(mut engine: Engine, commands: &CommandReceiver) {
    engine.stop();
    for queue in [&commands.control, &commands.interactive, &commands.batch] {
        for queued in queue.try_iter() {
            queued.command.refuse(EngineError::Stopped);
        }
    }
    engine.close();
}
