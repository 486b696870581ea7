//! The command line: every command, flag, default and example.
//!
//! An option comes from its flag, else from the environment, else from the file named by `--config`,
//! else from its default ([`crate::config`] does the middle two).

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Version, commit and backends, as `--version` prints them.
pub const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (commit ",
    env!("GRAPHLUME_COMMIT"),
    ", backends: cpu, cuda)"
);

/// Self-hosted graph visualization and query server.
#[derive(Debug, Parser)]
#[command(name = "graphlume", version = VERSION, max_term_width = 100, subcommand_required = true)]
#[command(after_help = "Results go to standard output, everything else to standard error.\n\
    Exit codes: 0 done, 1 failed, 2 wrong usage, 78 configuration rejected at start.")]
pub struct Cli {
    /// TOML file with settings: a table per command, one key per long option (`graphlume print config`); without it
    /// ~/.config/graphlume/graphlume.toml or else /etc/graphlume/graphlume.toml, where there is one
    #[arg(long, global = true, value_name = "FILE", env = "GRAPHLUME_CONFIG")]
    pub config: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the server
    Serve(Box<ServeArgs>),
    /// Manage accounts in the data folder
    #[command(subcommand)]
    User(UserCommand),
    /// Manage personal keys in the data folder
    #[command(subcommand)]
    Key(KeyCommand),
    /// Lay out the graph of a table file
    Layout(LayoutArgs),
    /// Run an algorithm on the graph of a table file
    Compute(ComputeArgs),
    /// Ask the graph of table files in GFQL or Cypher
    Query(QueryArgs),
    /// Make a deterministic benchmark graph
    Generate(GenerateArgs),
    /// Write a logical backup of the data folder
    Export(ExportArgs),
    /// Fill an empty data folder from a logical backup
    Import(ImportArgs),
    /// Check the data folder, the device and the limits, and say what to do
    Doctor(DoctorArgs),
    /// Time one task on a table file
    Bench(BenchArgs),
    /// Print a sample configuration file, completions for a shell, or the manual page
    Print(PrintArgs),
    /// Parse what a server sends through standard input; started by the server
    #[command(hide = true)]
    ParseWorker(ParseWorkerArgs),
}

/// Where the server keeps everything.
#[derive(Debug, Clone, Args)]
pub struct DataDir {
    /// Data folder
    #[arg(long, value_name = "DIR", env = "GRAPHLUME_DATA", default_value_os_t = default_data_dir())]
    pub data: PathBuf,
}

fn default_data_dir() -> PathBuf {
    let base = std::env::var_os("XDG_DATA_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/share")));
    base.unwrap_or_else(|| PathBuf::from(".")).join("graphlume")
}

/// A number of threads; a typing error must not ask the system for a hundred thousand.
fn threads(text: &str) -> Result<usize, String> {
    let max = graphlume_types::limits::THREADS_MAX;
    match text.parse() {
        Ok(n) if n <= max => Ok(n),
        _ => Err(format!("write a whole number from 0 (all cores) to {max}")),
    }
}

/// A number of iterations.
fn iterations(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "write a whole number, 0 or more".to_owned())
}

/// An address to listen on: `127.0.0.1:8000`, `[::1]:8000`, `localhost:8000`, or a port of 127.0.0.1.
fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse::<u16>() {
        return Ok(SocketAddr::from((std::net::Ipv4Addr::LOCALHOST, port)));
    }
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let named = text.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if !named {
        return Err(
            "write an address and a port such as 127.0.0.1:8000 or localhost:8000, or a port \
            such as 8000"
                .to_owned(),
        );
    }
    let found: Vec<_> =
        text.to_socket_addrs().map_err(|e| format!("the name has no address: {e}"))?.collect();
    let first = found.iter().find(|a| a.is_ipv4()).or_else(|| found.first());
    first.copied().ok_or_else(|| "the name has no address".to_owned())
}

/// Where the computing is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Backend {
    /// The GPU when there is a driver and a card, else the CPU
    Auto,
    /// All CPU cores
    Cpu,
    /// The GPU, or refuse to start
    Cuda,
}

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

/// Roles as the command line names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RoleArg {
    /// Sees and changes what is theirs
    User,
    /// May also mint links for external users
    Staff,
    /// May do everything (also written admin)
    #[value(name = "superuser", alias = "admin")]
    Admin,
}

/// `on` or `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// Yes
    On,
    /// No
    Off,
}

/// `graphlume user ...`
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Works on the data folder, also while a server runs on it; what changes is in force there at once.\n\nExample:\n  \
    echo 's3cret words' | graphlume user add alice --password-stdin --role staff --org acme"
)]
pub enum UserCommand {
    /// Add an account; without --password-stdin a password is generated and printed
    Add {
        /// Account name: letters, digits, `.`, `_`, `-`
        name: String,
        /// Read the password from the first line of standard input
        #[arg(long)]
        password_stdin: bool,
        /// What the account may do
        #[arg(long, value_enum, default_value = "user")]
        role: RoleArg,
        /// Email address
        #[arg(long, value_name = "E", default_value = "")]
        email: String,
        /// Also make the account a member of this organization, which is made when missing
        #[arg(long, value_name = "SLUG")]
        org: Option<String>,
        /// Data folder and its default.
        #[command(flatten)]
        data: DataDir,
    },
    /// List accounts
    List {
        /// Data folder and its default.
        #[command(flatten)]
        data: DataDir,
    },
    /// Let a disabled account sign in again
    Enable {
        /// Account name
        name: String,
        /// Data folder and its default.
        #[command(flatten)]
        data: DataDir,
    },
    /// Disable an account: its tokens, keys and sessions stop working
    Disable {
        /// Account name
        name: String,
        /// Data folder and its default.
        #[command(flatten)]
        data: DataDir,
    },
    /// Delete an account for good, with its keys, links and logins
    Delete {
        /// Account name
        name: String,
        /// Hand its datasets and files to this account
        #[arg(long, value_name = "NAME", conflicts_with = "with_data")]
        give_to: Option<String>,
        /// Delete its datasets and files, too
        #[arg(long)]
        with_data: bool,
        /// Data folder and its default.
        #[command(flatten)]
        data: DataDir,
    },
    /// Set a new password; without --password-stdin one is generated and printed
    Password {
        /// Account name
        name: String,
        /// Read the password from the first line of standard input
        #[arg(long)]
        password_stdin: bool,
        /// Data folder and its default.
        #[command(flatten)]
        data: DataDir,
    },
    /// Change an account
    Set {
        /// Account name
        name: String,
        /// The natural-language graph feature of the tool endpoint
        #[arg(long, value_enum, value_name = "on|off")]
        graph_language: Option<Switch>,
        /// Whether the account is disabled
        #[arg(long, value_enum, value_name = "on|off")]
        disabled: Option<Switch>,
        /// What the account may do
        #[arg(long, value_enum)]
        role: Option<RoleArg>,
        /// Email address
        #[arg(long, value_name = "E")]
        email: Option<String>,
        /// An organization to join, besides those that the account belongs to; made when there is none of that name
        #[arg(long, value_name = "O")]
        org: Option<String>,
        /// Data folder and its default.
        #[command(flatten)]
        data: DataDir,
    },
}

/// `graphlume key ...`
#[derive(Debug, Subcommand)]
#[command(
    after_help = "Works on the data folder, also while a server runs on it; what changes is in force there at once.\n\nExample:\n  graphlume key create alice"
)]
pub enum KeyCommand {
    /// Make a personal key and print one line KEY_ID:KEY_SECRET; the secret is shown this once
    Create {
        /// Account name
        name: String,
        /// What the key is for
        #[arg(long, default_value = "")]
        label: String,
        /// Data folder and its default.
        #[command(flatten)]
        data: DataDir,
    },
    /// List keys without their secrets
    List {
        /// Only this account's
        name: Option<String>,
        /// Data folder and its default.
        #[command(flatten)]
        data: DataDir,
    },
    /// Sign tokens with a new key from now on; those of before live on until they end, an hour at most
    RotateSigning {
        /// End them at once, as after the old key became known: everybody signs in again
        #[arg(long)]
        at_once: bool,
        /// Data folder and its default.
        #[command(flatten)]
        data: DataDir,
    },
    /// Revoke a key
    Revoke {
        /// The part before the colon
        key_id: String,
        /// Data folder and its default.
        #[command(flatten)]
        data: DataDir,
    },
}

/// The tables of a graph.
#[derive(Debug, Args)]
pub struct GraphFiles {
    /// Edge table: parquet, csv, tsv, txt, json or arrow, told by the extension
    #[arg(value_name = "EDGES")]
    pub edges: PathBuf,
    /// Node table
    #[arg(long, value_name = "FILE")]
    pub nodes: Option<PathBuf>,
    /// Node id column of the node table; default: `id`, `node`, or the first column
    #[arg(long, value_name = "COLUMN")]
    pub node: Option<String>,
    /// Source column; default: src, source or from, else the first column
    #[arg(long, value_name = "COLUMN")]
    pub source: Option<String>,
    /// Destination column; default: dst, destination, target or to, else the second column
    #[arg(long, value_name = "COLUMN")]
    pub destination: Option<String>,
    /// Whether a text edge table begins with the names of its columns; without them they are 0, 1, ...
    #[arg(long, value_enum, value_name = "infer|none", default_value = "infer")]
    pub header: HeaderArg,
    /// Edge weight column
    #[arg(long, value_name = "COLUMN")]
    pub weight: Option<String>,
}

/// Whether the first line of a text table holds the names of its columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum HeaderArg {
    /// It does
    Infer,
    /// It holds data
    None,
}

/// What every algorithm command takes.
#[derive(Debug, Args)]
pub struct RunOptions {
    /// Parameter of the algorithm; repeat for several. A wrong name lists the right ones
    #[arg(long = "param", short = 'p', value_name = "NAME=VALUE")]
    pub params: Vec<String>,
    /// Seed of everything random
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// CPU threads; 0 takes all cores
    #[arg(long, short = 't', value_name = "N", env = "GRAPHLUME_THREADS", default_value_t = 0,
        value_parser = threads, allow_negative_numbers = true)]
    pub threads: usize,
    /// Result file: .parquet, .csv or .arrow; standard output as CSV when absent
    #[arg(long, short = 'o', value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Print a JSON object with load_s, build_s, run_s, iterations, nodes, edges, peak_bytes and backend on
    /// standard error
    #[arg(long)]
    pub timings: bool,
}

/// Options of `layout`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  graphlume layout force_atlas2 edges.parquet --iterations 300 \
    --param gravity=2 --out layout.parquet\n\nWrites node id, x, y (and z). A wrong name lists the layouts.")]
pub struct LayoutArgs {
    /// Layout, such as force_atlas2, circle or grid
    #[arg(value_name = "ALG")]
    pub alg: String,
    /// The tables.
    #[command(flatten)]
    pub files: GraphFiles,
    /// Iterations of an iterative layout
    #[arg(long, short = 'i', value_name = "N", value_parser = iterations, allow_negative_numbers = true)]
    pub iterations: Option<u64>,
    /// Start positions: a table with the node id, x and y; default: a placement of our own
    #[arg(long, value_name = "FILE")]
    pub start: Option<PathBuf>,
    /// The rest.
    #[command(flatten)]
    pub run: RunOptions,
}

/// Options of `compute`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  graphlume compute pagerank edges.parquet --directed --out ranks.csv\n\n\
    Writes node id and the result columns. A wrong name lists the algorithms."
)]
pub struct ComputeArgs {
    /// Algorithm, such as pagerank, louvain or connected_components
    #[arg(value_name = "ALG")]
    pub alg: String,
    /// The tables.
    #[command(flatten)]
    pub files: GraphFiles,
    /// Whose definition of the algorithm to follow where they differ
    #[arg(long, value_enum, default_value = "cugraph")]
    pub library: LibraryArg,
    /// Keep the direction of edges
    #[arg(long)]
    pub directed: bool,
    /// The rest.
    #[command(flatten)]
    pub run: RunOptions,
}

/// Options of `query`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  graphlume query edges.csv --cypher 'MATCH (a)-->(b) RETURN b.id, count(*) AS n ORDER BY n DESC LIMIT 5'\n  \
    echo '[{\"type\":\"Node\",\"filter_dict\":{\"id\":7}},{\"type\":\"Edge\",\"direction\":\"forward\",\"hops\":2},{\"type\":\"Node\"}]' \\\n    \
    | graphlume query edges.parquet --nodes nodes.parquet --gfql - --output nodes\n\n\
    Tables are written as CSV, all as one JSON object."
)]
#[command(group = clap::ArgGroup::new("language").required(true).args(["gfql", "cypher"]))]
pub struct QueryArgs {
    /// The tables.
    #[command(flatten)]
    pub files: GraphFiles,
    /// File with a GFQL query as JSON: a list of operations, a Chain or a Let; - reads standard input
    #[arg(long, value_name = "FILE")]
    pub gfql: Option<PathBuf>,
    /// A Cypher query
    #[arg(long, value_name = "TEXT")]
    pub cypher: Option<String>,
    /// Parameter of the Cypher query, its value as JSON or as plain text; repeat for several
    #[arg(long = "param", short = 'p', value_name = "NAME=VALUE", requires = "cypher")]
    pub params: Vec<String>,
    /// Binding of a GFQL Let to return
    #[arg(long, value_name = "NAME", requires = "gfql")]
    pub binding: Option<String>,
    /// What to write; default: all, or the rows (nodes) of a query in Cypher
    #[arg(long, value_enum)]
    pub output: Option<QueryOutputArg>,
    /// Refuse names of columns that do not exist, instead of taking them for null
    #[arg(long)]
    pub strict: bool,
    /// Print the plan of a Cypher query instead of its result
    #[arg(long, requires = "cypher")]
    pub explain: bool,
    /// CPU threads; 0 takes all cores
    #[arg(long, short = 't', value_name = "N", env = "GRAPHLUME_THREADS", default_value_t = 0,
        value_parser = threads, allow_negative_numbers = true)]
    pub threads: usize,
    /// Result file: .parquet, .csv, .json or .arrow; standard output when absent
    #[arg(long, short = 'o', value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// What of a query's result is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum QueryOutputArg {
    /// Nodes, or the rows of a row result
    Nodes,
    /// Edges
    Edges,
    /// Both, as one JSON object
    All,
    /// How many rows and columns there are
    Shape,
}

/// The libraries whose names and definitions are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LibraryArg {
    /// compute.cugraph of the schema
    Cugraph,
    /// compute.igraph of the schema
    Igraph,
}

impl LibraryArg {
    /// The name in the schema.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cugraph => "cugraph",
            Self::Igraph => "igraph",
        }
    }
}

/// Options of `generate`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  graphlume generate rmat --scale 16 --out rmat16.parquet\n  \
    graphlume generate sbm --nodes 100000 --edges 1000000 --communities 316 --out sbm.parquet\n\n\
    Writes columns src and dst; with --node-file also node and community for kinds that plant one.\n\
    The same parameters and seed give the same bytes on every machine.")]
pub struct GenerateArgs {
    /// Kind of graph
    #[arg(value_enum, value_name = "KIND")]
    pub kind: GraphKind,
    /// Edge table to write: .parquet, .csv or .arrow
    #[arg(long, short = 'o', value_name = "FILE")]
    pub out: PathBuf,
    /// Node table to write
    #[arg(long, value_name = "FILE")]
    pub node_file: Option<PathBuf>,
    /// rmat: log2 of the number of nodes
    #[arg(long, default_value_t = 16)]
    pub scale: u32,
    /// rmat: edges per node
    #[arg(long, default_value_t = 16)]
    pub edge_factor: u32,
    /// lfr, sbm, ba, tree: number of nodes
    #[arg(long, default_value_t = 100_000)]
    pub nodes: u32,
    /// sbm, tree: number of edges
    #[arg(long, default_value_t = 1_000_000)]
    pub edges: u64,
    /// sbm: number of communities
    #[arg(long, default_value_t = 316)]
    pub communities: u32,
    /// lfr, sbm: share of edges in percent that ignore communities
    #[arg(long, default_value_t = 30)]
    pub mixing: u32,
    /// ba: edges per new node
    #[arg(long, default_value_t = 5)]
    pub edges_per_node: u32,
    /// grid: nodes along a side
    #[arg(long, default_value_t = 100)]
    pub side: u32,
    /// Seed
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Also write edge columns ts, amount, kind and name
    #[arg(long)]
    pub attrs: bool,
}

/// Kinds of benchmark graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GraphKind {
    /// Skewed degrees (Chakrabarti 2004), Graph500 probabilities
    Rmat,
    /// Power-law degrees and communities (Lancichinetti 2008)
    Lfr,
    /// Degree-corrected planted partition
    Sbm,
    /// Preferential attachment (Barabási and Albert 1999)
    Ba,
    /// Square grid
    Grid,
    /// Random tree plus short-range edges
    Tree,
    /// Zachary's karate club
    Karate,
}

/// Options of `export`.
#[derive(Debug, Args)]
#[command(
    after_help = "The backup has accounts, keys, organizations, files, datasets, login links,\n\
    and the visualizations of accounts with their collections. It has no positions,\n\
    no visualizations that nobody signed in for, and no token.key: after an import\n\
    layouts begin anew and everybody signs in again."
)]
pub struct ExportArgs {
    /// Folder to write; must not exist or be empty
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Data folder and its default.
    #[command(flatten)]
    pub data: DataDir,
}

/// Options of `import`.
#[derive(Debug, Args)]
pub struct ImportArgs {
    /// Folder written by `export`
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Data folder and its default.
    #[command(flatten)]
    pub data: DataDir,
}

/// Options of `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Data folder and its default.
    #[command(flatten)]
    pub data: DataDir,
    /// After records were lost: say that the accounts and keys are right, so that people may sign in again
    #[arg(long)]
    pub confirm_accounts: bool,
    /// After the machine's clock was ahead: go on from the time that it shows now
    #[arg(long, conflicts_with = "confirm_accounts")]
    pub accept_clock: bool,
    /// Delete a damaged record, by the name that doctor gives it after "problem", such as "file record 0123..."
    #[arg(long, value_name = "NAME", conflicts_with_all = ["confirm_accounts", "accept_clock"])]
    pub delete: Option<String>,
}

/// Options of `print`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  graphlume print config > graphlume.toml\n  \
    source <(graphlume print bash)\n  graphlume print man | man -l -")]
pub struct PrintArgs {
    /// What to print
    #[arg(value_enum, value_name = "WHAT")]
    pub what: PrintKind,
}

/// What is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PrintKind {
    /// A configuration file in which every setting of the server stands as a comment with its default
    Config,
    /// The manual page
    Man,
    /// Completions for bash
    Bash,
    /// Completions for zsh
    Zsh,
    /// Completions for fish
    Fish,
}

/// Options of `bench`.
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  graphlume bench --task fa2 --edges dcsbm/edges.parquet --out fa2.json\n\n\
    Writes {\"seconds\": [...], \"cpu_seconds\": [...], \"load_s\": x, \"result\": {...}}."
)]
pub struct BenchArgs {
    /// What to time
    #[arg(long, value_name = "TASK")]
    pub task: String,
    /// Edge table with integer columns src and dst
    #[arg(long, value_name = "FILE")]
    pub edges: PathBuf,
    /// JSON file to write
    #[arg(long, short = 'o', value_name = "FILE")]
    pub out: PathBuf,
    /// CPU threads; 0 takes all cores
    #[arg(long, short = 't', value_name = "N", default_value_t = 0, value_parser = threads,
        allow_negative_numbers = true)]
    pub threads: usize,
    /// Times to repeat
    #[arg(long, default_value_t = 5)]
    pub repeat: usize,
    /// Iterations of an iterative task
    #[arg(long, value_name = "N")]
    pub iterations: Option<u64>,
    /// Start positions for layout tasks: random (the peers' own) or placed
    #[arg(long, value_enum, default_value = "random")]
    pub start: StartArg,
    /// Parameter of the algorithm; repeat for several
    #[arg(long = "param", short = 'p', value_name = "NAME=VALUE")]
    pub params: Vec<String>,
    /// Where to compute
    #[arg(long, value_enum, default_value = "cpu")]
    pub backend: Backend,
}

/// Where a timed layout starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StartArg {
    /// The shared random positions, so that every peer starts alike
    Random,
    /// Our own placement
    Placed,
}
