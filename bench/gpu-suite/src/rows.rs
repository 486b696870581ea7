//! The lines that are printed, and when to stop.

use std::io::Write;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use graphlume_device::cuda::Gpu;
use serde_json::{Map, Value, json};

use crate::error::SuiteError;

/// Repeats of what is timed; the best counts.
pub(crate) const REPEATS: usize = 5;
/// Whether nothing is repeated.
static ONCE: AtomicBool = AtomicBool::new(false);

/// Makes [`time`] measure once, as under a profiler, which slows every kernel.
pub(crate) fn set_repeats(once: bool) {
    ONCE.store(once, Ordering::Relaxed);
}

/// One line.
pub(crate) struct Row(Map<String, Value>);

impl Row {
    pub(crate) fn new(row: &str, on: &str) -> Self {
        let mut map = Map::new();
        map.insert("row".to_owned(), row.into());
        if !on.is_empty() {
            map.insert("on".to_owned(), on.into());
        }
        Self(map)
    }

    pub(crate) fn with(mut self, name: &str, value: Value) -> Self {
        self.0.insert(name.to_owned(), value);
        self
    }

    /// Both times, and how much of `unit` a second that is by the device's clock.
    pub(crate) fn timed(self, times: Times, amount: f64, unit: &str) -> Self {
        self.with("event_ms", json!(times.event_ms))
            .with("wall_ms", json!(times.wall_ms))
            .with("per_s", json!(amount / (times.event_ms / 1e3).max(1e-9)))
            .with("unit", unit.into())
    }

    /// Whether the GPU's answer is the CPU's, asked on a smaller input of the same kind.
    pub(crate) fn equal(self, equal: bool) -> Self {
        self.with("equal", equal.into())
    }

    /// Writes the line at once. A reader that has gone away is no reason to stop.
    pub(crate) fn print(&self) {
        let mut out = std::io::stdout().lock();
        let _ = writeln!(out, "{}", Value::Object(self.0.clone())).and_then(|()| out.flush());
    }

    fn is_wrong(&self) -> bool {
        self.0.get("equal") == Some(&Value::Bool(false))
    }
}

/// The best of several runs, by the device's clock and by the wall.
#[derive(Clone, Copy)]
pub(crate) struct Times {
    pub(crate) event_ms: f64,
    pub(crate) wall_ms: f64,
}

/// Runs `work` once to warm up and then some times.
pub(crate) fn time<T>(
    gpu: &Gpu,
    repeats: usize,
    mut work: impl FnMut() -> Result<T, SuiteError>,
) -> Result<(T, Times), SuiteError> {
    let mut value = work()?;
    let mut best = Times { event_ms: f64::INFINITY, wall_ms: f64::INFINITY };
    let repeats = if ONCE.load(Ordering::Relaxed) { 1 } else { repeats.max(1) };
    for _ in 0..repeats {
        gpu.sync()?;
        let begin = Instant::now();
        let mut timer = gpu.timer()?;
        value = work()?;
        best.event_ms = best.event_ms.min(f64::from(timer.elapsed_ms()?));
        best.wall_ms = best.wall_ms.min(begin.elapsed().as_secs_f64() * 1e3);
    }
    Ok((value, best))
}

/// Where rows go.
pub(crate) struct Out {
    began: Instant,
    patience: Duration,
    /// Names of the rows that are wanted; empty for all.
    only: Vec<String>,
    failed: Vec<String>,
    left_out: Vec<String>,
    printed: usize,
}

impl Out {
    pub(crate) const fn new(began: Instant, patience: Duration, only: Vec<String>) -> Self {
        Self { began, patience, only, failed: Vec::new(), left_out: Vec::new(), printed: 0 }
    }

    /// Whether any of these rows is wanted, so that what they share is worth making.
    pub(crate) fn wants(&self, names: &[&str]) -> bool {
        self.only.is_empty() || names.iter().any(|name| self.only.iter().any(|o| o == name))
    }

    /// Whether a further row may be begun.
    pub(crate) fn has_time(&self) -> bool {
        self.began.elapsed() < self.patience
    }

    /// Makes a row and prints it. One that fails is printed with its reason, and the others go on.
    pub(crate) fn row(
        &mut self,
        name: &str,
        on: &str,
        make: impl FnOnce(Row) -> Result<Row, SuiteError>,
    ) {
        if name != "graph" && !self.wants(&[name]) {
            return;
        }
        if !self.has_time() {
            self.left_out.push(format!("{name} {on}"));
            return;
        }
        let row = match make(Row::new(name, on)) {
            Ok(row) => row,
            Err(e) => {
                self.failed.push(format!("{name} {on}"));
                Row::new(name, on).with("error", e.to_string().into())
            }
        };
        if row.is_wrong() {
            self.failed.push(format!("{name} {on}"));
        }
        self.printed += 1;
        row.with("at_s", json!(self.began.elapsed().as_secs_f64())).print();
    }

    /// The last line; fails when a row did, or when time was too short for all.
    pub(crate) fn end(self) -> ExitCode {
        let well = self.failed.is_empty() && self.left_out.is_empty();
        Row::new("end", "")
            .with("rows", self.printed.into())
            .with("failed", self.failed.into())
            .with("left_out", self.left_out.into())
            .with("seconds", json!(self.began.elapsed().as_secs_f64()))
            .print();
        if well { ExitCode::SUCCESS } else { ExitCode::from(1) }
    }
}
