//! Runs hypergraph transforms for tests in other languages: one JSON object per line on the standard
//! input, `{"table", "options", "edges", "nodes"}` with paths of Arrow files to read and to write, and
//! one line for each on the standard output.

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, Write};
use std::time::Instant;

use graphlume_table::{Buffer, HypergraphCx, HypergraphOptions, Table, hypergraph};
use graphlume_types::{CancelToken, Coded};
use serde_json::{Value, json};

fn answer(line: &str) -> Result<Value, Box<dyn Error>> {
    let asked: Value = serde_json::from_str(line)?;
    let path = |name: &str| asked[name].as_str().ok_or(format!("{name} is no path"));
    let bytes = std::fs::read(path("table")?)?;
    let table = Table::read_arrow(Buffer::from_vec(bytes))?;
    let begin = Instant::now();
    let cancel = CancelToken::new();
    let made = HypergraphOptions::from_json(&asked["options"], "options").and_then(|options| {
        hypergraph(&table, &options, HypergraphCx { cancel: &cancel, first_event: 0 })
    });
    let made = match made {
        Ok(made) => made,
        Err(e) => {
            return Ok(json!({"error": e.to_string(), "slug": e.slug(), "field": e.field()}));
        }
    };
    let wall_s = begin.elapsed().as_secs_f64();
    let mut bytes = 0;
    for (name, table) in [("edges", &made.edges), ("nodes", &made.nodes)] {
        bytes += table.memory_bytes();
        if !asked[name].is_null() {
            table.write_arrow(File::create(path(name)?)?)?;
        }
    }
    Ok(json!({
        "edges": made.edges.num_rows(), "nodes": made.nodes.num_rows(),
        "warnings": made.warnings, "wall_s": wall_s, "bytes": bytes,
    }))
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        writeln!(out, "{}", answer(&line?)?)?;
        out.flush()?;
    }
    Ok(())
}
