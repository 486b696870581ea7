//! The tasks over graphs. Each is first compared with the CPU on a smaller graph, then timed on the graph of its goal.

use std::sync::Arc;

use graphlume_algo::centrality::pagerank::{self, Options};
use graphlume_algo::community::louvain;
use graphlume_algo::component::weak;
use graphlume_algo::gpu::force_atlas2::GpuForceAtlas2;
use graphlume_algo::gpu::louvain::Tuning;
use graphlume_algo::gpu::pagerank::Plan;
use graphlume_algo::gpu::{self, GpuGraph};
use graphlume_algo::layout::force_atlas2::{ForceAtlas2, Params};
use graphlume_algo::path::{bfs, expand};
use graphlume_device::cuda::Gpu;
use graphlume_graph::Topology;
use graphlume_types::CancelToken;
use graphlume_types::hash::{h64, unit_f64};
use serde_json::json;

use crate::error::SuiteError;
use crate::graphs::Kind;
use crate::rows::{Out, REPEATS, Row, time};
use crate::tables;

/// Seeds of a walk.
const SEEDS: u64 = 50;

/// What the rows run on, by their size.
struct Sizes {
    checked: Kind,
    laid_out: Kind,
    ranked: [Kind; 2],
    layouts: [Kind; 2],
    iterations: u64,
    table_rows: usize,
}

const FULL: Sizes = Sizes {
    checked: Kind::Rmat(16),
    laid_out: Kind::Tree(20_000, 60_000),
    ranked: [Kind::Rmat(22), Kind::Rmat(24)],
    layouts: [Kind::Tree(1_000_000, 5_000_000), Kind::Tree(4_000_000, 35_000_000)],
    iterations: 200,
    table_rows: 100_000_000,
};
const SMALL: Sizes = Sizes {
    checked: Kind::Rmat(7),
    laid_out: Kind::Tree(200, 500),
    ranked: [Kind::Rmat(8), Kind::Rmat(9)],
    layouts: [Kind::Tree(300, 900), Kind::Tree(400, 1_600)],
    iterations: 4,
    table_rows: 5_000,
};

/// A graph on the device for several rows; a failure to make it is told by each.
struct Shared<'a> {
    gpu: &'a Gpu,
    sizes: &'a Sizes,
    cancel: CancelToken,
}

/// Rows in the order of their worth, since time may run out.
pub(crate) fn run(gpu: &Gpu, small: bool, out: &mut Out) {
    let sizes = if small { &SMALL } else { &FULL };
    let s = Shared { gpu, sizes, cancel: CancelToken::new() };
    let [large, largest] = sizes.ranked;
    if out.wants(&["pagerank", "force_atlas2", "louvain", "hop2", "bfs", "components"]) {
        let made = s.make(large, out);
        let Some(graph) = &made else { return };
        let on = large.name();
        out.row("pagerank", &on, |row| s.pagerank(row, graph));
        out.row("force_atlas2", &sizes.layouts[0].name(), |row| s.layout(row, sizes.layouts[0]));
        out.row("louvain", &on, |row| s.louvain(row, graph));
        out.row("hop2", &on, |row| s.hop2(row, graph));
        out.row("bfs", &on, |row| s.bfs(row, graph));
        out.row("components", &on, |row| s.components(row, graph));
    }
    crate::social::run(gpu, if small { 300 } else { 1_000_000 }, out);
    tables::run(gpu, sizes.table_rows, out);
    out.row("force_atlas2", &sizes.layouts[1].name(), |row| s.layout(row, sizes.layouts[1]));
    if !out.wants(&["pagerank", "louvain"]) {
        return;
    }
    if let Some(graph) = &s.make(largest, out) {
        out.row("pagerank", &largest.name(), |row| s.pagerank(row, graph));
        out.row("louvain", &largest.name(), |row| s.louvain(row, graph));
    }
}

fn sized(row: Row, graph: &GpuGraph) -> Row {
    row.with("nodes", graph.num_nodes().into()).with("edges", graph.num_edges().into())
}

impl Shared<'_> {
    /// Builds a graph on the device, a row by itself.
    fn make(&self, kind: Kind, out: &mut Out) -> Option<GpuGraph> {
        let mut made = None;
        out.row("graph", &kind.name(), |row| {
            let begin = std::time::Instant::now();
            let graph = kind.on_device(self.gpu)?;
            self.gpu.sync()?;
            let row =
                sized(row, &graph).with("wall_ms", json!(begin.elapsed().as_secs_f64() * 1e3));
            made = Some(graph);
            Ok(row)
        });
        made
    }

    /// An iteration by itself in both precisions, and a whole call with the copy of the ranks.
    fn pagerank(&self, row: Row, graph: &GpuGraph) -> Result<Row, SuiteError> {
        let (host, small) = self.sizes.checked.both(self.gpu)?;
        let options = Options { tol: 1e-6, ..Options::default() };
        let want = pagerank::ranks(&host, None, options, &self.cancel)?;
        let plan = Plan::new(self.gpu, &small, None, true, &self.cancel)?;
        let got = plan.run(self.gpu, &small, options, None, &self.cancel)?;
        let off: f64 = want.ranks.iter().zip(&got).map(|(a, b)| (a - b).abs()).sum();
        // Changes shrink by 0.85 or more, so that each side is off by 0.85 / 0.15 tolerances at most.
        let most = 2.0 * options.tol * 0.85 / 0.15;

        let plan = Plan::new(self.gpu, graph, None, true, &self.cancel)?;
        let [single, double] = plan.iteration_ms(self.gpu, graph, 8)?;
        let call = || Ok(plan.run(self.gpu, graph, options, None, &self.cancel)?.len());
        let (_, times) = time(self.gpu, 2, call)?;
        let arcs = f64::from(graph.num_edges());
        Ok(sized(row, graph)
            .with("iteration_ms", json!(single))
            .with("iteration_f64_ms", json!(double))
            .with("arcs_per_s", json!(arcs / (single / 1e3).max(1e-9)))
            .with("arcs_f64_per_s", json!(arcs / (double / 1e3).max(1e-9)))
            .timed(times, 1.0, "calls")
            .with("distance_to_cpu", json!(off))
            .equal(off <= most))
    }

    fn layout(&self, row: Row, kind: Kind) -> Result<Row, SuiteError> {
        let off = self.first_step_off()?;
        let [middle, most_nodes, _, most] = off;
        let (host, graph) = kind.both(self.gpu)?;
        let (graph, start) = (Arc::new(graph), square(host.num_nodes()));
        let params = Params::default();
        let mut layout =
            GpuForceAtlas2::new(self.gpu, &graph, &host, None, params, &start, None, None, None)?;
        let iterations = self.sizes.iterations;
        // The layout has a stream of its own.
        let own = layout.gpu().clone();
        let step = || Ok(layout.iterate(iterations, &self.cancel).map(drop)?);
        let ((), times) = time(&own, 2, step)?;
        Ok(sized(row, &graph)
            .with("iterations", iterations.into())
            .timed(times, iterations as f64, "iterations")
            .with("first_step_off", json!(off))
            .equal(middle <= 2e-3 && most_nodes <= 1e-2 && most <= 5e-2))
    }

    /// How far one iteration from the same start differs from the CPU's, as parts of the longest move: in the median,
    /// in all but a hundredth of the nodes, in the root of the mean square, and at the most. Each side has cells of its
    /// own shape for what is far away (95 of 100 forces are within .03 of the exact ones on both), and later iterations
    /// amplify that, so the first one is compared. The host-run kernels give the same four numbers as a card to six
    /// digits.
    fn first_step_off(&self) -> Result<[f32; 4], SuiteError> {
        let (host, graph) = self.sizes.laid_out.both(self.gpu)?;
        let start = square(host.num_nodes());
        let (host, graph) = (Arc::new(host), Arc::new(graph));
        let params = Params::default();
        let mut cpu = ForceAtlas2::new(&host, None, params.clone(), &start, None, None, None)?;
        let mut device =
            GpuForceAtlas2::new(self.gpu, &graph, &host, None, params, &start, None, None, None)?;
        cpu.iterate(&self.cancel)?;
        device.iterate(1, &self.cancel)?;
        let (mut want, mut got) = (Vec::new(), Vec::new());
        cpu.positions(&mut want);
        device.positions(&mut got)?;
        let far = |a: [f32; 2], b: [f32; 2]| (a[0] - b[0]).hypot(a[1] - b[1]);
        let longest = want.iter().zip(&start).map(|(a, b)| far(*a, *b)).fold(0.0, f32::max);
        let mut off: Vec<f32> = want.iter().zip(&got).map(|(a, b)| far(*a, *b) / longest).collect();
        off.sort_by(f32::total_cmp);
        let at = |share: f64| off[((off.len() - 1) as f64 * share) as usize];
        let square_mean = off.iter().map(|d| d * d).sum::<f32>() / off.len() as f32;
        Ok([at(0.5), at(0.99), square_mean.sqrt(), at(1.0)])
    }

    fn louvain(&self, row: Row, graph: &GpuGraph) -> Result<Row, SuiteError> {
        let (host, small) = self.sizes.checked.both(self.gpu)?;
        let options = louvain::Options::default();
        // All levels on the device, and all by sub-rounds on the CPU.
        let tuning = Tuning { finish_arcs: 0, ..Tuning::default() };
        let want = louvain::search_from(&host, None, &options, 0, &self.cancel)?.labels;
        let found = gpu::louvain::run_tuned;
        let got = found(self.gpu, &small, None, &options, tuning, &self.cancel)?;
        let call = || Ok(gpu::louvain::run(self.gpu, graph, None, &options, &self.cancel)?);
        let (labels, times) = time(self.gpu, 2, call)?;
        let groups = labels.iter().max().map_or(0, |l| l + 1);
        // Without the CPU's part, which takes the small levels over.
        let whole = || Ok(found(self.gpu, graph, None, &options, tuning, &self.cancel)?);
        let (_, alone) = time(self.gpu, 1, whole)?;
        Ok(sized(row, graph)
            .with("communities", groups.into())
            .with("without_cpu_ms", json!(alone.event_ms))
            .timed(times, 2.0 * f64::from(graph.num_edges()), "arcs")
            .equal(want == got))
    }

    /// Two hops from all seeds at once, on both sides.
    fn hop2(&self, row: Row, graph: &GpuGraph) -> Result<Row, SuiteError> {
        let (host, small) = self.sizes.checked.both(self.gpu)?;
        let seeds = |n: u32| -> Vec<u32> {
            (0..SEEDS).map(|i| (h64(7, 70, i) % u64::from(n.max(1))) as u32).collect()
        };
        let direction = expand::Direction::Undirected;
        let hop = expand::Hop { direction, nodes: None, edges: None, mark: false };
        let want = expand::walk(&host, &seeds(host.num_nodes()), 2, &hop, &self.cancel)?;
        let on_device = gpu::expand::Hop { direction, nodes: None, edges: None, mark: false };
        let mut expander = gpu::expand::Expander::new(self.gpu, &small)?;
        let from = seeds(small.num_nodes());
        let got = expander.walk(&small, &from, 2, &on_device, &self.cancel)?;
        let got = self.gpu.read(got.nodes.view())?;
        let mut expander = gpu::expand::Expander::new(self.gpu, graph)?;
        let from = seeds(graph.num_nodes());
        let call = || Ok(expander.walk(graph, &from, 2, &on_device, &self.cancel)?);
        let (reached, times) = time(self.gpu, REPEATS, call)?;
        let reached: u64 = reached.fresh(self.gpu)?.iter().map(|f| u64::from(*f)).sum();
        Ok(sized(row, graph)
            .with("seeds", SEEDS.into())
            .with("reached", reached.into())
            .timed(times, 1.0, "walks")
            .equal(want.nodes == got))
    }

    fn bfs(&self, row: Row, graph: &GpuGraph) -> Result<Row, SuiteError> {
        let (host, small) = self.sizes.checked.both(self.gpu)?;
        let source = hub(&host);
        let want = bfs::run(&host, source, false, None, &self.cancel)?;
        let got = gpu::bfs::run(self.gpu, &small, source, false, None, &self.cancel)?;
        let equal = want.distance == got.distance && want.predecessor == got.predecessor;
        let degrees = graph.degrees(self.gpu)?;
        let degrees = self.gpu.read(degrees.view())?;
        let source = (0..graph.num_nodes()).max_by_key(|v| degrees[*v as usize]).unwrap_or(0);
        let call = || Ok(gpu::bfs::levels(self.gpu, graph, source, false, None, &self.cancel)?);
        let (_, times) = time(self.gpu, REPEATS, call)?;
        Ok(sized(row, graph).timed(times, 2.0 * f64::from(graph.num_edges()), "arcs").equal(equal))
    }

    fn components(&self, row: Row, graph: &GpuGraph) -> Result<Row, SuiteError> {
        let (host, small) = self.sizes.checked.both(self.gpu)?;
        let want = weak::run(&host, &self.cancel)?;
        let got = gpu::components::run(self.gpu, &small, &self.cancel)?;
        let call = || Ok(gpu::components::labels(self.gpu, graph, &self.cancel)?);
        let (_, times) = time(self.gpu, REPEATS, call)?;
        Ok(sized(row, graph)
            .timed(times, 2.0 * f64::from(graph.num_edges()), "arcs")
            .equal(want == got))
    }
}

/// The node with the most edges.
fn hub(graph: &Topology) -> u32 {
    (0..graph.num_nodes()).max_by_key(|v| graph.degree(*v)).unwrap_or(0)
}

/// Hashed positions in a square.
fn square(nodes: u32) -> Vec<[f32; 2]> {
    let at = |stream, v| (unit_f64(1, stream, u64::from(v)) * 1000.0 - 500.0) as f32;
    (0..nodes).map(|v| [at(60, v), at(61, v)]).collect()
}
