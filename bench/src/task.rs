//! A task's request and report, and what all tasks do alike.

use std::path::Path;

use graphlume_algo::{AlgoError, Values};
use graphlume_device::columns::ColumnOpError;
use graphlume_device::cuda::DeviceError;
use graphlume_graph::Topology;
use serde_json::{Map, Value, json};

use crate::clock::{Took, measure, peak_bytes, reset_peak};
use crate::probe::Rates;
use crate::work::Work;

/// Why a task was not timed.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// No such task.
    #[error("there is no task {name:?}; known are {known}")]
    Unknown {
        /// What was asked for.
        name: String,
        /// All tasks.
        known: String,
    },
    /// The file cannot be read.
    #[error("{path}: {message}")]
    Input {
        /// The file.
        path: String,
        /// Why.
        message: String,
    },
    /// The algorithm refused.
    #[error(transparent)]
    Algo(#[from] AlgoError),
    /// A primitive refused.
    #[error(transparent)]
    Prim(#[from] ColumnOpError),
    /// The GPU cannot be used.
    #[error("--backend cuda: {0}; leave --backend out to measure on the processor")]
    Device(#[from] DeviceError),
    /// The task has no counterpart on the GPU.
    #[error("--backend cuda: the task {name:?} runs on the processor only; on the GPU run {known}")]
    CpuOnly {
        /// The task.
        name: String,
        /// Those that do.
        known: String,
    },
    /// The threads could not be started.
    #[error("cannot start {threads} threads: {message}")]
    Threads {
        /// How many.
        threads: usize,
        /// Why.
        message: String,
    },
}

/// What to time.
#[derive(Debug, Clone)]
pub struct Spec<'a> {
    /// Task name.
    pub task: &'a str,
    /// Edge table with integer columns `src` and `dst`.
    pub edges: &'a Path,
    /// CPU threads; 0 takes all cores.
    pub threads: usize,
    /// Repeats.
    pub repeat: usize,
    /// Iterations of an iterative task.
    pub iterations: Option<u64>,
    /// Whether a layout starts from our own placement instead of the peers' shared random positions.
    pub placed: bool,
    /// Parameters as `name=value`.
    pub params: &'a [String],
    /// Whether the GPU computes.
    pub cuda: bool,
}

/// What a task gives.
#[derive(Debug)]
pub struct Report {
    /// Each repeat.
    pub took: Vec<Took>,
    /// Seconds to read the file and to build the graph.
    pub load_s: f64,
    /// Facts about the result.
    pub result: Map<String, Value>,
    /// Columns by node index, for results that a checker wants whole.
    pub columns: Vec<(&'static str, Values)>,
}

/// Does `work` as often as asked and keeps the last result.
pub(crate) fn repeat<T>(
    spec: &Spec<'_>,
    mut work: impl FnMut() -> Result<T, TaskError>,
) -> Result<(T, Vec<Took>), TaskError> {
    let mut took = Vec::with_capacity(spec.repeat.max(1));
    reset_peak();
    loop {
        let (value, t) = measure(&mut work);
        took.push(t);
        let value = value?;
        if took.len() >= spec.repeat.max(1) {
            return Ok((value, took));
        }
    }
}

/// The size of a graph, with `arcs` stored directions that the task works on.
pub(crate) fn facts(topology: &Topology, arcs: u64) -> Map<String, Value> {
    let mut m = Map::new();
    m.insert("nodes".to_owned(), topology.num_nodes().into());
    m.insert("edges".to_owned(), topology.num_edges().into());
    m.insert("arcs".to_owned(), arcs.into());
    m.insert("topology_bytes".to_owned(), topology.memory_bytes().into());
    m
}

/// Adds what every report of a graph task has: rates, traffic and floor, and memory.
pub(crate) fn finish(
    took: Vec<Took>,
    load_s: f64,
    mut result: Map<String, Value>,
    columns: Vec<(&'static str, Values)>,
    work: Option<Work>,
) -> Report {
    let peak = peak_bytes();
    result.insert("peak_bytes".to_owned(), peak.into());
    let cpu = took.iter().map(|t| t.cpu_seconds).fold(f64::INFINITY, f64::min);
    let count = |name: &str| result.get(name).and_then(Value::as_f64);
    let (edges, arcs) = (count("edges"), count("arcs"));
    let rounds = count("iterations").unwrap_or(1.0);
    if let (Some(edges), Some(arcs)) = (edges, arcs.filter(|a| *a > 0.0)) {
        result.insert("edges_per_cpu_s".to_owned(), json!(edges * rounds / cpu));
        result.insert("arcs_per_cpu_s".to_owned(), json!(arcs * rounds / cpu));
        result.insert("ns_per_arc".to_owned(), json!(1e9 * cpu / (arcs * rounds)));
        result.insert("peak_bytes_per_arc".to_owned(), json!(peak as f64 / arcs));
    }
    if let Some(work) = work {
        let rates = Rates::measure(work.table_bytes as u64);
        let floor = rates.floor_s(work.stream_bytes, work.gathers);
        result.insert("bytes_moved".to_owned(), json!(work.stream_bytes + 4.0 * work.gathers));
        result.insert("rates".to_owned(), rates.json());
        result.insert("floor_cpu_s".to_owned(), json!(floor));
        result.insert("share_of_floor".to_owned(), json!(floor / cpu));
    }
    Report { took, load_s, result, columns }
}
