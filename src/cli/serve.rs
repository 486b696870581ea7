//! `graphlume serve` and the worker processes that it starts.

use std::net::SocketAddr;

use clap::{Args, ValueEnum};

use super::{Backend, DataDir, address, threads};

/// Options of `serve`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  graphlume serve --listen 0.0.0.0:8000 --data /srv/graphlume\n\n\
    The first start with an empty data folder makes the superuser `admin`, with the password from\n\
    GRAPHLUME_ADMIN_PASSWORD, else with a generated one: shown once on a terminal, else kept in the file first-password in it.\n\
    SIGTERM and SIGINT drain: running requests finish, viewers are told to reconnect.\n\
    With --supervise a server that dies is started again: clients that connect meanwhile wait, and get\n\
    503 with the reason when it takes longer than 3 s. A refused configuration is not tried again."
)]
pub struct ServeArgs {
    /// Address for users: an address or a name with a port, or a port of 127.0.0.1
    #[arg(
        long,
        short = 'l',
        value_name = "ADDR",
        env = "GRAPHLUME_LISTEN",
        default_value = "127.0.0.1:8000",
        value_parser = address
    )]
    pub listen: SocketAddr,
    /// Address for operators: /check-workers and /metrics. Keep it on a loopback or internal network
    #[arg(
        long,
        value_name = "ADDR",
        env = "GRAPHLUME_INTERNAL_LISTEN",
        default_value = "127.0.0.1:8001",
        value_parser = address
    )]
    pub internal_listen: SocketAddr,
    /// Data folder and its default.
    #[command(flatten)]
    pub data: DataDir,
    /// Where to compute
    #[arg(long, value_enum, env = "GRAPHLUME_BACKEND", default_value = "auto")]
    pub backend: Backend,
    /// Memory of the GPU to use, such as 16GiB or 50%; unset takes 90 % of what is free at start
    #[arg(long, value_name = "SIZE", env = "GRAPHLUME_DEVICE_MEMORY")]
    pub device_memory: Option<String>,
    /// Graphs with fewer edges stay on the CPU, where a call on them is over before a GPU has begun
    #[arg(long, value_name = "N", env = "GRAPHLUME_GPU_EDGES_MIN",
        default_value_t = graphlume_engine::GPU_EDGES_MIN)]
    pub gpu_edges_min: u32,
    /// What to do when the GPU is lost: end with status 75 for a supervisor to start anew, or go on
    /// with the CPU; unset means exit with --supervise, else cpu
    #[arg(long, value_enum, value_name = "ACTION", env = "GRAPHLUME_ON_DEVICE_LOST")]
    pub on_device_lost: Option<DeviceLostArg>,
    /// Keep a parent process that holds the addresses and restarts the server when it fails
    #[arg(long, env = "GRAPHLUME_SUPERVISE", action = clap::ArgAction::SetTrue,
        value_parser = clap::builder::BoolishValueParser::new())]
    pub supervise: bool,
    /// CPU threads for computing; 0 takes all cores
    #[arg(long, short = 't', value_name = "N", env = "GRAPHLUME_THREADS", default_value_t = 0,
        value_parser = threads, allow_negative_numbers = true)]
    pub threads: usize,
    /// Memory for resident graphs, such as 8GiB or 50%
    #[arg(long, value_name = "SIZE", env = "GRAPHLUME_MEMORY", default_value = "50%")]
    pub memory: String,
    /// Load the demo graph and print its address
    #[arg(long, env = "GRAPHLUME_DEMO", action = clap::ArgAction::SetTrue,
        value_parser = clap::builder::BoolishValueParser::new())]
    pub demo: bool,
    /// Browsers reach this server over HTTPS only, through a proxy that ends TLS
    #[arg(long, env = "GRAPHLUME_HTTPS_ONLY", action = clap::ArgAction::SetTrue,
        value_parser = clap::builder::BoolishValueParser::new())]
    pub https_only: bool,
    /// Address at which people open this server, such as https://viz.example; other names are refused then. A
    /// server that listens on this machine alone, behind a proxy, needs it
    #[arg(long, value_name = "URL", env = "GRAPHLUME_PUBLIC_URL")]
    pub public_url: Option<graphlume_http::PublicUrl>,
    /// Path below which a proxy shows this server, such as /graphs; the proxy may pass it on or take it off
    #[arg(
        long,
        value_name = "PATH",
        env = "GRAPHLUME_BASE_PATH",
        default_value = "",
        hide_default_value = true
    )]
    pub base_path: String,
    /// Network of proxies whose X-Forwarded-For is believed, such as 127.0.0.1 or 10.0.0.0/8; repeat for
    /// several
    #[arg(
        long = "trusted-proxy",
        value_name = "CIDR",
        env = "GRAPHLUME_TRUSTED_PROXY",
        value_delimiter = ','
    )]
    pub trusted_proxies: Vec<graphlume_http::Network>,
    /// Send cookies over HTTPS only; default: as --https-only (also read from COOKIE_SECURE)
    #[arg(long, value_name = "BOOL", env = "GRAPHLUME_COOKIE_SECURE",
        action = clap::ArgAction::Set, value_parser = clap::builder::BoolishValueParser::new(),
        num_args = 0..=1, default_missing_value = "true")]
    pub cookie_secure: Option<bool>,
    /// SameSite of cookies: Lax, Strict or None; unset means None with secure cookies, else Lax
    /// (also read from COOKIE_SAMESITE)
    #[arg(long, value_name = "RULE", env = "GRAPHLUME_COOKIE_SAMESITE")]
    pub cookie_samesite: Option<String>,
    /// Login links for guests.
    #[command(flatten)]
    pub links: LinkArgs,
    /// Another site whose pages may open live connections, such as https://notebook.example; repeat for
    /// several
    #[arg(
        long = "allowed-origin",
        value_name = "ORIGIN",
        env = "GRAPHLUME_ALLOWED_ORIGIN",
        value_delimiter = ','
    )]
    pub allowed_origins: Vec<String>,
    /// A site from which pages may load the logos, backgrounds and icons that datasets and addresses name, such as
    /// images.example.org, *.example.org, or https: for every one; repeat for several. Without it no other site is asked,
    /// and so none learns who looks
    #[arg(
        long = "picture-host",
        value_name = "SITE",
        env = "GRAPHLUME_PICTURE_HOST",
        value_delimiter = ','
    )]
    pub picture_hosts: Vec<graphlume_service::PictureHost>,
    /// Connections that one address may hold; raise it for a proxy on another machine, 0 sets no bound
    #[arg(long, value_name = "N", env = "GRAPHLUME_CONNECTIONS_PER_ADDRESS",
        default_value_t = graphlume_types::limits::CONNECTIONS_PER_PEER_MAX)]
    pub connections_per_address: usize,
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
    /// Seconds after which a query is stopped, waiting included
    #[arg(long, value_name = "S", env = "GRAPHLUME_QUERY_SECONDS",
        default_value_t = graphlume_types::limits::QUERY_SECS_MAX,
        value_parser = clap::value_parser!(u64).range(1..=graphlume_types::limits::QUERY_SECS_MAX))]
    pub query_seconds: u64,
    /// Seconds after which a tool call of an agent is ended
    #[arg(long, value_name = "S", env = "GRAPHLUME_TOOL_SECONDS",
        default_value_t = graphlume_types::limits::TOOL_CALL_SECS_MAX,
        value_parser = clap::value_parser!(u64).range(1..=graphlume_types::limits::TOOL_CALL_SECS_MAX))]
    pub tool_seconds: u64,
    /// Files that one account may have
    #[arg(long, value_name = "N", env = "GRAPHLUME_ACCOUNT_FILES",
        default_value_t = graphlume_types::limits::FILES_PER_USER_MAX,
        value_parser = clap::value_parser!(u64).range(1..))]
    pub account_files: u64,
    /// Bytes that one account may have on the disk: uploads and the tables made of them
    #[arg(long, value_name = "SIZE", env = "GRAPHLUME_ACCOUNT_BYTES", default_value = "100GiB")]
    pub account_bytes: String,
    /// Who may show the page in a frame (CSP frame-ancestors)
    #[arg(long, value_name = "SOURCES", env = "GRAPHLUME_FRAME_ANCESTORS", default_value = "*")]
    pub frame_ancestors: String,
    /// Let any account cite a file id of another account when it creates a dataset. For one process that
    /// plots for several accounts; leave it off otherwise
    #[arg(long, env = "GRAPHLUME_ALLOW_FOREIGN_FILE_IDS", action = clap::ArgAction::SetTrue,
        value_parser = clap::builder::BoolishValueParser::new())]
    pub allow_foreign_file_ids: bool,
    /// Log format on standard error
    #[arg(long, value_enum, env = "GRAPHLUME_LOG_FORMAT", default_value = "text")]
    pub log_format: LogFormat,
    /// What to log: error, warn, info, debug, or per module such as info,graphlume_engine=debug
    #[arg(long, value_name = "FILTER", env = "GRAPHLUME_LOG", default_value = "info")]
    pub log: String,
}

/// How login links for guests work.
#[derive(Debug, Clone, Args)]
pub struct LinkArgs {
    /// Query parameter that carries the token of a login link (also read from SESAME_TOKEN_NAME)
    #[arg(long, value_name = "NAME", env = "GRAPHLUME_SESAME_TOKEN_NAME", default_value = "sst")]
    pub sesame_token_name: String,
    /// Seconds after which a login link is refused (also read from SESAME_MAX_AGE); after 7 days it is
    /// refused in any case
    #[arg(long, value_name = "S", env = "GRAPHLUME_SESAME_MAX_AGE",
        default_value_t = graphlume_types::limits::SESAME_MAX_AGE_SECS,
        value_parser = clap::value_parser!(i64)
            .range(1..=graphlume_types::limits::SESAME_MAX_AGE_SECS_MAX))]
    pub sesame_max_age: i64,
    /// Whether a login link works once (also read from SESAME_ONE_TIME)
    #[arg(long, value_name = "BOOL", env = "GRAPHLUME_SESAME_ONE_TIME", default_value = "true",
        action = clap::ArgAction::Set, value_parser = clap::builder::BoolishValueParser::new())]
    pub sesame_one_time: bool,
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
