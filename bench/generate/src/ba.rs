//! Preferential attachment (Barabási and Albert, Science 286, 1999).

use graphlume_types::hash::h64;

use crate::{EdgeList, SpecError, in_range};

/// Parameters of [`ba`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaSpec {
    /// Number of nodes.
    pub num_nodes: u32,
    /// Edges that each new node brings.
    pub edges_per_node: u32,
    /// Seed.
    pub seed: u64,
}

/// Each new node joins `edges_per_node` different earlier ones, chosen in proportion to their degree.
///
/// # Errors
/// A parameter is out of range.
#[expect(clippy::cast_possible_truncation, reason = "values are reduced modulo a list length")]
pub fn ba(spec: &BaSpec) -> Result<EdgeList, SpecError> {
    in_range("ba", "edges_per_node", u64::from(spec.edges_per_node), 1..=1_000, "1 to 1000")?;
    in_range(
        "ba",
        "nodes",
        u64::from(spec.num_nodes),
        u64::from(spec.edges_per_node) + 1..=1 << 30,
        "more than edges_per_node",
    )?;
    let k = spec.edges_per_node as usize;
    // Every end of every edge once: a uniform pick from it is a pick in proportion to degree.
    let mut ends: Vec<u32> = Vec::with_capacity(2 * k * spec.num_nodes as usize);
    let (mut src, mut dst) = (Vec::new(), Vec::new());
    let mut chosen = Vec::with_capacity(k);
    for v in spec.edges_per_node..spec.num_nodes {
        chosen.clear();
        let mut draw = 0u64;
        while chosen.len() < k {
            let r = h64(spec.seed, 11, (u64::from(v) << 24) + draw);
            draw += 1;
            let target = if ends.is_empty() {
                chosen.len() as u32
            } else {
                ends[(r % ends.len() as u64) as usize]
            };
            if !chosen.contains(&target) {
                chosen.push(target);
            }
        }
        for t in &chosen {
            src.push(v);
            dst.push(*t);
            ends.extend([v, *t]);
        }
    }
    Ok(EdgeList { num_nodes: spec.num_nodes, src, dst, community: None })
}
