//! The command line: every command, flag, default and example.
//!
//! An option comes from its flag, else from the environment, else from the file named by `--config`,
//! else from its default ([`crate::config`] does the middle two).

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

mod accounts;
mod graphs;
mod picture;
mod serve;

pub use accounts::{KeyCommand, RoleArg, Switch, UserCommand};
pub use graphs::{
    BenchArgs, ComputeArgs, GenerateArgs, GraphFiles, GraphKind, HeaderArg, LayoutArgs, QueryArgs,
    QueryOutputArg, RunOptions, StartArg,
};
pub use picture::PictureArgs;
pub use serve::{DeviceLostArg, LogFormat, ParseWorkerArgs, ServeArgs};

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
    /// Write a picture of a dataset or a visualization of a running server
    Picture(Box<PictureArgs>),
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
    /// Print a sample configuration file, the algorithms, completions for a shell, or the manual page
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

/// A number of iterations.
fn iterations(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "write a whole number, 0 or more".to_owned())
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
    /// Every algorithm and layout with its names, parameters, results and source, as Markdown
    Algorithms,
    /// The manual page
    Man,
    /// Completions for bash
    Bash,
    /// Completions for zsh
    Zsh,
    /// Completions for fish
    Fish,
}
