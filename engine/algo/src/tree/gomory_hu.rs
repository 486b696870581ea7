//! Trees of minimum cuts between all pairs (Gomory and Hu 1961) by Gusfield's method (1990): one maximum flow for each
//! node but the first, by level graphs (Dinic 1970).
//!
//! The tree is equivalent in flow: the least value on the path between two nodes is that of their minimum cut.

use graphlume_types::CancelToken;
use rayon::prelude::*;

use crate::input::Sign;
use crate::spec::{AlgorithmSpec, Cost, Dtype, Gives, ignored, igraph, only, output, param};
use crate::view::GraphView;
use crate::{AlgoError, Column, Output, Subgraph, Values};

/// Nodes and edges of a graph at most: each node costs a maximum flow.
pub const NODES_MAX: u64 = 10_000;
/// See [`NODES_MAX`].
pub const EDGES_MAX: u64 = 100_000;
/// Flows that are computed at the same time. A flow whose ends have changed meanwhile is computed again.
const BATCH: usize = 32;
/// Nodes taken from a queue between two looks at the cancel token.
const NODES_PER_CHECK: usize = 1 << 14;

/// Gusfield's tree: for each node the one that it hangs on, and the value of the cut between the two. The first node
/// hangs on nothing, with a value of 0.
#[derive(Clone, Debug, PartialEq)]
pub struct CutTree {
    /// The node that each hangs on; 0 for the first.
    pub parent: Vec<u32>,
    /// The minimum cut between a node and its parent.
    pub flow: Vec<f64>,
}

/// The tree of an undirected view, whose weights are capacities.
///
/// # Errors
/// [`AlgoError::TooLarge`], [`AlgoError::Cancelled`].
pub fn run(view: &GraphView<'_>, cancel: &CancelToken) -> Result<CutTree, AlgoError> {
    let n = view.num_nodes();
    for (what, size, limit) in
        [("nodes", u64::from(n), NODES_MAX), ("edges", view.num_arcs() as u64 / 2, EDGES_MAX)]
    {
        if size > limit {
            return Err(AlgoError::TooLarge {
                algorithm: "gomory_hu_tree",
                what,
                size,
                limit,
                instead: "cut the graph to a k_core or a component first",
            });
        }
    }
    let network = Network::new(view);
    let (mut parent, mut flow) = (vec![0u32; n as usize], vec![0f64; n as usize]);
    let mut from = 1u32;
    while from < n {
        cancel.check()?;
        let batch: Vec<u32> = (from..n.min(from + BATCH as u32)).collect();
        let against: Vec<u32> = batch.iter().map(|v| parent[*v as usize]).collect();
        let cuts: Vec<Cut> = batch
            .par_iter()
            .zip(&against)
            .map_init(|| Flow::new(&network), |work, (v, to)| work.cut(*v, *to, cancel))
            .collect::<Result<_, _>>()?;
        // Applied in node order, so that the tree does not depend on who computed first.
        let mut done = 0;
        for (v, (to, cut)) in batch.iter().zip(against.iter().zip(&cuts)) {
            if parent[*v as usize] != *to {
                break;
            }
            flow[*v as usize] = cut.value;
            for u in *v + 1..n {
                if parent[u as usize] == *to && cut.is_on_side(u) {
                    parent[u as usize] = *v;
                }
            }
            done += 1;
        }
        from += done;
    }
    Ok(CutTree { parent, flow })
}

/// Arcs in pairs: those of one edge lie at `twin` of each other.
struct Network {
    offsets: Vec<u32>,
    to: Vec<u32>,
    twin: Vec<u32>,
    capacity: Vec<f64>,
    strength: Vec<f64>,
}

impl Network {
    /// The edges of an undirected view without loops, copies as one.
    fn new(view: &GraphView<'_>) -> Self {
        let n = view.num_nodes();
        let (mut offsets, mut to, mut capacity) = (vec![0u32], Vec::new(), Vec::new());
        for v in 0..n {
            let start = to.len();
            for (u, w) in view.out().weighted(v).filter(|(u, _)| *u != v) {
                if to.len() > start && to.last() == Some(&u) {
                    if let Some(last) = capacity.last_mut() {
                        *last += w;
                    }
                } else {
                    to.push(u);
                    capacity.push(w);
                }
            }
            offsets.push(to.len() as u32);
        }
        let range = |v: u32| offsets[v as usize] as usize..offsets[v as usize + 1] as usize;
        let mut twin = vec![0u32; to.len()];
        for v in 0..n {
            for at in range(v) {
                let back = range(to[at]);
                let place = to[back.clone()].partition_point(|u| *u < v);
                twin[at] = (back.start + place) as u32;
            }
        }
        let strength = (0..n).map(|v| capacity[range(v)].iter().sum()).collect();
        Self { offsets, to, twin, capacity, strength }
    }

    fn range(&self, v: u32) -> std::ops::Range<usize> {
        self.offsets[v as usize] as usize..self.offsets[v as usize + 1] as usize
    }
}

/// A minimum cut between two nodes.
enum Side {
    /// The side of the first node, as a bit each node.
    Of(Vec<u64>),
    /// The first node alone.
    Alone,
    /// All nodes but the second.
    AllBut(u32),
}

struct Cut {
    value: f64,
    side: Side,
}

impl Cut {
    fn is_on_side(&self, v: u32) -> bool {
        match &self.side {
            Side::Of(bits) => bits[v as usize / 64] >> (v % 64) & 1 == 1,
            Side::Alone => false,
            Side::AllBut(other) => v != *other,
        }
    }
}

/// The working memory of one flow.
struct Flow<'a> {
    network: &'a Network,
    residual: Vec<f64>,
    /// Arcs whose residual differs from their capacity.
    touched: Vec<u32>,
    level: Vec<u32>,
    next: Vec<u32>,
    queue: Vec<u32>,
}

const FAR: u32 = u32::MAX;

impl<'a> Flow<'a> {
    fn new(network: &'a Network) -> Self {
        let n = network.strength.len();
        Self {
            network,
            residual: network.capacity.clone(),
            touched: Vec::new(),
            level: vec![FAR; n],
            next: vec![0; n],
            queue: Vec::new(),
        }
    }

    /// The minimum cut between `source` and `sink`.
    fn cut(&mut self, source: u32, sink: u32, cancel: &CancelToken) -> Result<Cut, AlgoError> {
        for at in self.touched.drain(..) {
            self.residual[at as usize] = self.network.capacity[at as usize];
        }
        let strength = |v: u32| self.network.strength[v as usize];
        let (own, other) = (strength(source), strength(sink));
        let mut value = 0.0;
        // A flow that uses up all that one end has is the largest; what cuts that end off is a minimum cut.
        let enough = own.min(other);
        while value < enough && self.levels(source, sink, cancel)? {
            value += self.block(source, sink, enough - value, cancel)?;
        }
        let side = if value >= own {
            Side::Alone
        } else if value >= other {
            Side::AllBut(sink)
        } else {
            // The last search did not reach the sink: what it reached is the side of the source.
            let mut bits = vec![0u64; self.level.len().div_ceil(64)];
            self.queue.iter().for_each(|v| bits[*v as usize / 64] |= 1 << (v % 64));
            Side::Of(bits)
        };
        Ok(Cut { value, side })
    }

    /// Levels of the nodes that the source reaches; whether the sink is among them.
    fn levels(&mut self, source: u32, sink: u32, cancel: &CancelToken) -> Result<bool, AlgoError> {
        for v in self.queue.drain(..) {
            self.level[v as usize] = FAR;
        }
        self.level[source as usize] = 0;
        self.queue.push(source);
        let mut head = 0;
        while head < self.queue.len() {
            if head % NODES_PER_CHECK == 0 {
                cancel.check()?;
            }
            let v = self.queue[head];
            head += 1;
            self.next[v as usize] = self.network.offsets[v as usize];
            for at in self.network.range(v) {
                let u = self.network.to[at];
                if self.level[u as usize] == FAR && self.residual[at] > 0.0 {
                    self.level[u as usize] = self.level[v as usize] + 1;
                    self.queue.push(u);
                    if u == sink {
                        // Nodes that were not looked at are on no shortest way.
                        for w in &self.queue[head..] {
                            self.next[*w as usize] = self.network.offsets[*w as usize + 1];
                        }
                        return Ok(true);
                    }
                }
            }
        }
        Ok(false)
    }

    /// A blocking flow along the levels, of `limit` at most.
    fn block(
        &mut self,
        source: u32,
        sink: u32,
        limit: f64,
        cancel: &CancelToken,
    ) -> Result<f64, AlgoError> {
        let (mut total, mut path) = (0.0, Vec::<u32>::new());
        let mut steps = 0usize;
        loop {
            let v = path.last().map_or(source, |at| self.network.to[*at as usize]);
            steps += 1;
            if steps.is_multiple_of(NODES_PER_CHECK) {
                cancel.check()?;
            }
            if v == sink {
                let least = |a: f64, at: &u32| a.min(self.residual[*at as usize]);
                let pushed = path.iter().fold(limit - total, least);
                for at in &path {
                    let back = self.network.twin[*at as usize];
                    self.residual[*at as usize] -= pushed;
                    self.residual[back as usize] += pushed;
                    self.touched.extend([*at, back]);
                }
                total += pushed;
                if total >= limit {
                    return Ok(total);
                }
                // Back to the first arc that is used up.
                let used = path.iter().position(|at| self.residual[*at as usize] <= 0.0);
                path.truncate(used.unwrap_or(0));
                continue;
            }
            let end = self.network.offsets[v as usize + 1];
            let level = self.level[v as usize];
            let mut at = self.next[v as usize];
            while at < end {
                let ahead = self.level[self.network.to[at as usize] as usize] == level + 1;
                if ahead && self.residual[at as usize] > 0.0 {
                    break;
                }
                at += 1;
            }
            self.next[v as usize] = at;
            if at < end {
                path.push(at);
            } else if let Some(last) = path.pop() {
                // A dead end: the arc that led here is passed.
                let before = path.last().map_or(source, |at| self.network.to[*at as usize]);
                self.next[before as usize] = last + 1;
            } else {
                return Ok(total);
            }
        }
    }
}

/// igraph's `gomory_hu_tree`.
pub static GOMORY_HU: AlgorithmSpec = AlgorithmSpec {
    id: "gomory_hu_tree",
    names: &[igraph("gomory_hu_tree")],
    params: &[param("capacity", Dtype::EdgeColumn, "null", None, "edge column; null is 1 each")],
    accepted: &[only("flow", r#"["flow"]"#), ignored("directed")],
    gives: Gives::Graph,
    outputs: &[
        output("parent", Dtype::Node, "node that it hangs on in the tree; -1 for the first"),
        output("flow", Dtype::Float, "value of the minimum cut between the two"),
    ],
    doc: "A tree over all nodes: the least flow on the path between two of them is their minimum cut.",
    paper: "Gomory and Hu 1961; Gusfield 1990",
    cost: Cost::Quadratic,
    run: |input, p| {
        let capacity = input.weights(p, Sign::NotNegative)?;
        let view = input.view(false, capacity.as_deref())?;
        let tree = run(&view, input.cancel)?;
        let n = input.num_nodes();
        let flow = |from: usize| tree.flow.get(from..).unwrap_or_default().to_vec();
        let parents = tree.parent.get(1..).unwrap_or_default();
        let first = if n > 0 { Some(Some(graphlume_graph::NO_NODE)) } else { None };
        let above = first.into_iter().chain(parents.iter().map(|v| Some(*v))).collect();
        let columns = vec![
            Column { name: "parent", values: Values::Nodes(above) },
            Column { name: "flow", values: Values::F64(flow(0)) },
        ];
        let graph = Subgraph::Made {
            src: (1..n).collect(),
            dst: parents.to_vec(),
            columns: vec![Column { name: "flow", values: Values::F64(flow(1)) }],
        };
        Ok(Output { graph: Some(graph), ..Output::nodes(columns) })
    },
    ..AlgorithmSpec::BASE
};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use graphlume_types::hash::h64;

    use super::*;
    use crate::testkit;
    use crate::view::{Copies, Loops, Shape};

    const SHAPE: Shape = Shape { directed: false, copies: Copies::Keep, loops: Loops::Twice };

    /// The least flow on the way between two nodes of the tree.
    fn between(tree: &CutTree, mut a: u32, mut b: u32) -> f64 {
        let depth = |mut v: u32| {
            let mut d = 0;
            while v != 0 {
                (v, d) = (tree.parent[v as usize], d + 1);
            }
            d
        };
        let mut least = f64::INFINITY;
        while a != b {
            let up = if depth(a) >= depth(b) { &mut a } else { &mut b };
            least = least.min(tree.flow[*up as usize]);
            *up = tree.parent[*up as usize];
        }
        least
    }

    /// All cuts of small graphs, one by one.
    #[test]
    fn the_least_flow_on_a_path_is_the_minimum_cut() {
        for seed in 0..40 {
            let n = 2 + (h64(seed, 9, 0) % 7) as u32;
            let end = |k| (h64(seed, k, 7) % u64::from(n)) as u32;
            let edges: Vec<_> =
                (0..h64(seed, 9, 1) % 16).map(|e| (end(2 * e + 10), end(2 * e + 11))).collect();
            let weights: Vec<f64> =
                (0..edges.len() as u64).map(|e| (h64(seed, e, 3) % 5) as f64).collect();
            let t = testkit::from_edges(n, &edges);
            let view = GraphView::new(&t, Some(&weights), SHAPE).unwrap();
            let tree = run(&view, &CancelToken::new()).unwrap();
            for a in 0..n {
                for b in a + 1..n {
                    let cut = |side: u32| -> f64 {
                        let apart = |(x, y): &(u32, u32)| (side >> x ^ side >> y) & 1 == 1;
                        let crossing = edges.iter().zip(&weights).filter(|(e, _)| apart(e));
                        crossing.map(|(_, w)| w).sum()
                    };
                    let sides = (0..1u32 << n).filter(|s| s >> a & 1 == 1 && s >> b & 1 == 0);
                    let expected = sides.map(cut).fold(f64::INFINITY, f64::min);
                    assert_eq!(between(&tree, a, b), expected, "seed {seed}: {a} {b} {edges:?}");
                }
            }
        }
    }

    #[test]
    fn threads_make_no_difference_and_size_is_refused() {
        let t = testkit::planted(300, 5, 0.2, 0.01);
        let view = GraphView::new(&t, None, SHAPE).unwrap();
        let cancel = CancelToken::new();
        let [one, two, three] = testkit::at_1_2_3_threads(|| run(&view, &cancel).unwrap());
        assert!(one == two && one == three);
        let large = testkit::from_edges(10_001, &[]);
        let view = GraphView::new(&large, None, SHAPE).unwrap();
        let e = run(&view, &cancel).unwrap_err();
        assert!(e.to_string().contains("at most 10000 nodes"), "{e}");
    }
}
