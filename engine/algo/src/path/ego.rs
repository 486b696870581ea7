//! Ego graphs: what lies within some steps of a node, with all edges between.

use graphlume_types::CancelToken;

use super::walks::LISTED_BYTES;
use crate::spec::{
    AlgorithmSpec, DIRECTED, Dtype, Gives, ParamSpec, Starts, cugraph, ignored, only, output, param,
};
use crate::view::GraphView;
use crate::{AlgoError, Column, Input, Output, ParamValues, Subgraph, Values};

/// Nodes taken from a queue between two looks at the cancel token.
const NODES_PER_CHECK: usize = 1 << 13;

/// The nodes within `radius` steps of one of `sources` along the arcs of the view, ascending.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub fn run(
    view: &GraphView<'_>,
    sources: &[u32],
    radius: u64,
    cancel: &CancelToken,
) -> Result<Vec<u32>, AlgoError> {
    cancel.check()?;
    let mut seen = vec![false; view.num_nodes() as usize];
    let mut reached = Vec::new();
    for v in sources.iter().filter(|v| **v < view.num_nodes()) {
        if !std::mem::replace(&mut seen[*v as usize], true) {
            reached.push(*v);
        }
    }
    let mut head = 0;
    for _ in 0..radius {
        let end = reached.len();
        if head == end {
            break;
        }
        for at in head..end {
            if at % NODES_PER_CHECK == 0 {
                cancel.check()?;
            }
            for u in view.out().neighbors(reached[at]) {
                if !std::mem::replace(&mut seen[*u as usize], true) {
                    reached.push(*u);
                }
            }
        }
        head = end;
    }
    reached.sort_unstable();
    Ok(reached)
}

/// Rows of the edges between nodes of a sorted set, ascending.
fn between(input: &Input<'_>, nodes: &[u32]) -> Vec<u32> {
    let mut inside = vec![false; input.num_nodes() as usize];
    nodes.iter().for_each(|v| inside[*v as usize] = true);
    let t = input.topology;
    let of = |v: &u32| t.out_neighbors(*v).iter().zip(t.out_rows(*v));
    let kept = nodes.iter().flat_map(of).filter(|(to, _)| inside[**to as usize]);
    let mut rows: Vec<u32> = kept.map(|(_, row)| *row).collect();
    rows.sort_unstable();
    rows
}

const RADIUS: ParamSpec =
    param("radius", Dtype::Int, "1", Some((0.0, 4e9)), "steps from the node at most");

/// cuGraph's `ego_graph`.
pub static EGO: AlgorithmSpec = AlgorithmSpec {
    id: "ego_graph",
    names: &[cugraph("ego_graph")],
    params: &[
        param(
            "n",
            Dtype::Nodes,
            "null",
            None,
            "the node or nodes; null is that from which the most edges lead on",
        ),
        RADIUS,
        DIRECTED,
    ],
    accepted: &[only("center", "[true]"), ignored("undirected"), ignored("distance")],
    starts: Some(Starts { param: "n", default: 1 }),
    gives: Gives::Graph,
    doc: "The nodes within some steps of a node and all edges between them.",
    paper: "Freeman 1982",
    run: |input, p| {
        let sources = input.starts(p)?;
        let view = input.view(p.bool("directed"), None)?;
        let nodes = run(&view, &sources, p.count("radius"), input.cancel)?;
        Ok(Output::kept(between(input, &nodes), Some(nodes)))
    },
    ..AlgorithmSpec::BASE
};

/// Seeds that are taken when none is named.
const SEEDS: usize = 10;

fn batched(input: &Input<'_>, p: &ParamValues) -> Result<Output, AlgoError> {
    let seeds = input.starts(p)?;
    let view = input.view(p.bool("directed"), None)?;
    let rows = input.topology.out_row().iter().max().map_or(0, |r| *r as usize + 1);
    let mut of_row = vec![Vec::new(); rows];
    let mut reached = vec![false; input.num_nodes() as usize];
    for seed in seeds {
        let nodes = run(&view, &[seed], p.count("radius"), input.cancel)?;
        let within = between(input, &nodes);
        input.cancel.take(within.len() as u64 * LISTED_BYTES)?;
        within.into_iter().for_each(|row| of_row[row as usize].push(seed));
        nodes.into_iter().for_each(|v| reached[v as usize] = true);
    }
    let all = (0..input.num_nodes()).filter(|v| reached[*v as usize]).collect();
    let kept = (0..rows as u32).filter(|row| !of_row[*row as usize].is_empty()).collect();
    let graph = Subgraph::Kept { edges: kept, nodes: Some(all) };
    let edges = vec![Column { name: "ego_seed", values: Values::NodeLists(of_row) }];
    Ok(Output { edges, graph: Some(graph), ..Output::default() })
}

/// cuGraph's former `batched_ego_graphs`.
pub static BATCHED: AlgorithmSpec = AlgorithmSpec {
    id: "batched_ego_graphs",
    names: &[cugraph("batched_ego_graphs")],
    params: &[
        param(
            "seeds",
            Dtype::Nodes,
            "null",
            None,
            "the nodes; null is the 10 from which the most edges lead on",
        ),
        RADIUS,
        DIRECTED,
    ],
    accepted: &[only("center", "[true]"), ignored("undirected"), ignored("distance")],
    starts: Some(Starts { param: "seeds", default: SEEDS }),
    gives: Gives::Graph,
    doc: "The ego graphs of several nodes in one; the edge column `ego_seed` lists the nodes to whose graph an edge belongs.",
    paper: "Freeman 1982",
    run: batched,
    ..AlgorithmSpec::BASE
};

/// cuGraph's `bfs_edges`, which gives distances like `bfs`.
pub static BFS_EDGES: AlgorithmSpec = AlgorithmSpec {
    id: "bfs_edges",
    names: &[cugraph("bfs_edges")],
    params: &[
        param(
            "source",
            Dtype::Node,
            "null",
            None,
            "where to start; null is the node from which the most edges lead on",
        ),
        param(
            "depth_limit",
            Dtype::Int,
            "null",
            Some((0.0, 4e9)),
            "hops at most; null is no limit",
        ),
        DIRECTED,
    ],
    accepted: &[only("reverse", "[false]"), ignored("sort_neighbors")],
    starts: Some(Starts { param: "source", default: 1 }),
    outputs: &[
        output("bfs_edges", Dtype::Int, "hops from the start; null when not reached"),
        output("predecessor", Dtype::Node, "node before it, the first of several; -1 at the start"),
    ],
    doc: "Breadth-first distances from one node.",
    paper: "Beamer, Asanovic and Patterson 2012",
    run: |input, p| {
        let source = input.start(p)?;
        super::bfs::columns(input, p, "bfs_edges", &[source])
    },
    ..AlgorithmSpec::BASE
};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::testkit;
    use crate::view::{Copies, Loops, Shape};

    #[test]
    fn a_radius_is_a_number_of_steps() {
        let t = testkit::path(6);
        let near = |directed: bool, sources: &[u32], radius| {
            let shape = Shape { directed, copies: Copies::Keep, loops: Loops::Once };
            let view = GraphView::new(&t, None, shape).unwrap();
            run(&view, sources, radius, &CancelToken::new()).unwrap()
        };
        assert_eq!(near(true, &[2], 2), [2, 3, 4]);
        assert_eq!(near(false, &[2], 1), [1, 2, 3]);
        assert_eq!(near(false, &[0, 5], 0), [0, 5]);
        assert_eq!(near(false, &[0], 100), [0, 1, 2, 3, 4, 5]);
    }
}
