//! Minimum spanning forests (Kruskal 1956) over a parallel sort; equal weights go by row.

use graphlume_graph::Topology;
use graphlume_types::CancelToken;
use rayon::prelude::*;

use crate::input::Sign;
use crate::spec::{
    AlgorithmSpec, Cost, Dtype, Gives, WEIGHTS, cugraph, ignored, igraph, only, param,
};
use crate::view::GraphView;
use crate::{AlgoError, Input, Output, ParamValues};

/// Edges looked at between two looks at the cancel token.
const EDGES_PER_CHECK: usize = 1 << 16;

/// Rows of the edges of a spanning forest where every edge weighs the same, ascending: the first rows that join something.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub fn first(t: &Topology, cancel: &CancelToken) -> Result<Vec<u32>, AlgoError> {
    let size = t.out_row().par_iter().max().map_or(0, |row| *row as usize + 1);
    let mut ends = vec![(0u32, 0u32); size];
    for v in 0..t.num_nodes() {
        for (to, row) in t.out_neighbors(v).iter().zip(t.out_rows(v)) {
            ends[*row as usize] = (v, *to);
        }
    }
    cancel.check()?;
    let ends = ends.into_iter().zip(0..);
    join(t.num_nodes(), ends, cancel)
}

/// Rows of the edges of a spanning forest of least weight, ascending. Of edges with equal weight the first row is taken.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub fn run(view: &GraphView<'_>, cancel: &CancelToken) -> Result<Vec<u32>, AlgoError> {
    let out = view.out();
    let mut edges: Vec<Edge> = (0..view.num_nodes())
        .into_par_iter()
        .with_min_len(1 << 12)
        .flat_map_iter(|v| {
            let arcs = out.range(v).map(move |at| (out.all_neighbors()[at], at));
            // Each edge from its smaller end; a loop belongs to no forest.
            arcs.filter(move |(to, _)| v < *to).map(move |(to, at)| {
                let weight = if view.is_weighted() { ordered(out.weight(at)) } else { 0 };
                Edge { weight, row: out.all_rows()[at], ends: (v, to) }
            })
        })
        .collect();
    cancel.check()?;
    edges.par_sort_unstable_by_key(|e| (e.weight, e.row));
    cancel.check()?;
    join(view.num_nodes(), edges.iter().map(|e| (e.ends, e.row)), cancel)
}

/// Rows of the edges, taken in their order, that join two trees; ascending.
fn join(
    n: u32,
    edges: impl Iterator<Item = ((u32, u32), u32)>,
    cancel: &CancelToken,
) -> Result<Vec<u32>, AlgoError> {
    let mut parents: Vec<u32> = (0..n).collect();
    let mut rows = Vec::new();
    for (i, (ends, row)) in edges.enumerate() {
        if i % EDGES_PER_CHECK == 0 {
            cancel.check()?;
        }
        let (a, b) = (root(&mut parents, ends.0), root(&mut parents, ends.1));
        if a != b {
            parents[a.max(b) as usize] = a.min(b);
            rows.push(row);
            if rows.len() + 1 == n as usize {
                break;
            }
        }
    }
    rows.sort_unstable();
    Ok(rows)
}

#[derive(Clone, Copy)]
struct Edge {
    weight: u64,
    row: u32,
    ends: (u32, u32),
}

/// Bits that are ordered like the numbers.
fn ordered(weight: f64) -> u64 {
    // The two zeros are one number.
    let bits = (weight + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn root(parents: &mut [u32], mut v: u32) -> u32 {
    while parents[v as usize] != v {
        parents[v as usize] = parents[parents[v as usize] as usize];
        v = parents[v as usize];
    }
    v
}

/// cuGraph's `minimum_spanning_tree`.
pub static MINIMUM: AlgorithmSpec = AlgorithmSpec {
    id: "minimum_spanning_tree",
    names: &[cugraph("minimum_spanning_tree")],
    params: &[
        param("weight", Dtype::EdgeColumn, "null", None, "edge column; null is the bound weight"),
        param("ignore_nan", Dtype::Bool, "false", None, "leave edges without a weight out"),
    ],
    accepted: &[only("algorithm", r#"["boruvka", "kruskal", "prim"]"#), ignored("directed")],
    gives: Gives::Graph,
    doc: "A spanning forest of least weight of the undirected graph; all nodes stay.",
    paper: "Kruskal 1956",
    cost: Cost::LogLinear,
    run: |input, p| {
        let weights = input.weights(p, Sign::Any)?;
        let missing = |row: &&u32| {
            weights.as_ref().and_then(|w| w.get(**row as usize)).is_some_and(|w| w.is_nan())
        };
        let rows = input.topology.out_row();
        if !p.bool("ignore_nan") {
            if let Some(row) = rows.iter().find(missing) {
                return Err(AlgoError::BadValue {
                    what: "weight",
                    unit: "edge row",
                    index: *row as usize,
                    value: f64::NAN,
                    expected: "a number; ignore_nan leaves such edges out",
                });
            }
            return forest(input, weights.as_deref());
        }
        let kept: Vec<u32> = rows.iter().filter(|r| !missing(r)).copied().collect();
        if kept.len() == rows.len() {
            return forest(input, weights.as_deref());
        }
        let topology = without(input, &kept);
        forest(&Input { topology: &topology, ..*input }, weights.as_deref())
    },
    ..AlgorithmSpec::BASE
};

/// The graph of the edges of some rows.
fn without(input: &Input<'_>, kept: &[u32]) -> std::sync::Arc<Topology> {
    let mut rows: Vec<u32> = kept.to_vec();
    rows.sort_unstable();
    let t = input.topology;
    let edges = (0..t.num_edges()).map(|at| t.edge(at));
    let edges = edges.filter(|(.., row)| rows.binary_search(row).is_ok());
    let (mut src, mut dst, mut own) = (Vec::new(), Vec::new(), Vec::new());
    for (from, to, row) in edges {
        src.push(from);
        dst.push(to);
        own.push(row);
    }
    let n = t.num_nodes();
    std::sync::Arc::new(Topology::from_rows(n, &src, &dst, Some(&own)))
}

fn forest(input: &Input<'_>, weights: Option<&[f64]>) -> Result<Output, AlgoError> {
    if weights.is_none() {
        return Ok(Output::kept(first(input.topology, input.cancel)?, None));
    }
    let view = input.view(false, weights)?;
    Ok(Output::kept(run(&view, input.cancel)?, None))
}

/// igraph's `spanning_tree`.
pub static SPANNING_TREE: AlgorithmSpec = AlgorithmSpec {
    id: "spanning_tree",
    names: &[igraph("spanning_tree")],
    params: &[WEIGHTS],
    accepted: &[
        only("return_tree", "[true]"),
        only("method", r#"["auto", "prim", "kruskal", "unweighted"]"#),
        ignored("directed"),
    ],
    gives: Gives::Graph,
    doc: "A spanning forest of the undirected graph, of least weight when weights are named; all nodes stay.",
    paper: "Kruskal 1956",
    cost: Cost::LogLinear,
    run: |input, p: &ParamValues| {
        let weights = input.weights(p, Sign::Any)?;
        forest(input, weights.as_deref())
    },
    ..AlgorithmSpec::BASE
};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeSet;

    use graphlume_types::hash::unit_f64;

    use super::*;
    use crate::component::weak;
    use crate::testkit;
    use crate::view::{Copies, Loops, Shape};

    const SHAPE: Shape = Shape { directed: false, copies: Copies::Keep, loops: Loops::Twice };

    #[test]
    fn a_forest_joins_what_the_graph_joins_and_has_no_circle() {
        let cancel = CancelToken::new();
        for (name, t) in testkit::zoo() {
            let weights: Vec<f64> =
                (0..t.num_edges()).map(|r| unit_f64(3, 1, u64::from(r)) - 0.5).collect();
            for weights in [None, Some(&weights[..])] {
                let view = GraphView::new(&t, weights, SHAPE).unwrap();
                let [rows, two, three] = testkit::at_1_2_3_threads(|| run(&view, &cancel).unwrap());
                assert!(rows == two && rows == three, "{name}");
                let labels = weak::run(&t, &cancel).unwrap();
                let parts = labels.iter().collect::<BTreeSet<_>>().len();
                assert_eq!(rows.len() + parts, t.num_nodes() as usize, "{name}");
            }
        }
    }

    #[test]
    fn of_equal_weights_the_first_row_is_taken_and_negative_ones_are_smaller() {
        let t = testkit::from_edges(3, &[(0, 1), (1, 2), (2, 0)]);
        let rows = |weights: &[f64]| {
            let view = GraphView::new(&t, Some(weights), SHAPE).unwrap();
            run(&view, &CancelToken::new()).unwrap()
        };
        assert_eq!(rows(&[1.0, 1.0, 1.0]), [0, 1]);
        assert_eq!(rows(&[-0.0, 0.0, -3.0]), [0, 2]);
        assert_eq!(rows(&[5.0, 1e-9, -2.0]), [1, 2]);
    }
}
