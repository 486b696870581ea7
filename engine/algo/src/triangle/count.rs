//! Triangles of each node: every edge leads from the end of smaller degree to the other (Chiba and Nishizeki 1985,
//! Latapy 2008), so that each triangle is found once, and lists are short.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use graphlume_types::CancelToken;
use rayon::prelude::*;

use crate::spec::{AlgorithmSpec, Cost, Dtype, extra, output};
use crate::view::{Copies, GraphView, Loops, Shape};
use crate::{AlgoError, Output, Values};

/// Nodes of one unit of parallel work.
const NODES: usize = 256;

/// The simple undirected graph, each edge once, from the end that comes first by degree and index. Nodes are numbered in
/// that order.
pub(crate) struct Oriented {
    /// The node of each number.
    pub(crate) node: Vec<u32>,
    pub(crate) offsets: Vec<usize>,
    /// Numbers of the ends that come later, ascending.
    pub(crate) later: Vec<u32>,
}

impl Oriented {
    pub(crate) fn new(view: &GraphView<'_>) -> Self {
        let n = view.num_nodes();
        let mut node: Vec<u32> = (0..n).collect();
        node.par_sort_unstable_by_key(|v| (view.out().degree(*v), *v));
        let mut number = vec![0u32; n as usize];
        for (i, v) in node.iter().enumerate() {
            number[*v as usize] = i as u32;
        }
        let lists: Vec<Vec<u32>> = node
            .par_iter()
            .with_min_len(NODES)
            .enumerate()
            .map(|(i, v)| {
                let ends = view.out().neighbors(*v).iter().map(|u| number[*u as usize]);
                let mut later: Vec<u32> = ends.filter(|k| *k > i as u32).collect();
                later.sort_unstable();
                later.dedup();
                later
            })
            .collect();
        let mut offsets = Vec::with_capacity(lists.len() + 1);
        let mut later = Vec::with_capacity(lists.iter().map(Vec::len).sum());
        offsets.push(0);
        for list in lists {
            later.extend(list);
            offsets.push(later.len());
        }
        Self { node, offsets, later }
    }

    pub(crate) fn list(&self, i: usize) -> &[u32] {
        &self.later[self.offsets[i]..self.offsets[i + 1]]
    }
}

/// The number of triangles that each node belongs to. Directions, copies and loops make no difference.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub fn run(view: &GraphView<'_>, cancel: &CancelToken) -> Result<Vec<u64>, AlgoError> {
    cancel.check()?;
    let graph = Oriented::new(view);
    let n = graph.node.len();
    let counts: Vec<AtomicU64> = (0..n).map(|_| AtomicU64::new(0)).collect();
    let chunks: Vec<usize> = (0..n).step_by(NODES).collect();
    chunks.into_par_iter().try_for_each_init(
        || vec![0u32; n],
        |mark, first| {
            for i in first..n.min(first + NODES) {
                cancel.check()?;
                let list = graph.list(i);
                if list.len() < 2 {
                    continue;
                }
                // Marks are one more than the number of the node, and so never have to be taken away.
                let own = i as u32 + 1;
                list.iter().for_each(|k| mark[*k as usize] = own);
                let mut of_i = 0;
                for k in list {
                    let mut of_k = 0;
                    for last in graph.list(*k as usize) {
                        if mark[*last as usize] == own {
                            of_k += 1;
                            counts[*last as usize].fetch_add(1, Relaxed);
                        }
                    }
                    if of_k > 0 {
                        counts[*k as usize].fetch_add(of_k, Relaxed);
                        of_i += of_k;
                    }
                }
                if of_i > 0 {
                    counts[i].fetch_add(of_i, Relaxed);
                }
            }
            Ok::<(), AlgoError>(())
        },
    )?;
    let mut by_node = vec![0; n];
    for (v, count) in graph.node.iter().zip(counts) {
        by_node[*v as usize] = count.into_inner();
    }
    Ok(by_node)
}

/// The view in which triangles are counted.
pub(crate) const SIMPLE: Shape =
    Shape { directed: false, copies: Copies::Least, loops: Loops::Drop };

/// cuGraph's `triangle_count`, which the interface does not list.
pub static TRIANGLES: AlgorithmSpec = AlgorithmSpec {
    id: "triangle_count",
    names: &[extra("cugraph", "triangle_count")],
    outputs: &[output("triangle_count", Dtype::Int, "triangles that the node belongs to")],
    doc: "Triangles of each node in the simple undirected graph.",
    paper: "Latapy 2008",
    cost: Cost::Wedges,
    run: |input, _| {
        let view = input.shaped(None, SIMPLE)?;
        let counts = run(&view, input.cancel)?;
        let values = counts.into_iter().map(|c| i64::try_from(c).unwrap_or(i64::MAX)).collect();
        Ok(Output::one("triangle_count", Values::I64(values)))
    },
    ..AlgorithmSpec::BASE
};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::testkit;

    #[test]
    fn counts_are_those_of_all_triples() {
        for (name, t) in testkit::zoo() {
            let view = GraphView::new(&t, None, SIMPLE).unwrap();
            let cancel = CancelToken::new();
            let [found, two, three] = testkit::at_1_2_3_threads(|| run(&view, &cancel).unwrap());
            assert!(found == two && found == three, "{name}");
            let n = t.num_nodes();
            let joined = |a: u32, b: u32| view.out().neighbors(a).binary_search(&b).is_ok();
            let mut expected = vec![0u64; n as usize];
            for a in 0..n {
                for b in view.out().neighbors(a).iter().copied().filter(|b| *b > a) {
                    for c in b + 1..n {
                        if joined(a, c) && joined(b, c) {
                            [a, b, c].iter().for_each(|v| expected[*v as usize] += 1);
                        }
                    }
                }
            }
            assert_eq!(found, expected, "{name}");
        }
    }
}
