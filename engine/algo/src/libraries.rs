//! The graph as a library would see it: which edges are one, and what their weights come to.

use std::sync::Arc;

use graphlume_graph::Topology;
use graphlume_types::CancelToken;
use rayon::prelude::*;

use crate::schema::CUGRAPH_KINDS;
use crate::util::distinct_edges;
use crate::{AlgoError, AlgorithmSpec, Input};

/// Nodes of one unit of parallel work.
const CHUNK: usize = 1024;

/// A graph and its weights by edge row, for the algorithms that read a [`Topology`] instead of a
/// [`crate::view::GraphView`].
#[derive(Debug)]
pub struct Seen {
    /// The graph.
    pub topology: Arc<Topology>,
    /// Its weights by edge row.
    pub weights: Option<Vec<f32>>,
}

/// The graph as the library of the request sees it, with or without directions.
///
/// igraph keeps every edge apart. cuGraph takes edges with the same ends for one: the first of them where
/// edges lead one way, else the one of the least weight, and an edge and one against it become their mean.
/// In its multigraphs copies stay. Either way it counts loops once.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub fn seen(
    input: &Input<'_>,
    undirected: bool,
    weights: Option<&[f64]>,
) -> Result<Seen, AlgoError> {
    let topology = input.topology;
    let weights: Option<Vec<f32>> = weights.map(|w| w.iter().map(|w| *w as f32).collect());
    let many = input.multigraph;
    let topology = match (input.is_igraph(), undirected, many) {
        (true, ..) | (false, false, true) => Arc::clone(topology),
        (false, false, false) => distinct_edges(topology),
        (false, true, many) if is_plain(topology, many) => Arc::clone(topology),
        (false, true, many) => return both_ways(topology, weights.as_deref(), many, input.cancel),
    };
    input.cancel.check()?;
    Ok(Seen { topology, weights })
}

/// Whether `kind` is that of a multigraph, of the kinds of graph that cuGraph is told of.
///
/// # Errors
/// [`AlgoError::BadParam`] for a kind of graph that there is not, or that the algorithm does not take.
pub fn is_multigraph(spec: &AlgorithmSpec, kind: Option<&str>) -> Result<bool, AlgoError> {
    let kind = kind.unwrap_or(CUGRAPH_KINDS[0]);
    if !CUGRAPH_KINDS.contains(&kind) {
        return Err(bad_kind(spec, kind, &format!("one of {}", CUGRAPH_KINDS.join(", "))));
    }
    let many = kind == "MultiGraph";
    if many && spec.simple_only {
        return Err(bad_kind(
            spec,
            kind,
            "Graph: the algorithm is for graphs without copies of edges",
        ));
    }
    Ok(many)
}

fn bad_kind(spec: &AlgorithmSpec, kind: &str, expected: &str) -> AlgoError {
    AlgoError::BadParam {
        algorithm: spec.id,
        name: "kind".to_owned(),
        value: format!("{kind:?}"),
        expected: expected.to_owned(),
    }
}

/// Whether no edge is a loop and, unless copies count, none has the same ends as another in either direction.
fn is_plain(t: &Topology, many: bool) -> bool {
    (0..t.num_nodes()).into_par_iter().with_min_len(CHUNK).all(|v| {
        let outs = t.out_neighbors(v);
        !outs.contains(&v)
            && (many
                || outs.windows(2).all(|pair| pair[0] != pair[1])
                    && outs.iter().all(|to| t.out_neighbors(*to).binary_search(&v).is_err()))
    })
}

/// Edges with their weights, as columns.
#[derive(Default)]
struct Rows {
    src: Vec<u32>,
    dst: Vec<u32>,
    weights: Vec<f32>,
}

impl Rows {
    /// An edge in both directions; a loop once.
    fn add(&mut self, from: u32, to: u32, w: f32) {
        self.src.push(from);
        self.dst.push(to);
        self.weights.push(w);
        if from != to {
            self.src.push(to);
            self.dst.push(from);
            self.weights.push(w);
        }
    }
}

/// Every edge in both directions and loops once, so that lists of either direction have each edge once.
fn both_ways(
    t: &Topology,
    weights: Option<&[f32]>,
    many: bool,
    cancel: &CancelToken,
) -> Result<Seen, AlgoError> {
    let weight = |row: u32| {
        let known = weights.and_then(|w| w.get(row as usize)).copied();
        known.filter(|w| !w.is_nan()).unwrap_or(1.0)
    };
    // The least weight of the edges from one node to another.
    let least = |from: u32, to: u32| {
        let outs = t.out_neighbors(from);
        let first = outs.partition_point(|w| *w < to);
        let rows = &t.out_rows(from)[first..];
        let same = outs[first..].iter().zip(rows).take_while(|(w, _)| **w == to);
        same.map(|(_, row)| weight(*row)).reduce(f32::min)
    };
    let of_chunk = |first: usize| {
        cancel.check()?;
        let mut rows = Rows::default();
        for v in first as u32..t.num_nodes().min((first + CHUNK) as u32) {
            let mut last = None;
            for (to, row) in t.out_neighbors(v).iter().zip(t.out_rows(v)) {
                if many {
                    rows.add(v, *to, weight(*row));
                } else if last != Some(*to) {
                    last = Some(*to);
                    let ahead = least(v, *to).unwrap_or(1.0);
                    match least(*to, v).filter(|_| *to != v) {
                        None => rows.add(v, *to, ahead),
                        // The pair is entered once, from its smaller node.
                        Some(back) if v < *to => rows.add(v, *to, f32::midpoint(ahead, back)),
                        Some(_) => {}
                    }
                }
            }
        }
        Ok(rows)
    };
    let chunks: Vec<usize> = (0..t.num_nodes() as usize).step_by(CHUNK).collect();
    let parts: Vec<Rows> =
        chunks.into_par_iter().map(of_chunk).collect::<Result<_, AlgoError>>()?;
    let column = |of: fn(&Rows) -> &[u32]| parts.iter().map(of).collect::<Vec<_>>().concat();
    let (src, dst) = (column(|p| &p.src), column(|p| &p.dst));
    cancel.check()?;
    let topology = Arc::new(Topology::from_coo(t.num_nodes(), &src, &dst));
    let by_row = || parts.iter().map(|p| &p.weights[..]).collect::<Vec<_>>().concat();
    cancel.check()?;
    Ok(Seen { topology, weights: weights.map(|_| by_row()) })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::input::Unnamed;
    use crate::spec::Kind;
    use crate::{ParamValues, Values, find, run};

    /// The ranks of a, b and c on a graph as cuGraph sees it.
    fn ranks(
        edges: &[(u32, u32)],
        weights: Option<&[f64]>,
        kind: &str,
        directed: bool,
    ) -> Vec<f64> {
        let spec = find(Kind::Compute, "cugraph", "pagerank").unwrap();
        let pair = format!("directed={directed}");
        let params =
            ParamValues::from_pairs(spec, &[pair.as_str(), "tol=1e-12", "max_iter=1000"]).unwrap();
        let (src, dst): (Vec<u32>, Vec<u32>) = edges.iter().copied().unzip();
        let topology = Arc::new(Topology::from_coo(3, &src, &dst));
        let cancel = graphlume_types::CancelToken::new();
        let multigraph = is_multigraph(spec, Some(kind)).unwrap();
        let plain = Input::plain(&topology, &Unnamed(3), &cancel);
        let input = Input { library: "cugraph", multigraph, weights, ..plain };
        match run(spec, &input, &params).unwrap().columns.remove(0).values {
            Values::F64(v) => v,
            other => unreachable!("{other:?}"),
        }
    }

    fn close(a: &[f64], b: &[f64]) -> bool {
        a.iter().zip(b).all(|(x, y)| (x - y).abs() < 1e-9)
    }

    #[test]
    fn an_edge_and_one_against_it_are_one_undirected_edge() {
        let both = ranks(&[(0, 1), (1, 0), (1, 2)], None, "Graph", false);
        let once = ranks(&[(0, 1), (1, 2)], None, "Graph", false);
        assert!(close(&both, &once) && (both[0] - both[2]).abs() < 1e-9, "{both:?}");
        let copies = ranks(&[(0, 1), (0, 1), (1, 2)], None, "Graph", false);
        assert!(close(&copies, &once), "{copies:?}");
        let multi = ranks(&[(0, 1), (0, 1), (1, 2)], None, "MultiGraph", false);
        assert!(multi[0] > multi[2] + 0.01, "copies count in a multigraph: {multi:?}");
    }

    #[test]
    fn weights_of_copies_are_the_least_and_of_opposites_the_mean() {
        let edges = [(0, 1), (0, 1), (1, 0), (1, 2)];
        let got = ranks(&edges, Some(&[9.0, 1.0, 3.0, 2.0]), "Graph", false);
        let want = ranks(&[(0, 1), (1, 2)], Some(&[2.0, 2.0]), "Graph", false);
        assert!(close(&got, &want), "{got:?} {want:?}");
        // Directed graphs keep the first of the copies.
        let got = ranks(&edges, Some(&[9.0, 1.0, 3.0, 2.0]), "Graph", true);
        let want = ranks(&[(0, 1), (1, 0), (1, 2)], Some(&[9.0, 3.0, 2.0]), "Graph", true);
        assert!(close(&got, &want), "{got:?} {want:?}");
    }

    #[test]
    fn a_loop_counts_once() {
        // Of the weight at the first node half is the loop's: networkx with one entry of the loop.
        let got = ranks(&[(0, 0), (0, 1), (1, 2)], None, "Graph", false);
        let arcs = [(0, 0), (0, 1), (1, 0), (1, 2), (2, 1)];
        let want = ranks(&arcs, None, "Graph", true);
        assert!(close(&got, &want), "{got:?} {want:?}");
    }

    #[test]
    fn kinds_that_there_are_not_are_refused() {
        let spec = find(Kind::Compute, "cugraph", "core_number").unwrap();
        for kind in ["nonsense", "MultiGraph"] {
            let e = is_multigraph(spec, Some(kind)).unwrap_err().to_string();
            assert!(e.contains("\"kind\"") && e.contains(kind), "{e}");
        }
    }
}
