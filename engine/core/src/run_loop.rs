//! The engine thread: one loop that decides everything and does nothing that takes long.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam::channel::{Receiver, Select, Sender, bounded};
use graphlume_device::CpuPool;
use graphlume_types::{Budget, Clock, Code, limits};

use crate::cmd;
use crate::config::Config;
use crate::core::{Core, Crews, make_room};
use crate::desk::Desk;
use crate::device::card::Card;
use crate::device::watch::{Patience, Watchdog};
use crate::device::{GpuChoice, OnDeviceLost};
use crate::error::EngineError;
use crate::event::Event;
use crate::handle::EngineHandle;
use crate::health::Shared;
use crate::keeper::Keeper;
use crate::lane::{Envelope, Inbox, lanes};
use crate::loader::Loader;
use crate::workers::{Workers, panic_text};

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
        // The lane may be full for a moment; the loop is emptying it.
        while !thread.is_finished() {
            match crate::reply::block_on(self.handle.call(cmd::drain::Drain)) {
                Err(EngineError::Busy { .. }) => std::thread::sleep(Duration::from_millis(1)),
                _ => break,
            }
        }
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

/// Starts the engine. Without a keeper, positions end with it.
///
/// # Errors
/// When the operating system gives no threads.
pub fn start(
    config: Config,
    loader: Arc<dyn Loader>,
    keeper: Option<Arc<dyn Keeper>>,
    clock: Arc<dyn Clock>,
) -> Result<(EngineHandle, EngineThread), EngineError> {
    let budget = Budget::new("host", config.host_budget_bytes);
    let card = match &config.gpu {
        GpuChoice::Use(gpu) => Ok(Arc::new(
            Card::new(gpu.clone(), clock.clone()).map_err(|e| EngineError::from_coded(&e))?,
        )),
        GpuChoice::None { reason } => Err(reason.clone()),
    };
    let shared = Arc::new(Shared::new(clock, config.call_time, budget, card));
    let patience = Patience { alarm: config.alarm_after, end: config.give_up_after };
    let is_restarted = config.on_device_lost == OnDeviceLost::Exit;
    let watch = Watchdog::start(shared.clone(), patience, config.exit_on_panic, is_restarted);
    let watch = watch.map_err(|e| no_thread(&e))?;
    let pool = CpuPool::new(config.threads).map_err(|e| EngineError::from_coded(&e))?;
    shared.threads.store(pool.threads(), Ordering::Relaxed);
    let pool = Arc::new(pool);
    let (lanes, inbox) = lanes();
    let (events, reports) = bounded(EVENTS_WAITING_MAX);
    let crews = crews(&config, &events, &shared).map_err(|e| no_thread(&e))?;
    let _ = shared.make_room.set(make_room(events.clone(), shared.query_memory_max()));
    let handle = EngineHandle::new(lanes, shared.clone());
    let thread = std::thread::Builder::new()
        .name("graphlume-engine".to_owned())
        .spawn(move || {
            let exit_on_panic = config.exit_on_panic;
            let body = AssertUnwindSafe(|| {
                let core = Core::new(config, shared.clone(), pool, crews, loader, keeper, events);
                run(core, &inbox, &reports);
            });
            if let Err(payload) = catch_unwind(body) {
                shared.dead.store(true, Ordering::Relaxed);
                tracing::error!(panic = panic_text(payload.as_ref()), "the engine loop panicked");
                if exit_on_panic {
                    std::process::exit(70);
                }
            }
        })
        .map_err(|e| no_thread(&e))?;
    Ok((handle.clone(), EngineThread { handle, thread: Some(thread), _watch: watch }))
}

fn crews(config: &Config, events: &Sender<Event>, shared: &Arc<Shared>) -> std::io::Result<Crews> {
    let crew = |name, count, limit| Workers::start(name, count, limit, events, shared);
    Ok(Crews {
        loaders: crew("load", config.loader_threads, limits::LOADS_QUEUED_MAX)?,
        layouts: crew("layout", config.layout_threads, config.layout_threads.max(1) * 2)?,
        // One at a time: what runs on the device runs on one stream after the other anyway.
        device: crew("device", 1, 2)?,
        queries: crew("query", config.query_threads, limits::JOBS_QUEUED_MAX)?,
        desk: Desk::start(shared.threads.load(Ordering::Relaxed), shared)?,
        background: crew("background", 1, limits::JOBS_QUEUED_MAX)?,
        keepers: crew("keep", 1, limits::JOBS_QUEUED_MAX)?,
        restorers: crew("restore", 1, limits::JOBS_QUEUED_MAX)?,
    })
}

fn run(mut core: Core, inbox: &Inbox, reports: &Receiver<Event>) {
    let mut polled = core.now();
    core.poll();
    while !core.stopping {
        core.woken |= !wait(inbox, reports, core.config.poll);
        let begun = core.now();
        core.shared.beat(begun);
        let culprit = turn(&mut core, inbox, reports, begun, &mut polled);
        let took = core.now().saturating_duration_since(begun);
        if took > STALL {
            core.shared.counters.stalls.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(millis = took.as_millis(), culprit, "a turn of the engine took long");
        }
    }
    end(core, inbox);
}

/// Sleeps until there is something to do, or for `poll`; whether there is something.
fn wait(inbox: &Inbox, reports: &Receiver<Event>, poll: Duration) -> bool {
    let mut select = Select::new();
    select.recv(&inbox.control);
    select.recv(&inbox.interactive);
    select.recv(&inbox.batch);
    select.recv(reports);
    select.ready_timeout(poll).is_ok()
}

/// One turn. Returns what took longest, for the log.
fn turn(
    core: &mut Core,
    inbox: &Inbox,
    reports: &Receiver<Event>,
    begun: Instant,
    polled: &mut Instant,
) -> &'static str {
    let mut watch = Watch { longest: Duration::ZERO, culprit: "nothing" };
    for envelope in inbox.control.try_iter().take(CONTROL_PER_TURN) {
        let name = envelope.command.name();
        watch.time(core, name, |core| carry_out(core, envelope));
    }
    for event in reports.try_iter().take(EVENTS_PER_TURN) {
        watch.time(core, "event", |core| core.on_event(event));
    }
    let mut idle = true;
    for envelope in inbox.interactive.try_iter() {
        idle = false;
        let name = envelope.command.name();
        watch.time(core, name, |core| carry_out(core, envelope));
        if core.now().saturating_duration_since(begun) >= TURN_BUDGET {
            break;
        }
    }
    if core.woken || begun.saturating_duration_since(*polled) >= core.config.poll {
        *polled = begun;
        watch.time(core, "poll", Core::poll);
    }
    watch.time(core, "dispatch", Core::dispatch);
    if idle && let Ok(envelope) = inbox.batch.try_recv() {
        let name = envelope.command.name();
        watch.time(core, name, |core| carry_out(core, envelope));
    }
    watch.culprit
}

struct Watch {
    longest: Duration,
    culprit: &'static str,
}

impl Watch {
    fn time(&mut self, core: &mut Core, what: &'static str, f: impl FnOnce(&mut Core)) {
        let begun = core.now();
        f(core);
        let took = core.now().saturating_duration_since(begun);
        if took > self.longest {
            (self.longest, self.culprit) = (took, what);
        }
    }
}

/// Carries out one command. A panic in it answers through the dropped reply and harms nothing else.
fn carry_out(core: &mut Core, envelope: Envelope) {
    let Envelope { command, cancel } = envelope;
    if command.is_abandoned() {
        return;
    }
    if let Err(stopped) = cancel.check() {
        command.refuse(stopped.into());
        return;
    }
    let name = command.name();
    let done = catch_unwind(AssertUnwindSafe(|| command.apply(core, cancel)));
    if let Err(payload) = done {
        core.shared.counters.panics.fetch_add(1, Ordering::Relaxed);
        tracing::error!(command = name, panic = panic_text(payload.as_ref()), "a command panicked");
    }
}

/// Answers everybody who still waits and lets the workers go.
fn end(mut core: Core, inbox: &Inbox) {
    core.stop();
    for lane in [&inbox.control, &inbox.interactive, &inbox.batch] {
        for envelope in lane.try_iter() {
            envelope.command.refuse(EngineError::Stopped);
        }
    }
    let crews = &mut core.crews;
    // Loaders run code of others and may take their time over noticing; nobody waits for them.
    drop(crews.loaders.close());
    // Neither for work on a device that does not come back.
    let device = crews.device.close();
    if core.shared.restart_reason().is_none() {
        device.into_iter().for_each(|thread| drop(thread.join()));
    }
    let crews = [
        &mut crews.layouts,
        &mut crews.queries,
        &mut crews.background,
        &mut crews.keepers,
        &mut crews.restorers,
    ];
    let mut threads: Vec<JoinHandle<()>> = crews.into_iter().flat_map(Workers::close).collect();
    threads.extend(core.crews.desk.close());
    drop(core);
    drop(threads);
}
