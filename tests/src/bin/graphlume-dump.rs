//! Parses files as the server would and writes the tables where a test can compare them.
//!
//! One JSON object per line on stdin: `{"path", "format", "compression"?, "options"?, "query"?, "sql"?,
//! "out"?}`; `query` holds pairs of texts as in an address, on top of the typed `options`. One line per
//! line on stdout: `{"tables": [{"name", "dtypes", "num_rows", "path"?}], "warnings": [..]}`, or
//! `{"error": {"slug", "message", "row"?, "column"?}}`. With `out`, table i is written to that path as an
//! Arrow file, from the second table on with `.i` behind it.

use std::fs::File;
use std::io::{BufRead, BufWriter, Write};
use std::path::PathBuf;

use graphlume_ingest::{
    FileError, Format, IngestError, ParseCx, ParseSpec, Source, options_from_query, parse,
    sql_transforms,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// One line of the input.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Job {
    path: PathBuf,
    format: String,
    #[serde(default)]
    compression: String,
    #[serde(default)]
    options: Map<String, Value>,
    #[serde(default)]
    query: Vec<(String, String)>,
    #[serde(default)]
    sql: Value,
    out: Option<PathBuf>,
}

fn spec(job: &Job) -> Result<ParseSpec, IngestError> {
    let format: Format = job.format.parse()?;
    let mut options = job.options.clone();
    options.extend(options_from_query(format, &job.query)?);
    let (compression, sql) = (job.compression.parse()?, sql_transforms(&job.sql)?);
    Ok(ParseSpec { format, compression, options, sql })
}

fn dump(job: &Job) -> Result<Value, IngestError> {
    let parsed = parse(&spec(job)?, &Source::Path(job.path.clone()), &ParseCx::default())?;
    let mut tables = Vec::new();
    for (i, (name, table)) in parsed.tables.iter().enumerate() {
        let mut shown = serde_json::to_value(table.summary(name)).unwrap_or_default();
        if let Some(out) = &job.out {
            let mut path = out.clone().into_os_string();
            if i > 0 {
                path.push(format!(".{i}"));
            }
            table.write_arrow(BufWriter::new(File::create(&path)?))?;
            shown["path"] = path.to_string_lossy().into();
        }
        tables.push(shown);
    }
    Ok(json!({
        "tables": tables,
        "warnings": parsed.warnings,
        "agent_name": parsed.agent_name,
        "agent_version": parsed.agent_version,
    }))
}

fn answer(line: &str) -> Value {
    let job: Job = match serde_json::from_str(line) {
        Ok(job) => job,
        Err(e) => return json!({"error": {"slug": "bad-job", "message": e.to_string()}}),
    };
    dump(&job).unwrap_or_else(|e| {
        let record: FileError = e.to_record();
        json!({ "error": record })
    })
}

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        writeln!(out, "{}", answer(&line?))?;
        out.flush()?;
    }
    Ok(())
}
