//! Evaluates queries given as lines of JSON, for the comparison with other engines.
//!
//! A line names Arrow files and the query: `nodes`, `edges`, `node`, `source`, `destination`, `query`, which may be
//! a text in Cypher, `output`, `strictness`. The answer is a line with `nodes_path` and `edges_path`, or with `error`.
//! The results are written into the folder that the first argument names.

use std::error::Error;
use std::fs;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

use graphlume_expr::{QueryError, Strictness};
use graphlume_gfql::{parse, run};
use graphlume_procedures::{TextAnswer, TextSetting, run_text};
use graphlume_store::{Bindings, PropertyGraph};
use graphlume_table::{Buffer, Table};
use graphlume_types::CancelToken;
use serde_json::{Map, Value, json};

fn table(path: &Value) -> Result<Option<Table>, Box<dyn Error>> {
    match path.as_str() {
        None => Ok(None),
        Some(path) => Ok(Some(Table::read_arrow(Buffer::from(fs::read(path)?))?)),
    }
}

fn evaluate(case: &Value) -> Result<Result<PropertyGraph, QueryError>, Box<dyn Error>> {
    let name = |key: &str| case[key].as_str().map(str::to_owned);
    let bindings =
        Bindings { node: name("node"), source: name("source"), destination: name("destination") };
    let (nodes, edges) = (table(&case["nodes"])?, table(&case["edges"])?);
    let strictness = match case["strictness"].as_str() {
        Some("strict") => Strictness::Strict,
        _ => Strictness::Lenient,
    };
    let output = name("output");
    let answer = PropertyGraph::new(nodes, edges, bindings).and_then(|graph| {
        if let Value::String(text) = &case["query"] {
            let text = graphlume_cypher::parse_text(text)?;
            let (params, cancel) = (Map::new(), CancelToken::new());
            let setting = TextSetting { params: &params, strictness, cancel: &cancel };
            return match run_text(&graph, &text, setting)? {
                TextAnswer::Rows(rows) => Ok(PropertyGraph::of_rows(rows.table()?, None)),
                TextAnswer::Graph(made, _) => Ok(made),
            };
        }
        let query = parse(&case["query"])?;
        let outcome = run(&graph, &query, output.as_deref(), strictness, &CancelToken::new())?;
        Ok(outcome.graph)
    });
    Ok(answer)
}

fn written(table: Option<&Table>, path: &Path) -> Result<Value, Box<dyn Error>> {
    let Some(table) = table else { return Ok(Value::Null) };
    table.write_arrow(fs::File::create(path)?)?;
    Ok(path.display().to_string().into())
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("name a folder for the results")?);
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let case: Value = serde_json::from_str(&line?)?;
        let reply = match evaluate(&case)? {
            Ok(graph) => json!({
                "nodes_path": written(graph.nodes(), &folder.join("nodes.arrow"))?,
                "edges_path": written(graph.edges(), &folder.join("edges.arrow"))?,
            }),
            Err(e) => json!({"error": {
                "slug": e.error_code().slug(),
                "number": e.error_code().number(),
                "text": e.to_string(),
            }}),
        };
        writeln!(out, "{reply}")?;
        out.flush()?;
    }
    Ok(())
}
