//! `graphlume compute`.

use std::sync::Arc;

use graphlume_algo::registry::find_any;
use graphlume_algo::{Input, Kind, ParamValues};
use graphlume_types::CancelToken;

use super::Failure;
use super::layout::{Run, params_with};
use crate::cli::{ComputeArgs, LibraryArg};
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
        // cuGraph's graphs hold each edge once; igraph's keep copies apart.
        let topology = match args.library {
            LibraryArg::Cugraph => graphlume_algo::distinct_edges(&loaded.graph.topology),
            LibraryArg::Igraph => Arc::clone(&loaded.graph.topology),
        };
        let input = Input {
            topology: &topology,
            weights: loaded.weights.as_deref(),
            resolve: &|text| ids.find(text),
            cancel: &cancel,
        };
        Ok(((algorithm.run)(&input, &params)?, 0))
    })
}
