//! Commands over table files: `layout`, `compute`, `query`, `generate` and `bench`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use graphlume_types::settings::threads;

use super::{Backend, iterations};

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
    /// Print a JSON object with load_s, build_s, first_s, run_s, iterations, nodes, edges, peak_bytes and backend on
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
    /// Compute so many times on the loaded graph, as a server does that keeps it: --timings then says how long the
    /// first took (first_s) and the fastest of the others (run_s)
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,
    /// Where to compute: auto takes the GPU for large graphs when there is one
    #[arg(long, value_enum, default_value = "auto")]
    pub backend: Backend,
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
    /// Evaluate a Cypher query and print its plan with what each operator did, instead of its result
    #[arg(long, requires = "cypher", conflicts_with = "explain")]
    pub profile: bool,
    /// CPU threads; 0 takes all cores
    #[arg(long, short = 't', value_name = "N", env = "GRAPHLUME_THREADS", default_value_t = 0,
        value_parser = threads, allow_negative_numbers = true)]
    pub threads: usize,
    /// Result file: .parquet, .csv, .json or .arrow; standard output when absent
    #[arg(long, short = 'o', value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// In CSV, put an apostrophe before cells of text that a spreadsheet program takes for formulas
    #[arg(long, value_name = "formulas", value_parser = ["formulas"])]
    pub escape: Option<String>,
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
    /// Cypher's graphistry.nx
    Nx,
}

impl LibraryArg {
    /// The name in the schema.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cugraph => "cugraph",
            Self::Igraph => "igraph",
            Self::Nx => "nx",
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
    /// rmat: log2 of the number of nodes [default: 16]
    #[arg(long, value_name = "N")]
    pub scale: Option<u32>,
    /// rmat: edges per node [default: 16]
    #[arg(long, value_name = "N")]
    pub edge_factor: Option<u32>,
    /// lfr, sbm, ba, tree: number of nodes [default: 100000]
    #[arg(long, value_name = "N")]
    pub nodes: Option<u32>,
    /// sbm, tree: number of edges [default: 1000000]
    #[arg(long, value_name = "N")]
    pub edges: Option<u64>,
    /// sbm: number of communities [default: 316]
    #[arg(long, value_name = "N")]
    pub communities: Option<u32>,
    /// lfr, sbm: share of edges in percent that ignore communities [default: 30]
    #[arg(long, value_name = "N")]
    pub mixing: Option<u32>,
    /// ba: edges per new node [default: 5]
    #[arg(long, value_name = "N")]
    pub edges_per_node: Option<u32>,
    /// grid: nodes along a side [default: 100]
    #[arg(long, value_name = "N")]
    pub side: Option<u32>,
    /// Seed [default: 1]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
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
