//! The graph as a library would see it: which edges are one, and what their weights come to.

use std::ops::Range;
use std::sync::Arc;

use graphlume_graph::Topology;
use graphlume_types::CancelToken;
use rayon::prelude::*;

use crate::schema::CUGRAPH_KINDS;
use crate::util::distinct_edges;
use crate::{AlgoError, AlgorithmSpec, Input};

/// Nodes of one unit of parallel work, where each takes little.
const CHUNK: usize = 1024;
/// Edges and nodes of one unit of parallel work, where lists are made.
const SHARE_EDGES: u64 = 1 << 16;

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
        (false, true, many) => match &weights {
            Some(weights) => return both_ways(topology, weights, many, input.cancel),
            None => Arc::new(symmetric(topology, many, input.cancel)?),
        },
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
        outs.binary_search(&v).is_err()
            && (many
                || outs.windows(2).all(|pair| pair[0] != pair[1])
                    && have_none_in_common(outs, t.in_neighbors(v)))
    })
}

/// Whether no number stands in both of two ascending lists.
fn have_none_in_common(a: &[u32], b: &[u32]) -> bool {
    let mut rest = b;
    a.iter().all(|x| {
        while rest.first().is_some_and(|y| y < x) {
            rest = &rest[1..];
        }
        rest.first() != Some(x)
    })
}

/// Ranges of consecutive nodes with about the same number of edges.
fn shares_of_work(t: &Topology) -> Vec<Range<u32>> {
    let (mut ranges, mut start, mut edges) = (Vec::new(), 0, 0);
    for v in 0..t.num_nodes() {
        edges += u64::from(t.degree(v)) + 1;
        if edges >= SHARE_EDGES || v + 1 == t.num_nodes() {
            ranges.push(start..v + 1);
            (start, edges) = (v + 1, 0);
        }
    }
    ranges
}

/// Adds the neighbours of `v` in either direction in ascending order, each once unless copies count; a loop counts once.
fn add_neighbors(t: &Topology, v: u32, many: bool, into: &mut Vec<u32>) {
    let first = into.len();
    let (outs, mut ins) = (t.out_neighbors(v), t.in_neighbors(v));
    let mut add = |u: u32| {
        if many || into.len() == first || into.last() != Some(&u) {
            into.push(u);
        }
    };
    for to in outs {
        while let Some((from, rest)) = ins.split_first().filter(|(from, _)| *from <= to) {
            // The out-list has the loop already.
            if *from != v {
                add(*from);
            }
            ins = rest;
        }
        add(*to);
    }
    ins.iter().filter(|from| **from != v).for_each(|from| add(*from));
}

/// Every edge in both directions and loops once, so that lists of either direction have each edge once.
fn symmetric(t: &Topology, many: bool, cancel: &CancelToken) -> Result<Topology, AlgoError> {
    let of_share = |nodes: Range<u32>| {
        cancel.check()?;
        let (mut ends, mut lengths) = (Vec::new(), Vec::with_capacity(nodes.len()));
        for v in nodes {
            let before = ends.len();
            add_neighbors(t, v, many, &mut ends);
            lengths.push((ends.len() - before) as u32);
        }
        Ok((lengths, ends))
    };
    let parts: Vec<(Vec<u32>, Vec<u32>)> =
        shares_of_work(t).into_par_iter().map(of_share).collect::<Result<_, AlgoError>>()?;
    let mut offsets = Vec::with_capacity(t.num_nodes() as usize + 1);
    let mut at = 0;
    offsets.push(at);
    for length in parts.iter().flat_map(|part| &part.0) {
        at += length;
        offsets.push(at);
    }
    let ends: Vec<&[u32]> = parts.iter().map(|part| &part.1[..]).collect();
    Ok(Topology::from_symmetric(offsets, ends.concat()))
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

/// As [`symmetric`], with weights.
fn both_ways(
    t: &Topology,
    weights: &[f32],
    many: bool,
    cancel: &CancelToken,
) -> Result<Seen, AlgoError> {
    let weight = |row: u32| {
        let known = weights.get(row as usize).copied();
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
    let of_share = |nodes: Range<u32>| {
        cancel.check()?;
        let mut rows = Rows::default();
        for v in nodes {
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
    let parts: Vec<Rows> =
        shares_of_work(t).into_par_iter().map(of_share).collect::<Result<_, AlgoError>>()?;
    let column = |of: fn(&Rows) -> &[u32]| parts.iter().map(of).collect::<Vec<_>>().concat();
    let (src, dst) = (column(|p| &p.src), column(|p| &p.dst));
    cancel.check()?;
    let topology = Arc::new(Topology::from_coo(t.num_nodes(), &src, &dst));
    let by_row = parts.iter().map(|p| &p.weights[..]).collect::<Vec<_>>().concat();
    cancel.check()?;
    Ok(Seen { topology, weights: Some(by_row) })
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
    fn lists_without_weights_are_those_with_weights_of_one() {
        let edge = |i| {
            let end = |stream| (graphlume_types::hash::h64(2, stream, i) % 40) as u32;
            (end(0), end(1).min(end(2)))
        };
        let (src, dst): (Vec<u32>, Vec<u32>) = (0..400).map(edge).unzip();
        let t = Topology::from_coo(45, &src, &dst);
        let cancel = graphlume_types::CancelToken::new();
        for many in [false, true] {
            let want = both_ways(&t, &[1.0; 400], many, &cancel).unwrap().topology;
            let got = symmetric(&t, many, &cancel).unwrap();
            assert!(got.is_symmetric() && want.is_symmetric() && !t.is_symmetric());
            for v in 0..45 {
                assert_eq!(got.out_neighbors(v), want.out_neighbors(v), "{v} {many}");
            }
            assert!(!is_plain(&t, many));
        }
        let plain = Topology::from_coo(4, &[0, 1, 2, 0], &[1, 2, 0, 3]);
        assert!(is_plain(&plain, false) && is_plain(&plain, true));
        for (src, dst, many) in
            [([0, 1], [1, 0], true), ([0, 0], [1, 1], true), ([0, 1], [1, 1], false)]
        {
            let t = Topology::from_coo(2, &src, &dst);
            assert!(!is_plain(&t, false) && is_plain(&t, true) == many, "{src:?} {dst:?}");
        }
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
