//! `graphlume layout`.

use std::time::Instant;

use graphlume_algo::layout::{force_atlas2, initial_layout};
use graphlume_algo::registry::{find_any, force_atlas2_params};
use graphlume_algo::{
    AlgorithmSpec, Column, Dtype, Input, Kind, Output, ParamValues, Place, Values,
};
use graphlume_device::CpuPool;
use graphlume_types::CancelToken;
use serde_json::json;

use super::{Failure, failure};
use crate::cli::{GraphFiles, LayoutArgs, RunOptions};
use crate::graph_files::{self, Loaded};
use crate::{output, progress};

/// Lays the graph out and writes node id, x and y.
pub fn run(args: &LayoutArgs) -> Result<(), Failure> {
    let layout = find_any(Kind::Layout, &args.alg)?;
    let mut given =
        vec![("random_state", args.run.seed.to_string()), ("seed", args.run.seed.to_string())];
    if let Some(n) = args.iterations {
        given.push(("max_iter", n.to_string()));
    }
    let params = ParamValues::from_pairs(layout, &params_with(layout, &args.run.params, &given))?;
    Run::new(&args.run, &args.files)?.finish(|loaded| {
        if layout.id == "force_atlas2" {
            return force_atlas2(args, &params, loaded);
        }
        if args.start.is_some() {
            return Err(failure(format!("--start: {} does not start from positions", args.alg)));
        }
        let cancel = CancelToken::new();
        let columns = graph_files::Columns::new(loaded);
        let plain = Input::plain(&loaded.graph.topology, &columns, &cancel);
        let input = Input { weights: loaded.weights.as_deref(), ..plain };
        let output = (layout.run)(&input, &params)?;
        Ok(Outcome { output, iterations: params.int("max_iter"), seconds: None })
    })
}

/// ForceAtlas2 step by step, so that it can show how far it is and can start from given positions.
fn force_atlas2(
    args: &LayoutArgs,
    params: &ParamValues,
    loaded: &Loaded,
) -> Result<Outcome, Failure> {
    let topology = &loaded.graph.topology;
    let cancel = CancelToken::new();
    let from = match &args.start {
        Some(path) => graph_files::positions(path, &loaded.graph)?,
        None => initial_layout::place(topology, args.run.seed, &cancel)?,
    };
    let settings = force_atlas2_params(params);
    let weights: Option<Vec<f32>> =
        loaded.weights.as_ref().map(|w| w.iter().map(|w| *w as f32).collect());
    let weights = weights.as_deref();
    let mut layout =
        force_atlas2::ForceAtlas2::new(topology, weights, settings, &from, None, None, None)?;
    let iterations = args.iterations.unwrap_or(500);
    let bar = progress::bar(iterations, "iterations");
    for _ in 0..iterations {
        layout.iterate(&cancel)?;
        bar.inc(1);
        if args.iterations.is_none() && layout.settled() {
            break;
        }
    }
    bar.finish();
    let mut positions = Vec::new();
    layout.positions(&mut positions);
    let axis = |name, a: usize| Column {
        name,
        values: Values::F64(positions.iter().map(|p| f64::from(p[a])).collect()),
    };
    let iterations = i64::try_from(layout.iterations()).ok();
    let output = Output::nodes(vec![axis("x", 0), axis("y", 1)]);
    Ok(Outcome { output, iterations, seconds: None })
}

/// The `--param` texts, preceded by those of `given` that the algorithm has and the user did not set.
pub fn params_with(spec: &AlgorithmSpec, user: &[String], given: &[(&str, String)]) -> Vec<String> {
    // igraph's `seed` of positions is no seed of random numbers.
    let has =
        |name: &str| spec.params.iter().any(|p| p.name == name && p.dtype != Dtype::Positions);
    let set = |name: &str| user.iter().any(|p| p.split('=').next().map(str::trim) == Some(name));
    let extra = given.iter().filter(|(name, _)| has(name) && !set(name));
    extra.map(|(name, value)| format!("{name}={value}")).chain(user.iter().cloned()).collect()
}

/// What an algorithm command has computed.
pub struct Outcome {
    /// The columns.
    pub output: Output,
    /// Iterations, where they are known.
    pub iterations: Option<i64>,
    /// How long each took, where it was computed several times.
    pub seconds: Option<Seconds>,
}

/// How long a computation took that was repeated.
pub struct Seconds {
    /// The first time.
    pub first: f64,
    /// The fastest of the others.
    pub again: f64,
}

/// The frame of an algorithm command: read, build, run, write, report.
pub struct Run<'a> {
    options: &'a RunOptions,
    pool: CpuPool,
    loaded: Loaded,
}

impl<'a> Run<'a> {
    /// Reads the tables and builds the graph on all requested threads.
    pub fn new(options: &'a RunOptions, files: &GraphFiles) -> Result<Self, Failure> {
        if let Some(out) = &options.out {
            output::check(out)?;
        }
        let pool = CpuPool::new(options.threads)?;
        let loaded = pool.install(|| graph_files::load(files))?;
        Ok(Self { options, pool, loaded })
    }

    /// Edges of the graph.
    pub fn num_edges(&self) -> u32 {
        self.loaded.graph.topology.num_edges()
    }

    /// Runs `work`, writes its columns and, when asked, the timings.
    pub fn finish(
        self,
        work: impl FnOnce(&Loaded) -> Result<Outcome, Failure> + Send,
    ) -> Result<(), Failure> {
        let started = Instant::now();
        let Outcome { output: result, iterations, seconds } =
            self.pool.install(|| work(&self.loaded))?;
        let whole_s = started.elapsed().as_secs_f64();
        let run_s = seconds.as_ref().map_or(whole_s, |s| s.again);
        let first_s = seconds.as_ref().map_or(whole_s, |s| s.first);
        let (nodes, edges) =
            (self.loaded.graph.topology.num_nodes(), self.loaded.graph.topology.num_edges());
        let backend = if matches!(result.place, Place::Gpu(_)) { "cuda" } else { "cpu" };
        let columns = graph_files::result_columns(&self.loaded, result)?;
        let columns = columns.iter().map(|(name, array)| (name.as_str(), array.clone())).collect();
        match &self.options.out {
            Some(path) => output::write(path, columns)?,
            None => output::print(columns)?,
        }
        if self.options.timings {
            let timings = json!({
                "load_s": self.loaded.load_s,
                "build_s": self.loaded.build_s,
                "first_s": first_s,
                "run_s": run_s,
                "iterations": iterations,
                "nodes": nodes,
                "edges": edges,
                "peak_bytes": graphlume_bench::clock::peak_bytes(),
                "backend": backend,
            });
            say!("{timings}");
        }
        Ok(())
    }
}
