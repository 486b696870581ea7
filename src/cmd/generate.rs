//! `graphlume generate`.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array, Int64Array, StringArray, UInt32Array};
use graphlume_bench::generate::{self, BaSpec, EdgeList, LfrSpec, SbmSpec};
use graphlume_types::hash::h64;

use super::{Failure, failure};
use crate::cli::{GenerateArgs, GraphKind};
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
        columns.extend(attributes(graph.num_edges(), args.seed));
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

fn make(args: &GenerateArgs) -> Result<EdgeList, Failure> {
    let graph = match args.kind {
        GraphKind::Rmat => generate::rmat(args.scale, args.edge_factor, args.seed)?,
        GraphKind::Grid => generate::grid(args.side, args.seed)?,
        GraphKind::Tree => generate::tree(args.nodes, args.edges, args.seed)?,
        GraphKind::Karate => generate::karate(),
        GraphKind::Sbm => generate::sbm(&SbmSpec {
            num_nodes: args.nodes,
            num_edges: args.edges,
            communities: args.communities,
            mixing_percent: args.mixing,
            seed: args.seed,
        })?,
        GraphKind::Lfr => generate::lfr(&LfrSpec {
            num_nodes: args.nodes,
            mixing_percent: args.mixing,
            seed: args.seed,
            ..LfrSpec::default()
        })?,
        GraphKind::Ba => generate::ba(&BaSpec {
            num_nodes: args.nodes,
            edges_per_node: args.edges_per_node,
            seed: args.seed,
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
