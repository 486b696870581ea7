//! `graphlume compute`.

use graphlume_algo::dispatch::OneGraph;
use graphlume_algo::registry::{find_any, hub};
use graphlume_algo::{Accelerator, Input, Kind, ParamValues};
use graphlume_engine::GPU_EDGES_MIN;
use graphlume_types::CancelToken;

use super::layout::{Run, params_with};
use super::{Failure, rejected};
use crate::cli::{Backend, ComputeArgs};
use crate::config::ConfigError;
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
    let device = device(args.backend)?;
    Run::new(&args.run, &args.files)?.finish(|loaded| {
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
        let result = graphlume_algo::run(algorithm, &input, &params)?;
        if algorithm.id == "bfs" && params.node("start").is_none() && input.num_nodes() > 0 {
            let start = loaded.graph.id_text(hub(input.topology));
            say!(
                "no start was given: the search begins at the node with the most edges, {start}; -p start=ID names another"
            );
        }
        if let Some(text) = result.place.describe(&args.alg) {
            say!("{text}");
        }
        let iterations = result.iterations.and_then(|n| i64::try_from(n).ok());
        Ok((result, iterations))
    })
}

/// The GPU, where one is wanted and there.
///
/// # Errors
/// `cuda` without a usable GPU.
fn device(backend: Backend) -> Result<Option<OneGraph>, Failure> {
    match backend {
        Backend::Cpu => Ok(None),
        Backend::Auto => Ok(OneGraph::open(GPU_EDGES_MIN).ok()),
        // Who asks for it gets it, however small the graph is.
        Backend::Cuda => OneGraph::open(0)
            .map(Some)
            .map_err(|e| rejected(&ConfigError::Value(format!("--backend cuda: {e}")))),
    }
}
