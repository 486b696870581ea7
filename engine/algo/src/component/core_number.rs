//! Core numbers (Seidman 1983) by bucket peeling (Batagelj and Zaversnik 2003).

use graphlume_graph::Topology;
use graphlume_types::CancelToken;

use crate::buckets::Buckets;
use crate::spec::{AlgorithmSpec, Dtype, cugraph, ignored, output};
use crate::{AlgoError, Output};

/// The core number of every node in the undirected graph that `topology` spells. Loops do not count;
/// parallel and opposite edges count once each when `multi`, else together once.
///
/// # Errors
/// [`AlgoError::Cancelled`].
pub fn run(topology: &Topology, multi: bool, cancel: &CancelToken) -> Result<Vec<u32>, AlgoError> {
    let n = topology.num_nodes() as usize;
    cancel.check()?;
    let (offsets, ends) = neighbours(topology, multi);
    let degree: Vec<u32> = (0..n).map(|v| (offsets[v + 1] - offsets[v]) as u32).collect();
    let mut buckets = Buckets::new(degree);
    for i in 0..buckets.len() {
        if i % 65_536 == 0 {
            cancel.check()?;
        }
        let (v, core) = buckets.take(i);
        let list = offsets[v as usize]..offsets[v as usize + 1];
        ends[list].iter().for_each(|u| buckets.lower(*u, core));
    }
    Ok(buckets.into_numbers())
}

/// Undirected lists without loops.
fn neighbours(topology: &Topology, multi: bool) -> (Vec<usize>, Vec<u32>) {
    let n = topology.num_nodes();
    let mut offsets = Vec::with_capacity(n as usize + 1);
    let mut ends: Vec<u32> = Vec::with_capacity(2 * topology.num_edges() as usize);
    offsets.push(0);
    for v in 0..n {
        let start = ends.len();
        if multi {
            let both = topology.out_neighbors(v).iter().chain(topology.in_neighbors(v));
            ends.extend(both.filter(|u| **u != v));
        } else {
            merge_distinct(
                topology.out_neighbors(v),
                topology.in_neighbors(v),
                v,
                &mut ends,
                start,
            );
        }
        offsets.push(ends.len());
    }
    (offsets, ends)
}

/// Appends the distinct members of two sorted lists, without `skip`.
fn merge_distinct(a: &[u32], b: &[u32], skip: u32, out: &mut Vec<u32>, start: usize) {
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        let next = match (a.get(i), b.get(j)) {
            (Some(x), Some(y)) if x <= y => {
                i += 1;
                *x
            }
            (_, Some(y)) => {
                j += 1;
                *y
            }
            (Some(x), None) => {
                i += 1;
                *x
            }
            (None, None) => break,
        };
        if next != skip && out[start..].last() != Some(&next) {
            out.push(next);
        }
    }
}

/// cuGraph's `core_number`.
pub static CORE_NUMBER: AlgorithmSpec = AlgorithmSpec {
    id: "core_number",
    names: &[cugraph("core_number")],
    accepted: &[ignored("degree_type")],
    outputs: &[output("core_number", Dtype::Int, "largest k whose k-core holds the node")],
    doc: "Core numbers (Seidman 1983) of the undirected simple graph; loops do not count.",
    run: |input, _| Ok(Output::labels("core_number", &run(input.topology, false, input.cancel)?)),
    simple_only: true,
    paper: "Batagelj and Zaversnik 2003",
    ..AlgorithmSpec::BASE
};

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::testkit;

    /// Removes nodes of degree below k until none is left, for every k.
    fn naive(t: &Topology) -> Vec<u32> {
        let n = t.num_nodes() as usize;
        let mut sets = vec![BTreeSet::new(); n];
        for pos in 0..t.num_edges() {
            let (a, b, _) = t.edge(pos);
            if a != b {
                sets[a as usize].insert(b as usize);
                sets[b as usize].insert(a as usize);
            }
        }
        let mut core = vec![0; n];
        for k in 1..=n as u32 {
            let mut alive = vec![true; n];
            loop {
                let weak = (0..n).find(|v| {
                    alive[*v] && (sets[*v].iter().filter(|u| alive[**u]).count() as u32) < k
                });
                match weak {
                    Some(v) => alive[v] = false,
                    None => break,
                }
            }
            (0..n).filter(|v| alive[*v]).for_each(|v| core[v] = k);
        }
        core
    }

    #[test]
    fn core_numbers_are_those_of_the_definition() {
        for (name, t) in testkit::zoo() {
            assert_eq!(run(&t, false, &CancelToken::new()).unwrap(), naive(&t), "{name}");
        }
    }

    #[test]
    fn parallel_edges_count_when_asked() {
        let t = testkit::from_edges(3, &[(0, 1), (1, 0), (0, 1), (1, 2), (2, 2)]);
        assert_eq!(run(&t, true, &CancelToken::new()).unwrap(), [3, 3, 1]);
        assert_eq!(run(&t, false, &CancelToken::new()).unwrap(), [1, 1, 1]);
    }
}
