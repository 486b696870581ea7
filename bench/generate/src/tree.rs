//! A sparse "session" graph: a random recursive tree plus short-range extra edges.

use graphlume_types::hash::h64;

use crate::{EdgeList, SpecError, in_range, orient};

/// Node `v > 0` hangs on a hashed earlier node; `num_edges - (num_nodes - 1)` further edges join
/// nodes at most 64 ids apart.
///
/// # Errors
/// A parameter is out of range, or fewer edges than a tree needs are asked for.
#[expect(clippy::cast_possible_truncation, reason = "values are reduced modulo num_nodes")]
pub fn tree(num_nodes: u32, num_edges: u64, seed: u64) -> Result<EdgeList, SpecError> {
    in_range("tree", "nodes", u64::from(num_nodes), 1..=1 << 30, "1 to 2^30")?;
    let n = u64::from(num_nodes);
    in_range(
        "tree",
        "edges",
        num_edges,
        n - 1..=graphlume_types::limits::EDGES_MAX,
        "at least nodes - 1",
    )?;
    let trunk = (1..n).map(|v| (v as u32, (h64(seed, 7, v) % v) as u32));
    let extra = (0..num_edges - (n - 1)).map(|e| {
        let a = h64(seed, 8, e) % n;
        let b = (a + 1 + h64(seed, 9, e) % 64) % n;
        (a as u32, b as u32)
    });
    let (src, dst) = trunk.chain(extra).map(|(a, b)| orient(a, b, n, seed)).unzip();
    Ok(EdgeList { num_nodes, src, dst, community: None })
}
