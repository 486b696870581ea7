//! `graphlume serve`: wires storage, engine, service and shell together and waits for a signal.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::Arc;

use graphlume_engine::{EngineHandle, GpuChoice, OnDeviceLost};
use graphlume_http::{HttpConfig, HttpError, Listeners, Running};
use graphlume_service::{Bootstrap, Service, ServiceConfig, WorkerConfig};
use graphlume_types::{SystemClock, limits};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::user::println_result as line;
use super::{backend, rejected};
use crate::cli::{DeviceLostArg, LogFormat, ServeArgs, VERSION};
use crate::config::{self, ConfigError};
use crate::control;
use crate::failure::Failure;
use crate::process_limits::{self, Descriptors};
use crate::reload::{Reloader, SetLog};
use crate::serve_settings::{http_config, log_filter};
use crate::supervise::{self, EXIT_RESTART, Inherited};

/// Bytes of memory when the system does not tell how much there is.
const MEMORY_UNKNOWN_BYTES: u64 = 4 << 30;
/// The exit status after a failed sync (EX_IOERR of sysexits): what the disk holds can only be told by a new start.
const EXIT_DISK: u8 = 74;
/// Time between two rounds of upkeep.
const UPKEEP_EVERY: std::time::Duration = std::time::Duration::from_secs(3600);
/// Time between two notes of the time, below which no later run begins.
const CLOCK_MARK_EVERY: std::time::Duration = std::time::Duration::from_secs(60);
/// What connections get to end in order when the process has to be replaced.
const RESTART_DRAIN: std::time::Duration = std::time::Duration::from_millis(500);
/// What the last positions get to be written down then.
const RESTART_SUSPEND: std::time::Duration = std::time::Duration::from_millis(500);
/// The same when the server is told to stop.
const SUSPEND: std::time::Duration = std::time::Duration::from_secs(limits::SUSPEND_SECS_MAX);
/// How long the start waits for the first check of the engine.
const FIRST_CHECK: std::time::Duration = std::time::Duration::from_secs(2);
/// Share of the memory for graphs that parsed tables of fresh uploads may keep until they are opened.
const TABLE_CACHE_SHARE: u64 = 8;

/// Runs the server until it is told to stop.
pub fn run(args: ServeArgs) -> Result<(), Failure> {
    let mut http = http_config(&args).map_err(|e| rejected(&e))?;
    let memory = config::size("memory", &args.memory, memory_bytes()).map_err(|e| rejected(&e))?;
    let set_log = start_log(&args).map_err(|e| rejected(&e))?;
    process_limits::check(args.engine.threads)?;
    let descriptors = Descriptors::raised();
    http.connections_max = descriptors.connections(http.connections_max);
    let inherited = supervise::inherited()?;
    if args.supervise && inherited.is_none() {
        return supervise::run(&http);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("graphlume-io")
        .build()?;
    // From here on, however long the start takes: it would end the process.
    let hangup = {
        let _in = runtime.enter();
        signal(SignalKind::hangup())?
    };
    let on_hangup =
        OnHangup { signal: hangup, reloader: Reloader::new(args.given.clone(), set_log) };
    graphlume_engine::bound_freed(memory);
    let (gpu, tell_backend) = backend::choose(args.backend, args.device_memory.as_deref())?.split();
    // Parsers use rayon's own pool; the engine has another of the same size.
    rayon::ThreadPoolBuilder::new()
        .num_threads(args.engine.threads)
        .thread_name(|i| format!("graphlume-parse-{i}"))
        .build_global()?;
    let engine = engine_config(&args, memory, gpu, inherited.is_some());
    let running = serve(args, http, engine, inherited, tell_backend, on_hangup);
    runtime.block_on(running).map_err(process_limits::named)
}

fn memory_bytes() -> u64 {
    graphlume_device::memory().map_or(MEMORY_UNKNOWN_BYTES, |m| m.total_bytes)
}

/// Begins the log; gives what changes its filter.
fn start_log(args: &ServeArgs) -> Result<SetLog, ConfigError> {
    let builder =
        tracing_subscriber::fmt().with_env_filter(log_filter(&args.log)?).with_writer(|| Log);
    Ok(match args.log_format {
        LogFormat::Json => {
            let builder = builder.json().with_filter_reloading();
            let handle = builder.reload_handle();
            builder.init();
            Box::new(move |filter| handle.reload(filter).map_err(|e| e.to_string()))
        }
        LogFormat::Text => {
            let builder =
                builder.with_ansi(std::io::stderr().is_terminal()).with_filter_reloading();
            let handle = builder.reload_handle();
            builder.init();
            Box::new(move |filter| handle.reload(filter).map_err(|e| e.to_string()))
        }
    })
}

/// Standard error for the log. What it cannot take, on a disk that is full, is dropped: a log that fails would report that
/// on standard error again, and end the server.
struct Log;

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Ok(std::io::stderr().write(bytes).unwrap_or(bytes.len()))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The engine's settings.
fn engine_config(
    args: &ServeArgs,
    memory: u64,
    gpu: GpuChoice,
    is_supervised: bool,
) -> graphlume_engine::Config {
    let on_device_lost = match args.on_device_lost {
        Some(DeviceLostArg::Exit) => OnDeviceLost::Exit,
        Some(DeviceLostArg::Cpu) => OnDeviceLost::Cpu,
        None if is_supervised => OnDeviceLost::Exit,
        None => OnDeviceLost::Cpu,
    };
    graphlume_engine::Config {
        host_budget_bytes: memory,
        gpu,
        on_device_lost,
        ..args.engine.clone()
    }
}

/// The processes that parse. They are this program again, also when its file was replaced meanwhile.
fn worker_config(args: &ServeArgs) -> Result<WorkerConfig, Failure> {
    let memory = config::size("parse-memory", &args.parse_memory, memory_bytes());
    let memory_bytes = memory.map_err(|e| rejected(&e))?;
    let words = ["/proc/self/exe", "parse-worker", "--memory", "--threads", "--cpu-seconds"];
    let [program, command, memory, threads, cpu] = words.map(str::to_owned);
    // One parse may keep every thread busy for its whole time; 0 threads are as many as there are cores.
    let threads_busy = match args.engine.threads {
        0 => graphlume_device::cpu_features().threads,
        given => given,
    };
    let parse_cpu = args.parse_seconds.saturating_mul(threads_busy.max(1) as u64);
    let cpu_seconds = parse_cpu.saturating_mul(limits::PARSE_WORKER_PARSES_OF_CPU);
    Ok(WorkerConfig {
        command: vec![
            program,
            command,
            memory,
            memory_bytes.to_string(),
            threads,
            args.engine.threads.to_string(),
            cpu,
            cpu_seconds.to_string(),
        ],
        count: args.parse_workers.into(),
        patience: std::time::Duration::from_secs(args.parse_seconds),
        memory_bytes,
        cpu: std::time::Duration::from_secs(cpu_seconds),
        parse_cpu: std::time::Duration::from_secs(parse_cpu),
        allow_unconfined: args.allow_unconfined,
    })
}

async fn serve(
    args: ServeArgs,
    mut http: HttpConfig,
    engine: graphlume_engine::Config,
    inherited: Option<Inherited>,
    tell_backend: Box<dyn FnOnce() + Send>,
    on_hangup: OnHangup,
) -> Result<(), Failure> {
    // Only the process's own start reads the environment; the variable is not an option, so that a
    // password never shows in a process list.
    let admin_password = std::env::var("GRAPHLUME_ADMIN_PASSWORD").ok().filter(|p| !p.is_empty());
    let workers = worker_config(&args)?;
    // Before anything is made: a start that finds the address taken leaves the data folder as it is. Who connects from
    // now on waits.
    let sockets = match inherited {
        Some(inherited) => Sockets::Inherited(inherited),
        None => Sockets::Own(graphlume_http::listen(&http)?),
    };
    // On a terminal it is read there; anything else that standard output goes to is kept, and read by others.
    let keep_password = !std::io::stdout().is_terminal();
    let started = Service::start(
        ServiceConfig {
            admin_password,
            keep_password,
            settings: args.service.clone(),
            table_cache_bytes: engine.host_budget_bytes / TABLE_CACHE_SHARE,
            workers: Some(workers),
            engine,
            ..ServiceConfig::new(args.data.data.clone())
        },
        Arc::new(SystemClock),
    )
    .map_err(refused_start)?;
    // The first probe gets a checked answer; what is wrong shows there, so nothing is lost here.
    let _ = tokio::time::timeout(FIRST_CHECK, started.engine.probe()).await;
    let demo = if args.demo { Some(started.service.sessions.load_demo().await?) } else { None };
    if let Some(name) = &demo {
        http.demo_datasets.push((name.clone(), "Demo graph".to_owned()));
    }
    // Signals are caught before the address is announced, so that a script that reads it can stop the server cleanly.
    let (term, int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let is_first = sockets.are_first();
    let running = listen(http, &started.service, sockets).await?;
    tell_backend();
    // Opened before the announcement, which names commands (`graphlume user password`) that use it.
    let control = control::listen(&args.data.data, Arc::clone(&started.service))
        .inspect_err(|e| tracing::warn!(error = %e, "commands of the command line are not taken"));
    if is_first {
        announce(&args, &running, demo.as_deref());
    }
    first_start(&args.data.data, started.bootstrap.as_ref());
    let upkeep = tokio::spawn(upkeep(Arc::clone(&started.service)));
    let restart = tokio::select! {
        () = told_to_end(term, int) => None,
        reason = started.engine.restart_wanted() => Some((reason, EXIT_RESTART)),
        reason = started.service.store_stopped() => {
            Some((format!("the store takes no more writes: {reason}"), EXIT_DISK))
        }
        never = on_hangup.reloads(&running) => match never {},
    };
    if let Some((reason, status)) = restart {
        return restart_now(&running, &started.engine, reason, status).await;
    }
    suspend(&started.engine, SUSPEND).await;
    running.stop().await;
    drop(control);
    upkeep.abort();
    drop(started.engine);
    let engine = started.engine_thread;
    tokio::task::spawn_blocking(move || engine.stop()).await?;
    Ok(())
}

/// Waits for a signal that ends the server.
async fn told_to_end(mut term: Signal, mut int: Signal) {
    tokio::select! {
        _ = term.recv() => tracing::info!("SIGTERM: draining"),
        _ = int.recv() => tracing::info!("SIGINT: draining"),
    }
}

/// The end of a terminal session, or an operator who wants the file read again: no reason to end either way.
struct OnHangup {
    signal: Signal,
    reloader: Reloader,
}

impl OnHangup {
    async fn reloads(mut self, running: &Running) -> std::convert::Infallible {
        loop {
            // Signals that come before one is answered count as one.
            match self.signal.recv().await {
                Some(()) => self.reloader.reload(running),
                None => std::future::pending().await,
            }
        }
    }
}

/// Stops the layouts and has their positions written down, while viewers are still there to see the last
/// of them.
async fn suspend(engine: &EngineHandle, patience: std::time::Duration) {
    match tokio::time::timeout(patience, engine.suspend()).await {
        Ok(Ok(())) => {}
        Ok(Err(e)) => tracing::warn!(error = %e, "the last positions are not kept"),
        Err(_) => tracing::warn!("the last positions are not kept: writing them takes too long"),
    }
}

/// A start that would fail again in the same way has the status of a refused configuration, so that nothing starts it
/// over and over.
fn refused_start(e: graphlume_service::ServiceError) -> Failure {
    let is_permanent = e.is_permanent();
    let failure = Failure::from(e);
    if !is_permanent {
        return failure;
    }
    Failure { exit: crate::failure::EXIT_CONFIG, ..failure }
}

/// Answers what is waiting and ends the process: a driver whose device is lost may never return from
/// an orderly end. Everything durable is on the disk already.
async fn restart_now(
    running: &Running,
    engine: &EngineHandle,
    reason: String,
    status: u8,
) -> Result<(), Failure> {
    suspend(engine, RESTART_SUSPEND).await;
    if tokio::time::timeout(RESTART_DRAIN, running.stop()).await.is_err() {
        tracing::warn!("connections are cut off");
    }
    say!("error: {reason}; the process ends with status {status} to be started again");
    std::process::exit(status.into())
}

/// What the server accepts on.
enum Sockets {
    /// What the supervisor holds.
    Inherited(Inherited),
    /// Our own.
    Own(Listeners),
}

impl Sockets {
    /// Whether the address was not announced yet.
    const fn are_first(&self) -> bool {
        match self {
            Self::Inherited(inherited) => inherited.is_first,
            Self::Own(_) => true,
        }
    }
}

/// Serves on the sockets.
async fn listen(
    http: HttpConfig,
    service: &Arc<Service>,
    sockets: Sockets,
) -> Result<Running, HttpError> {
    let service = Arc::clone(service);
    match sockets {
        Sockets::Own(listeners) => graphlume_http::serve_on(http, service, listeners).await,
        Sockets::Inherited(Inherited { listeners, ready, .. }) => {
            let running = graphlume_http::serve_on(http, service, listeners).await?;
            ready.tell();
            Ok(running)
        }
    }
}

/// Exports the records once a day and sweeps files that nothing refers to.
async fn upkeep(service: Arc<Service>) {
    let mut hourly = tokio::time::interval(UPKEEP_EVERY);
    let mut minutely = tokio::time::interval(CLOCK_MARK_EVERY);
    loop {
        tokio::select! {
            // Each part that failed has been logged and counted there.
            _ = hourly.tick() => drop(service.upkeep.run().await),
            _ = minutely.tick() => {
                if let Err(e) = service.upkeep.keep_time().await {
                    tracing::warn!(error = %e, "the time was not written down");
                }
            }
        }
    }
}

/// What a person who started the server needs to know, once, on standard output.
fn announce(args: &ServeArgs, running: &Running, demo: Option<&str>) {
    let base = format!("http://{}", running.addr);
    line(&format!("Graphlume {VERSION}"));
    line(&format!("  address      {base}"));
    if let Some(addr) = running.internal_addr {
        let moved = args.http.internal_listen.filter(|a| a.port() != 0 && a.port() != addr.port());
        let why = moved.map(|usual| format!("  (a free port: {usual} is taken)"));
        let why = why.unwrap_or_default();
        line(&format!("  operators    http://{addr}/check-workers  http://{addr}/metrics{why}"));
    }
    line(&format!("  data folder  {}", args.data.data.display()));
    if let Some(dataset) = demo {
        line(&format!("  demo graph   {base}/graph/graph.html?dataset={dataset}"));
    }
}

/// The superuser that this start made.
fn first_start(data: &Path, bootstrap: Option<&Bootstrap>) {
    let text = match bootstrap {
        Some(Bootstrap { username, kept_in: Some(path), .. }) => format!(
            "  first start  superuser {username}, password in {}\n               (only your account can read that file; `graphlume user password {username} --data {}` sets another one\n               and removes it)",
            path.display(),
            data.display()
        ),
        Some(b) if b.generated => format!(
            "  first start  superuser {}, password: {}\n               (shown this once; `graphlume user password {} --data {}` changes it)",
            b.username,
            b.password,
            b.username,
            data.display()
        ),
        Some(b) => format!(
            "  first start  superuser {} with the password from GRAPHLUME_ADMIN_PASSWORD",
            b.username
        ),
        None => return,
    };
    line(&text);
}
