//! Weakly connected components, by union-find with path halving (Tarjan and van Leeuwen 1984).

use graphlume_graph::Topology;
use graphlume_types::CancelToken;

use crate::AlgoError;
use crate::net::renumber;

/// The component of every node, numbered by first appearance in node order.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub fn run(topology: &Topology, cancel: &CancelToken) -> Result<Vec<u32>, AlgoError> {
    let n = topology.num_nodes();
    let mut parent: Vec<u32> = (0..n).collect();
    for v in 0..n {
        if v % 65_536 == 0 {
            cancel.check()?;
        }
        let mut a = find(&mut parent, v);
        for u in topology.out_neighbors(v) {
            let b = find(&mut parent, *u);
            // The smaller index becomes the root, so that the result depends on the graph alone.
            let (low, high) = if a < b { (a, b) } else { (b, a) };
            parent[high as usize] = low;
            a = low;
        }
    }
    let mut labels: Vec<u32> = (0..n).map(|v| find(&mut parent, v)).collect();
    renumber(&mut labels, n as usize);
    Ok(labels)
}

fn find(parent: &mut [u32], v: u32) -> u32 {
    let mut v = v;
    while parent[v as usize] != v {
        let above = parent[parent[v as usize] as usize];
        parent[v as usize] = above;
        v = above;
    }
    v
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::testkit;

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
}
