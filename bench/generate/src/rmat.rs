//! R-MAT (Chakrabarti, Zhan and Faloutsos, SDM 2004) with the Graph500 probabilities.

use graphlume_types::hash::{h64, mix64};
use rayon::prelude::*;

use crate::{EdgeList, SpecError, in_range};

/// A bijection on `0..2^bits`: three rounds of odd multiply, add and xor-shift.
fn permute_pow2(x: u64, bits: u32, seed: u64) -> u64 {
    let mask = (1u64 << bits) - 1;
    let shift = bits.div_ceil(2);
    let mut x = x;
    for round in 0..3 {
        let k = mix64(seed.wrapping_mul(16).wrapping_add(round + 1));
        x = x.wrapping_mul(k | 1).wrapping_add(k >> 7) & mask;
        x ^= x >> shift;
    }
    x & mask
}

/// `edge_factor * 2^scale` directed edges over `2^scale` nodes with quadrant probabilities
/// 0.57, 0.19, 0.19, 0.05; duplicates and self-loops occur, ids are permuted.
///
/// # Errors
/// A parameter is out of range.
pub fn rmat(scale: u32, edge_factor: u32, seed: u64) -> Result<EdgeList, SpecError> {
    in_range("rmat", "scale", u64::from(scale), 1..=30, "1 to 30")?;
    in_range("rmat", "edge_factor", u64::from(edge_factor), 1..=256, "1 to 256")?;
    let num_edges = u64::from(edge_factor) << scale;
    in_range("rmat", "edges", num_edges, 1..=graphlume_types::limits::EDGES_MAX, "under 2^32")?;
    let ends: Vec<(u32, u32)> = (0..num_edges)
        .into_par_iter()
        .map(|edge| {
            let (mut s, mut d, mut word) = (0u64, 0u64, 0u64);
            for level in 0..scale {
                if level % 4 == 0 {
                    word = h64(seed, 100 + u64::from(level / 4), edge);
                }
                let r = (word >> (16 * (level % 4))) & 0xFFFF;
                let (down, right) = match r {
                    0..37_356 => (0, 0),
                    37_356..49_807 => (0, 1),
                    49_807..62_259 => (1, 0),
                    _ => (1, 1),
                };
                s = s << 1 | down;
                d = d << 1 | right;
            }
            #[expect(clippy::cast_possible_truncation, reason = "ids are below 2^30")]
            (permute_pow2(s, scale, seed) as u32, permute_pow2(d, scale, seed) as u32)
        })
        .collect();
    let (src, dst) = ends.into_iter().unzip();
    Ok(EdgeList { num_nodes: 1 << scale, src, dst, community: None })
}
