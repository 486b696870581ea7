//! Random walks (Pearson 1905; as node embeddings take them, Perozzi, Al-Rfou and Skiena 2014): from each start a path
//! that takes one of the edges of its last node, with the same probability each or by their weights.

use graphlume_types::CancelToken;
use graphlume_types::hash::{h64, unit_f64};
use rayon::prelude::*;

use crate::input::Sign;
use crate::spec::{
    AlgorithmSpec, DIRECTED, Dtype, OutputSpec, ParamSpec, RANDOM_STATE, extra, output, param,
};
use crate::view::GraphView;
use crate::{AlgoError, Input, Output, ParamValues, Values};

/// Nodes of all walks together at most.
const STEPS_MAX: u64 = 20_000_000;
/// Bytes of a node of a walk: by index here and in the column that is made of it, and its id at least.
pub(super) const LISTED_BYTES: u64 = 24;
/// Edges of nodes passed between two looks at the cancel token: a step by weights reads all edges of its node.
const EDGES_PER_CHECK: u64 = 1 << 16;
/// The stream of random numbers.
const STREAM: u64 = 83;

/// The nodes of a walk from each of `starts`, the start first, of `depth` steps or until a node that no edge leaves.
/// Equal seeds give equal walks at any number of threads; starts that stand there twice walk apart.
///
/// # Errors
/// [`AlgoError::Cancelled`]. A start that does not exist walks nowhere.
pub fn run(
    view: &GraphView<'_>,
    starts: &[u32],
    depth: u64,
    by_weight: bool,
    seed: u64,
    cancel: &CancelToken,
) -> Result<Vec<Vec<u32>>, AlgoError> {
    let walk = |(at, start): (usize, &u32)| {
        cancel.check()?;
        let mut path = Vec::new();
        if *start >= view.num_nodes() {
            return Ok(path);
        }
        path.push(*start);
        let (stream, mut passed) = (h64(seed, STREAM, at as u64), 0);
        for step in 0..depth {
            let last = path[path.len() - 1];
            passed += 1 + u64::from(view.out().degree(last));
            if passed >= EDGES_PER_CHECK {
                cancel.check()?;
                passed = 0;
            }
            match next(view, last, unit_f64(stream, STREAM, step), by_weight) {
                Some(to) => path.push(to),
                None => break,
            }
        }
        Ok(path)
    };
    starts.par_iter().enumerate().map(walk).collect()
}

/// The neighbour that `draw`, a number from 0 to below 1, falls on.
fn next(view: &GraphView<'_>, from: u32, draw: f64, by_weight: bool) -> Option<u32> {
    let neighbors = view.out().neighbors(from);
    let last = neighbors.len().checked_sub(1)?;
    let weights = view.out().weights(from).filter(|_| by_weight);
    let Some(weights) = weights else {
        return Some(neighbors[((draw * neighbors.len() as f64) as usize).min(last)]);
    };
    let mut left = draw * weights.iter().sum::<f64>();
    // Rounding may leave something at the end: the last edge with a weight takes it.
    let mut found = None;
    for (to, w) in neighbors.iter().zip(weights).filter(|(_, w)| **w > 0.0) {
        found = Some(*to);
        left -= w;
        if left < 0.0 {
            break;
        }
    }
    found
}

fn walks(
    input: &Input<'_>,
    p: &ParamValues,
    name: &'static str,
    by_weight: bool,
) -> Result<Output, AlgoError> {
    let n = input.num_nodes();
    let starts = input.nodes(p, "start_vertices")?.unwrap_or_else(|| (0..n).collect());
    let depth = p.count("max_depth");
    let size = (starts.len() as u64).saturating_mul(depth + 1);
    if size > STEPS_MAX {
        let what = "nodes of walks";
        let instead = "name fewer start_vertices, or a smaller max_depth";
        return Err(AlgoError::TooLarge { algorithm: name, what, size, limit: STEPS_MAX, instead });
    }
    input.cancel.take(size * LISTED_BYTES)?;
    let weights = if by_weight { input.weights(p, Sign::NotNegative)? } else { None };
    let view = input.view(p.bool("directed"), weights.as_deref())?;
    let found = run(&view, &starts, depth, by_weight, p.count("random_state"), input.cancel)?;
    let mut by_node = vec![Vec::new(); n as usize];
    for (start, path) in starts.iter().zip(found) {
        by_node[*start as usize] = path;
    }
    Ok(Output::one(name, Values::NodeLists(by_node)))
}

const START: ParamSpec = param(
    "start_vertices",
    Dtype::Nodes,
    "null",
    None,
    "where walks begin, one from each; null is every node",
);
const DEPTH: ParamSpec = param("max_depth", Dtype::Int, "10", Some((0.0, 1e6)), "steps at most");
const PATH: &str = "the nodes of the walk from this node, itself first; none where no walk begins";

const fn path(name: &'static str) -> OutputSpec {
    output(name, Dtype::Nodes, PATH)
}

/// cuGraph's `uniform_random_walks`.
pub static UNIFORM: AlgorithmSpec = AlgorithmSpec {
    id: "uniform_random_walks",
    names: &[extra("cugraph", "uniform_random_walks")],
    params: &[START, DEPTH, DIRECTED, RANDOM_STATE],
    outputs: &[path("uniform_random_walks")],
    doc: "A random walk from each start, each edge of a node as likely as the others.",
    paper: "Perozzi, Al-Rfou and Skiena 2014",
    run: |input, p| walks(input, p, "uniform_random_walks", false),
    ..AlgorithmSpec::BASE
};

/// cuGraph's `biased_random_walks`.
pub static BIASED: AlgorithmSpec = AlgorithmSpec {
    id: "biased_random_walks",
    names: &[extra("cugraph", "biased_random_walks")],
    params: &[START, DEPTH, DIRECTED, RANDOM_STATE],
    outputs: &[path("biased_random_walks")],
    doc: "A random walk from each start, edges as likely as they are heavy.",
    paper: "Perozzi, Al-Rfou and Skiena 2014",
    run: |input, p| walks(input, p, "biased_random_walks", true),
    ..AlgorithmSpec::BASE
};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use graphlume_graph::Topology;

    use super::*;
    use crate::testkit;
    use crate::view::{Copies, Loops, Shape};

    const PLAIN: Shape = Shape { directed: true, copies: Copies::Keep, loops: Loops::Once };

    #[test]
    fn walks_follow_edges_and_end_where_none_leaves() {
        let cancel = CancelToken::new();
        for (name, t) in testkit::zoo() {
            let view = GraphView::new(&t, None, PLAIN).unwrap();
            let starts: Vec<u32> = (0..t.num_nodes()).chain([0, u32::MAX]).collect();
            let [a, b, c] =
                testkit::at_1_2_3_threads(|| run(&view, &starts, 7, false, 5, &cancel).unwrap());
            assert!(a == b && b == c, "{name}");
            for (start, path) in starts.iter().zip(&a) {
                if *start >= t.num_nodes() {
                    assert!(path.is_empty());
                    continue;
                }
                assert_eq!(path[0], *start, "{name}");
                assert!(path.windows(2).all(|p| t.out_neighbors(p[0]).contains(&p[1])), "{name}");
                let ends = t.out_degree(path[path.len() - 1]) == 0;
                assert!(path.len() == 8 || ends, "{name}: {path:?}");
            }
        }
    }

    #[test]
    fn edges_are_taken_as_often_as_they_are_heavy() {
        let t = Topology::from_coo(4, &[0, 0, 0], &[1, 2, 3]);
        let weights = [1.0, 0.0, 3.0];
        let view = GraphView::new(&t, Some(&weights), PLAIN).unwrap();
        let cancel = CancelToken::new();
        let taken = |by_weight| {
            let walks = run(&view, &[0; 8_000], 1, by_weight, 1, &cancel).unwrap();
            let mut counts = [0usize; 4];
            walks.iter().for_each(|path| counts[path[1] as usize] += 1);
            counts
        };
        let near = |count: usize, share: f64| (count as f64 / 8_000.0 - share).abs() < 0.03;
        let heavy = taken(true);
        assert!(heavy[2] == 0 && near(heavy[1], 0.25) && near(heavy[3], 0.75), "{heavy:?}");
        let even = taken(false);
        assert!(even[1..].iter().all(|count| near(*count, 1.0 / 3.0)), "{even:?}");
    }
}
