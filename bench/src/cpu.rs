//! The tasks on the processor.

use std::time::Instant;

use graphlume_algo::centrality::pagerank as ranking;
use graphlume_algo::community::louvain as communities;
use graphlume_algo::component::{core_number, weak};
use graphlume_algo::input::Unnamed;
use graphlume_algo::path::{bfs as search, expand};
use graphlume_algo::{Input, Kind, ParamValues, Values, registry};
use graphlume_graph::Topology;
use graphlume_types::CancelToken;
use graphlume_types::hash::h64;
use serde_json::{Map, Value, json};

use crate::clock::{held_bytes, measure, peak_bytes, reset_peak};
use crate::input::{graph, read};
use crate::probe;
use crate::rows::{self, Columns};
use crate::task::{Report, Spec, TaskError, facts, finish, repeat};
use crate::work::{Size, Work};

/// Sources of searches and hops.
pub(crate) const SOURCES: u64 = 50;
/// Sources of one run of the task `bfs`.
pub(crate) const SEARCHES: usize = 8;

pub(crate) fn bandwidth(_: &Spec<'_>) -> Result<Report, TaskError> {
    let (table, took) = measure(probe::table);
    let mut result = Map::new();
    result.insert("rates".to_owned(), table);
    Ok(finish(vec![took], 0.0, result, Vec::new(), None))
}

pub(crate) fn parse(spec: &Spec<'_>) -> Result<Report, TaskError> {
    let bytes = std::fs::metadata(spec.edges).map_or(0, |m| m.len());
    // What each repeat adds to what was held before it, the table of the last one left out.
    let mut parse_bytes = 0u64;
    let (table, took) = repeat(spec, || {
        reset_peak();
        let held = held_bytes();
        let table = read(spec.edges);
        parse_bytes = parse_bytes.max(peak_bytes().saturating_sub(held));
        table
    })?;
    let mut result = Map::new();
    result.insert("parse_bytes".to_owned(), parse_bytes.into());
    result.insert("rows".to_owned(), table.num_rows().into());
    result.insert("cols".to_owned(), table.num_cols().into());
    result.insert("bytes".to_owned(), bytes.into());
    result.insert("table_bytes".to_owned(), table.memory_bytes().into());
    Ok(finish(took, 0.0, result, Vec::new(), None))
}

pub(crate) fn build(spec: &Spec<'_>) -> Result<Report, TaskError> {
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
    let mut result = facts(&graph.topology, 2 * u64::from(graph.topology.num_edges()));
    result.insert("table_bytes".to_owned(), table.memory_bytes().into());
    Ok(finish(took, load.seconds, result, Vec::new(), None))
}

pub(crate) fn both_ways(topology: &Topology) -> u64 {
    2 * u64::from(topology.num_edges())
}

/// The parameters of an algorithm of the registry.
pub(crate) fn values(spec: &Spec<'_>, name: &str) -> Result<ParamValues, TaskError> {
    let algorithm = registry::find_any(Kind::Compute, name)?;
    Ok(ParamValues::from_pairs(algorithm, spec.params)?)
}

/// Options of PageRank; the tolerance is 1e-6 unless asked otherwise, as the peers' is.
pub(crate) fn ranking_options(spec: &Spec<'_>) -> Result<ranking::Options, TaskError> {
    let p = values(spec, "pagerank")?;
    let default = ranking::Options::default();
    let asked = spec.params.iter().any(|p| p.starts_with("tol="));
    Ok(ranking::Options {
        alpha: p.float("alpha").unwrap_or(default.alpha),
        tol: if asked { p.float("tol").unwrap_or(default.tol) } else { 1e-6 },
        max_iter: p.int("max_iter").map_or(default.max_iter, i64::unsigned_abs),
        directed: p.bool("directed"),
        must_converge: p.bool("fail_on_nonconvergence"),
    })
}

pub(crate) fn pagerank(spec: &Spec<'_>) -> Result<Report, TaskError> {
    let (topology, load_s) = graph(spec.edges, true)?;
    let (options, cancel) = (ranking_options(spec)?, CancelToken::new());
    let (found, took) = repeat(spec, || Ok(ranking::ranks(&topology, None, options, &cancel)?))?;
    let arcs = if options.directed { topology.num_edges().into() } else { both_ways(&topology) };
    let mut result = facts(&topology, arcs);
    result.insert("iterations".to_owned(), found.iterations.into());
    result.insert("change".to_owned(), json!(found.change));
    let size = Size {
        nodes: topology.num_nodes().into(),
        arcs: arcs as f64,
        rounds: found.iterations as f64,
    };
    let columns = vec![("ranks", Values::F64(found.ranks))];
    Ok(finish(took, load_s, result, columns, Some(Work::pagerank(size))))
}

/// Facts about a partition, and its column.
pub(crate) fn label_facts(
    result: &mut Map<String, Value>,
    labels: Vec<u32>,
) -> Vec<(&'static str, Values)> {
    let groups = labels.iter().max().map_or(0, |l| u64::from(*l) + 1);
    result.insert("groups".to_owned(), groups.into());
    vec![("labels", Values::I64(labels.into_iter().map(i64::from).collect()))]
}

pub(crate) fn louvain(spec: &Spec<'_>) -> Result<Report, TaskError> {
    let (topology, load_s) = graph(spec.edges, false)?;
    // `rule=card` moves as a GPU does.
    let (rule, params): (Vec<String>, Vec<String>) =
        spec.params.iter().cloned().partition(|p| p == "rule=card");
    let arcs = if rule.is_empty() { usize::MAX } else { communities::SUB_ROUNDS_ARCS };
    let options =
        registry::louvain_options(&values(&Spec { params: &params, ..spec.clone() }, "louvain")?)?;
    let cancel = CancelToken::new();
    let (found, took) =
        repeat(spec, || Ok(communities::search_from(&topology, None, &options, arcs, &cancel)?))?;
    let mut result = facts(&topology, both_ways(&topology));
    result.insert("levels".to_owned(), found.levels.into());
    result.insert("visits".to_owned(), found.visits.into());
    let cpu = took.iter().map(|t| t.cpu_seconds).fold(f64::INFINITY, f64::min);
    result.insert("ns_per_visit".to_owned(), json!(1e9 * cpu / found.visits as f64));
    let modularity = communities::modularity(&topology, &found.labels);
    result.insert("modularity".to_owned(), json!(modularity));
    let work = Work::louvain(topology.num_nodes().into(), found.visits as f64);
    let columns = label_facts(&mut result, found.labels);
    Ok(finish(took, load_s, result, columns, Some(work)))
}

pub(crate) fn components(spec: &Spec<'_>) -> Result<Report, TaskError> {
    let (topology, load_s) = graph(spec.edges, false)?;
    let (labels, took) = repeat(spec, || Ok(weak::run(&topology, &CancelToken::new())?))?;
    let mut result = facts(&topology, both_ways(&topology));
    let columns = label_facts(&mut result, labels);
    let work = Work::components(topology.num_nodes().into());
    Ok(finish(took, load_s, result, columns, Some(work)))
}

pub(crate) fn cores(spec: &Spec<'_>) -> Result<Report, TaskError> {
    let (topology, load_s) = graph(spec.edges, false)?;
    let (cores, took) =
        repeat(spec, || Ok(core_number::run(&topology, false, &CancelToken::new())?))?;
    let mut result = facts(&topology, both_ways(&topology));
    result.insert("max_core".to_owned(), cores.iter().max().copied().unwrap_or(0).into());
    let sum: u64 = cores.iter().map(|c| u64::from(*c)).sum();
    result.insert("sum_core".to_owned(), sum.into());
    let columns = vec![("cores", Values::I64(cores.into_iter().map(i64::from).collect()))];
    Ok(finish(took, load_s, result, columns, None))
}

/// Hashed nodes that have edges: the sources that the peers take, too.
pub(crate) fn sources(topology: &Topology) -> Vec<u32> {
    let nodes: Vec<u32> = (0..topology.num_nodes()).filter(|v| topology.degree(*v) > 0).collect();
    let pick = |i| nodes[(h64(7, 70, i) % nodes.len().max(1) as u64) as usize];
    if nodes.is_empty() { Vec::new() } else { (0..SOURCES).map(pick).collect() }
}

pub(crate) fn bfs(spec: &Spec<'_>) -> Result<Report, TaskError> {
    let (topology, load_s) = graph(spec.edges, false)?;
    let from: Vec<u32> = sources(&topology).into_iter().take(SEARCHES).collect();
    let cancel = CancelToken::new();
    let (reached, took) = repeat(spec, || {
        let mut reached = 0u64;
        for source in &from {
            let levels = search::run(&topology, *source, false, None, &cancel)?;
            reached += levels.distance.iter().filter(|d| **d != search::UNREACHED).count() as u64;
        }
        Ok(reached)
    })?;
    let mut result = facts(&topology, both_ways(&topology));
    result.insert("iterations".to_owned(), from.len().into());
    result.insert("reached".to_owned(), reached.into());
    let one = Work::bfs(Size {
        nodes: topology.num_nodes().into(),
        arcs: both_ways(&topology) as f64,
        rounds: 1.0,
    });
    let times = from.len() as f64;
    let work = Work { stream_bytes: one.stream_bytes * times, gathers: one.gathers * times, ..one };
    Ok(finish(took, load_s, result, Vec::new(), Some(work)))
}

/// The middle and the ninth tenth of some seconds, in microseconds.
pub(crate) fn latency(result: &mut Map<String, Value>, mut seconds: Vec<f64>) {
    seconds.sort_by(f64::total_cmp);
    let at = |share: f64| seconds.get((seconds.len() as f64 * share) as usize).map(|s| s * 1e6);
    result.insert("p50_us".to_owned(), json!(at(0.5)));
    result.insert("p90_us".to_owned(), json!(at(0.9)));
    result.insert("p99_us".to_owned(), json!(at(0.99)));
}

pub(crate) fn hops(spec: &Spec<'_>) -> Result<Report, TaskError> {
    let (topology, load_s) = graph(spec.edges, false)?;
    let (from, cancel) = (sources(&topology), CancelToken::new());
    let hop = expand::Hop {
        direction: expand::Direction::Undirected,
        nodes: None,
        edges: None,
        mark: false,
    };
    let mut seconds = Vec::new();
    let (reached, took) = repeat(spec, || {
        let mut reached = 0u64;
        for source in &from {
            let begin = Instant::now();
            let found = expand::walk(&topology, &[*source], 2, &hop, &cancel)?;
            seconds.push(begin.elapsed().as_secs_f64());
            reached += found.nodes.iter().map(|w| u64::from(w.count_ones())).sum::<u64>();
        }
        Ok(reached)
    })?;
    let mut result = facts(&topology, both_ways(&topology));
    result.insert("iterations".to_owned(), from.len().into());
    result.insert("reached".to_owned(), reached.into());
    latency(&mut result, seconds);
    // What the GPU's task does: one walk from all sources at once.
    let together = || Ok(expand::walk(&topology, &from, 2, &hop, &cancel)?.nodes.len());
    let (_, together) = repeat(spec, together)?;
    let best = together.iter().map(|t| t.seconds).fold(f64::INFINITY, f64::min);
    result.insert("together_s".to_owned(), json!(best));
    Ok(finish(took, load_s, result, Vec::new(), None))
}

pub(crate) fn filter(spec: &Spec<'_>) -> Result<Report, TaskError> {
    let (columns, load) = measure(|| Columns::read(spec.edges));
    let columns = columns?;
    let device = rows::cpu_device(spec.threads)?;
    let on_device = columns.upload(&device)?;
    let (matched, took) = repeat(spec, || on_device.count(&device))?;
    let mut result = Map::new();
    result.insert("rows".to_owned(), columns.rows().into());
    result.insert("matched".to_owned(), matched.into());
    let cpu = took.iter().map(|t| t.cpu_seconds).fold(f64::INFINITY, f64::min);
    result.insert("rows_per_cpu_s".to_owned(), json!(columns.rows() as f64 / cpu));
    let work = Work::filter(columns.rows() as f64, rows::BYTES_PER_ROW);
    Ok(finish(took, load.seconds, result, Vec::new(), Some(work)))
}

/// What one call of each algorithm costs, with its defaults.
pub(crate) fn calls(spec: &Spec<'_>) -> Result<Report, TaskError> {
    let (topology, load_s) = graph(spec.edges, true)?;
    let cancel = CancelToken::new();
    let data = Unnamed(topology.num_nodes());
    let mut result = facts(&topology, both_ways(&topology));
    let mut all = Vec::new();
    for algorithm in registry::ALGORITHMS.iter().filter(|a| a.kind == Kind::Compute) {
        let library = algorithm.names.first().map_or("cugraph", |n| n.library);
        let input = Input { library, ..Input::plain(&topology, &data, &cancel) };
        let params = ParamValues::defaults(algorithm);
        let mut seconds = Vec::new();
        for _ in 0..spec.repeat.max(1) {
            let (out, took) = measure(|| registry::run(algorithm, &input, &params));
            out?;
            seconds.push(took.seconds);
            all.push(took);
        }
        let mut row = Map::new();
        latency(&mut row, seconds);
        result.insert(algorithm.id.to_owned(), Value::Object(row));
    }
    Ok(finish(all, load_s, result, Vec::new(), None))
}
