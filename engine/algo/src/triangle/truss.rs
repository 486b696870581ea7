//! Trusses (Cohen 2008): the largest subgraph each of whose edges belongs to k - 2 triangles of it, by counting the
//! triangles of all edges in parallel and peeling (Wang and Cheng 2012).

use graphlume_types::CancelToken;
use rayon::prelude::*;

use super::count::SIMPLE;
use crate::buckets::Buckets;
use crate::spec::{AlgorithmSpec, Cost, Dtype, Gives, extra, output, param};
use crate::view::GraphView;
use crate::{AlgoError, Column, Input, Output, Subgraph, Values};

/// Edges peeled between two looks at the cancel token.
const EDGES_PER_CHECK: usize = 1 << 10;
/// Nodes whose edges are numbered between two looks.
const NODES_PER_CHECK: u32 = 1 << 8;
/// Nodes of one unit of parallel work.
const NODES: usize = 64;

/// The edges of a simple undirected view, each once, from its smaller end.
struct Edges<'a> {
    view: &'a GraphView<'a>,
    /// Number of the edge of every arc.
    of_arc: Vec<u32>,
    ends: Vec<(u32, u32)>,
}

impl<'a> Edges<'a> {
    fn new(view: &'a GraphView<'a>, cancel: &CancelToken) -> Result<Self, AlgoError> {
        let out = view.out();
        let (mut of_arc, mut ends) = (vec![0u32; view.num_arcs()], Vec::new());
        for v in 0..view.num_nodes() {
            if v % NODES_PER_CHECK == 0 {
                cancel.check()?;
            }
            for at in out.range(v) {
                let to = out.all_neighbors()[at];
                if v < to {
                    of_arc[at] = ends.len() as u32;
                    ends.push((v, to));
                } else {
                    // The smaller end has been numbered.
                    let back = out.range(to).start + out.neighbors(to).partition_point(|u| *u < v);
                    of_arc[at] = of_arc[back];
                }
            }
        }
        Ok(Self { view, of_arc, ends })
    }

    /// Calls `each` with the two other edges of every triangle of an edge.
    fn triangles(&self, edge: u32, mut each: impl FnMut(u32, u32)) {
        let (a, b) = self.ends[edge as usize];
        let out = self.view.out();
        let (ra, rb) = (out.range(a), out.range(b));
        let (mut i, mut j) = (ra.start, rb.start);
        let all = out.all_neighbors();
        while i < ra.end && j < rb.end {
            match all[i].cmp(&all[j]) {
                std::cmp::Ordering::Less => i += 1,
                std::cmp::Ordering::Greater => j += 1,
                std::cmp::Ordering::Equal => {
                    each(self.of_arc[i], self.of_arc[j]);
                    (i, j) = (i + 1, j + 1);
                }
            }
        }
    }
}

/// The truss number of each edge of a simple undirected view, by arc: the largest k whose truss holds it, 2 at least.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub fn run(view: &GraphView<'_>, cancel: &CancelToken) -> Result<Vec<u32>, AlgoError> {
    cancel.check()?;
    let edges = Edges::new(view, cancel)?;
    let m = edges.ends.len();
    let support: Vec<u32> = (0..m as u32)
        .into_par_iter()
        .with_min_len(NODES)
        .map(|e| {
            cancel.check()?;
            let mut count = 0;
            edges.triangles(e, |_, _| count += 1);
            Ok::<u32, AlgoError>(count)
        })
        .collect::<Result<_, _>>()?;
    let mut buckets = Buckets::new(support);
    let mut gone = vec![false; m];
    for i in 0..buckets.len() {
        if i % EDGES_PER_CHECK == 0 {
            cancel.check()?;
        }
        let (e, level) = buckets.take(i);
        edges.triangles(e, |f, g| {
            if !gone[f as usize] && !gone[g as usize] {
                buckets.lower(f, level);
                buckets.lower(g, level);
            }
        });
        gone[e as usize] = true;
    }
    let support = buckets.into_numbers();
    Ok(edges.of_arc.iter().map(|e| support[*e as usize] + 2).collect())
}

/// The rows that belong to the truss of `k`, and the nodes at their ends.
fn truss(input: &Input<'_>, by_row: &[Option<f64>], k: f64) -> Subgraph {
    let t = input.topology;
    let (mut rows, mut nodes) = (Vec::new(), vec![false; t.num_nodes() as usize]);
    for at in 0..t.num_edges() {
        let (from, to, row) = t.edge(at);
        if by_row[row as usize].is_some_and(|own| own >= k) {
            rows.push(row);
            (nodes[from as usize], nodes[to as usize]) = (true, true);
        }
    }
    rows.sort_unstable();
    let nodes = (0..t.num_nodes()).filter(|v| nodes[*v as usize]).collect();
    Subgraph::Kept { edges: rows, nodes: Some(nodes) }
}

/// cuGraph's `k_truss`, which the interface does not list.
pub static K_TRUSS: AlgorithmSpec = AlgorithmSpec {
    id: "k_truss",
    names: &[extra("cugraph", "k_truss")],
    params: &[param(
        "k",
        Dtype::Int,
        "3",
        Some((2.0, 4e9)),
        "every edge belongs to k - 2 triangles at least",
    )],
    gives: Gives::Graph,
    doc: "The largest subgraph each of whose edges belongs to k - 2 triangles of it.",
    paper: "Cohen 2008; Wang and Cheng 2012",
    cost: Cost::Wedges,
    run: |input, p| {
        let view = input.shaped(None, SIMPLE)?;
        let numbers: Vec<f64> = run(&view, input.cancel)?.into_iter().map(f64::from).collect();
        let by_row = view.by_row(input.topology, &numbers);
        let graph = truss(input, &by_row, p.count("k") as f64);
        Ok(Output { graph: Some(graph), ..Output::default() })
    },
    ..AlgorithmSpec::BASE
};

/// The truss number of each edge.
pub static TRUSS_NUMBER: AlgorithmSpec = AlgorithmSpec {
    id: "truss_number",
    names: &[extra("cugraph", "truss_number")],
    gives: Gives::Edges,
    outputs: &[output("truss_number", Dtype::Int, "largest k whose k-truss holds the edge")],
    doc: "Truss numbers of the edges of the simple undirected graph; loops have none.",
    paper: "Cohen 2008; Wang and Cheng 2012",
    cost: Cost::Wedges,
    run: |input, _| {
        let view = input.shaped(None, SIMPLE)?;
        let numbers: Vec<f64> = run(&view, input.cancel)?.into_iter().map(f64::from).collect();
        let by_row = view.by_row(input.topology, &numbers);
        let values = by_row.into_iter().map(|v| v.map(|v| v as i64)).collect();
        let column = Column { name: "truss_number", values: Values::I64OrNull(values) };
        Ok(Output { edges: vec![column], ..Output::default() })
    },
    ..AlgorithmSpec::BASE
};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::testkit;

    /// By the definition: edges with too few triangles go until none is left.
    #[test]
    fn trusses_are_what_is_left_when_weak_edges_go() {
        for (name, t) in testkit::zoo() {
            let view = GraphView::new(&t, None, SIMPLE).unwrap();
            let cancel = CancelToken::new();
            let [found, two, three] = testkit::at_1_2_3_threads(|| run(&view, &cancel).unwrap());
            assert!(found == two && found == three, "{name}");
            let edges = Edges::new(&view, &cancel).unwrap();
            for k in 3..7u32 {
                let mut kept = vec![true; edges.ends.len()];
                loop {
                    let weak = (0..kept.len()).find(|e| {
                        let mut count = 0;
                        edges.triangles(*e as u32, |f, g| {
                            count += u32::from(kept[f as usize] && kept[g as usize]);
                        });
                        kept[*e] && count < k - 2
                    });
                    let Some(weak) = weak else { break };
                    kept[weak] = false;
                }
                for (arc, e) in edges.of_arc.iter().enumerate() {
                    assert_eq!(found[arc] >= k, kept[*e as usize], "{name} {k}");
                }
            }
        }
    }
}
