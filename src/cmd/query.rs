//! `graphlume query`.

use std::io::{Read, Write};
use std::path::Path;

use graphlume_device::CpuPool;
use graphlume_expr::Strictness;
use graphlume_graph::GraphSpec;
use graphlume_ingest::{ExportFormat, export};
use graphlume_procedures::{TextAnswer, TextSetting, explain_text, profile_text, run_text};
use graphlume_store::{Bindings, PropertyGraph};
use graphlume_table::Table;
use graphlume_types::CancelToken;
use serde_json::{Map, Value};

use crate::cli::{GraphFiles, QueryArgs, QueryOutputArg};
use crate::failure::{Failure, failure, unreadable};
use crate::graph_files::{end_columns, node_column, read_edges, read_table, say};
use crate::output;

/// Bytes of a query file.
const QUERY_BYTES_MAX: u64 = graphlume_types::limits::JSON_BODY_BYTES_MAX;

/// Reads the tables, asks, and writes the answer.
pub fn run(args: &QueryArgs) -> Result<(), Failure> {
    if let Some(out) = &args.out {
        output::check(out)?;
    }
    let strictness = if args.strict { Strictness::Strict } else { Strictness::Lenient };
    let cancel = CancelToken::new();
    let pool = CpuPool::new(args.threads)?;
    if let Some(text) = &args.cypher {
        let text = graphlume_cypher::parse_text(text)?;
        let params = params(&args.params)?;
        let graph = pool.install(|| graph(&args.files))?;
        if args.explain {
            let plan = pool.install(|| explain_text(&graph, &text, &params, &cancel))?;
            return output::print_with(|out| Ok(out.write_all(plan.as_bytes())?));
        }
        let setting = TextSetting { params: &params, strictness, cancel: &cancel };
        if args.profile {
            let (told, notices) = pool.install(|| profile_text(&graph, &text, setting))?;
            say(&notices);
            return output::print_with(|out| Ok(out.write_all(told.as_bytes())?));
        }
        return match pool.install(|| run_text(&graph, &text, setting))? {
            TextAnswer::Rows(rows) => {
                say(rows.notices());
                let wanted = args.output.unwrap_or(QueryOutputArg::Nodes);
                answer(args, wanted, &rows.table()?, None)
            }
            TextAnswer::Graph(made, notices) => {
                say(&notices);
                let wanted = args.output.unwrap_or(QueryOutputArg::All);
                answer(args, wanted, &made.node_table(&cancel)?, made.edges())
            }
        };
    }
    let Some(path) = &args.gfql else { return Err(failure("name a query with --gfql")) };
    let query = graphlume_gfql::parse(&json(path)?)?;
    let outcome = pool.install(|| {
        let graph = graph(&args.files)?;
        let binding = args.binding.as_deref();
        Ok::<_, Failure>(graphlume_gfql::run(&graph, &query, binding, strictness, &cancel)?)
    })?;
    say(&outcome.notices);
    let nodes = outcome.graph.node_table(&cancel)?;
    answer(args, args.output.unwrap_or(QueryOutputArg::All), &nodes, outcome.graph.edges())
}

fn graph(files: &GraphFiles) -> Result<PropertyGraph, Failure> {
    let edges = read_edges(files)?;
    let nodes = files.nodes.as_deref().map(read_table).transpose()?;
    let (source, destination) = end_columns(files, &edges)?;
    let bindings = Bindings {
        node: nodes.as_ref().map(|table| node_column(table, files.node.as_deref())),
        source: Some(source),
        destination: Some(destination),
    };
    let cancel = CancelToken::new();
    let graph = PropertyGraph::new(nodes, Some(edges), bindings)?;
    if let (Some(edges), Some(source), Some(destination)) =
        (graph.edges(), &graph.bindings().source, &graph.bindings().destination)
    {
        let node = graph.bindings().node.as_deref();
        let spec = GraphSpec { edges, source, destination, nodes: graph.nodes(), node };
        say(&graphlume_graph::notices(&spec, graph.frame(&cancel)?));
    }
    Ok(graph.with_every_node(&cancel)?)
}

/// Parameters; a value that is no JSON is a text.
fn params(given: &[String]) -> Result<Map<String, Value>, Failure> {
    let pair = |text: &String| {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| failure(format!("--param {text}: write it as name=value")))?;
        let plain = || Value::String(value.to_owned());
        Ok((name.trim().to_owned(), serde_json::from_str(value).unwrap_or_else(|_| plain())))
    };
    given.iter().map(pair).collect()
}

/// The JSON of a file, or of standard input.
fn json(path: &Path) -> Result<Value, Failure> {
    let mut text = String::new();
    let stdin = path.as_os_str() == "-";
    let shown = if stdin { "standard input".to_owned() } else { path.display().to_string() };
    let read = if stdin {
        std::io::stdin().take(QUERY_BYTES_MAX + 1).read_to_string(&mut text)
    } else {
        std::fs::File::open(path)
            .and_then(|f| f.take(QUERY_BYTES_MAX + 1).read_to_string(&mut text))
    };
    let instead = "name one that holds the operations as JSON, or - for standard input";
    let bytes = read.map_err(|e| unreadable(Path::new(&shown), &e, instead))?;
    if bytes as u64 > QUERY_BYTES_MAX {
        return Err(failure(format!("{shown}: a query has at most {QUERY_BYTES_MAX} bytes")));
    }
    serde_json::from_str(&text).map_err(|e| failure(format!("{shown}: no JSON: {e}")))
}

/// Writes what was asked for: tables as CSV, all as one JSON object, unless a file says otherwise.
fn answer(
    args: &QueryArgs,
    wanted: QueryOutputArg,
    nodes: &Table,
    edges: Option<&Table>,
) -> Result<(), Failure> {
    let shape;
    let table = match wanted {
        QueryOutputArg::Nodes => Some(nodes),
        QueryOutputArg::Edges => edges,
        QueryOutputArg::Shape => {
            let size = |t: Option<&Table>| t.map_or((0, 0), |t| (t.num_rows(), t.num_cols()));
            let parts = [("nodes", size(Some(nodes))), ("edges", size(edges))];
            shape = graphlume_table::shape(&parts)?;
            Some(&shape)
        }
        QueryOutputArg::All => {
            return match &args.out {
                None => output::print_with(|out| both(nodes, edges, out)),
                Some(path) => output::write_with(path, |kind, out| match kind {
                    "json" => both(nodes, edges, out),
                    _ => Err(failure("--output all is one JSON object: name a .json file")),
                }),
            };
        }
    };
    let Some(table) = table else { return Err(failure("the result has no edges")) };
    match &args.out {
        Some(path) => output::write_table(path, table, args.escape.as_deref()),
        None => {
            let format = ExportFormat::Csv.escaped(args.escape.as_deref())?;
            output::print_with(|out| Ok(export(table, format, out)?))
        }
    }
}

fn both<W: Write + Send>(nodes: &Table, edges: Option<&Table>, out: &mut W) -> Result<(), Failure> {
    out.write_all(br#"{"nodes":"#)?;
    export(nodes, ExportFormat::Json, out)?;
    out.write_all(br#","edges":"#)?;
    match edges {
        Some(edges) => export(edges, ExportFormat::Json, out)?,
        None => out.write_all(b"[]")?,
    }
    Ok(out.write_all(b"}\n")?)
}
