//! Weakly connected components by sampling and union-find (Sutton, Ben-Nun and Barak 2018, "Afforest").
//!
//! A few edges of every node join most of the graph into one component; only nodes outside it look at the
//! rest of their edges. Roots are hooked under smaller ones, so the root of a component is its least node
//! whatever order the threads run in.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use graphlume_graph::Topology;
use graphlume_types::CancelToken;
use graphlume_types::hash::h64;
use rayon::prelude::*;

use crate::spec::{AlgorithmSpec, Dtype, cugraph, only, output};
use crate::{AlgoError, Output};

/// Edges of every node that are looked at first.
const FIRST_EDGES: usize = 2;
/// Nodes that are asked for their component to find the largest.
const SAMPLES: u64 = 1024;
/// Nodes of one unit of parallel work.
const NODES_MIN: usize = 2048;

/// The component of every node, numbered by first appearance in node order.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub fn run(topology: &Topology, cancel: &CancelToken) -> Result<Vec<u32>, AlgoError> {
    let n = topology.num_nodes();
    let parents: Vec<AtomicU32> = (0..n).map(AtomicU32::new).collect();
    let each = |f: &(dyn Fn(u32) + Sync)| {
        (0..n).into_par_iter().with_min_len(NODES_MIN).for_each(f);
    };
    let both = |v: u32| topology.out_neighbors(v).iter().chain(topology.in_neighbors(v));
    for k in 0..FIRST_EDGES {
        cancel.check()?;
        each(&|v| {
            let outs = topology.out_neighbors(v);
            let ins = topology.in_neighbors(v);
            if let Some(u) = outs.get(k).or_else(|| ins.get(k.saturating_sub(outs.len()))) {
                join(&parents, v, *u);
            }
        });
        each(&|v| shorten(&parents, v));
    }
    cancel.check()?;
    let largest = commonest(&parents);
    each(&|v| {
        // Members of the largest may keep still: an edge that leaves it is seen from its other end.
        if parents[v as usize].load(Relaxed) != largest {
            both(v).for_each(|u| join(&parents, v, *u));
        }
    });
    cancel.check()?;
    each(&|v| shorten(&parents, v));
    let mut labels: Vec<u32> = parents.into_iter().map(AtomicU32::into_inner).collect();
    let mut next = 0;
    for v in 0..labels.len() {
        let root = labels[v] as usize;
        // A root is the least of its component, so it comes first and already has its number.
        labels[v] = if root == v { next } else { labels[root] };
        next += u32::from(root == v);
    }
    Ok(labels)
}

/// Joins the trees of `a` and `b`; any number of threads may do so at once.
fn join(parents: &[AtomicU32], a: u32, b: u32) {
    let above = |v: u32| parents[v as usize].load(Relaxed);
    let (mut a, mut b) = (above(a), above(b));
    while a != b {
        let (low, high) = (a.min(b), a.max(b));
        let over = above(high);
        if over == low {
            return;
        }
        let hook = &parents[high as usize];
        if over == high && hook.compare_exchange(high, low, Relaxed, Relaxed).is_ok() {
            return;
        }
        (a, b) = (above(above(high)), above(low));
    }
}

/// Makes the root of `v` its parent.
fn shorten(parents: &[AtomicU32], v: u32) {
    let above = |v: u32| parents[v as usize].load(Relaxed);
    let mut root = above(v);
    while root != above(root) {
        root = above(root);
    }
    parents[v as usize].store(root, Relaxed);
}

/// The most frequent parent of a sample of nodes.
fn commonest(parents: &[AtomicU32]) -> u32 {
    let n = parents.len() as u64;
    if n == 0 {
        return 0;
    }
    let pick = |i| parents[(h64(0, 80, i) % n) as usize].load(Relaxed);
    let mut sample: Vec<u32> = (0..SAMPLES.min(n)).map(pick).collect();
    sample.sort_unstable();
    let runs = sample.chunk_by(|a, b| a == b);
    runs.max_by_key(|run| run.len()).map_or(0, |run| run[0])
}

/// cuGraph's `weakly_connected_components`.
pub static WEAK: AlgorithmSpec = AlgorithmSpec {
    id: "weakly_connected_components",
    names: &[cugraph("weakly_connected_components")],
    accepted: &[only("connection", r#"["weak"]"#)],
    outputs: &[output(
        "weakly_connected_components",
        Dtype::Int,
        "component, numbered from 0 by first appearance",
    )],
    doc: "Weakly connected components: nodes joined by edges in either direction.",
    run: |input, _| {
        Ok(Output::labels("weakly_connected_components", &run(input.topology, input.cancel)?))
    },
    paper: "Sutton, Ben-Nun and Barak 2018",
    ..AlgorithmSpec::BASE
};

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::testkit;
    use crate::weighted_graph::renumber;

    /// Spreads the least label along edges until nothing changes.
    fn naive(t: &Topology) -> Vec<u32> {
        let mut labels: Vec<u32> = (0..t.num_nodes()).collect();
        loop {
            let before = labels.clone();
            for pos in 0..t.num_edges() {
                let (a, b, _) = t.edge(pos);
                let least = labels[a as usize].min(labels[b as usize]);
                (labels[a as usize], labels[b as usize]) = (least, least);
            }
            if labels == before {
                renumber(&mut labels, t.num_nodes() as usize);
                return labels;
            }
        }
    }

    #[test]
    fn components_are_those_of_label_spreading() {
        for (name, t) in testkit::zoo() {
            assert_eq!(run(&t, &CancelToken::new()).unwrap(), naive(&t), "{name}");
        }
        let sparse = testkit::planted(400, 1, 0.002, 0.0);
        let labels = run(&sparse, &CancelToken::new()).unwrap();
        assert_eq!(labels, naive(&sparse));
        assert!(labels.iter().max().unwrap() > &5, "the graph should have several parts");
    }

    #[test]
    fn the_bits_do_not_depend_on_threads() {
        // Parts of every size, whose least nodes are spread over the whole range.
        let n = 60_000u64;
        let end = |stream, i| (h64(9, stream, i) % n) as u32;
        let edges: Vec<(u32, u32)> = (0..n / 2).map(|i| (end(0, i), end(1, i))).collect();
        let t = testkit::from_edges(n as u32, &edges);
        let [a, b, c] = testkit::at_1_2_3_threads(|| run(&t, &CancelToken::new()).unwrap());
        assert!(a == b && b == c);
        assert_eq!(a, naive(&t));
    }
}
