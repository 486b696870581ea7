//! `graphlume bench`.

use std::sync::Arc;

use arrow_array::{ArrayRef, UInt32Array};
use graphlume_bench::task::Spec;
use graphlume_bench::tasks;
use serde_json::json;

use crate::cli::{Backend, BenchArgs, StartArg};
use crate::failure::{Failure, failure};
use crate::output;

/// Times the task, and writes the figures and, beside them, the whole result for a checker.
pub fn run(args: &BenchArgs) -> Result<(), Failure> {
    let mut report = tasks::run(&Spec {
        task: &args.task,
        edges: &args.edges,
        threads: args.threads,
        repeat: args.repeat,
        iterations: args.iterations,
        placed: args.start == StartArg::Placed,
        params: &args.params,
        cuda: args.backend == Backend::Cuda,
    })?;
    if !report.columns.is_empty() {
        let path = args.out.with_extension("result.parquet");
        let key = match report.columns[0].0 {
            "x" => "layout_path",
            "ranks" => "ranks_path",
            _ => "labels_path",
        };
        let n = report.columns[0].1.len();
        let nodes = UInt32Array::from_iter_values(0..u32::try_from(n).unwrap_or(u32::MAX));
        let mut columns: Vec<(&str, ArrayRef)> = vec![("node", Arc::new(nodes))];
        for (name, values) in std::mem::take(&mut report.columns) {
            let name = match name {
                "ranks" => "rank",
                "labels" => "label",
                other => other,
            };
            columns.push((name, values.array(|v| Arc::new(UInt32Array::from(v.to_vec())))));
        }
        output::write(&path, columns)?;
        report.result.insert(key.to_owned(), path.display().to_string().into());
    }
    let doc = json!({
        "seconds": report.took.iter().map(|t| t.seconds).collect::<Vec<_>>(),
        "cpu_seconds": report.took.iter().map(|t| t.cpu_seconds).collect::<Vec<_>>(),
        "load_s": report.load_s,
        "result": report.result,
    });
    std::fs::write(&args.out, format!("{doc:#}\n"))
        .map_err(|e| failure(format!("{}: {e}", args.out.display())))
}
