//! `graphlume generate`.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array, StringArray, UInt32Array};
use graphlume_bench::generate::{self, BaSpec, EdgeList, LfrSpec, SbmSpec};
use graphlume_types::hash::h64;

use clap::ValueEnum;

use crate::cli::{GenerateArgs, GraphKind};
use crate::failure::{Failure, failure};
use crate::output;

/// Makes the graph and writes its tables.
pub fn run(args: &GenerateArgs) -> Result<(), Failure> {
    for path in std::iter::once(&args.out).chain(&args.node_file) {
        output::check(path)?;
    }
    let graph = make(args)?;
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("src", Arc::new(UInt32Array::from(graph.src.clone()))),
        ("dst", Arc::new(UInt32Array::from(graph.dst.clone()))),
    ];
    if args.attrs {
        columns.extend(attributes(graph.num_edges(), args.seed.unwrap_or(1)));
    }
    output::write(&args.out, columns)?;
    if let Some(path) = &args.node_file {
        output::write(path, node_columns(&graph))?;
    }
    let mut has_edge = vec![false; graph.num_nodes as usize];
    for end in graph.src.iter().chain(&graph.dst) {
        has_edge[*end as usize] = true;
    }
    let bare = has_edge.iter().filter(|has| !**has).count();
    let edges = graph.num_edges();
    say!("{} nodes, {edges} edges in {}", graph.num_nodes, args.out.display());
    if bare > 0 {
        say!(
            "{bare} of the nodes have no edge and stand in no edge table; --node-file writes all of them"
        );
    }
    Ok(())
}

/// The options that a kind of graph takes.
const fn options(kind: GraphKind) -> &'static [&'static str] {
    match kind {
        GraphKind::Rmat => &["scale", "edge-factor", "seed"],
        GraphKind::Lfr => &["nodes", "mixing", "seed"],
        GraphKind::Sbm => &["nodes", "edges", "communities", "mixing", "seed"],
        GraphKind::Ba => &["nodes", "edges-per-node", "seed"],
        GraphKind::Grid => &["side", "seed"],
        GraphKind::Tree => &["nodes", "edges", "seed"],
        GraphKind::Karate => &[],
    }
}

/// Refuses options of other kinds: they would change nothing.
fn check_options(args: &GenerateArgs) -> Result<(), Failure> {
    let given = [
        ("scale", args.scale.is_some()),
        ("edge-factor", args.edge_factor.is_some()),
        ("nodes", args.nodes.is_some()),
        ("edges", args.edges.is_some()),
        ("communities", args.communities.is_some()),
        ("mixing", args.mixing.is_some()),
        ("edges-per-node", args.edges_per_node.is_some()),
        ("side", args.side.is_some()),
        ("seed", args.seed.is_some() && !args.attrs),
    ];
    let taken = options(args.kind);
    let Some((idle, _)) = given.iter().find(|(name, given)| *given && !taken.contains(name)) else {
        return Ok(());
    };
    let kind = args.kind.to_possible_value().map(|v| v.get_name().to_owned()).unwrap_or_default();
    let listed = taken.iter().map(|name| format!("--{name}")).collect::<Vec<_>>().join(", ");
    let takes = if taken.is_empty() { "no such options".to_owned() } else { listed };
    Err(failure(format!(
        "--{idle} changes nothing of a graph of the kind {kind}, which takes {takes}"
    )))
}

fn make(args: &GenerateArgs) -> Result<EdgeList, Failure> {
    check_options(args)?;
    let seed = args.seed.unwrap_or(1);
    let nodes = args.nodes.unwrap_or(100_000);
    let edges = args.edges.unwrap_or(1_000_000);
    let mixing_percent = args.mixing.unwrap_or(30);
    let graph = match args.kind {
        GraphKind::Rmat => {
            generate::rmat(args.scale.unwrap_or(16), args.edge_factor.unwrap_or(16), seed)?
        }
        GraphKind::Grid => generate::grid(args.side.unwrap_or(100), seed)?,
        GraphKind::Tree => generate::tree(nodes, edges, seed)?,
        GraphKind::Karate => generate::karate(),
        GraphKind::Sbm => generate::sbm(&SbmSpec {
            num_nodes: nodes,
            num_edges: edges,
            communities: args.communities.unwrap_or(316),
            mixing_percent,
            seed,
        })?,
        GraphKind::Lfr => generate::lfr(&LfrSpec {
            num_nodes: nodes,
            mixing_percent,
            seed,
            ..LfrSpec::default()
        })?,
        GraphKind::Ba => generate::ba(&BaSpec {
            num_nodes: nodes,
            edges_per_node: args.edges_per_node.unwrap_or(5),
            seed,
        })?,
    };
    if graph.num_edges() == 0 {
        return Err(failure(
            "the parameters give a graph without edges; ask for more nodes or edges",
        ));
    }
    Ok(graph)
}

fn node_columns(graph: &EdgeList) -> Vec<(&'static str, ArrayRef)> {
    let mut columns: Vec<(&str, ArrayRef)> =
        vec![("node", Arc::new(UInt32Array::from_iter_values(0..graph.num_nodes)))];
    if let Some(community) = &graph.community {
        let labels = Int32Array::from_iter_values(community.iter().map(|c| *c as i32));
        columns.push(("community", Arc::new(labels)));
    }
    columns
}

/// Property columns for parse and filter benchmarks: time, amount, kind and name.
fn attributes(num_edges: usize, seed: u64) -> Vec<(&'static str, ArrayRef)> {
    const KINDS: [&str; 8] = ["pay", "call", "mail", "login", "dns", "http", "ssh", "smb"];
    let edges = || 0..num_edges as u64;
    let ts = edges().map(|e| 1_600_000_000 + (h64(seed, 20, e) % 31_536_000) as i64);
    let amount = edges().map(|e| (h64(seed, 21, e) % 1_000_000) as f64 / 100.0);
    let kind = edges().map(|e| KINDS[(h64(seed, 22, e) % 8) as usize]);
    let name = edges().map(|e| format!("e{}", h64(seed, 23, e) % 1_000_003));
    vec![
        ("ts", Arc::new(Int64Array::from_iter_values(ts))),
        ("amount", Arc::new(Float64Array::from_iter_values(amount))),
        ("kind", Arc::new(StringArray::from_iter_values(kind))),
        ("name", Arc::new(StringArray::from_iter_values(name))),
    ]
}
