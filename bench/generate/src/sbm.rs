//! A degree-corrected planted partition (Karrer and Newman, Phys. Rev. E 83, 2011).

use graphlume_types::hash::h64;
use rayon::prelude::*;

use crate::{EdgeList, SpecError, in_range, orient, shuffle_by_hash};

/// Parameters of [`sbm`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SbmSpec {
    /// Number of nodes.
    pub num_nodes: u32,
    /// Edges drawn; loops and duplicates are dropped, so slightly fewer remain.
    pub num_edges: u64,
    /// Number of communities; their sizes fall off like `1 / (rank + 20)`.
    pub communities: u32,
    /// Share of edges, in percent, whose destination is drawn from all nodes.
    pub mixing_percent: u32,
    /// Seed.
    pub seed: u64,
}

impl Default for SbmSpec {
    fn default() -> Self {
        Self {
            num_nodes: 100_000,
            num_edges: 1_000_000,
            communities: 316,
            mixing_percent: 30,
            seed: 1,
        }
    }
}

/// First node of each community, then the number of nodes.
fn boundaries(spec: &SbmSpec) -> Vec<u64> {
    let weight = |j: u32| 1_000_000 / (u64::from(j) + 20);
    let total: u64 = (0..spec.communities).map(weight).sum();
    let mut sum = 0;
    std::iter::once(0)
        .chain((0..spec.communities).map(|j| {
            sum += weight(j);
            u64::from(spec.num_nodes) * sum / total
        }))
        .collect()
}

/// A graph with known communities and a heavy-tailed degree distribution.
///
/// # Errors
/// A parameter is out of range.
#[expect(clippy::cast_possible_truncation, reason = "node ids fit 32 bits")]
pub fn sbm(spec: &SbmSpec) -> Result<EdgeList, SpecError> {
    in_range("sbm", "nodes", u64::from(spec.num_nodes), 2..=1 << 30, "2 to 2^30")?;
    in_range("sbm", "communities", u64::from(spec.communities), 1..=100_000, "1 to 100000")?;
    in_range("sbm", "mixing", u64::from(spec.mixing_percent), 0..=100, "0 to 100")?;
    in_range("sbm", "edges", spec.num_edges, 1..=graphlume_types::limits::EDGES_MAX, "under 2^32")?;
    let (n, seed) = (u64::from(spec.num_nodes), spec.seed);
    let bound = boundaries(spec);
    // cumulative[v] = sum of the degree weights of nodes 0..=v.
    let mut sum = 0;
    let cumulative: Vec<u64> = (0..n)
        .map(|v| {
            sum += 1 + 60 / (1 + h64(seed, 1, v) % 60);
            sum
        })
        .collect();
    let before = |v: u64| if v == 0 { 0 } else { cumulative[v as usize - 1] };
    let total = sum;
    let pick = |w: u64| cumulative.partition_point(|c| *c <= w) as u64;
    let mut pairs: Vec<u64> = (0..spec.num_edges)
        .into_par_iter()
        .filter_map(|e| {
            let s = pick(h64(seed, 2, e) % total);
            let r = h64(seed, 4, e);
            let d = if h64(seed, 3, e) % 100 < u64::from(spec.mixing_percent) {
                pick(r % total)
            } else {
                let c = bound.partition_point(|b| *b <= s) - 1;
                let (lo, hi) = (before(bound[c]), before(bound[c + 1]));
                pick(lo + r % (hi - lo))
            };
            Some((s, d))
        })
        .map(|(s, d)| (s << 32) | d)
        .collect();
    // Ids are shuffled so that neighbours in the file are not neighbours in a community.
    let mut by_hash: Vec<(u64, u64)> = (0..n).map(|v| (h64(seed, 5, v), v)).collect();
    by_hash.par_sort_unstable();
    let mut rank = vec![0u32; spec.num_nodes as usize];
    let mut community = vec![0u32; spec.num_nodes as usize];
    for (i, (_, v)) in by_hash.iter().enumerate() {
        rank[*v as usize] = i as u32;
        community[i] = (bound.partition_point(|b| b <= v) - 1) as u32;
    }
    pairs.par_iter_mut().for_each(|p| {
        let (a, b) = (rank[(*p >> 32) as usize], rank[(*p & 0xFFFF_FFFF) as usize]);
        *p = u64::from(a.min(b)) * n + u64::from(a.max(b));
    });
    pairs.retain(|p| p / n != p % n);
    pairs.par_sort_unstable();
    pairs.dedup();
    let (src, dst) = shuffle_by_hash(&pairs, seed, |_, key| key)
        .into_iter()
        .map(|p| orient((p / n) as u32, (p % n) as u32, n, seed))
        .unzip();
    Ok(EdgeList { num_nodes: spec.num_nodes, src, dst, community: Some(community) })
}
