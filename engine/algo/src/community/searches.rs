//! Several searches of a small graph, of which the best counts: one greedy search may end far from the best partition, and
//! more of them cost next to nothing there. A large graph is searched once.

use graphlume_types::hash::h64;

use crate::AlgoError;

/// Searches at most, and the arcs that all of them together may look at.
const SEARCHES: u64 = 64;
const SEARCHED_ARCS: u64 = 400_000;

/// Searches of a graph with so many arcs.
pub(super) fn count(arcs: u64) -> u64 {
    (SEARCHED_ARCS / arcs.max(1)).clamp(1, SEARCHES)
}

/// The labels of the best of some searches, the first of equal ones. `search` takes a seed, and returns labels with their
/// quality.
///
/// # Errors
/// Those of `search`.
pub(super) fn best(
    arcs: u64,
    seed: u64,
    mut search: impl FnMut(u64) -> Result<(f64, Vec<u32>), AlgoError>,
) -> Result<Vec<u32>, AlgoError> {
    let (mut most, mut labels) = search(seed)?;
    for k in 1..count(arcs) {
        let (reached, found) = search(h64(seed, k, 0))?;
        if reached > most + 1e-12 {
            (most, labels) = (reached, found);
        }
    }
    Ok(labels)
}
