//! Strongly connected components (Tarjan 1972) in one depth-first pass with an explicit stack (Pearce 2016), and the
//! names of libraries that choose between weak and strong.

use graphlume_graph::Topology;
use graphlume_types::CancelToken;

use super::weak;
use crate::spec::{AlgorithmSpec, Dtype, cugraph, extra, ignored, igraph, only, output, param};
use crate::{AlgoError, Output};

/// Nodes entered between two looks at the cancel token.
const NODES_PER_CHECK: u32 = 1 << 14;
const UNSEEN: u32 = u32::MAX;

/// The component of every node, numbered by first appearance in node order.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub fn run(topology: &Topology, cancel: &CancelToken) -> Result<Vec<u32>, AlgoError> {
    Ok(first_appearance(&search(topology, cancel)?.low))
}

/// The same, numbered as igraph does: a component that edges lead to comes after that from which they come, and the
/// first of all is the one that a depth-first search in node order finishes last.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub fn in_order_of_edges(topology: &Topology, cancel: &CancelToken) -> Result<Vec<u32>, AlgoError> {
    let Search { low: mut labels, roots, .. } = search(topology, cancel)?;
    let mut numbers = vec![0; labels.len()];
    roots.iter().rev().zip(0..).for_each(|(root, number)| numbers[*root as usize] = number);
    labels.iter_mut().for_each(|root| *root = numbers[*root as usize]);
    Ok(labels)
}

/// A finished search: each node has the root of its component.
fn search(topology: &Topology, cancel: &CancelToken) -> Result<Search, AlgoError> {
    let n = topology.num_nodes();
    cancel.check()?;
    let mut search = Search {
        // Until its component is closed the least order number that a node reaches, then the root's node number.
        low: vec![UNSEEN; n as usize],
        closed: vec![false; n as usize],
        open: Vec::new(),
        calls: Vec::new(),
        roots: Vec::new(),
        next: 0,
    };
    for root in 0..n {
        if search.low[root as usize] == UNSEEN {
            search.from(topology, root, cancel)?;
        }
    }
    Ok(search)
}

struct Search {
    low: Vec<u32>,
    closed: Vec<bool>,
    /// Nodes whose component is not known yet, in the order in which they were finished.
    open: Vec<u32>,
    /// Nodes being visited: node, next arc, own order number.
    calls: Vec<(u32, u32, u32)>,
    /// The nodes by which components were entered, in the order in which these were closed.
    roots: Vec<u32>,
    next: u32,
}

impl Search {
    fn from(&mut self, t: &Topology, root: u32, cancel: &CancelToken) -> Result<(), AlgoError> {
        let (offsets, dst) = (t.out_offsets(), t.out_dst());
        self.enter(t, root);
        while let Some((v, at, number)) = self.calls.last_mut() {
            let (v, number) = (*v, *number);
            if *at < offsets[v as usize + 1] {
                let to = dst[*at as usize];
                *at += 1;
                if self.low[to as usize] == UNSEEN {
                    if self.next.is_multiple_of(NODES_PER_CHECK) {
                        cancel.check()?;
                    }
                    self.enter(t, to);
                } else if !self.closed[to as usize] {
                    self.low[v as usize] = self.low[v as usize].min(self.low[to as usize]);
                }
                continue;
            }
            self.calls.pop();
            let low = self.low[v as usize];
            if low == number {
                self.close(v, number);
            } else {
                self.open.push(v);
            }
            if let Some((parent, ..)) = self.calls.last()
                && !self.closed[v as usize]
            {
                let parent = *parent as usize;
                self.low[parent] = self.low[parent].min(low);
            }
        }
        Ok(())
    }

    fn enter(&mut self, t: &Topology, v: u32) {
        self.low[v as usize] = self.next;
        self.calls.push((v, t.out_offsets()[v as usize], self.next));
        self.next += 1;
    }

    /// The component of `root`: what was left open since it was entered.
    fn close(&mut self, root: u32, number: u32) {
        while let Some(w) = self.open.last().copied() {
            if self.low[w as usize] < number {
                break;
            }
            self.open.pop();
            self.low[w as usize] = root;
            self.closed[w as usize] = true;
        }
        self.low[root as usize] = root;
        self.closed[root as usize] = true;
        self.roots.push(root);
    }
}

/// Labels renumbered from 0 by first appearance; each is below the number of labels.
pub(crate) fn first_appearance(labels: &[u32]) -> Vec<u32> {
    let mut numbers = vec![UNSEEN; labels.len()];
    let mut next = 0;
    let mut number = |label: &u32| {
        let number = &mut numbers[*label as usize];
        if *number == UNSEEN {
            *number = next;
            next += 1;
        }
        *number
    };
    labels.iter().map(&mut number).collect()
}

const COMPONENT: &str = "component, numbered from 0 by first appearance";

/// cuGraph's `connected_components`.
pub static CONNECTED: AlgorithmSpec = AlgorithmSpec {
    id: "connected_components",
    names: &[cugraph("connected_components")],
    params: &[param(
        "connection",
        Dtype::Choice(&["weak", "strong"]),
        "\"weak\"",
        None,
        "weak: edges lead either way; strong: there and back along edges",
    )],
    accepted: &[ignored("directed"), only("return_labels", "[true]")],
    outputs: &[output("connected_components", Dtype::Int, COMPONENT)],
    doc: "Connected components: nodes that are joined by paths.",
    paper: "Sutton, Ben-Nun and Barak 2018; Tarjan 1972",
    run: |input, p| {
        let strong = p.text("connection").as_deref() == Some("strong");
        let run = if strong { run } else { weak::run };
        Ok(Output::labels("connected_components", &run(input.topology, input.cancel)?))
    },
    ..AlgorithmSpec::BASE
};

/// cuGraph's `strongly_connected_components`.
pub static STRONG: AlgorithmSpec = AlgorithmSpec {
    id: "strongly_connected_components",
    names: &[cugraph("strongly_connected_components")],
    params: &[crate::spec::DIRECTED],
    accepted: &[only("connection", r#"["strong"]"#)],
    outputs: &[output("strongly_connected_components", Dtype::Int, COMPONENT)],
    doc: "Strongly connected components: nodes that reach each other along edges.",
    paper: "Tarjan 1972",
    run: |input, p| {
        // Where edges lead either way, all that is joined is joined there and back.
        let run = if p.bool("directed") { run } else { weak::run };
        let labels = run(input.topology, input.cancel)?;
        Ok(Output::labels("strongly_connected_components", &labels))
    },
    ..AlgorithmSpec::BASE
};

/// igraph's `clusters`.
pub static CLUSTERS: AlgorithmSpec = AlgorithmSpec {
    id: "clusters",
    names: &[igraph("clusters"), extra("igraph", "connected_components")],
    params: &[
        param(
            "mode",
            Dtype::Choice(&["strong", "weak"]),
            "\"strong\"",
            None,
            "strong: there and back along edges; weak: edges lead either way",
        ),
        crate::spec::DIRECTED,
    ],
    outputs: &[output(
        "clusters",
        Dtype::Int,
        "component, numbered from 0 as igraph does: weak ones by first appearance, strong ones so that edges lead from \
         lower to higher numbers",
    )],
    doc: "Connected components; in a graph that is treated as undirected strong and weak are the same.",
    paper: "Tarjan 1972; Sutton, Ben-Nun and Barak 2018",
    run: |input, p| {
        let strong = p.text("mode").as_deref() == Some("strong") && p.bool("directed");
        let run = if strong { in_order_of_edges } else { weak::run };
        Ok(Output::labels("clusters", &run(input.topology, input.cancel)?))
    },
    ..AlgorithmSpec::BASE
};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use graphlume_types::hash::h64;

    use super::*;
    use crate::testkit::{self, from_edges};

    fn found(t: &Topology) -> Vec<u32> {
        run(t, &CancelToken::new()).unwrap()
    }

    #[test]
    fn components_are_numbered_by_first_appearance() {
        let t = from_edges(7, &[(1, 2), (2, 3), (3, 1), (3, 4), (4, 5), (5, 4), (6, 6)]);
        assert_eq!(found(&t), [0, 1, 1, 1, 2, 2, 3]);
        assert_eq!(found(&testkit::path(4)), [0, 1, 2, 3]);
        assert_eq!(found(&from_edges(0, &[])), [0u32; 0]);
    }

    /// Nodes belong together when each reaches the other.
    #[test]
    fn random_graphs_agree_with_reachability() {
        for seed in 0..60 {
            let n = 2 + (h64(seed, 9, 0) % 14) as u32;
            let m = h64(seed, 9, 1) % 40;
            let end = |k| (h64(seed, k, 7) % u64::from(n)) as u32;
            let edges: Vec<_> = (0..m).map(|e| (end(2 * e + 10), end(2 * e + 11))).collect();
            let t = from_edges(n, &edges);
            let labels = found(&t);
            let mut reach: Vec<u32> = (0..n).map(|v| 1 << v).collect();
            for _ in 0..n {
                for v in 0..n {
                    for u in t.out_neighbors(v) {
                        reach[v as usize] |= reach[*u as usize];
                    }
                }
            }
            for a in 0..n as usize {
                for b in 0..n as usize {
                    let both = reach[a] >> b & 1 == 1 && reach[b] >> a & 1 == 1;
                    assert_eq!(labels[a] == labels[b], both, "seed {seed}: {a} {b} {edges:?}");
                }
            }
        }
    }

    /// What python-igraph 1.0 gives for `connected_components(mode="strong").membership`.
    #[test]
    fn igraph_numbers_components_along_edges() {
        let numbered = |n, edges: &[(u32, u32)]| {
            in_order_of_edges(&from_edges(n, edges), &CancelToken::new()).unwrap()
        };
        let edges = [(1, 2), (2, 3), (3, 1), (3, 4), (4, 5), (5, 4), (6, 6)];
        assert_eq!(numbered(7, &edges), [3, 1, 1, 1, 2, 2, 0]);
        assert_eq!(numbered(7, &[(5, 6), (2, 6), (0, 4)]), [5, 4, 2, 1, 6, 0, 3]);
        assert_eq!(numbered(4, &[(0, 1), (1, 2), (2, 3)]), [0, 1, 2, 3]);
        assert_eq!(numbered(0, &[]), [0u32; 0]);
    }

    #[test]
    fn a_long_path_needs_no_deep_stack() {
        let n = 300_000;
        let t = testkit::path(n);
        assert_eq!(found(&t).last(), Some(&(n - 1)));
    }
}
