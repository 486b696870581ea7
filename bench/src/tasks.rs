//! The tasks of `graphlume bench`: each does what the peers' counterpart does, on the same graph.
//!
//! Layout, communities, components and cores see the undirected simple graph, PageRank the distinct
//! directed edges: that is what the peers' own containers reduce an edge list to.

use graphlume_device::CpuPool;

use crate::task::{Report, Spec, TaskError};
use crate::{arrange, cancel, cpu, crossfilter, cuda, layout, query, sql};

type Run = fn(&Spec<'_>) -> Result<Report, TaskError>;

struct Task {
    name: &'static str,
    cpu: Run,
    cuda: Option<Run>,
}

const TASKS: &[Task] = &[
    Task { name: "bandwidth", cpu: cpu::bandwidth, cuda: Some(cuda::bandwidth) },
    Task { name: "csv", cpu: cpu::parse, cuda: None },
    Task { name: "parquet", cpu: cpu::parse, cuda: None },
    Task { name: "parse", cpu: cpu::parse, cuda: None },
    Task { name: "sql", cpu: sql::run, cuda: None },
    Task { name: "build", cpu: cpu::build, cuda: None },
    Task { name: "start", cpu: layout::start, cuda: None },
    Task { name: "fa2", cpu: layout::fa2, cuda: Some(cuda::fa2) },
    Task { name: "arrange", cpu: arrange::run, cuda: None },
    Task { name: "pagerank", cpu: cpu::pagerank, cuda: Some(cuda::pagerank) },
    Task { name: "louvain", cpu: cpu::louvain, cuda: Some(cuda::louvain) },
    Task { name: "wcc", cpu: cpu::components, cuda: Some(cuda::components) },
    Task { name: "kcore", cpu: cpu::cores, cuda: None },
    Task { name: "bfs", cpu: cpu::bfs, cuda: Some(cuda::bfs) },
    Task { name: "hop2", cpu: cpu::hops, cuda: Some(cuda::hops) },
    Task { name: "filter", cpu: cpu::filter, cuda: Some(cuda::filter) },
    Task { name: "calls", cpu: cpu::calls, cuda: None },
    Task { name: "cancel", cpu: cancel::run, cuda: None },
    Task { name: "query", cpu: query::run, cuda: None },
    Task { name: "crossfilter", cpu: crossfilter::run, cuda: None },
];

fn names(which: fn(&Task) -> bool) -> String {
    TASKS.iter().filter(|t| which(t)).map(|t| t.name).collect::<Vec<_>>().join(", ")
}

/// Runs a task on a pool of its own.
///
/// # Errors
/// The task is unknown, the file cannot be read, the algorithm refuses, or there is no GPU for it.
pub fn run(spec: &Spec<'_>) -> Result<Report, TaskError> {
    let task = TASKS.iter().find(|t| t.name == spec.task).ok_or_else(|| {
        let (name, known) = (spec.task.to_owned(), names(|_| true));
        TaskError::Unknown { name, known }
    })?;
    let run = match (spec.cuda, task.cuda) {
        (false, _) => task.cpu,
        (true, Some(run)) => run,
        (true, None) => {
            let (name, known) = (spec.task.to_owned(), names(|t| t.cuda.is_some()));
            return Err(TaskError::CpuOnly { name, known });
        }
    };
    let pool = CpuPool::new(spec.threads)
        .map_err(|e| TaskError::Threads { threads: spec.threads, message: e.to_string() })?;
    pool.install(|| run(spec))
}
