//! The SQL step of an upload by itself: queries over tables that are parsed already, without the confined worker.

use std::path::Path;

use graphlume_ingest::{ParseCx, SqlTransform, sql_transforms, transform_tables};
use serde_json::{Map, Value};

use crate::clock::{held_bytes, measure, peak_bytes, reset_peak};
use crate::input::parsed;
use crate::task::{Report, Spec, TaskError, finish, repeat};

/// Parameters: `query`, a `SELECT` over the table `data`, and again for each further query, which also sees the
/// results before it as `result_0`, `result_1` and so on. Parsing the file is not counted. The SQL engine has threads
/// of its own, which `--threads` does not set: the processor time is that of all of them.
pub(crate) fn run(spec: &Spec<'_>) -> Result<Report, TaskError> {
    let queries = queries(spec.params)?;
    let (tables, load) = measure(|| parsed(spec.edges));
    let (tables, cx) = (tables?, ParseCx::default());
    // What each repeat adds to what was held before it.
    let mut sql_bytes = 0u64;
    let (made, took) = repeat(spec, || {
        reset_peak();
        let held = held_bytes();
        // The columns are shared, not copied.
        let made = transform_tables(&queries, tables.clone(), &cx);
        sql_bytes = sql_bytes.max(peak_bytes().saturating_sub(held));
        made.map_err(|e| failed(spec.edges, e.to_string()))
    })?;
    let mut result = Map::new();
    result.insert("sql_bytes".to_owned(), sql_bytes.into());
    let rows = tables.tables.iter().map(|(_, t)| t.num_rows()).sum::<usize>();
    result.insert("rows_in".to_owned(), rows.into());
    let sizes = made.tables.iter().map(|(name, table)| {
        let size = [table.num_rows(), table.num_cols()].map(Value::from);
        (name.clone(), Value::from(size.to_vec()))
    });
    result.insert("results".to_owned(), Value::Object(sizes.collect()));
    Ok(finish(took, load.seconds, result, Vec::new(), None))
}

/// The queries, named as an upload that gives a plain list of them has them named.
fn queries(params: &[String]) -> Result<Vec<SqlTransform>, TaskError> {
    let mut list = Vec::new();
    for param in params {
        match param.split_once('=') {
            Some(("query", text)) => list.push(Value::from(text)),
            _ => {
                let message = format!("{param:?} is unknown; the task takes query=TEXT");
                return Err(failed(Path::new("--param"), message));
            }
        }
    }
    if list.is_empty() {
        return Err(failed(Path::new("--param"), "query=TEXT is missing".to_owned()));
    }
    sql_transforms(&Value::Array(list)).map_err(|e| failed(Path::new("--param"), e.to_string()))
}

fn failed(path: &Path, message: String) -> TaskError {
    TaskError::Input { path: path.display().to_string(), message }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::tasks;

    #[test]
    fn the_step_sees_the_table_and_earlier_results() {
        let name = format!("graphlume-bench-sql-{}.csv", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, "src,dst\n1,2\n1,3\n2,3\n").unwrap();
        let params = [
            "query=SELECT src, COUNT(*) AS n FROM data GROUP BY src",
            "query=SELECT src FROM result_0 WHERE n = 2",
        ]
        .map(str::to_owned);
        let spec = |params| Spec {
            task: "sql",
            edges: &path,
            threads: 1,
            repeat: 2,
            iterations: None,
            placed: false,
            params,
            cuda: false,
        };
        let report = tasks::run(&spec(&params)).unwrap();
        let none = tasks::run(&spec(&[])).unwrap_err();
        let wrong = tasks::run(&spec(&["query=SELECT x FROM data".to_owned()])).unwrap_err();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(report.took.len(), 2);
        assert_eq!(report.result["rows_in"], 3);
        assert_eq!(report.result["results"]["result_0"], Value::from(vec![2, 2]));
        assert_eq!(report.result["results"]["result_1"], Value::from(vec![1, 1]));
        assert!(none.to_string().contains("query=TEXT is missing"), "{none}");
        assert!(wrong.to_string().contains("result_0"), "{wrong}");
    }
}
