//! The suite from end to end on the emulated GPU.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

use std::process::{Command, Output};

fn suite(arguments: &[&str], faults: &[(&str, &str)]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_graphlume-gpu-suite"))
        .args(arguments)
        .env("LD_LIBRARY_PATH", graphlume_emu::emulator::library_folder())
        .envs(faults.iter().copied())
        .output()
        .unwrap()
}

/// The values of a field that is a text or a truth, line by line.
fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let rest = line.split_once(&format!("\"{name}\":"))?.1;
    rest.split([',', '}']).next().map(|value| value.trim_matches('"'))
}

#[test]
fn every_row_is_made_and_agrees_with_the_cpu() {
    let run = suite(&["--small", "--seconds", "3600"], &[]);
    let text = String::from_utf8(run.stdout).unwrap();
    assert!(run.status.success(), "{text}\n{}", String::from_utf8_lossy(&run.stderr));
    let lines: Vec<&str> = text.lines().collect();
    let rows: Vec<&str> = lines.iter().map(|l| field(l, "row").unwrap()).collect();
    let tasks = "card rate rate rate rate rate rate rate graph pagerank force_atlas2 louvain hop2 bfs components \
                 paths paths_between_ages first_by_paths ends_of_paths sums_by_ends cross-filter filter aggregate \
                 group force_atlas2 graph pagerank louvain end";
    assert_eq!(rows.join(" "), tasks.split_whitespace().collect::<Vec<_>>().join(" "));
    for line in &lines {
        assert!(line.starts_with('{') && line.ends_with('}'), "{line}");
        assert_eq!(field(line, "error"), None, "{line}");
        let is_task = !["card", "rate", "graph", "end"].contains(&field(line, "row").unwrap());
        if is_task {
            assert_eq!(field(line, "equal"), Some("true"), "{line}");
            for time in ["event_ms", "wall_ms", "per_s"] {
                let value: f64 = field(line, time).unwrap().parse().unwrap();
                assert!(value.is_finite() && value > 0.0, "{time}: {line}");
            }
        }
    }
}

#[test]
fn rows_that_there_is_no_time_for_are_named_and_fail_the_run() {
    // Slow launches: the second is over long before the rows are done.
    let run = suite(&["--small", "--seconds", "1"], &[("GRAPHLUME_EMU_DELAY_MS", "8")]);
    let text = String::from_utf8(run.stdout).unwrap();
    assert_eq!(run.status.code(), Some(1), "{text}");
    let last = text.lines().last().unwrap();
    assert!(last.contains("\"row\":\"end\"") && last.contains("graph rmat9"), "{last}");
}

#[test]
fn rows_can_be_chosen_for_a_profiler() {
    let run = suite(&["--small", "--once", "--only", "filter", "--only", "cross-filter"], &[]);
    let text = String::from_utf8(run.stdout).unwrap();
    assert!(run.status.success(), "{text}\n{}", String::from_utf8_lossy(&run.stderr));
    let rows: Vec<&str> = text.lines().map(|l| field(l, "row").unwrap()).collect();
    assert_eq!(rows, ["card", "cross-filter", "filter", "end"]);
    let run = suite(&["--only"], &[]);
    assert_eq!(run.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&run.stderr).contains("the name of a row"));
}

#[test]
fn a_device_that_fails_is_told_row_by_row() {
    let run = suite(&["--small"], &[("GRAPHLUME_EMU_FAIL_LAUNCH", "400")]);
    let text = String::from_utf8(run.stdout).unwrap();
    assert_eq!(run.status.code(), Some(1), "{text}");
    assert!(text.lines().any(|l| l.contains("\"error\":")), "{text}");
    assert!(text.lines().last().unwrap().contains("\"row\":\"end\""), "{text}");
}

#[test]
fn wrong_arguments_are_answered_with_the_remedy() {
    let run = suite(&["--seconds", "soon"], &[]);
    assert_eq!(run.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&run.stderr).contains("from 1 to 3600"));
    let run = suite(&["--large"], &[]);
    assert_eq!(run.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&run.stderr).contains("usage:"));
}
