//! `graphlume layout`.

use std::time::Instant;

use graphlume_algo::registry::{find_any, force_atlas2_end, force_atlas2_start};
use graphlume_algo::{AlgorithmSpec, ComputedOn, Dtype, Input, Kind, Output, ParamValues};
use graphlume_device::CpuPool;
use graphlume_types::CancelToken;
use serde_json::json;

use crate::cli::{GraphFiles, LayoutArgs, RunOptions};
use crate::failure::{Failure, failure};
use crate::graph_files::{self, Loaded};
use crate::{output, progress};

/// What layouts call the number of their iterations.
const ITERATIONS: [&str; 3] = ["max_iter", "niter", "maxiter"];

/// Lays the graph out and writes node id, x and y.
pub fn run(args: &LayoutArgs) -> Result<(), Failure> {
    let layout = find_any(Kind::Layout, &args.alg)?;
    let mut given =
        vec![("random_state", args.run.seed.to_string()), ("seed", args.run.seed.to_string())];
    if let Some(n) = args.iterations {
        let known = |name: &&str| layout.params.iter().any(|p| p.name == *name);
        let Some(name) = ITERATIONS.into_iter().find(known) else {
            let text = format!("--iterations {n}: {} has no iterations; leave it out", args.alg);
            return Err(failure(text));
        };
        given.push((name, n.to_string()));
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
        Ok(Outcome { output, iterations: iterations(&params), seconds: None })
    })
}

/// ForceAtlas2 step by step, so that it can show how far it is and can start from given positions.
fn force_atlas2(
    args: &LayoutArgs,
    params: &ParamValues,
    loaded: &Loaded,
) -> Result<Outcome, Failure> {
    let cancel = CancelToken::new();
    let columns = graph_files::Columns::new(loaded);
    let plain = Input::plain(&loaded.graph.topology, &columns, &cancel);
    let input = Input { weights: loaded.weights.as_deref(), ..plain };
    let start = args.start.as_deref().map(|path| graph_files::positions(path, &loaded.graph));
    let mut layout = force_atlas2_start(&input, params, start.transpose()?)?;
    let iterations = params.count("max_iter");
    // Nobody said how many.
    let ends_at_rest = args.iterations.is_none() && !is_set(&args.run.params, "max_iter");
    let bar = progress::bar(iterations, "iterations");
    for _ in 0..iterations {
        layout.iterate(&cancel)?;
        bar.inc(1);
        if ends_at_rest && layout.settled() {
            break;
        }
    }
    bar.finish();
    let iterations = i64::try_from(layout.iterations()).ok();
    let output = force_atlas2_end(&input, params, &layout, args.start.is_some())?;
    Ok(Outcome { output, iterations, seconds: None })
}

/// The iterations that the parameters ask for, where the layout has any.
fn iterations(params: &ParamValues) -> Option<i64> {
    ITERATIONS.into_iter().find_map(|name| params.int(name))
}

/// Whether the user gave the parameter by `--param`.
fn is_set(user: &[String], name: &str) -> bool {
    user.iter().any(|p| p.split('=').next().map(str::trim) == Some(name))
}

/// The `--param` texts, preceded by those of `given` that the algorithm has and the user did not set.
pub fn params_with(spec: &AlgorithmSpec, user: &[String], given: &[(&str, String)]) -> Vec<String> {
    // igraph's `seed` of positions is no seed of random numbers.
    let has =
        |name: &str| spec.params.iter().any(|p| p.name == name && p.dtype != Dtype::Positions);
    let extra = given.iter().filter(|(name, _)| has(name) && !is_set(user, name));
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
        let backend = if matches!(result.place, ComputedOn::Gpu(_)) { "cuda" } else { "cpu" };
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
