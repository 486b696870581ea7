//! `graphlume compute`.

use graphlume_algo::registry::{find_any, hub};
use graphlume_algo::{Input, Kind, ParamValues, libraries};
use graphlume_types::CancelToken;

use super::Failure;
use super::layout::{Run, params_with};
use crate::cli::ComputeArgs;
use crate::graph_files;

/// Runs the algorithm and writes its columns behind the node ids.
pub fn run(args: &ComputeArgs) -> Result<(), Failure> {
    // The named library first; a name that only another one has is found all the same.
    let algorithm = match graphlume_algo::find(Kind::Compute, args.library.name(), &args.alg) {
        Some(algorithm) => algorithm,
        None => find_any(Kind::Compute, &args.alg)?,
    };
    let mut given = vec![("random_state", args.run.seed.to_string())];
    given.push(("directed", args.directed.to_string()));
    let params =
        ParamValues::from_pairs(algorithm, &params_with(algorithm, &args.run.params, &given))?;
    Run::new(&args.run, &args.files)?.finish(|loaded| {
        let cancel = CancelToken::new();
        let ids = graph_files::IdIndex::new(&loaded.graph);
        let seen = libraries::seen(
            args.library.name(),
            None,
            algorithm,
            &params,
            &loaded.graph.topology,
            loaded.weights.as_deref(),
        )?;
        let input = Input {
            topology: &seen.topology,
            weights: seen.weights.as_deref(),
            resolve: &|text| ids.find(text),
            cancel: &cancel,
        };
        let result = (algorithm.run)(&input, &params)?;
        if algorithm.id == "bfs" && params.node("start").is_none() && seen.topology.num_nodes() > 0 {
            let start = loaded.graph.id_text(hub(&seen.topology));
            say!(
                "no start was given: the search begins at the node with the most edges, {start}; -p start=ID names another"
            );
        }
        let iterations = result.iterations.and_then(|n| i64::try_from(n).ok());
        Ok((result, iterations))
    })
}
