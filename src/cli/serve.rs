//! `graphlume serve` and the worker processes that it starts.

use clap::{Args, ValueEnum};

use super::{Backend, DataDir};

/// Options of `serve`: those that a crate reads stand in that crate's configuration, and those that the process decides
/// by itself, or computes from several or from this machine, stand here.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  graphlume serve --listen 0.0.0.0:8000 --data /srv/graphlume\n\n\
    The first start with an empty data folder makes the superuser `admin`, with the password from\n\
    GRAPHLUME_ADMIN_PASSWORD, else with a generated one: shown once on a terminal, else kept in the file first-password in it.\n\
    SIGTERM and SIGINT drain: running requests finish, viewers are told to reconnect.\n\
    SIGHUP reads the configuration file again; one log line says what it changed and what needs a restart.\n\
    With --supervise a server that dies is started again: clients that connect meanwhile wait, and get\n\
    503 with the reason when it takes longer than 3 s. A refused configuration is not tried again."
)]
pub struct ServeArgs {
    /// Addresses, proxies, sites and limits of requests.
    #[command(flatten)]
    pub http: graphlume_http::HttpConfig,
    /// Data folder and its default.
    #[command(flatten)]
    pub data: DataDir,
    /// Where to compute
    #[arg(long, value_enum, env = "GRAPHLUME_BACKEND", default_value = "auto")]
    pub backend: Backend,
    /// Memory of the GPU to use, such as 16GiB or 50%; unset takes 90 % of what is free at start
    #[arg(long, value_name = "SIZE", env = "GRAPHLUME_DEVICE_MEMORY")]
    pub device_memory: Option<String>,
    /// What to do when the GPU is lost: end with status 75 for a supervisor to start anew, or go on
    /// with the CPU; unset means exit with --supervise, else cpu
    #[arg(long, value_enum, value_name = "ACTION", env = "GRAPHLUME_ON_DEVICE_LOST")]
    pub on_device_lost: Option<DeviceLostArg>,
    /// Keep a parent process that holds the addresses and restarts the server when it fails
    #[arg(long, env = "GRAPHLUME_SUPERVISE", action = clap::ArgAction::SetTrue,
        value_parser = clap::builder::BoolishValueParser::new())]
    pub supervise: bool,
    /// Threads and limits of the engine.
    #[command(flatten)]
    pub engine: graphlume_engine::Config,
    /// What accounts may do and hold.
    #[command(flatten)]
    pub service: graphlume_service::ServiceSettings,
    /// Memory for resident graphs, such as 8GiB or 50%
    #[arg(long, value_name = "SIZE", env = "GRAPHLUME_MEMORY", default_value = "50%")]
    pub memory: String,
    /// Load the demo graph and print its address
    #[arg(long, env = "GRAPHLUME_DEMO", action = clap::ArgAction::SetTrue,
        value_parser = clap::builder::BoolishValueParser::new())]
    pub demo: bool,
    /// Send cookies over HTTPS only; default: as --https-only (also read from COOKIE_SECURE)
    #[arg(long, value_name = "BOOL", env = "GRAPHLUME_COOKIE_SECURE",
        action = clap::ArgAction::Set, value_parser = clap::builder::BoolishValueParser::new(),
        num_args = 0..=1, default_missing_value = "true")]
    pub cookie_secure: Option<bool>,
    /// SameSite of cookies: Lax, Strict or None; unset means None with secure cookies, else Lax
    /// (also read from COOKIE_SAMESITE)
    #[arg(long, value_name = "RULE", env = "GRAPHLUME_COOKIE_SAMESITE")]
    pub cookie_samesite: Option<String>,
    /// Processes that parse uploaded files, each confined to its files and its share of memory
    #[arg(long, value_name = "N", env = "GRAPHLUME_PARSE_WORKERS", default_value_t = 2,
        value_parser = clap::value_parser!(u16).range(1..=64))]
    pub parse_workers: u16,
    /// Memory of one parse, such as 4GiB or 25%
    #[arg(long, value_name = "SIZE", env = "GRAPHLUME_PARSE_MEMORY", default_value = "25%")]
    pub parse_memory: String,
    /// Parse uploads also where this system cannot confine the processes that do
    #[arg(long, env = "GRAPHLUME_ALLOW_UNCONFINED")]
    pub allow_unconfined: bool,
    /// Seconds after which a parse is stopped
    #[arg(long, value_name = "S", env = "GRAPHLUME_PARSE_SECONDS", default_value_t = 900,
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub parse_seconds: u64,
    /// Log format on standard error
    #[arg(long, value_enum, env = "GRAPHLUME_LOG_FORMAT", default_value = "text")]
    pub log_format: LogFormat,
    /// What to log: error, warn, info, debug, or per module such as info,graphlume_engine=debug
    #[arg(long, value_name = "FILTER", env = "GRAPHLUME_LOG", default_value = "info")]
    pub log: String,
    /// What stood for each option.
    #[arg(skip)]
    pub given: crate::given::Given,
}

/// `graphlume parse-worker`
#[derive(Debug, Clone, Copy, Args)]
pub struct ParseWorkerArgs {
    /// Bytes of memory
    #[arg(long, value_name = "BYTES")]
    pub memory: u64,
    /// Threads of a parse
    #[arg(long, value_name = "N")]
    pub threads: usize,
    /// Seconds of processor time in all
    #[arg(long, value_name = "S")]
    pub cpu_seconds: u64,
}

/// What follows when the GPU is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum DeviceLostArg {
    /// The process ends with status 75
    Exit,
    /// Sessions go on with the CPU
    Cpu,
}

/// How log lines look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people
    Text,
    /// One JSON object a line
    Json,
}
