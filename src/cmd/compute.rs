//! `graphlume compute`.

use std::time::Instant;

use graphlume_algo::dispatch::OneGraph;
use graphlume_algo::registry::find_any;
use graphlume_algo::{Accelerator, Input, Kind, ParamValues, start};
use graphlume_engine::GPU_EDGES_MIN;
use graphlume_graph::Graph;
use graphlume_types::CancelToken;

use super::layout::{Outcome, Run, Seconds, params_with};
use super::rejected;
use crate::cli::{Backend, ComputeArgs};
use crate::config::ConfigError;
use crate::failure::Failure;
use crate::graph_files;

/// Runs the algorithm and writes its columns behind the node ids.
pub fn run(args: &ComputeArgs) -> Result<(), Failure> {
    // The named library first; a name that only another one has is found all the same.
    let named = graphlume_algo::find(Kind::Compute, args.library.name(), &args.alg);
    let (library, algorithm) = match named {
        Some(algorithm) => (args.library.name(), algorithm),
        None => {
            let found = find_any(Kind::Compute, &args.alg)?;
            (found.names.first().map_or(args.library.name(), |n| n.library), found)
        }
    };
    let mut given = vec![("random_state", args.run.seed.to_string())];
    given.push(("directed", args.directed.to_string()));
    let params =
        ParamValues::from_pairs(algorithm, &params_with(algorithm, &args.run.params, &given))?;
    // Refused before the tables are read, which may take long.
    let asked_for = (args.backend == Backend::Cuda).then(gpu).transpose()?;
    let run = Run::new(&args.run, &args.files)?;
    let device = asked_for.or_else(|| near(args.backend, run.num_edges()));
    run.finish(|loaded| {
        let cancel = CancelToken::new();
        let columns = graph_files::Columns::new(loaded);
        let input = Input {
            topology: &loaded.graph.topology,
            library,
            multigraph: false,
            weights: loaded.weights.as_deref(),
            data: &columns,
            cancel: &cancel,
            device: device.as_ref().map(|d| d as &dyn Accelerator),
        };
        let once = || {
            let started = Instant::now();
            let result = graphlume_algo::run(algorithm, &input, &params)?;
            Ok::<_, Failure>((result, started.elapsed().as_secs_f64()))
        };
        let (mut result, first_s) = once()?;
        let mut again_s = f64::INFINITY;
        for _ in 1..args.repeat {
            let (same, seconds) = once()?;
            (result, again_s) = (same, again_s.min(seconds));
        }
        say_start(&input, &params, &loaded.graph)?;
        if let Some(text) = result.place.describe(&args.alg) {
            say!("{text}");
        }
        let iterations = result.iterations.and_then(|n| i64::try_from(n).ok());
        let seconds = (args.repeat > 1).then_some(Seconds { first: first_s, again: again_s });
        Ok(Outcome { output: result, iterations, seconds })
    })
}

/// Says where a search begins that was told no start, and which start leads nowhere.
fn say_start(input: &Input<'_>, params: &ParamValues, graph: &Graph) -> Result<(), Failure> {
    let id = |v: u32| graph.id_text(v);
    if let Some(notice) = start::notice(input, params, (params.spec().id, "-p "), id) {
        say!("{notice}");
        return Ok(());
    }
    let chosen = params.spec().starts.filter(|s| s.default == 1 && !params.is_given(s.param));
    if let Some(starts) = chosen
        && let [first] = input.starts(params)?[..]
    {
        let (first, param) = (id(first), starts.param);
        say!(
            "no start was given: the search begins at the node from which the most edges lead on, {first}; -p {param}=ID \
             names another"
        );
    }
    Ok(())
}

/// The GPU that the caller asks for by name, however small the graph is.
///
/// # Errors
/// There is no usable one.
fn gpu() -> Result<OneGraph, Failure> {
    OneGraph::open(0).map_err(|e| rejected(&ConfigError::Value(format!("--backend cuda: {e}"))))
}

/// The GPU for a graph of so many edges, where the choice is ours. A small graph does not pay for opening one.
fn near(backend: Backend, edges: u32) -> Option<OneGraph> {
    let is_worth_it = backend == Backend::Auto && edges >= GPU_EDGES_MIN;
    is_worth_it.then(|| OneGraph::open(GPU_EDGES_MIN).ok()).flatten()
}
