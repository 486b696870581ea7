//! The tasks on the GPU: the same graphs and the same results as on the processor.
//!
//! `device_ms` is the time of all work of a call on the device's stream, by the device's own clock, the
//! copy of the result included; `seconds` is the wall time of the call. For PageRank `iteration_ms`, the rate and the
//! share of the floor are of one iteration by itself. The graph is resident before. Rates
//! are measured in the same run, and the floor is computed from them.

use std::sync::Arc;
use std::time::Instant;

use graphlume_algo::gpu::force_atlas2::GpuForceAtlas2;
use graphlume_algo::gpu::pagerank::Plan;
use graphlume_algo::gpu::{GpuGraph, bfs as search, components as weak, expand, louvain as moving};
use graphlume_algo::path::bfs::UNREACHED;
use graphlume_algo::path::expand::Direction;
use graphlume_algo::{Values, registry};
use graphlume_device::columns::{Cells, Device};
use graphlume_device::cuda::{Gpu, GpuOptions};
use graphlume_graph::Topology;
use graphlume_types::CancelToken;
use graphlume_types::hash::h64;
use serde_json::{Map, Value, json};

use crate::clock::{Took, measure, peak_bytes};
use crate::cpu;
use crate::input::graph;
use crate::layout;
use crate::rows::{self, Columns};
use crate::task::{Report, Spec, TaskError, facts, repeat};
use crate::work::{GpuRates, Size, Work};

/// Bytes of each side of the copy that is timed.
const COPY_BYTES: usize = 1 << 29;
/// Cells of the table read at random: small enough for the second-level cache.
const TABLE_CELLS: u32 = 1 << 22;
/// Cells read at random in one go.
const GATHERS: u64 = 1 << 26;
/// Repeats of a probe; the best counts.
const REPEATS: usize = 7;
/// Launches of a recorded sequence whose time is that of launching.
const LAUNCHES: usize = 256;

struct Card {
    gpu: Gpu,
    rates: GpuRates,
}

impl Card {
    /// Opens the GPU with its kernels loaded, and measures it.
    fn open() -> Result<Self, TaskError> {
        let gpu = Gpu::open(&GpuOptions::default())?;
        gpu.load_kernels()?;
        let rates = GpuRates {
            stream_bytes: copy_rate(&gpu)?,
            gathers: gather_rate(&gpu)?,
            launch_s: launch_time(&gpu)?,
        };
        Ok(Self { gpu, rates })
    }

    /// The device's milliseconds for what `work` queues, beside its result.
    fn timed<T>(&self, work: impl FnOnce() -> Result<T, TaskError>) -> Result<(T, f64), TaskError> {
        let mut timer = self.gpu.timer()?;
        let value = work()?;
        Ok((value, f64::from(timer.elapsed_ms()?)))
    }

    fn facts(&self, topology: &Topology, arcs: u64) -> Map<String, Value> {
        let mut m = facts(topology, arcs);
        m.insert("gpu".to_owned(), self.gpu.info().name.clone().into());
        m
    }

    /// Adds rates, floor and memory; `floor_s` is that of the whole task.
    fn finish(
        &self,
        timed: Timed,
        load_s: f64,
        result: Map<String, Value>,
        floor_s: f64,
    ) -> Report {
        let mut result = result;
        let best = timed.device_ms.iter().copied().fold(f64::INFINITY, f64::min) / 1e3;
        let rounds = result.get("iterations").and_then(Value::as_f64).unwrap_or(1.0);
        if let Some(arcs) = result.get("arcs").and_then(Value::as_f64) {
            result.insert("arcs_per_s".to_owned(), json!(arcs * rounds / best));
        }
        result.insert("device_ms".to_owned(), json!(timed.device_ms));
        result.insert("rates".to_owned(), self.rates.json());
        result.insert("floor_ms".to_owned(), json!(floor_s * 1e3));
        result.insert("share_of_floor".to_owned(), json!(floor_s / best));
        result.insert("device_peak_bytes".to_owned(), self.gpu.budget().peak().into());
        result.insert("peak_bytes".to_owned(), peak_bytes().into());
        Report { took: timed.took, load_s, result, columns: timed.columns }
    }
}

/// What the repeats of a task gave.
struct Timed {
    took: Vec<Took>,
    device_ms: Vec<f64>,
    columns: Vec<(&'static str, Values)>,
}

impl Timed {
    /// Runs `work` once to warm up and then as often as asked.
    fn run<T>(
        card: &Card,
        spec: &Spec<'_>,
        mut work: impl FnMut() -> Result<T, TaskError>,
    ) -> Result<(T, Self), TaskError> {
        work()?;
        let mut device_ms = Vec::new();
        let (value, took) = repeat(spec, || {
            let (value, ms) = card.timed(&mut work)?;
            device_ms.push(ms);
            Ok(value)
        })?;
        Ok((value, Self { took, device_ms, columns: Vec::new() }))
    }
}

fn copy_rate(gpu: &Gpu) -> Result<f64, TaskError> {
    let free = gpu.budget().limit().saturating_sub(gpu.budget().used());
    let bytes = COPY_BYTES.min(usize::try_from(free / 4).unwrap_or(COPY_BYTES)).max(1 << 16);
    let from = gpu.zeros::<u8>("a probe", bytes)?;
    let mut to = gpu.zeros::<u8>("a probe", bytes)?;
    let mut best = f64::INFINITY;
    for _ in 0..REPEATS {
        let mut timer = gpu.timer()?;
        gpu.copy(from.view(), to.view_mut())?;
        best = best.min(f64::from(timer.elapsed_ms()?) / 1e3);
    }
    Ok(2.0 * bytes as f64 / best)
}

fn gather_rate(gpu: &Gpu) -> Result<f64, TaskError> {
    let device = Device::Cuda(gpu.clone());
    let cells: Vec<u32> = (0..TABLE_CELLS).collect();
    let places: Vec<u32> =
        (0..GATHERS).map(|i| (h64(3, 91, i) % u64::from(TABLE_CELLS)) as u32).collect();
    let table = device.upload(Cells::U32(&cells), None)?;
    let places = device.upload(Cells::U32(&places), None)?;
    let mut best = f64::INFINITY;
    for _ in 0..REPEATS {
        let mut timer = gpu.timer()?;
        device.gather(&table, &places, &CancelToken::new())?;
        best = best.min(f64::from(timer.elapsed_ms()?) / 1e3);
    }
    Ok(GATHERS as f64 / best)
}

fn launch_time(gpu: &Gpu) -> Result<f64, TaskError> {
    let mut cell = gpu.zeros::<u32>("a probe", 1)?;
    let replay = gpu.capture(|| (0..LAUNCHES).try_for_each(|_| gpu.zero(cell.view_mut())))?;
    let mut best = f64::INFINITY;
    for _ in 0..REPEATS {
        let mut timer = gpu.timer()?;
        replay.launch()?;
        best = best.min(f64::from(timer.elapsed_ms()?) / 1e3);
    }
    Ok(best / LAUNCHES as f64)
}

pub(crate) fn bandwidth(_: &Spec<'_>) -> Result<Report, TaskError> {
    let (card, took) = measure(Card::open);
    let card = card?;
    let mut result = Map::new();
    result.insert("gpu".to_owned(), card.gpu.info().name.clone().into());
    result.insert("rates".to_owned(), card.rates.json());
    Ok(Report { took: vec![took], load_s: 0.0, result, columns: Vec::new() })
}

pub(crate) fn pagerank(spec: &Spec<'_>) -> Result<Report, TaskError> {
    let card = Card::open()?;
    let (topology, load_s) = graph(spec.edges, true)?;
    let (options, cancel) = (cpu::ranking_options(spec)?, CancelToken::new());
    let on_device = GpuGraph::upload(&card.gpu, &topology)?;
    let (plan, ready) =
        measure(|| Plan::new(&card.gpu, &on_device, None, options.directed, &cancel));
    let plan = plan?;
    let (ranks, mut timed) =
        Timed::run(&card, spec, || Ok(plan.run(&card.gpu, &on_device, options, None, &cancel)?))?;
    let host = graphlume_algo::centrality::pagerank::ranks(&topology, None, options, &cancel)?;
    let off: f64 = host.ranks.iter().zip(&ranks).map(|(a, b)| (a - b).abs()).sum();
    let arcs = match options.directed {
        true => topology.num_edges().into(),
        false => cpu::both_ways(&topology),
    };
    let mut result = card.facts(&topology, arcs);
    result.insert("iterations".to_owned(), host.iterations.into());
    result.insert("plan_s".to_owned(), json!(ready.seconds));
    result.insert("distance_to_cpu".to_owned(), json!(off));
    let rounds = host.iterations as f64;
    let size = Size { nodes: topology.num_nodes().into(), arcs: arcs as f64, rounds };
    timed.columns = vec![("ranks", Values::F64(ranks))];
    // The goal is of an iteration by itself; the call also records, looks at the change and copies the ranks.
    let [single, double] = plan.iteration_ms(&card.gpu, &on_device, 8)?;
    let floor = card.rates.floor_s(Work::pagerank(Size { rounds: 1.0, ..size }), 3.0);
    let mut report = card.finish(timed, load_s, result, floor);
    for (name, value) in [
        ("iteration_ms", single),
        ("iteration_f64_ms", double),
        ("arcs_per_s", arcs as f64 / (single / 1e3)),
        ("share_of_floor", floor / (single / 1e3)),
    ] {
        report.result.insert(name.to_owned(), json!(value));
    }
    Ok(report)
}

pub(crate) fn louvain(spec: &Spec<'_>) -> Result<Report, TaskError> {
    let card = Card::open()?;
    let (topology, load_s) = graph(spec.edges, false)?;
    let options = registry::louvain_options(&cpu::values(spec, "louvain")?)?;
    let cancel = CancelToken::new();
    let on_device = GpuGraph::upload(&card.gpu, &topology)?;
    let (labels, mut timed) = Timed::run(&card, spec, || {
        Ok(moving::run(&card.gpu, &on_device, None, &options, &cancel)?)
    })?;
    let mut result = card.facts(&topology, cpu::both_ways(&topology));
    let modularity = graphlume_algo::community::louvain::modularity(&topology, &labels);
    result.insert("modularity".to_owned(), json!(modularity));
    timed.columns = cpu::label_facts(&mut result, labels);
    // Four visits of every arc, and of each a label and a sum; six passes of eight rounds.
    let visits = 4.0 * cpu::both_ways(&topology) as f64;
    let work = Work::louvain(topology.num_nodes().into(), visits);
    let floor = card.rates.floor_s(work, 6.0 * 8.0 * 6.0);
    Ok(card.finish(timed, load_s, result, floor))
}

pub(crate) fn components(spec: &Spec<'_>) -> Result<Report, TaskError> {
    let card = Card::open()?;
    let (topology, load_s) = graph(spec.edges, false)?;
    let on_device = GpuGraph::upload(&card.gpu, &topology)?;
    let cancel = CancelToken::new();
    let (labels, mut timed) =
        Timed::run(&card, spec, || Ok(weak::run(&card.gpu, &on_device, &cancel)?))?;
    let mut result = card.facts(&topology, cpu::both_ways(&topology));
    timed.columns = cpu::label_facts(&mut result, labels);
    let floor = card.rates.floor_s(Work::components(topology.num_nodes().into()), 8.0);
    Ok(card.finish(timed, load_s, result, floor))
}

pub(crate) fn bfs(spec: &Spec<'_>) -> Result<Report, TaskError> {
    let card = Card::open()?;
    let (topology, load_s) = graph(spec.edges, false)?;
    let on_device = GpuGraph::upload(&card.gpu, &topology)?;
    let from: Vec<u32> = cpu::sources(&topology).into_iter().take(cpu::SEARCHES).collect();
    let cancel = CancelToken::new();
    let (reached, timed) = Timed::run(&card, spec, || {
        let mut reached = 0u64;
        for source in &from {
            let levels = search::run(&card.gpu, &on_device, *source, false, None, &cancel)?;
            reached += levels.distance.iter().filter(|d| **d != UNREACHED).count() as u64;
        }
        Ok(reached)
    })?;
    let arcs = cpu::both_ways(&topology);
    let mut result = card.facts(&topology, arcs);
    result.insert("iterations".to_owned(), from.len().into());
    result.insert("reached".to_owned(), reached.into());
    let size = Size { nodes: topology.num_nodes().into(), arcs: arcs as f64, rounds: 1.0 };
    let floor = card.rates.floor_s(Work::bfs(size), 20.0) * from.len() as f64;
    Ok(card.finish(timed, load_s, result, floor))
}

pub(crate) fn fa2(spec: &Spec<'_>) -> Result<Report, TaskError> {
    let card = Card::open()?;
    let (topology, load_s) = graph(spec.edges, false)?;
    let on_device = Arc::new(GpuGraph::upload(&card.gpu, &topology)?);
    let (params, cancel) = (layout::params_of(spec)?, CancelToken::new());
    let start = match spec.placed {
        true => graphlume_algo::layout::initial_layout::place(&topology, 0, &cancel)?,
        false => layout::random_start(topology.num_nodes()),
    };
    let iterations = spec.iterations.unwrap_or(100);
    let mut device_ms = Vec::new();
    let (mut layout, took) = repeat(spec, || {
        let params = params.clone();
        let new = GpuForceAtlas2::new;
        let (gpu, graph) = (&card.gpu, &on_device);
        let mut layout = new(gpu, graph, &topology, None, params, &start, None, None, None)?;
        // The layout has a stream of its own, and `iterate` waits for it: the wall is the device's time.
        let begin = Instant::now();
        layout.iterate(iterations, &cancel)?;
        device_ms.push(begin.elapsed().as_secs_f64() * 1e3);
        Ok(layout)
    })?;
    let mut positions = Vec::new();
    layout.positions(&mut positions)?;
    let arcs = cpu::both_ways(&topology);
    let mut result = card.facts(&topology, arcs);
    result.insert("iterations".to_owned(), iterations.into());
    result.insert("settled".to_owned(), json!(layout.settled()));
    let each = card.rates.fa2_s(topology.num_nodes().into(), arcs as f64);
    let timed = Timed { took, device_ms, columns: layout::columns_of(&positions) };
    Ok(card.finish(timed, load_s, result, each * iterations as f64))
}

pub(crate) fn hops(spec: &Spec<'_>) -> Result<Report, TaskError> {
    let card = Card::open()?;
    let (topology, load_s) = graph(spec.edges, false)?;
    let on_device = GpuGraph::upload(&card.gpu, &topology)?;
    let (from, cancel) = (cpu::sources(&topology), CancelToken::new());
    let mut expander = expand::Expander::new(&card.gpu, &on_device)?;
    let hop =
        expand::Hop { direction: Direction::Undirected, nodes: None, edges: None, mark: false };
    // Two hops from all sources at once, and the number of nodes reached: a query as viewers ask it.
    let (reached, timed) = Timed::run(&card, spec, || {
        let found = expander.walk(&on_device, &from, 2, &hop, &cancel)?;
        let words = card.gpu.read(found.nodes.view())?;
        Ok(words.iter().map(|w| u64::from(w.count_ones())).sum::<u64>())
    })?;
    let mut result = card.facts(&topology, cpu::both_ways(&topology));
    result.insert("seeds".to_owned(), from.len().into());
    result.insert("reached".to_owned(), reached.into());
    let work = Work::hops(topology.num_nodes().into(), two_hop_arcs(&topology, &from));
    Ok(card.finish(timed, load_s, result, card.rates.floor_s(work, 8.0)))
}

/// Arcs that two hops from `seeds` go over.
fn two_hop_arcs(topology: &Topology, seeds: &[u32]) -> f64 {
    let around = |v: u32| topology.out_neighbors(v).iter().chain(topology.in_neighbors(v));
    let mut near: Vec<u32> =
        seeds.iter().flat_map(|v| around(*v)).copied().chain(seeds.to_vec()).collect();
    near.sort_unstable();
    near.dedup();
    near.iter().map(|v| f64::from(topology.degree(*v))).sum()
}

pub(crate) fn filter(spec: &Spec<'_>) -> Result<Report, TaskError> {
    let card = Card::open()?;
    let (columns, load) = measure(|| Columns::read(spec.edges));
    let columns = columns?;
    let device = Device::Cuda(card.gpu.clone());
    let on_device = columns.upload(&device)?;
    let (matched, timed) = Timed::run(&card, spec, || on_device.count(&device))?;
    let mut result = Map::new();
    result.insert("gpu".to_owned(), card.gpu.info().name.clone().into());
    result.insert("rows".to_owned(), columns.rows().into());
    result.insert("matched".to_owned(), matched.into());
    let work = Work::filter(columns.rows() as f64, rows::BYTES_PER_ROW);
    Ok(card.finish(timed, load.seconds, result, card.rates.floor_s(work, 2.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arcs_of_two_hops_are_those_of_seeds_and_neighbours() {
        // 0 - 1 - 2 - 3 - 4
        let t = Topology::from_coo(5, &[0, 1, 2, 3], &[1, 2, 3, 4]);
        assert_eq!(two_hop_arcs(&t, &[0]), 3.0);
        assert_eq!(two_hop_arcs(&t, &[2]), 6.0);
    }
}
