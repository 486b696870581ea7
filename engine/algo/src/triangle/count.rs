//! Triangles of each node: every edge leads from the end of smaller degree to the other (Chiba and Nishizeki 1985,
//! Latapy 2008), so that each triangle is found once, and lists are short. Triangles among the nodes of largest degree are
//! counted by bitmaps.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use graphlume_types::CancelToken;
use rayon::prelude::*;

use super::core::Core;
use crate::spec::{AlgorithmSpec, Cost, Dtype, extra, output};
use crate::util::prefetch;
use crate::view::{Copies, GraphView, Loops, Shape};
use crate::{AlgoError, Output, Values};

/// Nodes of one unit of parallel work.
const NODES: usize = 256;
/// Nodes ahead of the one that is looked at whose lists are asked for.
const AHEAD: usize = 4;

/// A simple undirected graph, each edge once, from the end that comes first by degree and index. Nodes are numbered in
/// that order.
pub(crate) struct Oriented {
    /// The node of each number.
    pub(crate) node: Vec<u32>,
    pub(crate) offsets: Vec<usize>,
    /// Numbers of the ends that come later: those below [`Core::from`] first, else in any order.
    pub(crate) later: Vec<u32>,
}

impl Oriented {
    pub(crate) fn new(view: &GraphView<'_>) -> Self {
        let n = view.num_nodes();
        // By degree, then by index: counted, not compared.
        let degrees = || (0..n).map(|v| view.out().degree(v) as usize);
        let mut starts = vec![0u32; degrees().max().unwrap_or(0) + 2];
        degrees().for_each(|d| starts[d + 1] += 1);
        for d in 1..starts.len() {
            starts[d] += starts[d - 1];
        }
        let (mut node, mut number) = (vec![0u32; n as usize], vec![0u32; n as usize]);
        for (v, d) in (0..n).zip(degrees()) {
            let place = starts[d];
            starts[d] += 1;
            (node[place as usize], number[v as usize]) = (v, place);
        }
        let core_from = Core::from(n as usize) as u32;
        let of_chunk = |(chunk, nodes): (usize, &[u32])| {
            let mut lists = Vec::with_capacity(nodes.len() * 8);
            let mut lengths = Vec::with_capacity(nodes.len());
            for (i, v) in nodes.iter().enumerate() {
                // Lists lie anywhere: ask for those to come.
                if let Some(next) = nodes.get(i + AHEAD) {
                    let start = view.out().range(*next).start;
                    prefetch(view.out().all_neighbors(), start);
                    prefetch(view.out().all_neighbors(), start + 16);
                }
                let (begun, own) = (lists.len(), (chunk * NODES + i) as u32);
                let ends = view.out().neighbors(*v).iter().map(|u| number[*u as usize]);
                lists.extend(ends.filter(|k| *k > own));
                let mut split = begun;
                for at in begun..lists.len() {
                    if lists[at] < core_from {
                        lists.swap(split, at);
                        split += 1;
                    }
                }
                lengths.push(lists.len() - begun);
            }
            (lengths, lists)
        };
        let parts: Vec<(Vec<usize>, Vec<u32>)> =
            node.par_chunks(NODES).enumerate().map(of_chunk).collect();
        let mut offsets = Vec::with_capacity(node.len() + 1);
        let mut later = Vec::with_capacity(parts.iter().map(|part| part.1.len()).sum());
        offsets.push(0);
        let mut end = 0;
        for (lengths, lists) in &parts {
            later.extend_from_slice(lists);
            offsets.extend(lengths.iter().map(|length| {
                end += length;
                end
            }));
        }
        Self { node, offsets, later }
    }

    pub(crate) fn list(&self, i: usize) -> &[u32] {
        &self.later[self.offsets[i]..self.offsets[i + 1]]
    }
}

/// The number of triangles that each node belongs to, in a view without copies and loops. Directions make no difference.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub fn run(view: &GraphView<'_>, cancel: &CancelToken) -> Result<Vec<u64>, AlgoError> {
    cancel.check()?;
    let graph = Oriented::new(view);
    let n = graph.node.len();
    let core = Core::new(&graph);
    let counts: Vec<AtomicU64> = (0..n).map(|_| AtomicU64::new(0)).collect();
    let chunks: Vec<usize> = (0..core.first()).step_by(NODES).collect();
    chunks.into_par_iter().try_for_each_init(
        || Corner::new(n),
        |corner, first| {
            cancel.check()?;
            for i in first..core.first().min(first + NODES) {
                corner.add(i, &graph, &core, &counts);
            }
            Ok::<(), AlgoError>(())
        },
    )?;
    for (i, count) in (core.first()..).zip(core.triangles(&graph, cancel)?) {
        counts[i].fetch_add(count, Relaxed);
    }
    let mut by_node = vec![0; n];
    for (v, count) in graph.node.iter().zip(counts) {
        by_node[*v as usize] = count.into_inner();
    }
    Ok(by_node)
}

/// The working memory of one thread for triangles by their first corner.
struct Corner {
    /// For each node its place among all lists, one more than that, in the list that it was marked in last.
    mark: Vec<u32>,
    /// Triangles of the nodes of the list.
    of_list: Vec<u64>,
    mask: Vec<u64>,
}

impl Corner {
    fn new(n: usize) -> Self {
        Self { mark: vec![0; n], of_list: Vec::new(), mask: Vec::new() }
    }

    /// Adds the triangles whose first corner is `i`, which is no node of the core.
    fn add(&mut self, i: usize, graph: &Oriented, core: &Core, counts: &[AtomicU64]) {
        let list = graph.list(i);
        if list.len() < 2 {
            return;
        }
        self.of_list.clear();
        self.of_list.resize(list.len(), 0);
        let others = list.partition_point(|k| (*k as usize) < core.first());
        let mut found = 0;
        if others > 0 {
            // Marks of other lists lie outside of this one's places, and so never have to be taken away.
            let (first, length) = (graph.offsets[i] as u32 + 1, list.len() as u32);
            list.iter().zip(first..).for_each(|(k, at)| self.mark[*k as usize] = at);
            for (k, at) in list[..others].iter().zip(0..) {
                // Lists lie anywhere: ask for the one to come.
                if let Some(next) = list.get(at as usize + 2) {
                    prefetch(&graph.later, graph.offsets[*next as usize]);
                }
                let mut of_k = 0;
                for last in graph.list(*k as usize) {
                    let place = self.mark[*last as usize].wrapping_sub(first);
                    if place < length {
                        of_k += 1;
                        self.of_list[place as usize] += 1;
                    }
                }
                self.of_list[at as usize] += of_k;
                found += of_k;
            }
        }
        found += core.pairs(&list[others..], &mut self.of_list[others..], &mut self.mask);
        if found > 0 {
            counts[i].fetch_add(found, Relaxed);
            let of_list = list.iter().zip(&self.of_list).filter(|(_, count)| **count > 0);
            of_list.for_each(|(k, count)| {
                counts[*k as usize].fetch_add(*count, Relaxed);
            });
        }
    }
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
    use graphlume_types::hash::h64;

    use super::*;
    use crate::testkit;

    fn naive(view: &GraphView<'_>) -> Vec<u64> {
        let near = |a: u32| view.out().neighbors(a);
        let mut counts = vec![0u64; view.num_nodes() as usize];
        for a in 0..view.num_nodes() {
            for b in near(a).iter().copied().filter(|b| *b > a) {
                let last = near(b).iter().filter(|c| **c > b && near(a).binary_search(c).is_ok());
                last.for_each(|c| [a, b, *c].iter().for_each(|v| counts[*v as usize] += 1));
            }
        }
        counts
    }

    fn counted(view: &GraphView<'_>) -> Vec<u64> {
        let cancel = CancelToken::new();
        let [one, two, three] = testkit::at_1_2_3_threads(|| run(view, &cancel).unwrap());
        assert!(one == two && one == three);
        one
    }

    #[test]
    fn counts_are_those_of_all_triples() {
        for (name, t) in testkit::zoo() {
            let view = GraphView::new(&t, None, SIMPLE).unwrap();
            assert_eq!(counted(&view), naive(&view), "{name}");
        }
    }

    #[test]
    fn triangles_within_the_core_at_its_edge_and_outside_are_counted() {
        // Four hundred nodes with a few or many neighbours in a dense part, a few of their own, and some beside.
        let (dense, n) = (2100, 2600);
        let mut edges = Vec::new();
        for a in 0..n {
            let tries = match a {
                a if a < dense => 30,
                a if a < 2500 && a % 2 == 0 => 4,
                a if a < 2500 => 60,
                _ => 0,
            };
            edges.extend(
                (0..tries).map(|i| (a, (h64(3, u64::from(a), i) % u64::from(dense)) as u32)),
            );
            edges.extend((1..=3 * u32::from(a >= dense)).map(|k| (a, (a + k) % n)));
        }
        let t = testkit::from_edges(n, &edges);
        let view = GraphView::new(&t, None, SIMPLE).unwrap();
        let graph = Oriented::new(&view);
        let core = Core::new(&graph);
        assert!(core.first() > 0 && core.first() < n as usize, "there is a core: {}", core.first());
        let found = counted(&view);
        assert_eq!(found, naive(&view));
        assert!(found[2500..].iter().any(|count| *count > 0));
    }
}
