//! `graphlume serve`: wires storage, engine, service and shell together and waits for a signal.

use std::io::IsTerminal;
use std::sync::Arc;

use graphlume_device::GpuStatus;
use graphlume_http::{CookieConfig, HttpConfig};
use graphlume_service::{Bootstrap, Service, ServiceConfig};
use graphlume_types::SystemClock;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

use super::{Failure, rejected};
use crate::cli::{Backend, LogFormat, ServeArgs, VERSION};
use crate::config::{self, ConfigError};

/// Bytes of memory when the system does not tell how much there is.
const MEMORY_UNKNOWN_BYTES: u64 = 4 << 30;
/// Time between two rounds of upkeep.
const UPKEEP_EVERY: std::time::Duration = std::time::Duration::from_secs(3600);
/// Share of the memory for graphs that parsed tables of fresh uploads may keep until they are opened.
const TABLE_CACHE_SHARE: u64 = 8;

/// Runs the server until it is told to stop.
pub fn run(args: ServeArgs) -> Result<(), Failure> {
    let http = http_config(&args).map_err(|e| rejected(&e))?;
    let memory = config::size("memory", &args.memory, memory_bytes()).map_err(|e| rejected(&e))?;
    start_log(&args).map_err(|e| rejected(&e))?;
    check_backend(args.backend).map_err(|e| rejected(&e))?;
    // Parsers use rayon's own pool; the engine has another of the same size.
    rayon::ThreadPoolBuilder::new()
        .num_threads(args.threads)
        .thread_name(|i| format!("graphlume-parse-{i}"))
        .build_global()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("graphlume-io")
        .build()?;
    runtime.block_on(serve(args, http, memory))
}

fn memory_bytes() -> u64 {
    graphlume_device::memory().map_or(MEMORY_UNKNOWN_BYTES, |m| m.total_bytes)
}

fn http_config(args: &ServeArgs) -> Result<HttpConfig, ConfigError> {
    let refuse = |e: graphlume_http::HttpError| ConfigError::Value(e.to_string());
    let cookie = CookieConfig::from_settings(
        args.cookie_secure,
        args.cookie_samesite.as_deref(),
        args.https_only,
    )
    .map_err(refuse)?;
    let config = HttpConfig {
        listen: args.listen,
        internal_listen: Some(args.internal_listen),
        cookie,
        https_only: args.https_only,
        allowed_origins: args.allowed_origins.clone(),
        frame_ancestors: args.frame_ancestors.clone(),
        build: VERSION.to_owned(),
        ..HttpConfig::default()
    };
    config.validate().map_err(refuse)?;
    Ok(config)
}

fn start_log(args: &ServeArgs) -> Result<(), ConfigError> {
    let filter = EnvFilter::try_new(&args.log).map_err(|e| {
        ConfigError::Value(format!("--log {:?} is not a filter: {e}; use info, or debug", args.log))
    })?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match args.log_format {
        LogFormat::Json => builder.json().init(),
        LogFormat::Text => builder.with_ansi(std::io::stderr().is_terminal()).init(),
    }
    Ok(())
}

/// This build computes on the CPU; says so where the choice could make somebody expect otherwise.
fn check_backend(backend: Backend) -> Result<(), ConfigError> {
    let gpu = graphlume_device::probe_gpu();
    match (backend, gpu) {
        (Backend::Cuda, _) => Err(ConfigError::Value(
            "--backend cuda: this build has no CUDA kernels; use --backend auto or cpu".to_owned(),
        )),
        (Backend::Auto, GpuStatus::Present { name, .. }) => {
            tracing::warn!(gpu = %name, "a GPU is present, but this build has no CUDA kernels: computing on the CPU");
            Ok(())
        }
        _ => Ok(()),
    }
}

async fn serve(args: ServeArgs, mut http: HttpConfig, memory: u64) -> Result<(), Failure> {
    // Only the process's own start reads the environment; the variable is not an option, so that a
    // password never shows in a process list.
    let admin_password = std::env::var("GRAPHLUME_ADMIN_PASSWORD").ok().filter(|p| !p.is_empty());
    let started = Service::start(
        ServiceConfig {
            admin_password,
            allow_foreign_file_ids: args.allow_foreign_file_ids,
            table_cache_bytes: memory / TABLE_CACHE_SHARE,
            upload_memory_bytes: memory / TABLE_CACHE_SHARE,
            engine: graphlume_engine::Config {
                threads: args.threads,
                host_budget_bytes: memory,
                ..graphlume_engine::Config::default()
            },
            ..ServiceConfig::new(args.data.data.clone())
        },
        Arc::new(SystemClock),
    )?;
    let demo = if args.demo { Some(started.service.load_demo().await?) } else { None };
    if let Some(name) = &demo {
        http.demo_datasets.push((name.clone(), "Demo graph".to_owned()));
    }
    // Signals are caught before the address is announced, so that whoever reads it may stop us cleanly.
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let running = match graphlume_http::serve(http, Arc::clone(&started.service)).await {
        Ok(running) => running,
        Err(e) => {
            // The account was made all the same, and its password is shown only now.
            first_start(started.bootstrap.as_ref());
            return Err(e.into());
        }
    };
    announce(&args, &running, started.bootstrap.as_ref(), demo.as_deref());
    let upkeep = tokio::spawn(upkeep(Arc::clone(&started.service)));
    tokio::select! {
        _ = term.recv() => tracing::info!("SIGTERM: draining"),
        _ = int.recv() => tracing::info!("SIGINT: draining"),
    }
    running.stop().await;
    upkeep.abort();
    drop(started.engine);
    let engine = started.engine_thread;
    tokio::task::spawn_blocking(move || engine.stop()).await?;
    Ok(())
}

/// Exports the records once a day and sweeps files that nothing refers to.
async fn upkeep(service: Arc<Service>) {
    let mut hourly = tokio::time::interval(UPKEEP_EVERY);
    loop {
        hourly.tick().await;
        if let Err(e) = service.maintain().await {
            tracing::error!(error = %e, "upkeep of the data folder failed; it is tried again in an hour");
        }
    }
}

/// What a person who started the server needs to know, once, on standard output.
#[expect(clippy::print_stdout, reason = "results of the command line go to standard output")]
fn announce(
    args: &ServeArgs,
    running: &graphlume_http::Running,
    bootstrap: Option<&Bootstrap>,
    demo: Option<&str>,
) {
    let base = format!("http://{}", running.addr);
    println!("Graphlume {VERSION}");
    println!("  address      {base}");
    if let Some(addr) = running.internal_addr {
        println!("  operators    http://{addr}/check-workers  http://{addr}/metrics");
    }
    println!("  data folder  {}", args.data.data.display());
    first_start(bootstrap);
    if let Some(dataset) = demo {
        println!("  demo graph   {base}/graph/graph.html?dataset={dataset}");
    }
}

/// The superuser that this start made.
#[expect(clippy::print_stdout, reason = "results of the command line go to standard output")]
fn first_start(bootstrap: Option<&Bootstrap>) {
    match bootstrap {
        Some(b) if b.generated => println!(
            "  first start  superuser {}, password: {}\n               (shown this once; change it with `graphlume user password {}`)",
            b.username, b.password, b.username
        ),
        Some(b) => println!(
            "  first start  superuser {} with the password from GRAPHLUME_ADMIN_PASSWORD",
            b.username
        ),
        None => {}
    }
}
