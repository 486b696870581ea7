//! The tasks of `graphlume bench`: each does what the peers' counterpart does, on the same graph.
//!
//! Layout, communities, components and cores see the undirected simple graph, PageRank the distinct
//! directed edges: that is what the peers' own containers reduce an edge list to.

use std::path::Path;
use std::sync::Arc;

use graphlume_algo::layout::{force_atlas2, start};
use graphlume_algo::{AlgoError, Input, Kind, ParamValues, Values};
use graphlume_device::CpuPool;
use graphlume_graph::Topology;
use graphlume_ingest::{Format, ParseCx, Source};
use graphlume_table::{Table, to_f64};
use graphlume_types::CancelToken;
use graphlume_types::hash::unit_f64;
use serde_json::{Map, Value, json};

use crate::clock::{Took, measure, peak_bytes};

/// Why a task was not timed.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// No such task.
    #[error("there is no task {name:?}; known are {}", TASKS.iter().map(|t| t.name).collect::<Vec<_>>().join(", "))]
    Unknown {
        /// What was asked for.
        name: String,
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

struct Task {
    name: &'static str,
    run: fn(&Spec<'_>) -> Result<Report, TaskError>,
}

const TASKS: &[Task] = &[
    Task { name: "csv", run: parse_task },
    Task { name: "parquet", run: parse_task },
    Task { name: "build", run: build_task },
    Task { name: "start", run: start_task },
    Task { name: "fa2", run: fa2_task },
    Task { name: "pagerank", run: |s| algorithm_task(s, "pagerank", "ranks") },
    Task { name: "louvain", run: |s| algorithm_task(s, "louvain", "labels") },
    Task { name: "wcc", run: |s| algorithm_task(s, "weakly_connected_components", "labels") },
    Task { name: "kcore", run: |s| algorithm_task(s, "core_number", "cores") },
];

/// Runs a task on a pool of its own.
///
/// # Errors
/// The task is unknown, the file cannot be read or the algorithm refuses.
pub fn run(spec: &Spec<'_>) -> Result<Report, TaskError> {
    let task = TASKS
        .iter()
        .find(|t| t.name == spec.task)
        .ok_or_else(|| TaskError::Unknown { name: spec.task.to_owned() })?;
    let pool = CpuPool::new(spec.threads)
        .map_err(|e| TaskError::Threads { threads: spec.threads, message: e.to_string() })?;
    pool.install(|| (task.run)(spec))
}

fn format_of(path: &Path) -> Format {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    extension.parse().unwrap_or(Format::Csv)
}

fn read(path: &Path) -> Result<Table, TaskError> {
    let fail = |message: String| TaskError::Input { path: path.display().to_string(), message };
    let cx = ParseCx { cancel: CancelToken::new() };
    let parsed =
        graphlume_ingest::parse(format_of(path), &Source::Path(path.to_owned()), &Map::new(), &cx)
            .map_err(|e| fail(e.to_string()))?;
    parsed.tables.into_iter().next().map(|(_, t)| t).ok_or_else(|| fail("no table".to_owned()))
}

struct Edges {
    num_nodes: u32,
    src: Vec<u32>,
    dst: Vec<u32>,
}

fn edges(path: &Path) -> Result<Edges, TaskError> {
    let fail = |message: &str| TaskError::Input {
        path: path.display().to_string(),
        message: message.to_owned(),
    };
    let table = read(path)?;
    let column = |name: &str| {
        let values = table.column(name).and_then(|c| to_f64(c.as_ref()));
        let values = values.ok_or_else(|| fail("needs integer columns src and dst"))?;
        let ids = values.into_iter().map(|v| {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
            (v >= 0.0 && v < f64::from(u32::MAX) && v.fract() == 0.0).then_some(v as u32)
        });
        ids.collect::<Option<Vec<u32>>>().ok_or_else(|| fail("ids must be integers from 0"))
    };
    let (src, dst) = (column("src")?, column("dst")?);
    let num_nodes = src.iter().chain(&dst).max().map_or(0, |v| v + 1);
    Ok(Edges { num_nodes, src, dst })
}

/// The graph as the peers hold it, and the seconds to get there.
fn graph(path: &Path, directed: bool) -> Result<(Arc<Topology>, f64), TaskError> {
    let (graph, took) = measure(|| {
        let e = edges(path)?;
        let mut pairs: Vec<u64> = e
            .src
            .iter()
            .zip(&e.dst)
            .filter(|(s, d)| directed || s != d)
            .map(|(s, d)| {
                let (a, b) = if directed { (*s, *d) } else { (*s.min(d), *s.max(d)) };
                u64::from(a) << 32 | u64::from(b)
            })
            .collect();
        pairs.sort_unstable();
        pairs.dedup();
        #[expect(clippy::cast_possible_truncation, reason = "the halves of a pair")]
        let (src, dst): (Vec<u32>, Vec<u32>) =
            pairs.iter().map(|p| ((p >> 32) as u32, *p as u32)).unzip();
        Ok(Arc::new(Topology::from_coo(e.num_nodes, &src, &dst)))
    });
    graph.map(|g: Arc<Topology>| (g, took.seconds))
}

fn repeat<T>(
    spec: &Spec<'_>,
    mut work: impl FnMut() -> Result<T, TaskError>,
) -> Result<(T, Vec<Took>), TaskError> {
    let mut took = Vec::with_capacity(spec.repeat.max(1));
    loop {
        let (value, t) = measure(&mut work);
        took.push(t);
        let value = value?;
        if took.len() >= spec.repeat.max(1) {
            return Ok((value, took));
        }
    }
}

fn facts(topology: &Topology) -> Map<String, Value> {
    let mut m = Map::new();
    m.insert("nodes".to_owned(), topology.num_nodes().into());
    m.insert("edges".to_owned(), topology.num_edges().into());
    m.insert("topology_bytes".to_owned(), topology.memory_bytes().into());
    m
}

fn finish(
    took: Vec<Took>,
    load_s: f64,
    mut result: Map<String, Value>,
    columns: Vec<(&'static str, Values)>,
) -> Report {
    result.insert("peak_bytes".to_owned(), peak_bytes().into());
    Report { took, load_s, result, columns }
}

fn parse_task(spec: &Spec<'_>) -> Result<Report, TaskError> {
    let bytes = std::fs::metadata(spec.edges).map_or(0, |m| m.len());
    let (table, took) = repeat(spec, || read(spec.edges))?;
    let mut result = Map::new();
    result.insert("rows".to_owned(), table.num_rows().into());
    result.insert("cols".to_owned(), table.num_cols().into());
    result.insert("bytes".to_owned(), bytes.into());
    result.insert("table_bytes".to_owned(), table.memory_bytes().into());
    Ok(finish(took, 0.0, result, Vec::new()))
}

fn build_task(spec: &Spec<'_>) -> Result<Report, TaskError> {
    let (table, load) = measure(|| read(spec.edges));
    let table = table?;
    let build = || {
        let s = graphlume_graph::GraphSpec {
            edges: &table,
            source: "src",
            destination: "dst",
            nodes: None,
            node: None,
        };
        graphlume_graph::build(&s, &CancelToken::new()).map_err(|e| TaskError::Input {
            path: spec.edges.display().to_string(),
            message: e.to_string(),
        })
    };
    let (graph, took) = repeat(spec, build)?;
    let mut result = facts(&graph.topology);
    result.insert("table_bytes".to_owned(), table.memory_bytes().into());
    Ok(finish(took, load.seconds, result, Vec::new()))
}

/// The positions that every peer starts from: hashed, in a square of side 1000 around the origin.
#[must_use]
pub fn random_start(num_nodes: u32) -> Vec<[f32; 2]> {
    let at = |stream, v| (unit_f64(1, stream, u64::from(v)) * 1000.0 - 500.0) as f32;
    (0..num_nodes).map(|v| [at(60, v), at(61, v)]).collect()
}

fn columns_of(positions: &[[f32; 2]]) -> Vec<(&'static str, Values)> {
    let axis = |a: usize| Values::F64(positions.iter().map(|p| f64::from(p[a])).collect());
    vec![("x", axis(0)), ("y", axis(1))]
}

fn start_task(spec: &Spec<'_>) -> Result<Report, TaskError> {
    let (topology, load_s) = graph(spec.edges, false)?;
    let (positions, took) = repeat(spec, || Ok(start::place(&topology, 0, &CancelToken::new())?))?;
    Ok(finish(took, load_s, facts(&topology), columns_of(&positions)))
}

fn fa2_task(spec: &Spec<'_>) -> Result<Report, TaskError> {
    let (topology, load_s) = graph(spec.edges, false)?;
    let cancel = CancelToken::new();
    let from = if spec.placed {
        start::place(&topology, 0, &cancel)?
    } else {
        random_start(topology.num_nodes())
    };
    let mut fields = Map::new();
    for pair in spec.params {
        let (name, value) = pair.split_once('=').unwrap_or((pair, "true"));
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::String(value.to_owned()));
        fields.insert(name.to_owned(), value);
    }
    let mut all = serde_json::to_value(force_atlas2::Params::default()).unwrap_or_default();
    if let Some(map) = all.as_object_mut() {
        map.extend(fields);
    }
    let params: force_atlas2::Params = serde_json::from_value(all)
        .map_err(|e| TaskError::Input { path: "--param".to_owned(), message: e.to_string() })?;
    let iterations = spec.iterations.unwrap_or(20);
    let (layout, took) = repeat(spec, || {
        let mut layout = force_atlas2::ForceAtlas2::new(
            &topology,
            None,
            params.clone(),
            &from,
            None,
            None,
            None,
        )?;
        for _ in 0..iterations {
            layout.iterate(&cancel)?;
        }
        Ok(layout)
    })?;
    let mut positions = Vec::new();
    layout.positions(&mut positions);
    let mut result = facts(&topology);
    result.insert("iterations".to_owned(), iterations.into());
    result.insert("settled".to_owned(), json!(layout.settled()));
    Ok(finish(took, load_s, result, columns_of(&positions)))
}

fn algorithm_task(spec: &Spec<'_>, name: &str, column: &'static str) -> Result<Report, TaskError> {
    let (topology, load_s) = graph(spec.edges, name == "pagerank")?;
    let algorithm = graphlume_algo::registry::find_any(Kind::Compute, name)?;
    let params = ParamValues::from_pairs(algorithm, spec.params)?;
    let cancel = CancelToken::new();
    let (output, took) = repeat(spec, || {
        let input = Input {
            topology: &topology,
            weights: None,
            resolve: &|text| text.parse().ok().filter(|v| *v < topology.num_nodes()),
            cancel: &cancel,
        };
        Ok((algorithm.run)(&input, &params)?)
    })?;
    let values = output.columns.into_iter().next().map(|c| c.values);
    let mut result = facts(&topology);
    if let Some(Values::I64(v)) = &values {
        result.insert("max".to_owned(), v.iter().max().copied().unwrap_or(0).into());
        result.insert("sum".to_owned(), v.iter().sum::<i64>().into());
    }
    Ok(finish(took, load_s, result, values.into_iter().map(|v| (column, v)).collect()))
}
