//! Weighted distances from one node (Dijkstra 1959) over a [`GraphView`], with weights of 64 bits.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use graphlume_types::CancelToken;
use rayon::prelude::*;

use super::bfs::UNREACHED;
use crate::input::Sign;
use crate::spec::{
    AlgorithmSpec, Cost, DIRECTED, Dtype, OutputSpec, ParamSpec, Starts, cugraph, ignored, only,
    output, param,
};
use crate::view::GraphView;
use crate::{AlgoError, Column, Input, Output, ParamValues, Values};

/// Nodes settled between two looks at the cancel token.
const SETTLED_PER_CHECK: usize = 1 << 13;

/// Lengths of shortest paths from a source, and the node before each on one of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Distances {
    /// Sum of the weights from the source on, rounded at each edge; infinite when not reached.
    pub distance: Vec<f64>,
    /// The smallest node index from which the node is reached at its distance, or [`UNREACHED`] for the source and for
    /// what was not reached. Where only edges that do not lengthen the way lead to a node, those come first that are
    /// fewest such edges away from a node with a nearer predecessor, so that predecessors never run in a circle.
    pub predecessor: Vec<u32>,
}

/// Searches along the arcs of a view from `source` as far as `cutoff`. No weight may be negative. A `source` that does
/// not exist reaches nothing.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub fn run(
    view: &GraphView<'_>,
    source: u32,
    cutoff: f64,
    cancel: &CancelToken,
) -> Result<Distances, AlgoError> {
    let distance = lengths(view, source, cutoff, cancel)?;
    let predecessor = predecessors(view, source, &distance, cancel)?;
    Ok(Distances { distance, predecessor })
}

/// The distances alone.
///
/// # Errors
/// As [`run`].
pub fn lengths(
    view: &GraphView<'_>,
    source: u32,
    cutoff: f64,
    cancel: &CancelToken,
) -> Result<Vec<f64>, AlgoError> {
    cancel.check()?;
    if !view.is_weighted() {
        return steps(view, source, cutoff, cancel);
    }
    let mut distance = vec![f64::INFINITY; view.num_nodes() as usize];
    let mut heap = BinaryHeap::new();
    if let Some(d) = distance.get_mut(source as usize) {
        *d = 0.0;
        heap.push(Reverse((0u64, source)));
    }
    let mut settled = 0usize;
    while let Some(Reverse((bits, u))) = heap.pop() {
        // An entry that a shorter way has overtaken.
        if bits > distance[u as usize].to_bits() {
            continue;
        }
        settled += 1;
        if settled.is_multiple_of(SETTLED_PER_CHECK) {
            cancel.check()?;
        }
        let so_far = f64::from_bits(bits);
        for (v, w) in view.out().weighted(u) {
            let next = so_far + w;
            if next <= cutoff && next < distance[v as usize] {
                distance[v as usize] = next;
                // Distances are never negative, so that their bits order as they do.
                heap.push(Reverse((next.to_bits(), v)));
            }
        }
    }
    Ok(distance)
}

/// The distances where every edge is 1 long: breadth first, without a heap.
fn steps(
    view: &GraphView<'_>,
    source: u32,
    cutoff: f64,
    cancel: &CancelToken,
) -> Result<Vec<f64>, AlgoError> {
    let mut distance = vec![f64::INFINITY; view.num_nodes() as usize];
    let mut reached = Vec::new();
    if let Some(d) = distance.get_mut(source as usize) {
        *d = 0.0;
        reached.push(source);
    }
    let mut head = 0;
    while let Some(u) = reached.get(head).copied() {
        head += 1;
        if head.is_multiple_of(SETTLED_PER_CHECK) {
            cancel.check()?;
        }
        let next = distance[u as usize] + 1.0;
        if next > cutoff {
            break;
        }
        for v in view.out().neighbors(u) {
            let d = &mut distance[*v as usize];
            if *d == f64::INFINITY {
                *d = next;
                reached.push(*v);
            }
        }
    }
    Ok(distance)
}

fn predecessors(
    view: &GraphView<'_>,
    source: u32,
    distance: &[f64],
    cancel: &CancelToken,
) -> Result<Vec<u32>, AlgoError> {
    let at = |v: u32| distance[v as usize];
    let first = |v: u32| {
        if v.is_multiple_of(SETTLED_PER_CHECK as u32) {
            cancel.check()?;
        }
        if v == source || at(v) == f64::INFINITY {
            return Ok(UNREACHED);
        }
        // Lists ascend: the first is the smallest.
        let leads = |(u, w): &(u32, f64)| at(*u) < at(v) && at(*u) + w == at(v);
        Ok(view.incoming().weighted(v).find(leads).map_or(UNREACHED, |(u, _)| u))
    };
    let nodes = (0..distance.len() as u32).into_par_iter().with_min_len(1 << 10);
    let mut predecessor = nodes.map(first).collect::<Result<Vec<u32>, AlgoError>>()?;
    // Reached nodes to which only edges of length 0 lead.
    let is_open =
        |v: &u32| *v != source && at(*v) < f64::INFINITY && predecessor[*v as usize] == UNREACHED;
    let mut open: Vec<u32> = (0..distance.len() as u32).filter(is_open).collect();
    while !open.is_empty() {
        cancel.check()?;
        let mut found = Vec::new();
        for v in &open {
            let settled = |u: u32| u == source || predecessor[u as usize] != UNREACHED;
            let leads =
                |(u, w): &(u32, f64)| at(*u) == at(*v) && at(*u) + w == at(*v) && settled(*u);
            if let Some((u, _)) = view.incoming().weighted(*v).find(leads) {
                found.push((*v, u));
            }
        }
        if found.is_empty() {
            break;
        }
        found.iter().for_each(|(v, u)| predecessor[*v as usize] = *u);
        open.retain(|v| predecessor[*v as usize] == UNREACHED);
    }
    Ok(predecessor)
}

/// The columns of distances and predecessors.
pub(crate) fn columns(name: &'static str, distance: &[f64], predecessor: &[u32]) -> Output {
    let reached = |d: &f64| (*d < f64::INFINITY).then_some(*d);
    let before = distance.iter().zip(predecessor);
    let before = before.map(|(d, v)| reached(d).map(|_| *v)).collect();
    Output::nodes(vec![
        Column { name, values: Values::F64OrNull(distance.iter().map(reached).collect()) },
        Column { name: "predecessor", values: Values::Nodes(before) },
    ])
}

fn search(input: &Input<'_>, p: &ParamValues, name: &'static str) -> Result<Output, AlgoError> {
    let source = input.start(p)?;
    let weights = input.weights(p, Sign::NotNegative)?;
    let view = input.view(p.bool("directed"), weights.as_deref())?;
    let cutoff = p.float("cutoff").unwrap_or(f64::INFINITY);
    let found = run(&view, source, cutoff, input.cancel)?;
    Ok(columns(name, &found.distance, &found.predecessor))
}

const SOURCE: ParamSpec = param(
    "source",
    Dtype::Node,
    "null",
    None,
    "where to start; null is the node from which the most edges lead on",
);
const FROM: Option<Starts> = Some(Starts { param: "source", default: 1 });
const CUTOFF: ParamSpec =
    param("cutoff", Dtype::Float, "null", Some((0.0, 1e300)), "length at most; null is no limit");
const PREDECESSOR: OutputSpec =
    output("predecessor", Dtype::Node, "node before it, the first of several; -1 at the start");

/// cuGraph's `sssp`.
pub static SSSP: AlgorithmSpec = AlgorithmSpec {
    id: "sssp",
    names: &[cugraph("sssp")],
    params: &[SOURCE, CUTOFF, DIRECTED],
    starts: FROM,
    accepted: &[
        only("return_predecessors", "[true]"),
        only("unweighted", "[false]"),
        only("overwrite", "[false]"),
        only("method", "[]"),
        only("indices", "[]"),
        ignored("edge_attr"),
    ],
    outputs: &[
        output(
            "sssp",
            Dtype::Float,
            "length of a shortest path from the start; null when not reached",
        ),
        PREDECESSOR,
    ],
    doc: "Shortest paths from one node by edge weights, 1 each without weights.",
    paper: "Dijkstra 1959",
    cost: Cost::LogLinear,
    run: |input, p| search(input, p, "sssp"),
    ..AlgorithmSpec::BASE
};

/// cuGraph's `shortest_path`.
pub static SHORTEST_PATH: AlgorithmSpec = AlgorithmSpec {
    id: "shortest_path",
    names: &[cugraph("shortest_path")],
    params: &[SOURCE, DIRECTED],
    starts: FROM,
    accepted: &[
        only("return_predecessors", "[true]"),
        only("unweighted", "[false]"),
        only("overwrite", "[false]"),
        only("method", "[]"),
        only("indices", "[]"),
    ],
    outputs: &[
        output("shortest_path", Dtype::Float, "length of a shortest path; null when not reached"),
        PREDECESSOR,
    ],
    doc: "Shortest paths from one node by edge weights, 1 each without weights.",
    paper: "Dijkstra 1959",
    cost: Cost::LogLinear,
    run: |input, p| search(input, p, "shortest_path"),
    ..AlgorithmSpec::BASE
};

/// cuGraph's `shortest_path_length`.
pub static SHORTEST_PATH_LENGTH: AlgorithmSpec = AlgorithmSpec {
    id: "shortest_path_length",
    names: &[cugraph("shortest_path_length")],
    params: &[
        SOURCE,
        param("target", Dtype::Node, "null", None, "the only node that gets a value; null is all"),
        DIRECTED,
    ],
    starts: FROM,
    outputs: &[output(
        "shortest_path_length",
        Dtype::Float,
        "length of a shortest path from the start; null when not reached",
    )],
    doc: "Lengths of shortest paths from one node by edge weights, 1 each without weights.",
    paper: "Dijkstra 1959",
    cost: Cost::LogLinear,
    run: |input, p| {
        let source = input.start(p)?;
        let target = input.node(p, "target")?;
        let weights = input.weights(p, Sign::NotNegative)?;
        let view = input.view(p.bool("directed"), weights.as_deref())?;
        let found = lengths(&view, source, f64::INFINITY, input.cancel)?;
        let reached = |d: f64| (d < f64::INFINITY).then_some(d);
        let values = Values::F64OrNull(found.into_iter().map(reached).collect());
        let target = target.map(|t| [t]);
        Ok(Output::one("shortest_path_length", values.only(target.as_ref().map(|t| &t[..]))))
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
    fn distances_are_those_of_relaxation_and_predecessors_lead_back() {
        let cancel = CancelToken::new();
        for (name, t) in testkit::zoo().into_iter().filter(|(_, t)| t.num_nodes() > 0) {
            for (directed, modulus) in [(true, 5), (false, 5), (true, 2), (false, 1)] {
                let weights: Vec<f64> =
                    (0..t.num_edges()).map(|r| f64::from(r % modulus) * 0.7).collect();
                let shape = Shape { directed, copies: Copies::Keep, loops: Loops::Once };
                let view = GraphView::new(&t, Some(&weights), shape).unwrap();
                let mut expected = vec![f64::INFINITY; t.num_nodes() as usize];
                expected[0] = 0.0;
                for _ in 0..t.num_nodes() {
                    for u in 0..t.num_nodes() {
                        for (v, w) in view.out().weighted(u) {
                            let way = expected[u as usize] + w;
                            expected[v as usize] = expected[v as usize].min(way);
                        }
                    }
                }
                let found = run(&view, 0, f64::INFINITY, &cancel).unwrap();
                assert_eq!(found.distance, expected, "{name} {directed} {modulus}");
                for v in 1..t.num_nodes() {
                    if found.distance[v as usize] == f64::INFINITY {
                        assert_eq!(found.predecessor[v as usize], UNREACHED);
                        continue;
                    }
                    let (mut at, mut steps) = (v, 0);
                    while at != 0 {
                        at = found.predecessor[at as usize];
                        steps += 1;
                        assert!(steps <= t.num_nodes(), "{name}: a circle of predecessors");
                    }
                }
            }
        }
    }
}
