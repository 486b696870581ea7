//! A square grid: its right drawing is known and its diameter is large.

use crate::{EdgeList, SpecError, in_range, orient, shuffle_by_hash};

/// `side * side` nodes joined to their right and lower neighbours, edges in hashed order.
///
/// # Errors
/// `side` is out of range.
pub fn grid(side: u32, seed: u64) -> Result<EdgeList, SpecError> {
    in_range("grid", "side", u64::from(side), 1..=30_000, "1 to 30000")?;
    let n = u64::from(side) * u64::from(side);
    let mut pairs = Vec::with_capacity(2 * (side as usize) * (side as usize));
    for row in 0..side {
        pairs.extend((0..side - 1).map(|col| (row * side + col, row * side + col + 1)));
    }
    for row in 0..side - 1 {
        pairs.extend((0..side).map(|col| (row * side + col, (row + 1) * side + col)));
    }
    let (src, dst) = shuffle_by_hash(&pairs, seed, |i, _| i as u64)
        .into_iter()
        .map(|(a, b)| orient(a, b, n, seed))
        .unzip();
    Ok(EdgeList { num_nodes: side * side, src, dst, community: None })
}
