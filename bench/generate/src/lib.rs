//! Deterministic benchmark graphs.
//!
//! All random numbers are counter based ([`graphlume_types::hash`]) and, except for the power laws of
//! `lfr`, integers, so that any implementation of the same recipe gives the same bytes.

mod ba;
mod grid;
mod karate;
mod lfr;
mod rmat;
mod sbm;
mod tree;

pub use ba::{BaSpec, ba};
pub use grid::grid;
pub use karate::karate;
pub use lfr::{LfrSpec, lfr};
pub use rmat::rmat;
pub use sbm::{SbmSpec, sbm};
pub use tree::tree;

use graphlume_types::hash::h64;

/// A directed edge list over nodes `0..num_nodes`, in generation order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EdgeList {
    /// Number of nodes; nodes without edges exist too.
    pub num_nodes: u32,
    /// Source of each edge.
    pub src: Vec<u32>,
    /// Destination of each edge.
    pub dst: Vec<u32>,
    /// The planted community of each node, for kinds that plant one.
    pub community: Option<Vec<u32>>,
}

impl EdgeList {
    /// Number of edges.
    #[must_use]
    pub fn num_edges(&self) -> usize {
        self.src.len()
    }
}

/// Why a generator refused its parameters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {name} = {value} is out of range, expected {expected}")]
pub struct SpecError {
    /// The generator.
    pub kind: &'static str,
    /// The parameter.
    pub name: &'static str,
    /// What was given.
    pub value: u64,
    /// What is accepted.
    pub expected: &'static str,
}

/// Checks one parameter.
pub(crate) fn in_range(
    kind: &'static str,
    name: &'static str,
    value: u64,
    range: std::ops::RangeInclusive<u64>,
    expected: &'static str,
) -> Result<(), SpecError> {
    if range.contains(&value) { Ok(()) } else { Err(SpecError { kind, name, value, expected }) }
}

/// Gives an undirected pair a direction by one hashed bit. Without it every edge would point from the
/// smaller to the larger id: a DAG, on which some PageRank solvers finish in two sweeps and look
/// faster than they are.
pub(crate) fn orient(a: u32, b: u32, n: u64, seed: u64) -> (u32, u32) {
    let (lo, hi) = (a.min(b), a.max(b));
    if h64(seed, 8, u64::from(lo) * n + u64::from(hi)) & 1 == 1 { (hi, lo) } else { (lo, hi) }
}

/// Orders `items` by a hash of each item's key, so that a file has no accidental locality.
pub(crate) fn shuffle_by_hash<T: Copy>(
    items: &[T],
    seed: u64,
    key: impl Fn(usize, T) -> u64,
) -> Vec<T> {
    let mut order: Vec<(u64, usize)> =
        items.iter().enumerate().map(|(i, t)| (h64(seed, 6, key(i, *t)), i)).collect();
    order.sort_unstable();
    order.into_iter().map(|(_, i)| items[i]).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};

    fn digest(g: &EdgeList) -> String {
        let mut h = Sha256::new();
        for column in [&g.src, &g.dst] {
            for v in column {
                h.update(v.to_le_bytes());
            }
        }
        graphlume_types::id::hex(&h.finalize()[..4])
    }

    #[test]
    fn graphs_are_the_published_bytes() {
        assert_eq!(digest(&karate()), "094cb75b");
        assert_eq!(digest(&rmat(16, 16, 1).unwrap()), "7609cc2a");
        assert_eq!(digest(&grid(100, 1).unwrap()), "c72215c1");
        assert_eq!(digest(&sbm(&SbmSpec::default()).unwrap()), "df88738e");
    }

    #[test]
    fn planted_communities_hold_most_edges_together() {
        let spec = LfrSpec { num_nodes: 5_000, ..LfrSpec::default() };
        let g = lfr(&spec).unwrap();
        let c = g.community.as_ref().unwrap();
        let inside =
            g.src.iter().zip(&g.dst).filter(|(s, d)| c[**s as usize] == c[**d as usize]).count();
        let share = inside as f64 / g.num_edges() as f64;
        assert!(
            (share - 0.7).abs() < 0.06,
            "mixing 0.3 was asked for, {share} of edges are inside"
        );
        assert!(g.num_edges() > 5_000 * 5, "average degree is near 15: {}", g.num_edges());
    }

    #[test]
    fn preferential_attachment_grows_hubs() {
        let g = ba(&BaSpec { num_nodes: 10_000, edges_per_node: 3, seed: 1 }).unwrap();
        let mut degree = vec![0u32; 10_000];
        for v in g.src.iter().chain(&g.dst) {
            degree[*v as usize] += 1;
        }
        assert!(*degree.iter().max().unwrap() > 100);
        assert!(degree.iter().all(|d| *d >= 3));
    }

    #[test]
    fn nonsense_parameters_are_named() {
        let err = rmat(40, 16, 1).unwrap_err();
        assert!(err.to_string().contains("scale = 40"), "{err}");
        assert!(grid(0, 1).is_err());
        assert!(tree(10, 3, 1).is_err());
    }
}
